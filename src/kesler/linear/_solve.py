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
_IDLE, _SHORT_IDLE = 8, 3  # rounds in which the gap hardly falls, until sweeps take over; the
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
        step = _NewtonThenDual(problem, tol, start, factor)
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


class _NewtonThenDual:
    """Newton's method, until it makes no headway; then sweeps from where it stopped.

    On wide data its weights are good long before its dual variables are. For a loose tolerance
    sweeps bring the dual near sooner, while the weights remain those of Newton's method until the
    sweeps have better ones.
    """

    def __init__(self, problem: Problem, tol: float, start: Masses | None, factor: float) -> None:
        self._problem, self._tol = problem, tol
        self._newton = Newton(problem, tol, start, factor)
        self._dual: DualSweeps | None = None
        self._least = self._best = math.inf
        self._idle = 0
        self._why = ""

    @property
    def sweep_size(self) -> int:
        return self._problem.n

    @property
    def note(self) -> str:
        if self._dual is None:
            return self._newton.note
        return f"{self._newton.note}, with {self._why}; then {self._dual.note}"

    def solution(self) -> Solution:
        if self._dual is None:
            return self._newton.solution()
        solution = self._dual.solution()
        if self._newton.primal < solution.certified.primal:
            weights = self._newton.weights
            certified = self._problem.certify(solution.masses, weights)
            return Solution(weights, solution.masses, certified)
        return solution

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        if self._dual is not None:
            return self._sweep(self._dual, report)
        try:
            sweep = self._newton.sweep(report)
        except BeyondRangeError:
            self._why = "overflow"
            self._dual = DualSweeps(self._problem, self._tol)
            return self._dual.sweep(report)
        if sweep.value <= self._tol:
            return sweep
        self._why = self._turns(sweep)
        if self._why:
            masses = self._newton.solution().masses
            self._dual = DualSweeps(self._problem, self._tol, masses)
        return sweep._replace(finished="")

    def _sweep(self, dual: DualSweeps, report: Callable[[int], None] | None) -> Sweep:
        """Sweeps' own, or sooner ended by the better weights of Newton's method."""
        sweep = dual.sweep(report)
        primal = self._newton.primal
        if sweep.value <= self._tol or not dual.dual >= (1 - self._tol) * primal:
            return sweep
        return sweep._replace(value=min(sweep.value, self.solution().certified.gap))

    def _turns(self, sweep: Sweep) -> str:
        """Why sweeps should take over now, or an empty string."""
        if sweep.finished:
            return "its precision spent"
        primal = self._newton.primal
        fall = (self._least - primal) / primal if self._least < math.inf else math.inf
        if self._tol >= _LOOSE and fall <= self._tol / 4:
            return "only the dual far off"
        self._idle = (
            0 if sweep.value < 0.7 * self._best or fall > 0.1 * self._tol else self._idle + 1
        )
        self._best = min(self._best, sweep.value)
        self._least = primal
        if self._idle >= (_SHORT_IDLE if self._newton.short else _IDLE):
            return "little headway"
        return ""
