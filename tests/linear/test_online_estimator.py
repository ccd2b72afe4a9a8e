"""OnlineClassifier as an estimator: what it takes, what it gives back, and what it leaves alone."""

import _thread
import copy
import importlib
import inspect
import pickle
import pkgutil
import sys
import threading
import time
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from twins import TWINS, pairs_of

import kesler
from kesler import Constraints, ConstraintSVC, OnlineClassifier, _core

RULES = _core.rule_names()
UPDATES = ("all", "worst", "independent")
CELLS = [(r, u) for r in RULES for u in UPDATES if (r, u) != ("positive_winnow", "independent")]


# ---- scikit-learn's own checks -----------------------------------------------------------------


def public_estimators():
    modules = [m.name for m in pkgutil.walk_packages(kesler.__path__, "kesler.")]
    found = {
        thing
        for module in modules
        for name, thing in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if issubclass(thing, BaseEstimator)
        and thing.__module__.startswith("kesler.")
        and not name.startswith("_")
    }
    return sorted(found, key=lambda c: c.__name__)


def expected_failures(estimator):
    if not isinstance(estimator, OnlineClassifier):
        return {}
    # A weight of 2 is two presentations in a row, not one example more at another place:
    # test_weight_is_a_row_repeated stands for these two.
    why = "on-line learning depends on the order of the examples"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


# test_svc_sklearn.py has ConstraintSVC in several settings, to the digits that the checks ask for.
EXACT = {"ConstraintSVCCV": {"tol": 1e-8, "Cs": [0.1, 1.0]}}

CHECKED = [
    kind(**EXACT.get(kind.__name__, {})) for kind in public_estimators() if kind != ConstraintSVC
] + [
    OnlineClassifier("winnow", "worst"),
    OnlineClassifier("positive_winnow", average=False),
    OnlineClassifier("pa1", "independent", n_jobs=2),
    OnlineClassifier("pa2", shuffle=False),
]


# Where all numbers lie about 100 away from zero, so small a gap is out of reach of as many rounds.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- helpers -----------------------------------------------------------------------------------


def blobs(n=60, d=5, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    return rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y], y


