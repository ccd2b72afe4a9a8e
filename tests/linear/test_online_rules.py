"""Every rule of on-line learning is its NumPy twin, after every single step."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import TWINS, pairs_of

from kesler import Constraints, OnlineClassifier, _core

K, D, N = 5, 6, 7
UPDATES = ("all", "worst", "independent")
CELLS = [
    (rule, update)
    for rule in TWINS
    for update in UPDATES
    if (rule, update) != ("positive_winnow", "independent")  # refused
]
SETTINGS = {"C": 0.3, "promotion": 1.5}  # C low enough that PA-I is capped now and then
KINDS = (
    "classes",
    "labelsets",
    "calibrated",
    "adjacent",
    "all",
    "plain pairs",
    "pairs",
    "mixed",
)


# Pairs of different weights come first, or labels of Winnow that were moved up and down again would
# tie but for rounding, and tie for the twin and not for the core.
FIRST = Constraints.from_pairs([0] * 3, [0, 2, 1], [1, 3, 4], 1, K, weight=[0.9, 0.6, 0.35])
FIRST_ROW = np.array([[0.5, -1.25, 0.75, 0, 1, -0.5]])


def test_every_rule_has_a_twin():
    assert sorted(TWINS) == sorted(_core.rule_names())


def rows(n=N, seed=0):
    """Rows whose scores do not tie; with zeros, a feature never seen, and a row of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X[:, 1:] *= rng.random((n, D - 1)) < 0.6
    X[:, 3] = 0
    X[n // 2] = 0
    return X.astype(np.float32).astype(np.float64)  # the same numbers in both precisions


def dyadic_rows(n, d, seed=0):
    """Rows whose sums and products float32 holds exactly: scores tie, and tie for the core too."""
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, size=(n, d)) * (rng.random((n, d)) < 0.6) / 2


def some_pairs(rng, n, k, plain):
    rows_, over, under = [], [], []
    for i in range(n - 1):  # the last example has none
        order = rng.permutation(k)
        for _ in range(rng.integers(1, 6)):
            a, b = np.sort(rng.choice(k, 2, replace=False))
            rows_.append(i)
            over.append(order[a])
            under.append(order[b])
    if plain:
        return Constraints.from_pairs(rows_, over, under, n, k)
    size = len(rows_)
    margin = rng.choice([0.0, 0.5, 1.0, 3.0], size)
    weight = rng.choice([0.0, 0.25, 1.0, 2.5], size)
    return Constraints.from_pairs(rows_, over, under, n, k, margin, weight)


@cache
def constraints_of(kind, n=N, k=K, seed=1):
    rng = np.random.default_rng(seed)
    sets = rng.integers(0, 2, size=(n, k))
    sets[0], sets[-1] = 0, 1  # an empty and a full one
    ranks = rng.integers(1, 4, size=(n, k)).astype(float)  # ties
    ranks[rng.random((n, k)) < 0.2] = np.nan
    if kind == "classes":
        return Constraints.from_classes(rng.integers(0, k, n), labels=np.arange(k))
    if kind == "labelsets":
        return Constraints.from_labelsets(sets)
    if kind == "calibrated":
        return Constraints.from_labelsets(sets, calibrate=True)
    if kind in ("adjacent", "all"):
        return Constraints.from_rankings(ranks=ranks, pairs=kind)
    if kind in ("plain pairs", "pairs"):
        return some_pairs(rng, n, k, plain=kind == "plain pairs")
    parts = [constraints_of(kind, 2, k, seed) for kind in KINDS[:-1]]
    mixed = Constraints.concatenate(parts)
    return mixed[rng.permutation(mixed.n_samples)]


def kinds_for(update):
    left_out = ("pairs", "mixed") if update == "independent" else ("plain pairs",)
    return [kind for kind in KINDS if kind not in left_out]


