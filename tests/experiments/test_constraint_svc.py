"""The experiment with ConstraintSVC: its parts on data made here, and a trial run."""

import csv
import re

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets
from sklearn.metrics import label_ranking_loss
from sklearn.svm import LinearSVC

from kesler import Constraints, ConstraintSVC
from kesler.datasets import Dataset, make_labelsets, make_rankings
from kesler.experiments import _svc_page as page
from kesler.experiments import _svc_trials as learn
from kesler.experiments import constraint_svc
from kesler.experiments import run as run_by_name
from kesler.metrics import kendall_tau


def dataset(kind, X, target):
    names = [f"x{j}" for j in range(X.shape[1])]
    return Dataset("made", X, target, names, [], kind, [str(r) for r in range(target.shape[1])])


@pytest.fixture
def sets():
    X, c, _ = make_labelsets(90, 6, 4, random_state=0)
    return learn.read_task(dataset("labelsets", X, c.indicator()))


@pytest.fixture
def rankings():
    X, _, coef = make_rankings(90, 6, 5, random_state=0)
    ranks = 1.0 + np.argsort(np.argsort(-X @ coef.T, axis=1), axis=1)
    return learn.read_task(dataset("ranks", X, ranks))


# ---- data ----------------------------------------------------------------------------------------


def test_label_sets_are_read_as_sets_and_as_an_indicator(sets):
    assert sets.constraints.kind == "labelsets" and not sets.constraints.calibrated
    relevant = sets.positive[learn.ONE_VS_REST]
    np.testing.assert_array_equal(relevant, sets.constraints.indicator().toarray() > 0)
    assert sets.methods == [learn.SVC, learn.ONE_VS_REST]


def test_rankings_are_all_their_pairs_the_winner_and_the_upper_half(rankings):
    assert set(rankings.constraints.sizes) == {10}
    best = np.argsort(~rankings.positive[learn.WINNER], axis=1, kind="stable")[:, 0]
    winners = Constraints.from_classes(best, labels=range(5))
    assert winners.is_consistent_with(rankings.constraints).all()
    assert (rankings.positive[learn.WINNER].sum(axis=1) == 1).all()
    assert (rankings.positive[learn.UPPER_HALF].sum(axis=1) == 2).all()
    assert (rankings.positive[learn.UPPER_HALF] >= rankings.positive[learn.WINNER]).all()


def test_sparse_rows_stay_sparse_unless_they_are_a_table():
    X, c, _ = make_labelsets(40, 6, 4, random_state=0)
    table = learn.read_task(dataset("labelsets", sp.csr_matrix(X), c.indicator()))
    np.testing.assert_array_equal(table.X, X)
    thin = sp.random(40, 30, 0.1, format="csr", random_state=0)
    task = learn.read_task(dataset("labelsets", thin, c.indicator()), np.arange(30))
    assert sp.issparse(task.X) and task.X.shape == (30, 30) and len(task.constraints) == 30
    assert learn.scaled(task.X, np.arange(5)) is task.X


def test_every_row_is_tested_once_and_scaled_by_training_rows(sets):
    parts = learn.folds(90, 10, 1)
    np.testing.assert_array_equal(np.sort(np.concatenate([t for _, t in parts])), np.arange(90))
    train, test = parts[0]
    X = learn.scaled(sets.X, train)
    np.testing.assert_allclose(X[train].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[train].std(axis=0), 1)
    assert np.abs(X[test].mean(axis=0)).max() > 1e-3


# ---- learning ------------------------------------------------------------------------------------


def test_losses_are_those_of_the_metrics(sets, rankings):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(90, 4))
    found = learn.losses(sets.constraints, scores)
    relevant = sets.constraints.indicator().toarray()
    assert found.mean() == pytest.approx(label_ranking_loss(relevant, scores))
    scores = rng.normal(size=(90, 5))
    tau = 1 - 2 * learn.losses(rankings.constraints, scores).mean()
    assert tau == pytest.approx(kendall_tau(rankings.constraints, scores))


def test_our_learner_weighs_examples_and_certifies(sets):
    train, test = learn.folds(90, 3, 0)[0]
    found = learn.learner_of(sets, learn.SVC)(sets.X, train, test)(0.1)
    c = sets.constraints[train]
    model = ConstraintSVC(0.1, aggregate="sum", loss="squared_hinge", random_state=0)
    model.fit(sets.X[train], c, 1 / np.maximum(c.sizes, 1))
    np.testing.assert_allclose(found.scores, model.decision_function(sets.X[test]))
    assert found.gap == model.duality_gap_ <= 1e-3


def test_one_vs_rest_is_a_linear_svc_for_each_label(sets):
    train, test = learn.folds(90, 3, 0)[0]
    positive = sets.positive[learn.ONE_VS_REST]
    scores = learn.learner_of(sets, learn.ONE_VS_REST)(sets.X, train, test)(0.1).scores
    for r in range(4):
        model = LinearSVC(C=0.1, dual=False).fit(sets.X[train], positive[train, r])
        np.testing.assert_allclose(scores[:, r], model.decision_function(sets.X[test]))


def test_a_label_that_is_always_or_never_relevant_needs_no_learner(sets):
    positive = np.array([[True, False, i % 2] for i in range(90)], dtype=bool)
    task = sets._replace(positive={learn.ONE_VS_REST: positive})
    fit = learn.learner_of(task, learn.ONE_VS_REST)(sets.X, np.arange(60), np.arange(60, 90))
    scores = fit(1.0).scores
    assert set(scores[:, 0]) == {1.0} and set(scores[:, 1]) == {-1.0}
    assert len(set(scores[:, 2])) > 2


