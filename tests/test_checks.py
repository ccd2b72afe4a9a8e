"""Checks at the door: what they let in, what they refuse, and what they say."""

from fractions import Fraction

import joblib
import numpy as np
import pytest

from kesler import _checks

HUGE = pytest.param(10**400, id="10**400")  # no float is as large


@pytest.mark.parametrize("value", [1, 7, np.int32(3), np.uint8(1), 10**30])
def test_whole_numbers(value):
    _checks.whole("size", value, at_least=1)


@pytest.mark.parametrize("value", [0, -1, 1.0, np.float64(2), "1", None, True, np.array([1, 2])])
def test_what_is_no_whole_number(value):
    with pytest.raises(ValueError, match=r"^size must be an integer, 1 or more, not "):
        _checks.whole("size", value, at_least=1)


@pytest.mark.parametrize("value", [0.5, np.float32(0.1), Fraction(1, 3), 1e-300])
def test_real_numbers(value):
    _checks.real("share", value, above=0, below=1)


@pytest.mark.parametrize("value", [0, 1, -1, np.nan, np.inf, "0.5", None, True, 1j, HUGE])
def test_what_is_no_real_number_between_the_bounds(value):
    with pytest.raises(ValueError, match=r"^share must be a number above 0 and below 1, not "):
        _checks.real("share", value, above=0, below=1)


@pytest.mark.parametrize("value", [np.inf, HUGE])
def test_a_real_number_is_finite(value):
    with pytest.raises(ValueError, match=r"^C must be a number above 0, not "):
        _checks.real("C", value, above=0)


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_flags(value):
    _checks.flag("average", value)


@pytest.mark.parametrize("value", [1, 0, "True", None, [True]])
def test_what_is_no_flag(value):
    with pytest.raises(ValueError, match=r"^average must be True or False, not "):
        _checks.flag("average", value)


def test_options():
    _checks.one_of("update", "all", ("all", "worst"))
    for value in ("best", None, ["all"], 0):
        with pytest.raises(ValueError, match=r"^update must be one of 'all', 'worst', not "):
            _checks.one_of("update", value, ("all", "worst"))


def test_weights_of_any_number_type():
    assert _checks.weights(None, 3) is None
    for given in ([1, 2, 3], np.array([1, 2, 3], dtype=np.float32), (True, 2, 3.0)):
        got = _checks.weights(given, 3)
        assert got.dtype == np.float64
        assert got.tolist() == [1, 2, 3]
    strided = np.arange(6.0)[::2]
    assert _checks.weights(strided, 3).flags.c_contiguous
    own = np.ones(3)
    assert _checks.weights(own, 3) is own


@pytest.mark.parametrize("weight", [2, 2.0, np.float32(2), np.array(2)])
def test_one_weight_for_all(weight):
    assert _checks.weights(weight, 3).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1, 2], "2 entries; there are 3 examples"),
        ([[1], [2], [3]], r"1D array or scalar, not of shape \(3, 1\)"),
        ([1, -0.5, 2], r"sample_weight\[1\] is -0.5"),
        ([1, 1, np.nan], r"sample_weight\[2\] is nan"),
        ([np.inf, 1, 1], r"sample_weight\[0\] is inf"),
        (-1, "0 or more"),
    ],
)
def test_weights_refused(weight, match):
    with pytest.raises(ValueError, match=match):
        _checks.weights(weight, 3)


def test_threads_follow_joblib():
    assert _checks.threads(None) == 1
    assert _checks.threads(3) == 3
    assert _checks.threads(-1) == joblib.cpu_count()
    with joblib.parallel_config(backend="sequential"):
        assert _checks.threads(3) == 1
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert _checks.threads(None) == 2


class Thing:
    pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_gives_back_the_attributes(error):
    thing = Thing()
    thing.kept, thing.changed, thing.removed = [1], 1, 1
    before = dict(vars(thing))
    with pytest.raises(error), _checks.unchanged_on_error(thing):
        thing.changed, thing.new = 2, 2
        del thing.removed
        raise error
    assert vars(thing) == before
    assert thing.kept is before["kept"]


def test_without_an_error_changes_stay():
    thing = Thing()
    thing.changed = 1
    with _checks.unchanged_on_error(thing):
        thing.changed, thing.new = 2, 3
    assert vars(thing) == {"changed": 2, "new": 3}
