"""The problem of one example, which a visit solves: its answer meets the conditions of a minimum.

The weights hold whatever scores are wanted, the example has masses from before, and a round over
this one example moves both. No closed form is used here: where the conditions hold, which are
sufficient for a convex problem, the answer is the minimum.
"""

import numpy as np
import pytest
from machines import CELLS, LOSSES, random_fans, random_pairs, supervision
from twins import pairs_of

from kesler import Constraints, _core
from kesler.linear._machine import Masses, Problem

ROUNDS = {np.float32: 1e-4, np.float64: 1e-9}


class Example:
    """One example with given scores, visited until nothing moves."""

    def __init__(self, c, aggregate, loss, cap, norm, dtype):
        self.c, self.aggregate, self.loss, self.cap, self.norm = c, aggregate, loss, cap, norm
        self.x = np.array([[np.sqrt(norm)]], dtype=dtype)
        self.problem = Problem(self.x, c, None, cap, aggregate, loss, False, 1, 0)
        self.k = c.n_labels + c.calibrated
        self.table = self.problem.table()
        self.solver = self.problem.solver(self.table, cap)

    def visit(self, scores, visits=1):
        self.table[0, : self.k] += ((scores - self.scores()) / self.x[0, 0]).astype(self.x.dtype)
        before = self.shares()
        moved = -self.table[0].astype(np.float64)
        for _ in range(visits):
            self.solver.round(0.0, 1, None)
        moved += self.table[0]
        # What the weights gained is what the masses gained, times x.
        gained = (self.shares() - before) * float(self.x[0, 0])
        room = 100 * np.finfo(self.x.dtype).eps * (1 + abs(scores).max() + abs(gained).max())
        np.testing.assert_allclose(moved[: self.k], gained, atol=room)
        assert not self.table[0, self.k :].any()

    def scores(self):
        return self.table[0, : self.k].astype(np.float64) * float(self.x[0, 0])

    def masses(self):
        return Masses(*self.solver.masses())

    def shares(self):
        """Of each label, what the masses put into its weights."""
        indptr, labels, values = _core.dual_shares(
            self.c._native(), None, self.cap, self.aggregate, self.loss, *self.masses()
        )
        assert indptr.tolist() == [0, labels.size]
        found = np.zeros(self.k)
        found[labels] = values
        return found

    def assert_settled(self, eps):
        s, masses = self.scores(), self.masses()
        pairs = pairs_of(self.c)[0]
        short = np.array([margin - (s[a] - s[b]) for a, b, margin, _ in pairs])
        size = 1 + abs(s).max() + abs(short).max()
        # A mass is a difference of scores over the norm, and as exact as that is beside the cap.
        self.slack = 1e-6 + 20 * np.finfo(self.x.dtype).eps * size / (self.norm * self.cap)
        eps = eps * size
        if self.aggregate == "max":
            self.assert_worst(short, masses, eps)
        else:
            self.assert_each(short, pairs, masses, eps)

    def assert_worst(self, short, masses, eps):
        """Mass only where the loss is greatest; as much as the loss asks for."""
        total = np.maximum(self.shares(), 0).sum() if self.one_sided() else masses.values.sum()
        if self.loss == "hinge":
            assert total <= self.cap * (1 + self.slack)
            wrong, full = short.max(), total >= self.cap * (1 - self.slack)
        else:
            wrong, full = short.max() - total / (2 * self.cap), False
        if full:
            assert wrong >= -eps
        elif total > 0:
            assert abs(wrong) <= eps
        else:
            assert wrong <= eps
        s = self.scores()
        least = short.max() - eps
        for (a, b, margin, _), has in zip(pairs_of(self.c)[0], self.by_pair(masses), strict=True):
            assert not has or margin - (s[a] - s[b]) >= least

    def one_sided(self):
        """Whether no label is over one and under another."""
        pairs = pairs_of(self.c)[0]
        return not {a for a, *_ in pairs} & {b for _, b, *_ in pairs}

    def by_pair(self, masses):
        """Which pairs have mass; of two tiers the labels have it."""
        pairs = pairs_of(self.c)[0]
        if self.c.kind in ("classes", "labelsets") and not self.c.calibrated:
            holders = set(np.flatnonzero(self.shares()))
            return [a in holders and b in holders for a, b, *_ in pairs]
        return [p in set(masses.keys.tolist()) for p in range(len(pairs))]

    def assert_each(self, short, pairs, masses, eps):
        beta = self.each(pairs, masses)
        for h, b, (*_, weight) in zip(short, beta, pairs, strict=True):
            most = self.cap * weight
            if self.loss == "squared_hinge":
                h, most = h - b / (2 * most), np.inf
            assert 0 <= b <= most * (1 + self.slack)
            if b <= 0:
                assert h <= eps
            elif b >= most * (1 - self.slack):
                assert h >= -eps
            else:
                assert abs(h) <= eps

    def each(self, pairs, masses):
        """The mass of every pair."""
        of = dict(zip(masses.keys.tolist(), masses.values.tolist(), strict=True))
        one = self.c.kind in ("classes", "labelsets") and len({a for a, *_ in pairs}) == 1
        if one or self.c.calibrated:  # keys are labels: the other one
            centre = self.k - 1 if self.c.calibrated else pairs[0][0]
            return [of.get(b if a == centre else a, 0.0) for a, b, *_ in pairs]
        return [of.get(p, 0.0) for p in range(len(pairs))]


