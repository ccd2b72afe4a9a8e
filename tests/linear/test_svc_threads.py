"""Workers that keep the weights of some features each: rows in any order, shares of any size."""

import numpy as np
import pytest
import scipy.sparse as sp
from machines import fit


def shuffled_rows(X, seed=0):
    """The same matrix, the entries of each row in no order."""
    rng = np.random.default_rng(seed)
    X = X.copy()
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        order = begin + rng.permutation(end - begin)
        X.indices[begin:end], X.data[begin:end] = X.indices[order], X.data[order]
    X.has_sorted_indices = False
    return X


def common_words(n=6000, d=500, k=20, seed=0):
    """Sparse rows whose first features are in nearly all of them; enough of them for threads."""
    rng = np.random.default_rng(seed)
    share = 1 / (1 + np.arange(d))
    X = sp.csr_array((rng.random((n, d)) < 3 * share) * rng.random((n, d)))
    y = (X @ rng.normal(size=(d, k)) + 0.1 * rng.normal(size=(n, k))).argmax(axis=1)
    return X, y


def same_optimum(X, y, **settings):
    """Fits with one thread and with two bracket one minimum."""
    one, two = (fit(X, y, n_jobs=n_jobs, tol=1e-2, solver="dual", **settings) for n_jobs in (1, 2))
    for a, b in ((one, two), (two, one)):
        assert a.outcome_.status == "converged"
        assert a.primal_objective_ >= b.dual_objective_ * (1 - 1e-12)
    return two


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_in_order_and_in_none(index):
    X, y = common_words()
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    in_order, in_none = (same_optimum(form, y, C=0.01) for form in (X, shuffled_rows(X)))
    assert in_none.primal_objective_ == pytest.approx(in_order.primal_objective_, rel=2e-2)


@pytest.mark.parametrize("d", [1, 2, 40])
def test_dense_rows_and_fewer_features_than_workers(d):
    """The constant feature belongs to one worker, whatever the others have."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=40_000 if d < 3 else 12_000, p=[0.6, 0.3, 0.1])
    same_optimum(rng.normal(size=(y.size, d)) + y[:, None], y, C=1e-4)
