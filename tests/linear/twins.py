"""NumPy twins of the on-line rules, written from their definitions, nothing shared with the core.

Slow on purpose: scores are computed anew from the weights before every comparison, balanced Winnow
keeps its two positive tables and takes no logarithm, and the average is the plain mean of the
weights after each presentation. A rule differs from the others in `violated`, `step` and `move`.
"""

from itertools import pairwise

import numpy as np


class Twin:
    """Weights of k labels and the virtual one (row k); the last column is the intercept."""

    start = 0.0

    def __init__(self, n_labels, n_features, update="all", *, intercept=True, C=1.0, promotion=1.1):
        self.k, self.update, self.intercept = n_labels, update, intercept
        self.C, self.promotion = C, promotion
        self.plus = np.full((n_labels + 1, n_features + 1), self.start)
        self.minus = self.plus.copy()
        self.total, self.steps, self.moves = np.zeros_like(self.plus), 0.0, 0

    @property
    def W(self):
        return self.plus

    def mean(self):
        return self.total / self.steps if self.steps else self.W

    def present(self, x, pairs, weight=1.0):
        """`weight` presentations in a row of one example, (over, under, margin, weight) a pair."""
        x = np.append(np.asarray(x, dtype=np.float64), float(self.intercept))
        ones, rest = divmod(weight, 1)
        for share in [1.0] * int(ones) + [rest] * int(rest > 0):
            if x @ x > 0:
                learn = self.learn_independent if self.update == "independent" else self.learn
                learn(x, [p for p in pairs if p[3] > 0], share)
            self.total += share * self.W
            self.steps += share

    def learn(self, x, pairs, share):
        if self.update == "worst" and pairs:
            s = self.W @ x
            pairs = [max(pairs, key=lambda p: (self.loss(s[p[0]] - s[p[1]], p[2]), -p[0], -p[1]))]
        for a, b, margin, weight in pairs:
            s = self.W @ x
            loss = self.loss(s[a] - s[b], margin)
            if self.violated(loss):
                step = self.step(loss, 2 * (x @ x), weight * share)
                self.move(a, x, step)
                self.move(b, x, -step)
                self.moves += 1

    def learn_independent(self, x, pairs, share):
        below = {b for _, b, _, _ in pairs}
        for r in ({a for a, _, _, _ in pairs} | below) - {self.k}:
            sign = -1 if r in below else 1
            loss = self.loss(sign * (self.W[r] @ x), 1.0)
            if self.violated(loss):
                self.move(r, x, sign * self.step(loss, x @ x, share))
                self.moves += 1

    def loss(self, difference, margin):
        return -difference

    def violated(self, loss):
        return loss >= 0

    def move(self, label, x, step):
        self.plus[label] += step * x


class Perceptron(Twin):
    def step(self, loss, norm, weight):
        return weight


class PositiveWinnow(Twin):
    start = 1.0

    def step(self, loss, norm, weight):
        return weight

    def move(self, label, x, step):
        self.plus[label] *= self.promotion ** (step * x)


class Winnow(PositiveWinnow):
    @property
    def W(self):
        return self.plus - self.minus

    def move(self, label, x, step):
        super().move(label, x, step)
        self.minus[label] *= self.promotion ** (-step * x)


class PassiveAggressive1(Twin):
    def loss(self, difference, margin):
        return margin - difference

    def violated(self, loss):
        return loss > 0

    def step(self, loss, norm, weight):
        return min(loss / norm, self.C * weight)


class PassiveAggressive2(PassiveAggressive1):
    def step(self, loss, norm, weight):
        return loss / (norm + 1 / (2 * self.C * weight))


TWINS = {
    "perceptron": Perceptron,
    "winnow": Winnow,
    "positive_winnow": PositiveWinnow,
    "pa1": PassiveAggressive1,
    "pa2": PassiveAggressive2,
}


def pairs_of(constraints):
    """The stored pairs of each example, the virtual label as number k."""
    indptr, over, under, margin, weight = constraints.pairs()
    k = constraints.n_labels
    named = [np.where(side < 0, k, side).tolist() for side in (over, under)]
    rows = list(zip(*named, margin.tolist(), weight.tolist(), strict=True))
    return [rows[i:j] for i, j in pairwise(indptr)]
