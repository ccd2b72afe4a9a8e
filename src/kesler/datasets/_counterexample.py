"""A set that a linear sorter gets right and no one-vs-all network does.

It is of the kind of Figure 2 in Har-Peled, Roth and Zimak 2002, with coordinates of its own: three
classes in the plane, one light point and five heavy ones that count ten times. One-vs-all must take
the light point for another class if it is to have the heavy ones right:

- it lies in a triangle of heavy points of other classes, so the classifier of its own class, if
  right on those, says no;
- a heavy circle lies in a triangle of it, a heavy square and a heavy triangle, so the classifier
  of circles, if right on those, says yes.

Sorting, which only compares scores, has no such trouble. All coordinates are small integers, so a
perceptron can be followed in exact arithmetic, until it comes back to a state it was in before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from kesler._checks import whole

__all__ = ["make_ova_counterexample"]

_LIGHT = (-1, 1)
_HEAVY = ((-3, -3), (2, 1), (-1, 5), (6, 2), (-3, -4))
_HEAVY_CLASS = (0, 1, 1, 2, 2)
_WEIGHT = 10


def make_ova_counterexample(
    n_features: int = 2, *, random_state: Any = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Three classes that a linear sorter separates and one-vs-all cannot.

    A set of the kind of Figure 2 of Har-Peled, Roth and Zimak (2002), in any dimension. The weights
    (-3, 1), (0, 3), (3, -4), one row a class and no intercept, sort every point rightly by 1 at
    least. But any three half-planes, with thresholds, that are right on the heavy points (and all
    half-planes with the fewest mistakes are) put the light point outside class 0 and inside
    class 1, so the class with the largest value is wrong there.

    A heavy point is ten rows. In the plane they coincide. In more dimensions they are five opposite
    pairs around the point of the plane: the further coordinates are +1 or -1 at random, say
    nothing of the class, and cancel in each pair. Whatever is right on all ten rows is right on
    the point in their midst, so everything said above holds in any dimension.

    Parameters
    ----------
    n_features : int, default=2
        2 or more.
    random_state : int, RandomState or None
        Draws the further coordinates; there are none with two features.

    Returns
    -------
    X : ndarray of shape (51, n_features)
        Row 0 is the light point, then come the heavy ones, ten rows each.
    y : ndarray of int64, shape (51,)
        Squares 0, circles 1, triangles 2.

    Examples
    --------
    >>> import numpy as np
    >>> from kesler.datasets import make_ova_counterexample
    >>> X, y = make_ova_counterexample(100, random_state=0)
    >>> coef = np.array([[-3, 1], [0, 3], [3, -4]])
    >>> bool(((X[:, :2] @ coef.T).argmax(axis=1) == y).all())
    True
    """
    whole("n_features", n_features, 2)
    rng = check_random_state(random_state)
    n_heavy = len(_HEAVY)
    X = np.zeros((1 + n_heavy * _WEIGHT, n_features))
    X[0, :2] = _LIGHT
    X[1:, :2] = np.repeat(_HEAVY, _WEIGHT, axis=0)
    signs = 2.0 * rng.randint(2, size=(n_heavy * _WEIGHT // 2, n_features - 2)) - 1
    X[1::2, 2:], X[2::2, 2:] = signs, -signs
    y = np.concatenate([[0], np.repeat(_HEAVY_CLASS, _WEIGHT)]).astype(np.int64)
    return X, y
