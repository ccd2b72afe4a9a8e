"""A model that was stored and loaded is the same model; a file that is no model is refused."""

import json
import os
import pickle
import re
import stat
import tracemalloc

import joblib
import numpy as np
import pytest
import safetensors
import safetensors.numpy
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron
from sklearn.pipeline import Pipeline

from kesler import Constraints, OnlineClassifier, load, save
from kesler.persistence._container import Container, write_container
from kesler.persistence._files import replacing
from kesler.persistence._models import pack_model, read_model, write_model
from kesler.preparation import TablePreparer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
CODES = RNG.integers(0, 4, 60)
INDICATOR = RNG.integers(0, 2, (60, 4))
ORDERS = np.argsort(RNG.normal(size=(60, 4)), axis=1)


def stored(model, folder):
    save(model, folder / "model.kes")
    return load(folder / "model.kes")


def same_array(a, b):
    if sp.issparse(a) or sp.issparse(b):
        return sp.issparse(a) and sp.issparse(b) and (a != b).nnz == 0
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and np.array_equal(a, b)


def assert_same_model(a, b, X):
    assert a.get_params() == b.get_params()
    assert set(vars(a)) == set(vars(b))
    for name in ("classes_", "coef_", "intercept_"):
        assert same_array(getattr(a, name), getattr(b, name)), name
    for name in ("n_iter_", "t_", "mistakes_", "n_updates_", "n_features_in_"):
        assert getattr(a, name) == getattr(b, name), name
    assert getattr(a, "outcome_", None) == getattr(b, "outcome_", None)
    assert same_array(a.predict(X), b.predict(X))
    assert same_array(a.decision_function(X), b.decision_function(X))
    assert same_array(a.predict_ranking(X), b.predict_ranking(X))


def rewritten(path, model, change):
    """Stores `model` after `change(fields, arrays)`, with the checksum of what it then is."""
    arrays, metadata = pack_model(model)
    fields = json.loads(metadata["model"])
    change(fields, arrays)
    with path.open("wb") as stream:
        write_model(stream, arrays, {**metadata, "model": json.dumps(fields)})


def put(where, **values):
    return lambda fields, arrays: {"fields": fields, "arrays": arrays}[where].update(values)


def cut(name, *index):
    def change(fields, arrays):
        arrays[name] = arrays[name][index]

    return change


def drop(where, name):
    return lambda fields, arrays: {"fields": fields, "arrays": arrays}[where].pop(name)


def params(**values):
    return lambda fields, arrays: fields["params"].update(values)


# ---- the container ------------------------------------------------------------------------------

ARRAYS = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name != "__metadata__"),
    st.sampled_from(
        ["?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"]
    ).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    ),
    max_size=4,
)
METADATA = st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=3)


@given(ARRAYS, METADATA)
def test_safetensors_reads_what_is_written(tmp_path_factory, arrays, metadata):
    path = tmp_path_factory.mktemp("container") / "file"
    with path.open("wb") as stream:
        write_container(stream, arrays, metadata)
    read = safetensors.numpy.load_file(path)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype and read[name].shape == array.shape
        assert read[name].tobytes() == array.tobytes()
    with safetensors.safe_open(path, framework="np") as opened:
        assert metadata.items() <= opened.metadata().items()


@given(ARRAYS, METADATA)
def test_what_safetensors_wrote_is_read(tmp_path_factory, arrays, metadata):
    path = tmp_path_factory.mktemp("container") / "file"
    metadata.pop("crc32", None)
    safetensors.numpy.save_file(arrays, path, metadata=metadata or None)
    with path.open("rb") as stream:
        container = Container(stream, path.stat().st_size)
        assert container.metadata == metadata
        assert set(container) == set(arrays)
        for name, array in arrays.items():
            assert container[name].dtype == array.dtype
            assert container[name].tobytes() == array.tobytes()