def stream(update):
    """Every form of order that the update takes, one after another."""
    parts = [constraints_of(kind) for kind in kinds_for(update)]
    first = [] if update == "independent" else [FIRST]
    c = Constraints.concatenate([*first, *parts])
    X = rows(c.n_samples)
    X[0] = FIRST_ROW
    X[c.n_samples // 2] = -FIRST_ROW / 3  # in a second pass thresholds alone would tie
    return X, c


@cache
def trajectory(rule, update, kind, intercept):
    """The twin's (weights, mean, moves) after each example."""
    c = constraints_of(kind)
    twin = TWINS[rule](K, D, update, intercept=intercept, **SETTINGS)
    if update != "independent":
        twin.present(FIRST_ROW[0], pairs_of(FIRST)[0])
    found = []
    for x, pairs in zip(rows(c.n_samples), pairs_of(c), strict=True):
        twin.present(x, pairs)
        found.append((twin.W.copy(), twin.mean(), twin.moves))
    return found


def table(W, calibrated, intercept=True):
    """The twin's weights as coef_ and intercept_ side by side."""
    k = W.shape[0] - 1
    shown = W[:k] - W[k] if calibrated else W[:k].copy()
    if not intercept:
        shown[:, -1] = 0
    return shown


def learned(model):
    return np.column_stack([model.coef_, model.intercept_])


def stored(X, storage, dtype):
    if storage == "dense":
        return np.ascontiguousarray(X, dtype=dtype)
    matrix = sp.csr_matrix(X, dtype=dtype)
    index = np.int32 if storage == "csr32" else np.int64
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def row_of(X, i):
    row = X[i : i + 1]
    if sp.issparse(X):  # SciPy narrows the indices of a slice
        index = X.indices.dtype
        row.indices, row.indptr = row.indices.astype(index), row.indptr.astype(index)
    return row


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr32", "csr64"])
@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_rule_is_its_twin_after_every_step(rule, update, storage, dtype, isa):
    close = {"rtol": 1e-9, "atol": 1e-11} if dtype == np.float64 else {"rtol": 2e-4, "atol": 2e-5}
    for kind in kinds_for(update):
        c = constraints_of(kind)
        X = stored(rows(c.n_samples), storage, dtype)
        for intercept, average in ((True, True), (False, False))[: 1 + (storage != "csr64")]:
            model = OnlineClassifier(
                rule, update, average=average, fit_intercept=intercept, **SETTINGS
            )
            if update != "independent":
                model.partial_fit(stored(FIRST_ROW, storage, dtype), FIRST)
            for i, (last, mean, _) in enumerate(trajectory(rule, update, kind, intercept)):
                model.partial_fit(row_of(X, i), c[i])
                calibrated = c[: i + 1].calibrated
                np.testing.assert_allclose(
                    learned(model),
                    table(mean if average else last, calibrated, intercept),
                    **close,
                    err_msg=f"{kind}, step {i}, intercept {intercept}, average {average}",
                )
            assert model.coef_.dtype == dtype
            assert model.t_ == c.n_samples + (update != "independent")


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 100, 130])
@pytest.mark.parametrize("update", UPDATES)
def test_perceptron_is_exact_for_every_number_of_labels(update, k, isa):
    """Labels are padded, and few moves among many labels are written another way."""
    n, d = 40, 7
    X = dyadic_rows(n, d, seed=k)
    c = Constraints.from_classes(np.random.default_rng(k).integers(0, k, n), labels=np.arange(k))
    twin = TWINS["perceptron"](k, d, update)
    for x, pairs in zip(X, pairs_of(c), strict=True):
        twin.present(x, pairs)
    want = table(twin.W, calibrated=False)
    for storage in ("dense", "csr32", "csr64"):
        for dtype in (np.float32, np.float64):
            A = stored(X, storage, dtype)
            model = OnlineClassifier("perceptron", update, average=False).partial_fit(A, c)
            got = learned(model)
            assert np.array_equal(got, want[1:] - want[:1] if k == 2 else want)
            assert model.n_updates_ == twin.moves


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_a_fit_in_order_is_that_many_passes_of_the_twin(rule, update):
    X, c = stream(update)
    twin = TWINS[rule](K, D, update, **SETTINGS)
    mistakes = []
    for _ in range(3):
        wrong = 0
        for x, pairs in zip(X, pairs_of(c), strict=True):
            before = twin.moves
            twin.present(x, pairs)
            wrong += twin.moves > before
        mistakes.append(wrong)
    model = OnlineClassifier(rule, update, max_iter=3, shuffle=False, **SETTINGS).fit(X, c)
    assert model.n_iter_ == 3
    assert model.mistakes_ == mistakes
    assert model.n_updates_ == twin.moves
    np.testing.assert_allclose(learned(model), table(twin.mean(), c.calibrated), rtol=1e-8)


