"""Probabilities of ConstraintSVC: one temperature, found on examples left out of learning."""

import numpy as np
import pytest
import scipy.sparse as sp
from machines import CELLS, blobs, fit, supervision
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss
from test_svc_forms import refused

from kesler import Constraints, ConstraintSVC


def halves(n=800, k=4, spread=0.7, seed=0):
    X, y = blobs(n=n, k=k, spread=spread, seed=seed)
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


@pytest.mark.parametrize("calibration", [5, 0.2])
@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_probabilities_of_classes(aggregate, loss, calibration):
    X, y, X_new, y_new = halves()
    model = fit(X, y, C=0.1, tol=1e-3, aggregate=aggregate, loss=loss, calibration=calibration)
    shares = model.predict_proba(X_new)
    assert shares.shape == (len(y_new), 4)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X_new))
    uncalibrated = softmax(model.decision_function(X_new), axis=1)
    assert log_loss(y_new, shares) <= log_loss(y_new, uncalibrated)
    # One temperature for all: logarithms are scores over it, but for a number of each row.
    centred = [s - s.mean(axis=1, keepdims=True) for s in (np.log(shares),
               model.decision_function(X_new))]  # fmt: skip
    temperature = (centred[1] ** 2).sum() / (centred[0] * centred[1]).sum()
    np.testing.assert_allclose(centred[0] * temperature, centred[1], atol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_classes(form, dtype):
    X, y, X_new, y_new = halves(k=2)
    model = fit(form(X.astype(dtype)), np.array(["no", "yes"])[y], tol=1e-3, calibration=5)
    shares = model.predict_proba(form(X_new.astype(dtype)))
    assert shares.shape == (len(y_new), 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    by_hand = expit(model.decision_function(X_new.astype(dtype)) / model._calibration.temperature)
    np.testing.assert_allclose(shares[:, 1], by_hand, rtol=1e-4, atol=1e-6)
    assert log_loss(y_new, shares[:, 1]) < 0.99 * np.log(2)


@pytest.mark.parametrize("calibration", [4, 0.25])
@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_of_label_sets_each_label_has_its_own(aggregate, loss, calibration):
    X, y, X_new, y_new = halves(n=1600, spread=2.0)
    to_sets = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]])
    model = fit(X, to_sets[y], C=1.0, tol=1e-4, aggregate=aggregate, loss=loss,
                calibration=calibration)  # fmt: skip
    shares = model.predict_proba(X_new)
    assert shares.shape == (len(y_new), 4)
    assert ((shares > 0.5) == model.predict(X_new)).all()
    truth = to_sets[y_new]

    def lost(p):
        p = np.clip(p, 1e-15, 1 - 1e-15)
        return -np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p))

    # But for the noise of one number that is drawn from a sample.
    assert lost(shares) <= 1.01 * lost(expit(model.decision_function(X_new)))


def test_overconfident_scores_are_cooled():
    """Of labels that nothing explains probabilities come near the shares of the classes."""
    X, y, X_new, y_new = halves(n=400, k=3, spread=0.0)
    model = fit(X, y, C=10.0, tol=1e-3, calibration=5)
    shares = model.predict_proba(X_new)
    assert np.abs(shares - 1 / 3).max() < 0.3
    assert log_loss(y_new, shares) <= log_loss(
        y_new, softmax(model.decision_function(X_new), axis=1)
    )


def test_calibration_changes_nothing_else():
    X, y, X_new, _ = halves()
    plain, calibrated = (fit(X, y, tol=1e-3, calibration=c) for c in (None, 5))
    assert np.array_equal(plain.coef_, calibrated.coef_)
    assert np.array_equal(plain.predict(X_new), calibrated.predict(X_new))
    again = fit(X, y, tol=1e-3, calibration=5)
    assert np.array_equal(again.predict_proba(X_new), calibrated.predict_proba(X_new))


@pytest.mark.parametrize("calibration", [5, 0.2])
def test_weights_count_in_the_temperature_too(calibration):
    """Examples of weight zero might as well not be there."""
    X, y, _, _ = halves(n=400)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 5)) * 50
    both = np.vstack([X, noise])
    labels = np.concatenate([y, rng.integers(0, 4, 200)])
    weight = np.repeat([1.0, 0.0], 200)
    a = fit(X, y, C=0.1, tol=1e-5, calibration=calibration)
    b = fit(both, labels, weight, C=0.1, tol=1e-5, calibration=calibration)
    ratio = a._calibration.temperature / b._calibration.temperature
    assert 0.5 < ratio < 2  # without the weights it would be some hundred


def test_there_is_no_predict_proba_without_calibration():
    X, y = blobs()
    model = fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'") as caught:
        _ = model.predict_proba
    assert "calibration=5" in str(caught.value.__cause__)
    assert hasattr(ConstraintSVC(calibration=0.2), "predict_proba")
    assert hasattr(clone(model).set_params(calibration=3), "predict_proba")


@pytest.mark.parametrize("kind", ["rankings", "pairs", "mixed", "label sets"])
def test_what_has_no_probabilities_is_refused_by_name(kind):
    c = supervision(n=24)[kind]
    X, _ = blobs(n=24)
    with refused(model := ConstraintSVC(calibration=3, random_state=0), ValueError, "calibration"):
        model.fit(X, c)


def test_too_few_examples_are_refused():
    X, y = blobs(n=4, k=2)
    for calibration, rows in ((5, 4), (0.5, 1)):
        model = ConstraintSVC(calibration=calibration, random_state=0)
        c = Constraints.from_classes(y[:rows], labels=range(2))
        with refused(model, ValueError, "calibration|n_samples"):
            model.fit(X[:rows], c)


def test_a_class_with_one_example():
    X, y = blobs(n=60, k=3)
    y[y == 2] = 1
    y[7] = 2
    for calibration in (5, 0.2):
        model = fit(X, y, tol=1e-2, calibration=calibration)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
