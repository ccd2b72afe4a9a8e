"""The kernels of the core against short NumPy or Python twins, under each instruction set.

Data are small integers wherever a twin must agree to the last bit: then every order of summation
gives the same number.
"""

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from kesler import _core

pytestmark = pytest.mark.usefixtures("isa")

LABEL_COUNTS = [*range(1, 41), 100, 127, 128, 129, 130, 300]
DTYPES = [np.float32, np.float64]
LAYOUTS = ["dense", "int32", "int64"]
SET, CALIBRATED, ADJACENT, ALL, PAIRS = range(5)


def as_rows(X: np.ndarray, layout: str) -> Any:
    if layout == "dense":
        return _core.Rows(X, None, None, *X.shape)
    m = sp.csr_matrix(X)
    return _core.Rows(m.data, m.indices.astype(layout), m.indptr.astype(layout), *X.shape)


def table(rng: np.random.Generator, rows: int, k: int, dtype: Any) -> np.ndarray:
    made = np.zeros((rows, _core.lanes_for(k)), dtype=dtype)
    made[:, :k] = rng.integers(-4, 5, (rows, k))
    return made


def some_rows(rng: np.random.Generator, n: int, d: int, dtype: Any) -> np.ndarray:
    return (rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.6)).astype(dtype)


# ---- scores and best labels ----------------------------------------------------------------------


def test_lanes_hold_the_labels() -> None:
    for k in range(1, 400):
        lanes = _core.lanes_for(k)
        assert k <= lanes < k + 16
        assert lanes in (4, 8) or lanes % 16 == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("intercept", [False, True])
