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
from kesler.linear._machine import BeyondRangeError, Problem, Solution, Start
from kesler.linear._newton import DIRECT, Newton

SOLVERS = ("auto", "dual", "newton")

_PER_EXAMPLE = 1000  # a square of so many weights is factored in the time of few passes
_ROUNDS = 6  # rounds after which the gap should be no larger than the objective
_OVERFLOW = "overflow"
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
    start: Start | None = None,
    verbose: int = 0,
    label: str = "fit",
) -> tuple[Solution, Outcome]:
    """The solution to within `tol`, or as near as the limits let it come, and how it was found.

    `start` is where to begin, such as where another solution ended.
    """
    why_not = _beyond_newton(problem)
    if solver == "newton" and why_not:
        raise ValueError(
            "solver='newton' is for classes, aggregate='max', loss='hinge' and dense X, but "
            f"{why_not}; solver='dual' takes all of them"
        )
    step: Solver
    if solver == "newton":
        step = Newton(problem, tol, start)
    elif takes_newton(problem, solver):
        step = Auto(problem, tol, start)
    else:
        step = DualSweeps(problem, tol, start)
    # Idle threads of one BLAS (NumPy's, SciPy's) take the processors from the other's and ours.
    with _libraries().limit(limits=1, user_api="blas"):
        outcome = run(
            step, max_iter=max_iter, tol=tol, time_budget=time_budget, verbose=verbose, label=label
        )
        solution = step.solution()
    return solution, _as_certified(outcome, solution.certified.gap, tol, step.note)


def _as_certified(outcome: Outcome, gap: float, tol: float, note: str) -> Outcome:
    """The outcome with the certificate's gap in place of the last estimate."""
    history = (*outcome.history[:-1], outcome.history[-1]._replace(value=gap))
    status = "converged" if gap <= tol else outcome.status
    return replace(outcome, status=status, value=gap, history=history, note=note)


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
    """Newton's method and dual sweeps by turns.

    Newton's method begins. What it finds hard (rows far out, classes that hardly overlap) sweeps
    mostly find easy, and the other way round: each goes on for twice the passes of the other. The
    solution has the better weights and the better dual variables of the two.
    """

    def __init__(self, problem: Problem, tol: float, start: Start | None) -> None:
        self._problem, self._tol = problem, tol
        self._newton = Newton(problem, tol, start)
        self._dual: DualSweeps | None = None
        self._sweeps = False  # whose turn it is
        self._spent = [False, False]  # whether Newton's method, or sweeps, cannot go on
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
        if self._why == _OVERFLOW:
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
            sweep = self._dual.sweep(report)
        else:
            try:
                sweep = self._newton.sweep(report)
            except BeyondRangeError:
                self._spent[0] = True
                self._turn_to_sweeps(_OVERFLOW)
                return self.sweep(report)
        gap = sweep.value
        dual, primal = self._dual, self._newton.primal
        near = dual is not None and dual.dual >= (1 - self._tol) * primal
        if dual is not None and (gap <= self._tol or sweep.finished or near):
            gap = self.solution().certified.gap if near or gap <= self._tol else gap
        if gap > self._tol:
            self._spent[self._sweeps] = bool(sweep.finished)
            if all(self._spent):
                return Sweep(gap, sweep.finished)
            self._take_turns(sweep)
        return Sweep(gap)

    def _take_turns(self, sweep: Sweep) -> None:
        dual, passes = self._dual, self._newton.passes
        if dual is None:
            why = "its precision spent" if self._spent[0] else self._reason(sweep)
            if why:
                self._turn_to_sweeps(why)
            return
        visits = dual.visits / self._problem.n
        if self._sweeps:
            long = sweep.value > _NEARLY and visits > 2 * passes
            self._sweeps = self._spent[0] or not (self._spent[1] or long)
        else:
            self._sweeps = not self._spent[1] and (self._spent[0] or passes > 2 * visits)

    def _turn_to_sweeps(self, why: str) -> None:
        start = None
        if why != _OVERFLOW:
            start = Start(self._newton.solution().masses)
        self._dual = DualSweeps(self._problem, self._tol, start)
        self._sweeps, self._why = True, why

    def _reason(self, sweep: Sweep) -> str:
        """Why it is the sweeps' turn for the first time, or an empty string."""
        primal = self._newton.primal
        fall = (self._least - primal) / primal if 0 < primal < self._least < math.inf else math.inf
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