def test_strided_and_big_endian_arrays_are_written_as_they_read(tmp_path):
    table = np.arange(600_000, dtype=np.float64).reshape(1000, 600)
    arrays = {"part": table[:, 3:77], "turned": table.T[::2], "big": table[:3].astype(">f8")}
    with (tmp_path / "file").open("wb") as stream:
        write_container(stream, arrays, {})
    read = safetensors.numpy.load_file(tmp_path / "file")
    for name, array in arrays.items():
        assert np.array_equal(read[name], array)


def test_arrays_of_objects_are_refused(tmp_path):
    with (tmp_path / "file").open("wb") as stream, pytest.raises(ValueError, match="complex128"):
        write_container(stream, {"a": np.zeros(2, dtype=complex)}, {})


# ---- OnlineClassifier ---------------------------------------------------------------------------

TARGETS = {
    "classes": CODES,
    "two classes": CODES > 1,
    "indicator": INDICATOR,
    "sparse indicator": sp.csr_matrix(INDICATOR),
    "label sets": Constraints.from_labelsets(INDICATOR),
    "orders": Constraints.from_rankings(orders=ORDERS),
    "pairs": Constraints.from_pairs(np.arange(60), ORDERS[:, 0], ORDERS[:, 1], 60, 4),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
def test_every_kind_of_target_comes_back(target, dtype, tmp_path):
    model = OnlineClassifier(random_state=3).fit(X.astype(dtype), TARGETS[target])
    loaded = stored(model, tmp_path)
    assert_same_model(model, loaded, X)
    for m in (model, loaded):
        m.partial_fit(X[::-1].astype(dtype), TARGETS[target][::-1])
    assert_same_model(model, loaded, X)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("rule", ["perceptron", "winnow", "positive_winnow", "pa1", "pa2"])
def test_every_rule_comes_back_and_goes_on_learning(rule, average, tmp_path):
    model = OnlineClassifier(rule, "worst", average=average, fit_intercept=average, warm_start=True)
    model.set_params(random_state=1, C=0.5, promotion=1.3, max_iter=3)
    model.partial_fit(X, CODES)
    model.partial_fit(X, CODES)
    loaded = stored(model, tmp_path)
    assert_same_model(model, loaded, X)
    for m in (model, loaded):
        m.partial_fit(X, CODES + 1, classes=[7, 4])
    assert_same_model(model, loaded, X)
    for m in (model, loaded):
        m.fit(X, CODES)
    for m in (model, loaded):  # the seconds differ
        m.outcome_ = None
    assert_same_model(model, loaded, X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ab", "c", "déf", "\U0001f600"]),
        np.array(["a", "b", "c", "d"], dtype="U9"),
        np.array(["a", "b", "c", "d"], dtype=object),
        np.array([b"a", b"b", b"c", b"d"]),
        np.array([-3, 0, 5, 9], dtype=np.int8),
        np.array([0, 1, 2, 2**63], dtype=np.uint64),
        np.array([False, True]),
        np.array([0.0, 1.0, 2.0]),
        np.array([True, False, 3], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, tmp_path):
    y = labels[CODES % labels.size]
    model = OnlineClassifier(random_state=0).fit(X, Constraints.from_classes(y))
    loaded = stored(model, tmp_path)
    assert_same_model(model, loaded, X)
    assert [type(v) for v in loaded.classes_.tolist()] == [type(v) for v in model.classes_.tolist()]


def test_labels_that_are_no_text_or_number_are_refused(tmp_path):
    y = np.array([np.datetime64("2001-01-01"), np.datetime64("2001-01-02")])[CODES % 2]
    model = OnlineClassifier(random_state=0).fit(X, Constraints.from_classes(y))
    with pytest.raises(ValueError, match=r"labels are of type datetime64.* text and numbers"):
        save(model, tmp_path / "model.kes")
    y = np.array([(1, 2), (3, 4), None], dtype=object)[:2][CODES % 2]
    model = OnlineClassifier(random_state=0).fit(X, Constraints.from_classes(y))
    with pytest.raises(ValueError, match=r"labels hold \(1, 2\)"):
        save(model, tmp_path / "model.kes")
    assert list(tmp_path.iterdir()) == []


def test_parameters_of_all_types_come_back(tmp_path):
    model = OnlineClassifier(
        "pa1",
        C=np.float64(0.3),
        max_iter=np.int64(4),
        shuffle=np.bool_(False),
        class_weight={np.int64(0): 2, 1: 0.5},
        n_jobs=2,
        early_stopping=True,
        random_state=np.int32(5),
    ).fit(X, CODES)
    assert_same_model(model, stored(model, tmp_path), X)


def test_feature_names_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "long name, with Δ"])
    model = OnlineClassifier(random_state=0).fit(frame, CODES)
    loaded = stored(model, tmp_path)
    assert_same_model(model, loaded, frame)
    assert same_array(model.feature_names_in_, loaded.feature_names_in_)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[frame.columns[::-1]])


