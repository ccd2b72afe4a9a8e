"""ConstraintSVCCV against a search written out: the same folds, the same scores, the same C."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kesler import Constraints, ConstraintSVC, ConstraintSVCCV
from kesler.linear import svc_cv
from kesler.metrics import kendall_tau_scorer, ranking_loss_scorer

N, D, K = 90, 5, 4
CS = [0.01, 0.1, 1.0]
# Tight enough for two ways to one solution to give the same predictions.
EXACT: dict[str, Any] = {"tol": 1e-7, "random_state": 0}


def examples(seed: int = 0, noise: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=(D, K)) + noise * rng.normal(size=(N, K))


@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro"])
def test_a_grid_search_finds_the_same(scoring: str | None) -> None:
    X, scores = examples()
    y = np.array(["w", "x", "y", "z"])[scores.argmax(axis=1)]
    own = ConstraintSVCCV(CS, cv=3, scoring=scoring, **EXACT).fit(X, y)
    search = GridSearchCV(ConstraintSVC(**EXACT), {"C": CS}, cv=3, scoring=scoring).fit(X, y)
    split = [search.cv_results_[f"split{f}_test_score"] for f in range(3)]
    assert np.allclose(own.scores_, split, atol=1e-12)
    assert search.best_params_["C"] == own.C_
    assert own.Cs_.tolist() == CS
    assert np.allclose(own.coef_, search.best_estimator_.coef_, atol=1e-3)
    assert own.score(X, y) == pytest.approx(search.score(X, y), abs=0.02)


@pytest.mark.parametrize("aggregate", ["max", "sum"])
@pytest.mark.parametrize("kind", ["indicator", "sparse", "rankings", "sets", "pairs", "mixed"])
def test_every_supervision_is_judged(kind: str, aggregate: str) -> None:
    X, scores = examples(1, noise=0.1)
    order = np.argsort(-scores, axis=1)
    pairs = Constraints.from_pairs(np.arange(N), order[:, 0], order[:, -1], N, K)
    y: Any = {
        "indicator": (scores > 0).astype(int),
        "sparse": sp.csr_matrix(scores > 0, dtype=int),
        "rankings": Constraints.from_rankings(orders=order),
        "sets": Constraints.from_labelsets(scores > 0),
        "pairs": pairs,
        "mixed": Constraints.concatenate([pairs[:45], Constraints.from_classes(order[45:, 0])]),
    }[kind]
    settings: dict[str, Any] = {"aggregate": aggregate, **EXACT}
    own = ConstraintSVCCV(CS, cv=3, **settings).fit(X, y)
    expected = np.empty((3, len(CS)))
    for f, (kept, left_out) in enumerate(KFold(3).split(X)):
        for c, C in enumerate(CS):
            model = ConstraintSVC(C=C, **settings).fit(X[kept], y[kept])
            if kind in ("indicator", "sparse"):
                expected[f, c] = model.score(X[left_out], y[left_out])
            else:
                expected[f, c] = kendall_tau_scorer(model, X[left_out], y[left_out])
    assert np.allclose(own.scores_, expected, atol=0.02)
    best = ConstraintSVC(C=own.C_, **settings).fit(X, y)
    assert own.primal_objective_ == pytest.approx(best.primal_objective_, rel=1e-6)
    assert own.duality_gap_ <= 1e-6
    assert own.dual_coef_.shape[0] == N
    assert type(own.predict(X)) is type(best.predict(X))


def test_ties_go_to_the_smaller_c() -> None:
    X, y = np.tile(np.eye(3), (6, 1)), np.tile(np.arange(3), 6)
    own = ConstraintSVCCV([10.0, 1.0, 100.0], cv=3, random_state=0).fit(X, y)
    assert np.all(own.scores_ == 1)
    assert own.C_ == 1.0
    # A mean is a sum in some order: what differs by rounding is a tie.
    assert svc_cv._best(np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1 + 1e-17]])) == 0
    assert svc_cv._best(np.array([[0.1, 0.2], [np.nan, np.nan]])) == 1


def test_a_weight_is_so_many_copies() -> None:
    X, scores = examples(2)
    y, weight, group = scores.argmax(axis=1), np.arange(N) % 4, np.arange(N) % 3
    again = np.repeat(np.arange(N), weight)
    cv = LeaveOneGroupOut()
    weighted = ConstraintSVCCV(CS, cv=cv, **EXACT).fit(X, y, weight, groups=group)
    copied = ConstraintSVCCV(CS, cv=cv, **EXACT).fit(X[again], y[again], groups=group[again])
    assert np.allclose(weighted.scores_, copied.scores_, atol=1e-12)
    assert weighted.C_ == copied.C_
    assert np.allclose(weighted.coef_, copied.coef_, atol=1e-3)


@pytest.mark.parametrize("scoring", ["accuracy", kendall_tau_scorer])
def test_a_scorer_is_given_weights(scoring: Any) -> None:
    X, scores = examples(2)
    y, weight = scores.argmax(axis=1), np.arange(N) % 4
    plain = ConstraintSVCCV(CS, scoring="accuracy", cv=3, **EXACT).fit(X, y)
    own = ConstraintSVCCV(CS, scoring=scoring, cv=3, **EXACT).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(N), weight)
    if scoring == "accuracy":
        same = ConstraintSVCCV(CS, cv=3, **EXACT).fit(X, y, sample_weight=weight)
        assert np.allclose(own.scores_, same.scores_, atol=1e-12)
        assert not np.allclose(own.scores_, plain.scores_)
    assert own.score(X, y, weight) == pytest.approx(own.score(X[again], y[again]), abs=1e-12)


def test_rows_drawn_twice_count_twice() -> None:
    X, scores = examples(3)
    y = scores.argmax(axis=1)
    kept = np.random.default_rng(0).integers(60, size=60)
    left_out = np.arange(60, N)
    own = ConstraintSVCCV([1.0], cv=[(kept, left_out)], **EXACT).fit(X, y)
    model = ConstraintSVC(**EXACT).fit(X[kept], y[kept])
    assert own.scores_[0, 0] == model.score(X[left_out], y[left_out])
    mask = np.zeros(N, dtype=bool)
    mask[left_out] = True
    masked = ConstraintSVCCV([1.0], cv=[(~mask, mask)], **EXACT).fit(X, y)
    whole = ConstraintSVC(**EXACT).fit(X[~mask], y[~mask])
    assert masked.scores_[0, 0] == whole.score(X[mask], y[mask])


def test_splitters_see_what_they_need() -> None:
    X, scores = examples(4)
    y, group = scores.argmax(axis=1), np.arange(N) // 10
    for cv, groups in [
        (GroupKFold(3), group),
        (StratifiedKFold(3, shuffle=True, random_state=0), None),
        (ShuffleSplit(2, random_state=0), None),
    ]:
        own = ConstraintSVCCV([0.1], cv=cv, **EXACT).fit(X, y, groups=groups)
        one = cross_val_score(
            ConstraintSVC(0.1, **EXACT), X, y, cv=list(cv.split(X, y, groups)), scoring="accuracy"
        )
        assert np.allclose(own.scores_[:, 0], one, atol=1e-12)
    with pytest.raises(ValueError, match="groups"):
        ConstraintSVCCV([0.1], cv=GroupKFold(3)).fit(X, y)
    c = Constraints.from_classes(y)
    by_class = ConstraintSVCCV([0.1], cv=3, **EXACT).fit(X, c)
    assert np.array_equal(by_class.scores_, ConstraintSVCCV([0.1], cv=3, **EXACT).fit(X, y).scores_)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_row_is_copied(sparse: bool, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X, scores = examples()
    X = sp.csr_matrix(X.astype(dtype)) if sparse else X.astype(dtype)
    solved = []
    solve = ConstraintSVCCV._solve

    def watched(self: Any, problem: Any, start: Any) -> Any:
        solved.append(problem.X.data if sparse else problem.X)
        return solve(self, problem, start)

    monkeypatch.setattr(ConstraintSVCCV, "_solve", watched)
    ConstraintSVCCV(CS, cv=3, random_state=0).fit(X, scores.argmax(axis=1))
    assert len(solved) > 3 * 3
    assert all(np.shares_memory(held, X.data if sparse else X) for held in solved)


def test_costs_are_judged_by_class() -> None:
    X, scores = examples()
    y = scores.argmax(axis=1)
    weight = np.ones((K, K))
    weight[:, 0] = 0  # nobody minds when a class is taken for the first; it is an error still
    c = Constraints.from_classes(y, weight=weight)
    own = ConstraintSVCCV([1.0], cv=3, aggregate="sum", **EXACT).fit(X, c)
    cv = StratifiedKFold(3)
    for score, (kept, left_out) in zip(own.scores_[:, 0], cv.split(X, y), strict=True):
        model = ConstraintSVC(aggregate="sum", **EXACT).fit(X[kept], c[kept])
        assert score == np.mean(model.predict(X[left_out]) == y[left_out])


def test_without_a_refit_there_are_scores_only() -> None:
    X, scores = examples()
    y = scores.argmax(axis=1)
    own = ConstraintSVCCV(CS, cv=3, random_state=0).fit(X, y)
    bare = clone(own).set_params(refit=False).fit(X, y)
    assert np.array_equal(own.scores_, bare.scores_)
    assert bare.C_ == own.C_
    own.set_params(refit=False).fit(X, y)
    for model in (own, bare):
        assert not hasattr(model, "coef_")
        assert not hasattr(model, "primal_objective_")
        with pytest.raises(AttributeError, match="fitted with refit=False"):
            model.predict(X)


def test_it_is_an_estimator_like_others() -> None:
    X, scores = examples()
    y = scores.argmax(axis=1)
    model = make_pipeline(
        StandardScaler(), ConstraintSVCCV(CS, cv=3, calibration=3, random_state=0)
    )
    model.fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.predict_proba(X), copied.predict_proba(X))
    params = ConstraintSVCCV().get_params()
    assert "C" not in params
    assert {"Cs", "cv", "scoring", "refit"} <= set(params)
    assert set(ConstraintSVC().get_params()) - {"C", "warm_start"} <= set(params)


def test_the_same_seed_gives_the_same_bits() -> None:
    X, scores = examples()
    y = scores.argmax(axis=1)
    one, two = (ConstraintSVCCV(CS, random_state=3).fit(X, y) for _ in range(2))
    assert np.array_equal(one.coef_, two.coef_)


def test_the_score_is_that_of_scoring() -> None:
    X, scores = examples()
    c = Constraints.from_rankings(orders=np.argsort(-scores, axis=1))
    own = ConstraintSVCCV(CS, scoring=ranking_loss_scorer, cv=3, random_state=0).fit(X, c)
    assert own.score(X, c) == ranking_loss_scorer(own, X, c)
    assert np.all(own.scores_ < 0)


def test_limits_in_the_folds_are_told_once() -> None:
    X, scores = examples()
    model = ConstraintSVCCV([1.0, 2.0], cv=2, refit=False, max_iter=1, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="in the folds 4 of 4 fits stopped") as told:
        model.fit(X, scores.argmax(axis=1))
    assert len(told) == 1
    assert told[0].filename == __file__


def test_progress_counts_the_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, scores = examples()
    slow = svc_cv.Progress
    monkeypatch.setattr(svc_cv, "Progress", lambda *a: slow(*a, delay=0.0))
    ConstraintSVCCV(CS, cv=3, verbose=1, random_state=0).fit(X, scores.argmax(axis=1))
    assert "ConstraintSVCCV [##" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Cs": 0}, "Cs must be an integer, 1 or more"),
        ({"Cs": [-1.0]}, r"Cs\[0\] must be a number above 0"),
        ({"refit": 1}, "refit must be True or False"),
        ({"scoring": "beauty"}, "beauty"),
        ({"scoring": ["accuracy"]}, "scoring must be the name of a scorer, a scorer or None"),
        ({"cv": 1}, "at least one train/test split|n_splits"),
        ({"cv": [([], [0])]}, "fold 0 of cv leaves no example to learn from"),
        ({"cv": []}, "no fold at all"),
        ({"cv": [([0, 1, 2], [])]}, "no fold has examples to judge by"),
        ({"aggregate": "mean"}, "aggregate must be"),
        ({"calibration": 1}, "calibration must be"),
        ({"solver": "primal"}, "solver must be"),
    ],
)
def test_parameters_are_checked(changed: dict[str, Any], message: str) -> None:
    X, y = np.tile(np.eye(3), (5, 1)), np.tile([0, 1, 2], 5)
    model = ConstraintSVCCV().fit(X, y)
    before = vars(model).copy()
    model.set_params(**changed)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert {k: v for k, v in vars(model).items() if k.endswith("_")} == {
        k: v for k, v in before.items() if k.endswith("_")
    }


def test_a_scorer_that_cannot_take_weights_is_not_given_them_in_silence() -> None:
    def judge(estimator: Any, X: Any, y: Any) -> float:
        return 1.0

    X, y = np.tile(np.eye(2), (5, 1)), np.tile([0, 1], 5)
    model = ConstraintSVCCV(CS, cv=2, scoring=judge).fit(X, y)
    assert CS[0] == model.C_
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(10))
