"""The linear sorter: k weight vectors and the order they put labels in (Definition 2.6).

Weights stand as the core reads them, a row per feature with the labels side by side
(`native/lanes.hpp`), the intercept as a last row, the virtual label of calibrated sets in lane k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kesler import _core
from kesler._labels import united
from kesler.constraints import Constraints

FloatArray = npt.NDArray[Any]

_BLOCK = 1 << 22  # scores held at once where only their order is wanted


def as_rows(X: Any) -> _core.Rows:
    """X (a C-contiguous array or CSR matrix, float32 or float64) as the core reads it, in place."""
    if not sp.issparse(X):
        return _core.Rows(_aligned(X), None, None, X.shape[0], X.shape[1])
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    values, indices, indptr = map(_aligned, (X.data, indices, indptr))
    return _core.Rows(values, indices, indptr, X.shape[0], X.shape[1])


def _aligned(array: FloatArray) -> FloatArray:
    """The array itself, but for one that starts in the middle of a number."""
    return np.require(array, requirements=["C", "A"])


def aligned_empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    """A table that starts at a cache line, so that no vector of labels straddles two."""
    return _aligned_part(np.empty, shape, dtype)


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    """The same, of zeros."""
    return _aligned_part(np.zeros, shape, dtype)


def _aligned_part(make: Any, shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    size = int(np.prod(shape))
    item = np.dtype(dtype).itemsize
    raw: FloatArray = make(size + 64 // item, dtype=dtype)
    start = (-raw.ctypes.data % 64) // item
    return raw[start : start + size].reshape(shape)


@dataclass(frozen=True)
class Sorter:
    """Scores of labels as a linear function of x.

    Attributes
    ----------
    weights : ndarray, shape (n_features + intercept, lanes)
    n_labels : int
    intercept : bool
    virtual : bool
        Whether lane `n_labels` is the virtual label.
    sums, steps : ndarray or None, float
        Where given the sorter is ``weights - sums / steps``, an average not laid out.
    """

    weights: FloatArray
    n_labels: int
    intercept: bool
    virtual: bool
    sums: FloatArray | None = None
    steps: float = 1.0

    @property
    def n_features(self) -> int:
        """Number of features, the constant one of the intercept not counted."""
        return int(self.weights.shape[0]) - self.intercept

    def laid_out(self) -> Sorter:
        """The same sorter as one table."""
        if self.sums is None:
            return self
        weights = aligned_empty(self.weights.shape, self.weights.dtype)
        rows = max(1, (1 << 16) // weights.shape[1])  # a block at a time, while it is in the cache
        for begin in range(0, weights.shape[0], rows):
            block = slice(begin, begin + rows)
            np.multiply(self.sums[block], -1.0 / self.steps, out=weights[block])
            weights[block] += self.weights[block]
        return replace(self, weights=weights, sums=None, steps=1.0)

    def scores(
        self, X: Any, n_threads: int, picked: npt.NDArray[np.int64] | None = None
    ) -> FloatArray:
        """Scores (n, n_labels), with one more column if there is a virtual label."""
        n = X.shape[0] if picked is None else picked.size
        out = np.empty((n, self.n_labels + self.virtual), dtype=self.weights.dtype)
        if out.size:
            _core.scores(
                as_rows(X),
                picked,
                self.weights,
                self.sums,
                1.0 / self.steps,
                self.intercept,
                out,
                n_threads,
            )
        return out

    def best(self, X: Any, count: int, n_threads: int) -> npt.NDArray[np.int64]:
        """Positions of the `count` best labels, best first, ties to the smaller position."""
        out = np.empty((X.shape[0], count), dtype=np.int64)
        if out.size:
            _core.best(
                as_rows(X),
                self.weights,
                self.sums,
                1.0 / self.steps,
                self.intercept,
                self.n_labels,
                out,
                n_threads,
            )
        return out

    def errors(
        self,
        X: Any,
        constraints: Constraints,
        labels: npt.NDArray[Any],
        n_threads: int,
        picked: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.bool_]:
        """Which examples the sorter gets wrong, by blocks of rows; `picked` names rows of both.

        A label that is not among the sorter's `labels` stands below all that are.
        """
        rows = np.arange(X.shape[0], dtype=np.int64) if picked is None else picked
        everything = labels
        if not np.array_equal(labels, constraints.labels):
            everything = united(labels, constraints.labels)
            constraints = constraints.relabelled(everything)
        place = np.searchsorted(everything, labels)
        if self.virtual:
            place = np.append(place, everything.size)
        wrong = np.zeros(rows.size, dtype=bool)
        block = max(1, _BLOCK // (everything.size + 1))
        for begin in range(0, rows.size, block):
            part = rows[begin : begin + block]
            scores = self.scores(X, n_threads, part)
            if everything.size > labels.size:
                shape = (part.size, everything.size + self.virtual)
                known, scores = scores, np.full(shape, -np.inf, dtype=scores.dtype)
                scores[:, place] = known
            wrong[begin : begin + block] = constraints[part].errors(scores)
        return wrong

    def coef(self) -> FloatArray:
        """Weight vectors as (n_labels, n_features): a view, unless something must be subtracted."""
        table = self.laid_out().weights[: self.n_features]
        coef: FloatArray = table[:, : self.n_labels].T
        return coef - table[:, self.n_labels] if self.virtual else coef

    def thresholds(self) -> FloatArray:
        """The intercept of each label."""
        if not self.intercept:
            return np.zeros(self.n_labels, dtype=self.weights.dtype)
        last = (
            self.weights[-1] if self.sums is None else self.weights[-1] - self.sums[-1] / self.steps
        )
        found: FloatArray = last[: self.n_labels].copy()
        if self.virtual:
            found -= last[self.n_labels]
        return found