def test_weights_are_there_for_any_reader(tmp_path):
    model = OnlineClassifier(average=False, random_state=0).fit(X, CODES)
    save(model, tmp_path / "model.kes")
    tensors = safetensors.numpy.load_file(tmp_path / "model.kes")
    assert np.array_equal(tensors["weights"][:-1].T, model.coef_)
    assert np.array_equal(tensors["weights"][-1], model.intercept_)


@pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.default_rng(0)])
def test_a_random_generator_is_refused(state, tmp_path):
    model = OnlineClassifier(random_state=0).fit(X, CODES).set_params(random_state=state)
    with pytest.raises(ValueError, match=r"random_state is a .*an integer or None"):
        save(model, tmp_path / "model.kes")


def test_what_cannot_be_saved_is_refused_by_name(tmp_path):
    with pytest.raises(NotFittedError):
        save(OnlineClassifier(), tmp_path / "model.kes")
    with pytest.raises(TypeError, match=r"not sklearn.*Perceptron"):
        save(Perceptron(), tmp_path / "model.kes")

    class OnlineClassifier2(OnlineClassifier):
        pass

    OnlineClassifier2.__name__ = "OnlineClassifier"
    with pytest.raises(TypeError, match="test_persistence"):
        save(OnlineClassifier2().fit(X, CODES), tmp_path / "model.kes")


@pytest.mark.parametrize("roundtrip", ["pickle", "joblib"])
@pytest.mark.parametrize("batches", [False, True])
def test_pickle_and_joblib_work_as_usual(roundtrip, batches, tmp_path):
    model = OnlineClassifier("winnow", random_state=0)
    model = model.partial_fit(X, CODES) if batches else model.fit(X, CODES)
    if roundtrip == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib")
    assert_same_model(model, loaded, X)
    for m in (model, loaded):
        m.partial_fit(X, CODES)
    assert_same_model(model, loaded, X)


# ---- pipelines ----------------------------------------------------------------------------------


def test_a_pipeline_comes_back(tmp_path):
    inner = Pipeline([("skip", "passthrough"), ("model", OnlineClassifier(random_state=0))])
    model = Pipeline([("none", None), ("inner", inner)]).fit(X, CODES)
    loaded = stored(model, tmp_path)
    assert [name for name, _ in loaded.steps] == ["none", "inner"]
    assert same_array(model.predict(X), loaded.predict(X))
    assert_same_model(inner.steps[1][1], loaded.steps[1][1].steps[1][1], X)


def test_a_pipeline_with_a_cache_is_refused(tmp_path):
    model = Pipeline([("model", OnlineClassifier(random_state=0))], memory=str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"memory=\.\.\."):
        save(model.fit(X, CODES), tmp_path / "model.kes")


# ---- TablePreparer ------------------------------------------------------------------------------

