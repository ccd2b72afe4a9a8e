"""Metrics against a naive set-of-pairs model, SciPy and scikit-learn; scorers in searches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import accuracy_score, hamming_loss, label_ranking_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kesler import Constraints, OnlineClassifier, _scores
from kesler.metrics import (
    constraint_accuracy_scorer,
    constraint_error,
    kendall_tau,
    kendall_tau_scorer,
    precision_at,
    ranking_loss,
    ranking_loss_scorer,
)

METRICS = [constraint_error, kendall_tau, ranking_loss]
SCORERS = [constraint_accuracy_scorer, kendall_tau_scorer, ranking_loss_scorer]

# ---- constraints of every kind ------------------------------------------------------------------


def random_constraints(kind, n, k, rng):
    labels = np.arange(k)
    if kind == "classes":
        return Constraints.from_classes(rng.integers(k, size=n), labels=labels)
    if kind in ("labelsets", "calibrated"):
        return Constraints.from_labelsets(
            rng.integers(2, size=(n, k)), labels=labels, calibrate=kind == "calibrated"
        )
    if kind in ("adjacent", "all"):
        ranks = rng.integers(1, k + 1, size=(n, k)).astype(float)
        ranks[rng.random((n, k)) < 0.2] = np.nan
        return Constraints.from_rankings(ranks=ranks, labels=labels, pairs=kind)
    if kind == "pairs":
        m = 2 * n
        a, b = rng.integers(k, size=m), rng.integers(k, size=m)
        proper = a != b  # over the smaller label: no cycle
        a, b = np.minimum(a, b)[proper], np.maximum(a, b)[proper]
        return Constraints.from_pairs(rng.integers(n, size=m)[proper], a, b, n, labels)
    half = n // 2
    return Constraints.concatenate(
        [
            random_constraints("calibrated", half, k, rng),
            random_constraints("adjacent", n - half, k, rng),
        ]
    )


KINDS = ["classes", "labelsets", "calibrated", "adjacent", "all", "pairs", "mixed"]


@st.composite
def constraints_and_scores(draw):
    kind = draw(st.sampled_from(KINDS))
    n, k = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    scores = rng.integers(-2, 3, size=(n, k)).astype(float)  # few values: many ties
    return random_constraints(kind, n, k, rng), scores


# ---- the naive model ----------------------------------------------------------------------------


def naive_closures(constraints):
    indptr, over, under, _, _ = constraints.pairs()
    for i in range(constraints.n_samples):
        part = slice(indptr[i], indptr[i + 1])
        pairs = set(zip(over[part].tolist(), under[part].tolist(), strict=True))
        while True:
            more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
            if not more:
                break
            pairs |= more
        yield pairs


def naive_in_order(s, a, b):
    """The documented rule for ties; -1 is the virtual label, which scores 0."""
    above, below = (0.0 if r < 0 else s[r] for r in (a, b))
    return above > below or (above == below and a < b)


def naive_metrics(constraints, scores):
    wrong, tau, loss = [], [], []
    for pairs, s in zip(naive_closures(constraints), scores, strict=True):
        wrong.append(any(not naive_in_order(s, a, b) for a, b in pairs))
        real = [naive_in_order(s, a, b) for a, b in pairs if a >= 0 and b >= 0]
        loss.append(1 - np.mean(real) if real else 0.0)
        if real:
            tau.append((sum(real) - sum(not r for r in real)) / len(real))
    return np.mean(wrong), np.mean(tau) if tau else np.nan, np.mean(loss)


@given(constraints_and_scores())
def test_metrics_equal_the_naive_model(case):
    constraints, scores = case
    found = [metric(constraints, scores) for metric in METRICS]
    np.testing.assert_allclose(found, naive_metrics(constraints, scores), atol=1e-12)


@given(constraints_and_scores(), st.integers(1, 7))
def test_blocks_do_not_matter(case, block):
    constraints, scores = case
    whole = [metric(constraints, scores) for metric in METRICS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scores, "_BLOCK", block)
        assert [metric(constraints, scores) for metric in METRICS] == pytest.approx(
            whole, nan_ok=True
        )


@given(constraints_and_scores(), st.data())
def test_a_weight_counts_like_copies(case, data):
    constraints, scores = case
    n = constraints.n_samples
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)))
    copies = np.repeat(np.arange(n), weight)
    for metric in METRICS:
        weighted = metric(constraints, scores, sample_weight=weight)
        assert weighted == pytest.approx(metric(constraints[copies], scores[copies]), nan_ok=True)


# ---- peers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", ["adjacent", "all"])
def test_tau_of_full_rankings_is_scipys(pairs):
    rng = np.random.default_rng(0)
    ranks = np.argsort(rng.random((40, 7)), axis=1) + 1.0
    scores = rng.normal(size=(40, 7))
    constraints = Constraints.from_rankings(ranks=ranks, pairs=pairs)
    each = [kendalltau(-r, s).statistic for r, s in zip(ranks, scores, strict=True)]
    assert kendall_tau(constraints, scores) == pytest.approx(np.mean(each))
    assert kendall_tau(constraints[:1], scores[:1]) == pytest.approx(each[0])


@pytest.mark.parametrize("calibrate", [False, True])
def test_ranking_loss_of_label_sets_is_scikit_learns(calibrate):
    rng = np.random.default_rng(1)
    Y = rng.integers(2, size=(50, 6))
    Y[0], Y[1] = 0, 1
    scores, weight = rng.normal(size=Y.shape), rng.random(50)
    constraints = Constraints.from_labelsets(Y, calibrate=calibrate)
    expected = label_ranking_loss(Y, scores, sample_weight=weight)
    assert ranking_loss(constraints, scores, sample_weight=weight) == pytest.approx(expected)


def test_constraint_error_is_one_minus_accuracy_and_subset_accuracy():
    rng = np.random.default_rng(2)
    y, scores = rng.integers(4, size=60), rng.normal(size=(60, 4))
    assert constraint_error(Constraints.from_classes(y), scores) == pytest.approx(
        1 - accuracy_score(y, scores.argmax(axis=1))
    )
    Y = (scores + 0.3 * rng.normal(size=scores.shape) > 0).astype(int)
    sets = Constraints.from_labelsets(Y, calibrate=True)
    assert constraint_error(sets, scores) == pytest.approx(1 - accuracy_score(Y, scores > 0))
    shifted = np.column_stack([scores + 5, np.full(60, 5.0)])  # the virtual label's own scores
    assert constraint_error(sets, shifted) == constraint_error(sets, scores)
    assert hamming_loss(Y, scores > 0) < constraint_error(sets, scores)


def test_precision_at_looks_at_the_best_labels():
    rng = np.random.default_rng(3)
    Y, scores = rng.integers(2, size=(30, 5)), rng.integers(3, size=(30, 5)).astype(float)
    for count in range(1, 6):
        best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        expected = np.mean([Y[i, best[i]].mean() for i in range(30)])
        for calibrate in (False, True):
            sets = Constraints.from_labelsets(Y, calibrate=calibrate)
            assert precision_at(sets, scores, count) == pytest.approx(expected)
    classes = Constraints.from_classes(rng.integers(5, size=30), labels=range(5))
    assert precision_at(classes, scores, 1) == pytest.approx(1 - constraint_error(classes, scores))


def test_precision_at_agrees_with_predict_labelset():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(80, 6)), rng.integers(2, size=(80, 4))
    model = OnlineClassifier(random_state=0).fit(X, Y)
    best = model.predict_labelset(X, 2)
    expected = np.mean(Y[np.arange(80)[:, None], best])
    sets = Constraints.from_labelsets(Y)
    assert precision_at(sets, model.decision_function(X), 2) == pytest.approx(expected)


def test_one_number_a_row_for_two_labels():
    constraints = Constraints.from_classes(["n", "y", "y", "n"])
    margins = np.array([-1.0, 2.0, -0.5, 0.0])
    table = np.column_stack([-margins / 2, margins / 2])
    for metric in METRICS:
        assert metric(constraints, margins) == metric(constraints, table)
    assert constraint_error(constraints, margins) == 0.25


def test_examples_without_pairs():
    nothing = Constraints.from_labelsets([[], ["a", "b"]])
    assert np.isnan(kendall_tau(nothing, [[1.0, 2.0], [1.0, 2.0]]))
    assert ranking_loss(nothing, [[1.0, 2.0], [1.0, 2.0]]) == 0
    assert constraint_error(nothing, [[1.0, 2.0], [1.0, 2.0]]) == 0


def test_many_labels_are_expanded_piece_by_piece():
    rng = np.random.default_rng(5)
    y, scores = rng.integers(3000, size=1000), rng.random((1000, 3000), dtype=np.float32)
    constraints = Constraints.from_classes(y, labels=np.arange(3000))
    above = (scores > scores[np.arange(1000), y][:, None]).sum(axis=1)
    assert ranking_loss(constraints, scores) == pytest.approx(np.mean(above / 2999), abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_wrong_scores_are_refused(metric):
    constraints = Constraints.from_classes([0, 1, 2])
    with pytest.raises(ValueError, match=r"scores has shape \(3, 2\); wanted \(3, 3\)"):
        metric(constraints, np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        metric(constraints, np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        metric(constraints, np.zeros(3))
    with pytest.raises(ValueError, match="scores of example 1 are not numbers"):
        metric(constraints, [[0.0, 1.0, 2.0], [0.0, np.nan, 1.0], [0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="sample_weight has 2 entries"):
        metric(constraints, np.eye(3), sample_weight=[1.0, 2.0])


def test_precision_at_refuses_what_has_no_relevant_labels():
    rankings = Constraints.from_rankings(orders=[[0, 1, 2]])
    with pytest.raises(ValueError, match="rankings have no relevant labels"):
        precision_at(rankings, np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match="l must be an integer from 1 to 3, not 4"):
        precision_at(Constraints.from_classes([0, 1, 2]), np.eye(3), 4)


# ---- scorers in scikit-learn's hands ------------------------------------------------------------


def learnable(kind, n=120):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n, 5))
    scores = X @ rng.normal(size=(5, 4))
    if kind == "two classes":
        return X, Constraints.from_classes(np.where(scores[:, 0] > 0, "yes", "no"))
    if kind == "classes":
        return X, Constraints.from_classes(scores.argmax(axis=1))
    if kind in ("labelsets", "calibrated"):
        return X, Constraints.from_labelsets(
            (scores > 0).astype(int), calibrate=kind == "calibrated"
        )
    if kind in ("adjacent", "all"):
        return X, Constraints.from_rankings(orders=np.argsort(-scores, axis=1), pairs=kind)
    if kind == "pairs":
        a, b = rng.integers(4, size=n), rng.integers(3, size=n)
        b += b >= a
        better = scores[np.arange(n), a] > scores[np.arange(n), b]
        return X, Constraints.from_pairs(
            np.arange(n), np.where(better, a, b), np.where(better, b, a), n, labels=4
        )
    parts = [learnable(part, n // 2)[1] for part in ("calibrated", "adjacent")]
    X = np.concatenate([learnable(part, n // 2)[0] for part in ("calibrated", "adjacent")])
    return X, Constraints.concatenate(parts)


LEARNABLE = ["two classes", *KINDS]


@pytest.mark.parametrize("kind", LEARNABLE)
def test_split_then_score(kind):
    X, c = learnable(kind)
    X_train, X_test, c_train, c_test = train_test_split(X, c, random_state=0)
    assert isinstance(c_train, Constraints)
    assert c_train.n_samples + c_test.n_samples == 120
    model = OnlineClassifier(random_state=0).fit(X_train, c_train)
    scores = model.decision_function(X_test)
    right = model.score(X_test, c_test)
    assert constraint_accuracy_scorer(model, X_test, c_test) == pytest.approx(right)
    assert kendall_tau_scorer(model, X_test, c_test) == kendall_tau(c_test, scores) > 0.5
    assert ranking_loss_scorer(model, X_test, c_test) == -ranking_loss(c_test, scores) > -0.3


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("kind", LEARNABLE)
def test_cross_validation(kind, scorer):
    X, c = learnable(kind)
    for cv in (5, KFold(5, shuffle=True, random_state=0)):
        scores = cross_val_score(OnlineClassifier(random_state=0), X, c, cv=cv, scoring=scorer)
        assert scores.shape == (5,)
        assert np.isfinite(scores).all()
    assert (cross_val_score(OnlineClassifier(random_state=0), X, c, cv=5) > 0).any()


@pytest.mark.parametrize("kind", LEARNABLE)
def test_grid_search(kind):
    X, c = learnable(kind)
    grid = {"rule": ["perceptron", "pa1"], "max_iter": [1, 3]}
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(
        OnlineClassifier(random_state=0), grid, scoring=kendall_tau_scorer, cv=folds
    )
    search.fit(X, c)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.5
    assert kendall_tau_scorer(search, X, c) == kendall_tau_scorer(search.best_estimator_, X, c)


@pytest.mark.parametrize("kind", ["two classes", "classes"])
def test_folds_of_classes_are_stratified(kind):
    X, c = learnable(kind)
    share = np.bincount(c.class_codes()) / c.n_samples
    for _, test in StratifiedKFold(5).split(X, c):
        found = np.bincount(c[test].class_codes(), minlength=c.n_labels) / test.size
        assert np.abs(found - share).max() <= 1 / test.size
    by_class = cross_val_score(
        OnlineClassifier(random_state=0), X, c, cv=5, scoring=constraint_accuracy_scorer
    )
    ordinary = cross_val_score(
        OnlineClassifier(random_state=0), X, c.labels[c.class_codes()], cv=5, scoring="accuracy"
    )
    np.testing.assert_allclose(by_class, ordinary)


@pytest.mark.parametrize("estimator", [Perceptron(), LogisticRegression()])
@pytest.mark.parametrize("kind", ["two classes", "classes"])
def test_scorers_judge_any_classifier_with_scores(estimator, kind):
    X, c = learnable(kind)
    y = c.labels[c.class_codes()]
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    for target in (y, y.tolist(), c):
        assert constraint_accuracy_scorer(model, X, target) == pytest.approx(model.score(X, y))


def test_an_indicator_is_read_as_calibrated_sets():
    X, c = learnable("calibrated")
    Y = c.indicator()
    model = OnlineClassifier(random_state=0).fit(X, Y)
    for target in (Y, Y.toarray(), c):
        assert constraint_accuracy_scorer(model, X, target) == pytest.approx(
            accuracy_score(Y, model.predict(X))
        )


def test_a_class_that_training_never_saw_is_always_wrong():
    X, y = np.eye(3), np.array(["a", "b", "c"])
    model = OnlineClassifier(random_state=0).fit(X, y)
    assert constraint_accuracy_scorer(model, X, ["a", "b", "new"]) == pytest.approx(2 / 3)
    assert constraint_accuracy_scorer(model, X, ["a", "a", "a"]) == pytest.approx(1 / 3)
    two = OnlineClassifier(random_state=0).fit(X[:2], y[:2])
    assert constraint_accuracy_scorer(two, X, y) == pytest.approx(2 / 3)


def test_scorers_refuse_what_gives_no_scores():
    class Guess:
        classes_ = np.arange(2)

    with pytest.raises(TypeError, match="Guess has no decision_function"):
        kendall_tau_scorer(Guess(), np.eye(2), [0, 1])
    model = OnlineClassifier().fit(np.eye(2), ["a", "b"])
    with pytest.raises(ValueError, match="labels of type int64 cannot be found"):
        kendall_tau_scorer(model, np.eye(2), [0, 1])
