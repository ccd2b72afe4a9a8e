"""What must not change, or change in a known way, when a problem is written otherwise."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import CELLS, as_float32_can, blobs, fit, random_pairs, supervision, weights_of

from kesler import Constraints
from kesler.datasets import make_ova_counterexample
from kesler.theory import constraint_margin

SMALL = st.fixed_dictionaries(
    {
        "n": st.integers(2, 25),
        "d": st.integers(1, 4),
        "k": st.integers(2, 5),
        "seed": st.integers(0, 10_000),
    }
)
SETTINGS = st.fixed_dictionaries(
    {
        "C": st.sampled_from([0.01, 0.3, 1.0, 10.0]),
        "aggregate": st.sampled_from(["max", "sum"]),
        "loss": st.sampled_from(["hinge", "squared_hinge"]),
        "fit_intercept": st.booleans(),
    }
)
PLAIN = ("classes", "label sets", "calibrated sets", "tied rankings", "pairs", "fans", "mixed")


def drawn(n, d, k, seed, kind="classes"):
    rng = np.random.default_rng(seed)
    return as_float32_can(rng.normal(size=(n, d))), supervision(n, k, seed)[kind]


def off(model):
    """How far the weights may be from the only best ones: P(W) - P* is half that, squared."""
    return np.sqrt(2 * max(model.primal_objective_ - model.dual_objective_, 0))


def same_minimum(a, b, table=None):
    """Both certificates hold for one problem; `table` is how the weights of `b` look from `a`."""
    room = 1e-9 * (1 + a.primal_objective_)
    assert a.primal_objective_ >= b.dual_objective_ - room
    assert b.primal_objective_ >= a.dual_objective_ - room
    apart = weights_of(a) - (weights_of(b) if table is None else table)
    assert np.sqrt((apart**2).sum()) <= off(a) + off(b) + 1e-7


# Of mixed ones those with a virtual label might be among the examples without a copy.
@given(SMALL, SETTINGS, st.sampled_from(PLAIN[:-1]), st.data())
@settings(max_examples=60)
def test_a_weight_is_a_number_of_copies(small, asked, kind, data):
    X, c = drawn(**small, kind=kind)
    copies = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    copies[0] = 2
    rows = np.repeat(np.arange(len(X)), copies)
    same_minimum(fit(X, c, copies, **asked), fit(X[rows], c[rows], **asked))


@given(SMALL, SETTINGS, st.data())
@settings(max_examples=60)
def test_new_names_of_labels_permute_their_weights(small, asked, data):
    X, c = drawn(**small)
    y = c.class_codes()
    present = np.unique(y)
    to = np.array(data.draw(st.permutations(range(small["k"]))))
    a, b = (
        fit(X, Constraints.from_classes(codes, labels=range(small["k"])), **asked)
        for codes in (y, to[y])
    )
    same_minimum(a, b, weights_of(b)[to])
    assert present.size <= a.classes_.size == small["k"]


@given(SMALL, SETTINGS, st.sampled_from(PLAIN))
@settings(max_examples=60)
def test_a_feature_twice_over_the_root_of_two_changes_nothing(small, asked, kind):
    X, c = drawn(**small, kind=kind)
    twice = np.column_stack([X[:, :1] / np.sqrt(2), X[:, 1:], X[:, :1] / np.sqrt(2)])
    a, b = fit(X, c, **asked), fit(twice, c, **asked)
    W = weights_of(b)
    back = np.column_stack([(W[:, 0] + W[:, -2]) / np.sqrt(2), W[:, 1:-2], W[:, -1]])
    same_minimum(a, b, back)
    np.testing.assert_allclose(W[:, 0], W[:, -2], atol=1e-9 + off(b) * 1e-3)


@given(SMALL, SETTINGS, st.sampled_from(PLAIN))
@settings(max_examples=40)
def test_the_order_of_the_examples_does_not_matter(small, asked, kind):
    X, c = drawn(**small, kind=kind)
    order = np.random.default_rng(small["seed"]).permutation(len(X))
    same_minimum(fit(X, c, **asked), fit(X[order], c[order], random_state=1, **asked))


@given(SMALL, SETTINGS, st.floats(0.1, 10))
@settings(max_examples=40)
def test_features_times_a_number_and_C_over_its_square(small, asked, by):
    """Without an intercept: W becomes W / by, and the objective that over the square."""
    X, c = drawn(**small, kind="pairs")
    asked = asked | {"fit_intercept": False}
    a, b = fit(X, c, **asked), fit(X * by, c, **asked | {"C": asked["C"] / by**2})
    room = 1e-9 * (1 + a.primal_objective_)
    assert a.primal_objective_ >= b.dual_objective_ * by**2 - room
    assert b.primal_objective_ * by**2 >= a.dual_objective_ - room


@given(SMALL, SETTINGS)
@settings(max_examples=40)
def test_the_same_pairs_said_in_other_words(small, asked):
    """Classes as sets of one, as rankings with a tie, as explicit pairs."""
    X, c = drawn(**small)
    k, y = small["k"], c.class_codes()
    rows, under = np.nonzero(np.arange(k) != y[:, None])
    words = [
        Constraints.from_labelsets([[a] for a in y], labels=range(k)),
        Constraints.from_rankings(ranks=np.where(np.arange(k) == y[:, None], 1.0, 2.0)),
        Constraints.from_pairs(rows, y[rows], under, len(X), k),
        Constraints.from_pairs(rows[::-1], y[rows][::-1], under[::-1], len(X), k),
    ]
    model = fit(X, Constraints.from_classes(y, labels=range(k)), **asked)
    for word in words:
        same_minimum(model, fit(X, word, **asked))


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("kind", PLAIN)
def test_along_a_path_of_C(aggregate, loss, kind):
    """P* grows with C, P* / C falls, P* is concave; the weights grow and the losses fall."""
    X, c = drawn(25, 3, 4, 5, kind)
    Cs = [0.01, 0.1, 0.5, 1.0, 5.0]
    path = [fit(X, c, C=C, aggregate=aggregate, loss=loss, tol=1e-7) for C in Cs]
    for a, b in pairwise(path):
        assert a.dual_objective_ <= b.primal_objective_
        assert b.dual_objective_ / b.C <= a.primal_objective_ / a.C
        size_a, size_b = (np.sqrt((weights_of(m) ** 2).sum()) for m in (a, b))
        assert size_a <= size_b + off(a) + off(b)
    for a, b, e in zip(path, path[1:], path[2:], strict=False):
        share = (e.C - b.C) / (e.C - a.C)
        assert b.primal_objective_ >= share * a.dual_objective_ + (1 - share) * e.dual_objective_


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("d", [2, 100])
def test_the_set_of_figure_2_is_separated(aggregate, loss, d):
    """Har-Peled, Roth and Zimak (2002), Figure 2: no threshold is needed."""
    X, y = make_ova_counterexample(d, random_state=0)
    model = fit(X, y, C=1e3, aggregate=aggregate, loss=loss, tol=1e-3, fit_intercept=False)
    assert model.margin_ > 0.9
    assert model.score(X, y) == 1.0
    each = constraint_margin(Constraints.from_classes(y), model.decision_function(X))
    assert model.margin_ == pytest.approx(each.min())
    # No sorter of this margin is shorter, but for the tolerance.
    sorter = np.zeros((3, d))
    sorter[:, :2] = [[-3, 1], [0, 3], [3, -4]]
    assert (weights_of(model) ** 2).sum() <= (sorter**2).sum() * (1 + 1e-2)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_pairs_that_agree_can_all_be_put_in_order(aggregate, loss):
    """Pairs of one hidden sorter: with a large C the margin is above 0."""
    rng = np.random.default_rng(0)
    X = np.eye(12)
    c = random_pairs(12, 5, rng)
    model = fit(X, c, C=100.0, aggregate=aggregate, loss=loss, tol=1e-4)
    assert model.margin_ > 0.9
    assert model.score(X, c) == 1.0
    X, y = blobs(k=3, spread=20.0)
    assert fit(X, y, C=100.0, aggregate=aggregate, loss=loss).margin_ > 0
