"""What it costs to take one class for another, as margins or weights of pairs.

A cost belongs to an example's class and a rival; `kesler.constraints` keeps it with the pair of the
two, written out one by one, the rivals of an example ascending.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Costs: TypeAlias = npt.NDArray[np.float64]


def per_rival(
    values: npt.ArrayLike | None, name: str, n_samples: int, n_labels: int
) -> Costs | None:
    """Costs as a table with a column for each label and a row for each class or each example."""
    if values is None:
        return None
    given = np.asarray(values, dtype=np.float64)
    k = n_labels
    if given.shape not in ((k, k), (n_samples, k)):
        raise ValueError(
            f"{name} has shape {given.shape}; wanted ({k}, {k}), a row for each class, or "
            f"({n_samples}, {k}), a row for each example"
        )
    wrong = ~np.isfinite(given) | (given < 0)
    if wrong.any():
        row, column = (int(at[0]) for at in np.nonzero(wrong))
        raise ValueError(
            f"{name}[{row}, {column}] is {given[row, column]}; it must be a finite number, 0 or "
            "more"
        )
    return given


def against_rivals(
    codes: npt.NDArray[np.int32], n_labels: int, margin: Costs | None, weight: Costs | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Costs | None, Costs | None]:
    """The pairs of each example: indptr, items, margins and weights as `Constraints` holds them."""
    n, rivals = codes.size, max(n_labels - 1, 0)
    rows = np.repeat(np.arange(n), rivals)
    over = codes[rows]
    under = np.tile(np.arange(rivals, dtype=np.int32), n)
    under += under >= over

    def picked(table: Costs) -> Costs:
        found: Costs = table[over if table.shape == (n_labels, n_labels) else rows, under]
        return found

    margins = None if margin is None else picked(margin)
    weights = None if weight is None else picked(weight)
    if weights is not None and not weights.all():
        kept = weights > 0
        rows, over, under, weights = rows[kept], over[kept], under[kept], weights[kept]
        margins = None if margins is None else margins[kept]
    items = np.empty(2 * over.size, dtype=np.int32)
    items[0::2], items[1::2] = over, under
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(2 * np.bincount(rows, minlength=n), out=indptr[1:])
    # An item each has its place, the two of a pair the same number.
    return indptr, items, _twice(margins), _twice(weights)


def _twice(values: Costs | None) -> Costs | None:
    return None if values is None else np.repeat(values, 2)
