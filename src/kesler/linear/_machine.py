"""The constraint machine as a problem: what is minimised, its dual variables, its certificate.

P(W) = |W|^2 / 2 + C sum_i q_i L_i(W), where L_i is the worst or the sum of the hinge losses, or of
their squares, of an example's pairs: Crammer and Singer (2001) for the worst, the soft margin of
the expansion of Har-Peled, Roth and Zimak (2002, section 3) for the sum. Nothing is solved here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kesler import _core
from kesler.constraints import Constraints
from kesler.linear._sorter import FloatArray, Sorter, aligned_zeros, as_rows

AGGREGATES = ("max", "sum")
LOSSES = ("hinge", "squared_hinge")


def processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Masses(NamedTuple):
    """Dual variables that are not zero: of example i those of ``indptr[i]:indptr[i + 1]``.

    What a key means depends on the example: the rival of a class, a label of a set, or the place of
    a pair (native/duals.hpp).
    """

    indptr: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int32]
    values: FloatArray

    def picked(self, rows: npt.NDArray[np.int64]) -> Masses:
        """Those of the given examples, in that order."""
        starts, counts = self.indptr[rows], np.diff(self.indptr)[rows]
        indptr = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        places = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
        return Masses(indptr, self.keys[places], self.values[places])

    def without(self, rows: npt.NDArray[np.int64]) -> Masses:
        """The same, with nothing left to the given examples."""
        counts = np.diff(self.indptr)
        gone = np.zeros(counts.size, dtype=bool)
        gone[rows] = True
        kept = ~np.repeat(gone, counts)
        indptr = np.zeros_like(self.indptr)
        np.cumsum(np.where(gone, 0, counts), out=indptr[1:])
        return Masses(indptr, self.keys[kept], self.values[kept])


class Start(NamedTuple):
    """Where to begin: dual variables, feasible once multiplied by `factor`, and weights.

    Where no weights are given they are those of the dual variables.
    """

    masses: Masses
    factor: float = 1.0
    table: FloatArray | None = None

    @property
    def scaled(self) -> Masses:
        """The dual variables times the factor."""
        values = self.masses.values
        return self.masses._replace(values=values * values.dtype.type(self.factor))


class Certified(NamedTuple):
    """A pair of objectives in float64 and the smallest difference of scores over all pairs."""

    primal: float
    dual: float
    margin: float

    @property
    def gap(self) -> float:
        """Relative duality gap; 0 where the primal is 0."""
        if self.primal <= 0:
            return 0.0
        return (self.primal - self.dual) / self.primal


class BeyondRangeError(ValueError):
    """Scores or norms are beyond what the type of X can hold."""


@dataclass(frozen=True)
class Problem:
    """Data and settings of one fit, as the core reads them."""

    X: Any
    constraints: Constraints
    weight: npt.NDArray[np.float64] | None
    C: float
    aggregate: str
    loss: str
    intercept: bool
    n_threads: int
    seed: int

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.X.shape[0])

    @property
    def lanes(self) -> int:
        """Columns of a weight table."""
        return _core.lanes_for(self.constraints.n_labels + self.constraints.calibrated)

    def table(self) -> FloatArray:
        """Weights of zero."""
        return aligned_zeros((self.X.shape[1] + self.intercept, self.lanes), self.X.dtype)

    def sorter(self, table: FloatArray) -> Sorter:
        """What sorts labels with these weights."""
        k = self.constraints.n_labels
        return Sorter(table, k, self.intercept, self.constraints.calibrated)

    def solver(self, table: FloatArray, C: float) -> Any:
        """The core's dual solver over a table of zeros."""
        make = _core.DualSolver32 if self.X.dtype == np.float32 else _core.DualSolver64
        return make(
            as_rows(self.X),
            self.constraints._native(),
            self.weight,
            C,
            self.aggregate,
            self.loss,
            self.intercept,
            table,
            self.seed,
            min(self.n_threads, processors()),  # those of sweeps wait for each other all the time
        )

    def certify(self, masses: Masses, table: FloatArray, rebuild: bool = False) -> Certified:
        """The certificate of dual variables and weights; with `rebuild` of the weights they give.

        With `rebuild` the table is overwritten.
        """
        return Certified(
            *_core.certify(
                as_rows(self.X),
                self.constraints._native(),
                self.weight,
                self.C,
                self.aggregate,
                self.loss,
                self.intercept,
                *masses,
                table,
                rebuild,
                self.n_threads,
            )
        )

    def overflow(self, example: int | None = None) -> BeyondRangeError:
        """What to say where scores, or the squared norm of an example, overflow."""
        what = "the weights overflow"
        if example is not None:
            what = f"the squared norm of example {example} overflows"
        return BeyondRangeError(
            f"{what} {self.X.dtype}; scale X, for instance with "
            "sklearn.preprocessing.StandardScaler, or lower C or the weights of examples"
        )


@dataclass(frozen=True)
class Solution:
    """Weights, the dual variables behind them, and what they are worth."""

    table: FloatArray
    masses: Masses
    certified: Certified
