"""Labels as users write them, turned into sorted label sets and 32-bit codes.

Everything here serves `kesler.constraints`, which says what the codes mean; this module only reads
arrays, indicators, lists of lists and rank matrices, and refuses what is none of these by naming
the example and the label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kesler._checks import refuse_corrupt

IntArray: TypeAlias = npt.NDArray[np.int64]


def one_dimension(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
        _refuse_mixture(values)  # NumPy would make [1, "a"] two strings
    if array.ndim == 0:
        raise ValueError(f"{name} must be a one-dimensional array, not a single value")
    if array.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional array, not of shape {array.shape}")
    _refuse_missing(array, name)
    return array


def _refuse_mixture(values: Sequence[Any]) -> None:
    types = {type(v) for v in values}
    if len({issubclass(t, str) for t in types}) > 1:
        kinds = " and ".join(sorted(t.__name__ for t in types))
        raise ValueError(f"labels must be of one sortable type, not {kinds}")


def _refuse_missing(array: npt.NDArray[Any], name: str) -> None:
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    elif array.dtype == object:
        missing = np.fromiter(map(_is_missing, array.tolist()), dtype=bool, count=array.size)
    else:
        return
    if missing.any():
        p = int(np.argmax(missing))
        raise ValueError(f"{name}[{p}] is {array[p]!r}, which is not a label")


def _is_missing(value: Any) -> bool:
    """None, collections, NaN, and pandas' NA, which is not even unequal to itself."""
    if value is None or value.__hash__ is None:
        return True
    same = value == value
    return not (isinstance(same, (bool, np.bool_)) and same)


def _distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return np.unique(values)
    except TypeError as error:
        kinds = sorted({type(v).__name__ for v in values.tolist()})
        raise ValueError(
            f"labels must be of one sortable type, not {' and '.join(kinds)}"
        ) from error


def shown(values: npt.NDArray[Any], p: int) -> str:
    """One value as the user wrote it: 'a' and 3, not np.str_('a') and np.int64(3)."""
    return repr(values[p : p + 1].tolist()[0])


def label_set(labels: npt.ArrayLike) -> npt.NDArray[Any]:
    return _distinct(one_dimension(labels, "labels"))


