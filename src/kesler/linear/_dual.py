"""Dual sweeps as a `Step` of the driver: when to start small, when to ask for the certificate.

The sweeps themselves are the core's (native/dual.hpp), after Keerthi, Sundararajan, Chang, Hsieh
and Lin (2008). A round visits every example once and then those that still move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from kesler._driver import Sweep
from kesler.linear._machine import Certified, Masses, Problem, Solution, Start

_VISITS = 4  # for each example in a round, at most
_FEW = 10_000  # visits that a round of few examples may have all the same
_UNSEEN = 10  # rounds without a better estimate or a certificate
_STRETCHES = 4.0 ** np.arange(1, 9)  # of the weights at the end, in units of the last digit
_STALLED = 4  # certificates in a row that bring nothing: it is the precision that ends it


class DualSweeps:
    """Rounds of dual sweeps from weights of zero, or from masses times a factor."""

    def __init__(self, problem: Problem, tol: float, start: Start | None = None) -> None:
        self._problem = problem
        self._tol = tol
        self._table = problem.table()
        self._growth = 1.0 if start is not None else _growth(problem)
        self._solver = problem.solver(self._table, problem.C / self._growth)
        if self._solver.overflow() >= 0:
            raise problem.overflow(self._solver.overflow())
        self._trust = 1.0  # estimated gaps are asked to be this much below the tolerance
        self._least = np.inf  # of the estimates
        self._unseen = 0
        self._stalled = 0
        self._stretched = False
        self._best = np.inf
        self._best_dual = -np.inf
        self.dual = -np.inf  # as the last round estimated it
        self._certified: Certified | None = None
        self.visits = 0
        self.epochs = 0
        if start is not None:
            self._solver.place(*start.masses, start.factor)
            self._certify()

    @property
    def sweep_size(self) -> int:
        return max(_VISITS * self._problem.n, _FEW)

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        if self._growth > 1:
            self._begin(report)
        if self._certified is not None and self._certified.gap <= self._tol:
            return Sweep(self._certified.gap)  # where it began is good enough
        if self._stretched:  # back to the weights that the dual variables give
            self._certify()
            self._stretched = False
        self._certified = None
        target = self._tol * self._trust
        primal, dual = self._round(target, self.sweep_size, report)
        self.dual = dual
        estimate = (primal - dual) / primal if primal > 0 else 0.0
        self._unseen += 1
        if estimate < 0.95 * self._least:
            self._least, self._unseen = estimate, 0
        if not estimate > target or self._unseen >= _UNSEEN:
            certified = self._certify()
            if certified.gap > self._tol:
                self._trust = min(0.9, max(0.1, estimate / certified.gap))
                self._stalled = 0 if self._brought_something(certified) else self._stalled + 1
                if self._stalled >= _STALLED:
                    certified = self._stretch(certified)
                    return Sweep(certified.gap, "" if certified.gap <= self._tol else "precision")
            return Sweep(certified.gap)
        # Only the certificate may end the loop.
        return Sweep(max(estimate / self._trust, float(np.nextafter(self._tol, np.inf))))

    def _stretch(self, certified: Certified) -> Certified:
        """Weights a little longer, where rounding leaves tiny losses that a large C multiplies."""
        masses, table = Masses(*self._solver.masses()), self._table.copy()
        for part in float(np.finfo(table.dtype).eps) * _STRETCHES:
            longer = table * table.dtype.type(1 + part)
            found = self._problem.certify(masses, longer)
            if found.gap < certified.gap:
                self._table[...], certified = longer, found
        self._certified, self._stretched = certified, True
        return certified

    def _brought_something(self, certified: Certified) -> bool:
        """Whether the gap fell, which goes up and down on its way, or the dual rose at all."""
        rise = certified.dual - self._best_dual
        least = float(np.finfo(self._table.dtype).eps) * abs(certified.dual)
        better = certified.gap < 0.95 * self._best or rise > least
        self._best = min(self._best, certified.gap)
        self._best_dual = max(self._best_dual, certified.dual)
        return better

    def solution(self) -> Solution:
        """Where the sweeps stand, certified."""
        certified = self._certified if self._certified is not None else self._certify()
        return Solution(self._table, Masses(*self._solver.masses()), certified)

    @property
    def note(self) -> str:
        """What was done, in words."""
        passes = self.visits / max(self._problem.n, 1)
        return f"dual sweeps: {passes:.1f} passes over the data in {self.epochs} epochs"

    def _begin(self, report: Callable[[int], None] | None) -> None:
        """A few epochs at a smaller C, whose masses then grow with it."""
        end = self.epochs + 20
        while self.epochs < end:
            before = self.visits
            self._round(0.0, self._problem.n, report)
            if self.visits == before:
                break
        self._solver.scale(self._growth)
        self._growth = 1.0

    def _round(
        self, target: float, most: int, report: Callable[[int], None] | None
    ) -> tuple[float, float]:
        primal, dual, _, visits, epochs = self._solver.round(target, most, report)
        self.visits += visits
        self.epochs += epochs
        return primal, dual

    def _certify(self) -> Certified:
        self._unseen = 0
        self._certified = Certified(*self._solver.certify(True))
        if not np.isfinite(self._certified.primal):
            raise self._problem.overflow()
        if not np.isfinite(self._certified.dual):
            raise ValueError(
                f"C={self._problem.C:g} times the weight of an example is too small for "
                f"{self._problem.X.dtype} at this size of X"
            )
        return self._certified


def _growth(problem: Problem) -> float:
    """Of dense data few examples hold the weights; found at a small C they need fewer passes."""
    return 1.0 if sp.issparse(problem.X) else 10.0
