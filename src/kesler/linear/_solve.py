"""Which algorithm solves a constraint machine, and the loop that drives it.

Every algorithm is a `Step` that ends in a `Solution` with the same certificate, so that another may
go on where one stopped.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from kesler._driver import Outcome, Step, Sweep, run
from kesler.linear._dual import DualSweeps
from kesler.linear._machine import BeyondRangeError, Masses, Problem, Solution
from kesler.linear._newton import DIRECT, Newton

SOLVERS = ("auto", "dual", "newton")

_PER_EXAMPLE = 1000  # a square of so many weights is factored in the time of few passes
_LOOSE = 5e-3  # tolerances that sweeps reach in few passes from good weights
_ROUNDS = 6  # rounds after which the gap should be no larger than the objective
_NEARLY = 1e-2  # a gap from which sweeps are left to go on
_IDLE, _SHORT_IDLE = 8, 3  # rounds in which the gap hardly falls, until it is the sweeps' turn; the
# second where Newton's steps have next to no length


class Solver(Step, Protocol):
    """An algorithm that ends in a solution."""

    def solution(self) -> Solution:
        """Where it stands, certified."""

    @property
    def note(self) -> str:
        """What was done, in words."""


def solve(
    problem: Problem,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    time_budget: float | None,
    start: Masses | None = None,
    factor: float = 1.0,
    verbose: int = 0,
    label: str = "fit",
) -> tuple[Solution, Outcome]:
    """The solution to within `tol`, or as near as the limits let it come, and how it was found.

    `start` are dual variables to begin with, feasible after they are multiplied by `factor`.
    """
    why_not = _beyond_newton(problem)
    if solver == "newton" and why_not:
        raise ValueError(
            "solver='newton' is for classes, aggregate='max', loss='hinge' and dense X, but "
            f"{why_not}; solver='dual' takes all of them"
        )
    step: Solver
    if solver == "newton":
        step = Newton(problem, tol, start, factor)
    elif takes_newton(problem, solver):
        step = Auto(problem, tol, start, factor)
    else:
        step = DualSweeps(problem, tol, start, factor)
    with _libraries().limit(limits=problem.n_threads, user_api="blas"):
        outcome = run(
            step, max_iter=max_iter, tol=tol, time_budget=time_budget, verbose=verbose, label=label
        )
        return step.solution(), replace(outcome, note=step.note)


def takes_newton(problem: Problem, solver: str) -> bool:
    """Whether the algorithm begins with Newton's method."""
    if solver == "auto":
        return not _beyond_newton(problem) and _suits_newton(problem)
    return solver == "newton"


@functools.cache
def _libraries() -> Any:
    """The BLAS whose threads are limited; to look for it takes longer than a small fit."""
    return ThreadpoolController()


def _beyond_newton(problem: Problem) -> str:
    """Why Newton's method cannot solve the problem, or an empty string."""
    constraints = problem.constraints
    if problem.aggregate != "max":
        return f"aggregate is {problem.aggregate!r}"
    if problem.loss != "hinge":
        return f"loss is {problem.loss!r}"
    if constraints.kind != "classes":
        return f"y holds {constraints.kind}"
    if constraints.has_margins:
        return "y holds costs"
    if constraints.n_labels < 2:
        return "y holds a single class"
    if sp.issparse(problem.X):
        return "X is sparse"
    if problem.X.shape[1] + problem.intercept == 0:
        return "there is nothing to learn a weight for"
    return ""


def _suits_newton(problem: Problem) -> bool:
    """Whether second-order steps pay: few weights to solve for, or examples enough for each."""
    n, d = problem.X.shape
    weights = problem.constraints.n_labels * (d + problem.intercept)
    return bool(n >= 2 * weights if weights > DIRECT else weights**2 <= _PER_EXAMPLE * n)


class Auto:
    """Newton's method, and dual sweeps where it makes no headway.

    What it finds hard (rows far out, classes that hardly overlap) sweeps mostly find easy, and the
    other way round: if they are not through after twice its passes, it is Newton's turn again, to
    the end. On wide data its weights are good long before its dual variables are; for a loose
    tolerance sweeps bring the dual near sooner. The solution has the better weights and the better
    dual variables of the two.
    """

    def __init__(self, problem: Problem, tol: float, start: Masses | None, factor: float) -> None:
        self._problem, self._tol = problem, tol
        self._newton = Newton(problem, tol, start, factor)
        self._dual: DualSweeps | None = None
        self._sweeps = False  # whose turn it is
        self._spent = ""  # why Newton's method cannot go on
        self._allowed = 0.0  # passes of sweeps until it is Newton's turn again
        self._rounds = self._idle = 0
        self._least = self._best = math.inf
        self._why = ""

    @property
    def sweep_size(self) -> int:
        return self._problem.n

    @property
    def note(self) -> str:
        if self._dual is None:
            return self._newton.note
        return f"{self._newton.note} ({self._why}); {self._dual.note}"

    def solution(self) -> Solution:
        if self._dual is None:
            return self._newton.solution()
        solution = self._dual.solution()
        if self._spent == "overflow":
            return solution
        other = self._newton.solution()
        if other.certified.dual > solution.certified.dual:
            solution, other = other, solution
        if other.certified.primal >= solution.certified.primal:
            return solution
        certified = self._problem.certify(solution.masses, other.table)
        return Solution(other.table, solution.masses, certified)

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        if self._sweeps and self._dual is not None:
            return self._sweep(self._dual, report)
        try:
            sweep = self._newton.sweep(report)
        except BeyondRangeError:
            self._spent = "overflow"
            self._turn(self._spent, None)
            return self.sweep(report)
        if sweep.value <= self._tol:
            return sweep
        self._spent = sweep.finished
        why = self._spent or ("" if self._dual is not None else self._reason(sweep))
        if why:
            self._turn(why, self._newton.solution().masses)
        return sweep._replace(finished="")

    def _turn(self, why: str, start: Masses | None) -> None:
        self._sweeps = True
        if self._dual is None:
            self._why = why
            self._dual = DualSweeps(self._problem, self._tol, start)
            self._allowed = 2 * self._newton.passes

    def _sweep(self, dual: DualSweeps, report: Callable[[int], None] | None) -> Sweep:
        sweep = dual.sweep(report)
        if sweep.value <= self._tol or self._spent == "overflow":
            return sweep
        gap = sweep.value
        if sweep.finished or dual.dual >= (1 - self._tol) * self._newton.primal:
            gap = min(gap, self.solution().certified.gap)
        if self._spent or gap <= _NEARLY:
            return sweep._replace(value=gap)
        if sweep.finished or dual.visits / self._problem.n > self._allowed:
            self._sweeps = False
        return Sweep(gap)

    def _reason(self, sweep: Sweep) -> str:
        """Why it is the sweeps' turn now, or an empty string."""
        primal = self._newton.primal
        fall = (self._least - primal) / primal if self._least < math.inf else math.inf
        if self._tol >= _LOOSE and fall <= self._tol / 4:
            return "only the dual far off"
        idle = sweep.value > 0.7 * self._best and fall <= 0.1 * self._tol
        self._idle = self._idle + 1 if idle else 0
        self._rounds += 1
        self._best = min(self._best, sweep.value)
        self._least = primal
        if self._idle >= (_SHORT_IDLE if self._newton.short else _IDLE):
            return "little headway"
        if self._rounds >= _ROUNDS and sweep.value > 1 and self._newton.direct:
            return "the dual far off"
        return ""
