"""Checks at the door that every estimator shares: parameters, weights, threads.

An error says which parameter or entry was wrong and what would be right, and leaves the estimator
as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

_MOST_THREADS = 1024  # beyond any machine's; there are never more than blocks of rows


def one_of(name: str, value: Any, options: Sequence[str]) -> None:
    """Refuse a value that is none of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, not {value!r}")


def whole(name: str, value: Any, at_least: int) -> None:
    """Refuse what is no integer, or too small a one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be an integer, {at_least} or more, not {value!r}")


def real(name: str, value: Any, above: float, below: float = np.inf) -> None:
    """Refuse what is no number strictly between the bounds."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not above < number < below or number == math.inf:
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
    w = np.asarray(sample_weight, dtype=np.float64)
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
    return np.require(w, requirements=["C", "A"])


def shares(weight: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64] | None:
    """Checked weights divided by the largest, so that no sum of them overflows."""
    if weight is None:
        return None
    most = weight.max(initial=0.0)
    if not most > 0:
        raise ValueError("every weight is zero; at least one example must weigh more")
    return np.asarray(weight / most)


def mean(values: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None) -> float:
    """Mean of values that there are, weighted where weights are given."""
    return float(np.average(values, weights=shares(weight)))


def threads(n_jobs: int | None) -> int:
    """Threads to use: n_jobs as joblib reads it, its limits for nested calls included."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, not {n_jobs!r}")
    return min(int(joblib.effective_n_jobs(n_jobs)), _MOST_THREADS)


def refuse_corrupt(matrix: Any) -> None:
    """A sparse matrix whose indices are out of range crashes SciPy; find that first.

    SciPy's own check_format lets some through, and writes to the matrix.
    """
    if matrix.ndim != 2:
        raise ValueError(f"a sparse matrix must have two dimensions, not {matrix.ndim}")
    rows, columns = matrix.shape
    if matrix.format == "coo":
        fits = all(
            i.size == matrix.data.size and _within(i, size)
            for i, size in ((matrix.row, rows), (matrix.col, columns))
        )
    elif matrix.format in ("csr", "csc", "bsr"):
        if matrix.format == "bsr":
            rows, columns = rows // matrix.blocksize[0], columns // matrix.blocksize[1]
        major, minor = (columns, rows) if matrix.format == "csc" else (rows, columns)
        starts, indices = matrix.indptr, matrix.indices
        fits = (
            starts.size == major + 1
            and starts[0] == 0
            and bool(np.all(starts[1:] >= starts[:-1]))
            and starts[-1] <= min(indices.size, matrix.data.shape[0])
            and _within(indices[: starts[-1]], minor)
        )
    else:
        return
    if not fits:
        raise ValueError(f"the sparse matrix ({matrix.format}) is corrupt: its indices do not fit")


def _within(indices: npt.NDArray[Any], size: int) -> bool:
    return indices.size == 0 or bool(indices.min() >= 0 and indices.max() < size)


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
