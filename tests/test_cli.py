"""What a user types does what the library does, and what is wrong is said in one line."""

import csv
import gzip
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.metrics import accuracy_score, hamming_loss, label_ranking_loss
from sklearn.pipeline import Pipeline

from kesler import Constraints, ConstraintSVC, OnlineClassifier, load, metrics, save
from kesler.cli import main
from kesler.cli._labels import constraints_of, kind_of
from kesler.datasets import make_labelsets, make_rankings
from kesler.persistence._models import pack_model, write_model
from kesler.preparation import TablePreparer

X, CODES = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[CODES]
COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]


def run(*arguments):
    assert main([str(a) for a in arguments]) == 0


def fails(capsys, code, *arguments):
    """The one line that a command fails with."""
    assert main([str(a) for a in arguments]) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    if code == 1:
        assert out == "" and err.count("\n") == 1 and err.startswith("kesler: ")
    return err.removeprefix("kesler: ").strip()


def write_csv(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def read_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def iris(tmp_path):
    rows = [[*map(repr, x.tolist()), y] for x, y in zip(X, SPECIES, strict=True)]
    return write_csv(tmp_path / "iris.csv", [*COLUMNS, "species"], rows)


@pytest.fixture
def model(iris, tmp_path):
    run("train", iris, "-o", tmp_path / "iris.kes", "--passes", 20)
    return tmp_path / "iris.kes"


def library(y=SPECIES, **options):
    """What `kesler train` does to a table, in the library."""
    steps = [
        ("table", TablePreparer(nominal=[])),
        ("model", OnlineClassifier(random_state=0, **options)),
    ]
    return Pipeline(steps).fit(X, y)


def measures(capsys):
    lines = capsys.readouterr().out.splitlines()[2:]
    return {name: float(value) for name, value in (re.split(r"\s{2,}", v) for v in lines)}


# ---- train, predict, evaluate on tables ---------------------------------------------------------


def test_a_table_is_learned_as_by_the_library(iris, model, tmp_path, capsys):
    expected = library(max_iter=20)
    loaded = load(model)
    assert np.array_equal(loaded[-1].coef_, expected[-1].coef_)
    assert np.array_equal(loaded.predict(X), expected.predict(X))
    assert loaded[-1].verbose == 0
    run("predict", model, iris, "-o", tmp_path / "out.csv", "--scores", "--ranking", "--top", 2)
    rows = read_rows((tmp_path / "out.csv").read_text(encoding="utf-8"))
    assert [row["prediction"] for row in rows] == expected.predict(X).tolist()
    scores = [[float(row[f"score_{name}"]) for name in sorted(set(SPECIES))] for row in rows]
    assert np.array_equal(scores, expected.decision_function(X))
    ranking = expected[-1].predict_ranking(expected[:-1].transform(X))
    assert [row["ranking"].split(">") for row in rows] == ranking.tolist()
    assert [[row["top_1"], row["top_2"]] for row in rows] == ranking[:, :2].tolist()
    capsys.readouterr()
    run("evaluate", model, iris)
    found = measures(capsys)
    assert found["examples"] == 150
    assert found["accuracy"] == round(expected.score(X, SPECIES), 4)
    loss = metrics.ranking_loss(Constraints.from_classes(SPECIES), expected.decision_function(X))
    assert found["ranking loss"] == round(loss, 4)


def test_training_says_what_it_did(iris, tmp_path, capsys):
    run("train", iris, "-o", tmp_path / "m.kes", "--passes", 7)
    out = capsys.readouterr().out
    for line in ["examples: .* 150", "features: .* 4", "labels: .* 3 .classes.", "passes: .* 7"]:
        assert re.search(line, out)
    assert out.endswith(f" {tmp_path / 'm.kes'}\n")


def test_every_option_of_learning_reaches_the_estimator(iris, tmp_path):
    options = (
        "--rule pa2 --update independent --passes 3 --no-average --no-shuffle --no-intercept "
        "--early-stopping --validation-fraction 0.2 --patience 2 --C 0.5 --promotion 1.5 "
        "--class-weight balanced --seed 7 --jobs 2 --missing impute --scale range"
    )
    run("train", iris, "-o", tmp_path / "m.kes", *options.split())
    loaded = load(tmp_path / "m.kes")
    assert loaded[-1].get_params() == {
        "rule": "pa2",
        "update": "independent",
        "max_iter": 3,
        "average": False,
        "shuffle": False,
        "fit_intercept": False,
        "early_stopping": True,
        "validation_fraction": 0.2,
        "n_iter_no_change": 2,
        "C": 0.5,
        "promotion": 1.5,
        "class_weight": "balanced",
        "random_state": 7,
        "warm_start": False,
        "n_jobs": 2,
        "verbose": 0,
    }
    assert (loaded[0].missing, loaded[0].scale) == ("impute", "range")


def test_every_option_of_the_exact_machine_reaches_it(iris, tmp_path):
    options = (
        "--estimator constraint-svc --C 0.5 --aggregate sum --loss squared_hinge --no-intercept "
        "--tol 0.01 --passes 50 --time-budget 100 --solver dual --calibration 3 "
        "--class-weight balanced --seed 7 --jobs 2"
    )
    run("train", iris, "-o", tmp_path / "m.kes", *options.split())
    assert load(tmp_path / "m.kes")[-1].get_params() == {
        "C": 0.5,
        "aggregate": "sum",
        "loss": "squared_hinge",
        "fit_intercept": False,
        "tol": 0.01,
        "max_iter": 50,
        "time_budget": 100.0,
        "solver": "dual",
        "calibration": 3,
        "class_weight": "balanced",
        "random_state": 7,
        "warm_start": False,
        "n_jobs": 2,
        "verbose": 0,
    }


def test_what_is_not_given_is_left_to_the_estimator(iris, tmp_path):
    run("train", iris, "-o", tmp_path / "o.kes")
    assert load(tmp_path / "o.kes")[-1].get_params() == {
        **OnlineClassifier(random_state=0).get_params()
    }
    run("train", iris, "-o", tmp_path / "s.kes", "--estimator", "constraint-svc")
    expected = ConstraintSVC(random_state=0).get_params()
    assert load(tmp_path / "s.kes")[-1].get_params() == expected


def test_the_exact_machine_is_learned_as_by_the_library(iris, tmp_path, capsys):
    model, page = tmp_path / "svc.kes", tmp_path / "svc.html"
    wanted = ["--estimator", "constraint-svc", "--calibration", "0.3", "--report", page]
    run("train", iris, "-o", model, *wanted)
    out = capsys.readouterr().out
    steps = [
        ("table", TablePreparer(nominal=[])),
        ("model", ConstraintSVC(calibration=0.3, random_state=0)),
    ]
    expected = Pipeline(steps).fit(X, SPECIES)
    svc = expected[-1]
    for line in [
        rf"rounds: +{svc.n_iter_}\n",
        rf"primal objective: +{svc.primal_objective_:.6g}\n",
        rf"dual objective: +{svc.dual_objective_:.6g}\n",
        rf"relative gap: +{svc.duality_gap_:.2e} .tolerance 1.00e-03.\n",
        r"stopped: +converged\n",
    ]:
        assert re.search(line, out), line
    text = page.read_text(encoding="utf-8")
    assert f"{svc.primal_objective_:.6g}" in text
    assert f"{svc.dual_objective_:.6g}" in text
    assert f"{svc.duality_gap_:.2e}" in text
    assert "converged: the relative gap fell to the tolerance" in text
    assert text.count("<svg ") == 1
    run("predict", model, iris, "-o", tmp_path / "out.csv", "--probabilities", "--scores")
    rows = read_rows((tmp_path / "out.csv").read_text(encoding="utf-8"))
    assert [row["prediction"] for row in rows] == expected.predict(X).tolist()
    for prefix, table in [
        ("probability", expected.predict_proba(X)),
        ("score", expected.decision_function(X)),
    ]:
        found = [[float(row[f"{prefix}_{name}"]) for name in svc.classes_] for row in rows]
        assert np.array_equal(found, table)
    run("evaluate", model, iris)
    assert measures(capsys)["accuracy"] == round(expected.score(X, SPECIES), 4)


def test_a_limit_of_the_exact_machine_is_said_in_the_summary(iris, tmp_path, capsys):
    options = ["--estimator", "constraint-svc", "--passes", 1, "--tol", 1e-9]
    run("train", iris, "-o", tmp_path / "m.kes", *options)
    out, err = capsys.readouterr()
    assert re.search(r"stopped: +max_iter\n", out)
    assert err == ""


def test_columns_are_found_by_name(iris, model, tmp_path, capsys):
    run("predict", model, iris)
    straight = capsys.readouterr().out
    order = [3, 1, 0, 2]
    header = ["note", *(COLUMNS[j] for j in order)]
    rows = [["x", *x[order]] for x in X]
    run("predict", model, write_csv(tmp_path / "other.csv", header, rows))
    assert capsys.readouterr().out == straight


def test_a_target_in_the_middle_is_found_again(tmp_path, capsys):
    rows = [[a, label, b] for (a, _, _, b), label in zip(X, SPECIES, strict=True)]
    data = write_csv(tmp_path / "d.csv", ["a", "label", "b"], rows)
    run("train", data, "-o", tmp_path / "m.kes", "--target", "label")
    capsys.readouterr()
    run("evaluate", tmp_path / "m.kes", data)
    assert measures(capsys)["accuracy"] > 0.9


def test_nominal_columns_and_missing_values(tmp_path, capsys):
    header = ["colour", "size", "code", "class"]
    rows = [
        ["red", "1.5", "7", "a"],
        [" blue ", "", "8", "b"],
        ["?", " 3e0 ", "7", "c"],
        ["NA", "-2", "8", "a"],
        ["blue", "nan", "9", "b"],
    ] * 4
    data = write_csv(tmp_path / "d.csv", header, rows)
    run("train", data, "-o", tmp_path / "m.kes", "--nominal", "code")
    assert re.search("nominal: +colour, code\n", capsys.readouterr().out)
    loaded = load(tmp_path / "m.kes")
    table = np.empty((20, 3), dtype=object)
    table[:, 0] = ["red", "blue", None, None, "blue"] * 4
    table[:, 1] = [1.5, np.nan, 3.0, -2.0, np.nan] * 4
    table[:, 2] = ["7", "8", "7", "8", "9"] * 4
    own = TablePreparer(nominal=[0, 2]).fit(table)
    assert np.array_equal(loaded[0].transform(table), own.transform(table))
    # A column that is nominal for the model is read as text, whatever it looks like.
    new = write_csv(tmp_path / "new.csv", ["code", "colour", "size"], [["9", "3", "1"]] * 2)
    run("predict", tmp_path / "m.kes", new)
    table = np.array([["3", 1.0, "9"]] * 2, dtype=object)
    expected = loaded.predict(table).tolist()
    assert [row["prediction"] for row in read_rows(capsys.readouterr().out)] == expected


def test_a_column_without_values_is_one_of_numbers(tmp_path):
    data = write_csv(tmp_path / "d.csv", ["a", "b", "y"], [["", i, "pq"[i % 2]] for i in range(9)])
    run("train", data, "-o", tmp_path / "m.kes")
    assert load(tmp_path / "m.kes")[0].nominal_.tolist() == [False, False]


def test_long_files_are_read_whole(tmp_path, capsys):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(6000, 3))
    labels = np.where(numbers[:, 0] > 0, "up", "down")
    rows = [[*x, y] for x, y in zip(numbers.tolist(), labels.tolist(), strict=True)]
    data = write_csv(tmp_path / "d.csv", ["a", "b", "c", "y"], rows)
    run("train", data, "-o", tmp_path / "m.kes", "--scale", "none")
    expected = OnlineClassifier(random_state=0).fit(numbers, labels)
    assert np.array_equal(load(tmp_path / "m.kes")[-1].coef_, expected.coef_)


