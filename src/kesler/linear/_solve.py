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
from kesler.linear._newton import Newton

SOLVERS = ("auto", "dual", "newton")

_FEW = 1000  # examples of which sweeps make short work
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
    why_not = _unfit_for_newton(problem)
    if solver == "newton" and why_not:
        raise ValueError(f"solver='newton' {why_not}; use solver='dual' or 'auto'")
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
        return not _unfit_for_newton(problem) and _suits_newton(problem)
    return solver == "newton"


@functools.cache
def _libraries() -> Any:
    """The BLAS whose threads are limited; to look for it takes longer than a small fit."""
    return ThreadpoolController()


def _unfit_for_newton(problem: Problem) -> str:
    """Why Newton's method cannot solve the problem, or an empty string."""
    if (problem.aggregate, problem.loss) != ("max", "hinge"):
        return "is for aggregate='max' with loss='hinge'"
    constraints = problem.constraints
    if constraints.kind != "classes" or constraints.has_margins or constraints.n_labels < 2:
        return "is for two classes or more without costs, not for other orders"
    if sp.issparse(problem.X):
        return "is for dense X"
    if problem.X.shape[1] + problem.intercept == 0:
        return "needs a feature or an intercept"
    return ""


def _suits_newton(problem: Problem) -> bool:
    """Whether there are examples enough for each weight, so that second-order steps pay."""
    n, d = problem.X.shape
    weights = problem.constraints.n_labels * (d + problem.intercept)
    return bool(n >= max(_FEW, 2 * weights))


class _NewtonThenDual:
    """Newton's method, until it makes no headway; then sweeps from where it stopped."""

    def __init__(self, problem: Problem, tol: float, start: Masses | None, factor: float) -> None:
        self._problem, self._tol = problem, tol
        self._newton = Newton(problem, tol, start, factor)
        self._step: Solver = self._newton
        self._best = math.inf
        self._idle = 0
        self._turned = ""

    @property
    def sweep_size(self) -> int:
        return self._problem.n

    @property
    def note(self) -> str:
        return self._turned + self._step.note

    def solution(self) -> Solution:
        return self._step.solution()

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        if self._step is self._newton:
            try:
                sweep = self._newton.sweep(report)
            except BeyondRangeError:
                self._turn_to_sweeps(None, "overflow")
                return self._step.sweep(report)
            if sweep.value <= self._tol:
                return sweep
            self._idle = 0 if sweep.value < 0.7 * self._best else self._idle + 1
            self._best = min(self._best, sweep.value)
            most = _SHORT_IDLE if self._newton.short else _IDLE
            if self._idle < most and not sweep.finished:
                return sweep
            self._turn_to_sweeps(self._newton.solution().masses, "little headway")
            return sweep._replace(finished="")
        return self._step.sweep(report)

    def _turn_to_sweeps(self, start: Masses | None, why: str) -> None:
        self._turned = f"{self._newton.note}, with {why}; then "
        self._step = DualSweeps(self._problem, self._tol, start)
