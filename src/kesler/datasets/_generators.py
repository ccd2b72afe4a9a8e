"""Examples drawn from a linear sorter that is known.

`make_linear_sorting` is the synthetic set of Har-Peled, Roth and Zimak 2002, section 5; the others
draw rows and weights in the same way and read another supervision off the sorted labels. No sorter
here has an intercept.

Noise has one meaning throughout: a number of examples, fixed by `noise`, is chosen at random, and
in each of them two labels trade places so that one stored pair at least is turned round. So the
share of examples that the returned sorter gets wrong is known, not estimated.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from kesler._checks import whole
from kesler.constraints import Constraints

__all__ = ["make_labelsets", "make_linear_sorting", "make_partial_orders", "make_rankings"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Drawing again until enough points keep their distance must come to an end.
_RAREST = 1e-4
_AT_LEAST = 100_000
_BLOCK = 1000


def make_linear_sorting(
    n_samples: int = 100_000,
    n_features: int = 100,
    n_labels: int = 3,
    *,
    gap: float = 0.0,
    random_state: Any = None,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Points in a ball, labelled by the largest of a few random linear functions.

    The defaults are the synthetic set of Har-Peled, Roth and Zimak (2002), section 5: three weight
    vectors uniform in the unit ball of 100 dimensions, and points uniform in the ball of radius 2;
    the first 50 000 are for training, the rest for testing.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    gap : float, default=0.0
        Leave out points whose two largest scores differ by less, and draw others for them. At 0 the
        nearest of 50 000 points is so near to a tie that a perceptron needs very many passes.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int64, shape (n_samples,)
    coef : ndarray of shape (n_labels, n_features)
        The sorter: ``y == (X @ coef.T).argmax(axis=1)``.

    Examples
    --------
    >>> from kesler.datasets import make_linear_sorting
    >>> X, y, coef = make_linear_sorting(1000, 20, 3, gap=0.02, random_state=0)
    >>> bool(((X @ coef.T).argmax(axis=1) == y).all())
    True
    """
    rng, coef = _start(n_samples, n_features, n_labels, random_state)
    gap = _number("gap", gap, np.inf)
    # |(w_a - w_b) x| is at most this for any two labels and any point of the ball.
    widest = 2 * max(np.linalg.norm(coef - w, axis=1).max() for w in coef)
    if gap >= widest:
        raise ValueError(f"no two scores differ by gap={gap}; the most they can is {widest:.3g}")
    X = np.empty((n_samples, n_features))
    y = np.empty(n_samples, dtype=np.int64)
    done = drawn = 0
    while done < n_samples:
        left = n_samples - done
        points = _ball(rng, max(left, _BLOCK) if gap else left, n_features, radius=2.0)
        drawn += points.shape[0]
        scores = points @ coef.T
        best = scores.argmax(axis=1)
        if gap:
            top_two = np.partition(scores, n_labels - 2, axis=1)[:, -2:]
            far = np.flatnonzero(top_two[:, 1] - top_two[:, 0] >= gap)[:left]
            points, best = points[far], best[far]
        X[done : done + best.size], y[done : done + best.size] = points, best
        done += best.size
        if drawn >= _AT_LEAST and done < min(n_samples, _RAREST * drawn):
            raise ValueError(f"fewer than 1 point in {1 / _RAREST:.0f} keeps a gap of {gap}")
    return X, y, coef


