"""What comes from OpenML is brought into form, and refused where it is another set."""

import sys
from dataclasses import replace
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from kesler.datasets import load
from kesler.datasets._catalogue import CATALOGUE


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("KESLER_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch):
    """Stand in for OpenML: put what it should answer into the list given."""
    answers = []

    def fetch_openml(**asked):
        answer = answers.pop()
        if isinstance(answer, Exception):
            raise answer
        assert asked == {"data_id": asked["data_id"], "as_frame": True, "parser": "pandas"}
        return SimpleNamespace(data=answer[0], target=answer[1], asked=asked)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return answers


def frame(name, seed=0):
    facts = CATALOGUE[name]
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(facts.n_rows, facts.n_features))).rename(
        columns="f{}".format
    )
    for j in facts.nominal:
        data[f"f{j}"] = pd.Categorical(rng.choice(["a", "b"], facts.n_rows))
    target = pd.Series(pd.Categorical([str(i % facts.n_labels) for i in range(facts.n_rows)]))
    return data, target


def test_numbers(openml):
    data, target = frame("iris")
    openml.append((data, target))
    found = load("iris")
    assert found.data.dtype == np.float64
    assert np.array_equal(found.data, data.to_numpy())
    assert found.target.tolist() == target.tolist()
    assert found.target.dtype.kind == "U"
    assert found.feature_names == ["f0", "f1", "f2", "f3"]
    assert found.target_names == ["0", "1", "2"]
    assert found.nominal == []


def test_folder_comes_first_and_can_be_passed_by(openml, tmp_path, monkeypatch):
    monkeypatch.setenv("KESLER_DATA", str(tmp_path))
    openml.append(frame("iris"))
    load("iris")  # the folder has no iris
    (tmp_path / "iris.csv.gz").write_bytes(b"not even gzip")
    with pytest.raises(ValueError, match=r"iris\.csv\.gz is no gzip file"):
        load("iris")
    openml.append(frame("iris"))
    assert load("iris", source="openml").name == "iris"


def test_mixed_with_missing_values(openml):
    data, target = frame("postoperative")
    # On OpenML this column of numbers is one of categories.
    comfort = pd.Categorical(["05", "15", None] * 30)
    data["f7"] = comfort
    data.loc[1, "f0"] = None
    openml.append((data, target))
    found = load("postoperative")
    assert found.data.dtype == object
    assert found.data[0, 7] == 5.0
    assert np.isnan(found.data[2, 7])
    assert np.isnan(found.data[1, 0])
    assert set(found.data[2:, 0]) == {"a", "b"}
    assert {type(v) for v in found.data[:, 7]} == {float}
    assert found.nominal == [f"f{j}" for j in range(7)]


def test_categories_that_are_numbers_become_strings(openml):
    data, target = frame("tae")
    data["f1"] = np.arange(len(data)) % 25
    openml.append((data, target))
    assert set(load("tae").data[:, 1]) == {str(i) for i in range(25)}


def test_columns_beside_the_features_are_left_out(openml):
    data, target = frame("vowel")
    data.insert(0, "Speaker_Number", "Andrew")
    data.insert(1, "Sex", "Male")
    openml.append((data, target))
    found = load("vowel")
    assert found.data.shape == (990, 10)
    assert found.data.dtype == np.float64


def test_images(openml, monkeypatch):
    small = replace(CATALOGUE["mnist"], n_features=4, n_train=8, n_test=2, n_labels=5)
    monkeypatch.setitem(CATALOGUE, "mnist", small)
    data, target = frame("mnist")
    data.loc[:, :] = np.arange(40).reshape(10, 4)
    openml.append((data.astype(np.int64), target))
    found = load("mnist")
    assert found.data.dtype == np.float32
    assert np.array_equal(found.data, np.arange(40, dtype=np.float32).reshape(10, 4) / 255)


def test_split_only_where_rows_are_in_the_known_order(openml, data_dir):
    mine = load("vowel", source=data_dir)
    data = pd.DataFrame(mine.data)
    renamed = pd.Series(np.char.add("vowel ", mine.target))
    openml.append((data, renamed))
    X_train, _, y_train, _ = load("vowel").split()
    assert np.array_equal(X_train, mine.data[:528])
    assert y_train[0] == "vowel 0"
    openml.append((data[::-1], renamed[::-1]))
    other = load("vowel")
    assert other.train is None
    with pytest.raises(ValueError, match="vowel has no split"):
        other.split()


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda d, t: (d[:-1], t[:-1]), "150 rows, 4 features.*it has 149 rows and 4 features"),
        (lambda d, t: (d.iloc[:, :3], t), "it has 150 rows and 3 features"),
        (lambda d, t: (d, None), "one target"),
        (lambda d, t: (d, t.replace({"2": "1"})), "must have 3 classes; it has 2: '0', '1'"),
        (lambda d, t: (d, t.astype(object).where(t != "2")), "rows without a class"),
        (lambda d, t: (d.astype(object).replace({d.iloc[3, 2]: "?"}), t), "column 'f2'"),
    ],
)
def test_another_set_is_refused(openml, spoil, match):
    data, target = frame("iris")
    openml.append(spoil(data, target.astype(str)))
    with pytest.raises(ValueError, match=rf"^iris on OpenML \(data set 61\).*{match}"):
        load("iris")


def test_no_network_says_what_to_set(openml):
    openml.append(URLError("no route to host"))
    with pytest.raises(
        OSError, match=r"iris on OpenML.*no route to host.*KESLER_DATA.*iris\.csv\.gz"
    ):
        load("iris")


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'kesler\[datasets\]'"):
        load("iris")