def test_tabs_packing_quotes_blank_lines_and_byte_order_marks(iris, model, tmp_path, capsys):
    run("predict", model, iris)
    straight = capsys.readouterr().out
    lines = iris.read_text(encoding="utf-8").splitlines()
    text = "\ufeff" + "\r\n\r\n".join(line.replace(",", "\t") for line in lines)
    packed = tmp_path / "iris.tsv.gz"
    packed.write_bytes(gzip.compress(text.replace("5.1", '"5.1"').encode("utf-8")))
    run("predict", model, packed)
    assert capsys.readouterr().out == straight


def test_labels_with_commas_and_line_breaks_survive(tmp_path, capsys):
    names = ["a, b", 'say "x"', "two\nlines", "ü"]
    rows = [[*np.eye(4)[i % 4], names[i % 4]] for i in range(40)]
    data = write_csv(tmp_path / "d.csv", [*"pqrs", "y"], rows)
    run("train", data, "-o", tmp_path / "m.kes", "--passes", 50, "--kind", "classes")
    capsys.readouterr()
    run("predict", tmp_path / "m.kes", data)
    assert [row["prediction"] for row in read_rows(capsys.readouterr().out)] == [
        row[-1] for row in rows
    ]


def test_parquet_is_read_as_csv_is(iris, model, tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    run("evaluate", model, iris)
    straight = capsys.readouterr().out
    columns = {name: X[:, j] for j, name in enumerate(COLUMNS)}
    columns["species"] = pa.array(SPECIES.tolist()).dictionary_encode()
    pq.write_table(pa.table(columns), tmp_path / "iris.parquet")
    run("evaluate", model, tmp_path / "iris.parquet")
    assert capsys.readouterr().out == straight
    run("train", tmp_path / "iris.parquet", "-o", tmp_path / "p.kes", "--passes", 20)
    assert np.array_equal(load(tmp_path / "p.kes")[-1].coef_, load(model)[-1].coef_)


def test_parquet_columns_of_all_types(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {
            "i": pa.array([1, None, 3, 4], pa.int8()),
            "f": pa.array([0.5, 1.5, None, 2.0], pa.float32()),
            "b": pa.array([True, False, None, True]),
            "s": pa.array(["u", None, "v", "u"], pa.large_string()),
            "y": pa.array([1, 2, 1, 2]),
        }
    )
    pq.write_table(table, tmp_path / "d.parquet")
    run("train", tmp_path / "d.parquet", "-o", tmp_path / "m.kes")
    loaded = load(tmp_path / "m.kes")
    assert loaded[0].nominal_.tolist() == [False, False, False, True]
    assert loaded[0].mean_.tolist() == pytest.approx([8 / 3, 4 / 3, 2 / 3])
    assert loaded.classes_.tolist() == ["1", "2"]
    pq.write_table(table.append_column("t", pa.array([[1]] * 4)), tmp_path / "l.parquet")
    capsys.readouterr()
    error = fails(capsys, 1, "train", tmp_path / "l.parquet", "-o", "m.kes", "--target", "y")
    assert "column 6 ('t') is of type list" in error
    run("predict", tmp_path / "m.kes", tmp_path / "l.parquet")


# ---- arrays and svmlight ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_numpy_files_are_learned_as_by_the_library(dtype, tmp_path, capsys):
    np.save(tmp_path / "X.npy", (10 * X).astype(dtype))
    np.save(tmp_path / "y.npy", CODES)
    labels = ["--labels", tmp_path / "y.npy"]
    run("train", tmp_path / "X.npy", *labels, "-o", tmp_path / "m.kes")
    loaded = load(tmp_path / "m.kes")
    expected = OnlineClassifier(random_state=0).fit((10 * X).astype(dtype), CODES.astype(str))
    assert loaded.coef_.dtype == expected.coef_.dtype
    assert np.array_equal(loaded.coef_, expected.coef_)
    capsys.readouterr()
    run("evaluate", tmp_path / "m.kes", tmp_path / "X.npy", *labels)
    assert measures(capsys)["accuracy"] == round(expected.score(10 * X, CODES.astype(str)), 4)
    np.savez(tmp_path / "both.npz", X=(10 * X).astype(dtype), y=CODES)
    run("train", tmp_path / "both.npz", "-o", tmp_path / "n.kes", "--scale", "range")
    assert load(tmp_path / "n.kes")[0].scale == "range"
    run("predict", tmp_path / "n.kes", tmp_path / "both.npz")


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("ending", [".svm", ".libsvm.gz"])
def test_svmlight_is_learned_as_by_the_library(ending, zero_based, tmp_path, capsys):
    held = io.BytesIO()
    dump_svmlight_file(X, CODES, held, zero_based=zero_based, comment="a comment")
    path = tmp_path / f"d{ending}"
    text = held.getvalue().replace(b"\n0 ", b"\n\n+0.0 ")
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    run("train", path, "-o", tmp_path / "m.kes")
    expected = OnlineClassifier(random_state=0).fit(sp.csr_matrix(X), CODES.astype(str))
    assert np.array_equal(load(tmp_path / "m.kes").coef_, expected.coef_)
    capsys.readouterr()
    # Fewer features than the model knows, and counted as the model counts.
    part = sp.csr_matrix(X * [1, 1, 1, 0])
    dump_svmlight_file(part, CODES, str(tmp_path / "p.svm"), zero_based=zero_based)
    run("predict", tmp_path / "m.kes", tmp_path / "p.svm")
    found = [row["prediction"] for row in read_rows(capsys.readouterr().out)]
    assert found == expected.predict(part).tolist()


def test_svmlight_labels_of_all_kinds(tmp_path, capsys):
    (tmp_path / "sets.svm").write_text("3,1 1:1\n 2:1\n2:1 3:1\n1|2.0 qid:4 1:1 # 7\n")
    run("train", tmp_path / "sets.svm", "-o", tmp_path / "sets.kes")
    assert "3 (label sets)" in capsys.readouterr().out
    (tmp_path / "orders.svm").write_text("b>a|c 1:1\na 2:1\n")
    run("train", tmp_path / "orders.svm", "-o", tmp_path / "orders.kes")
    assert load(tmp_path / "orders.kes").classes_.tolist() == ["a", "b", "c"]


# ---- kinds of labels ----------------------------------------------------------------------------


def test_label_sets_go_in_and_come_out(tmp_path, capsys):
    data, constraints, _ = make_labelsets(300, 8, 4, random_state=0)
    indicator = constraints.indicator().toarray()
    indicator[::20] = 0
    names = np.array(["p", "q", "r", "s"])
    texts = ["|".join(names[row == 1]) for row in indicator]
    assert "" in texts and any("|" in text for text in texts)
    rows = [[*x, text] for x, text in zip(data.tolist(), texts, strict=True)]
    path = write_csv(tmp_path / "d.csv", [*"abcdefgh", "tags"], rows)
    run("train", path, "-o", tmp_path / "m.kes")
    assert "4 (label sets)" in capsys.readouterr().out
    estimator = load(tmp_path / "m.kes")
    run("predict", tmp_path / "m.kes", path)
    predicted = estimator.predict(data)
    assert [row["prediction"] for row in read_rows(capsys.readouterr().out)] == [
        "|".join(names[row == 1]) for row in predicted
    ]
    run("evaluate", tmp_path / "m.kes", path)
    found = measures(capsys)
    assert found["subset accuracy"] == round(accuracy_score(indicator, predicted), 4)
    assert found["Hamming loss"] == round(hamming_loss(indicator, predicted), 4)
    loss = label_ranking_loss(indicator, estimator.decision_function(data))
    assert found["ranking loss"] == round(loss, 4)
    np.savez(tmp_path / "d.npz", X=data, y=indicator)
    run("train", tmp_path / "d.npz", "-o", tmp_path / "n.kes", "--scale", "standard")
    assert np.array_equal(load(tmp_path / "n.kes")[-1].coef_, estimator[-1].coef_)


def test_rankings_go_in_and_come_out(tmp_path, capsys):
    data, _, coef = make_rankings(200, 6, 4, random_state=0)
    orders = np.argsort(-(data @ coef.T), axis=1)
    texts = [">".join(f"m{r}" for r in order) for order in orders]
    texts[0] = "m1>m0|m2>m3"
    texts[1] = ""
    rows = [[*x, text] for x, text in zip(data.tolist(), texts, strict=True)]
    path = write_csv(tmp_path / "d.csv", [*"abcdef", "order"], rows)
    run("train", path, "-o", tmp_path / "m.kes", "--passes", 30)
    assert "4 (rankings)" in capsys.readouterr().out
    estimator = load(tmp_path / "m.kes")
    run("predict", tmp_path / "m.kes", path)
    assert [row["prediction"].split(">") for row in read_rows(capsys.readouterr().out)] == (
        estimator.predict(data).tolist()
    )
    run("evaluate", tmp_path / "m.kes", path)
    found = measures(capsys)
    lists = [text.split(">") if text else [] for text in texts]
    lists[0][1] = ["m0", "m2"]
    truth = Constraints.from_rankings(orders=lists)
    scores = estimator.decision_function(data)
    assert found["Kendall's tau"] == round(metrics.kendall_tau(truth, scores), 4)
    right = 1 - metrics.constraint_error(truth, scores)
    assert found["orders without error"] == round(right, 4)


def test_blocks_of_rows_give_what_all_rows_give(iris, model, capsys, monkeypatch):
    def answers():
        run("evaluate", model, iris)
        run("predict", model, iris, "--scores")
        text = capsys.readouterr().out
        return re.sub(r"-?\d+\.\d+", "#", text), [float(v) for v in re.findall(r"-?\d+\.\d+", text)]

    text, numbers = answers()
    monkeypatch.setattr("kesler.cli._evaluate._SCORES_AT_ONCE", 21)
    monkeypatch.setattr("kesler.cli._predict._SCORES_AT_ONCE", 21)
    again, again_numbers = answers()
    assert again == text
    assert again_numbers == pytest.approx(numbers, abs=1e-9)


def test_many_classes_are_also_judged_by_their_best_five(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 400)
    data = np.eye(20)[y] + rng.normal(scale=0.6, size=(400, 20))
    np.savez(tmp_path / "d.npz", X=data, y=y.astype("S"))
    run("train", tmp_path / "d.npz", "-o", tmp_path / "m.kes")
    capsys.readouterr()
    run("evaluate", tmp_path / "m.kes", tmp_path / "d.npz")
    model = load(tmp_path / "m.kes")
    best = model.predict_labelset(data, 5)
    share = np.mean([str(label) in row for label, row in zip(y, best, strict=True)])
    assert measures(capsys)["among the best 5"] == round(share, 4)


def test_labels_the_model_does_not_know_are_wrong(model, tmp_path, capsys):
    rows = [[*x, y if i else "lily"] for i, (x, y) in enumerate(zip(X, SPECIES, strict=True))]
    path = write_csv(tmp_path / "new.csv", [*COLUMNS, "species"], rows)
    assert main(["evaluate", str(model), str(path)]) == 0
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and "does not know, ranked last: lily" in err
    wrong = np.sum(load(model).predict(X)[1:] != SPECIES[1:]) + 1
    assert f"{1 - wrong / 150:.4f}" in out


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["a", "b"], "classes"),
        (["a", "b|c"], "labelsets"),
        (["a", "", "b|c"], "labelsets"),
        (["a", "b|c>d"], "rankings"),
    ],
)
def test_the_kind_of_labels_is_seen(texts, kind):
    assert kind_of(texts) == kind
    assert constraints_of(texts, "auto", "", str).kind == kind