def codes_of_distinct(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Distinct values, sorted, and the place of each value among them."""
    if values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        span = high - low + 1
        if span <= 4 * values.size + 1024:  # a table is quicker and smaller than a sort
            offset = _offset(values, low)
            present = np.zeros(span, dtype=bool)
            present[offset] = True
            found = np.flatnonzero(present)
            table = np.cumsum(present, dtype=np.int32)
            table -= 1
            return found.astype(values.dtype) + values.dtype.type(low), table[offset]
    found = _distinct(values)
    return found, np.searchsorted(found, values).astype(np.int32)


def _offset(values: npt.NDArray[Any], low: int) -> npt.NDArray[Any]:
    """How far above `low` each integer is."""
    if low == 0:
        return values
    # 64 bits: the difference of two 8-bit numbers may need nine
    wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)
    offset: npt.NDArray[Any] = wide - wide.dtype.type(low)
    return offset


def comparable(values: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`values`, if they can stand beside `labels`: numbers with numbers, text with text."""
    sorts = {"i": "n", "u": "n", "f": "n", "b": "n", "U": "t", "S": "b"}
    a, b = sorts.get(values.dtype.kind), sorts.get(labels.dtype.kind)
    if a and b and a != b and values.size and labels.size:
        raise ValueError(
            f"labels of type {values.dtype} cannot be found among labels of type {labels.dtype}"
        )
    return values


def united(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """All labels of two sets of one sort."""
    return _distinct(np.concatenate(_exact(comparable(a, b), b)))


def _exact(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both as they are; but signed beside unsigned integers not as floats, which merge some."""
    if {a.dtype.kind, b.dtype.kind} != {"i", "u"}:
        return a, b
    for dtype in (np.int64, np.uint64):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if all(x.size == 0 or (least <= int(x.min()) and int(x.max()) <= most) for x in (a, b)):
            return a.astype(dtype), b.astype(dtype)
    return a.astype(object), b.astype(object)


def places(values: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Position of each value among the sorted labels, -1 where it is none of them."""
    codes = np.full(values.size, -1, dtype=np.int32)
    if values.size and labels.size and values.dtype.kind == labels.dtype.kind in "iu":
        low, span = int(labels[0]), int(labels[-1]) - int(labels[0]) + 1
        within = low <= int(values.min()) and int(values.max()) < low + span
        if within and span <= 4 * labels.size + 1024:  # a table is quicker and smaller
            table = np.full(span, -1, dtype=np.int32)
            table[_offset(labels, low)] = np.arange(labels.size, dtype=np.int32)
            by_table: npt.NDArray[np.int32] = table[_offset(values, low)]
            return by_table
    if labels.size and values.size:
        exact, ordered = _exact(comparable(values, labels), labels)
        try:
            found = np.searchsorted(ordered, exact).astype(np.int32)
        except TypeError as error:
            raise ValueError(
                f"labels of type {values.dtype} cannot be found among labels of type {labels.dtype}"
            ) from error
        found[found == ordered.size] = 0
        codes = np.where(ordered[found] == exact, found, np.int32(-1))
    return codes


def look_up(
    values: npt.NDArray[Any], labels: npt.NDArray[Any], place: Callable[[int], str]
) -> npt.NDArray[np.int32]:
    """Position of each value among the sorted labels; `place(p)` names value p in an error."""
    codes = places(values, labels)
    if codes.size and codes.min() < 0:
        p = int(np.argmin(codes))
        some = ", ".join(map(repr, labels[:6].tolist())) + (", ..." if labels.size > 6 else "")
        raise ValueError(f"{place(p)} has unknown label {shown(values, p)}; labels are {some}")
    return codes


# ---- supervision in its usual shapes ------------------------------------------------------------


def is_matrix(Y: Any) -> bool:
    """An array, a frame, or a list of rows that holds 0/1 and not labels."""
    return getattr(Y, "ndim", None) == 2 or (
        hasattr(Y, "shape") and hasattr(Y, "__array__") and len(Y.shape) == 2
    )


def from_indicator(
    Y: Any, labels: npt.ArrayLike | None
) -> tuple[IntArray, npt.NDArray[np.int32], npt.NDArray[Any]]:
    columns = getattr(Y, "columns", None)
    if sp.issparse(Y):
        refuse_corrupt(Y)
        matrix = sp.csr_matrix(Y, copy=True)
        matrix.sum_duplicates()
    else:
        dense = np.asarray(Y)
        if dense.dtype == object:
            dense = dense.astype(np.float64)
        matrix = sp.csr_matrix(dense)
    values = matrix.data
    wrong = ~np.isin(values, (0, 1))
    if wrong.any():
        p = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, p, side="right")) - 1
        raise ValueError(
            f"an indicator holds only 0 and 1; example {row}, column {matrix.indices[p]} holds "
            f"{values[p].item()!r}"
        )
    matrix.eliminate_zeros()
    named = columns if labels is None and columns is not None else labels
    found, order = _column_labels(named, matrix.shape[1])
    if order is not None:
        matrix = matrix[:, order]
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), found


def _column_labels(
    labels: npt.ArrayLike | None, n_columns: int
) -> tuple[npt.NDArray[Any], IntArray | None]:
    """The sorted labels of the columns, and the columns in that order if it is another one."""
    if labels is None:
        return np.arange(n_columns), None
    names = one_dimension(labels, "labels")
    if names.size != n_columns:
        raise ValueError(f"there are {n_columns} columns and {names.size} labels")
    found = _distinct(names)
    if found.size != names.size:
        raise ValueError("two columns have the same label")
    order = np.argsort(names, kind="stable")
    return found, None if np.array_equal(order, np.arange(n_columns)) else order


