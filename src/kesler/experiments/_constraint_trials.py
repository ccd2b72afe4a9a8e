"""Constraint classification and one-vs-all on the seven sets of Har-Peled, Roth and Zimak (2002).

The data of their section 5, what each learner gets wrong on them, and whether the difference is
more than noise. How it is shown is the business of `_constraint_page`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold

from kesler.constraints import Constraints
from kesler.datasets import Dataset, make_linear_sorting, make_ova_counterexample
from kesler.linear import OnlineClassifier
from kesler.preparation import TablePreparer
from kesler.theory import constraint_margin, mistake_bound

# For every set, learner and seed alike. The verdicts do not hang on it: with 10 or 100 passes, too,
# none is "worse".
PASSES = 50
CURVE_PASSES = 300
GAP = 0.02

CONSTRAINT, ONE_VS_ALL = "constraint classification", "one-vs-all"
UPDATES = {CONSTRAINT: "all", ONE_VS_ALL: "independent"}
AVERAGED, LAST = "averaged", "last"
WEIGHTS = {AVERAGED: True, LAST: False}

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Part(NamedTuple):
    """A training and a test set, prepared."""

    X_train: FloatArray
    y_train: npt.NDArray[Any]
    X_test: FloatArray
    y_test: npt.NDArray[Any]


@dataclass(frozen=True)
class Trial:
    """Which test examples a learner got wrong with one seed; those of all folds together."""

    name: str
    seed: int
    weights: str
    method: str
    wrong: BoolArray
    training_error: float

    @property
    def error(self) -> float:
        """Test error in %."""
        return 100 * float(self.wrong.mean())


class Comparison(NamedTuple):
    """Errors of both learners on one set, in %, one for each seed.

    `noise` is the standard error of their mean difference. One part of it is that of a mean over
    seeds (orders of presentation, folds, draws of the synthetic set), the other that of a finite
    test set, from the examples that only one of the two gets wrong.
    """

    name: str
    weights: str
    constraint: FloatArray
    one_vs_all: FloatArray
    noise: float

    @property
    def gain(self) -> float:
        """By how much the error of constraint classification is the lower one."""
        return float(np.mean(self.one_vs_all - self.constraint))

    @property
    def verdict(self) -> str:
        """Constraint classification is better or worse by two standard errors, or it is even."""
        if abs(self.gain) <= 2 * self.noise:
            return "even"
        return "better" if self.gain > 0 else "worse"


class Curve(NamedTuple):
    """How one learner gets on with one set: errors in % after each pass."""

    method: str
    training: list[float]
    test: list[float]


class Course(NamedTuple):
    """The curves of both learners on one set that a linear sorter separates.

    `margin` is that of the sorter, at unit norm, on the training examples, and `bound` how many
    moves constraint classification may need at most.
    """

    title: str
    curves: list[Curve]
    margin: float
    bound: float


# ---- data ----------------------------------------------------------------------------------------


def table_parts(table: Dataset, seed: int, most_rows: int | None) -> Iterator[Part]:
    """The paper's split of a table; for glass, which has none, ten folds."""
    if table.name == "glass":
        for train, test in KFold(10, shuffle=True, random_state=seed).split(table.data):
            X, y = table.data, table.target
            yield _prepared(X[train], X[test], y[train], y[test])
        return
    X_train, X_test, y_train, y_test = table.split()
    if most_rows is not None:
        some = np.random.RandomState(seed).permutation(len(y_train))[:most_rows]
        X_train, y_train = X_train[some], y_train[some]
    yield _prepared(X_train, X_test[:most_rows], y_train, y_test[:most_rows])


def _prepared(X_train: Any, X_test: Any, y_train: Any, y_test: Any) -> Part:
    preparer = TablePreparer().fit(X_train)
    return Part(preparer.transform(X_train), y_train, preparer.transform(X_test), y_test)


def synthetic_part(n: int, seed: int, gap: float = 0.0) -> tuple[Part, FloatArray]:
    """n examples to learn from and n to test with, and the sorter that labelled them."""
    X, y, coef = make_linear_sorting(2 * n, gap=gap, random_state=seed)
    return Part(X[:n], y[:n], X[n:], y[n:]), coef


# ---- test errors ---------------------------------------------------------------------------------


def try_all(name: str, seed: int, parts: Sequence[Part]) -> list[Trial]:
    """Both learners, both kinds of weights, on the folds of one set."""
    trials = []
    for weights, average in WEIGHTS.items():
        for method, update in UPDATES.items():
            wrong, slips, n_train = [], 0.0, 0
            for part in parts:
                learner = OnlineClassifier(
                    update=update, average=average, max_iter=PASSES, random_state=seed
                ).fit(part.X_train, part.y_train)
                wrong.append(learner.predict(part.X_test) != part.y_test)
                slips += np.count_nonzero(learner.predict(part.X_train) != part.y_train)
                n_train += part.y_train.size
            trials.append(
                Trial(name, seed, weights, method, np.concatenate(wrong), 100 * slips / n_train)
            )
    return trials


def compare(trials: Sequence[Trial], name: str, weights: str) -> Comparison:
    """Both learners on one set, seed by seed."""
    ours, theirs = (
        [t for t in trials if (t.name, t.weights, t.method) == (name, weights, method)]
        for method in UPDATES
    )
    pairs = list(zip(ours, theirs, strict=True))
    gains = np.array([b.error - a.error for a, b in pairs])
    sampling = np.mean([np.var(b.wrong.astype(float) - a.wrong) / a.wrong.size for a, b in pairs])
    seeding = np.var(gains, ddof=1) / gains.size if gains.size > 1 else 0.0
    return Comparison(
        name,
        weights,
        np.array([t.error for t in ours]),
        np.array([t.error for t in theirs]),
        float(np.sqrt(seeding + 100**2 * sampling)),
    )


def mean_and_spread(errors: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; one value has no deviation (NaN)."""
    spread = float(np.std(errors, ddof=1)) if errors.size > 1 else float("nan")
    return float(np.mean(errors)), spread


# ---- errors pass by pass -------------------------------------------------------------------------


def follow(title: str, part: Part, coef: FloatArray) -> Course:
    """Errors of the last weights of both learners after each pass."""
    margin = float(
        constraint_margin(
            Constraints.from_classes(part.y_train),
            part.X_train @ coef.T / np.linalg.norm(coef),
        ).min()
    )
    radius = float(np.sqrt((part.X_train**2).sum(axis=1).max() + 1))  # 1 for the threshold
    curves = [_curve(method, part) for method in UPDATES]
    return Course(title, curves, margin, mistake_bound(radius, margin))


def follow_figure_2() -> Course:
    """The paper's example that one-vs-all cannot learn, extended to 100 dimensions."""
    X, y = make_ova_counterexample(100, random_state=0)
    coef = np.zeros((3, 100))
    coef[:, :2] = [[-3, 1], [0, 3], [3, -4]]
    return follow("Figure 2 in 100 dimensions", Part(X, y, X, y), coef)


def _curve(method: str, part: Part) -> Curve:
    learner = OnlineClassifier(
        update=UPDATES[method],
        average=False,
        max_iter=1,
        warm_start=True,
        random_state=np.random.RandomState(0),  # it goes on, so that each pass has its own order
    )
    training, test = (Constraints.from_classes(y) for y in (part.y_train, part.y_test))
    curve = Curve(method, [], [])
    for _ in range(CURVE_PASSES):
        learner.fit(part.X_train, training)
        curve.training.append(100 * (1 - learner.score(part.X_train, training)))
        curve.test.append(100 * (1 - learner.score(part.X_test, test)))
    return curve