TABLE = np.empty((60, 4), dtype=object)
TABLE[:, 0] = np.array(["red", "green", "blue", None], dtype=object)[CODES]
TABLE[:, 1] = X[:, 0]
TABLE[::7, 1] = np.nan
TABLE[:, 2] = CODES * 1.0
TABLE[:, 3] = X[:, 1]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nominal": [0, 2], "missing": "impute", "scale": "range", "dtype": np.float32},
        {"nominal": (0,), "scale": None, "dtype": np.dtype("float64")},
    ],
)
def test_a_table_preparer_comes_back(options, tmp_path):
    preparer = TablePreparer(**options).fit(TABLE)
    loaded = stored(preparer, tmp_path)
    assert loaded.get_params() == preparer.get_params()
    assert set(vars(loaded)) == set(vars(preparer))
    other = TABLE[::-1].copy()
    other[0] = ["unseen", None, 9.0, np.nan]
    assert same_array(preparer.transform(other), loaded.transform(other))
    assert same_array(preparer.get_feature_names_out(), loaded.get_feature_names_out())


def test_a_table_preparer_keeps_names_and_output(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE, columns=["colour", "a", "b", "c"]).convert_dtypes()
    preparer = TablePreparer().set_output(transform="pandas").fit(frame)
    loaded = stored(preparer, tmp_path)
    pd.testing.assert_frame_equal(preparer.transform(frame), loaded.transform(frame))


def test_a_pipeline_from_table_to_label_comes_back(tmp_path):
    y = Constraints.from_rankings(orders=ORDERS)
    model = Pipeline([("table", TablePreparer()), ("model", OnlineClassifier(random_state=0))])
    model.fit(TABLE, y)
    loaded = stored(model, tmp_path)
    assert same_array(model.predict(TABLE), loaded.predict(TABLE))
    assert loaded["table"].get_params() == model["table"].get_params()


PREPARER_MISFITS = {
    "a mean less": cut("mean", slice(1, None)),
    "a shift that is none": put("arrays", shift=np.full(3, np.nan)),
    "a scale of zero": put("arrays", scale=np.zeros(3)),
    "float32 means": put("arrays", mean=np.zeros(3, dtype=np.float32)),
    "one more nominal column": put("arrays", nominal=np.ones(4, dtype=bool)),
    "no column": put("arrays", nominal=np.zeros(0, dtype=bool)),
    "a missing value beyond the categories": put("arrays", fill=np.array([4])),
    "a missing value before the categories": put("arrays", fill=np.array([-2])),
    "two missing values": put("arrays", fill=np.array([0, 0])),
    "categories out of order": cut("categories.0", slice(None, None, -1)),
    "categories of integers": lambda fields, arrays: (
        fields.update({"categories.0": "numbers"}),
        arrays.update({"categories.0": np.arange(3)}),
    ),
    "no categories": drop("arrays", "categories.0"),
    "another output": put("fields", output="print"),
    "another dtype": params(dtype="int8"),
    "names of other columns": lambda fields, arrays: (
        fields.update(names="text"),
        arrays.update(names=np.full((3, 1), 97, dtype=np.uint32)),
    ),
}


@pytest.mark.parametrize("case", PREPARER_MISFITS)
def test_a_preparer_that_does_not_fit_together_is_refused(case, tmp_path):
    path = tmp_path / "model.kes"
    rewritten(path, TablePreparer().fit(TABLE), PREPARER_MISFITS[case])
    with pytest.raises(ValueError, match=r"model.kes is no Kesler model: "):
        load(path)


def test_a_preparer_that_gives_other_features_than_the_model_takes_is_refused(tmp_path):
    model = Pipeline([("table", TablePreparer()), ("model", OnlineClassifier(random_state=0))])
    path = tmp_path / "model.kes"
    rewritten(path, model.fit(TABLE, CODES), cut("1.weights", slice(1, None)))
    with pytest.raises(ValueError, match="does not fit"):
        load(path)

    def change(fields, arrays):
        for name in ("1.weights", "1.sums"):
            cut(name, slice(1, None))(fields, arrays)

    rewritten(path, model, change)
    with pytest.raises(ValueError, match="gives 7 features and the next takes 6"):
        load(path)