def examples(kind, rng):
    """Orders of one example of a kind, of several sizes."""
    for k in (2, 3, 5, 16, 17, 40):
        if kind == "class":
            yield Constraints.from_classes([rng.integers(k)], labels=range(k))
        elif kind in ("set", "calibrated set"):
            relevant = rng.random((1, k)) < rng.choice([0.1, 0.5, 0.9])
            relevant[0, 0], relevant[0, -1] = True, False
            yield Constraints.from_labelsets(relevant, calibrate=kind != "set")
        elif kind == "fan":
            yield random_fans(1, k, rng)
        elif kind == "weighed fan":
            yield random_fans(1, k, rng, weights=True)
        elif kind == "ranking":
            yield Constraints.from_rankings(ranks=rng.integers(1, 4, (1, min(k, 6))).astype(float))
        else:
            yield random_pairs(1, min(k, 6), rng, margins=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [
        ("max", "class"),
        ("max", "set"),
        ("max", "fan"),
        ("sum", "class"),
        ("sum", "calibrated set"),
        ("sum", "fan"),
        ("sum", "weighed fan"),
    ],
)
def test_a_closed_form_is_the_minimum(isa, aggregate, kind, loss, dtype):
    """One visit, and every condition holds; then with masses from before, and with ties."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        for c in examples(kind, rng):
            cap, norm = 10.0 ** rng.uniform(-1.5, 1.5, 2)
            example = Example(c, aggregate, loss, cap, norm, dtype)
            for digits in (3, 0, 1):
                scores = np.round(rng.normal(scale=1.5, size=example.k), digits)
                example.visit(scores)
                example.assert_settled(ROUNDS[dtype])


@pytest.mark.parametrize("kind", ["ranking", "pairs", "set", "calibrated set"])
@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_general_pairs_come_to_the_minimum(aggregate, loss, kind):
    rng = np.random.default_rng(1)
    for _ in range(4):
        for c in examples(kind, rng):
            if c.n_labels > 6 or not c.sizes[0]:
                continue
            cap, norm = 10.0 ** rng.uniform(-1, 1, 2)
            example = Example(c, aggregate, loss, cap, norm, np.float64)
            for _ in range(2):
                example.visit(rng.normal(scale=1.5, size=example.k), visits=5000)
                example.assert_settled(1e-6)


def test_a_settled_example_is_left_alone():
    """A second visit moves nothing, and what nobody owns stays where it is."""
    rng = np.random.default_rng(2)
    for aggregate, loss in CELLS:
        for c in examples("class", rng):
            example = Example(c, aggregate, loss, 1.0, 2.0, np.float64)
            example.visit(rng.normal(size=example.k))
            table = example.table.copy()
            for _ in range(3):
                example.solver.round(0.0, 1, None)
            np.testing.assert_allclose(example.table, table, rtol=1e-13)


def test_running_sums_are_those_of_the_certificate():
    """What a round says of primal and dual, once nothing moves any more."""
    for (aggregate, loss), kind in zip(CELLS, ("classes", "fans", "tied rankings", "mixed"),
                                       strict=True):  # fmt: skip
        c = supervision()[kind]
        X = np.random.default_rng(0).normal(size=(24, 3))
        machine = Problem(X, c, None, 0.3, aggregate, loss, True, 1, 0)
        solver = machine.solver(machine.table(), 0.3)
        for _ in range(3000):
            primal, dual, *_ = solver.round(0.0, 24, None)
        sound = solver.certify(False)
        assert dual == pytest.approx(sound[1], rel=1e-9)
        assert primal == pytest.approx(sound[0], rel=1e-4)
