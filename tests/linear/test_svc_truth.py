"""ConstraintSVC against a generic solver, in every cell of what it can be asked for.

The certificate is held to what it says: the smallest objective lies between the two objectives, and
the primal is that of the weights one sees.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from machines import CELLS, KINDS, blobs, cell, certified, fit, minimum, takes

from kesler import Constraints, ConstraintSVC, _core
from kesler.linear import _newton

# Weights of pairs under "max" are refused by name: test_svc_forms.py.
ALL = [(a, e, kind) for a, e in CELLS for kind in KINDS if takes(a, kind)]
TOL = {np.float32: 1e-4, np.float64: 1e-6}
FORMS = {"dense": np.asarray, "csr": sp.csr_matrix}


@pytest.mark.parametrize(("aggregate", "loss", "kind"), ALL)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_smallest_objective(aggregate, loss, kind, weighted):
    X, c, weight, best = cell(kind, aggregate, loss, weighted)
    for dtype, tol in TOL.items():
        for form in FORMS.values():
            model = fit(form(X.astype(dtype)), c, weight, C=0.7, aggregate=aggregate, loss=loss,
                        tol=tol)  # fmt: skip
            assert model.outcome_.status == "converged"
            assert model.coef_.dtype == dtype
            certified(model, X, c, weight, best, rtol=1e-5 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize(("aggregate", "loss", "kind"), ALL)
def test_without_intercept(aggregate, loss, kind):
    X, c, _, _ = cell(kind, aggregate, loss, False)
    best = minimum(X, c, 5.0, aggregate, loss, intercept=False)
    model = fit(X, c, C=5.0, aggregate=aggregate, loss=loss, fit_intercept=False)
    assert not model.intercept_.any()
    certified(model, X, c, None, best)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("C", [1e-3, 0.1, 30.0])
def test_small_and_large_C(aggregate, loss, C):
    for kind in ("classes", "label sets", "mixed"):
        X, c, weight, _ = cell(kind, aggregate, loss, True)
        best = minimum(X, c, C, aggregate, loss, weight)
        certified(fit(X, c, weight, C=C, aggregate=aggregate, loss=loss), X, c, weight, best)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_a_loose_tolerance_is_kept_too(aggregate, loss):
    """Stopped early, the gap is still no less than the distance to the minimum."""
    for kind in KINDS:
        if takes(aggregate, kind):
            X, c, weight, best = cell(kind, aggregate, loss, True)
            for tol in (0.3, 0.03):
                model = fit(X, c, weight, C=0.7, aggregate=aggregate, loss=loss, tol=tol)
                certified(model, X, c, weight, best)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("k", [2, 3, 9, 17, 33])
def test_any_number_of_labels(isa, k, aggregate, loss):
    """Labels are padded to the width of vectors: around that width nothing changes."""
    X, y = blobs(n=50, k=k, seed=k)
    model = fit(X, y, aggregate=aggregate, loss=loss, tol=1e-5)
    c = Constraints.from_classes(y)
    certified(model, X, c)
    assert model.outcome_.status == "converged"
    if isa == _core.available_isas()[0]:
        certified(model, X, c, best=minimum(X, c, 1.0, aggregate, loss))


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_of_zeros(aggregate, loss, intercept):
    """Without an intercept nothing can be done for them, and the gap closes nonetheless."""
    for kind in ("classes", "label sets", "calibrated sets", "tied rankings", "fans", "mixed"):
        X, c, weight, _ = cell(kind, aggregate, loss, True)
        X = X.copy()
        X[::3] = 0.0
        best = minimum(X, c, 0.7, aggregate, loss, weight, intercept=intercept)
        for form in FORMS.values():
            model = fit(form(X), c, weight, C=0.7, aggregate=aggregate, loss=loss,
                        fit_intercept=intercept)  # fmt: skip
            certified(model, X, c, weight, best)


# ---- Newton's method ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.01, 0.7, 20.0])
def test_every_solver_finds_the_same_minimum(dtype, weighted, C):
    X, c, weight, _ = cell("classes", "max", "hinge", weighted)
    best = minimum(X, c, C, "max", "hinge", weight)
    for solver in ("dual", "newton", "auto"):
        for intercept in (True, False):
            if not intercept:
                best = minimum(X, c, C, "max", "hinge", weight, intercept=False)
            model = fit(X.astype(dtype), c, weight, C=C, solver=solver, tol=1e-4,
                        fit_intercept=intercept)  # fmt: skip
            assert model.outcome_.status == "converged"
            certified(model, X, c, weight, best, rtol=1e-5)
            best = minimum(X, c, C, "max", "hinge", weight)


@pytest.mark.parametrize("unknowns", [_newton.DIRECT, 0])
@pytest.mark.parametrize(("n", "d", "k"), [(900, 4, 3), (150, 6, 9), (300, 20, 2)])
def test_newton_against_dual_sweeps(monkeypatch, isa, unknowns, n, d, k):
    """With the Hessian factored, and with conjugate gradients."""
    monkeypatch.setattr(_newton, "DIRECT", unknowns)
    X, y = blobs(n, d, k, spread=0.8)
    for dtype in (np.float32, np.float64):
        dual, newton = (
            fit(X.astype(dtype), y, C=0.1, solver=solver, tol=1e-3) for solver in ("dual", "newton")
        )
        certified(newton, X, Constraints.from_classes(y), rtol=1e-5)
        assert newton.primal_objective_ >= dual.dual_objective_ * (1 - 1e-9)
        assert dual.primal_objective_ >= newton.dual_objective_ * (1 - 1e-9)
        assert newton.outcome_.status == dual.outcome_.status == "converged"
        assert "Newton" in newton.outcome_.note
        assert "dual sweeps" in dual.outcome_.note


@pytest.mark.parametrize(
    ("settings", "kind", "form"),
    [
        ({"aggregate": "sum"}, "classes", np.asarray),
        ({"loss": "squared_hinge"}, "classes", np.asarray),
        ({}, "label sets", np.asarray),
        ({}, "rankings", np.asarray),
        ({}, "pairs", np.asarray),
        ({}, "mixed", np.asarray),
        ({}, "classes", sp.csr_matrix),
    ],
)
def test_newton_refuses_what_it_does_not_solve(settings, kind, form):
    X, c, _, _ = cell(kind, "max", "hinge", False)
    model = ConstraintSVC(solver="newton", **settings)
    with pytest.raises(ValueError, match="solver='newton'"):
        model.fit(form(X), c)
    assert not hasattr(model, "classes_")
    model.set_params(solver="auto", random_state=0).fit(form(X), c)
    assert model.outcome_.status == "converged"