# ---- damaged and hostile files ------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return OnlineClassifier("winnow", random_state=0).fit(X, np.array(["a", "b", "c", "d"])[CODES])


@pytest.fixture(scope="module")
def held(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("held") / "model.kes"
    save(model, path)
    return path.read_bytes()


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"model.kes is no Kesler model: ") as caught:
        load(path)
    return str(caught.value)


def test_a_file_cut_off_anywhere_is_refused(held, tmp_path):
    for size in [*range(40), *range(40, len(held), 37), len(held) - 1]:
        refused(tmp_path / "model.kes", held[:size])


def test_a_file_with_more_at_the_end_is_refused(held, tmp_path):
    refused(tmp_path / "model.kes", held + b"\0")


def test_any_flipped_bit_is_noticed(held, tmp_path):
    rng = np.random.default_rng(1)
    for at in rng.integers(0, len(held), 400):
        damaged = bytearray(held)
        damaged[at] ^= 1 << rng.integers(8)
        if damaged[at : at + 1].isspace() and held[at : at + 1].isspace():
            continue  # another blank where a blank pads the header
        refused(tmp_path / "model.kes", bytes(damaged))


def test_a_file_that_is_missing_is_an_error_of_the_file_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.kes")


def file_of(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def tensor(dtype="F64", shape=(2,), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((1 << 62).to_bytes(8, "little") + b"{}" * 50, "header claims"),
        ((10**8).to_bytes(8, "little") + b"{}" * 50, "only 100 are left"),
        (file_of(b"[" * 100_000), "no safetensors header"),
        (file_of(b"[1]"), "no JSON object"),
        (file_of(b'{"a": \xff}'), "no safetensors header"),
        (file_of(b'{"a": {}, "a": {}}'), "stands twice"),
        (file_of({"a": tensor(shape=[1 << 62], offsets=[0, 1 << 65])}), "none"),
        (file_of({"a": tensor(shape=[1 << 50], offsets=[0, 1 << 53])}), "take 9007199254740992"),
        (file_of({"a": tensor(shape=[1 << 40] * 40)}, b"\0" * 16), "none"),
        (file_of({"a": tensor(shape=[0, 1 << 62, 1 << 62], offsets=[0, 0])}), "format|something"),
        (file_of({"a": tensor(shape=[-2])}, b"\0" * 16), "none"),
        (file_of({"a": tensor(shape=[True, 2])}, b"\0" * 16), "none"),
        (file_of({"a": tensor(shape=[2.0])}, b"\0" * 16), "none"),
        (file_of({"a": tensor(shape=[3])}, b"\0" * 16), "needs 24 bytes"),
        (file_of({"a": tensor(dtype="F128")}, b"\0" * 16), "unknown type"),
        (file_of({"a": tensor(dtype=["F64"])}, b"\0" * 16), "unknown type"),
        (file_of({"a": {"dtype": "F64"}}), "other things"),
        (file_of({"a": 3}), "other things"),
        (file_of({"a": tensor(), "b": tensor()}, b"\0" * 16), "begins at byte 0"),
        (file_of({"a": tensor(offsets=[8, 24])}, b"\0" * 24), "begins at byte 8"),
        (file_of({"__metadata__": {"a": 1}}), "text to text"),
        (file_of({"__metadata__": []}), "text to text"),
        (file_of({"__metadata__": {"crc32": "00000000"}}), "checksum"),
        (file_of({}), "something else"),
        (file_of({"__metadata__": {"format": "kesler"}}), "version ''"),
        (file_of({"__metadata__": {"format": "kesler", "format_version": "2"}}), "version '2'"),
        (file_of({"__metadata__": {"format": "kesler", "format_version": "1"}}), "JSON object"),
    ],
)
def test_hostile_containers_are_refused(data, message, tmp_path):
    tracemalloc.start()
    try:
        assert re.search(message, refused(tmp_path / "model.kes", data))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


