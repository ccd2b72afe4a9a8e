"""Checks at the door that every estimator shares: parameters, weights, threads.

An error says which parameter or entry was wrong and what would be right, and leaves the estimator
as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt


def one_of(name: str, value: Any, options: Sequence[str]) -> None:
    """Refuse a value that is none of the options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, not {value!r}")


def whole(name: str, value: Any, at_least: int) -> None:
    """Refuse what is no integer, or too small a one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be an integer, {at_least} or more, not {value!r}")


def real(name: str, value: Any, above: float, below: float = np.inf) -> None:
    """Refuse what is no number strictly between the bounds."""
    if not isinstance(value, Real) or isinstance(value, bool) or not above < float(value) < below:
        upper = "" if below == np.inf else f" and below {below}"
        raise ValueError(f"{name} must be a number above {above}{upper}, not {value!r}")


def flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def weights(sample_weight: npt.ArrayLike | None, n_samples: int) -> npt.NDArray[np.float64] | None:
    """Sample weights as float64, checked; None stays None."""
    if sample_weight is None:
        return None
    w = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if w.ndim == 0:
        w = np.full(n_samples, float(w))
    if w.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, not of shape {w.shape}")
    if w.size != n_samples:
        raise ValueError(f"sample_weight has {w.size} entries; there are {n_samples} examples")
    wrong = ~np.isfinite(w) | (w < 0)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"sample_weight[{i}] is {w[i]}; it must be a finite number, 0 or more")
    if w.size and not w.any():
        raise ValueError("sample_weight is zero for every example; one at least must be above zero")
    return w


def threads(n_jobs: int | None) -> int:
    """Threads to use: n_jobs as joblib reads it, its limits for nested calls included."""
    return int(joblib.effective_n_jobs(n_jobs))


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Give an estimator back its attributes if the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