def make_rankings(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 5,
    *,
    noise: float = 0.0,
    missing: float = 0.0,
    random_state: Any = None,
) -> tuple[FloatArray, Constraints, FloatArray]:
    """Rankings of the labels by a known linear sorter.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    noise : float, default=0.0
        Share of examples, ``round(noise * n_samples)`` of them, in which two labels that follow
        each other in the ranking have changed places.
    missing : float, default=0.0
        Share of labels, ``round(missing * n_labels)`` of them, that each example leaves unranked,
        chosen anew for each. Two must remain.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points uniform in the ball of radius 2.
    constraints : Constraints
        Rankings of the labels 0 to ``n_labels - 1``.
    coef : ndarray of shape (n_labels, n_features)
        The sorter: ``constraints.errors(X @ coef.T)`` is true for the noisy examples only.

    Examples
    --------
    >>> from kesler.datasets import make_rankings
    >>> X, rankings, coef = make_rankings(200, noise=0.25, random_state=0)
    >>> rankings
    Constraints(rankings: 200 examples, 5 labels)
    >>> float(rankings.errors(X @ coef.T).mean())
    0.25
    """
    rng, coef = _start(n_samples, n_features, n_labels, random_state)
    noise = _number("noise", noise, 1.0)
    n_ranked = n_labels - round(_number("missing", missing, 1.0) * n_labels)
    if n_ranked < 2:
        raise ValueError(
            f"missing={missing} leaves {n_ranked} of {n_labels} labels; wanted 2 or more"
        )
    X, orders = _sorted_labels(rng, n_samples, coef)
    noisy = _choose(rng, n_samples, noise)
    kept = np.sort(_distinct(rng, n_samples, n_labels, n_ranked), axis=1)
    orders = np.take_along_axis(orders, kept, axis=1)
    first = rng.randint(n_ranked - 1, size=noisy.size)
    _swap(orders, noisy, first, first + 1)
    return X, Constraints.from_rankings(orders=orders, labels=np.arange(n_labels)), coef


def make_labelsets(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 6,
    *,
    calibrate: bool = False,
    noise: float = 0.0,
    random_state: Any = None,
) -> tuple[FloatArray, Constraints, FloatArray]:
    """Label sets by a known linear sorter.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    calibrate : bool, default=False
        If false, each set has its own size, uniform from 1 to ``n_labels - 1``, and holds that many
        best labels. If true, it holds the labels that score above 0, and may be empty or full; the
        constraints are calibrated.
    noise : float, default=0.0
        Share of examples, ``round(noise * n_samples)`` of them, in which a label of the set and one
        outside have changed places (calibrated: in which one label, of the set or not, has changed
        sides).
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points uniform in the ball of radius 2.
    constraints : Constraints
        Sets of the labels 0 to ``n_labels - 1``; ``constraints.indicator()`` has them as a matrix.
    coef : ndarray of shape (n_labels, n_features)
        The sorter: ``constraints.errors(X @ coef.T)`` is true for the noisy examples only.

    Examples
    --------
    >>> from kesler.datasets import make_labelsets
    >>> X, sets, coef = make_labelsets(200, calibrate=True, random_state=0)
    >>> bool((sets.indicator().toarray() == (X @ coef.T > 0)).all())
    True
    """
    rng, coef = _start(n_samples, n_features, n_labels, random_state)
    noise = _number("noise", noise, 1.0)
    X, orders = _sorted_labels(rng, n_samples, coef)
    noisy = _choose(rng, n_samples, noise)
    if calibrate:
        indicator = X @ coef.T > 0
        label = rng.randint(n_labels, size=noisy.size)
        indicator[noisy, label] ^= True
    else:
        sizes = rng.randint(1, n_labels, size=n_samples)
        inside = rng.randint(sizes[noisy])
        outside = rng.randint(sizes[noisy], n_labels)
        _swap(orders, noisy, inside, outside)
        indicator = np.zeros((n_samples, n_labels), dtype=bool)
        np.put_along_axis(indicator, orders, np.arange(n_labels) < sizes[:, np.newaxis], axis=1)
    return X, Constraints.from_labelsets(indicator, calibrate=bool(calibrate)), coef


