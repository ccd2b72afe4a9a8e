"""ConstraintSVC under costs of classes, against a generic solver over the pairs written out."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from kesler import Constraints, ConstraintSVC

C = 0.7


def optimum(X: Any, y: Any, margin: Any, weight: Any, aggregate: str, loss: str) -> float:
    """The least objective, by cvxpy; margins and weights are (n, k)."""
    n, k = margin.shape
    W = cp.Variable((k, X.shape[1]))
    total: Any = 0
    for i in range(n):
        losses = []
        for r in range(k):
            if r == y[i]:
                continue
            hinge = cp.pos(margin[i, r] - (W[y[i]] - W[r]) @ X[i])
            losses.append(hinge if loss == "hinge" else cp.square(hinge))
        if aggregate == "max":
            total += cp.max(cp.hstack(losses))
        else:
            others = [r for r in range(k) if r != y[i]]
            total += sum(weight[i, r] * h for r, h in zip(others, losses, strict=True))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(W) / 2 + C * total))
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("aggregate", ["max", "sum"])
@pytest.mark.parametrize("of", ["classes", "examples"])
def test_the_objective_is_the_least(aggregate: str, loss: str, of: str) -> None:
    rng = np.random.default_rng(3)
    n, d, k = 24, 4, 3
    X, y = rng.normal(size=(n, d)), rng.integers(k, size=n)
    rows = k if of == "classes" else n
    margin, weight = rng.uniform(0, 3, size=(rows, k)), rng.uniform(0, 3, size=(rows, k))
    weight[0, 1] = 0
    costs = {"margin": margin} if aggregate == "max" else {"margin": margin, "weight": weight}
    c = Constraints.from_classes(y, **costs)
    model = ConstraintSVC(
        C=C, aggregate=aggregate, loss=loss, fit_intercept=False, tol=1e-4, random_state=0
    ).fit(X, c)
    picked = y if of == "classes" else np.arange(n)
    least = optimum(X, y, margin[picked], weight[picked], aggregate, loss)
    assert model.duality_gap_ <= 1e-3
    assert model.dual_objective_ <= least * (1 + 1e-6)
    assert least <= model.primal_objective_ * (1 + 1e-6)
    assert set(model.predict(X)) <= {0, 1, 2}


def test_a_dear_mistake_is_made_less_often() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 2)) + y[:, None]
    for name in ("margin", "weight"):
        c = Constraints.from_classes(y, **{name: [[0, 1], [10, 0]]})
        plain = ConstraintSVC(aggregate="sum", random_state=0).fit(X, y).predict(X)
        careful = ConstraintSVC(aggregate="sum", random_state=0).fit(X, c).predict(X)
        assert (careful[y == 1] == 0).sum() < (plain[y == 1] == 0).sum() / 2


def test_the_worst_pair_has_no_place_for_weights() -> None:
    c = Constraints.from_classes([0, 1, 2], weight=1.0 - np.eye(3))
    with pytest.raises(ValueError, match="aggregate='max' has no place for weights of pairs"):
        ConstraintSVC().fit(np.eye(3), c)


def test_costs_of_one_are_none() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)), rng.integers(4, size=60)
    c = Constraints.from_classes(y, margin=np.ones((4, 4)))
    for aggregate in ("max", "sum"):
        settings: dict[str, Any] = {"aggregate": aggregate, "tol": 1e-7, "random_state": 0}
        plain, costly = ConstraintSVC(**settings).fit(X, y), ConstraintSVC(**settings).fit(X, c)
        assert costly.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-6)
        assert costly.classes_.tolist() == [0, 1, 2, 3]


def test_class_weight_and_calibration_know_classes_with_costs() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], [10, 20, 30])
    X = rng.normal(size=(60, 3)) + np.eye(3)[y]
    c = Constraints.from_classes(y, margin=1.0 + np.eye(3))
    model = ConstraintSVC(class_weight="balanced", calibration=3, random_state=0).fit(X, c)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_many_dense_examples_with_costs_are_solved_too() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 3))
    y = X.argmax(axis=1)
    c = Constraints.from_classes(y, margin=1.0 + np.arange(9.0).reshape(3, 3))
    assert ConstraintSVC(random_state=0).fit(X, c).duality_gap_ <= 1e-3
    with pytest.raises(ValueError, match="but y holds costs"):
        ConstraintSVC(solver="newton").fit(X, c)
