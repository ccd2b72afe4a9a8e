"""The one loop that drives every iterative algorithm of Kesler.

An algorithm is a `Step`: something that can make one sweep over its data and say how it stands. The
loop owns everything else: the number of sweeps, the tolerance, the time budget, the check that
numbers are still numbers, progress, and the reason for stopping. Ctrl-C is raised by the core from
inside a sweep and passes through here as it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kesler._progress import Progress

__all__ = ["Outcome", "Record", "Step", "Sweep", "run"]


class Sweep(NamedTuple):
    """How an algorithm stands after a sweep.

    Attributes
    ----------
    value : float
        What the history keeps: a relative duality gap, or a share of mistakes.
    finished : str
        Why there is nothing left to do, or an empty string.
    """

    value: float
    finished: str = ""


class Step(Protocol):
    """An algorithm, one sweep at a time."""

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        """Make one sweep; `report(examples_done)` is called now and then meanwhile."""

    @property
    def sweep_size(self) -> int:
        """What `report` counts up to in a sweep."""


class Record(NamedTuple):
    """One line of the history: sweep number, seconds since the start, value after it."""

    n_iter: int
    seconds: float
    value: float


@dataclass(frozen=True)
class Outcome:
    """Why an algorithm stopped, and how it got there.

    Attributes
    ----------
    status : str
        "converged" (the value fell to the tolerance), "max_iter", "time_budget", or the algorithm's
        own reason.
    n_iter : int
        Sweeps made.
    value : float
        Value after the last sweep.
    history : tuple of Record
    note : str
        What the algorithm did, in words, where there is something to say.
    """

    status: str
    n_iter: int
    value: float
    history: tuple[Record, ...]
    note: str = ""


def run(
    step: Step,
    *,
    max_iter: int,
    tol: float | None = None,
    time_budget: float | None = None,
    verbose: int = 0,
    label: str = "fit",
) -> Outcome:
    """Sweep until the step is finished, its value is at most `tol`, or a limit is reached."""
    start = time.perf_counter()
    history: list[Record] = []
    status = "max_iter"
    size = max(step.sweep_size, 1)
    progress = Progress(label, max_iter * size) if verbose else None
    try:
        for n in range(1, max_iter + 1):
            report = None
            if progress is not None:
                before = (n - 1) * size
                note = f"{history[-1].value:.4g}" if history else ""
                report = _reporter(progress, before, note)
            sweep = step.sweep(report)
            if math.isnan(sweep.value):
                raise FloatingPointError(f"sweep {n} of {label} gave no number")
            seconds = time.perf_counter() - start
            history.append(Record(n, seconds, sweep.value))
            if progress is not None:
                progress.update(n * size, f"{sweep.value:.4g}")
            if sweep.finished:
                status = sweep.finished
                break
            if tol is not None and sweep.value <= tol:
                status = "converged"
                break
            if time_budget is not None and seconds >= time_budget:
                status = "time_budget"
                break
    finally:
        if progress is not None:
            progress.close()
    return Outcome(status, len(history), history[-1].value, tuple(history))


def _reporter(progress: Progress, before: int, note: str) -> Callable[[int], None]:
    return lambda done: progress.update(before + done, note)
