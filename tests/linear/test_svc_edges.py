"""What once went wrong in `ConstraintSVC` at the edges of the data."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from machines import CELLS, blobs, fit
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import kesler
from kesler import ConstraintSVC, ConstraintSVCCV
from kesler.linear import regularization_path


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_of_zeros_along_a_path(form, aggregate, loss):
    """Their masses are known, and grow with C whatever those of the others do."""
    X, y = blobs(n=80, d=6, k=3, spread=3.0)
    X[:20] = 0
    how = {"aggregate": aggregate, "loss": loss, "fit_intercept": False, "random_state": 0}
    path = regularization_path(form(X), y, Cs=[0.01, 0.1, 1.0], solver="dual", tol=1e-5, **how)
    assert (path.gaps <= 1e-5).all()
    model = ConstraintSVC(C=0.1, solver="dual", tol=1e-5, warm_start=True, **how).fit(form(X), y)
    X[:20], X[20:40] = X[20:40].copy(), 0
    assert model.fit(form(X), y).duality_gap_ <= 1e-5


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("size", "C"), [(0.01, 1e-3), (1.0, 1e-6), (0.1, 1e-4)])
def test_float32_with_next_to_no_room(size, C, loss):
    """A cap far below the last digit of 1 is a cap nonetheless."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    X *= size / np.linalg.norm(X, axis=1)[:, None]
    y = (X @ rng.normal(size=(20, 5))).argmax(axis=1)
    narrow, wide = (
        fit(sp.csr_array(X.astype(dtype)), y, C=C, loss=loss, fit_intercept=False, tol=1e-3)
        for dtype in (np.float32, np.float64)
    )
    assert narrow.outcome_.status == "converged"
    assert narrow.score(X, y) == pytest.approx(wide.score(X, y), abs=0.02)


def test_a_gap_is_never_above_one():
    """Masses of zero are always there to be had."""
    X, y = blobs(n=40, k=3)
    for factor, solver in itertools.product((1e-6, 1.0, 1e6), ("dual", "newton", "auto")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = ConstraintSVC(solver=solver, max_iter=3, tol=1e-9, random_state=0)
            model.fit((X * factor).astype(np.float32), y)
        assert model.dual_objective_ >= 0
        assert model.duality_gap_ <= 1


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5])
@pytest.mark.parametrize("tol", [0.1, 1e-2, 1e-3])
def test_the_status_is_that_of_the_certificate(tol, max_iter):
    for seed in range(10):
        X, y = blobs(n=60, d=5, k=4, seed=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ConstraintSVC(
                0.1, aggregate="sum", solver="dual", tol=tol, max_iter=max_iter, random_state=0
            ).fit(X, y)
        outcome = model.outcome_
        assert (outcome.status == "converged") == (model.duality_gap_ <= tol) == (not caught)
        assert outcome.value == model.duality_gap_ == outcome.history[-1].value


def test_calibration_is_that_of_the_last_fit(tmp_path):
    X, y = blobs(n=60, k=3)
    model = fit(X, y, tol=1e-3, calibration=3)
    model.set_params(calibration=None).fit(X, y)
    kesler.save(model, tmp_path / "plain.kesler")
    assert kesler.load(tmp_path / "plain.kesler").calibration is None
    model.set_params(calibration=3)
    with pytest.raises(AttributeError, match="fit again"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="fit again"):
        kesler.save(model, tmp_path / "odd.kesler")


def test_a_scorer_judges_the_model_that_is_asked_for():
    X, y = blobs(n=60, k=3)
    seen = []

    def scorer(model, X, y):
        seen.append(model.aggregate)
        return model.score(X, y)

    ConstraintSVCCV([0.1, 1.0], cv=2, aggregate="sum", scoring=scorer, random_state=0).fit(X, y)
    assert set(seen) == {"sum"}
    with pytest.raises(ValueError, match="asks for probabilities"):
        ConstraintSVCCV([0.1], cv=2, scoring="neg_log_loss", calibration=2).fit(X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_cap_lost_beside_one(form, dtype):
    """Masses of next to nothing are found all the same."""
    X, y = blobs(n=60, d=4, k=3)
    for C in (1e-6, 1e-8, 1e-10):
        model = fit(form(X.astype(dtype)), y, C=C, tol=1e-4, solver="dual")
        assert (model.outcome_.status, model.n_iter_ <= 3) == ("converged", True)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_losses_of_rounding_that_a_large_cap_multiplies(form):
    """Weights that part all classes fall short by their last digits; longer ones do not."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300].astype(np.float32), y[:300]
    model = fit(form(X), y, C=1e4, tol=1e-3, solver="dual")
    assert model.outcome_.status == "converged"
    assert model.margin_ > 0


def test_few_features_that_all_rows_share_in_sparse_form():
    """How rows are stored does not decide how long it takes."""
    X, y = load_iris(return_X_y=True)
    model = fit(sp.csr_array(X), y, C=100.0, tol=1e-3, max_iter=300)
    assert model.outcome_.status == "converged"