MISFITS = {
    "a row of weights less": cut("weights", slice(1, None)),
    "a lane of weights less": cut("weights", slice(None), slice(1, None)),
    "a row of sums less": cut("sums", slice(1, None)),
    "a lane of logs less": cut("logs", slice(None), slice(1, None)),
    "a label less": cut("labels", slice(1, None)),
    "no label": cut("labels", slice(0, 0)),
    "labels backwards": cut("labels", slice(None, None, -1)),
    "no weights": drop("arrays", "weights"),
    "no labels": drop("arrays", "labels"),
    "no history": drop("arrays", "history"),
    "no answer": drop("fields", "answer"),
    "no class": drop("fields", "class"),
    "another class": put("fields", **{"class": "os.system"}),
    "a class by path": put("fields", **{"class": "sklearn.pipeline.Pipeline"}),
    "another intercept": put("fields", intercept=0),
    "no intercept, no features": lambda fields, arrays: [
        cut(name, slice(0, 1))(fields, arrays) for name in ("weights", "sums", "logs")
    ],
    "a virtual label": put("fields", virtual=True),
    "an indicator": put("fields", answer="indicator"),
    "an unknown answer": put("fields", answer="42"),
    "a first weight": put("fields", first=0.5),
    "mistakes that are none": put("fields", mistakes=["a"]),
    "passes that are none": put("fields", n_iter=-1),
    "labels of another kind": put("fields", labels="objects"),
    "labels of no kind": put("fields", labels=None),
    "names of fewer features": lambda fields, arrays: (
        fields.update(names="objects"),
        arrays.update(names=np.frombuffer(b'["a"]', dtype=np.uint8)),
    ),
    "names that are none": lambda fields, arrays: (
        fields.update(names="numbers"),
        arrays.update(names=np.arange(5)),
    ),
    "labels that cannot be compared": lambda fields, arrays: (
        fields.update(labels="objects"),
        arrays.update(labels=np.frombuffer(b'["a",1,2,3]', dtype=np.uint8)),
    ),
    "labels within labels": lambda fields, arrays: (
        fields.update(labels="objects"),
        arrays.update(labels=np.frombuffer(b"[[1],[2],[3],[4]]", dtype=np.uint8)),
    ),
    "text that is none": put("arrays", labels=np.full((4, 1), 0xFFFFFFFF, dtype=np.uint32)),
    "text of no width": put("arrays", labels=np.zeros((4, 0), dtype=np.uint32)),
    "float16 weights": lambda fields, arrays: arrays.update(
        weights=arrays["weights"].astype(np.float16)
    ),
    "integer weights": lambda fields, arrays: arrays.update(
        weights=arrays["weights"].astype(np.int64)
    ),
    "float32 sums": lambda fields, arrays: arrays.update(sums=arrays["sums"].astype(np.float32)),
    "weights of one dimension": lambda fields, arrays: arrays.update(
        weights=arrays["weights"].ravel()
    ),
    "weights that are no numbers": lambda fields, arrays: arrays.update(
        weights=arrays["weights"] * np.nan
    ),
    "endless weights": lambda fields, arrays: arrays.update(weights=arrays["weights"] - np.inf),
    "one number of state": put("arrays", state=np.zeros(1)),
    "steps below zero": put("arrays", state=np.array([-1.0, 0.0])),
    "endless steps": put("arrays", state=np.array([np.inf, 0.0])),
    "a history of no sweeps": put("arrays", history=np.zeros((0, 3))),
    "a history that is none": put("arrays", history=np.full((1, 3), np.nan)),
    "an unknown parameter": params(gamma=1),
    "an unknown rule": params(rule="sgd"),
    "passes below one": params(max_iter=0),
    "passes that are text": params(max_iter="many"),
    "C beyond all numbers": params(C=10**400),
    "C that is none": params(C=float("nan")),
    "C as a list": params(C=[1]),
    "class weights that are none": params(class_weight=3),
    "a class weight that cannot be a key": params(class_weight={"dict": [[{"list": []}, 1]]}),
    "a class weight that is no pair": params(class_weight={"dict": [[1]]}),
    "n_jobs that are text": params(n_jobs="all"),
    "a value of no kind": params(random_state={"generator": 3}),
    "a dtype of no kind": params(random_state={"dtype": "O"}),
    "parameters that are none": put("fields", params=[]),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_does_not_fit_together_is_refused_at_load(case, model, tmp_path):
    path = tmp_path / "model.kes"
    rewritten(path, model, MISFITS[case])
    with pytest.raises(ValueError, match=r"model.kes is no Kesler model: "):
        load(path)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (lambda m: [["a", m], ["b", m]], "not the last step"),
        (lambda m: [["a", None], ["a", m]], "different names"),
        (lambda m: [], "different names"),
        (lambda m: [["a"]], "step 0"),
        (lambda m: [["a", 3]], "JSON object"),
        (lambda m: [["a", {"class": "Pipeline", "verbose": False, "steps": []}]], "names"),
    ],
)
def test_pipelines_that_cannot_work_are_refused_at_load(steps, message, model, tmp_path):
    def change(fields, arrays):
        inner = fields["steps"][0][1]
        arrays.update({f"1.{name[2:]}": array for name, array in arrays.items()})
        fields["steps"] = steps(inner)

    path = tmp_path / "model.kes"
    rewritten(path, Pipeline([("model", model)]), change)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_a_deep_pipeline_is_refused(tmp_path, model):
    arrays, metadata = pack_model(Pipeline([("model", model)]))
    head, tail = metadata["model"].split('{"class":"OnlineClassifier"')
    deep = 5000
    text = head * deep + '{"class":"OnlineClassifier"' + tail + tail[-3:] * (deep - 1)
    path = tmp_path / "model.kes"
    with path.open("wb") as stream:
        write_model(stream, arrays, {**metadata, "model": text})
    with pytest.raises(ValueError, match=r"no Kesler model: .*recursion"):
        load(path)


