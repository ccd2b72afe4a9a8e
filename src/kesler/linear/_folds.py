"""Parts of the examples to learn from and to judge by, for choosing C.

A part to learn from is a weight for every example, so no row is copied. What judges is a mean over
the examples left out, computed from scores in blocks, or a scorer of the user, which gets the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from kesler import _checks
from kesler._scores import count_violated
from kesler._targets import Target
from kesler.constraints import Constraints
from kesler.linear._machine import Problem
from kesler.linear._sorter import Sorter

Rows = npt.NDArray[np.int64]
Judge = Callable[[Sorter], float]

_BLOCK = 1 << 20  # scores held at once


class Fold(NamedTuple):
    """A problem over the examples to learn from, and the rows of those to judge by."""

    problem: Problem
    left_out: Rows


def folds(problem: Problem, y: Any, cv: Any, groups: Any) -> list[Fold]:
    """The folds of `cv`; of classes, some of each in every fold where `cv` is a number."""
    constraints, n = problem.constraints, problem.n
    classes = constraints.kind == "classes"
    told = constraints.labels[constraints.class_codes()] if classes else y
    splitter = check_cv(cv, told if classes else None, classifier=classes)
    weight = np.ones(n) if problem.weight is None else problem.weight
    made = []
    for number, (kept, left_out) in enumerate(splitter.split(problem.X, told, groups)):
        # A row drawn twice counts twice.
        share = weight * np.bincount(_rows(kept, n), minlength=n)
        if not share.any():
            raise ValueError(f"fold {number} of cv leaves no example to learn from")
        made.append(Fold(replace(problem, weight=share), _rows(left_out, n)))
    if not made:
        raise ValueError("cv gives no fold at all")
    return made


def _rows(part: Any, n: int) -> Rows:
    rows = np.asarray(part)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    rows = np.arange(n)[rows] if rows.size else np.zeros(0, dtype=np.int64)
    return rows.astype(np.int64, copy=False)


def own_judge(problem: Problem, weight: npt.NDArray[np.float64] | None, rows: Rows) -> Judge:
    """Accuracy of classes, subset accuracy of calibrated label sets, else Kendall's tau."""
    constraints = problem.constraints
    share = None if weight is None else weight[rows]
    if constraints.kind == "classes":
        # By the class alone: a rival that weighs nothing in learning is still another class.
        places = np.arange(constraints.n_labels)
        constraints = Constraints.from_classes(constraints.class_codes(), labels=places)
    elif not (constraints.kind == "labelsets" and constraints.calibrated):
        told = constraints[rows]
        return lambda sorter: _tau(problem, told, rows, share, sorter)
    labels = constraints.labels

    def accuracy(sorter: Sorter) -> float:
        wrong = sorter.errors(problem.X, constraints, labels, problem.n_threads, rows)
        return _mean(~wrong, share)

    return accuracy


def _tau(
    problem: Problem,
    constraints: Constraints,
    rows: Rows,
    share: npt.NDArray[np.float64] | None,
    sorter: Sorter,
) -> float:
    violated, total = np.zeros((2, rows.size), dtype=np.int64)
    step = max(1, _BLOCK // (constraints.n_labels + 1))
    for begin in range(0, rows.size, step):
        block = slice(begin, begin + step)
        scores = sorter.scores(problem.X, problem.n_threads, rows[block])
        violated[block], total[block] = count_violated(constraints[block], scores)
    some = total > 0
    return _mean(1 - 2 * violated[some] / total[some], None if share is None else share[some])


def _mean(values: Any, share: npt.NDArray[np.float64] | None) -> float:
    """NaN where there is nothing to judge by."""
    if values.size == 0 or (share is not None and not share.any()):
        return float("nan")
    return _checks.mean(values, share)


def targets(y: Any, target: Target, rows: Rows) -> Any:
    """What y says of some examples, for a scorer."""
    part = target.constraints[rows]
    if isinstance(y, Constraints):
        return part
    if target.answer == "classes":
        return np.asarray(part)
    return part.indicator() if target.answer == "sparse indicator" else np.asarray(part)
