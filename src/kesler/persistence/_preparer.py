"""`TablePreparer` in a file: categories, what stands for a missing value, and scales."""

from __future__ import annotations

import numpy as np

from kesler.persistence._values import Array, Arrays, Fields, Stored, pack, plain
from kesler.preparation import TablePreparer

_OUTPUTS = ("default", "pandas", "polars")


def encode(preparer: TablePreparer) -> tuple[Fields, Arrays]:
    """The description and the arrays of a fitted preparer."""
    fields: Fields = {
        "params": {name: plain(value, name) for name, value in preparer.get_params().items()},
        # Where scikit-learn keeps what set_output said; it has no public way to ask.
        "output": getattr(preparer, "_sklearn_output_config", {}).get("transform"),
    }
    arrays: Arrays = {
        "nominal": preparer.nominal_,
        "fill": preparer.fill_,
        "mean": preparer.mean_,
        "shift": preparer.shift_,
        "scale": preparer.scale_,
    }
    for k, categories in enumerate(preparer.categories_):
        name = f"categories.{k}"
        fields[name], arrays[name] = pack(categories, "the categories")
    if hasattr(preparer, "feature_names_in_"):
        fields["names"], arrays["names"] = pack(preparer.feature_names_in_, "the column names")
    return fields, arrays


def decode(stored: Stored) -> TablePreparer:
    """The preparer, if what is stored fits together."""
    preparer = TablePreparer(**stored.parameters(set(TablePreparer().get_params())))
    preparer._output_type()
    nominal = stored.array("nominal", "b", 1)
    if nominal.size == 0:
        raise ValueError("the preparer knows no columns")
    count = int(nominal.sum())
    preparer.nominal_ = nominal
    preparer.n_features_in_ = nominal.size
    preparer.categories_ = [_categories(stored, f"categories.{k}") for k in range(count)]
    preparer.fill_ = stored.array("fill", "i", 1).astype(np.int64, copy=False)
    sizes = np.array([c.size for c in preparer.categories_], dtype=np.int64)
    if preparer.fill_.shape != sizes.shape or np.any(
        (preparer.fill_ < -1) | (preparer.fill_ > sizes)
    ):
        raise ValueError("what stands for a missing value is no category")
    preparer.mean_ = _numbers(stored, "mean", nominal.size - count)
    preparer.shift_ = _numbers(stored, "shift", nominal.size - count)
    preparer.scale_ = _numbers(stored, "scale", nominal.size - count)
    if np.any(preparer.scale_ <= 0):
        raise ValueError("a scale is not above 0")
    if "names" in stored:
        preparer.feature_names_in_ = stored.names("names", nominal.size)
    if stored.field("output", str, type(None)) is not None:
        preparer.set_output(transform=stored.option("output", _OUTPUTS))
    return preparer


def _categories(stored: Stored, name: str) -> Array:
    categories = stored.labels(name)
    if categories.dtype.kind != "U" and categories.dtype != np.float64:
        raise ValueError(f"{name} are neither text nor float64")
    if not np.all(categories[:-1] < categories[1:]):
        raise ValueError(f"{name} are not sorted, or one stands twice")
    return categories


def _numbers(stored: Stored, name: str, count: int) -> Array:
    numbers = stored.array(name, "f", 1)
    if numbers.dtype != np.float64 or numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(f"array {name!r} does not hold a number for each of {count} columns")
    return numbers
