"""Every set by name: shape, target, split, and what happens when a set is not there."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from kesler.datasets import load, names
from kesler.datasets._catalogue import CATALOGUE
from kesler.datasets._dataset import Dataset, fingerprint

LARGE = {"isolet", "mnist", "20news", "bibtex", "yeast", "scene"}


def check(data, facts):
    assert data.data.shape == (facts.n_rows, facts.n_features)
    assert len(data.feature_names) == len(set(data.feature_names)) == facts.n_features
    assert len(data.target_names) == facts.n_labels
    assert data.target_kind == facts.target
    if facts.target == "class":
        assert data.target.shape == (facts.n_rows,)
        assert data.target.dtype.kind == "U"
        assert np.unique(data.target).tolist() == sorted(data.target_names)
    elif facts.target == "ranks":
        assert data.target.dtype == np.float64
        assert np.array_equal(
            np.sort(data.target, axis=1),
            np.tile(np.arange(1, facts.n_labels + 1), (facts.n_rows, 1)),
        )
    else:
        assert sp.issparse(data.target)
        assert data.target.format == "csr"
        assert data.target.shape == (facts.n_rows, facts.n_labels)
        assert set(data.target.data) == {1}
    if facts.layout == "svmlight":
        assert sp.issparse(data.data)
        assert data.data.format == "csr"
    elif facts.nominal:
        assert data.data.dtype == object
        for j in range(facts.n_features):
            kinds = set(map(type, data.data[:, j]))
            assert kinds <= ({str, float} if j in facts.nominal else {float})
            assert (str in kinds) == (j in facts.nominal)
    else:
        assert data.data.dtype == (np.float32 if facts.layout == "idx" else np.float64)
        assert data.data.flags.c_contiguous
        assert np.isfinite(data.data).all()


@pytest.mark.parametrize("name", sorted(set(names()) - LARGE))
def test_set(data_dir, name):
    facts = CATALOGUE[name]
    data = load(name, source=data_dir)
    check(data, facts)
    constraints = data.constraints()
    assert constraints.n_samples == facts.n_rows
    assert constraints.n_labels == facts.n_labels
    assert constraints.kind == {"class": "classes", "ranks": "rankings"}.get(
        facts.target, facts.target
    )
    if facts.row_order is not None:
        assert fingerprint(data.data, data.target) == facts.row_order


# Times are several times what an idle machine takes, which is under 2 s for each.
@pytest.mark.parametrize(("name", "seconds"), [("isolet", 6), ("mnist", 6), ("20news", 10)])
def test_large_set_is_read_at_speed(data_dir, name, seconds):
    facts = CATALOGUE[name]
    begin = time.process_time()
    data = load(name, source=data_dir)
    assert time.process_time() - begin < seconds
    check(data, facts)
    if facts.row_order is not None:
        assert fingerprint(data.data, data.target) == facts.row_order
    X_train, X_test, y_train, y_test = data.split()
    assert X_train.shape == (facts.n_train, facts.n_features)
    assert X_test.shape == (facts.n_test, facts.n_features)
    assert len(y_train) == facts.n_train
    assert len(y_test) == facts.n_test


@pytest.mark.parametrize("name", ["emotions", "scene"])
def test_label_sets(data_dir, name):
    data = load(name, source=data_dir)
    check(data, CATALOGUE[name])
    assert np.array_equal(data.constraints().indicator().toarray(), data.target.toarray())


def test_missing_values_stay_missing(data_dir):
    for name, missing in (("soybean", 2337), ("audiology", 317), ("postoperative", 3)):
        data = load(name, source=data_dir)
        assert (data.data != data.data).sum() == missing


def test_mnist_is_scaled(data_dir):
    data = load("mnist", source=data_dir)
    assert data.data.min() == 0
    assert data.data.max() == 1
    assert np.unique(data.data).size == 256
    # The first digits of both parts, as everyone knows them.
    assert data.target[:5].tolist() == list("50419")
    assert data.target[60000:60005].tolist() == list("72104")


def test_dense_split_is_a_view(data_dir):
    data = load("letter", source=data_dir)
    X_train, X_test, y_train, y_test = data.split()
    assert X_train.shape == (16000, 16)
    assert X_test.shape == (4000, 16)
    for part in (X_train, X_test):
        assert np.shares_memory(part, data.data)
    assert np.array_equal(np.concatenate([y_train, y_test]), data.target)


def test_scattered_split():
    rows = np.array([2, 0])
    data = Dataset(
        "d", np.eye(3), np.array(["a", "b", "c"]), [], [], "class", [], rows, np.array([1])
    )
    X_train, _, y_train, y_test = data.split()
    assert X_train.tolist() == np.eye(3)[[2, 0]].tolist()
    assert y_train.tolist() == ["c", "a"]
    assert y_test.tolist() == ["b"]


def test_a_set_without_a_split_says_so(data_dir):
    data = load("iris", source=data_dir)
    assert data.train is None
    with pytest.raises(ValueError, match="iris has no split"):
        data.split()


def test_environment_names_the_folder(data_dir, monkeypatch):
    monkeypatch.setenv("KESLER_DATA", str(data_dir))
    assert load("lenses").data.shape == (24, 4)


def test_unknown_name():
    with pytest.raises(ValueError, match="no data set 'leter'; did you mean 'letter'"):
        load("leter")
    with pytest.raises(ValueError, match="no data set 'xyzzy'; names"):
        load("xyzzy")
    with pytest.raises(TypeError, match="string, not int"):
        load(3)


def test_a_set_without_a_copy_on_openml_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("KESLER_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError,
        match=r"scene has no copy on OpenML.*KESLER_DATA.*scene\.train\.svm\.gz and scene\.test",
    ):
        load("scene")
    monkeypatch.setenv("KESLER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="lenses has no copy on OpenML"):
        load("lenses")


def test_folder_that_is_none(monkeypatch, tmp_path):
    with pytest.raises(NotADirectoryError, match=r"source must name a folder; .*nowhere"):
        load("iris", source=tmp_path / "nowhere")
    monkeypatch.setenv("KESLER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="KESLER_DATA must name a folder"):
        load("iris")


def test_folder_without_the_set(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no iris\.csv\.gz"):
        load("iris", source=tmp_path)
    (tmp_path / "yeast.train.svm.gz").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"has yeast\.train\.svm\.gz but not yeast\.test"):
        load("yeast", source=tmp_path)


def test_fingerprint_knows_the_order_and_no_names():
    x = np.array([[0.5], [0.5], [1.0], [2.0]])
    y = np.array(["b", "a", "b", "a"])
    renamed = np.array(["1", "2", "1", "2"])
    assert fingerprint(x, y) == fingerprint(x, renamed) == fingerprint(2 * x, y)
    assert fingerprint(x, y) != fingerprint(x[::-1], y[::-1])
    assert fingerprint(x, y) != fingerprint(x, np.array(["b", "b", "a", "a"]))
    categories = np.array([["u"], ["v"], ["w"], ["u"]], dtype=object)
    assert fingerprint(categories, y) == fingerprint(categories[::-1], y)
