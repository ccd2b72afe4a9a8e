"""Probabilities from the scores of a constraint machine: one temperature, found on unseen scores.

For classes softmax(scores / T), for calibrated label sets 1 / (1 + exp(-score / T)) label by label;
T minimises the log loss of scores that were predicted for examples left out of learning. None of
the papers has this; with one parameter it changes no order of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logsumexp, softmax
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from kesler.constraints import Constraints
from kesler.linear._machine import Problem, Solution, Start
from kesler.linear._sorter import FloatArray

_WIDEST = 20.0  # of log temperature; beyond it probabilities are 0 and 1, or all alike

Solve = Callable[[Problem, Start], Solution]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Calibration:
    """A temperature for scores."""

    temperature: float

    def probabilities(self, scores: FloatArray, n_labels: int) -> FloatArray:
        """Of shape (n, n_labels); a further column of `scores` is that of the virtual label."""
        if scores.shape[1] > n_labels:
            relevant: FloatArray = expit(
                (scores[:, :n_labels] - scores[:, n_labels:]) / self.temperature
            )
            return relevant
        shares: FloatArray = softmax(scores / self.temperature, axis=1)
        return shares


def calibrate(problem: Problem, solution: Solution, parts: float, solve: Solve) -> Calibration:
    """The temperature at which held-out scores are most likely.

    `parts` is a number of parts, each left out once, or the share of examples left out once. What
    is left out gets weight 0: no row is copied, and the dual variables of the others are where
    learning starts.
    """
    constraints = problem.constraints
    weight = np.ones(problem.n) if problem.weight is None else problem.weight
    out: list[FloatArray] = []
    rows: list[Rows] = []
    for left_out in _left_out(constraints, parts, problem.seed):
        kept = weight.copy()
        kept[left_out] = 0.0
        if not kept.any():
            continue
        part = replace(problem, weight=kept)
        start = Start(solution.masses.without(left_out), table=solution.table)
        sorter = part.sorter(solve(part, start).table)
        out.append(sorter.scores(problem.X, problem.n_threads, left_out))
        rows.append(left_out)
    if not rows:
        raise ValueError("calibration leaves no example to learn from; there must be two or more")
    held = np.concatenate(rows)
    losses = _losses(constraints, np.concatenate(out).astype(np.float64), held)
    share = weight[held] / weight[held].sum() if weight[held].any() else None
    found = minimize_scalar(
        lambda log: float(np.average(losses(np.exp(log)), weights=share)),
        bounds=(-_WIDEST, _WIDEST),
        method="bounded",
    )
    return Calibration(float(np.exp(found.x)))


def _left_out(constraints: Constraints, parts: float, seed: int) -> Iterator[Rows]:
    """The examples that each part leaves out; of classes, some of each where there are enough."""
    n = constraints.n_samples
    groups: npt.NDArray[Any] | None = None
    if constraints.kind == "classes":
        codes = constraints.class_codes()
        least = np.bincount(codes)[np.unique(codes)].min(initial=n)
        groups = codes if least >= (2 if parts < 1 else parts) else None
    splitter: Any
    if parts < 1:
        make = ShuffleSplit if groups is None else StratifiedShuffleSplit
        splitter = make(n_splits=1, test_size=parts, random_state=seed)
    else:
        if n < parts:
            raise ValueError(f"calibration={parts} parts cannot be made of n_samples={n}")
        make = KFold if groups is None else StratifiedKFold
        splitter = make(n_splits=int(parts), shuffle=True, random_state=seed)
    for _, left_out in splitter.split(np.zeros(n), groups):
        yield np.asarray(left_out, dtype=np.int64)


def _losses(constraints: Constraints, scores: FloatArray, rows: Rows) -> Callable[[float], Any]:
    """The log loss of each held-out example as a function of the temperature."""
    k = constraints.n_labels
    if constraints.calibrated:
        relevant = constraints[rows].indicator().toarray().astype(bool)
        signed = np.where(relevant, 1.0, -1.0) * (scores[:, :k] - scores[:, k:])
        return lambda temperature: -log_expit(signed / temperature).mean(axis=1)
    own = scores[np.arange(rows.size), constraints.class_codes()[rows]]

    def of_classes(temperature: float) -> Any:
        return logsumexp(scores / temperature, axis=1) - own / temperature

    return of_classes