def _flatten(rows: Sequence[Any], name: str) -> tuple[IntArray, list[Any]]:
    for i, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            raise ValueError(f"example {i} of {name} is {row!r}; wanted a list of labels")
    held = [row if isinstance(row, (list, tuple)) else list(row) for row in rows]
    indptr = np.zeros(len(held) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, held), dtype=np.int64, count=len(held)), out=indptr[1:])
    return indptr, list(chain.from_iterable(held))


def _label_array(values: list[Any]) -> npt.NDArray[Any]:
    return one_dimension(values, "labels") if values else np.zeros(0, dtype=np.int64)


def from_collections(
    Y: Any, labels: npt.ArrayLike | None
) -> tuple[IntArray, npt.NDArray[np.int32], npt.NDArray[Any]]:
    indptr, flat = _flatten(list(Y), "Y")
    values = _label_array(flat)
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    if labels is None:
        found, codes = codes_of_distinct(values)
    else:
        found = label_set(labels)
        codes = look_up(values, found, lambda p: f"example {rows[p]}")
    ones = np.ones(codes.size, dtype=np.int8)
    matrix = sp.csr_matrix((ones, (rows, codes)), shape=(indptr.size - 1, found.size))
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), found


def from_orders(
    orders: Any, labels: npt.ArrayLike | None
) -> tuple[IntArray, npt.NDArray[np.int32], npt.NDArray[Any]]:
    if is_matrix(orders):
        orders = np.asarray(orders)
        n, width = orders.shape
        indptr = np.arange(n + 1, dtype=np.int64) * width
        values = one_dimension(orders.ravel(), "orders")
        last = np.ones(values.size, dtype=bool)
    else:
        indptr, tiers = _flatten(list(orders), "orders")
        held = [_as_tie(t) for t in tiers]
        sizes = np.fromiter(map(len, held), dtype=np.int64, count=len(held))
        if np.any(sizes == 0):
            at = int(np.searchsorted(indptr, int(np.argmin(sizes)), side="right")) - 1
            raise ValueError(f"example {at} has an empty tie")
        ends = np.concatenate([[0], np.cumsum(sizes)])
        values = _label_array(list(chain.from_iterable(held)))
        indptr = ends[indptr]
        last = np.zeros(values.size, dtype=bool)
        last[ends[1:] - 1] = True
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    if labels is None:
        found, codes = codes_of_distinct(values)
    else:
        found = label_set(labels)
        codes = look_up(values, found, lambda p: f"example {rows[p]}")
    return indptr, np.where(last, ~codes, codes), found


def _as_tie(tier: Any) -> Sequence[Any]:
    """The labels of a tier; a set, which has no order of its own, always gets the same."""
    if isinstance(tier, (set, frozenset)):
        return sorted(tier, key=lambda label: (type(label).__name__, label))
    return tier if isinstance(tier, (list, tuple)) else (tier,)


def from_ranks(
    ranks: Any, labels: npt.ArrayLike | None
) -> tuple[IntArray, npt.NDArray[np.int32], npt.NDArray[Any]]:
    columns = getattr(ranks, "columns", None)
    matrix = np.asarray(ranks, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"ranks must have shape (n_samples, n_labels), not {matrix.shape}")
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise ValueError(f"the rank in example {row}, column {column} is infinite")
    found, order = _column_labels(
        columns if labels is None and columns is not None else labels, matrix.shape[1]
    )
    if order is not None:
        matrix = matrix[:, order]
    best_first = np.argsort(matrix, axis=1, kind="stable").astype(np.int32)  # NaN comes last
    in_order = np.take_along_axis(matrix, best_first, axis=1)
    ranked = ~np.isnan(in_order)
    last = np.ones_like(ranked)
    last[:, :-1] = in_order[:, 1:] != in_order[:, :-1]  # true before NaN too
    indptr = np.zeros(matrix.shape[0] + 1, dtype=np.int64)
    np.cumsum(ranked.sum(axis=1), out=indptr[1:])
    return indptr, np.where(last, ~best_first, best_first)[ranked], found
