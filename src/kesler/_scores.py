"""Scores beside the pairs they should put in order, block by block.

What `kesler.metrics` and `kesler.theory` share: scores in the shapes that `decision_function` gives
are read as one table, and the pairs of an order are expanded for as many examples at a time as fit
into a bounded piece of memory. What a pair means is said by `kesler.constraints`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kesler.constraints import Constraints

FloatArray = npt.NDArray[Any]

_BLOCK = 1 << 20  # pairs expanded at once


class PairBlock(NamedTuple):
    """The pairs of some consecutive examples and the scores of their labels.

    Attributes
    ----------
    rows : slice
        The examples.
    indptr : ndarray of int64
        Example i of the block has the pairs ``indptr[i]:indptr[i + 1]``.
    over, under : ndarray of int32
        Positions in ``Constraints.labels``, -1 the virtual label.
    above, below : ndarray
        The scores of `over` and of `under`.
    """

    rows: slice
    indptr: npt.NDArray[np.int64]
    over: npt.NDArray[np.int32]
    under: npt.NDArray[np.int32]
    above: FloatArray
    below: FloatArray

    def total(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums over the pairs of each example; `values` has one entry a pair."""
        sums = np.zeros(values.size + 1, dtype=np.result_type(values.dtype, np.int64))
        np.cumsum(values, out=sums[1:])
        return sums[self.indptr[1:]] - sums[self.indptr[:-1]]


def score_table(constraints: Constraints, scores: npt.ArrayLike) -> FloatArray:
    """Scores as (n_samples, n_labels + 1), the virtual label last.

    One number a row is how far the second of two labels stands above the first. Without a column
    of its own the virtual label scores 0.
    """
    s = np.asarray(scores)
    if s.dtype not in (np.float32, np.float64):
        s = s.astype(np.float64)
    n, k = constraints.n_samples, constraints.n_labels
    one_number = s.ndim == 1 and k == 2 and not constraints.calibrated
    if s.shape[:1] != (n,) or not (one_number or (s.ndim == 2 and s.shape[1] in (k, k + 1))):
        raise ValueError(
            f"scores has shape {s.shape}; wanted ({n}, {k}), or one column more for the virtual "
            f"label{f', or ({n},) for two labels' if k == 2 else ''}"
        )
    if np.isnan(s).any():
        bad = int(np.argmax(np.isnan(s).reshape(n, -1).any(axis=1)))
        raise ValueError(f"scores of example {bad} are not numbers (NaN)")
    if s.ndim == 2 and s.shape[1] == k + 1:
        return s
    table = np.zeros((n, k + 1), dtype=s.dtype)
    if one_number:
        table[:, 1] = s
    else:
        table[:, :k] = s
    return table


def pair_blocks(
    constraints: Constraints, table: FloatArray, *, closure: bool
) -> Iterator[PairBlock]:
    """All examples in order; `closure` takes every pair that the stored ones imply."""
    bound = constraints.sizes
    if closure and not _is_closed(constraints):
        # s pairs join at most s + 1 labels, and all labels are k + 1 with the virtual one.
        joined = np.minimum(bound, constraints.n_labels)
        bound = joined * (joined + 1) // 2
    ends = np.cumsum(bound)
    begin, before = 0, 0
    while begin < constraints.n_samples:
        end = max(begin + 1, int(np.searchsorted(ends, before + _BLOCK, side="right")))
        part = constraints[begin:end]
        indptr, over, under, _, _ = (part.closure() if closure else part).pairs()
        rows = np.repeat(np.arange(begin, end), np.diff(indptr))
        yield PairBlock(
            slice(begin, end), indptr, over, under, table[rows, over], table[rows, under]
        )
        begin, before = end, int(ends[end - 1])


def count_violated(
    constraints: Constraints, scores: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Pairs out of order and all pairs of each example, those of the virtual label left out."""
    violated = np.zeros(constraints.n_samples, dtype=np.int64)
    total = np.zeros(constraints.n_samples, dtype=np.int64)
    for block in pair_blocks(constraints, score_table(constraints, scores), closure=True):
        real = (block.over >= 0) & (block.under >= 0)
        violated[block.rows] = block.total(real & ~_in_order(block))
        total[block.rows] = block.total(real)
    return violated, total


def _in_order(block: PairBlock) -> npt.NDArray[np.bool_]:
    tie_won = (block.above == block.below) & (block.over < block.under)
    in_order: npt.NDArray[np.bool_] = (block.above > block.below) | tie_won
    return in_order


def _is_closed(constraints: Constraints) -> bool:
    """Whether the pairs as stored are known to be all that they imply."""
    return constraints.kind in ("classes", "labelsets") and not constraints.calibrated
