"""The generators draw what they say: uniform balls, the stated sorter, the stated noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from kesler.datasets import make_labelsets, make_linear_sorting, make_partial_orders, make_rankings

SUPERVISED = {
    "rankings": make_rankings,
    "rankings with gaps": lambda *a, **k: make_rankings(*a, missing=0.4, **k),
    "label sets": make_labelsets,
    "calibrated": lambda *a, **k: make_labelsets(*a, calibrate=True, **k),
    "partial orders": make_partial_orders,
}
ALL = {"linear sorting": make_linear_sorting, **SUPERVISED}


def assert_uniform_in_ball(X, radius, several=4.0):
    """Moments and the distribution of the norm, each within a few standard errors."""
    n, d = X.shape
    norms = np.linalg.norm(X, axis=1)
    assert norms.max() <= radius
    assert kstest((norms / radius) ** d, "uniform").pvalue > 1e-3
    # E x x' = radius^2 / (d + 2) times the identity.
    variance = radius**2 / (d + 2)
    error = several * np.sqrt(variance / n)
    assert np.abs(X.mean(axis=0)).max() < error * np.sqrt(2 * np.log(d + 2))
    moment = X.T @ X / n - variance * np.eye(d)
    assert np.abs(moment).max() < several * variance * np.sqrt(2 / n) * np.sqrt(
        2 * np.log(d * d + 2)
    )


@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_points_are_uniform_in_the_ball(d):
    X, _, _ = make_linear_sorting(20_000, d, 3, random_state=d)
    assert_uniform_in_ball(X, 2.0)


@pytest.mark.parametrize("name", ALL)
def test_weights_are_uniform_in_the_unit_ball(name):
    coefs = [ALL[name](1, 3, 5, random_state=seed)[-1] for seed in range(600)]
    assert coefs[0].shape == (5, 3)
    assert_uniform_in_ball(np.concatenate(coefs), 1.0)


@pytest.mark.parametrize("name", ALL)
def test_points_of_all_generators_are_of_the_same_ball(name):
    X, _, _ = ALL[name](5_000, 3, 5, random_state=0)
    assert_uniform_in_ball(X, 2.0)


def test_synthetic_set_of_the_paper():
    X, y, coef = make_linear_sorting(random_state=0)
    assert X.shape == (100_000, 100)
    assert coef.shape == (3, 100)
    assert X.dtype == coef.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.dtype == np.int64
    assert np.array_equal(y, (X @ coef.T).argmax(axis=1))
    # In 100 dimensions nearly all points are near the sphere: (1.9 / 2)^100 = 0.6 % are not.
    assert abs((np.linalg.norm(X, axis=1) < 1.9).mean() - 0.95**100) < 0.002
    scores = np.sort(X[:50_000] @ coef.T, axis=1)
    assert (scores[:, 2] - scores[:, 1]).min() < 1e-4


@given(
    n=st.integers(1, 300), d=st.integers(1, 6), k=st.integers(2, 5), seed=st.integers(0, 2**32 - 1)
)
@settings(max_examples=50)
def test_gap_is_kept(n, d, k, seed):
    gap = 0.01
    X, y, coef = make_linear_sorting(n, d, k, gap=gap, random_state=seed)
    scores = np.sort(X @ coef.T, axis=1)
    assert X.shape == (n, d)
    assert (scores[:, -1] - scores[:, -2] >= gap - 1e-12).all()
    assert np.array_equal(y, (X @ coef.T).argmax(axis=1))


def test_gap_leaves_out_points_and_moves_none():
    # The scores along one direction, given the gap, are those of a filtered plain sample.
    X, _, coef = make_linear_sorting(4000, 3, 2, gap=0.5, random_state=0)
    plain, _, same = make_linear_sorting(40_000, 3, 2, random_state=0)
    assert np.array_equal(coef, same)
    v = coef[0] - coef[1]
    filtered = plain @ v
    filtered = filtered[np.abs(filtered) >= 0.5]
    assert kstest(X @ v, filtered).pvalue > 1e-3


def test_impossible_gap():
    with pytest.raises(
        ValueError, match=r"no two scores differ by gap=9\.0; the most they can is \d"
    ):
        make_linear_sorting(10, 2, 3, gap=9, random_state=0)
    # Possible, but in 60 dimensions points lie nearly at right angles to any direction.
    _, _, coef = make_linear_sorting(1, 60, 2, random_state=0)
    gap = 1.9 * np.linalg.norm(coef[0] - coef[1])
    with pytest.raises(ValueError, match="fewer than 1 point in 10000 keeps a gap"):
        make_linear_sorting(1000, 60, 2, gap=gap, random_state=0)


@pytest.mark.parametrize("name", SUPERVISED)
@given(
    n=st.integers(1, 60),
    d=st.integers(1, 5),
    k=st.integers(4, 7),
    noise=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_noise_is_the_share_the_sorter_gets_wrong(name, n, d, k, noise, seed):
    X, constraints, coef = SUPERVISED[name](n, d, k, noise=noise, random_state=seed)
    assert X.shape == (n, d)
    assert coef.shape == (k, d)
    assert constraints.n_samples == n
    assert constraints.labels.tolist() == list(range(k))
    assert constraints.errors(X @ coef.T).sum() == round(noise * n)


@pytest.mark.parametrize("name", SUPERVISED)
def test_without_noise_the_sorter_is_right(name):
    X, constraints, coef = SUPERVISED[name](2000, random_state=0)
    assert not constraints.errors(X @ coef.T).any()


@pytest.mark.parametrize("name", SUPERVISED)
def test_noise_changes_nothing_but_the_noisy_examples(name):
    X, clean, coef = SUPERVISED[name](400, random_state=3)
    noisy_X, noisy, noisy_coef = SUPERVISED[name](400, noise=1.0, random_state=3)
    assert np.array_equal(X, noisy_X)
    assert np.array_equal(coef, noisy_coef)
    assert not clean.errors(X @ coef.T).any()
    assert noisy.errors(X @ coef.T).all()


def test_rankings_are_full_orders():
    X, rankings, coef = make_rankings(50, 4, 5, random_state=0)
    assert rankings.kind == "rankings"
    orders = np.argsort(-(X @ coef.T), axis=1)
    pairs = rankings.pairs()
    assert np.array_equal(pairs.over.reshape(50, 4), orders[:, :-1])
    assert np.array_equal(pairs.under.reshape(50, 4), orders[:, 1:])


def test_noise_in_rankings_is_one_exchange_of_neighbours():
    _, clean, _ = make_rankings(500, 4, 5, random_state=0)
    _, noisy, _ = make_rankings(500, 4, 5, noise=1.0, random_state=0)
    assert (turned_pairs(clean, noisy) == 1).all()


def turned_pairs(clean, noisy):
    """How many pairs of the closure of each example stand the other way round."""
    table = np.zeros((2, clean.n_samples, clean.n_labels, clean.n_labels), dtype=bool)
    for side, constraints in enumerate((clean, noisy)):
        pairs = constraints.closure().pairs()
        rows = np.repeat(np.arange(constraints.n_samples), np.diff(pairs.indptr))
        table[side, rows, pairs.over, pairs.under] = True
    return (table[0] & table[1].transpose(0, 2, 1)).sum(axis=(1, 2))


@pytest.mark.parametrize(("missing", "ranked"), [(0, 10), (0.25, 8), (0.5, 5), (0.8, 2)])
def test_missing_labels(missing, ranked):
    _, rankings, _ = make_rankings(3000, 4, 10, missing=missing, random_state=0)
    assert (rankings.sizes == ranked - 1).all()
    pairs = rankings.pairs()
    rows = np.repeat(np.arange(3000), ranked - 1)
    present = np.zeros((3000, 10), dtype=bool)
    present[rows, pairs.over] = present[rows, pairs.under] = True
    assert (present.sum(axis=1) == ranked).all()
    assert np.abs(present.mean(axis=0) - ranked / 10).max() < 5 * np.sqrt(0.25 / 3000)


def test_sizes_of_label_sets_are_uniform():
    _, sets, _ = make_labelsets(6000, 4, 5, random_state=0)
    assert (sets.kind, sets.calibrated) == ("labelsets", False)
    sizes = np.asarray(sets.indicator().sum(axis=1)).ravel()
    counts = np.bincount(sizes, minlength=6)
    assert counts[[0, 5]].tolist() == [0, 0]
    assert np.abs(counts[1:5] / 6000 - 0.25).max() < 5 * np.sqrt(0.1875 / 6000)


def test_noise_keeps_the_size_of_a_label_set():
    _, clean, _ = make_labelsets(300, 4, 5, random_state=0)
    _, noisy, _ = make_labelsets(300, 4, 5, noise=1.0, random_state=0)
    a, b = clean.indicator().toarray(), noisy.indicator().toarray()
    assert np.array_equal(a.sum(axis=1), b.sum(axis=1))
    assert ((a != b).sum(axis=1) == 2).all()


def test_calibrated_sets_are_the_labels_above_zero():
    X, sets, coef = make_labelsets(1000, 3, 3, calibrate=True, random_state=0)
    assert sets.calibrated
    indicator = sets.indicator().toarray()
    assert np.array_equal(indicator, X @ coef.T > 0)
    assert set(indicator.sum(axis=1)) == {0, 1, 2, 3}
    _, noisy, _ = make_labelsets(1000, 3, 3, calibrate=True, noise=1.0, random_state=0)
    assert ((noisy.indicator().toarray() != indicator).sum(axis=1) == 1).all()


@pytest.mark.parametrize("n_pairs", [1, 3, 10])
def test_partial_orders_draw_pairs_without_repeats(n_pairs):
    _, orders, _ = make_partial_orders(2000, 3, 5, n_pairs=n_pairs, random_state=0)
    assert orders.kind == "pairs"
    assert (orders.sizes == n_pairs).all()
    pairs = orders.pairs()
    low, high = np.minimum(pairs.over, pairs.under), np.maximum(pairs.over, pairs.under)
    rows = np.repeat(np.arange(2000), n_pairs)
    drawn = np.zeros((2000, 5, 5), dtype=int)
    np.add.at(drawn, (rows, low, high), 1)
    assert drawn.max() == 1
    share = drawn.mean(axis=0)[np.triu_indices(5, 1)]
    assert np.abs(share - n_pairs / 10).max() < 5 * np.sqrt(0.25 / 2000)


@pytest.mark.parametrize("name", ALL)
def test_same_seed_same_data(name):
    def drawn(seed):
        X, target, coef = ALL[name](30, 4, 5, random_state=seed)
        stored = target if name == "linear sorting" else target.pairs().over
        return np.concatenate([X.ravel(), coef.ravel(), stored])

    assert np.array_equal(drawn(7), drawn(7))
    assert np.array_equal(drawn(7), drawn(np.random.RandomState(7)))
    assert not np.array_equal(drawn(7)[:120], drawn(8)[:120])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("sizes", [(0, 2, 3), (2, 0, 3), (2, 2, 1), (2.5, 2, 3), (True, 2, 3)])
def test_wrong_sizes(name, sizes):
    with pytest.raises(
        ValueError, match=r"n_(samples|features|labels) must be an integer, \d or more"
    ):
        ALL[name](*sizes)


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan"), "much", None, True])
def test_wrong_noise(name, noise):
    with pytest.raises(ValueError, match="noise must be a number, 0 to 1, not"):
        SUPERVISED[name](10, 2, 5, noise=noise)


def test_other_wrong_arguments():
    with pytest.raises(ValueError, match="gap must be a number, 0 or more, not -1"):
        make_linear_sorting(10, 2, 3, gap=-1)
    with pytest.raises(ValueError, match=r"missing=0\.8 leaves 1 of 5 labels; wanted 2 or more"):
        make_rankings(10, 2, 5, missing=0.8)
    with pytest.raises(ValueError, match="5 labels have 10 pairs, fewer than n_pairs=11"):
        make_partial_orders(10, 2, 5, n_pairs=11)
    with pytest.raises(ValueError, match="n_pairs must be an integer, 1 or more"):
        make_partial_orders(10, 2, 5, n_pairs=0)
