"""What is claimed of the counterexample is proved here by linear programs and exact arithmetic."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVC

from kesler.constraints import Constraints
from kesler.datasets import make_ova_counterexample

SORTER = np.array([[-3.0, 1.0], [0.0, 3.0], [3.0, -4.0]])
DIMENSIONS = [2, 3, 100]
SQUARE, CIRCLE, TRIANGLE = range(3)


def separable(points):
    """Is there w with ``points @ w >= 1``, that is, with all products positive?"""
    found = linprog(
        np.zeros(points.shape[1]), A_ub=-points, b_ub=-np.ones(len(points)), bounds=(None, None)
    )
    assert found.status in (0, 2)  # solved, or infeasible
    return found.status == 0


def with_threshold(X):
    return np.column_stack([X, np.ones(len(X))])


def kesler_expansion(X, y, n_classes=3):
    """Vec(x, y, j) of every example x of class y and every other class j."""
    points = []
    for x, c in zip(X, y, strict=True):
        for j in set(range(n_classes)) - {c}:
            point = np.zeros((n_classes, X.shape[1]))
            point[c], point[j] = x, -x
            points.append(point.ravel())
    return np.array(points)


def sides(X, y, c):
    """Points turned so that the classifier of class c is right where the product is positive."""
    return np.where(y == c, 1.0, -1.0)[:, np.newaxis] * with_threshold(X)


@pytest.fixture(params=DIMENSIONS, scope="module")
def points(request):
    return make_ova_counterexample(request.param, random_state=request.param)


def test_layout(points):
    X, y = points
    n = X.shape[1]
    assert X.shape == (51, n)
    assert np.bincount(y).tolist() == [11, 20, 20]
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    heavy = X[1:].reshape(5, 10, n)
    assert (heavy[:, :, :2] == heavy[:, :1, :2]).all()
    assert np.array_equal(np.unique(np.abs(heavy[:, :, 2:])), [1.0] * (n > 2))
    assert (heavy.reshape(5, 5, 2, n)[..., 2:].sum(axis=2) == 0).all()
    assert (X[0, 2:] == 0).all()


def test_a_sorter_without_threshold_is_right(points):
    X, y = points
    scores = X[:, :2] @ SORTER.T
    rivals = scores.copy()
    rivals[np.arange(51), y] = -np.inf
    assert (scores[np.arange(51), y] - rivals.max(axis=1)).min() == 1
    assert not Constraints.from_classes(y).errors(scores).any()
    assert separable(kesler_expansion(X, y))


def test_one_vs_all_is_not_separable(points):
    X, y = points
    assert not separable(sides(X, y, SQUARE))
    assert not separable(sides(X, y, CIRCLE))
    assert separable(sides(X, y, TRIANGLE))


def test_right_on_the_heavy_points_is_wrong_on_the_light_one(points):
    X, y = points
    light = with_threshold(X[:1])
    square, circle = sides(X[1:], y[1:], SQUARE), sides(X[1:], y[1:], CIRCLE)
    assert separable(square)
    assert separable(circle)
    # No classifier of squares that is right on the heavy points says yes; if one said "neither",
    # a small move would make it say yes.
    assert not separable(np.vstack([square, light]))
    # No classifier of circles that is right on the heavy points says no.
    assert not separable(np.vstack([circle, -light]))


def test_no_network_right_on_the_heavy_points_names_every_point(points):
    """The same for all three classifiers at once, whatever their scales."""
    X, y = points
    d = X.shape[1] + 1
    right = np.zeros((3 * 50, 3 * d))
    for c in range(3):
        right[50 * c : 50 * (c + 1), d * c : d * (c + 1)] = sides(X[1:], y[1:], c)
    winner = kesler_expansion(with_threshold(X), y)
    assert separable(right)
    assert separable(winner)
    assert not separable(np.vstack([right, winner]))


def test_fewest_mistakes_in_the_plane():
    """All ways to cut the six points by a line: the best of each class errs on the light one."""
    X, y = make_ova_counterexample()
    rows = [0, *range(1, 51, 10)]
    weight = np.array([1, 10, 10, 10, 10, 10])
    lifted = with_threshold(X[rows])
    cuts = np.array(
        [
            cut
            for cut in product([-1.0, 1.0], repeat=6)
            if separable(np.array(cut)[:, None] * lifted)
        ]
    )
    assert 20 < len(cuts) < 2**6
    for c, wrong_on_light, least in ((SQUARE, True, 1), (CIRCLE, True, 1), (TRIANGLE, False, 0)):
        wrong = (cuts > 0) != (y[rows] == c)
        mistakes = wrong @ weight
        assert mistakes.min() == least
        best = wrong[mistakes == least]
        assert (best[:, 0] == wrong_on_light).all()
        assert not best[:, 1:].any()


def test_fewest_mistakes_in_100_dimensions():
    """One mistake is the least there too, and only the light point can be the one."""
    X, y = make_ova_counterexample(100, random_state=0)
    for c in (SQUARE, CIRCLE):
        turned = sides(X, y, c)
        for row in range(51):
            turned[row] *= -1
            # Two rows of each heavy point stand for it: the pairs are drawn alike.
            if row == 0 or row % 5 == 1:
                assert separable(turned) == (row == 0)
            turned[row] *= -1


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0, 1e4])
def test_best_one_vs_all_svm_takes_the_light_point_for_a_circle(points, C):
    X, y = points
    values = np.column_stack(
        [SVC(kernel="linear", C=C).fit(X, y == c).decision_function(X) for c in range(3)]
    )
    assert values[0].argmax() == CIRCLE


def perceptron_passes(X, y, one_vs_all, n_passes):
    """The network after each pass over the rows in order, in exact arithmetic, from zero."""
    Z = with_threshold(X).astype(np.int64)
    W = np.zeros((3, Z.shape[1]), dtype=np.int64)
    for _ in range(n_passes):
        updates = 0
        for x, c in zip(Z, y, strict=True):
            scores = W @ x
            if one_vs_all:
                sign = np.where(np.arange(3) == c, 1, -1)
                change = np.where(sign * scores <= 0, sign, 0)
            else:
                change = np.zeros(3, dtype=np.int64)
                rival = max(set(range(3)) - {c}, key=lambda j: scores[j])
                if scores[c] <= scores[rival]:
                    change[c], change[rival] = 1, -1
            W = W + change[:, np.newaxis] * x
            updates += int(change.any())
        yield W, updates


def wrong(W, X, y):
    scores = with_threshold(X).astype(np.int64) @ W.T
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = np.iinfo(np.int64).min
    return own <= scores.max(axis=1)


def test_one_vs_all_perceptron_goes_round_for_ever_and_never_is_right(points):
    X, y = points
    seen = set()
    for W, _ in perceptron_passes(X, y, one_vs_all=True, n_passes=1000):
        assert wrong(W, X, y).any()
        if W.tobytes() in seen:
            break  # what comes now has been before: the proof is complete
        seen.add(W.tobytes())
    else:
        pytest.fail("no state came twice")


def test_one_vs_all_perceptron_is_never_right_in_random_order(points):
    X, y = points
    rng = np.random.RandomState(0)
    for _ in range(5):
        order = rng.permutation(51)
        for W, _ in perceptron_passes(X[order], y[order], one_vs_all=True, n_passes=60):
            assert wrong(W, X, y).any()


def test_constraint_perceptron_ends_within_its_bound(points):
    X, y = points
    # Margin of the known sorter with norm 1, and the longest point, threshold included.
    bound = 2 * ((X**2).sum(axis=1).max() + 1) * (SORTER**2).sum() / 1**2
    passes = list(perceptron_passes(X, y, one_vs_all=False, n_passes=60))
    W, updates = passes[-1]
    assert updates == 0
    assert not wrong(W, X, y).any()
    assert sum(updates for _, updates in passes) <= bound


def test_deterministic():
    for n in DIMENSIONS:
        a, b = (make_ova_counterexample(n, random_state=5)[0] for _ in range(2))
        assert np.array_equal(a, b)
    assert not np.array_equal(a, make_ova_counterexample(n, random_state=6)[0])
    plane = make_ova_counterexample(2, random_state=1)[0]
    assert np.array_equal(plane, make_ova_counterexample(2, random_state=2)[0])
    assert np.array_equal(plane, a[:, :2])


@pytest.mark.parametrize("n_features", [1, 2.0, "2"])
def test_wrong_dimension(n_features):
    with pytest.raises(ValueError, match="n_features must be an integer, 2 or more"):
        make_ova_counterexample(n_features)
