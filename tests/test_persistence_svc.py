"""ConstraintSVC and ConstraintSVCCV in files: what predicts comes back bit for bit."""

import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from kesler import Constraints, ConstraintSVC, ConstraintSVCCV, load, save
from kesler.preparation import TablePreparer
from test_persistence import (
    CODES,
    INDICATOR,
    TABLE,
    TARGETS,
    X,
    cut,
    drop,
    file_of,
    params,
    put,
    rewritten,
    same_array,
    stored,
)

DUALS = {"_masses", "_origin"}


def assert_same_model(a, b):
    assert type(a) is type(b)
    assert a.get_params() == b.get_params()
    assert set(vars(a)) - DUALS == set(vars(b))
    for name in ("classes_", "coef_", "intercept_"):
        assert same_array(getattr(a, name), getattr(b, name)), name
    for name in ("primal_objective_", "dual_objective_", "duality_gap_", "margin_"):
        assert getattr(a, name) == getattr(b, name), name
    assert a.outcome_ == b.outcome_
    assert a.n_iter_ == b.n_iter_
    assert a.n_features_in_ == b.n_features_in_
    for method in ("predict", "decision_function", "predict_ranking"):
        assert same_array(getattr(a, method)(X), getattr(b, method)(X)), method


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [ConstraintSVC, ConstraintSVCCV])
def test_every_kind_of_target_comes_back(kind, target, dtype, tmp_path):
    model = kind(aggregate="sum", tol=1e-2, random_state=3)
    if kind is ConstraintSVCCV:
        model.set_params(Cs=[0.1, 0.3], cv=2)
    model.fit(X.astype(dtype), TARGETS[target])
    loaded = stored(model, tmp_path)
    assert_same_model(model, loaded)
    if kind is ConstraintSVCCV:
        assert loaded.C_ == model.C_
        assert same_array(loaded.Cs_, model.Cs_)
        assert same_array(loaded.scores_, model.scores_)
    for m in (model, loaded):
        m.fit(X[::-1].astype(dtype), TARGETS[target][::-1])
    assert same_array(model.coef_, loaded.coef_)


@pytest.mark.parametrize("y", [CODES, INDICATOR], ids=["classes", "indicator"])
def test_probabilities_come_back(y, tmp_path):
    model = ConstraintSVC(calibration=3, random_state=0).fit(X, y)
    assert same_array(model.predict_proba(X), stored(model, tmp_path).predict_proba(X))


def test_a_model_that_a_limit_ended_says_so_again(tmp_path):
    with pytest.warns(UserWarning, match="max_iter=1"):
        model = ConstraintSVC(max_iter=1, tol=1e-9, random_state=0).fit(X, X.argmax(axis=1))
    loaded = stored(model, tmp_path)
    assert loaded.outcome_.status == "max_iter"
    assert loaded.outcome_.note == model.outcome_.note != ""


def test_examples_without_pairs_leave_an_endless_margin(tmp_path):
    c = Constraints.from_labelsets([[], []], labels=["a", "b"])
    model = ConstraintSVC(random_state=0).fit(np.eye(2), c)
    assert model.margin_ == np.inf
    assert stored(model, tmp_path).margin_ == np.inf


def test_dual_variables_are_left_out(tmp_path):
    model = ConstraintSVC(warm_start=True, random_state=0).fit(X, CODES)
    loaded = stored(model, tmp_path)
    assert model.dual_coef_.nnz > 0
    with pytest.raises(AttributeError, match="dual_coef_ is not kept in a model file"):
        _ = loaded.dual_coef_
    loaded.fit(X, CODES)  # from the beginning
    assert same_array(loaded.coef_, clone(model).fit(X, CODES).coef_)
    assert loaded.dual_coef_.nnz > 0


def test_all_parameters_come_back(tmp_path):
    model = ConstraintSVCCV(
        Cs=np.array([0.5, 0.1]),
        cv=[([0, 1, 2, 3, *range(10, 60)], [*range(4, 10)])],
        scoring="accuracy",
        class_weight={0: 2.0},
        solver="dual",
        time_budget=100,
        n_jobs=1,
        random_state=np.int32(1),
    ).fit(X, CODES)
    loaded = stored(model, tmp_path)
    assert loaded.Cs == [0.5, 0.1]
    assert loaded.cv == model.cv
    assert loaded.score(X, CODES) == model.score(X, CODES)
    assert same_array(model.predict(X), loaded.predict(X))


def test_a_pipeline_from_table_to_label_comes_back(tmp_path):
    model = Pipeline([("table", TablePreparer()), ("model", ConstraintSVC(random_state=0))])
    model.fit(TABLE, CODES)
    assert same_array(model.predict(TABLE), stored(model, tmp_path).predict(TABLE))


def test_feature_names_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    model = ConstraintSVC(random_state=0).fit(pd.DataFrame(X, columns=list("abcde")), CODES)
    assert stored(model, tmp_path).feature_names_in_.tolist() == list("abcde")


