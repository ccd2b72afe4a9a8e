"""Which algorithm solves a constraint machine, and the loop that drives it.

Every algorithm is a `Step` that ends in a `Solution` with the same certificate, so that another may
go on where one stopped.
"""

from __future__ import annotations

from dataclasses import replace

from kesler._driver import Outcome, run
from kesler.linear._dual import DualSweeps
from kesler.linear._machine import Masses, Problem, Solution
from kesler.linear._newton import Newton

SOLVERS = ("auto", "dual", "newton")


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
    step = (Newton if solver == "newton" else DualSweeps)(problem, tol, start, factor)
    outcome = run(
        step, max_iter=max_iter, tol=tol, time_budget=time_budget, verbose=verbose, label=label
    )
    return step.solution(), replace(outcome, note=step.note)