NAMES = st.text("abcdef", min_size=1, max_size=2)


@given(st.lists(st.lists(NAMES, max_size=4, unique=True), min_size=1, max_size=8))
def test_texts_of_sets_are_sets(sets):
    read = constraints_of(["|".join(s) for s in sets], "labelsets", "", str)
    made = Constraints.from_labelsets(sets, calibrate=True)
    assert np.array_equal(read.labels, made.labels)
    assert all(np.array_equal(a, b) for a, b in zip(read.pairs(), made.pairs(), strict=True))


@given(st.lists(st.lists(NAMES, max_size=5, unique=True), min_size=1, max_size=8), st.data())
def test_texts_of_rankings_are_rankings(orders, data):
    signs = [[data.draw(st.sampled_from([">", "|"])) for _ in order] for order in orders]
    texts = [
        "".join(v for pair in zip(o, s, strict=True) for v in pair)[:-1]
        for o, s in zip(orders, signs, strict=True)
    ]
    tiers = [[tier.split("|") for tier in text.split(">")] if text else [] for text in texts]
    read = constraints_of(texts, "rankings", "", str)
    made = Constraints.from_rankings(orders=tiers)
    assert np.array_equal(read.labels, made.labels)
    assert all(np.array_equal(a, b) for a, b in zip(read.pairs(), made.pairs(), strict=True))


