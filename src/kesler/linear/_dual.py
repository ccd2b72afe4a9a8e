"""Dual sweeps as a `Step` of the driver: when to start small, when to ask for the certificate.

The sweeps themselves are the core's (native/dual.hpp), after Keerthi, Sundararajan, Chang, Hsieh
and Lin (2008). A round visits every example once and then those that still move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from kesler._driver import Sweep
from kesler.linear._machine import Certified, Masses, Problem, Solution

_VISITS = 4  # of a round, in numbers of examples
_STALLED = 4  # certificates that bring nothing, until it is the precision that ends it
_LITTLE = 1e-3  # of the gap: a dual objective that rises by less has come to its end


class DualSweeps:
    """Rounds of dual sweeps from weights of zero, or from masses times a factor."""

    def __init__(
        self, problem: Problem, tol: float, start: Masses | None = None, factor: float = 1.0
    ) -> None:
        self._problem = problem
        self._tol = tol
        self._table = problem.table()
        self._growth = 1.0 if start is not None else _growth(problem)
        self._solver = problem.solver(self._table, problem.C / self._growth)
        if self._solver.overflow() >= 0:
            raise problem.too_large(self._solver.overflow())
        self._trust = 1.0  # estimated gaps are asked to be this much below the tolerance
        self._stalled = 0
        self._best = np.inf
        self._highest = -np.inf
        self._certified: Certified | None = None
        self.visits = 0
        self.epochs = 0
        if start is not None:
            self._solver.place(*start, factor)
            self._certify()

    @property
    def sweep_size(self) -> int:
        return _VISITS * self._problem.n

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        if self._growth > 1:
            self._begin(report)
        self._certified = None
        target = self._tol * self._trust
        primal, dual = self._round(target, _VISITS * self._problem.n, report)
        estimate = (primal - dual) / primal if primal > 0 else 0.0
        if not estimate > target:
            certified = self._certify()
            if certified.gap > self._tol:
                self._trust *= min(0.9, max(0.1, estimate / certified.gap))
                gained = certified.dual - self._highest
                self._highest = max(self._highest, certified.dual)
                missing = certified.primal - certified.dual
                if certified.gap > 0.95 * self._best and gained < _LITTLE * missing:
                    self._stalled += 1
                self._best = min(self._best, certified.gap)
                if self._stalled >= _STALLED:
                    return Sweep(certified.gap, "precision")
            return Sweep(certified.gap)
        # An estimate within the tolerance that is not trusted is no reason to stop.
        return Sweep(estimate if estimate > self._tol else self._best)

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
        self._certified = Certified(*self._solver.certify(True))
        if not np.isfinite(self._certified.primal):
            raise ValueError(
                f"the weights overflow {self._problem.X.dtype}; scale X, for instance with "
                "sklearn.preprocessing.StandardScaler"
            )
        return self._certified


def _growth(problem: Problem) -> float:
    """Of dense data few examples hold the weights; found at a small C they need fewer passes."""
    return 1.0 if sp.issparse(problem.X) else 10.0
