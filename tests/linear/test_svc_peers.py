"""ConstraintSVC against solvers that others wrote, on data of the papers: the same objective."""

import numpy as np
import pytest
import scipy.sparse as sp
from machines import CELLS, KINDS, LOSSES, blobs, fit, supervision, text_like, weights_of
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from kesler import Constraints
from kesler.datasets import load
from kesler.theory import kesler_expansion


def by_liblinear(X, y, C, weight=None, intercept=True, tol=1e-5):
    """The objective that LIBLINEAR reaches on Crammer and Singer's problem, in float64."""
    peer = LinearSVC(
        C=C, multi_class="crammer_singer", tol=tol, max_iter=1_000_000, fit_intercept=intercept
    ).fit(X, y, sample_weight=weight)
    q = np.ones(len(y)) if weight is None else weight
    scores = np.asarray(peer.decision_function(X))
    codes = np.unique(y, return_inverse=True)[1]
    own = scores[np.arange(len(y)), codes]
    rival = scores.copy()
    rival[np.arange(len(y)), codes] = -np.inf
    hinge = np.maximum(0, 1 - own + rival.max(axis=1))
    bias = (peer.intercept_**2).sum() if intercept else 0.0
    return ((peer.coef_**2).sum() + bias) / 2 + C * float(q @ hinge)


def agree(model, peer, within=1e-4):
    """Neither may be below what our dual proves impossible, nor far above the other."""
    assert peer >= model.dual_objective_ * (1 - 1e-7)
    assert model.primal_objective_ == pytest.approx(peer, rel=within)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("make", [load_iris, load_wine, blobs, text_like])
def test_crammer_and_singer_by_liblinear(make, C):
    X, y = make(return_X_y=True) if make in (load_iris, load_wine) else make()
    if not sp.issparse(X):
        X = StandardScaler().fit_transform(X)
    weight = np.round(np.random.default_rng(0).uniform(0.1, 3, len(y)), 1)
    agree(fit(X, y, C=C, tol=1e-5), by_liblinear(X, y, C))
    agree(fit(X, y, weight, C=C, tol=1e-5), by_liblinear(X, y, C, weight))
    agree(fit(X, y, C=C, tol=1e-5, fit_intercept=False), by_liblinear(X, y, C, intercept=False))


@pytest.mark.parametrize("name", ["vehicle", "vowel", "glass", "page-blocks"])
def test_on_data_of_the_papers(data_dir, name):
    data = load(name, source=data_dir)
    X, y = StandardScaler().fit_transform(data.data), data.target
    peer = by_liblinear(X, y, 1.0, tol=1e-4)
    for dtype in (np.float32, np.float64):
        for solver in ("dual", "newton"):
            agree(fit(X.astype(dtype), y, tol=5e-5, solver=solver), peer)


def test_on_text(data_dir):
    data = load("20news", source=data_dir)
    X, y = normalize(data.data[:3000]), data.target[:3000]
    peer = by_liblinear(X, y, 1.0, tol=1e-4)
    for dtype in (np.float32, np.float64):
        agree(fit(X.astype(dtype), y, tol=5e-5), peer)


def without_margins(c):
    """Its pairs and their weights; LinearSVC knows no margin but 1."""
    indptr, over, under, _, weight = c.pairs()
    rows = np.repeat(np.arange(c.n_samples), np.diff(indptr))
    return Constraints.from_pairs(rows, over, under, c.n_samples, c.n_labels, weight=weight)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mixed"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_sum_is_the_binary_machine_of_the_expansion(kind, loss):
    """One sign of each point; half of them are turned over, for LinearSVC wants two classes."""
    n = 30
    c = supervision(n)[kind]
    c = without_margins(c) if c.has_margins else c
    X, _ = blobs(n, d=4)
    weight = np.round(np.random.default_rng(1).uniform(0.5, 2, n), 1)
    rows = np.repeat(np.arange(n), np.diff(c.pairs().indptr))
    points, _ = kesler_expansion(np.column_stack([X, np.ones(n)]), c)
    signs = np.where(np.arange(rows.size) % 2, 1, -1)
    counts = weight[rows] * c.pairs().weight
    peer = LinearSVC(
        loss=loss, C=0.5, fit_intercept=False, tol=1e-7, max_iter=1_000_000, dual=True
    ).fit(points.multiply(signs[:, None]).tocsr(), signs, sample_weight=counts)
    v = peer.coef_[0]
    lost = np.maximum(0, 1 - points @ v) ** (2 if loss == "squared_hinge" else 1)
    model = fit(X, c, weight, C=0.5, aggregate="sum", loss=loss)
    agree(model, v @ v / 2 + 0.5 * float(counts @ lost))
    virtual = 1 + (kind == "calibrated sets")
    np.testing.assert_allclose(weights_of(model), v.reshape(-1, 5), atol=2e-2 * virtual)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("C", [0.02, 1.0])
def test_two_labels_at_C_are_the_binary_machine_at_2C(aggregate, loss, C):
    X, y = blobs(n=120, d=6, k=2, spread=0.5)
    peer = LinearSVC(loss=loss, C=2 * C, tol=1e-8, max_iter=1_000_000, dual=True).fit(X, y)
    lost = np.maximum(0, 1 - np.where(y, 1, -1) * peer.decision_function(X))
    lost = lost**2 if loss == "squared_hinge" else lost
    size = (peer.coef_**2).sum() + (peer.intercept_**2).sum()
    for form in (np.asarray, sp.csr_matrix):
        model = fit(form(X), y, C=C, aggregate=aggregate, loss=loss)
        agree(model, (size / 2 + 2 * C * lost.sum()) / 2)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=5e-3)
        np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=5e-3)
