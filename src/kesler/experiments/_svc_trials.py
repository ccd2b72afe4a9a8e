"""ConstraintSVC and one-vs-rest on sets of labels and on rankings: what each gets wrong.

Both minimise squared hinge losses and choose C in the same way; what differs is what a loss is of.
ConstraintSVC compares the labels of an example with each other, one-vs-rest each label with 0.
How it is shown is the business of `_svc_page`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from kesler._scores import count_violated
from kesler.constraints import Constraints
from kesler.datasets import Dataset
from kesler.linear import ConstraintSVC

# What every learner may choose from. It stops after PATIENCE values in a row whose loss is WORSE
# times the least: small C are often alike, so a value that is merely no better tells nothing.
GRID = tuple(float(C) for C in 10.0 ** np.arange(-5, 2.5, 0.5))
PATIENCE, WORSE = 3, 1.1
HELD_OUT = 0.25  # of the training part, to choose C by

SVC, ONE_VS_REST = "ConstraintSVC", "one-vs-rest"
WINNER, UPPER_HALF = "one-vs-rest, winner", "one-vs-rest, upper half"

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Fold = tuple[Rows, Rows]
BoolArray = npt.NDArray[np.bool_]


class Task(NamedTuple):
    """A data set as both learners see it.

    `constraints` are what is sorted, `positive` by method what one-vs-rest takes for relevant.
    """

    name: str
    X: Any
    constraints: Constraints
    positive: dict[str, BoolArray]

    @property
    def methods(self) -> list[str]:
        """Who learns it."""
        return [SVC, *self.positive]


class Fit(NamedTuple):
    """Scores of test rows, and how far the objective may be from its minimum, where that is known.

    `gap` is the certificate of ConstraintSVC; of one-vs-rest there is none.
    """

    scores: FloatArray
    gap: float


Fitter = Callable[[float], Fit]  # at a C
Learner = Callable[[Any, Rows, Rows], Fitter]


@dataclass(frozen=True)
class Trial:
    """What a method got wrong on the test rows of all folds with one seed, row by row.

    `loss` is the share of an example's pairs that are out of order. `one_error` and `precision`
    (average precision) are there for sets of labels, NaN else.
    """

    name: str
    seed: int
    method: str
    loss: FloatArray
    one_error: float
    precision: float
    gap: float
    chosen: tuple[float, ...]


class Comparison(NamedTuple):
    """Mean losses of two methods on one set and the standard errors of these and of their gain.

    A standard error counts both sources of noise: the examples, which are a sample, and the seeds,
    which decide the folds.
    """

    ours: float
    ours_error: float
    theirs: float
    theirs_error: float
    gain: float
    gain_error: float

    @property
    def verdict(self) -> str:
        """ConstraintSVC is better or worse by two standard errors, or it is even."""
        if abs(self.gain) <= 2 * self.gain_error:
            return "even"
        return "better" if self.gain > 0 else "worse"


# ---- data ----------------------------------------------------------------------------------------


def read_task(table: Dataset, rows: Rows | None = None) -> Task:
    """The rows of a set of label sets or of rankings; all of them, or those given."""
    X, target = table.data, table.target
    if rows is not None:
        X, target = X[rows], target[rows]
    if sp.issparse(X) and 2 * X.nnz > X.shape[0] * X.shape[1]:
        X = X.toarray()  # a table that was stored as svmlight: it has no zeros, and less to store
    labels = range(target.shape[1])
    if table.target_kind == "labelsets":
        constraints = Constraints.from_labelsets(target, labels=labels)
        return Task(table.name, X, constraints, {ONE_VS_REST: target.toarray() > 0})
    constraints = Constraints.from_rankings(ranks=target, labels=labels, pairs="all")
    positive = {WINNER: target == 1, UPPER_HALF: target <= target.shape[1] // 2}
    return Task(table.name, X, constraints, positive)


def folds(n: int, parts: int, seed: int) -> list[Fold]:
    """Training and test rows; every row is tested once."""
    return list(KFold(parts, shuffle=True, random_state=seed).split(np.zeros(n)))


# ---- learning ------------------------------------------------------------------------------------


def learner_of(task: Task, method: str) -> Learner:
    """What learns from training rows, at one C after another, and scores the test rows."""
    if method == SVC:
        return _sorter(task.constraints)
    return _each_by_itself(task.positive[method])


def _sorter(constraints: Constraints) -> Learner:
    def learner(X: Any, train: Rows, test: Rows) -> Fitter:
        known, new, c = X[train], X[test], constraints[train]
        # Every example counts as much as any other: its loss is a mean over its pairs.
        weight = 1 / np.maximum(c.sizes, 1)
        model = ConstraintSVC(
            aggregate="sum", loss="squared_hinge", warm_start=True, random_state=0
        )

        def fit(C: float) -> Fit:
            model.set_params(C=C).fit(known, c, sample_weight=weight)
            scores = np.asarray(model.decision_function(new), dtype=np.float64)
            return Fit(scores, model.duality_gap_)

        return fit

    return learner


def _each_by_itself(positive: BoolArray) -> Learner:
    def learner(X: Any, train: Rows, test: Rows) -> Fitter:
        wanted, known, new = positive[train], X[train], X[test]
        constant = wanted.all(axis=0) | ~wanted.any(axis=0)

        def fit(C: float) -> Fit:
            scores = np.where(wanted[0], 1.0, -1.0) * np.ones((test.size, 1))
            for r in np.flatnonzero(~constant):
                model = LinearSVC(C=C, loss="squared_hinge", dual=False).fit(known, wanted[:, r])
                scores[:, r] = model.decision_function(new)
            return Fit(scores, float("nan"))

        return fit

    return learner


def choose_C(learner: Learner, task: Task, train: Rows, seed: int) -> float:
    """The C with the smallest loss on rows held out of the training part; of equals the least."""
    splitter = ShuffleSplit(1, test_size=HELD_OUT, random_state=seed)
    inner, held = next(splitter.split(train))
    fit = learner(scaled(task.X, train[inner]), train[inner], train[held])
    best, least, idle = GRID[0], np.inf, 0
    for C in GRID:
        loss = float(losses(task.constraints[train[held]], fit(C).scores).mean())
        idle = idle + 1 if loss > WORSE * least else 0
        if idle == PATIENCE:
            break
        if loss < least:
            best, least = C, loss
    return best


def scaled(X: Any, train: Rows) -> Any:
    """Columns with mean 0 and variance 1 on the training rows; sparse rows as they are."""
    return X if sp.issparse(X) else StandardScaler().fit(X[train]).transform(X)


def losses(constraints: Constraints, scores: FloatArray) -> FloatArray:
    """The share of the pairs of each example that are out of order."""
    violated, total = count_violated(constraints, scores)
    shares: FloatArray = violated / np.maximum(total, 1)
    return shares


def try_method(
    task: Task, method: str, seed: int, parts: Sequence[Fold]
) -> Iterator[tuple[Rows, Fit, float]]:
    """Test rows of each fold, their scores, and the C that was chosen."""
    learner = learner_of(task, method)
    for train, test in parts:
        with warnings.catch_warnings():
            # A C at which a limit ends the search may be tried; what was reached is in `gap`.
            warnings.simplefilter("ignore", ConvergenceWarning)
            C = choose_C(learner, task, train, seed)
            yield test, learner(scaled(task.X, train), train, test)(C), C


def judged(task: Task, method: str, seed: int, tested: Sequence[tuple[Rows, Fit, float]]) -> Trial:
    """The folds of one method and seed together."""
    rows = np.concatenate([test for test, _, _ in tested])
    scores = np.concatenate([fit.scores for _, fit, _ in tested])
    order = np.argsort(rows)
    c, scores = task.constraints[rows[order]], scores[order]
    one_error = precision = float("nan")
    if c.kind == "labelsets":
        relevant = c.indicator().toarray()
        one_error = 1 - float(relevant[np.arange(len(c)), scores.argmax(axis=1)].mean())
        precision = float(label_ranking_average_precision_score(relevant, scores))
    gap = max(fit.gap for _, fit, _ in tested)
    chosen = tuple(C for _, _, C in tested)
    return Trial(task.name, seed, method, losses(c, scores), one_error, precision, gap, chosen)


# ---- comparing -----------------------------------------------------------------------------------


def compare(trials: Sequence[Trial], name: str, method: str) -> Comparison:
    """ConstraintSVC and another method on one set."""
    ours, theirs = (
        np.array([t.loss for t in trials if (t.name, t.method) == (name, m)]) for m in (SVC, method)
    )
    return Comparison(
        *mean_and_error(ours), *mean_and_error(theirs), *mean_and_error(theirs - ours)
    )


def mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean and standard error of a table with a row for each seed and a column for each example."""
    n_seeds, n = values.shape
    seeding = np.var(values.mean(axis=1), ddof=1) / n_seeds if n_seeds > 1 else 0.0
    sampling = np.mean(np.var(values, axis=1)) / n
    return float(values.mean()), float(np.sqrt(seeding + sampling))
