"""The experiment: its parts on data made here, and a trial run on the papers' data."""

import csv
import re
import sys

import numpy as np
import pytest
import sklearn.datasets

from kesler import OnlineClassifier
from kesler.datasets import Dataset, make_linear_sorting
from kesler.experiments import _constraint_page as page
from kesler.experiments import _constraint_trials as learn
from kesler.experiments import constraint_classification
from kesler.experiments import run as run_by_name
from kesler.preparation import TablePreparer

# ---- learning and comparing ----------------------------------------------------------------------


def table(name, n=60, split=True):
    X, y, _ = make_linear_sorting(n, 4, 3, random_state=0)
    target = np.array(["a", "b", "c"])[y]
    rows = np.arange(n)
    half = (rows[: n // 2], rows[n // 2 :]) if split else (None, None)
    names = list("uvwx")
    return Dataset(name, 5 + X, target, names, [], "class", ["a", "b", "c"], *half)


def test_parts_keep_the_split_and_prepare_from_the_training_part():
    data = table("vowel")
    (part,) = learn.table_parts(data, 0, None)
    preparer = TablePreparer().fit(data.data[:30])
    np.testing.assert_array_equal(part.X_train, preparer.transform(data.data[:30]))
    np.testing.assert_array_equal(part.X_test, preparer.transform(data.data[30:]))
    np.testing.assert_array_equal(part.y_test, data.target[30:])
    assert part.X_train.mean() == pytest.approx(0, abs=1e-12)
    assert abs(part.X_test.mean()) > 1e-3


def test_glass_has_ten_folds_that_test_every_row_once():
    data = table("glass", split=False)
    for seed in (0, 1):
        parts = list(learn.table_parts(data, seed, None))
        assert [part.y_test.size for part in parts] == [6] * 10
        assert [part.y_train.size for part in parts] == [54] * 10
    first = [next(learn.table_parts(data, seed, None)).y_test.tolist() for seed in (0, 0, 1)]
    assert first[0] == first[1] != first[2]


def test_a_table_that_should_have_a_split_and_has_none_is_refused():
    with pytest.raises(ValueError, match="letter has no split"):
        list(learn.table_parts(table("letter", split=False), 0, None))


def test_quick_parts_are_parts_of_the_split():
    (part,) = learn.table_parts(table("vowel"), 3, 20)
    assert part.y_train.size == part.y_test.size == 20


def test_trials_are_fits_of_the_same_network_that_differ_in_the_update():
    part, _ = learn.synthetic_part(200, 0)
    trials = learn.try_all("synthetic", 7, [part, part])
    expected = [(weights, method) for weights in ("averaged", "last") for method in learn.UPDATES]
    assert [(t.weights, t.method) for t in trials] == expected
    for trial in trials:
        model = OnlineClassifier(
            update={"constraint classification": "all", "one-vs-all": "independent"}[trial.method],
            average=trial.weights == "averaged",
            max_iter=learn.PASSES,
            random_state=7,
        ).fit(part.X_train, part.y_train)
        wrong = model.predict(part.X_test) != part.y_test
        np.testing.assert_array_equal(trial.wrong, np.tile(wrong, 2))
        assert trial.error == pytest.approx(100 * wrong.mean())
        assert trial.training_error == pytest.approx(
            100 * (1 - model.score(part.X_train, part.y_train))
        )


def make_trials(ours, theirs):
    return [
        learn.Trial("glass", seed, "last", method, np.array(wrong, dtype=bool), 0.0)
        for method, seeds in ((learn.CONSTRAINT, ours), (learn.ONE_VS_ALL, theirs))
        for seed, wrong in enumerate(seeds)
    ]


def test_comparison_by_hand():
    ours = [[1, 0, 0, 0], [0, 0, 0, 0]]
    theirs = [[0, 1, 1, 0], [1, 1, 0, 0]]
    found = learn.compare(make_trials(ours, theirs), "glass", "last")
    assert found.constraint.tolist() == [25, 0]
    assert found.one_vs_all.tolist() == [50, 50]
    assert found.gain == pytest.approx(37.5)
    seeding = np.var([25, 50], ddof=1) / 2
    differences = np.array([[-1, 1, 1, 0], [1, 1, 0, 0]])
    sampling = np.mean([np.var(d) / 4 for d in differences]) * 100**2
    assert found.noise == pytest.approx(np.sqrt(seeding + sampling))
    assert found.verdict == "even"


def test_verdicts():
    rng = np.random.default_rng(0)
    often = [rng.random(2000) < 0.4 for _ in range(3)]
    seldom = [rng.random(2000) < 0.2 for _ in range(3)]
    for ours, theirs, verdict in (
        (seldom, often, "better"),
        (often, seldom, "worse"),
        (often, often, "even"),
        ([seldom[0]], [seldom[1]], "even"),
    ):
        assert learn.compare(make_trials(ours, theirs), "glass", "last").verdict == verdict


def test_learners_part_ways_on_a_set_without_near_ties(monkeypatch):
    monkeypatch.setattr(learn, "CURVE_PASSES", 150)
    X, y, coef = make_linear_sorting(800, 5, 3, gap=0.05, random_state=0)
    part = learn.Part(X[:400], y[:400], X[400:], y[400:])
    course = learn.follow("apart", part, coef)
    ours, theirs = course.curves
    assert ours.method == learn.CONSTRAINT
    assert ours.training[-1] == 0
    assert min(theirs.training) > 0
    assert len(ours.training) == len(ours.test) == 150
    sorter = coef / np.linalg.norm(coef)
    top = np.sort(part.X_train @ sorter.T, axis=1)
    assert course.margin == pytest.approx((top[:, -1] - top[:, -2]).min())
    assert course.bound == pytest.approx(
        2 * (1 + (np.linalg.norm(part.X_train, axis=1) ** 2).max()) / course.margin**2
    )


def test_figure_2(monkeypatch):
    monkeypatch.setattr(learn, "CURVE_PASSES", 60)
    ours, theirs = learn.follow_figure_2().curves
    assert ours.training[-1] == 0
    assert min(theirs.training) > 0


# ---- showing -------------------------------------------------------------------------------------


def test_error_rows_with_and_without_spread():
    def one(name, weights, ours):
        return learn.Comparison(name, weights, np.array(ours), np.array([50.0] * len(ours)), 1.0)

    for ours, text in (([10.0, 20.0], "15.0 ± 7.1"), ([12.34], "12.3")):
        comparisons = [one(name, w, ours) for w in learn.WEIGHTS for name in page.TABLE_2]
        rows = page.error_rows(comparisons)
        assert [row[0] for row in rows] == list(page.TABLE_2)
        assert all(len(row) == len(page.ERROR_HEADER) for row in rows)
        assert all(row[1] == row[4] == text and row[3] == row[6] == "better" for row in rows)


def test_sizes_other_than_the_papers_are_said():
    names = dict.fromkeys(page.TABLE_2, 4)
    rows = page.size_rows({"glass": table("glass", split=False)}, names, 50_000)
    assert len(rows) == 7
    glass = next(row for row in rows if row[0] == "glass")
    assert glass == ["glass", "4 (paper: 9)", "3 (paper: 6)", "60 (paper: 214)", "–", 15]
    assert next(row for row in rows if row[0] == "synthetic")[1:5] == ["100", "3", "50000", "50000"]


def test_missing_data_is_said_before_anything_is_learned(tmp_path, monkeypatch):
    def no_network(**_):
        raise OSError("no route to host")

    monkeypatch.delenv("KESLER_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    monkeypatch.setattr(learn, "try_all", lambda *_: pytest.fail("learned before data were there"))
    with pytest.raises(OSError, match=r"no route to host.*KESLER_DATA"):
        constraint_classification.run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_said_before_anything_is_learned(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'kesler\[report\]'"):
        constraint_classification.run(tmp_path)


def test_number_of_seeds_is_checked(tmp_path):
    with pytest.raises(ValueError, match="seeds must be an integer, 1 or more"):
        constraint_classification.run(tmp_path, seeds=0)


# ---- a trial run ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trial_run(data_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    printed = run_by_name("constraint-classification", folder, quick=True)
    return printed, folder


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_prints_the_seven_rows(trial_run):
    printed, _ = trial_run
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(page.TABLE_2)
    assert "nan" not in printed


def test_constraint_classification_does_not_lose(trial_run):
    _, folder = trial_run
    assert {row["verdict"] for row in read(folder / "summary.csv")} <= {"better", "even"}


def test_summary_is_that_of_the_trials(trial_run):
    _, folder = trial_run
    trials, summary = read(folder / "trials.csv"), read(folder / "summary.csv")
    assert len(trials) == 7 * 2 * 2 * 2  # sets, seeds, weights, learners
    assert len(summary) == 7 * 2
    for row in summary:
        for method, column in ((learn.CONSTRAINT, "constraint"), (learn.ONE_VS_ALL, "one_vs_all")):
            errors = [
                100 * int(t["wrong"]) / int(t["tested"])
                for t in trials
                if (t["data"], t["weights"], t["method"]) == (row["data"], row["weights"], method)
            ]
            assert len(errors) == 2
            assert float(row[f"{column}_mean"]) == pytest.approx(np.mean(errors))
            assert float(row[f"{column}_std"]) == pytest.approx(np.std(errors, ddof=1))


def test_the_page_shows_tables_drawings_and_what_it_is(trial_run):
    printed, folder = trial_run
    text = (folder / "constraint-classification.md").read_text(encoding="utf-8")
    assert "A trial run on a small part of the data" in text
    for line in printed.splitlines()[2:]:
        assert all(cell in text for cell in re.split(r"\s{2,}", line))
    for name in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert text.count("![") == 2
    assert "{" not in text
    curves = read(folder / "curves.csv")
    assert len(curves) == 3 * 2 * learn.CURVE_PASSES
