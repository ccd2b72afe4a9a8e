"""The bounds as formulas: their values by hand, how they grow, and the conditions they need."""

from math import e, log, sqrt

import pytest

from kesler.theory import margin_bound, mistake_bound, vc_bound


def test_mistake_bound_by_hand():
    assert mistake_bound(3.0, 0.5) == pytest.approx(2 * 9 / 0.25)
    assert mistake_bound(6.0, 1.0) == mistake_bound(3.0, 0.5)


def test_vc_bound_by_hand():
    m, d, k, delta = 5000, 7, 3, 0.1
    root = sqrt(4 * (k * d * log(2 * e * m * k / d) - log(delta / 4)) / m)
    assert vc_bound(0.2, m, d, k, delta) == pytest.approx(0.2 + root + 1 / m)


def test_vc_bound_tightens_with_data_and_loosens_with_capacity_and_confidence():
    base = vc_bound(0.0, 10_000, 10, 3)
    assert vc_bound(0.0, 40_000, 10, 3) < base
    assert base < vc_bound(0.0, 10_000, 20, 3)
    assert base < vc_bound(0.0, 10_000, 10, 6)
    assert base < vc_bound(0.0, 10_000, 10, 3, delta=0.001)
    assert vc_bound(0.25, 10_000, 10, 3) == pytest.approx(base + 0.25)


def test_margin_bound_by_hand():
    m, c, gamma, delta = 2_000_000, 5, 0.4, 0.01
    capacity = 256 / gamma**2 * log(e * m * gamma / 32) * log(32 * m / gamma**2)
    assert margin_bound(m, c, 1.0, gamma, delta) == pytest.approx(
        2 * c / m * (capacity + log(4 / delta))
    )


def test_margin_bound_depends_on_no_unit():
    assert margin_bound(10**6, 3, 2.0, 0.5) == pytest.approx(margin_bound(10**6, 3, 20.0, 5.0))


def test_margin_bound_tightens_with_data_and_margin():
    base = margin_bound(10**7, 2, 1.0, 0.2)
    assert margin_bound(10**8, 2, 1.0, 0.2) < base
    assert margin_bound(10**7, 2, 1.0, 0.4) < base
    assert base < margin_bound(10**7, 4, 1.0, 0.2)
    assert base < margin_bound(10**7, 2, 1.0, 0.2, delta=1e-6)


def test_conditions_of_the_theorems_are_checked():
    with pytest.raises(ValueError, match=r"more than 256 radius² / margin² = 16384 examples"):
        margin_bound(16_384, 2, 1.0, 0.125)
    assert margin_bound(16_385, 2, 1.0, 0.125) > 0
    with pytest.raises(ValueError, match="no weight vectors whose norms sum to 1"):
        margin_bound(10**6, 2, 1.0, 1.5)
    with pytest.raises(ValueError, match="5 examples are too few for 100 features"):
        vc_bound(0.0, 5, 100, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mistake_bound(0.0, 1.0), "radius must be a number above 0"),
        (lambda: mistake_bound(1.0, -0.1), "margin must be a number above 0"),
        (lambda: vc_bound(1.5, 10, 2, 2), "training_error must be a share"),
        (lambda: vc_bound(float("nan"), 10, 2, 2), "training_error must be a share"),
        (lambda: vc_bound(0.0, 0, 2, 2), "n_samples must be an integer, 1 or more"),
        (lambda: vc_bound(0.0, 10, 2, 1), "n_labels must be an integer, 2 or more"),
        (lambda: vc_bound(0.0, 10, 2, 2, delta=1.0), "delta must be a number above 0 and below 1"),
        (lambda: margin_bound(10**6, 0, 1.0, 0.5), "n_pairs must be an integer, 1 or more"),
        (lambda: margin_bound(10**6, 1, 1.0, 0.5, delta=0.0), "delta must be a number above 0"),
    ],
)
def test_what_is_no_argument_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
