"""Solutions for one C after another, each found from the one before.

What the dual variables of a smaller C say of a larger one was measured, not derived: multiplied by
the ratio of the two they are feasible, and where losses are many that is where they go; where all
examples are in order they stay as they are. `_growth` finds how far to go by the dual objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kesler import _checks
from kesler._driver import Outcome
from kesler.linear._machine import Problem, Solution, Start

Solve = Callable[[Problem, Start | None], tuple[Solution, Outcome]]

_COUNT, _LEAST, _MOST = 10, 1e-3, 1e2
_ROUNDING = float(np.sqrt(np.finfo(np.float32).eps))  # of a gap, as far as it is nobody's fault


class Stop(NamedTuple):
    """One C on the path."""

    problem: Problem
    solution: Solution
    outcome: Outcome

    def start(self, C: float) -> Start:
        """Where to begin at a larger C."""
        return Start(self.solution.masses, _growth(self, C), self.solution.table)


def grid(Cs: Any) -> npt.NDArray[np.float64]:
    """Values of C in ascending order: those given, or so many from 1e-3 to 1e2."""
    if Cs is None or isinstance(Cs, (int, np.integer)):
        count = _COUNT if Cs is None else Cs
        _checks.whole("Cs", count, at_least=1)
        return np.logspace(np.log10(_LEAST), np.log10(_MOST), int(count))
    try:
        values = np.asarray(Cs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Cs must be a number of values or the values, not {Cs!r}") from error
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"Cs must be an integer or a list of values, one at least, not of shape {values.shape}"
        )
    for at, value in enumerate(values.tolist()):
        _checks.real(f"Cs[{at}]", value, above=0)
    return np.unique(values)


def along(problem: Problem, Cs: npt.NDArray[np.float64], solve: Solve) -> Iterator[Stop]:
    """The solution at each of the ascending `Cs`; only the one before is held."""
    before: Stop | None = None
    for C in Cs.tolist():
        at = replace(problem, C=C)
        before = Stop(at, *solve(at, None if before is None else before.start(C)))
        yield before


def start_for(problem: Problem, Cs: npt.NDArray[np.float64], solve: Solve) -> Start | None:
    """Where to begin at the last of the ascending `Cs`."""
    before: Stop | None = None
    for stop in along(problem, Cs[:-1], solve):
        before = stop
    return None if before is None else before.start(Cs[-1])


def _growth(before: Stop, C: float) -> float:
    """By what the dual variables are multiplied to begin with at C."""
    ratio = C / before.problem.C
    if before.problem.loss == "squared_hinge":
        return ratio
    # With the hinge the dual objective of f times the variables is f * linear - f^2 / 2 * norm2.
    table = before.solution.table
    norm2 = float(np.vdot(table, table))
    linear = before.solution.certified.dual + norm2 / 2
    return ratio if linear >= ratio * norm2 else max(1.0, linear / norm2)


def fell_short(outcome: Outcome) -> bool:
    """Whether a fit ended with more to be had than rounding explains."""
    if outcome.status == "precision":
        return outcome.value > _ROUNDING
    return outcome.status != "converged"


def unfinished(outcomes: list[Outcome]) -> str:
    """What to say of the fits that fell short; an empty string where none did."""
    ended = [o for o in outcomes if fell_short(o)]
    if not ended:
        return ""
    reasons = ", ".join(sorted({o.status for o in ended}))
    return (
        f"{len(ended)} of {len(outcomes)} fits stopped short ({reasons}), with a relative duality "
        f"gap of up to {max(o.value for o in ended):.3g}"
    )