@given(st.data())
def test_a_loaded_model_never_crashes(held, tmp_path_factory, data):
    """Without its checksum a file may be any nonsense: refused, or a model that works."""
    length = int.from_bytes(held[:8], "little")
    header = json.loads(held[8 : 8 + length])
    del header["__metadata__"]["crc32"]
    text = bytearray(json.dumps(header).encode())
    body = bytearray(held[8 + length :])
    for _ in range(data.draw(st.integers(1, 3))):
        part = text if data.draw(st.booleans()) else body
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("mutant") / "model.kes"
    path.write_bytes(file_of(bytes(text), bytes(body)))
    try:
        loaded = load(path)
    except ValueError as error:
        assert "model.kes is no Kesler model" in str(error)
        return
    with np.errstate(all="ignore"):
        assert loaded.predict(X).shape == (60,)
        assert loaded.decision_function(X).shape == (60, 4)


# ---- files --------------------------------------------------------------------------------------


def test_notes_go_with_a_model(model, tmp_path):
    with (tmp_path / "model.kes").open("wb") as stream:
        write_model(stream, *pack_model(model, {"columns": ["a", "b"]}))
    assert read_model(tmp_path / "model.kes")[1] == {"columns": ["a", "b"]}
    save(model, tmp_path / "model.kes")
    assert read_model(tmp_path / "model.kes")[1] == {}


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as stream:
        stream.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions and links")
def test_links_stay_links_and_permissions_are_usual(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with replacing(link) as stream:
        stream.write(b"new")
    assert link.is_symlink() and real.read_bytes() == b"new"
    (tmp_path / "plain").write_bytes(b"")
    mode = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE(real.stat().st_mode) == mode


@pytest.mark.parametrize("place", ["folder", os.devnull])
def test_only_ordinary_files_are_replaced(place, model, tmp_path):
    (tmp_path / "folder").mkdir()
    path = tmp_path / place  # an absolute path stays what it is
    with pytest.raises(ValueError, match="no ordinary file"):
        save(model, path)
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]
