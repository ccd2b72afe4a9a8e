"""What the files of all linear sorters have in common: labels, weights, how learning ended.

What is not stored is what can be computed: the padding of the lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kesler import _core
from kesler._driver import Outcome, Record
from kesler.linear._sorter import aligned_zeros
from kesler.persistence._values import Array, Stored

_ANSWERS = ("classes", "indicator", "sparse indicator", "orders", "top")


def table(stored: Stored, name: str, used: int, like: Array | None) -> Array:
    """A table of weights, with its lanes padded as the core wants them."""
    held = stored.array(name, "f", 2)
    if held.dtype.itemsize not in (4, 8):
        raise ValueError(f"array {name!r} is of type {held.dtype}")
    rows = held.shape[0] if like is None else like.shape[0]
    if held.shape != (rows, used) or (like is not None and held.dtype != like.dtype):
        raise ValueError(
            f"array {name!r} is of shape {held.shape} and type {held.dtype}, which does not fit "
            f"{used} labels and the other arrays"
        )
    if held.size and not np.isfinite([held.min(), held.max()]).all():
        raise ValueError(f"array {name!r} holds what is no finite number")
    table = aligned_zeros((rows, _core.lanes_for(used)), held.dtype)
    table[:, :used] = held
    return table


def outcome(stored: Stored) -> Outcome:
    """What `history` and the field of the status were made of."""
    held = stored.array("history", "f", 2)
    if held.shape[0] == 0 or held.shape[1] != 3 or not np.isfinite(held).all():
        raise ValueError(f"a history of shape {held.shape}")
    records = tuple(Record(int(n), s, v) for n, s, v in held.tolist())
    note = stored.field("note", str) if "note" in stored else ""
    return Outcome(stored.field("outcome", str), len(records), records[-1].value, records, note)


def history(of: Outcome) -> Array:
    """What was noted of each sweep, a row each."""
    return np.array(of.history, dtype=np.float64).reshape(-1, 3)


def sorted_labels(stored: Stored) -> Array:
    """The labels of the model."""
    labels = stored.labels("labels")
    if labels.size == 0:
        raise ValueError("the model has no labels")
    try:
        ordered = bool(np.all(labels[:-1] < labels[1:]))
    except TypeError:
        ordered = False
    if not ordered:
        raise ValueError("the labels are not sorted, or one stands twice")
    return labels


def answer(stored: Stored, virtual: bool) -> str:
    """What predict gives back."""
    found = stored.option("answer", _ANSWERS)
    if "indicator" in found and not virtual:
        raise ValueError("the model answers label sets, but has no virtual label")
    return found


def check_features(weights: Array, intercept: bool) -> None:
    """A table needs more rows than that of the intercept."""
    if weights.shape[0] - intercept < 1:
        raise ValueError("the model has no features")


def check_others(model: Any) -> None:
    """The parameters that `fit` leaves to others to check."""
    weight = model.class_weight
    if not (weight is None or weight == "balanced" or isinstance(weight, dict)):
        raise ValueError(f"class_weight is {weight!r}")
    for name in ("n_jobs", "random_state", "verbose"):
        value = getattr(model, name)
        if not (value is None or isinstance(value, int)):
            raise ValueError(f"{name} is {value!r}")
