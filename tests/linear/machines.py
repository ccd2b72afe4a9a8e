"""What the tests of the constraint machine share: data, supervision of every kind, and the truth.

The objective is written here from its definition over the pairs as stored, and its minimum comes
from a generic solver; nothing is shared with the core.
"""

import functools
import itertools
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from twins import pairs_of

from kesler import Constraints, ConstraintSVC

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of solvers that are not at hand
    import cvxpy as cp

AGGREGATES = ("max", "sum")
LOSSES = ("hinge", "squared_hinge")
CELLS = list(itertools.product(AGGREGATES, LOSSES))


def blobs(n=60, d=5, k=4, seed=0, spread=1.0):
    """Classes around centres; with a small `spread` of the centres nothing can be learned."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    X = rng.normal(size=(n, d)) + spread * rng.normal(size=(k, d))[y]
    return as_float32_can(X), y


def as_float32_can(X):
    """The same, rounded so that both types hold the same numbers."""
    return X.astype(np.float32).astype(np.float64)


def text_like(n=200, d=300, k=5, seed=0):
    """A CSR matrix of few features a row, some of them telling of the class, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    anywhere = rng.integers(0, d, (n, 6))
    telling = rng.integers(0, d // k, (n, 3)) + (y * (d // k))[:, None]
    columns = np.column_stack([anywhere, telling]).ravel()
    X = sp.csr_matrix((rng.uniform(0.5, 1.5, n * 9), (np.repeat(np.arange(n), 9), columns)), (n, d))
    X.data = as_float32_can(X.data)
    return X, y


def random_pairs(n, k, rng, margins=False, weights=False):
    """A few pairs of each example that go round in no circle, now and then the same pair twice."""
    rows, over, under = [], [], []
    for i in range(n):
        place = rng.permutation(k)
        for _ in range(rng.integers(0, 5)):
            a, b = rng.choice(k, 2, replace=False)
            rows.append(i)
            over.append(a if place[a] < place[b] else b)
            under.append(b if place[a] < place[b] else a)
    margin = np.round(np.maximum(rng.uniform(-0.5, 3.0, len(rows)), 0), 2) if margins else None
    weight = np.round(rng.uniform(0.1, 3.0, len(rows)), 2) if weights else None
    return Constraints.from_pairs(rows, over, under, n, k, margin=margin, weight=weight)


def random_fans(n, k, rng, weights=False):
    """One label over all others with a margin of each, as a matrix of costs has them."""
    y = rng.integers(0, k, n)
    rows, under = np.nonzero(np.arange(k) != y[:, None])
    margin = np.round(rng.uniform(0.0, 3.0, rows.size), 2)
    weight = np.round(rng.uniform(0.1, 3.0, rows.size), 2) if weights else None
    return Constraints.from_pairs(rows, y[rows], under, n, k, margin=margin, weight=weight)


def supervision(n=24, k=4, seed=0):
    """The same examples under every kind of supervision; empty and full sets among them."""
    rng = np.random.default_rng(seed)
    sets = rng.integers(0, 2, (n, k))
    sets[0], sets[1] = 0, 1
    tied = rng.integers(1, 4, (n, k)).astype(float)
    partial = np.where(rng.random((n, k)) < 0.3, np.nan, np.argsort(rng.random((n, k))) + 1.0)
    orders = np.argsort(rng.random((n, k)))
    found = {
        "classes": Constraints.from_classes(np.arange(n) % k),
        "label sets": Constraints.from_labelsets(sets),
        "calibrated sets": Constraints.from_labelsets(sets, calibrate=True),
        "rankings": Constraints.from_rankings(orders=orders, labels=range(k)),
        "rankings, all pairs": Constraints.from_rankings(
            orders=orders, labels=range(k), pairs="all"
        ),
        "partial rankings": Constraints.from_rankings(ranks=partial),
        "tied rankings": Constraints.from_rankings(ranks=tied),
        "pairs": random_pairs(n, k, rng),
        "pairs with margins": random_pairs(n, k, rng, margins=True),
        "fans": random_fans(n, k, rng),
    }
    mixed = Constraints.concatenate([*found.values()])
    found["mixed"] = mixed[rng.permutation(mixed.n_samples)[:n]]
    found["weighed pairs"] = random_pairs(n, k, rng, margins=True, weights=True)
    found["weighed fans"] = random_fans(n, k, rng, weights=True)
    return found


KINDS = [*supervision()]


def takes(aggregate, kind):
    """Only the sum has a place for weights of pairs."""
    return aggregate == "sum" or not kind.startswith("weighed")


# ---- the objective, from its definition --------------------------------------------------------


def weights_of(model):
    """The whole table W, a row per label, the virtual one last, the intercept as last column.

    `coef_` of two classes, or of calibrated sets, holds differences. The rows of W add up to zero,
    for every pair adds to one row what it takes from another, and so the table can be had back.
    """
    coef = np.column_stack([model.coef_, model.intercept_]).astype(np.float64)
    if coef.shape[0] == 1 and model.classes_.size == 2:
        return np.vstack([-coef / 2, coef / 2])
    if model._table.virtual:
        least = -coef.sum(axis=0) / (coef.shape[0] + 1)
        return np.vstack([coef + least, least])
    return coef


def scores_of(W, X):
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return X @ W[:, :-1].T + W[:, -1]


def losses(scores, constraints, aggregate, loss):
    """L of every example, and the smallest difference of scores over all pairs."""
    power = 2 if loss == "squared_hinge" else 1
    found, least = [], np.inf
    for s, pairs in zip(scores, pairs_of(constraints), strict=True):
        each = [max(margin - (s[a] - s[b]), 0.0) ** power for a, b, margin, _ in pairs]
        least = min([least, *(s[a] - s[b] for a, b, _, _ in pairs)])
        if aggregate == "max":
            found.append(max(each, default=0.0))
        else:
            found.append(sum(h * w for h, (_, _, _, w) in zip(each, pairs, strict=True)))
    return np.array(found), least


def objective(model, X, constraints, weight=None):
    """P of MATH.md 3 and the margin, from `coef_` and `intercept_`."""
    W = weights_of(model)
    each, least = losses(scores_of(W, X), constraints, model.aggregate, model.loss)
    q = np.ones(len(each)) if weight is None else weight
    return (W**2).sum() / 2 + model.C * float(q @ each), least


# ---- its minimum, from a generic solver --------------------------------------------------------


def minimum(X, constraints, C, aggregate, loss, weight=None, intercept=True):
    """The smallest objective there is, to about eight digits."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    X = np.column_stack([X, np.ones(X.shape[0])]) if intercept else X
    n, d = X.shape
    k = constraints.n_labels + constraints.calibrated
    listed = [(i, *pair) for i, pairs in enumerate(pairs_of(constraints)) for pair in pairs]
    points = np.zeros((len(listed), k, d))
    for p, (i, a, b, _, _) in enumerate(listed):
        points[p, a] += X[i]
        points[p, b] -= X[i]
    rows, _, _, margins, each = map(np.array, zip(*listed, strict=True))
    q = np.ones(n) if weight is None else np.asarray(weight)
    W = cp.Variable(k * d)
    short = margins - points.reshape(len(listed), -1) @ W
    if aggregate == "sum":
        lost, counts = cp.pos(short), C * q[rows] * each
    else:
        lost, counts = cp.Variable(n, nonneg=True), C * q
    limits = [] if aggregate == "sum" else [lost[rows] >= short]
    if loss == "squared_hinge":
        lost = cp.square(lost)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(W) / 2 + counts @ lost), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status == "optimal"
    return float(problem.value)


@functools.cache
def cell(kind, aggregate, loss, weighted):
    """A small problem of a kind: X, constraints, weights and the smallest objective."""
    c = supervision()[kind]
    rng = np.random.default_rng(7)
    X = as_float32_can(rng.normal(size=(c.n_samples, 3)))
    weight = np.round(rng.uniform(0, 3, c.n_samples), 2) if weighted else None
    if weighted:
        weight[[3, 8]] = 0.0
    return X, c, weight, minimum(X, c, 0.7, aggregate, loss, weight)


# ---- what every fit must keep ------------------------------------------------------------------


def certified(model, X, constraints, weight=None, best=None, rtol=1e-6):
    """Asserts that the certificate tells the truth about the weights, and about the minimum."""
    primal, dual = model.primal_objective_, model.dual_objective_
    found, margin = objective(model, X, constraints, weight)
    assert found == pytest.approx(primal, rel=rtol, abs=1e-12)
    assert margin == pytest.approx(model.margin_, rel=1e-4, abs=1e-4)
    gap = (primal - dual) / primal if primal > 0 else 0.0
    assert model.duality_gap_ == pytest.approx(gap, rel=1e-9, abs=1e-15)
    assert dual <= primal * (1 + 1e-12)
    if best is not None:
        assert dual <= best * (1 + 1e-7) + 1e-9
        assert primal >= best * (1 - 1e-7) - 1e-9
        assert primal - best <= model.tol * primal + 1e-7 * best
    if model.outcome_.status == "converged":
        assert model.duality_gap_ <= model.tol


@contextmanager
def stops_short():
    """A fit that a limit ends, and says so."""
    with pytest.warns(ConvergenceWarning, match="duality gap of") as caught:
        yield caught


def fit(X, y, weight=None, **settings):
    """A machine fitted to a small tolerance, in the same order every time."""
    settings = {"tol": 1e-6, "max_iter": 100_000, "random_state": 0} | settings
    return ConstraintSVC(**settings).fit(X, y, sample_weight=weight)