def make_partial_orders(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 5,
    *,
    n_pairs: int = 3,
    noise: float = 0.0,
    random_state: Any = None,
) -> tuple[FloatArray, Constraints, FloatArray]:
    """A few pairs of labels for each example, in the order of a known linear sorter.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    n_pairs : int, default=3
        Pairs of an example, drawn without repeats from all ``n_labels * (n_labels - 1) / 2``.
    noise : float, default=0.0
        Share of examples, ``round(noise * n_samples)`` of them, in which the two labels of one of
        the pairs have changed places, in that pair and in the others.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points uniform in the ball of radius 2.
    constraints : Constraints
        Pairs of the labels 0 to ``n_labels - 1``.
    coef : ndarray of shape (n_labels, n_features)
        The sorter: ``constraints.errors(X @ coef.T)`` is true for the noisy examples only.

    Examples
    --------
    >>> from kesler.datasets import make_partial_orders
    >>> X, orders, coef = make_partial_orders(100, n_labels=8, n_pairs=4, random_state=0)
    >>> orders.sizes[:5], bool(orders.errors(X @ coef.T).any())
    (array([4, 4, 4, 4, 4]), False)
    """
    rng, coef = _start(n_samples, n_features, n_labels, random_state)
    noise = _number("noise", noise, 1.0)
    whole("n_pairs", n_pairs, 1)
    upper, lower = np.triu_indices(n_labels, 1)  # places in a sorted list of labels
    if n_pairs > upper.size:
        raise ValueError(f"{n_labels} labels have {upper.size} pairs, fewer than n_pairs={n_pairs}")
    X, orders = _sorted_labels(rng, n_samples, coef)
    noisy = _choose(rng, n_samples, noise)
    drawn = _distinct(rng, n_samples, upper.size, n_pairs)
    # Trading places in the whole order before the pairs are read keeps them free of cycles.
    turned = drawn[noisy, 0]
    _swap(orders, noisy, upper[turned], lower[turned])
    over = np.take_along_axis(orders, upper[drawn], axis=1)
    under = np.take_along_axis(orders, lower[drawn], axis=1)
    rows = np.repeat(np.arange(n_samples), n_pairs)
    pairs = Constraints.from_pairs(rows, over.ravel(), under.ravel(), n_samples, n_labels)
    return X, pairs, coef


def _start(
    n_samples: int, n_features: int, n_labels: int, random_state: Any
) -> tuple[np.random.RandomState, FloatArray]:
    whole("n_samples", n_samples, 1)
    whole("n_features", n_features, 1)
    whole("n_labels", n_labels, 2)
    rng = check_random_state(random_state)
    return rng, _ball(rng, n_labels, n_features, radius=1.0)


def _ball(rng: np.random.RandomState, n: int, n_features: int, radius: float) -> FloatArray:
    """Points uniform in a ball: a normal vector has a uniform direction."""
    points = rng.standard_normal((n, n_features))
    length = radius * rng.random_sample(n) ** (1 / n_features)
    points *= (length / np.linalg.norm(points, axis=1))[:, np.newaxis]
    return points


def _sorted_labels(
    rng: np.random.RandomState, n_samples: int, coef: FloatArray
) -> tuple[FloatArray, IntArray]:
    X = _ball(rng, n_samples, coef.shape[1], radius=2.0)
    return X, np.argsort(-(X @ coef.T), axis=1, kind="stable")


def _choose(rng: np.random.RandomState, n_samples: int, share: float) -> IntArray:
    return rng.choice(n_samples, size=round(share * n_samples), replace=False)


def _distinct(rng: np.random.RandomState, n_rows: int, n: int, size: int) -> IntArray:
    """For each row `size` different numbers below `n`, in random order."""
    return np.argsort(rng.random_sample((n_rows, n)), axis=1)[:, :size]


def _swap(orders: IntArray, rows: IntArray, i: IntArray, j: IntArray) -> None:
    orders[rows, i], orders[rows, j] = orders[rows, j], orders[rows, i]


def _number(name: str, value: float, most: float) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= most:
        upper = "" if most == np.inf else f" to {most:g}"
        raise ValueError(f"{name} must be a number, 0{upper or ' or more'}, not {value!r}")
    return float(value)
