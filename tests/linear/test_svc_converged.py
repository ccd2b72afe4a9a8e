"""What `ConstraintSVC` calls converged has a certified gap within the tolerance."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from kesler import ConstraintSVC


@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-7])
def test_converged_is_certified(solver, tol):
    """An estimate of the sweeps once passed for the gap when the certificate had refuted it."""
    X, y = load_iris(return_X_y=True)
    model = ConstraintSVC(tol=tol, solver=solver, random_state=0).fit(X[:, 2:], y)
    assert model.outcome_.status == "converged"
    assert model.duality_gap_ <= tol
    assert model.outcome_.history[-1].value == pytest.approx(model.duality_gap_, abs=1e-9)


def test_examples_without_dual_variables_change_nothing():
    X, y = load_iris(return_X_y=True)
    whole = ConstraintSVC(tol=1e-6, random_state=0).fit(X[:, 2:], y)
    holds = np.diff(whole.dual_coef_.indptr) > 0
    assert holds.sum() < 100
    part = ConstraintSVC(tol=1e-6, random_state=0).fit(X[holds, 2:], y[holds])
    assert part.primal_objective_ == pytest.approx(whole.primal_objective_, rel=2e-6)


def test_slow_progress_is_not_taken_for_the_end_of_precision():
    X, y = load_digits(return_X_y=True)
    model = ConstraintSVC(aggregate="sum", loss="squared_hinge", tol=1e-7, random_state=0)
    model.fit(X / 16, y)
    assert model.outcome_.status == "converged"
    assert model.duality_gap_ <= 1e-7
