"""What the paper promises of on-line learning, seen on data where the right answer is known."""

import numpy as np
import pytest

from kesler import Constraints, OnlineClassifier
from kesler.datasets import make_linear_sorting, make_ova_counterexample, make_rankings
from kesler.theory import constraint_margin, mistake_bound


def bound_for(X, constraints, coef):
    margin = constraint_margin(constraints, X @ coef.T / np.linalg.norm(coef)).min()
    return mistake_bound(np.linalg.norm(X, axis=1).max(), margin)


@pytest.mark.parametrize("update", ["all", "worst"])
@pytest.mark.parametrize("shape", [(500, 10, 3), (2000, 100, 3), (1000, 20, 5)])
def test_separable_classes_are_learned_within_the_mistake_bound(update, shape):
    X, y, coef = make_linear_sorting(*shape, gap=0.02, random_state=0)
    constraints = Constraints.from_classes(y)
    learner = OnlineClassifier(
        update=update, average=False, fit_intercept=False, max_iter=100_000, random_state=0
    ).fit(X, constraints)
    assert learner.outcome_.status == "no_mistakes"
    assert learner.score(X, constraints) == 1
    assert 0 < learner.n_updates_ <= bound_for(X, constraints, coef)


@pytest.mark.parametrize("update", ["all", "worst"])
def test_separable_rankings_are_learned_within_the_mistake_bound(update):
    X, rankings, coef = make_rankings(600, 8, 4, random_state=0)
    apart = constraint_margin(rankings, X @ coef.T) >= 0.05
    X, rankings = X[apart], rankings[apart]
    learner = OnlineClassifier(
        update=update, average=False, fit_intercept=False, max_iter=100_000, random_state=0
    ).fit(X, rankings)
    assert learner.outcome_.status == "no_mistakes"
    assert not rankings.errors(learner.decision_function(X)).any()
    assert 0 < learner.n_updates_ <= bound_for(X, rankings, coef)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_in_any_order_of_presentation(seed):
    X, y, coef = make_linear_sorting(300, 5, 4, gap=0.05, random_state=seed)
    bound = bound_for(X, Constraints.from_classes(y), coef)
    hardest_first = np.argsort(np.ptp(np.sort(X @ coef.T, axis=1)[:, -2:], axis=1))
    for order in (np.arange(300), hardest_first, hardest_first[::-1]):
        learner = OnlineClassifier(
            average=False, fit_intercept=False, shuffle=False, max_iter=100_000
        ).fit(X[order], y[order])
        assert learner.outcome_.status == "no_mistakes"
        assert learner.n_updates_ <= bound


def test_one_vs_all_goes_round_in_a_circle_on_figure_2():
    """Its weights are small integers, so that the same weights again prove it will never end."""
    X, y = make_ova_counterexample()
    learner = OnlineClassifier(
        update="independent", average=False, shuffle=False, max_iter=1, warm_start=True
    )
    seen = set()
    for _ in range(1000):
        learner.fit(X, y)
        assert learner.score(X, y) < 1
        state = (learner.coef_.tobytes(), learner.intercept_.tobytes())
        if state in seen:
            return
        seen.add(state)
    pytest.fail("no state came back within 1000 passes")


@pytest.mark.parametrize("n_features", [2, 100])
@pytest.mark.parametrize("seed", range(3))
def test_figure_2_in_any_dimension(n_features, seed):
    X, y = make_ova_counterexample(n_features, random_state=seed)
    for update in ("all", "worst"):
        sorter = OnlineClassifier(
            update=update, average=False, max_iter=1000, random_state=seed
        ).fit(X, y)
        assert sorter.outcome_.status == "no_mistakes"
        assert sorter.score(X, y) == 1
    for average in (False, True):
        one_vs_all = OnlineClassifier(
            update="independent", average=average, max_iter=1000, random_state=seed
        ).fit(X, y)
        assert one_vs_all.outcome_.status == "max_iter"
        assert one_vs_all.score(X, y) < 1


def mistakes_on_a_stream(rule, n_irrelevant, seed):
    """Mistakes on 8000 examples of "at least 2 of 10 attributes", among many that say nothing."""
    rng = np.random.default_rng(seed)
    X = (rng.random((8000, 10 + n_irrelevant), dtype=np.float32) < 1 / 6).astype(np.float32)
    y = X[:, :10].sum(axis=1) >= 2
    return OnlineClassifier(rule=rule, promotion=1.3, average=False).partial_fit(X, y).n_updates_


def test_winnow_pays_for_the_logarithm_of_irrelevant_attributes():
    irrelevant = np.array([16, 64, 256, 1024])
    winnow, perceptron = (
        np.mean([[mistakes_on_a_stream(r, n, seed) for n in irrelevant] for seed in range(3)], 0)
        for r in ("winnow", "perceptron")
    )
    # A straight line over the logarithm: every fourfold costs Winnow about as much as the one
    # before, and the perceptron more each time.
    steps = np.diff(winnow)
    assert steps.max() < 1.5 * steps.mean()
    assert (np.diff(perceptron, n=2) > 0).all()
    logarithms = np.log(1034) / np.log(26)
    assert winnow[-1] / winnow[0] < 2 * logarithms
    assert perceptron[-1] / perceptron[0] > 4 * logarithms