def noise(n=40, d=5, k=4, seed=0):
    """Labels that nothing explains: learning never comes to rest."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    return rng.normal(size=(n, d)), y


def supervision(n=30, k=4, seed=0):
    """The same examples under every kind of supervision."""
    rng = np.random.default_rng(seed)
    sets = rng.integers(0, 2, (n, k))
    ranks = rng.integers(1, 4, (n, k)).astype(float)
    ranks[rng.random((n, k)) < 0.2] = np.nan
    classes = Constraints.from_classes(np.arange(n) % k)
    found = {
        "classes": classes,
        "labelsets": Constraints.from_labelsets(sets),
        "calibrated": Constraints.from_labelsets(sets, calibrate=True),
        "rankings": Constraints.from_rankings(ranks=ranks),
        "pairs": Constraints.from_rankings(ranks=ranks).closure(),
    }
    mixed = Constraints.concatenate([*found.values()])
    found["mixed"] = mixed[rng.permutation(mixed.n_samples)[:n]]
    return found


def state(model):
    """All that a model is made of, as plain bytes."""
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


@contextmanager
def refused(model, error, match):
    before = state(model)
    with pytest.raises(error, match=match):
        yield
    after = state(model)
    assert after.keys() == before.keys()
    assert after == before


def same_model(a, b, rtol=1e-9):
    assert np.array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=rtol, atol=1e-12)


def identical(a, b):
    return (
        np.array_equal(a.classes_, b.classes_)
        and np.array_equal(a.coef_, b.coef_)
        and np.array_equal(a.intercept_, b.intercept_)
    )


# ---- learning in batches -----------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), max_size=6), st.sampled_from(CELLS), st.booleans())
@settings(max_examples=40)
def test_batches_of_any_size_are_one_pass(cuts, cell, average):
    X, y = noise()
    whole = OnlineClassifier(*cell, average=average).partial_fit(X, y)
    parts = OnlineClassifier(*cell, average=average)
    edges = [0, *sorted(cuts), len(y)]
    for begin, end in pairwise(edges):
        if begin < end:
            parts.partial_fit(X[begin:end], y[begin:end], classes=np.arange(4))
    assert identical(whole, parts)
    assert whole.t_ == parts.t_ == len(y)
    assert whole.n_updates_ == parts.n_updates_
    assert sum(parts.mistakes_) == whole.mistakes_[0]


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_partial_fit_is_a_pass_of_fit_in_order(rule, update):
    X, y = noise()
    fitted = OnlineClassifier(rule, update, max_iter=1, shuffle=False).fit(X, y)
    same_model(fitted, OnlineClassifier(rule, update).partial_fit(X, y))


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_classes_announced_but_absent_are_known_from_the_start(rule, update):
    X, y = noise(k=6)
    order = np.argsort(y, kind="stable")[::-1]  # the last class comes first, one class a batch
    X, y = X[order], y[order]
    known = OnlineClassifier(rule, update).partial_fit(
        X, Constraints.from_classes(y, labels=np.arange(6))
    )
    model = OnlineClassifier(rule, update)
    for label in np.unique(y)[::-1]:
        model.partial_fit(X[y == label], y[y == label], classes=np.arange(6))
    same_model(model, known)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_new_labels_may_come_in_any_order(rule, update, average):
    """An order without a label says nothing about it, so when the label came does not matter."""
    rng = np.random.default_rng(0)
    arrival = [["m", "d"], ["z"], ["a", "k", "e"], ["b"]] + [[x] for x in "qrstuvw"]
    X = rng.normal(size=(10 * len(arrival), 4))
    everything = sorted(x for new in arrival for x in new)
    model = OnlineClassifier(rule, update, average=average)
    known = clone(model)
    so_far = []
    for i, new in enumerate(arrival):
        so_far += new
        rows = X[10 * i : 10 * (i + 1)]
        orders = [list(rng.permutation(so_far)[:4]) for _ in rows]
        c = Constraints.from_rankings(orders=orders, labels=so_far)
        model.partial_fit(rows, c, classes=new)
        known.partial_fit(rows, c.relabelled(everything))
        assert model.classes_.tolist() == sorted(so_far)
    same_model(model, known)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_a_class_that_comes_later_starts_as_all_did(rule, update, average):
    X, y = noise(k=5)
    order = np.argsort(y >= 3, kind="stable")  # classes 3 and 4 come after the others
    X, y = X[order], y[order]
    first = int(np.sum(y < 3))
    twin = TWINS[rule](5, X.shape[1], update)
    pairs = pairs_of(Constraints.from_classes(y, labels=np.arange(5)))
    for i, (x, of_row) in enumerate(zip(X, pairs, strict=True)):
        twin.present(x, [p for p in of_row if i >= first or (p[0] < 3 and p[1] < 3)])
    model = OnlineClassifier(rule, update, average=average)
    model.partial_fit(X[:first], y[:first])
    model.partial_fit(X[first:], y[first:], classes=[4, 3])
    want = twin.mean() if average else twin.W
    np.testing.assert_allclose(model.coef_, want[:5, :-1], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, want[:5, -1], rtol=1e-8, atol=1e-10)


def test_averaging_is_the_plain_mean_of_all_weights():
    X, y = noise()
    last, mean = OnlineClassifier(average=False), OnlineClassifier(average=True)
    seen = []
    for i in range(len(y)):
        for model in (last, mean):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(4))
        seen.append((last.coef_.copy(), last.intercept_.copy()))
        for got, want in zip((mean.coef_, mean.intercept_), zip(*seen, strict=True), strict=True):
            np.testing.assert_allclose(got, np.mean(want, axis=0), rtol=1e-10, atol=1e-13)


def test_supervision_may_change_from_batch_to_batch():
    X, y = blobs()
    model = OnlineClassifier().partial_fit(X, y)
    assert model.predict(X).shape == y.shape
    model.partial_fit(X[:1], Constraints.from_pairs([0], [1], [2], 1, 4))
    assert model.predict(X).shape == y.shape  # the top label
    model.partial_fit(
        X, Constraints.from_labelsets([[a] for a in y], labels=range(4), calibrate=True)
    )
    assert model.decision_function(X).shape == (len(y), 4)
    assert np.isfinite(model.decision_function(X)).all()


def test_an_empty_batch_is_refused():
    X, y = blobs()
    model = OnlineClassifier().partial_fit(X, y)
    for empty in (X[:0], sp.csr_matrix(X[:0])):
        with refused(model, ValueError, "0 sample"):
            model.partial_fit(empty, y[:0])
        with refused(model, ValueError, "0 sample"):
            model.fit(empty, y[:0])
        with refused(model, ValueError, "0 sample"):
            model.predict(empty)


def test_warm_start_goes_on():
    X, y = noise()
    twice = OnlineClassifier(max_iter=2, shuffle=False).fit(X, y)
    model = OnlineClassifier(max_iter=1, shuffle=False, warm_start=True)
    same_model(model.fit(X, y).fit(X, y), twice)
    assert model.t_ == twice.t_ == 2 * len(y)
    assert model.n_updates_ == twice.n_updates_
    cold = clone(model).set_params(warm_start=False)
    assert identical(cold.fit(X, y), cold.fit(X, y))


def test_warm_start_keeps_old_labels_and_takes_new_ones():
    X, y = blobs(k=4)
    model = OnlineClassifier(warm_start=True, random_state=0).fit(X[y < 2], y[y < 2])
    model.fit(X[y > 0], y[y > 0])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    model.fit(X[y < 2], y[y < 2])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.decision_function(X).shape == (len(y), 4)


def test_a_warm_start_that_fails_leaves_the_earlier_model():
    X, y = blobs()
    model = OnlineClassifier(warm_start=True, random_state=0).fit(X, y)
    with refused(model, ValueError, "overflow"):
        model.fit(X * 1e300, y)


@pytest.mark.parametrize(
    "change", [{"rule": "winnow"}, {"average": False}, {"fit_intercept": False}]
)
def test_what_the_tables_depend_on_cannot_change_while_learning_goes_on(change):
    X, y = blobs()
    model = OnlineClassifier(warm_start=True).fit(X, y).set_params(**change)
    with refused(model, ValueError, "cannot change"):
        model.partial_fit(X, y)
    with refused(model, ValueError, "cannot change"):
        model.fit(X, y)
    model.set_params(warm_start=False).fit(X, y)


def test_fit_stops_when_a_pass_makes_no_mistake():
    X = np.eye(3)
    model = OnlineClassifier(max_iter=1000, random_state=0).fit(X, [0, 1, 2])
    assert model.outcome_.status == "no_mistakes"
    assert model.n_iter_ == len(model.mistakes_) == model.outcome_.n_iter < 20
    assert model.mistakes_[-1] == 0
    assert all(m > 0 for m in model.mistakes_[:-1])
    assert [r.value for r in model.outcome_.history] == [m / 3 for m in model.mistakes_]
    X, y = noise()
    model = OnlineClassifier(max_iter=3, random_state=0).fit(X, y)
    assert (model.outcome_.status, model.n_iter_, model.t_) == ("max_iter", 3, 3 * len(y))


def test_early_stopping_keeps_what_did_best_on_the_held_out_share():
    X, y = noise(n=300)
    model = OnlineClassifier(
        "perceptron", early_stopping=True, max_iter=200, n_iter_no_change=4, random_state=3
    ).fit(X, y)
    assert model.outcome_.status == "validation"
    errors = [record.value for record in model.outcome_.history]
    best = int(np.argmin(errors)) + 1
    assert model.n_iter_ == len(errors) == best + 4
    assert model.t_ == best * 270  # a tenth is held out
    until_then = clone(model).set_params(max_iter=best).fit(X, y)
    assert identical(model, until_then)


def test_early_stopping_is_for_fit():
    X, y = blobs()
    model = OnlineClassifier(early_stopping=True)
    with refused(model, ValueError, "partial_fit"):
        model.partial_fit(X, y)
    model.set_params(validation_fraction=0.999)
    with refused(model, ValueError, "validation_fraction"):
        model.fit(X, y)


def test_shuffling_follows_random_state():
    X, y = noise()
    a, b, c = (OnlineClassifier(random_state=seed, max_iter=2).fit(X, y) for seed in (1, 1, 2))
    assert identical(a, b)
    assert not identical(a, c)
    generator = np.random.RandomState(1)
    assert identical(a, clone(a).set_params(random_state=generator).fit(X, y))


# ---- weights -----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 4), min_size=40, max_size=40).filter(any),
    st.sampled_from(CELLS),
    st.sampled_from(["classes", "calibrated", "rankings"]),
    st.booleans(),
)
@settings(max_examples=60)
def test_weight_is_a_row_repeated(weight, cell, kind, average):
    X, _ = noise()
    c = supervision(n=40)[kind]
    model = OnlineClassifier(*cell, average=average, shuffle=False, max_iter=3)
    weighted = clone(model).fit(X, c, sample_weight=weight)
    rows = np.repeat(np.arange(40), weight)
    repeated = model.fit(X[rows], c[rows])
    same_model(weighted, repeated, rtol=1e-7)
    assert weighted.n_iter_ == repeated.n_iter_
    assert weighted.t_ == repeated.t_


def test_class_weight_is_sample_weight_by_class():
    X, y = noise()
    names = np.array(["ash", "elm", "fir", "oak"])[y]
    given_weights = {"elm": 3, "oak": 0.5}
    by_row = np.array([given_weights.get(name, 1) for name in names])
    extra = np.random.default_rng(0).integers(0, 3, len(y))
    model = OnlineClassifier(random_state=0, max_iter=3)
    by_class = clone(model).set_params(class_weight=given_weights)
    assert identical(by_class.fit(X, names), clone(model).fit(X, names, sample_weight=by_row))
    assert identical(
        by_class.fit(X, names, sample_weight=extra),
        clone(model).fit(X, names, sample_weight=by_row * extra),
    )
    assert identical(
        clone(by_class).partial_fit(X, names),
        clone(model).partial_fit(X, names, sample_weight=by_row),
    )
    counts = np.bincount(y)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    weight = len(y) / (len(counts) * counts)
    assert identical(balanced, clone(model).fit(X, y, sample_weight=weight[y]))


def test_balanced_counts_only_the_classes_there_are():
    X, y = noise(k=2)
    c = Constraints.from_classes(y, labels=[0, 1, 7])
    model = OnlineClassifier(class_weight="balanced", random_state=0, max_iter=2).fit(X, c)
    weight = len(y) / (2 * np.bincount(y))
    plain = OnlineClassifier(random_state=0, max_iter=2).fit(X, c, sample_weight=weight[y])
    assert identical(model, plain)


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_a_weight_of_zero_is_an_example_left_out(rule, update):
    X, y = noise()
    keep = np.arange(len(y)) % 3 != 0
    weighted = OnlineClassifier(rule, update).partial_fit(X, y, sample_weight=keep.astype(float))
    without = OnlineClassifier(rule, update).partial_fit(X[keep], y[keep], classes=np.unique(y))
    assert identical(weighted, without)
    assert weighted.t_ == keep.sum()
    before = weighted.coef_.copy()
    weighted.partial_fit(X, y, sample_weight=np.zeros(len(y)))  # a batch that happens to be so
    assert np.array_equal(weighted.coef_, before)
    assert weighted.t_ == keep.sum()


@pytest.mark.parametrize("kind", ["classes", "calibrated", "rankings", "pairs"])
@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_a_huge_weight_ends_when_nothing_moves_any_more(rule, update, kind):
    X, _ = noise(n=6)
    c = supervision(n=6)[kind]
    model = OnlineClassifier(rule, update).partial_fit(X, c, sample_weight=np.full(6, 1e6))
    assert model.t_ == 6e6
    assert model.n_updates_ < 30_000
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-30, 1e18, 1e39, 1e300, 1e308])
def test_extreme_weights_are_refused_or_learned_from(weight, dtype):
    X, y = noise()
    model = OnlineClassifier(max_iter=2, random_state=0)
    try:
        model.fit(X.astype(dtype), y, sample_weight=np.full(40, weight))
    except ValueError as error:
        assert "weight" in str(error)
    else:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("weight", [2, 2.0, np.float32(2)])
def test_a_single_number_weighs_all_examples(weight):
    X, y = noise()
    model = OnlineClassifier().partial_fit(X, y, sample_weight=weight)
    assert identical(model, OnlineClassifier().partial_fit(X, y, sample_weight=np.full(40, 2.0)))


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.ones(39), "39"),
        (np.r_[np.ones(39), -1], r"sample_weight\[39\]"),
        (np.r_[np.nan, np.ones(39)], r"sample_weight\[0\]"),
        (np.r_[np.inf, np.ones(39)], r"sample_weight\[0\]"),
        (np.ones((40, 2)), "1D"),
    ],
)
def test_weights_that_are_none(weight, match):
    X, y = noise()
    model = OnlineClassifier()
    with refused(model, ValueError, match):
        model.fit(X, y, sample_weight=weight)
    with refused(model, ValueError, match):
        model.partial_fit(X, y, sample_weight=weight)
    model.fit(X, y)
    with refused(model, ValueError, match):
        model.partial_fit(X, y, sample_weight=weight)
    with refused(model, ValueError, match):
        model.score(X, Constraints.from_classes(y), sample_weight=weight)


@pytest.mark.parametrize("weight", ["heavy", [1, 2], {0: -1}, {0: np.nan}, {0: "two"}])
def test_class_weights_that_are_none(weight):
    X, y = noise()
    with refused(model := OnlineClassifier(class_weight=weight), ValueError, "weight|float"):
        model.fit(X, y)


def test_class_weight_is_for_classes():
    X, _ = noise()
    with refused(model := OnlineClassifier(class_weight={0: 2}), ValueError, "classes"):
        model.fit(X, supervision(n=40)["rankings"])
    with refused(model := OnlineClassifier(class_weight="balanced"), ValueError, "partial_fit"):
        model.partial_fit(X, noise()[1])


@pytest.mark.parametrize("extra", [{"margin": [2.0]}, {"weight": [2.0]}])
def test_independent_refuses_margins_and_weights_of_pairs(extra):
    X = np.ones((1, 2))
    c = Constraints.from_pairs([0], [1], [2], 1, 4, **extra)
    with refused(model := OnlineClassifier(update="independent"), ValueError, "independent"):
        model.fit(X, c)


# ---- prediction --------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("fitted_by", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "kind", ["classes", "labelsets", "calibrated", "rankings", "pairs", "mixed"]
)
def test_predictions_are_the_scores_sorted(kind, fitted_by, average):
    X, _ = noise(n=30)
    c = supervision()[kind]
    model = getattr(OnlineClassifier(average=average, random_state=0), fitted_by)(X, c)
    new = np.random.default_rng(5).normal(size=(200, 5))
    scores = model.decision_function(new)
    np.testing.assert_allclose(
        scores, new @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-12
    )
    order = np.argsort(-scores, axis=1, kind="stable")
    assert np.array_equal(model.predict_ranking(new), model.classes_[order])
    for size in range(5):
        assert np.array_equal(model.predict_labelset(new, size), model.classes_[order[:, :size]])
    expected = {
        "classes": lambda: model.classes_[order[:, 0]],
        "labelsets": lambda: model.classes_[order[:, 0]],
        "calibrated": lambda: (scores > 0).astype(int),
        "rankings": lambda: model.classes_[order],
        "pairs": lambda: model.classes_[order[:, 0]],
        "mixed": lambda: model.classes_[order[:, 0]],
    }[kind]()
    assert np.array_equal(model.predict(new), expected)
    wrong = c.errors(model.decision_function(X))
    assert model.score(X, c) == pytest.approx(1 - wrong.mean())
    weight = np.arange(30)
    assert model.score(X, c, sample_weight=weight) == pytest.approx(
        1 - np.average(wrong, weights=weight)
    )


def test_score_of_plain_targets():
    X, y = blobs()
    weight = np.arange(len(y))
    model = OnlineClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    assert model.score(X, y, weight) == accuracy_score(y, model.predict(X), sample_weight=weight)
    Y = np.eye(4, dtype=int)[y]
    model.fit(X, Y)
    right = np.mean((model.predict(X) == Y).all(axis=1))
    assert model.score(X, Y) == pytest.approx(right)
    assert model.score(X, Constraints.from_labelsets(Y, calibrate=True)) == pytest.approx(right)


def test_a_label_never_seen_stands_below_all_others():
    X, y = blobs()
    model = OnlineClassifier(random_state=0).fit(X, y)
    assert model.score(X, Constraints.from_classes(y + 9)) == model.score(X, y + 9) == 0
    half = np.where(np.arange(len(y)) % 2, y, 99)
    assert model.score(X, Constraints.from_classes(half)) == model.score(X, half)


def test_score_refuses_what_it_cannot_compare():
    X, y = blobs()
    model = OnlineClassifier(random_state=0).fit(X, y)
    with refused(model, ValueError, "60 examples"):
        model.score(X, Constraints.from_classes(y[:-1]))
    with refused(model, ValueError, "threshold"):
        model.score(X, Constraints.from_labelsets(np.eye(4)[y], calibrate=True))
    with refused(model, ValueError, "[Ww]eight"):
        model.score(X, Constraints.from_classes(y), sample_weight=np.zeros(len(y)))


def test_one_against_all_knows_a_threshold_without_a_virtual_label():
    X, y = blobs(n=200)
    Y = np.eye(4, dtype=int)[y]
    model = OnlineClassifier(update="independent", random_state=0).fit(X, y)
    c = Constraints.from_labelsets(Y, calibrate=True)
    assert model.score(X, c) == 1 - c.errors(model.decision_function(X)).mean()


@pytest.mark.parametrize("storage", [np.array, sp.csr_matrix])
def test_ties_go_to_the_smaller_label(storage):
    labels = ["oak", "elm", "ash"] * 10
    model = OnlineClassifier(fit_intercept=False).fit(storage(np.eye(30)), labels)
    nothing = storage(np.zeros((3, 30)))
    assert model.predict(nothing).tolist() == ["ash"] * 3
    assert model.predict_ranking(nothing).tolist() == [["ash", "elm", "oak"]] * 3
    assert model.predict_labelset(nothing, 2).tolist() == [["ash", "elm"]] * 3
    sets = OnlineClassifier(fit_intercept=False).fit(storage(np.eye(3)), np.eye(3, dtype=int))
    assert not sets.predict(storage(np.zeros((2, 3)))).any()  # not above the threshold
    many = np.arange(40) % 33
    model = OnlineClassifier(fit_intercept=False).fit(storage(np.eye(40)), many)
    nothing = storage(np.zeros((2, 40)))
    assert model.predict_ranking(nothing).tolist() == [list(range(33))] * 2
    assert model.predict_labelset(nothing, 17).tolist() == [list(range(17))] * 2


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_two_classes_have_one_weight_vector(rule, update, average):
    X, y = blobs(k=2)
    for model in (
        OnlineClassifier(rule, update, average=average, random_state=0).fit(X, y),
        OnlineClassifier(rule, update, average=average).partial_fit(X, y),
    ):
        assert model.coef_.shape == (1, 5)
        assert model.intercept_.shape == (1,)
        scores = model.decision_function(X)
        assert scores.shape == (60,)
        np.testing.assert_allclose(
            scores, X @ model.coef_[0] + model.intercept_, rtol=1e-9, atol=1e-12
        )
        assert np.array_equal(model.predict(X), (scores > 0).astype(int))
        assert model.predict_ranking(X).shape == (60, 2)


def test_there_must_be_a_label():
    with refused(model := OnlineClassifier(), ValueError, "no label"):
        model.fit(np.eye(3), Constraints.from_pairs([], [], [], 3, []))


def test_two_labels_that_are_no_classes_keep_both():
    X = np.eye(3)
    c = Constraints.from_rankings(orders=[["a", "b"], ["b", "a"], ["a", "b"]])
    model = OnlineClassifier(random_state=0).fit(X, c)
    assert model.coef_.shape == (2, 3)
    assert model.decision_function(X).shape == (3, 2)
    model.fit(X, np.array([[0, 1], [1, 0], [1, 1]]))
    assert model.decision_function(X).shape == model.predict(X).shape == (3, 2)


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_one_class(rule, update):
    X, _ = noise()
    model = OnlineClassifier(rule, update, random_state=0).fit(X, ["only"] * 40)
    assert set(model.predict(X)) == {"only"}
    assert model.decision_function(X).shape == (40, 1)
    assert model.coef_.shape == (1, 5)
    assert model.predict_ranking(X).shape == (40, 1)
    model.partial_fit(X, ["other"] * 40, classes=["other"])
    assert set(model.predict(X)) <= {"only", "other"}


def test_examples_that_say_nothing_move_nothing():
    X, _ = noise()
    for c in (
        Constraints.from_labelsets([[]] * 40, labels=["a", "b"]),
        Constraints.from_labelsets([["a", "b"]] * 40, labels=["a", "b"]),
        Constraints.from_rankings(orders=[["a"]] * 40, labels=["a", "b"]),
        Constraints.from_pairs([], [], [], 40, ["a", "b"]),
        Constraints.from_pairs([3], ["a"], ["b"], 40, ["a", "b"], weight=[0]),
    ):
        model = OnlineClassifier(random_state=0).fit(X, c)
        assert model.n_updates_ == 0
        assert not model.coef_.any()
        assert model.score(X, c[:1][[0] * 40]) == 1


def test_rows_of_zeros():
    """There is nothing to move along but the threshold."""
    X = np.zeros((6, 3))
    y = [0, 1, 1, 1, 1, 1]
    for rule, update in CELLS:
        model = OnlineClassifier(rule, update, fit_intercept=False, random_state=0).fit(X, y)
        assert model.n_updates_ == 0
        assert np.array_equal(model.predict(X), np.zeros(6))
        model = OnlineClassifier(rule, update, random_state=0, average=False).fit(X, y)
        assert not model.coef_.any()


def test_feature_values_from_tiny_to_huge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.argmax(X, axis=1)
    for dtype, exponents in ((np.float32, (-15, -6, 6, 15)), (np.float64, (-120, -30, 30, 120))):
        for exponent in exponents:
            scaled = X.astype(dtype) * dtype(10.0) ** exponent
            for rule, update in CELLS:
                model = OnlineClassifier(rule, update, fit_intercept=False, random_state=0)
                model.fit(scaled, y)
                assert np.isfinite(model.coef_).all(), (rule, update, dtype, exponent)
                assert np.isfinite(model.decision_function(scaled)).all()
                if rule == "perceptron":  # which does not care for scale
                    assert model.score(scaled, y) > 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_scores_that_overflow_are_an_error(rule, update, dtype):
    X, y = noise()
    X = np.clip(X, -3, 3).astype(dtype)
    model = OnlineClassifier(rule, update, random_state=0)
    huge = X * dtype(1e25 if dtype == np.float32 else 1e200)
    for A in (huge, sp.csr_matrix(huge)):
        with refused(model, ValueError, "overflow"):
            model.fit(A, y)
    model.fit(X, y)
    with refused(model, ValueError, "overflow"):
        model.fit(huge, y)
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit(huge, y)
    assert np.isfinite(model.decision_function(X)).all()  # what was learned stays usable


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_a_row_of_almost_too_great_a_norm(rule, update):
    """Its squared norm is a number, twice that is none: learned or refused, never passed over."""
    X = np.eye(2, dtype=np.float32) * np.float32(1.8e19)
    model = OnlineClassifier(rule, update, fit_intercept=False, random_state=0)
    try:
        model.fit(X, [0, 1])
    except ValueError as error:
        assert "overflow" in str(error)
    else:
        assert model.score(X, [0, 1]) == 1


# ---- X -----------------------------------------------------------------------------------------


def wide_index(matrix):
    matrix.indices, matrix.indptr = (a.astype(np.int64) for a in (matrix.indices, matrix.indptr))
    return matrix


def strided(X):
    room = np.full((2 * X.shape[0], 2 * X.shape[1]), np.nan)
    room[::2, ::2] = X
    return room[::2, ::2]


def read_only(X):
    X = X.copy()
    for a in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        a.flags.writeable = False
    return X


def mapped(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def with_duplicates(X):
    """The same matrix with every entry stored as two, and columns out of order."""
    part = sp.csr_matrix(X)
    halves = [sp.csr_matrix((part.data / 2, part.indices, part.indptr), part.shape)] * 2
    rows = [
        np.r_[
            halves[0].indices[part.indptr[i] : part.indptr[i + 1]],
            halves[1].indices[part.indptr[i] : part.indptr[i + 1]][::-1],
        ]
        for i in range(X.shape[0])
    ]
    data = [
        np.r_[
            halves[0].data[part.indptr[i] : part.indptr[i + 1]],
            halves[1].data[part.indptr[i] : part.indptr[i + 1]][::-1],
        ]
        for i in range(X.shape[0])
    ]
    return sp.csr_matrix(
        (np.concatenate(data), np.concatenate(rows), 2 * part.indptr), shape=part.shape
    )


STORAGES = {
    "list": lambda X: X.tolist(),
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "big-endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "CSR": sp.csr_matrix,
    "CSR array": sp.csr_array,
    "64-bit CSR": lambda X: wide_index(sp.csr_matrix(X)),
    "read-only CSR": lambda X: read_only(sp.csr_matrix(X)),
    "CSC": sp.csc_matrix,
    "COO": sp.coo_matrix,
    "LIL": sp.lil_matrix,
    "duplicates": with_duplicates,
    "explicit zeros": lambda X: sp.csr_matrix(
        (
            X.ravel(),
            np.tile(np.arange(X.shape[1]), X.shape[0]),
            np.arange(0, X.size + 1, X.shape[1]),
        ),
        shape=X.shape,
    ),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
}


def content(X):
    if sp.issparse(X):
        coo = X.tocoo()
        return [a.copy() for a in (coo.data, coo.row, coo.col)]
    return [np.array(X, dtype=object)]


@pytest.mark.parametrize("rule", ["perceptron", "winnow"])
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_learns_the_same_and_is_left_alone(storage, rule):
    X, y = noise()
    X = X * (np.random.default_rng(1).random(X.shape) < 0.7)
    X = np.round(X * 4) / 4  # halves are exact
    given_X = STORAGES[storage](X)
    before = content(given_X)
    model = OnlineClassifier(rule, random_state=0, max_iter=4)
    same_model(clone(model).fit(given_X, y), clone(model).fit(X, y))
    fitted = clone(model).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X has feature names")
        np.testing.assert_allclose(
            fitted.decision_function(given_X), fitted.decision_function(X), rtol=1e-9, atol=1e-12
        )
        assert np.array_equal(fitted.predict(given_X), fitted.predict(X))
    for was, now in zip(before, content(given_X), strict=True):
        assert np.array_equal(was, now)
    if storage == "duplicates":
        assert given_X.nnz > np.count_nonzero(X)  # not summed in the caller's matrix


def test_a_memory_mapped_table(tmp_path):
    X, y = noise()
    on_disk = mapped(X, tmp_path)
    model = OnlineClassifier(random_state=0).fit(on_disk, y)
    assert identical(model, OnlineClassifier(random_state=0).fit(X, y))
    assert np.array_equal(model.predict(on_disk), model.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_work_is_done_in_the_precision_of_the_data(dtype):
    X, y = noise()
    for A in (X.astype(dtype), sp.csr_matrix(X.astype(dtype))):
        model = OnlineClassifier(random_state=0).fit(A, y)
        assert model.coef_.dtype == model.intercept_.dtype == dtype
        assert model.decision_function(A).dtype == dtype
        other = A.astype(np.float64 if dtype == np.float32 else np.float32)
        assert model.decision_function(other).dtype == dtype
        model.partial_fit(other, y)
        assert model.coef_.dtype == dtype
    assert OnlineClassifier().fit(np.arange(4).reshape(2, 2), [0, 1]).coef_.dtype == np.float64


def big(storage, dtype=np.float64):
    rng = np.random.default_rng(0)
    if storage == "dense":
        return rng.normal(size=(100_000, 20)).astype(dtype)
    n, per_row, d = 100_000, 20, 500
    columns = np.sort(rng.integers(0, d // per_row, (n, per_row)) + np.arange(0, d, d // per_row))
    indices = columns.ravel().astype(np.int32 if storage == "csr32" else np.int64)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=indices.dtype)
    matrix = sp.csr_matrix((n, d), dtype=dtype)
    matrix.data, matrix.indices, matrix.indptr = rng.normal(size=n * per_row), indices, indptr
    matrix.data = matrix.data.astype(dtype)
    return matrix


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr32", "csr64"])
def test_large_input_is_read_in_place(storage, dtype):
    X = big(storage, dtype)
    size = X.nbytes if storage == "dense" else X.data.nbytes
    y = np.arange(100_000) % 3
    model = OnlineClassifier(max_iter=1, shuffle=False)
    tracemalloc.start()
    try:
        for step in (
            lambda: model.fit(X, y),
            lambda: model.partial_fit(X, y),
            lambda: model.predict(X),
        ):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            step()
            assert tracemalloc.get_traced_memory()[1] - before < 0.7 * size
    finally:
        tracemalloc.stop()


def test_names_of_features_are_kept_and_asked_for():
    X, y = noise()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    model = OnlineClassifier(random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d", "e"]
    assert model.n_features_in_ == 5
    with refused(model, ValueError, "feature names"):
        model.predict(frame[["b", "a", "c", "d", "e"]])
    with refused(model, ValueError, "feature names"):
        model.partial_fit(frame.rename(columns={"a": "z"}), y)
    for fewer in (frame.iloc[:, :4], sp.csr_matrix(X[:, :4])):
        with (
            warnings.catch_warnings(),
            refused(model, ValueError, "feature names|4 features"),
        ):
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            model.predict(fewer)
    assert not hasattr(OnlineClassifier().fit(X, y), "feature_names_in_")


# ---- y -----------------------------------------------------------------------------------------


NAMES = np.array(["ash", "elm", "fir"])
TARGETS = {
    "list": lambda y: NAMES[y].tolist(),
    "text": lambda y: NAMES[y],
    "objects": lambda y: NAMES[y].astype(object),
    "pandas text": lambda y: pd.Series(NAMES[y]),
    "pandas Categorical": lambda y: pd.Categorical(NAMES[y], categories=["fir", "elm", "x", "ash"]),
    "pandas categories": lambda y: pd.Series(NAMES[y], dtype="category"),
    "polars text": lambda y: pl.Series(NAMES[y].tolist()),
    "polars Categorical": lambda y: pl.Series(NAMES[y].tolist(), dtype=pl.Categorical),
    "polars Enum": lambda y: pl.Series(NAMES[y].tolist(), dtype=pl.Enum(["fir", "elm", "ash"])),
    "Constraints": lambda y: Constraints.from_classes(NAMES[y]),
}


@pytest.mark.parametrize("target", TARGETS)
def test_every_shape_of_classes_is_the_same_target(target):
    X, y = blobs(k=3)
    plain = OnlineClassifier(random_state=0).fit(X, y)
    given_y = TARGETS[target](y)
    model = OnlineClassifier(random_state=0).fit(X, given_y)
    assert model.classes_.tolist() == NAMES.tolist()
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.predict(X).tolist() == NAMES[plain.predict(X)].tolist()
    assert model.score(X, given_y) == plain.score(X, y)
    again = OnlineClassifier().partial_fit(X, given_y, classes=NAMES)
    assert again.classes_.tolist() == NAMES.tolist()


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([False, True], bool),
        ([-100, 100], np.int8),
        ([-30_000, 30_000], np.int16),
        ([0, 255], np.uint8),
        ([-(2**31), 2**31 - 1], np.int32),
        ([-(2**63), 2**63 - 1], np.int64),
        ([2**63, 2**63 + 1], np.uint64),
        ([1.0, 3.0], np.float64),
    ],
)
def test_numbers_and_booleans_as_classes(values, dtype):
    X, y = blobs(n=20_000, k=2)  # so many that a table of values would be no waste
    values = np.array(values, dtype=dtype)
    model = OnlineClassifier(random_state=0, max_iter=1).fit(X, values[y])
    assert model.classes_.dtype == dtype
    assert np.array_equal(model.classes_, values)
    plain = OnlineClassifier(random_state=0, max_iter=1).fit(X, y)
    assert np.array_equal(model.predict(X), values[plain.predict(X)])


def test_a_column_of_classes_is_flattened_with_a_warning():
    X, y = blobs()
    with pytest.warns(UserWarning, match="column-vector"):
        model = OnlineClassifier(random_state=0).fit(X, y[:, None])
    assert identical(model, OnlineClassifier(random_state=0).fit(X, y))


@pytest.mark.parametrize(
    "shape", ["list", "frame", "polars", "booleans", "floats", "csr_matrix", "csc_array", "coo"]
)
def test_every_shape_of_an_indicator_is_the_same_target(shape):
    X, _ = noise()
    Y = np.random.default_rng(0).integers(0, 2, (40, 3))
    given_Y = {
        "list": Y.tolist(),
        "frame": pd.DataFrame(Y, columns=["sun", "sea", "ice"]),  # not in the order of the alphabet
        "polars": pl.DataFrame(Y, schema=["sun", "sea", "ice"]),
        "booleans": Y.astype(bool),
        "floats": Y.astype(float),
        "csr_matrix": sp.csr_matrix(Y),
        "csc_array": sp.csc_array(Y),
        "coo": sp.coo_matrix(Y),
    }[shape]
    plain = OnlineClassifier(random_state=0).fit(X, Y)
    model = OnlineClassifier(random_state=0).fit(X, given_Y)
    got = model.predict(X)
    assert sp.issparse(got) == sp.issparse(given_Y)
    assert np.array_equal(got.toarray() if sp.issparse(got) else got, plain.predict(X))
    assert model.score(X, given_Y) == plain.score(X, Y)


def test_an_indicator_is_calibrated_label_sets():
    X, _ = noise()
    Y = np.random.default_rng(0).integers(0, 2, (40, 3))
    model = OnlineClassifier(random_state=0).fit(X, Y)
    c = Constraints.from_labelsets(Y, calibrate=True)
    assert identical(model, OnlineClassifier(random_state=0).fit(X, c))
    assert model.predict(X).dtype == np.int64
    assert np.array_equal(model.predict(X), model.decision_function(X) > 0)


Y_REFUSED = {
    "nothing": (None, "y"),
    "too short": ([0, 1] * 4, "8"),
    "Constraints too short": (Constraints.from_classes([0, 1]), "2"),
    "a number": (3, "1d array"),
    "measurements": (np.linspace(0, 1, 10), "continuous"),
    "missing": ([np.nan] * 5 + [1.0] * 5, "NaN"),
    "missing text": (np.array(["a", None] * 5, dtype=object), None),
    "text and numbers": (np.array(["a", 1] * 5, dtype=object), None),
    "lists": ([["a"], ["a", "b"]] * 5, "Constraints.from_labelsets"),
    "sets": ([{"a"}, {"b"}] * 5, "Constraints.from_labelsets"),
    "two columns of classes": ([["a", "b"], ["c", "d"]] * 5, "indicator"),
    "counts": (np.arange(30).reshape(10, 3) % 3, "indicator"),
    "sparse counts": (sp.csr_matrix(np.full((10, 2), 2)), "0 and 1"),
    "three dimensions": (np.zeros((10, 2, 2)), "dim"),
}


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("case", Y_REFUSED)
def test_targets_refused_leave_the_estimator_as_it_was(case, fitted):
    y, match = Y_REFUSED[case]
    X, good = blobs(n=10)
    model = OnlineClassifier(random_state=0)
    if fitted:
        model.fit(X, good)
    with refused(model, ValueError, match):
        model.fit(X, y)
    with refused(model, ValueError, None if fitted else match):
        model.partial_fit(X, y)


@pytest.mark.parametrize(
    ("classes", "match"),
    [
        ([0, 1], "label.*classes="),
        ([], "label"),
        ([0, 1, 2, None], "label"),
        ([0, 1, 2, np.nan], "label"),
        (np.array([0, 1, 2, "a"], dtype=object), "label"),
        (["0", "1", "2"], "label"),
    ],
)
def test_classes_refused_by_the_first_batch(classes, match):
    X, y = blobs(k=3)
    with refused(model := OnlineClassifier(), ValueError, match):
        model.partial_fit(X, y, classes=classes)


def test_labels_not_announced_are_refused():
    X, y = blobs(k=3)
    model = OnlineClassifier().partial_fit(X, y)
    with refused(model, ValueError, "announce new labels with classes="):
        model.partial_fit(X, y + 1)
    with refused(model, ValueError, "announce new labels with classes="):
        model.partial_fit(X, Constraints.from_pairs([0], [0], [7], len(y), 8))


@pytest.mark.parametrize(
    ("first", "later"), [([0, 1], ["x", "x"]), (["a", "b"], [3, 3]), ([True, False], ["x", "x"])]
)
def test_labels_of_another_type_are_refused(first, later):
    """Numbers must not quietly become text."""
    model = OnlineClassifier().partial_fit(np.eye(2), first)
    with refused(model, ValueError, "label"):
        model.partial_fit(np.eye(2), later, classes=later[:1])


# ---- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("rule", v) for v in ("sgd", None, 3, ["perceptron"])),
        *(("update", v) for v in ("best", None, "All")),
        *(("average", v) for v in (2, "yes", None)),
        *(("shuffle", v) for v in (1, "no")),
        *(("fit_intercept", v) for v in (0, None)),
        *(("warm_start", v) for v in ("no",)),
        *(("early_stopping", v) for v in (1, "auto")),
        *(("C", v) for v in (0, -1, np.nan, np.inf, "1", None, True)),
        *(("promotion", v) for v in (1, 0.5, np.inf, np.nan, "2")),
        *(("max_iter", v) for v in (0, -3, 2.5, "10", None, True)),
        *(("n_iter_no_change", v) for v in (0, 1.5)),
        *(("validation_fraction", v) for v in (0, 1, -0.1, "0.1")),
    ],
)
def test_settings_refused_by_name(name, value):
    X, y = blobs()
    model = OnlineClassifier(**{name: value})
    with refused(model, ValueError, name):
        model.fit(X, y)
    with refused(model, ValueError, name):
        model.partial_fit(X, y)


def test_positive_winnow_cannot_judge_a_label_on_its_own():
    X, y = blobs()
    with refused(model := OnlineClassifier("positive_winnow", "independent"), ValueError, "all"):
        model.fit(X, y)


@pytest.mark.parametrize("method", ["predict", "predict_ranking", "decision_function"])
def test_nothing_is_predicted_before_fit(method):
    with refused(model := OnlineClassifier(), NotFittedError, "not fitted"):
        getattr(model, method)(np.eye(2))
    for name in ("coef_", "intercept_", "classes_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize("size", [-1, 5, 1.5, "2", None, True])
def test_sizes_of_label_sets_refused(size):
    X, y = blobs()
    model = OnlineClassifier(random_state=0).fit(X, y)
    with refused(model, ValueError, "l "):
        model.predict_labelset(X, size)


# ---- copies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fitted_by", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", ["classes", "calibrated", "rankings"])
def test_a_model_survives_pickle_and_joblib(kind, fitted_by, tmp_path):
    X, _ = noise(n=30)
    c = supervision()[kind]
    model = getattr(OnlineClassifier(random_state=0), fitted_by)(X, c)
    joblib.dump(model, tmp_path / "model")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model"),
    ):
        assert state(other) == state(model)
        assert np.array_equal(other.predict(X), model.predict(X))
        assert other.partial_fit(X, c).t_ == model.t_ + 30  # goes on by itself
        assert state(other) != state(model)


def test_a_model_read_from_a_memory_map_predicts_and_goes_on_learning(tmp_path):
    X, y = blobs()
    model = OnlineClassifier().partial_fit(X, y)
    joblib.dump(model, tmp_path / "model")
    other = joblib.load(tmp_path / "model", mmap_mode="r")
    assert np.array_equal(other.decision_function(X), model.decision_function(X))
    assert identical(other.partial_fit(X, y), model.partial_fit(X, y))


def test_clone_keeps_settings_and_nothing_learned():
    settings_ = {"rule": "pa2", "update": "worst", "C": 0.5, "class_weight": {0: 2.0}, "n_jobs": 2}
    model = OnlineClassifier(**settings_).fit(*blobs())
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert settings_.items() <= other.get_params().items()
    assert vars(other).keys() == other.get_params().keys()


def test_it_goes_through_model_selection_with_any_supervision():
    X, y = load_iris(return_X_y=True)
    orders = np.argsort(-np.eye(3)[y], axis=1, kind="stable")
    for target in (y, np.eye(3, dtype=int)[y], Constraints.from_rankings(orders=orders)):
        scores = cross_val_score(OnlineClassifier(random_state=0), X, target, cv=3)
        assert scores.shape == (3,)
        assert np.isfinite(scores).all()
    search = GridSearchCV(OnlineClassifier("pa1", random_state=0), {"C": [0.01, 1.0]}, cv=3)
    search.fit(X, Constraints.from_classes(y))
    assert search.best_score_ > 0.6


def test_coef_is_a_view():
    X, y = blobs()
    model = OnlineClassifier(random_state=0).fit(X, y)
    assert np.shares_memory(model.coef_, model.coef_)


# ---- threads and Ctrl-C ------------------------------------------------------------------------


@pytest.mark.parametrize("fitted_by", ["fit", "partial_fit"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_any_number_of_threads_predicts_the_same(storage, fitted_by):
    X, y = blobs(n=3000, k=20)
    X = storage(X)
    model = getattr(OnlineClassifier(random_state=0), fitted_by)(X, y)
    methods = ("predict", "predict_ranking", "decision_function")
    alone = [getattr(model, m)(X) for m in methods]
    for n_jobs in (1, 2, 3, 16, -1):
        model.set_params(n_jobs=n_jobs)
        together = [getattr(model, m)(X) for m in methods]
        assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def tasks():
    return {entry.name for entry in Path("/proc/self/task").iterdir()}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_threads_are_as_many_as_asked_for():
    X, y = blobs(n=20_000, d=20, k=100)
    model = OnlineClassifier(max_iter=1, random_state=0).fit(X[:500], y[:500])

    def threads(n_jobs):
        model.set_params(n_jobs=n_jobs)
        seen, before = set(), set()
        ready, done = threading.Event(), threading.Event()

        def watch():
            before.update(tasks())
            ready.set()
            while not done.wait(0.001):
                seen.update(tasks())

        watcher = threading.Thread(target=watch)
        watcher.start()
        ready.wait()
        model.predict_ranking(X)
        done.set()
        watcher.join()
        return len(seen - before)

    assert [threads(n_jobs) for n_jobs in (1, 3, 5)] == [1, 3, 5]
    with joblib.parallel_config(backend="sequential"):
        assert threads(3) == 1


def test_one_model_predicts_from_many_threads():
    X, y = blobs(n=2000, k=10)
    model = OnlineClassifier(random_state=0).partial_fit(X, y)
    want, before = model.predict_ranking(X), state(model)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: model.predict_ranking(X), range(40)):
            assert np.array_equal(got, want)
    assert state(model) == before


@contextmanager
def interrupted_after(seconds):
    """Ctrl-C from another thread; the block must end by it, and soon."""
    sent = []

    def send():
        sent.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        ended = time.monotonic()
        timer.cancel()
        timer.join()
    assert ended - sent[0] < 5


def endless(**changed):
    return OnlineClassifier(max_iter=10**7, random_state=0).set_params(**changed)


def test_ctrl_c_in_fit_leaves_no_model():
    X, y = noise(n=2000, d=50)
    model = endless()
    before = state(model)
    with interrupted_after(0.3):
        model.fit(X, y)
    assert state(model) == before
    assert not hasattr(model, "coef_")
    model.set_params(max_iter=1).fit(X, y)


@pytest.mark.parametrize("warm_start", [False, True])
def test_ctrl_c_in_fit_leaves_the_earlier_model(warm_start):
    X, y = noise(n=2000, d=50)
    model = endless(max_iter=2, warm_start=warm_start).fit(X, y).set_params(max_iter=10**7)
    before = state(model)
    with interrupted_after(0.3):
        model.fit(X, y)
    assert state(model) == before
    assert model.predict(X).shape == y.shape


def test_ctrl_c_while_the_held_out_share_is_judged():
    X, y = noise(n=3000, d=50)
    model = endless(early_stopping=True, validation_fraction=0.9, n_iter_no_change=10**7)
    with interrupted_after(0.3):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_ctrl_c_in_partial_fit_keeps_what_was_learned():
    X, y = noise(n=40_000, d=200, k=20)
    model = OnlineClassifier("winnow")
    with interrupted_after(0.5):
        for _ in range(100):
            model.partial_fit(X, y)
    assert model.classes_.size == 20
    assert model.t_ > 0
    assert np.isfinite(model.decision_function(X[:100])).all()
    steps = model.t_
    assert model.partial_fit(X[:10], y[:10]).t_ == steps + 10


def test_ctrl_c_within_one_example_of_many_pairs():
    """A set of 60 000 labels among twice as many is more than three thousand million pairs."""
    c = Constraints.from_labelsets([range(0, 120_000, 2), range(1, 120_000, 2)])
    with interrupted_after(0.3):
        endless(update="all").fit(np.eye(2), c)


def test_ctrl_c_within_one_example_of_great_weight():
    """Steps so small that each of very many presentations moves the weights."""
    c = Constraints.from_classes([1], labels=[0, 1, 2])
    with interrupted_after(0.3):
        endless(rule="pa1", update="all", C=1e-12).fit(np.ones((1, 3)), c, sample_weight=[3e8])


def test_ctrl_c_in_prediction():
    X, y = blobs(n=50_000, d=30, k=100)
    model = OnlineClassifier(max_iter=1, n_jobs=2).fit(X[:500], y[:500])
    with interrupted_after(0.3):
        for _ in range(1000):
            model.predict_ranking(X)
    assert model.predict(X[:3]).shape == (3,)


# ---- progress ----------------------------------------------------------------------------------


def test_quick_work_is_silent(capsys):
    OnlineClassifier(verbose=1, max_iter=2).fit(*blobs())
    assert capsys.readouterr() == ("", "")


def test_long_work_tells_how_far_it_is(monkeypatch):
    told = []
    monkeypatch.setattr(
        kesler._driver.Progress, "update", lambda self, done, note="": told.append(done)
    )
    X, y = noise(n=5000, d=50)
    with suppress(KeyboardInterrupt), interrupted_after(0.6):
        endless(verbose=1).fit(X, y)
    assert told
    assert told == sorted(told)


def test_an_error_in_the_progress_line_stops_the_fit(monkeypatch):
    def broken(self, done, note=""):
        raise OSError("the terminal has gone")

    monkeypatch.setattr(kesler._driver.Progress, "update", broken)
    X, y = noise(n=5000, d=50)
    with refused(model := endless(verbose=1, max_iter=2000), OSError, "gone"):
        model.fit(X, y)


def test_the_module_under_test_is_compiled():
    assert sys.modules["kesler._core"].__file__.endswith((".so", ".pyd"))
