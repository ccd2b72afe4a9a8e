"""Constraints as the y of scikit-learn's own tools: splitters, cross-validation, searches."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_consistent_length, indexable, resample, shuffle
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from kesler import Constraints, OnlineClassifier

N, LABELS = 40, np.array(["a", "b", "c", "d"])
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 5))
SCORES = X @ RNG.standard_normal((5, 4))
TOP = np.argmax(SCORES, axis=1)


def pairs(n: int = N) -> Constraints:
    return Constraints.from_pairs(
        np.arange(n), LABELS[TOP[:n]], LABELS[np.argmin(SCORES, axis=1)[:n]], n, LABELS
    )


SUPERVISION = {
    "two classes": Constraints.from_classes(TOP > 0),
    "classes": Constraints.from_classes(LABELS[TOP]),
    "sets": Constraints.from_labelsets((SCORES > 0.5).astype(int), labels=LABELS),
    "calibrated": Constraints.from_labelsets((SCORES > 0.5).astype(int), calibrate=True),
    "rankings": Constraints.from_rankings(orders=LABELS[np.argsort(-SCORES, axis=1)]),
    "ties": Constraints.from_rankings(ranks=-np.round(SCORES), labels=LABELS, pairs="all"),
    "pairs": pairs(),
    "mixed": Constraints.concatenate(
        [Constraints.from_classes(LABELS[TOP[:20]], labels=LABELS), pairs()[20:]]
    ),
}
each = pytest.mark.parametrize("y", SUPERVISION.values(), ids=SUPERVISION.keys())


def same(a: Constraints, b: Constraints) -> bool:
    """Equal orders over equal labels."""
    p, q = a.pairs(), b.pairs()
    return (
        a.kind == b.kind
        and a.labels.tolist() == b.labels.tolist()
        and all(u.tolist() == v.tolist() for u, v in zip(p, q, strict=True))
    )


def rows_of(part: np.ndarray) -> np.ndarray:
    """Where the rows of a part stand in X."""
    return np.argmax((part[:, None] == X).all(axis=2), axis=1)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("two classes", "binary"),
        ("classes", "multiclass"),
        ("sets", "multilabel-indicator"),
        ("calibrated", "multilabel-indicator"),
        ("rankings", "unknown"),
        ("ties", "unknown"),
        ("pairs", "unknown"),
        ("mixed", "unknown"),
    ],
)
def test_the_type_of_target(name: str, kind: str) -> None:
    assert type_of_target(SUPERVISION[name]) == kind


@each
def test_it_counts_and_indexes_as_an_array(y: Constraints) -> None:
    assert _num_samples(y) == N
    check_consistent_length(X, y)
    assert indexable(X, y)[1] is y
    mixed_X, mixed_y = shuffle(X, y, random_state=0)
    assert same(mixed_y, y[rows_of(mixed_X)])
    _, some = resample(X, y, n_samples=7, random_state=0)
    assert isinstance(some, Constraints)
    assert len(some) == 7


@each
def test_train_test_split_keeps_rows_together(y: Constraints) -> None:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    assert (len(y_train), len(y_test)) == (30, 10)
    for part_X, part_y in ((X_train, y_train), (X_test, y_test)):
        assert isinstance(part_y, Constraints)
        assert part_y.labels is y.labels
        assert same(part_y, y[rows_of(part_X)])


def test_train_test_split_stratifies_classes() -> None:
    y = Constraints.from_classes([0] * 30 + [1] * 10)
    _, _, train, test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    assert Counter(np.asarray(train)) == {0: 24, 1: 8}
    assert Counter(np.asarray(test)) == {0: 6, 1: 2}


@each
@pytest.mark.parametrize("splitter", [KFold(4), KFold(4, shuffle=True, random_state=0)])
def test_kfold_parts_are_the_whole(y: Constraints, splitter: KFold) -> None:
    back = np.empty(N, dtype=int)
    parts = []
    for train, test in splitter.split(X, y):
        assert isinstance(y[train], Constraints)
        assert len(y[train]) + len(y[test]) == N
        back[test] = np.arange(len(test)) + sum(map(len, parts))
        parts.append(y[test])
    assert same(Constraints.concatenate(parts)[back], y)


@pytest.mark.parametrize("name", SUPERVISION)
def test_an_integer_cv_stratifies_classes_only(name: str) -> None:
    chosen = check_cv(5, SUPERVISION[name], classifier=True)
    assert type(chosen) is (StratifiedKFold if "classes" in name else KFold)
    assert len([*chosen.split(X, SUPERVISION[name])]) == 5


@pytest.mark.parametrize(
    "splitter",
    [
        StratifiedKFold(2),
        StratifiedShuffleSplit(2, test_size=0.25, random_state=0),
        RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0),
    ],
)
def test_stratified_splitters_see_the_classes(splitter: Any) -> None:
    y = Constraints.from_classes(["x"] * 24 + ["y"] * 16)
    classes = np.asarray(y)
    for train, test in splitter.split(X, y):
        for rows in (train, test):
            assert np.mean(classes[rows] == "y") == pytest.approx(0.4)


@pytest.mark.parametrize("labels", [[0, 1, 2], [3, 5, 7], ["a", "b", "c"]])
def test_the_scorers_of_scikit_learn_see_the_classes(labels: list[Any]) -> None:
    centres = np.arange(3).repeat(20)
    rows = np.eye(3)[centres] + np.random.default_rng(0).normal(scale=0.1, size=(60, 3))
    y = Constraints.from_classes(np.array(labels)[centres])
    model = OnlineClassifier(random_state=0)
    given = cross_val_score(model, rows, y, cv=5, scoring="accuracy")
    assert given.tolist() == cross_val_score(model, rows, y, cv=5).tolist()
    assert given.mean() > 0.9


def make(**parameters: Any) -> OnlineClassifier:
    return OnlineClassifier(random_state=0, max_iter=5, **parameters)


@each
def test_cross_val_score_equals_a_loop(y: Constraints) -> None:
    got = cross_val_score(make(), X, y, cv=5)
    folds = check_cv(5, y, classifier=True).split(X, y)
    wanted = [make().fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
    assert got.tolist() == wanted
    assert np.all((got >= 0) & (got <= 1))
    if y.kind == "classes":
        plain = cross_val_score(make(), X, y.labels[y.class_codes()], cv=5)
        assert got.tolist() == plain.tolist()


@each
def test_cross_validate_with_a_scorer_and_sparse_rows(y: Constraints) -> None:
    def errors(estimator: OnlineClassifier, X: Any, y: Constraints) -> float:
        return float(-np.mean(y.errors(_with_virtual(estimator, X, y))))

    found = cross_validate(
        make_pipeline(StandardScaler(with_mean=False), make()),
        sp.csr_matrix(X),
        y,
        cv=ShuffleSplit(3, random_state=0),
        scoring={"constraints": errors},
        return_estimator=True,
        n_jobs=1,
    )
    assert found["test_constraints"].shape == (3,)
    for value, model, (_, test) in zip(
        found["test_constraints"],
        found["estimator"],
        ShuffleSplit(3, random_state=0).split(X, y),
        strict=True,
    ):
        assert value == pytest.approx(model.score(sp.csr_matrix(X)[test], y[test]) - 1)


def _with_virtual(estimator: Any, X: Any, y: Constraints) -> Any:
    scores = estimator.decision_function(X)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


@each
def test_grid_search(y: Constraints) -> None:
    grid = {"rule": ["perceptron", "pa1"], "average": [True, False]}
    search = GridSearchCV(make(), grid, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = clone(make()).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)
    assert search.score(X, y) == best.score(X, y)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_constraints_reach_other_processes() -> None:
    y = SUPERVISION["mixed"]
    here, there = (cross_val_score(make(), X, y, cv=3, n_jobs=n) for n in (1, 2))
    assert here.tolist() == there.tolist()


def test_scorers_of_scikit_learn_see_class_codes() -> None:
    # y is never turned into its class names behind the user's back: scorers of classes want y as
    # an array, and Constraints of integers from 0 are one.
    y = Constraints.from_classes(TOP)
    assert y.labels.tolist() == [0, 1, 2, 3]
    scorer = make_scorer(lambda true, predicted: float(np.mean(np.asarray(true) == predicted)))
    got = cross_val_score(make(), X, y, cv=3, scoring=scorer)
    assert got.tolist() == cross_val_score(make(), X, TOP, cv=3).tolist()


@each
def test_cross_val_predict_gives_a_row_for_each(y: Constraints) -> None:
    predicted = cross_val_predict(make(), X, y, cv=KFold(3))
    assert len(predicted) == N
    if y.kind == "rankings":
        assert all(sorted(row) == y.labels.tolist() for row in predicted.tolist())


def test_learning_curves() -> None:
    sizes, train, test = learning_curve(
        make(), X, SUPERVISION["mixed"], train_sizes=[0.5, 1.0], cv=ShuffleSplit(2, random_state=0)
    )
    assert sizes.tolist() == [18, 36]
    assert train.shape == test.shape == (2, 2)