# ---- models from elsewhere ----------------------------------------------------------------------


def test_a_model_saved_by_the_library_predicts(iris, tmp_path, capsys):
    save(OnlineClassifier(random_state=0).fit(X, CODES), tmp_path / "m.kes")
    np.savez(tmp_path / "d.npz", X=X, y=CODES)
    run("evaluate", tmp_path / "m.kes", tmp_path / "d.npz")
    expected = OnlineClassifier(random_state=0).fit(X, CODES).score(X, CODES)
    assert measures(capsys)["accuracy"] == round(expected, 4)
    # It knows no names: all columns but the last, or but the one named, are features.
    run("predict", tmp_path / "m.kes", iris)
    straight = capsys.readouterr().out
    run("predict", tmp_path / "m.kes", iris, "--target", "species")
    assert capsys.readouterr().out == straight
    bare = write_csv(tmp_path / "bare.csv", COLUMNS, X.tolist())
    run("predict", tmp_path / "m.kes", bare)
    assert capsys.readouterr().out == straight
    error = fails(capsys, 1, "evaluate", tmp_path / "m.kes", bare)
    assert error == f"{bare}: no column for the labels; name one with --target"


def test_a_model_saved_by_the_library_with_names_predicts(iris, tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(iris)
    model = Pipeline([("t", TablePreparer()), ("m", OnlineClassifier(random_state=0))])
    model.fit(frame[COLUMNS[::-1]], frame["species"])
    save(model, tmp_path / "m.kes")
    run("predict", tmp_path / "m.kes", iris)
    assert [row["prediction"] for row in read_rows(capsys.readouterr().out)] == (
        model.predict(frame[COLUMNS[::-1]]).tolist()
    )


def test_what_predicts_nothing_is_refused(iris, tmp_path, capsys):
    save(TablePreparer().fit(X), tmp_path / "t.kes")
    error = fails(capsys, 1, "predict", tmp_path / "t.kes", iris)
    assert error == f"{tmp_path / 't.kes'} is a TablePreparer, which predicts no labels"
    error = fails(capsys, 1, "predict", iris, iris)
    assert error.startswith(f"{iris} is no Kesler model: ")


# ---- errors name file, row and column -----------------------------------------------------------

BAD_CSV = {
    "a number": (
        "a,b,y\n1,2,p\n3,x4,q\n" + "1,2,p\n" * 5000,
        "row 3, column 2 ('b'): 'x4' is no finite number",
    ),
    "later": (
        "a,b,y\n" + "1,2,p\n" * 5000 + "5,six,p\n",
        "row 5002, column 2 ('b'): 'six' is no finite number",
    ),
    "infinite": (
        "a,b,y\n" + "1,2,p\n" * 4999 + "\n5,inf,p\n",
        "row 5002, column 2 ('b'): 'inf' is no finite number",
    ),
    "infinite at once": ("a,b,y\n1,1e999,p\n", "row 2, column 2 ('b'): '1e999' is no finite"),
    "after lines within quotes": (
        'a,b,y\n1,2,"p\nq"\n1,2,p,\n',
        "row 4 has 4 fields, but the header has 3",
    ),
    "too few fields": ("a,b,y\n1,2,p\n\n3,q\n", "row 4 has 2 fields, but the header has 3"),
    "no field": ("a,b,y\n1,2,\n", "row 2, column 3 ('y'): the label is missing"),
    "empty": ("", "the file is empty; row 1 must name the columns"),
    "only a header": ("a,b,y\n", "no row follows the header"),
    "no header": ("1,2,3\n4,5,6\n", "row 1 must name the columns, but holds numbers"),
    "a column twice": ("a,b,a\n1,2,p\n", "row 1, column 3: another column is named 'a' too"),
    "no name": (",a,y\n1,2,p\n", "row 1, column 1: the column has no name"),
    "only labels": ("y\np\n", "no column beside the labels in 'y'"),
    "open quotes": ('a,b,y\n1,2,p\n1,"2,p\n', "row 3: unexpected end of data"),
    "a tier twice": ("a,y\n1,p>q\n2,p>q>p\n", "row 3, column 2 ('y'): the ranking 'p>q>p' has 'p'"),
    "a hole": ("a,y\n1,p|q\n2,p||q\n", "row 3, column 2 ('y'): a label between signs is missing"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_errors_in_csv_name_the_place(case, tmp_path, capsys):
    text, message = BAD_CSV[case]
    path = tmp_path / "bad.csv"
    path.write_text(text, newline="")
    arguments = ["train", path, "-o", tmp_path / "m.kes"]
    if message is None:  # among the first rows a column with text is nominal
        run(*arguments)
        return
    error = fails(capsys, 1, *arguments)
    assert error.startswith(f"{path}: {message}")
    assert list(tmp_path.iterdir()) == [path]


def test_errors_of_bytes_name_the_row(tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"a,y\n1,p\n2,\xff\n")
    error = fails(capsys, 1, "train", path, "-o", tmp_path / "m.kes")
    assert error == f"{path}: row 3 is not UTF-8 text"
    packed = tmp_path / "bad.csv.gz"
    packed.write_bytes(gzip.compress(b"a,y\n" + b"1,p\n" * 100_000)[:-60])
    error = fails(capsys, 1, "train", packed, "-o", tmp_path / "m.kes")
    assert error.startswith(f"{packed}: a damaged gzip file")
    packed.write_bytes(b"a,y\n1,p\n")
    error = fails(capsys, 1, "train", packed, "-o", tmp_path / "m.kes")
    assert error.startswith(f"{packed}: a damaged gzip file")


def test_errors_in_prediction_name_the_place(model, tmp_path, capsys):
    rows = [["1", "2", "3", "4"]] * 3 + [["1", "wide", "3", "4"]]
    path = write_csv(tmp_path / "new.csv", COLUMNS, rows)
    error = fails(capsys, 1, "predict", model, path, "-o", tmp_path / "out.csv")
    assert error.startswith(f"{path}: row 5, column 2 ('sepal width'): 'wide' is no finite number")
    assert not (tmp_path / "out.csv").exists()
    path = write_csv(tmp_path / "new.csv", COLUMNS[1:], [row[1:] for row in rows])
    error = fails(capsys, 1, "predict", model, path)
    assert error.startswith(f"{path}: no column 'sepal length' among sepal width")
    error = fails(capsys, 1, "evaluate", model, write_csv(path, COLUMNS, rows[:3]))
    assert error == f"{path}: no column 'species' for the labels; name one with --target"
    error = fails(capsys, 1, "evaluate", model, path, "--target", "kind")
    assert error.startswith(f"{path}: no column 'kind' among sepal length")


def test_errors_in_names_of_columns(model, iris, tmp_path, capsys):
    target = tmp_path / "m.kes"
    for option, name in [("--target", "kind"), ("--nominal", "kind")]:
        error = fails(capsys, 1, "train", iris, "-o", target, option, name)
        assert error == f"{iris}: no column 'kind' among {', '.join([*COLUMNS, 'species'])}"
    save(OnlineClassifier(random_state=0).fit(X[:, :2], CODES), target)
    error = fails(capsys, 1, "predict", target, iris)
    assert error == f"{iris}: 5 columns beside the labels, but the model takes 2"
    arrays, metadata = pack_model(load(model), {"command_line": {"columns": ["a", "b"]}})
    with target.open("wb") as stream:
        write_model(stream, arrays, metadata)
    error = fails(capsys, 1, "predict", target, iris)
    assert error == f"{target} names other columns than its model takes"
    with target.open("wb") as stream:
        write_model(stream, *pack_model(load(model), {"command_line": [{}]}))
    run("predict", target, iris)


BAD_SVM = {
    "1 1:2\n2 1:x\n": "row 2: '1:x' is not feature:value",
    "# first\n1 1:2\n\n2 3\n": "row 4: '3' is not feature:value",
    "1 2:1 2:3\n": "row 1: feature 2 follows feature 2; features must rise",
    "1 -2:1\n": "row 1: feature -2 is below 0 or too large",
    "1 99999999999:1\n": "row 1: feature 99999999999 is below 0 or too large",
    "1 1:nan\n": "row 1, feature 1: nan is no finite number",
    "1 1:1\n2 1:1 3:1e999\n": "row 2, feature 3: inf is no finite number",
    "# nothing\n": "the file holds no example",
    "a>>b 1:1\n": "row 1, the label: a label between signs is missing",
}


@pytest.mark.parametrize("text", BAD_SVM)
def test_errors_in_svmlight_name_the_place(text, tmp_path, capsys):
    path = tmp_path / "bad.svm"
    path.write_text(text)
    error = fails(capsys, 1, "train", path, "-o", tmp_path / "m.kes")
    assert error.startswith(f"{path}: {BAD_SVM[text]}")


def test_svmlight_features_the_model_does_not_know(tmp_path, capsys):
    (tmp_path / "a.svm").write_text("1 1:1 3:1\n2 2:1\n")
    run("train", tmp_path / "a.svm", "-o", tmp_path / "m.kes")
    capsys.readouterr()
    for feature in (0, 4):
        (tmp_path / "b.svm").write_text(f"1 1:1\n1 {feature}:1\n")
        error = fails(capsys, 1, "predict", tmp_path / "m.kes", tmp_path / "b.svm")
        assert error.endswith(f"row 2: feature {feature}; the model takes features 1 to 3")


def trained_on_two(capsys, tmp_path):
    save(OnlineClassifier(random_state=0).fit(X[:, :2], CODES), tmp_path / "two.kes")
    np.save(tmp_path / "X.npy", X)
    return fails(capsys, 1, "predict", tmp_path / "two.kes", tmp_path / "X.npy")


def test_errors_in_arrays_name_the_place(tmp_path, capsys):
    def trained(X, y, name="X.npy"):
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        arguments = [tmp_path / name, "--labels", tmp_path / "y.npy", "-o", tmp_path / "m.kes"]
        return fails(capsys, 1, "train", *arguments)

    holed = X.copy()
    holed[6, 2] = np.nan
    assert trained(holed, CODES).endswith("X.npy: row 7, feature 3: nan is no finite number")
    assert "y is of shape (149,), but X has 150 rows" in trained(X, CODES[1:])
    assert "y.npy: row 1: 0.5 is no label" in trained(X, CODES + 0.5)
    assert "holds 0 and 1" in trained(X, np.full((150, 2), 2))
    assert "4 columns, but the model takes 2" in trained_on_two(capsys, tmp_path)
    assert "X is of type float64 and shape (4,)" in trained(X[0], CODES)
    assert "X is of type <U1" in trained(np.full((3, 2), "a"), CODES[:3])
    assert "can be read safely" in trained(np.array([[{}]], dtype=object), CODES)
    assert "y is of type complex128" in trained(X, CODES * 1j)
    assert "X has no rows" in trained(X[:0], CODES[:0])
    np.savez(tmp_path / "only.npz", Z=X)
    assert trained(X, CODES, "only.npz").endswith("only.npz: no array X among Z")
    (tmp_path / "bad.npy").write_bytes(b"no array")
    assert "can be read safely" in trained(X, CODES, "bad.npy")
    error = fails(capsys, 1, "train", tmp_path / "X.npy", "-o", tmp_path / "m.kes")
    assert "give --labels y.npy" in error


def test_missing_files_are_named(model, tmp_path, capsys):
    path = tmp_path / "nowhere.csv"
    assert fails(capsys, 1, "predict", model, path) == f"{path}: No such file or directory"
    assert fails(capsys, 1, "predict", path, model).startswith(f"{path}: ")
    error = fails(capsys, 1, "predict", model, model.parent / "iris.csv", "-o", path / "x.csv")
    assert str(path) in error


def test_parquet_errors_name_the_place(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path, target = tmp_path / "d.parquet", tmp_path / "m.kes"

    def failing(command, **columns):
        pq.write_table(pa.table(columns), path)
        return fails(capsys, 1, *command).removeprefix(f"{path}: ")

    train = ("train", path, "-o", target)
    assert failing(train, a=[1.0, np.inf], y=["p", "q"]) == (
        "column 1 ('a'): row 2 is no finite number"
    )
    assert failing(train, a=pa.array([], pa.int32()), y=pa.array([], pa.string())) == (
        "the file has no rows"
    )
    assert failing(train, a=[1, 2], y=["p", None]).startswith(
        "row 2, column 2 ('y'): the label is missing"
    )
    pq.write_table(pa.table({"a": pa.array([1, 2]).dictionary_encode(), "y": ["p", "q"]}), path)
    run("train", path, "-o", target)
    capsys.readouterr()
    assert failing(("predict", target, path), a=["1", "2"]) == (
        "column 1 ('a') is text, but the model takes numbers there"
    )
    pq.write_table(pa.table({"a": [1, 2], "y": ["p", "q"]}), path)
    run("train", path, "-o", target, "--nominal", "a")
    assert load(target)[0].categories_[0].tolist() == ["1", "2"]


def test_parquet_errors_name_the_file(tmp_path, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "d.parquet"
    path.write_bytes(b"PAR1 no more than that PAR1")
    error = fails(capsys, 1, "train", path, "-o", tmp_path / "m.kes")
    assert error.startswith(f"{path}: ")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = fails(capsys, 1, "train", path, "-o", tmp_path / "m.kes")
    assert error == "Parquet files need pyarrow: pip install 'kesler[cli]'"


# ---- the command line itself --------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "",
        "fly",
        "train {iris}",
        "train {iris} -o {iris}",
        "train {folder}/iris.txt -o m.kes",
        "train {folder}/iris.parquet.gz -o m.kes",
        "train {iris} -o m.kes --passes 0",
        "train {iris} -o m.kes --passes many",
        "train {iris} -o m.kes --C -1",
        "train {iris} -o m.kes --rule sgd",
        "train {iris} -o m.kes --rule positive_winnow --update independent",
        "train {iris} -o m.kes --labels y.npy",
        "train {iris} -o m.kes --kind tags",
        "train {iris} -o m.kes --pass 3",
        "train {folder}/X.npy -o m.kes --target y",
        "train {iris} -o m.kes --estimator svm",
        "train {iris} -o m.kes --estimator constraint-svc --rule pa1",
        "train {iris} -o m.kes --estimator constraint-svc --no-average",
        "train {iris} -o m.kes --estimator constraint-svc --C 0",
        "train {iris} -o m.kes --estimator constraint-svc --tol 0",
        "train {iris} -o m.kes --estimator constraint-svc --calibration 1",
        "train {iris} -o m.kes --estimator constraint-svc --calibration half",
        "train {iris} -o m.kes --estimator constraint-svc --report page.pdf",
        "train {iris} -o m.kes --estimator constraint-svc --report {folder}/nowhere/page.html",
        "train {iris} -o m.kes --aggregate sum",
        "train {iris} -o m.kes --tol 0.1",
        "train {iris} -o m.kes --report page.html",
        "predict {model} {iris} --probabilities",
        "train {folder}/a.svm -o m.kes --scale standard",
        "predict {model} {iris} -o {iris}",
        "predict {model} {iris} -o {model}",
        "predict {model} {iris} --top 4",
        "predict {model} {iris} --top 0",
        "predict {model} {iris} --jobs 0",
        "evaluate {model} {iris} --kind tags",
        "evaluate {model}",
        "reproduce perpetual-motion",
        "reproduce constraint-classification --seeds 0",
        "demo -o page.pdf",
        "demo -o {folder}/nowhere/page.html",
    ],
)
def test_a_wrong_command_line_is_code_2(line, iris, model, tmp_path, capsys):
    (tmp_path / "a.svm").write_text("1 1:1 3:1\n2 2:1\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    names = {"iris": iris, "model": model, "folder": tmp_path}
    error = fails(capsys, 2, *line.format(**names).split())
    assert error
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_to_the_input_is_the_input(iris, tmp_path, capsys):
    (tmp_path / "link.csv").symlink_to(iris)
    assert "is the input" in fails(capsys, 2, "train", iris, "-o", tmp_path / "link.csv")


@pytest.mark.parametrize("command", ["", "train", "predict", "evaluate", "reproduce", "demo"])
def test_help_has_examples_that_parse(command, capsys):
    assert main([*command.split(), "--help"]) == 0
    text = capsys.readouterr().out
    examples = re.findall(r"^  kesler (.*)$", text, re.MULTILINE)
    assert examples
    from kesler.cli._main import _parser

    for line in examples:
        _parser().parse_args(line.split())


def test_dash_is_standard_output(iris, model, tmp_path, capsys):
    run("predict", model, iris, "-o", tmp_path / "out.csv")
    run("predict", model, iris, "-o", "-")
    assert capsys.readouterr().out == (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_a_model_can_go_to_standard_output(iris, model, tmp_path, capfdbinary):
    run("train", iris, "-o", "-", "--passes", 20)
    out, err = capfdbinary.readouterr()
    (tmp_path / "piped.kes").write_bytes(out)
    assert np.array_equal(load(tmp_path / "piped.kes")[-1].coef_, load(model)[-1].coef_)
    assert b"examples:" in err


def test_a_model_does_not_go_to_a_terminal(iris, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "terminal" in fails(capsys, 2, "train", iris, "-o", "-")


def test_ctrl_c_is_code_130_and_leaves_no_file(iris, tmp_path, capsys, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineClassifier, "fit", interrupted)
    error = fails(capsys, 130, "train", iris, "-o", tmp_path / "m.kes")
    assert error == "stopped"
    assert list(tmp_path.iterdir()) == [iris]


def test_too_little_memory_is_one_line(iris, tmp_path, capsys, monkeypatch):
    def greedy(*args, **options):
        raise MemoryError

    monkeypatch.setattr(OnlineClassifier, "fit", greedy)
    error = fails(capsys, 1, "train", iris, "-o", tmp_path / "m.kes")
    assert error == "there is not enough memory"


def test_reproduce_runs_the_experiment_of_that_name(tmp_path, capsys, monkeypatch):
    asked = []

    def experiment(name, output, *, seeds, quick):
        asked.append((name, output, seeds, quick))
        return "a table"

    monkeypatch.setattr("kesler.experiments.run", experiment)
    folder = tmp_path / "reports"
    run("reproduce", "constraint-classification", "-o", folder, "--seeds", 2, "--quick")
    assert asked == [("constraint-classification", folder, 2, True)]
    assert capsys.readouterr().out == f"a table\nfiles in {folder}\n"
    monkeypatch.chdir(tmp_path)
    run("reproduce", "constraint-classification")
    default = Path("reports", "constraint-classification")
    assert asked[1] == ("constraint-classification", default, 5, False)
    assert capsys.readouterr().out == f"a table\nfiles in {default.absolute()}\n"


@pytest.mark.parametrize("start", [["-m", "kesler"], ["-c", "import kesler.cli as c; c.main()"]])
def test_it_runs_as_a_program(start, iris, model):
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, *start, "evaluate", str(model), str(iris)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "accuracy" in done.stdout and done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="no pipes of this kind")
def test_a_reader_that_leaves_early_is_no_error(iris, model):
    command = [sys.executable, "-m", "kesler", "predict", str(model), str(iris)]
    read, write = os.pipe()
    os.close(read)  # nobody will ever read
    with os.fdopen(write, "wb") as end:
        done = subprocess.run(command, stdout=end, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and done.stderr == ""