def test_C_is_chosen_on_held_out_training_rows_and_patience_ends_it(sets):
    asked = []
    right = sets.constraints.indicator().toarray() * 1.0
    chosen = learn.GRID[2]

    def learner(X, train, test):
        def fit(C):
            asked.append((C, train, test))
            return learn.Fit(right[test] if chosen == C else -right[test], 0.0)

        return fit

    train = np.arange(10, 90)
    assert learn.choose_C(learner, sets, train, 0) == chosen
    assert [C for C, _, _ in asked] == list(learn.GRID[: 3 + learn.PATIENCE])
    for _, inner, held in asked:
        np.testing.assert_array_equal(np.sort(np.concatenate([inner, held])), train)
        assert held.size == 20


def test_values_of_C_that_are_alike_do_not_end_the_search(sets):
    right = sets.constraints.indicator().toarray() * 1.0

    def learner(X, train, test):
        return lambda C: learn.Fit(right[test] if learn.GRID[-1] == C else 0 * right[test], 0.0)

    assert learn.choose_C(learner, sets, np.arange(90), 0) == learn.GRID[-1]


def test_a_trial_puts_folds_together_row_by_row(sets):
    parts = learn.folds(90, 3, 0)
    tested = list(learn.try_method(sets, learn.SVC, 0, parts))
    trial = learn.judged(sets, learn.SVC, 0, tested)
    scores = np.empty((90, 4))
    for rows, fit, _ in tested:
        scores[rows] = fit.scores
    np.testing.assert_array_equal(trial.loss, learn.losses(sets.constraints, scores))
    relevant = sets.constraints.indicator().toarray()
    wrong = [not relevant[i, best] for i, best in enumerate(scores.argmax(axis=1))]
    assert trial.one_error == pytest.approx(np.mean(wrong))
    assert trial.gap == max(fit.gap for _, fit, _ in tested)
    assert len(trial.chosen) == 3


# ---- comparing -----------------------------------------------------------------------------------


def test_comparison_by_hand():
    ours, theirs = np.array([[0.0, 0.1], [0.2, 0.1]]), np.array([[0.5, 0.1], [0.6, 0.4]])
    trials = [
        learn.Trial("made", seed, method, loss, np.nan, np.nan, 0.0, ())
        for method, losses in ((learn.SVC, ours), (learn.WINNER, theirs))
        for seed, loss in enumerate(losses)
    ]
    found = learn.compare(trials, "made", learn.WINNER)
    assert (found.ours, found.theirs, found.gain) == pytest.approx((0.1, 0.4, 0.3))
    gains = theirs - ours
    seeding = np.var([0.25, 0.35], ddof=1) / 2
    sampling = np.mean([np.var(gain) / 2 for gain in gains])
    assert found.gain_error == pytest.approx(np.sqrt(seeding + sampling))
    assert found.verdict == "better"
    assert found._replace(gain_error=0.2).verdict == "even"
    assert found._replace(gain=-0.3, gain_error=0.1).verdict == "worse"


def test_one_seed_has_the_error_of_its_examples():
    values = np.random.default_rng(0).random((1, 50))
    mean, error = learn.mean_and_error(values)
    assert (mean, error) == pytest.approx((values.mean(), values.std() / np.sqrt(50)))


# ---- a trial run ---------------------------------------------------------------------------------


def test_missing_data_is_said_before_anything_is_learned(tmp_path, monkeypatch):
    def no_network(**_):
        raise OSError("no route to host")

    monkeypatch.delenv("KESLER_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    with pytest.raises(OSError, match="KESLER_DATA"):
        constraint_svc.run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_number_of_seeds_is_checked(tmp_path):
    with pytest.raises(ValueError, match="seeds must be an integer, 1 or more"):
        constraint_svc.run(tmp_path, seeds=0)


@pytest.fixture(scope="module")
def trial_run(data_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constraint_svc, "_QUICK_ROWS", 60)
        patch.setattr(learn, "GRID", (0.01, 0.1))
        printed = run_by_name("constraint-svc", folder, quick=True)
    return printed, folder


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_prints_both_tables(trial_run):
    losses, taus = trial_run[0].split("\n\n")
    assert [line.split()[0] for line in losses.splitlines()[2:]] == list(page.LABELSETS)
    names = [f"{line.split()[0]}-ranking" for line in taus.splitlines()[2:]]
    assert names == list(page.RANKINGS)
    assert "nan" not in trial_run[0]


def test_summary_is_that_of_the_trials(trial_run):
    _, folder = trial_run
    trials, summary = read(folder / "trials.csv"), read(folder / "summary.csv")
    assert len(trials) == 4 * 2 + 7 * 3
    assert len(summary) == 4 + 7 * 2
    assert {int(row["tested"]) for row in trials} == {60}
    loss = {(t["data"], t["method"]): float(t["ranking_loss"]) for t in trials}
    for row in summary:
        assert float(row["svc_loss"]) == pytest.approx(loss[row["data"], learn.SVC])
        assert float(row["peer_loss"]) == pytest.approx(loss[row["data"], row["peer"]])


def test_the_page_shows_the_tables_and_what_it_is(trial_run):
    printed, folder = trial_run
    text = (folder / page.NAME).read_text(encoding="utf-8")
    assert "A trial run on a small part of the data" in text
    for line in printed.splitlines():
        if "±" in line:
            assert all(cell in text for cell in re.split(r"\s{2,}", line))
    assert "{" not in text and "nan" not in text
