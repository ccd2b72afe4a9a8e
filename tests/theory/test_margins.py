"""The constraint margin against its definition, the expansion and the multiclass margin."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kesler import Constraints, _scores
from kesler.theory import constraint_margin, kesler_expansion


def sample(kind, n=12, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.3] = 0
    if kind == "classes":
        return X, Constraints.from_classes(rng.integers(k, size=n), labels=range(k))
    if kind == "rankings":
        return X, Constraints.from_rankings(ranks=rng.integers(1, k, size=(n, k)).astype(float))
    if kind == "pairs":
        return X, Constraints.from_pairs([0, 3, 3], [1, 2, 0], [0, 1, 1], n, k)
    sets = rng.integers(2, size=(n, k))
    return X, Constraints.from_labelsets(sets, calibrate=kind == "calibrated")


KINDS = ["classes", "labelsets", "calibrated", "rankings", "pairs"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_margin_is_the_smallest_difference(kind, block, monkeypatch):
    monkeypatch.setattr(_scores, "_BLOCK", block)
    X, constraints = sample(kind)
    scores = np.random.default_rng(1).normal(size=(X.shape[0], constraints.n_labels))
    padded = np.column_stack([scores, np.zeros(X.shape[0])])
    indptr, over, under, _, _ = constraints.pairs()
    found = constraint_margin(constraints, scores)
    for i in range(X.shape[0]):
        gaps = [padded[i, over[p]] - padded[i, under[p]] for p in range(indptr[i], indptr[i + 1])]
        assert found[i] == min(gaps, default=np.inf)
    assert np.array_equal(found > 0, ~constraints.errors(scores))


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 1000))
def test_margin_of_the_expansion_is_the_constraint_margin(kind, seed):
    X, constraints = sample(kind, seed=seed)
    W = np.random.default_rng(seed).normal(size=(constraints.n_labels + constraints.calibrated, 3))
    points, _ = kesler_expansion(X, constraints)
    margin = constraint_margin(constraints, X @ W.T)
    binary = (points @ W.ravel()).min(initial=np.inf)
    assert margin.min() == pytest.approx(binary, abs=1e-12)


def test_margin_of_classes_is_the_multiclass_margin():
    X, constraints = sample("classes")
    scores = X @ np.random.default_rng(2).normal(size=(3, 4))
    y = constraints.class_codes()
    own = scores[np.arange(12), y]
    rivals = np.where(np.arange(4) == y[:, None], -np.inf, scores)
    np.testing.assert_allclose(constraint_margin(constraints, scores), own - rivals.max(axis=1))


def test_margin_reads_one_number_a_row_for_two_labels():
    constraints = Constraints.from_classes([0, 1])
    np.testing.assert_array_equal(constraint_margin(constraints, [-2.0, -3.0]), [2, -3])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expansion_is_its_definition(kind, sparse, dtype):
    X, constraints = sample(kind)
    X = X.astype(dtype)
    points, signs = kesler_expansion(
        sp.csr_matrix(X) if sparse else X, constraints, both_signs=True
    )
    indptr, over, under, _, _ = constraints.pairs()
    chunks = constraints.n_labels + constraints.calibrated
    expected = np.zeros((over.size, chunks, 3), dtype=dtype)
    for i in range(X.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            expected[p, over[p]] += X[i]  # -1 is the last chunk, the virtual label's
            expected[p, under[p]] -= X[i]
    expected = expected.reshape(over.size, -1)
    np.testing.assert_array_equal(points.toarray(), np.concatenate([expected, -expected]))
    np.testing.assert_array_equal(signs, np.repeat([1, -1], over.size))
    assert points.dtype == dtype
    norms = np.repeat((X**2).sum(axis=1), np.diff(indptr))
    one_sign, _ = kesler_expansion(X, constraints)
    np.testing.assert_allclose(one_sign.multiply(one_sign).sum(axis=1).A1, 2 * norms, rtol=1e-5)


def test_expansion_refuses_other_numbers_of_examples():
    with pytest.raises(ValueError, match="X has 2 examples and constraints 3"):
        kesler_expansion(np.eye(2), Constraints.from_classes([0, 1, 0]))


def test_a_hyperplane_that_separates_the_expansion_is_a_linear_sorter():
    from sklearn.linear_model import Perceptron

    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    scores = X @ rng.normal(size=(3, 4))
    top = np.sort(scores, axis=1)
    apart = np.diff(top, axis=1).min(axis=1) > 0.1
    X, scores = X[apart], scores[apart]
    constraints = Constraints.from_rankings(orders=np.argsort(-scores, axis=1))
    points, signs = kesler_expansion(X, constraints, both_signs=True)
    binary = Perceptron(fit_intercept=False, max_iter=2000, tol=None, random_state=0)
    W = binary.fit(points, signs).coef_.reshape(4, 3)
    assert not constraints.errors(X @ W.T).any()