def test_weights_are_there_for_any_reader(tmp_path):
    model = ConstraintSVC(random_state=0).fit(X, CODES)
    save(model, tmp_path / "model.kes")
    tensors = safetensors.numpy.load_file(tmp_path / "model.kes")
    assert np.array_equal(tensors["weights"][:-1].T, model.coef_)
    assert np.array_equal(tensors["weights"][-1], model.intercept_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConstraintSVCCV([1.0], cv=2, refit=False), "fitted with refit=False"),
        (ConstraintSVCCV([1.0], cv=KFold(2)), "cv is KFold"),
        (ConstraintSVCCV([1.0], cv=2, scoring=lambda *_: 1.0), "scoring is <function"),
        (ConstraintSVC(random_state=np.random.RandomState(0)), "an integer or None"),
    ],
)
def test_what_cannot_be_stored_is_refused(model, message, tmp_path):
    model.fit(X, CODES)
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "model.kes")
    assert list(tmp_path.iterdir()) == []


# ---- damaged and hostile files ------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    y = np.array(["a", "b", "c", "d"])[CODES]
    return ConstraintSVCCV([0.1, 1.0], cv=2, calibration=3, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def held(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("held") / "model.kes"
    save(model, path)
    return path.read_bytes()


MISFITS = {
    "a row of weights less": cut("weights", slice(0, 0)),
    "a lane of weights less": cut("weights", slice(None), slice(1, None)),
    "a label less": cut("labels", slice(1, None)),
    "labels backwards": cut("labels", slice(None, None, -1)),
    "no weights": drop("arrays", "weights"),
    "no certificate": drop("arrays", "certificate"),
    "half a certificate": cut("certificate", slice(0, 2)),
    "a gap that is none": put("arrays", certificate=np.array([1.0, 1.0, np.nan, 0.0])),
    "a margin that is none": put("arrays", certificate=np.array([1.0, 1.0, 0.0, np.nan])),
    "a certificate in float32": put("arrays", certificate=np.zeros(4, dtype=np.float32)),
    "no history": drop("arrays", "history"),
    "a history of no sweeps": put("arrays", history=np.zeros((0, 3))),
    "a note that is none": put("fields", note=3),
    "no outcome": drop("fields", "outcome"),
    "an unknown answer": put("fields", answer="42"),
    "an indicator": put("fields", answer="indicator"),
    "orders with probabilities": put("fields", answer="orders"),
    "a virtual label": put("fields", virtual=True),
    "no temperature": drop("fields", "temperature"),
    "a temperature of zero": put("fields", temperature=0.0),
    "a temperature and no calibration": params(calibration=None),
    "weights that are no numbers": lambda fields, arrays: arrays.update(
        weights=arrays["weights"] * np.nan
    ),
    "integer weights": lambda fields, arrays: arrays.update(
        weights=arrays["weights"].astype(np.int64)
    ),
    "no values of C": drop("arrays", "Cs"),
    "values of C backwards": cut("Cs", slice(None, None, -1)),
    "values of C below zero": put("arrays", Cs=np.array([-0.1, 0.1])),
    "an endless C": put("arrays", Cs=np.array([0.1, np.inf])),
    "a C that was not tried": put("fields", C=0.2),
    "scores of other values": cut("scores", slice(None), slice(1, None)),
    "scores of no fold": cut("scores", slice(0, 0)),
    "C of another estimator": params(C=1.0),
    "an unknown aggregate": params(aggregate="mean"),
    "a tolerance of zero": params(tol=0),
    "an unknown solver": params(solver="primal"),
    "folds that are text": params(cv="five"),
    "folds that are half": params(cv=2.5),
    "class weights that are none": params(class_weight=3),
    "a list of scorers": params(scoring={"list": ["accuracy"]}),
    "the other class": put("fields", **{"class": "ConstraintSVC"}),
    "another class by path": put("fields", **{"class": "kesler.linear.ConstraintSVC"}),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_does_not_fit_together_is_refused_at_load(case, model, tmp_path):
    path = tmp_path / "model.kes"
    rewritten(path, model, MISFITS[case])
    with pytest.raises(ValueError, match=r"model.kes is no Kesler model: "):
        load(path)


def test_any_flipped_bit_is_noticed(held, tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "model.kes"
    for at in rng.integers(0, len(held), 200):
        damaged = bytearray(held)
        damaged[at] ^= 1 << rng.integers(8)
        if damaged[at : at + 1].isspace() and held[at : at + 1].isspace():
            continue  # another blank where a blank pads the header
        path.write_bytes(bytes(damaged))
        with pytest.raises(ValueError, match=r"model.kes is no Kesler model: "):
            load(path)


@given(st.data())
def test_a_loaded_model_never_crashes(held, tmp_path_factory, data):
    """Without its checksum a file may be any nonsense: refused, or a model that works."""
    length = int.from_bytes(held[:8], "little")
    header = json.loads(held[8 : 8 + length])
    del header["__metadata__"]["crc32"]
    text, body = bytearray(json.dumps(header).encode()), bytearray(held[8 + length :])
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
        assert loaded.predict_proba(X).shape == (60, 4)
