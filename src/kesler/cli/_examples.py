"""What a data file is read into, whatever its format, and which columns of it are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass
class Schema:
    """What a model takes.

    Attributes
    ----------
    n_features : int
    nominal : ndarray of bool, shape (n_features,)
    columns : list of str or None
        Names of the features, where they had any.
    target : str or None
        Name of the column that held the labels.
    kind : str
        "classes", "labelsets", "rankings", or "auto" where it is not known.
    zero_based : bool or None
        Whether the features of svmlight files count from 0.
    """

    n_features: int
    nominal: npt.NDArray[np.bool_]
    columns: list[str] | None = None
    target: str | None = None
    kind: str = "auto"
    zero_based: bool | None = None


@dataclass
class Wanted:
    """What to read.

    Attributes
    ----------
    schema : Schema or None
        That of the model; None finds one out.
    target : str or None
        The column of the labels; None is the one the model had, or the last.
    labels : bool
        Whether labels must be there.
    labels_path : str or None
        A NumPy file of its own that holds the labels.
    nominal : list of str
        Columns that are categories whatever they look like.
    """

    schema: Schema | None = None
    target: str | None = None
    labels: bool = True
    labels_path: str | None = None
    nominal: Sequence[str] = field(default_factory=list)


@dataclass
class Examples:
    """A data file in memory.

    Attributes
    ----------
    path : str
    X : ndarray or CSR matrix
        Numbers; or objects where there are nominal columns, None being a missing category.
    schema : Schema
    labels : list of str, indicator array, or None
        The labels as they were written.
    place : callable
        Where example i stands, for errors: "row 17".
    target_place : callable
        The same for its label: "row 17, column 3 ('class')".
    is_table : bool
        Whether it has columns that want preparing.
    """

    path: str
    X: Any
    schema: Schema
    labels: list[str] | npt.NDArray[Any] | None
    place: Callable[[int], str]
    target_place: Callable[[int], str]
    is_table: bool

    def __len__(self) -> int:
        return int(self.X.shape[0])


@dataclass
class Columns:
    """Which columns of a table are features, in the order of the model, and which is the target."""

    features: list[int]
    target: int | None
    nominal: list[bool | None]  # None: not known yet


def choose_columns(path: str, header: list[str], wanted: Wanted) -> Columns:
    """Find the wanted columns by their names; `path` is for errors."""
    _check_header(path, header)
    schema = wanted.schema
    if schema is None:
        return _for_training(path, header, wanted)
    name = wanted.target if wanted.target is not None else schema.target
    target = header.index(name) if name in header else None
    if target is None and wanted.target is not None:
        raise ValueError(_no_column(path, wanted.target, header))
    if schema.columns is not None:
        missing = [c for c in schema.columns if c not in header]
        if missing:
            raise ValueError(_no_column(path, missing[0], header) + ", which the model takes")
        features = [header.index(c) for c in schema.columns]
    else:
        if target is None and len(header) == schema.n_features + 1:
            target = len(header) - 1
        features = [j for j in range(len(header)) if j != target]
        if len(features) != schema.n_features:
            raise ValueError(
                f"{path}: {len(features)} columns beside the labels, but the model takes "
                f"{schema.n_features}"
            )
    if wanted.labels and target is None:
        wish = "no column for the labels" if name is None else f"no column {name!r} for the labels"
        raise ValueError(f"{path}: {wish}; name one with --target")
    return Columns(features, target, [bool(n) for n in schema.nominal])


def _for_training(path: str, header: list[str], wanted: Wanted) -> Columns:
    target = len(header) - 1
    if wanted.target is not None:
        if wanted.target not in header:
            raise ValueError(_no_column(path, wanted.target, header))
        target = header.index(wanted.target)
    features = [j for j in range(len(header)) if j != target]
    if not features:
        raise ValueError(f"{path}: no column beside the labels in {header[target]!r}")
    for name in wanted.nominal:
        if name not in header:
            raise ValueError(_no_column(path, name, header))
    nominal = [True if header[j] in wanted.nominal else None for j in features]
    return Columns(features, target, nominal)


def _check_header(path: str, header: list[str]) -> None:
    seen: set[str] = set()
    for j, name in enumerate(header):
        if not name:
            raise ValueError(f"{path}: row 1, column {j + 1}: the column has no name")
        if name in seen:
            raise ValueError(f"{path}: row 1, column {j + 1}: another column is named {name!r} too")
        seen.add(name)


def _no_column(path: str, name: str, header: list[str]) -> str:
    some = ", ".join(header[:8]) + (", ..." if len(header) > 8 else "")
    return f"{path}: no column {name!r} among {some}"


def check_finite(path: str, X: Any, place: Callable[[int], str]) -> None:
    """Refuse NaN and infinity in an array or a CSR matrix of numbers, naming the first."""
    values = X if isinstance(X, np.ndarray) else X.data
    # The sum is finite only if all are; it is made without a second array.
    with np.errstate(all="ignore"):
        if values.dtype.kind in "iub" or np.isfinite(np.sum(values)):
            return
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return  # the sum was too large
    if values.ndim == 2:
        row, column = (int(v) for v in np.argwhere(wrong)[0])
        value = values[row, column]
    else:
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        column, value = int(X.indices[at]), values[at]
    raise ValueError(f"{path}: {place(row)}, feature {column + 1}: {value} is no finite number")