def test_scores_are_a_product(layout: str, dtype: Any, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    for k in LABEL_COUNTS:
        for n, d in ((1, 0), (3, 1), (9, 3), (65, 7), (8, 16), (67, 33), (5, 129), (1, 1000)):
            X, W = some_rows(rng, n, d, dtype), table(rng, d + intercept, k, dtype)
            wanted = X @ W[:d] + (W[d] if intercept else 0)
            for columns in {k, 1, W.shape[1]}:
                out = np.full((n, columns), np.nan, dtype=dtype)
                _core.scores(as_rows(X, layout), None, W, None, 1.0, intercept, out, 1)
                np.testing.assert_array_equal(out, wanted[:, :columns], f"k={k} n={n} d={d}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_of_an_average_and_of_picked_rows(layout: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    for k in LABEL_COUNTS:
        n, d = 70, 5
        X = some_rows(rng, n, d, dtype)
        W, S = table(rng, d + 1, k, dtype), table(rng, d + 1, k, dtype)
        wanted = X @ (W - S / 4)[:d] + (W - S / 4)[d]  # a quarter is exact
        picked = rng.integers(0, n, 80)
        for rows in (picked, None, picked[:0]):
            of = wanted if rows is None else wanted[rows]
            out = np.full((len(of), k), np.nan, dtype=dtype)
            _core.scores(as_rows(X, layout), rows, W, S, 0.25, True, out, 1)
            np.testing.assert_array_equal(out, of[:, :k], f"k={k}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_of_real_numbers_are_as_precise_as_a_product(layout: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    for k, d in itertools.product((3, 7, 16, 130), (1, 50, 2001)):
        X = rng.standard_normal((11, d)).astype(dtype)
        W = np.zeros((d + 1, _core.lanes_for(k)), dtype=dtype)
        W[:, :k] = rng.standard_normal((d + 1, k))
        out = np.empty((11, k), dtype=dtype)
        _core.scores(as_rows(X, layout), None, W, None, 1.0, True, out, 1)
        exact = X.astype(np.longdouble) @ W[:d, :k] + W[d, :k]
        size = np.abs(X.astype(np.longdouble)) @ np.abs(W[:d, :k]) + np.abs(W[d, :k])
        # The bound of a sum in any order is (d + 1) eps |x||w|; rounding is mostly far better.
        assert np.all(np.abs(out - exact) <= (2 + d**0.5) * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_best_labels_are_a_stable_sort(layout: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    for k in LABEL_COUNTS:
        n, d = 20, 2
        X, W, S = some_rows(rng, n, d, dtype), *(table(rng, d + 1, k, dtype) for _ in "WS")
        W[:, k:] = S[:, k:] = 100  # what stands in lanes past the labels must not win
        for sums in (None, S):
            of = W if sums is None else W - sums / 2
            sorted_labels = np.argsort(-(X @ of[:d] + of[d])[:, :k], axis=1, kind="stable")
            for count in {1, min(2, k), k // 2, k}:
                out = np.full((n, count), -1, dtype=np.int64)
                _core.best(as_rows(X, layout), W, sums, 0.5, True, k, out, 1)
                np.testing.assert_array_equal(out, sorted_labels[:, :count], f"k={k}")


def test_best_labels_stay_labels_when_scores_are_no_numbers() -> None:
    rng = np.random.default_rng(4)
    for k in (2, 5, 17, 40, 300):
        for share in (0.02, 0.3, 1.0):
            W = table(rng, 1, k, np.float64)
            bad = rng.random(W.shape) < share
            W[bad] = rng.choice([np.nan, np.inf, -np.inf], bad.sum())
            for count in {1, (k + 1) // 2, k}:
                out = np.full((3, count), -1, dtype=np.int64)
                _core.best(as_rows(np.ones((3, 1)), "dense"), W, None, 1.0, False, k, out, 1)
                assert out.min() >= 0
                assert out.max() < k
                assert all(len(set(row)) == count for row in out.tolist())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_change_no_bit(layout: str) -> None:
    rng = np.random.default_rng(5)
    n, d, k = 5000, 6, 21
    X = rng.standard_normal((n, d))
    W = np.zeros((d, _core.lanes_for(k)))
    W[:, :k] = rng.standard_normal((d, k))
    made = []
    for threads in (1, 2, 7):
        out, best = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        _core.scores(as_rows(X, layout), None, W, None, 1.0, False, out, threads)
        _core.best(as_rows(X, layout), W, None, 1.0, False, k, best, threads)
        made.append((out.tobytes(), best.tobytes()))
    assert made[0] == made[1] == made[2]


def test_a_row_scores_the_same_in_any_batch() -> None:
    # Blocks of dense rows share loads of the table; the row that is left over goes another way.
    rng = np.random.default_rng(6)
    for k in (3, 12, 40, 130):
        X = rng.integers(-9, 10, (67, 19)).astype(np.float32)
        W = table(rng, 19, k, np.float32)
        whole = np.empty((67, k), dtype=np.float32)
        _core.scores(as_rows(X, "dense"), None, W, None, 1.0, False, whole, 1)
        for i in (0, 1, 5, 63, 64, 66):
            one = np.empty((1, k), dtype=np.float32)
            _core.scores(as_rows(X[i : i + 1], "dense"), None, W, None, 1.0, False, one, 1)
            np.testing.assert_array_equal(one[0], whole[i])


def test_unaligned_tables_are_read_and_written() -> None:
    rng = np.random.default_rng(7)
    raw = np.zeros(1 + 5 * 48, dtype=np.float64)
    W = raw[1:].reshape(5, 48)  # 8 bytes off
    W[:, :40] = rng.integers(-4, 5, (5, 40))
    X = some_rows(rng, 9, 5, np.float64)
    out = np.empty((9, 40))
    _core.scores(as_rows(X, "dense"), None, W, None, 1.0, False, out, 1)
    np.testing.assert_array_equal(out, X @ W[:, :40])


# ---- a pass: the moves of labels along a row -----------------------------------------------------


def perceptron_pass(
    X: np.ndarray, y: list[int], k: int, update: str
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """W and the step-weighted sum of moves after one pass, wrong examples, moves."""
    W, sums, mistakes, moves = np.zeros((X.shape[1], k)), np.zeros((X.shape[1], k)), 0, 0
    for steps, (x, a) in enumerate(zip(X.astype(np.float64), y, strict=True)):
        wrong = False
        pairs = [(a, b) for b in range(k) if b != a]
        if update == "worst" and pairs:
            pairs = [min(pairs, key=lambda p, x=x: (x @ (W[:, p[0]] - W[:, p[1]]), p))]
        for over, under in pairs:
            if x @ (W[:, over] - W[:, under]) <= 0:
                wrong = True
                moves += bool(x.any())  # a row of zeros is a tie, but has nothing to move along
                for r, sign in ((over, 1), (under, -1)):
                    W[:, r] += sign * x
                    sums[:, r] += steps * sign * x
        mistakes += wrong
    return W, sums, mistakes, moves


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("update", ["all", "worst"])
def test_a_pass_moves_the_labels_of_violated_pairs(layout: str, dtype: Any, update: str) -> None:
    rng = np.random.default_rng(8)
    for k in [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 33, 40, 100, 130, 300]:
        n, d = 12, int(rng.integers(1, 20))
        X = some_rows(rng, n, d, dtype)
        y = rng.integers(0, k, n)
        orders = _core.Orders(n, k, SET, None, None, y.astype(np.int32), None, None)
        W, sums, state = table(rng, d, k, dtype) * 0, table(rng, d, k, dtype) * 0, np.zeros(3)
        answer = _core.online_pass(
            as_rows(X, layout), orders, None, None, W, sums, None, state, "perceptron", update,
            1.0, 1.0, False, None,
        )  # fmt: skip
        want_W, want_sums, mistakes, moves = perceptron_pass(X, y.tolist(), k, update)
        np.testing.assert_array_equal(W[:, :k], want_W, f"k={k}")
        np.testing.assert_array_equal(sums[:, :k], want_sums, f"k={k}")
        assert not W[:, k:].any()
        assert answer == (mistakes, moves, -1)
        assert state.tolist() == [n, 0, moves]


# ---- orders, by a naive reading of the layout ----------------------------------------------------


def pairs_of(form: int, items: list[int], k: int) -> list[tuple[int, int]]:
    if form in (SET, CALIBRATED):
        rest = [r for r in range(k) if r not in items]
        if form == SET:
            return [*itertools.product(items, rest)]
        return [(a, k) for a in items] + [(k, b) for b in rest]
    if form == PAIRS:
        return [*zip(items[0::2], items[1::2], strict=True)]
    tiers: list[list[int]] = [[]]
    for item in items:
        tiers[-1].append(item if item >= 0 else ~item)
        if item < 0:
            tiers.append([])
    tiers.pop()
    reach = 1 if form == ADJACENT else len(tiers)
    return [
        (a, b)
        for t, tier in enumerate(tiers)
        for a in tier
        for lower in tiers[t + 1 : t + 1 + reach]
        for b in lower
    ]


def closed(pairs: list[tuple[int, int]], k: int) -> np.ndarray:
    """Which label lies above which, as a matrix, by Warshall's algorithm."""
    above = np.zeros((k + 1, k + 1), dtype=bool)
    for a, b in pairs:
        above[a, b] = True
    for via in range(k + 1):
        above |= above[:, [via]] & above[[via], :]
    return above


class Sample:
    """Random orders of all forms over k labels, as the core takes them and as lists."""

    def __init__(self, rng: np.random.Generator, n: int, k: int, form: int | None = None) -> None:
        self.k = k
        self.forms = rng.integers(0, 5, n) if form is None else np.full(n, form)
        self.items = [self.draw(rng, int(f), k) for f in self.forms]
        self.flat = np.array([*itertools.chain(*self.items)], dtype=np.int32)
        self.indptr = np.cumsum([0, *map(len, self.items)])
        self.margin = rng.integers(1, 9, self.flat.size).astype(float)
        self.weight = rng.integers(0, 9, self.flat.size).astype(float)
        self.native = _core.Orders(
            n, k, form or 0, None if form is not None else self.forms.astype(np.uint8),
            self.indptr, self.flat, self.margin, self.weight,
        )  # fmt: skip

    @staticmethod
    def draw(rng: np.random.Generator, form: int, k: int) -> list[int]:
        some = rng.permutation(k)[: rng.integers(0, k + 1)]
        if form in (SET, CALIBRATED):
            return sorted(some.tolist())
        if form == PAIRS:  # along a random order of all labels and the virtual one
            order = rng.permutation(k + 1)
            spots = [sorted(rng.permutation(k + 1)[:2]) for _ in range(rng.integers(0, 2 * k))]
            return [int(order[s]) for pair in spots for s in pair]
        ends = rng.random(some.size) < 0.5
        ends[-1:] = True
        return np.where(ends, ~some, some).tolist()

    def pairs(self) -> list[list[tuple[int, int]]]:
        return [
            pairs_of(int(f), row, self.k) for f, row in zip(self.forms, self.items, strict=True)
        ]


def samples() -> list[Sample]:
    rng = np.random.default_rng(9)
    made = [Sample(rng, 12, k) for k in (1, 2, 3, 5, 8, 13, 24)]
    return made + [Sample(rng, 6, k, form) for form in range(5) for k in (1, 4, 9)]


def test_pairs_and_sizes() -> None:
    for sample in samples():
        over, under, margin, weight = sample.native.pairs()
        wanted = sample.pairs()
        assert [*zip(over.tolist(), under.tolist(), strict=True)] == [*itertools.chain(*wanted)]
        assert sample.native.sizes().tolist() == [len(w) for w in wanted]
        carried = [
            (sample.margin[p], sample.weight[p]) if form == PAIRS else (1, 1)
            for form, begin, w in zip(sample.forms, sample.indptr, wanted, strict=False)
            for p in range(begin, begin + 2 * len(w), 2)
        ]
        assert [*zip(margin.tolist(), weight.tolist(), strict=True)] == carried


@pytest.mark.parametrize("dtype", DTYPES)
def test_errors(dtype: Any) -> None:
    rng = np.random.default_rng(10)
    for sample in samples():
        n, k = len(sample.items), sample.k
        for spread in (1, 3, 100):  # many ties, some, few
            scores = rng.integers(-spread, spread + 1, (n, k + 1)).astype(dtype)
            wrong = []
            for row, pairs in zip(scores, sample.pairs(), strict=True):
                # The virtual label comes first among equals, then smaller numbers.
                order = sorted(range(k + 1), key=lambda r, row=row: (-row[r], (r + 1) % (k + 1)))
                place = {r: p for p, r in enumerate(order)}
                wrong.append(any(place[a] > place[b] for a, b in pairs))
            assert sample.native.errors(scores).astype(bool).tolist() == wrong


def test_errors_see_one_violation_among_many() -> None:
    k = 200
    scores = np.arange(k + 1, 0, -1.0).reshape(1, -1)  # in order of the labels
    scores[0, k] = 0
    chain = np.array([*range(k - 1), ~(k - 1)], dtype=np.int32)
    tiers = np.where(chain < 0, chain, ~chain)
    for form in (ADJACENT, ALL):
        orders = _core.Orders(1, k, form, None, np.array([0, k]), tiers, None, None)
        assert not orders.errors(scores)[0]
        for swap in (0, 77, k - 2):
            changed = scores.copy()
            changed[0, [swap, swap + 1]] = scores[0, [swap + 1, swap]]
            assert orders.errors(changed)[0]


def test_closure() -> None:
    for sample in samples():
        indptr, items = sample.native.closure()
        for i, pairs in enumerate(sample.pairs()):
            above = closed(pairs, sample.k)
            got = items[indptr[i] : indptr[i + 1]].reshape(-1, 2)
            np.testing.assert_array_equal(got, np.argwhere(above))  # by over, then under


def test_reduction() -> None:
    for sample in samples():
        keep = sample.native.reduction()
        for i, (form, pairs) in enumerate(zip(sample.forms, sample.pairs(), strict=True)):
            kept = keep[sample.indptr[i] : sample.indptr[i + 1]]
            if form != PAIRS:
                assert kept.all()
                continue
            above = closed(pairs, sample.k)
            longer = (above.astype(int) @ above) > 0
            wanted = [not longer[p] and p not in pairs[:at] for at, p in enumerate(pairs)]
            assert kept[0::2].tolist() == kept[1::2].tolist() == wanted


def test_consistency() -> None:
    rng = np.random.default_rng(11)
    holds = []
    for k in (1, 2, 3, 4, 7):
        for _ in range(12):
            a, b = Sample(rng, 20, k), Sample(rng, 20, k)
            wanted = [
                all(closed(under, k)[p] for p in pairs)
                for pairs, under in zip(a.pairs(), b.pairs(), strict=True)
            ]
            assert a.native.is_consistent_with(b.native).astype(bool).tolist() == wanted
            assert a.native.is_consistent_with(a.native).all()
            holds += wanted
    assert 0.05 < np.mean(holds) < 0.95  # both answers were asked for


def test_cycles() -> None:
    rng = np.random.default_rng(12)
    for sample in samples():
        assert sample.native.cycle() is None
    found = 0
    for _ in range(300):
        n, k = 3, int(rng.integers(2, 7))
        rows = [
            [tuple(rng.permutation(k)[:2].tolist()) for _ in range(rng.integers(0, k + 2))]
            for _ in range(n)
        ]
        items = np.array([r for row in rows for p in row for r in p], dtype=np.int32)
        indptr = np.cumsum([0, *(2 * len(row) for row in rows)])
        answer = _core.Orders(n, k, PAIRS, None, indptr, items, None, None).cycle()
        cyclic = [bool(closed(row, k).diagonal().any()) for row in rows]
        assert (answer is not None) == any(cyclic)
        if answer is not None:
            found += 1
            example, labels = answer[0], answer[1].tolist()
            assert example == cyclic.index(True)
            assert len(set(labels)) == len(labels) >= 2
            steps = zip(labels, labels[1:] + labels[:1], strict=True)
            assert set(steps) <= set(rows[example])
    assert 50 < found < 250


def test_a_long_chain_needs_no_deep_stack() -> None:
    k = 100_000
    steps = np.arange(k - 1, dtype=np.int32)
    items = np.stack([steps, steps + 1], axis=1).ravel()
    indptr = np.array([0, items.size])
    assert _core.Orders(1, k, PAIRS, None, indptr, items, None, None).cycle() is None
    ring = np.append(items, [k - 1, 0]).astype(np.int32)
    _, cycle = _core.Orders(1, k, PAIRS, None, indptr + np.array([0, 2]), ring, None, None).cycle()
    assert cycle.size == k


def test_repeats() -> None:
    for sample in samples():
        assert sample.native.repeat() is None
    for form, items in itertools.product((ADJACENT, ALL), ([0, ~2, ~0], [~1, 2, ~2])):
        indptr = np.array([0, 1, 1 + len(items)])
        given = np.array([~0, *items], dtype=np.int32)
        label = 0 if 0 in items else 2
        assert _core.Orders(2, 3, form, None, indptr, given, None, None).repeat() == (1, label)


# ---- the doors of the core -----------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["int32", "int64"])
@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 10**9, 2], [0, 1], "row 0"),
        ([0, 2, 1], [0, 1], "row 1"),
        ([0, -1, 2], [0, 1], "row 0"),
        ([1, 1, 2], [0, 1], "start with 0"),
        ([0, 1, 3], [0, 1], "row 1"),
        ([0, 1, 2], [0, 3], "index 3 in row 1 is outside"),
        ([0, 1, 2], [-1, 0], "index -1 in row 0 is outside"),
        ([0, 2], [0, 1], r"n \+ 1"),
        ([0, 1, 2], [0], "differ in length"),
    ],
)
def test_a_corrupt_csr_matrix_is_refused(
    layout: str, indptr: list[int], indices: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _core.Rows(
            np.ones(2), np.array(indices, dtype=layout), np.array(indptr, dtype=layout), 2, 3
        )


def test_rows_are_checked() -> None:
    X, index = np.ones((2, 3)), np.zeros(3, dtype=np.int64)
    for arguments, message in (
        ((X, None, None, 3, 3), "n x d"),
        ((X, None, None, 2**62, 2**62), "too large"),
        ((X, None, None, -1, -6), "negative"),
        ((X.astype(int), None, None, 2, 3), "float32 or float64"),
        ((X, index, None, 2, 3), "indices and indptr"),
        ((np.ones(3), index, index.astype(np.int32), 2, 3), "differ in dtype"),
        ((np.ones(3), index.astype(np.int16), index.astype(np.int16), 2, 3), "int32 or int64"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.Rows(*arguments)
    for wrong in (None, [1.0], "X", 3):
        with pytest.raises(TypeError):
            _core.Rows(wrong, None, None, 1, 1)


@pytest.mark.parametrize(
    ("form", "indptr", "items", "message"),
    [
        (SET, None, [0], "one item an example"),
        (SET, [0, 1, 2], [0, 3], "example 1: label number outside"),
        (SET, [0, 2, 2], [1, 0], "example 0: the labels of a set must ascend"),
        (CALIBRATED, [0, 2, 2], [1, 1], "example 0: the labels of a set must ascend"),
        (SET, [0, 1, 2], [-1, 0], "example 0: label number outside"),
        (ADJACENT, [0, 1, 2], [~0, 0], "example 1: a tier has no end"),
        (ALL, [0, 1, 2], [~0, ~3], "example 1: label number outside"),
        (PAIRS, [0, 1, 2], [0, 1], "example 0: a pair has no second label"),
        (PAIRS, [0, 2, 2], [0, 4], "example 0: label number outside"),
        (PAIRS, [0, 2, 2], [0, -1], "example 0: label number outside"),
        (SET, [0, 2, 1], [0, 1], "example 1: indptr decreases"),
        (SET, [0, 10**12, 2], [0, 1], "example 0: indptr decreases or exceeds"),
        (SET, [1, 1, 2], [0, 1], "start with 0"),
        (SET, [0, 2], [0, 1], "wrong length"),
        (5, [0, 1, 2], [0, 1], "unknown form"),
    ],
)
def test_corrupt_orders_are_refused(form: int, indptr: Any, items: Any, message: str) -> None:
    starts = None if indptr is None else np.array(indptr)
    with pytest.raises(ValueError, match=message):
        _core.Orders(2, 3, form, None, starts, np.array(items, dtype=np.int32), None, None)


def test_what_does_not_fit_together_is_refused() -> None:
    rows = _core.Rows(np.ones((2, 3)), None, None, 2, 3)
    out, W = np.zeros((2, 4)), np.zeros((3, 4))
    labels = np.zeros((2, 2), dtype=np.int64)
    for arguments in (
        (rows, None, W[:2], None, 1.0, False, out, 1),
        (rows, None, W, None, 1.0, True, out, 1),
        (rows, None, np.zeros((3, 5)), None, 1.0, False, out, 1),
        (rows, None, W, W[:2], 1.0, False, out, 1),
        (rows, None, W, None, 1.0, False, np.zeros((2, 5)), 1),
        (rows, None, W, None, 1.0, False, np.zeros((3, 4)), 1),
        (rows, np.array([0, 2]), W, None, 1.0, False, out, 1),
        (rows, np.array([-1, 0]), W, None, 1.0, False, out, 1),
        (rows, None, W.astype(np.float32), None, 1.0, False, out.astype(np.float32), 1),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            _core.scores(*arguments)
    frozen = out.copy()
    frozen.flags.writeable = False
    for arguments in (
        (rows, None, W, None, 1.0, False, frozen, 1),
        (rows, None, W.T.copy().T, None, 1.0, False, out, 1),
        (rows, None, W.astype(np.float32), None, 1.0, False, out, 1),
        (rows, None, W, None, 1.0, False, None, 1),
    ):
        with pytest.raises(TypeError):
            _core.scores(*arguments)
    for k, shape in ((5, (2, 2)), (0, (2, 0)), (1, (2, 2)), (4, (3, 2))):
        with pytest.raises(ValueError, match="output"):
            _core.best(rows, W, None, 1.0, False, k, np.zeros(shape, dtype=np.int64), 1)
    orders = _core.Orders(2, 4, CALIBRATED, None, np.array([0, 1, 2]), labels[0].astype(np.int32),
                          None, None)  # fmt: skip
    tail = ("perceptron", "all", 1.0, 1.0, False, None)
    with pytest.raises(ValueError, match="no lane for the virtual label"):
        _core.online_pass(rows, orders, None, None, W, None, None, np.zeros(3), *tail)
    plain = _core.Orders(2, 4, SET, None, None, np.zeros(2, dtype=np.int32), None, None)
    for visits, weight, state, message in (
        (np.array([0, 2]), None, 3, "visit"),
        (None, np.ones(3), 3, "weights"),
        (None, None, 2, "state"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.online_pass(rows, plain, visits, weight, W, None, None, np.zeros(state), *tail)
    for rule, update in (("winnow", "all"), ("nothing", "all"), ("perceptron", "nothing")):
        with pytest.raises(ValueError, match=r"logarithms|unknown"):
            _core.online_pass(
                rows, plain, None, None, W, None, None, np.zeros(3), rule, update, *tail[2:]
            )


# ---- instruction sets ----------------------------------------------------------------------------


def test_the_instruction_set_in_use_is_the_one_asked_for(isa: str) -> None:
    assert _core.isa() == isa
    with pytest.raises(ValueError, match="'sse9' is not to be had here; there is: baseline"):
        _core.use_isa("sse9")
    assert _core.isa() == isa


def test_the_environment_chooses_the_instruction_set(isa: str) -> None:
    # The extension alone, without the package that would take seconds to import.
    code = (
        "import sys, importlib.util as u;"
        "s = u.spec_from_file_location('kesler._core', sys.argv[1]);"
        "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.isa())"
    )

    def run(wanted: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, _core.__file__],
            env={**os.environ, "KESLER_ISA": wanted},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(isa).stdout.strip() == isa
    assert run("").stdout.strip() == _core.available_isas()[-1]
    refused = run("sse9")
    assert refused.returncode == 1
    assert "ImportError: KESLER_ISA: instruction set 'sse9'" in refused.stderr