@pytest.mark.parametrize(("rule", "update"), CELLS)
def test_sample_weight_is_presentations_in_a_row(rule, update):
    X, c = stream(update)
    weights = np.random.default_rng(3).choice([0, 0.25, 1, 2.5, 7], c.n_samples)
    twin = TWINS[rule](K, D, update, **SETTINGS)
    model = OnlineClassifier(rule, update, **SETTINGS)
    for i, (x, pairs) in enumerate(zip(X, pairs_of(c), strict=True)):
        twin.present(x, pairs, float(weights[i]))
        model.partial_fit(X[i : i + 1], c[i], sample_weight=weights[i : i + 1])
        calibrated = c[: i + 1].calibrated
        np.testing.assert_allclose(
            learned(model), table(twin.mean(), calibrated), rtol=1e-8, atol=1e-10
        )
    assert model.t_ == twin.steps == weights.sum()


@pytest.mark.parametrize("update", ["all", "worst"])
@pytest.mark.parametrize("rule", ["winnow", "positive_winnow"])
def test_winnow_past_the_point_of_rescaling_is_its_twin_up_to_a_factor(rule, update, isa):
    """Logarithms of 300 and more: one factor is taken out of all weights, and only that."""
    rng = np.random.default_rng(0)
    n = 60
    X = rng.normal(size=(n, D)) * 6
    c = Constraints.from_classes(rng.integers(0, K, n), labels=np.arange(K))
    for average in (False, True):
        twin = TWINS[rule](K, D, update, promotion=10.0)
        model = OnlineClassifier(rule, update, promotion=10.0, average=average)
        largest = 0.0
        for i, (x, pairs) in enumerate(zip(X, pairs_of(c), strict=True)):
            twin.present(x, pairs)
            model.partial_fit(X[i : i + 1], c[i])
            want = table(twin.mean() if average else twin.W, calibrated=False)
            largest = max(largest, np.log(np.abs(want).max()))
            got = learned(model)
            np.testing.assert_allclose(
                got / np.abs(got).max(), want / np.abs(want).max(), rtol=1e-7, atol=1e-11
            )
        assert largest > 60, "the test did not reach what it is about"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", ["pa1", "pa2"])
def test_what_is_learned_but_for_rounding_is_learned(rule, dtype):
    """A loss of 1e-16 is none: two examples that one step each settles come to rest."""
    for seed in range(100):
        x = np.random.default_rng(seed).normal(size=5)
        X = np.array([x, -x], dtype=dtype)
        model = OnlineClassifier(rule, max_iter=200, shuffle=False).fit(X, [0, 1])
        assert model.outcome_.status == "no_mistakes", seed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("rule", ["winnow", "positive_winnow"])
def test_winnow_never_overflows(rule, average, dtype):
    """One step over a large feature moves a logarithm by hundreds; no weight becomes NaN for it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)).astype(dtype) * dtype(1e4)
    y = np.argmax(X[:, :3], axis=1)
    model = OnlineClassifier(rule, average=average, promotion=2.0, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.decision_function(X)).all()


@st.composite
def runs(draw):
    """A stream of exactly representable rows and orders on three labels, with its settings."""
    k, d = 3, 2
    n = draw(st.integers(1, 8))
    value = st.integers(-3, 3)
    X = np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=n, max_size=n)))
    ranks = draw(
        st.lists(
            st.lists(st.sampled_from([1, 2, 3, np.nan]), min_size=k, max_size=k),
            min_size=n,
            max_size=n,
        )
    )
    pairs = draw(st.sampled_from(["adjacent", "all"]))
    c = Constraints.from_rankings(ranks=ranks, labels=np.arange(k), pairs=pairs)
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    update = draw(st.sampled_from(UPDATES))
    return X.astype(float), c, np.array(weights, dtype=float), update, draw(st.booleans())


@given(runs())
@settings(max_examples=150)
def test_perceptron_is_its_twin_to_the_last_bit(run):
    X, c, weights, update, intercept = run
    twin = TWINS["perceptron"](c.n_labels, X.shape[1], update, intercept=intercept)
    for x, pairs, weight in zip(X, pairs_of(c), weights, strict=True):
        twin.present(x, pairs, weight)
    model = OnlineClassifier("perceptron", update, average=False, fit_intercept=intercept)
    model.partial_fit(X, c, sample_weight=weights)
    assert np.array_equal(learned(model), table(twin.W, calibrated=False, intercept=intercept))
    assert model.n_updates_ == twin.moves
    assert model.t_ == weights.sum()
    averaged = OnlineClassifier("perceptron", update, fit_intercept=intercept)
    averaged.partial_fit(sp.csr_matrix(X, dtype=np.float32), c, sample_weight=weights)
    want = table(twin.mean(), calibrated=False, intercept=intercept)
    np.testing.assert_allclose(learned(averaged), want, rtol=1e-5, atol=1e-5)
