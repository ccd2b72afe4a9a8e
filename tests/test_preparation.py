"""The table transformer: categories, gaps, scales, names, frames, and what it refuses."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Perceptron
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from kesler.datasets import load
from kesler.preparation import TablePreparer

TABLE = [
    ["red", 1.0, "s"],
    ["blue", 3.0, "m"],
    [None, 2.0, "s"],
    ["red", float("nan"), "l"],
]
COLUMNS = ["colour", "weight", "size"]
NAMES = [
    "colour=blue",
    "colour=red",
    "colour=missing",
    "weight",
    "size=l",
    "size=m",
    "size=s",
]
ROOT = np.sqrt(1.5)  # one over the standard deviation of 1, 3, 2
PREPARED = [
    [0, 1, 0, -ROOT, 0, 0, 1],
    [1, 0, 0, ROOT, 0, 1, 0],
    [0, 0, 1, 0, 0, 0, 1],
    [0, 1, 0, 0, 1, 0, 0],
]


def as_object(missing=None):
    table = np.array(TABLE, dtype=object)
    table[2, 0] = missing
    return table


def as_pandas(**types):
    frame = pd.DataFrame(TABLE, columns=COLUMNS)
    return frame.astype(types)


def as_polars(**types):
    frame = pl.DataFrame(TABLE, schema=COLUMNS, orient="row").with_columns(
        pl.col("weight").fill_nan(None)
    )
    return frame.cast(types)


FORMS = {
    "object": as_object(),
    "object, NaN": as_object(float("nan")),
    "object, NA": as_object(pd.NA),
    "list": TABLE,
    "pandas": as_pandas(),
    "pandas object": as_pandas().astype(object),
    "pandas category": as_pandas(colour="category", size="category"),
    "pandas string": as_pandas(colour="string", weight="Float64"),
    "polars": as_polars(),
    "polars enum": as_polars(colour=pl.Categorical, size=pl.Enum(["s", "m", "l"])),
}


CONFIGURATIONS = [
    TablePreparer(),
    TablePreparer(missing="impute", scale="range"),
    TablePreparer(nominal=[0], scale=None),
    TablePreparer(dtype=np.float32),
]
CHECKS = [found for one in CONFIGURATIONS for found in estimator_checks_generator(one)]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[f"{e}-{c.func.__name__}" for e, c in CHECKS]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table(form):
    preparer = TablePreparer()
    out = preparer.fit_transform(FORMS[form])
    assert type(out) is np.ndarray
    assert out.dtype == np.float64
    assert out.flags.c_contiguous
    np.testing.assert_allclose(out, PREPARED, atol=1e-15)
    names = preparer.get_feature_names_out().tolist()
    if hasattr(FORMS[form], "columns"):
        assert names == NAMES
    else:
        assert names == [
            n.replace("colour", "x0").replace("weight", "x1").replace("size", "x2") for n in NAMES
        ]
    assert preparer.nominal_.tolist() == [True, False, True]


@pytest.mark.parametrize("fitted", ["object", "pandas"])
@pytest.mark.parametrize("form", FORMS)
def test_fitted_on_one_form_transforms_another(fitted, form):
    if hasattr(FORMS[form], "columns") != hasattr(FORMS[fitted], "columns"):
        return  # scikit-learn warns where names come and go
    out = TablePreparer().fit(FORMS[fitted]).transform(FORMS[form])
    np.testing.assert_allclose(out, PREPARED, atol=1e-15)


def test_input_is_left_as_it_was():
    table, frame, numbers = as_object(), as_pandas(), np.array([[1.0, np.nan], [2.0, 3.0]])
    copies = table.copy(), frame.copy(), numbers.copy()
    for X in (table, frame, numbers):
        TablePreparer().fit(X).transform(X)
    assert [list(map(str, row)) for row in table] == [list(map(str, row)) for row in copies[0]]
    pd.testing.assert_frame_equal(frame, copies[1])
    np.testing.assert_array_equal(numbers, copies[2])


def test_all_is_learned_from_the_training_part():
    train = np.array([["a", 0.0], ["b", 2.0]], dtype=object)
    new = np.array([["c", 6.0], [None, None], ["b", -2.0]], dtype=object)
    out = TablePreparer().fit(train).transform(new)
    # Unknown: only zeros. Missing where fit saw none: the same; numbers: the mean of training.
    assert out.tolist() == [[0, 0, 5], [0, 0, 0], [0, 1, -3]]
    out = TablePreparer(scale="range").fit(train).transform(new)
    assert out[:, 2].tolist() == [3, 0.5, -1]
    out = TablePreparer(scale=None).fit(train).transform(new)
    assert out[:, 2].tolist() == [6, 1, -2]


def test_impute_takes_the_most_frequent_category():
    table = np.array([["b"], ["a"], ["b"], [None]], dtype=object)
    preparer = TablePreparer(missing="impute").fit(table)
    assert preparer.get_feature_names_out().tolist() == ["x0=a", "x0=b"]
    assert preparer.transform(table).tolist() == [[0, 1], [1, 0], [0, 1], [0, 1]]
    # A tie goes to the first in sorted order.
    even = np.array([["b"], ["a"], [None]], dtype=object)
    assert TablePreparer(missing="impute").fit_transform(even)[2].tolist() == [1, 0]


def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    numbers = rng.normal(3, 2, size=(50, 4))
    words = rng.choice(["a", "b", "c"], size=(50, 2))
    table = np.concatenate([numbers.astype(object), words.astype(object)], axis=1)
    for scale, peer in (("standard", StandardScaler()), ("range", MinMaxScaler())):
        out = TablePreparer(scale=scale).fit_transform(table)
        np.testing.assert_allclose(out[:, :4], peer.fit_transform(numbers), rtol=1e-12, atol=1e-14)
        onehot = OneHotEncoder(sparse_output=False).fit_transform(words)
        np.testing.assert_array_equal(out[:, 4:], onehot)


@pytest.mark.parametrize("scale", ["standard", "range"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e17, -1e-300, 5e-324, 1.7e308])
def test_constant_column_becomes_zero(scale, value):
    X = np.full((7, 2), value)
    X[:, 1] = np.arange(7)
    preparer = TablePreparer(scale=scale).fit(X)
    out = preparer.transform(X)
    assert (out[:, 0] == 0).all()
    X[3, 0] = np.nan
    assert (preparer.transform(X)[:, 0] == 0).all()


@given(
    st.lists(st.one_of(st.floats(allow_infinity=False), st.none()), min_size=1, max_size=12),
    st.sampled_from(["standard", "range", None]),
)
@settings(max_examples=300)
def test_numbers_come_out_finite_and_on_scale(values, scale):
    X = np.array(values, dtype=object).reshape(-1, 1)
    known = np.array([v for v in values if v is not None and v == v])
    try:
        out = TablePreparer(scale=scale).fit_transform(X).ravel()
    except ValueError as error:
        assert "spans more than" in str(error) or "too large" in str(error)
        assert np.abs(known).max() > 1e307
        return
    assert np.isfinite(out).all()
    spread = known.max() / 2 - known.min() / 2 if known.size else 0.0
    gaps = np.array([v is None or v != v for v in values])
    if scale is None:
        assert np.array_equal(out[~gaps], known)
        if known.size:
            assert known.min() <= out.min() or np.isclose(known.min(), out.min())
    elif known.size == 0 or known.min() == known.max():
        assert (out == 0).all()
    elif scale == "range":
        assert out[~gaps].min() == 0
        assert out[~gaps].max() == 1
        assert ((out >= 0) & (out <= 1)).all()
    elif spread > 1e-300:
        assert abs(out[~gaps].std() - 1) < 1e-6 or spread < 1e-12 * np.abs(known).max()
        assert (out[gaps] == 0).all()


def test_column_without_any_value():
    X = np.array([[None, 1.0], [np.nan, 2.0]], dtype=object)
    for scale in ("standard", "range", None):
        preparer = TablePreparer(scale=scale).fit(X)
        assert preparer.transform(X)[:, 0].tolist() == [0, 0]
        assert preparer.nominal_.tolist() == [False, False]
    # Declared nominal it has one indicator at most.
    X = X[:, :1]
    assert TablePreparer(nominal=[0]).fit_transform(X).tolist() == [[1], [1]]
    preparer = TablePreparer(nominal=[0], missing="impute").fit(X)
    assert preparer.transform(X).shape == (2, 0)
    assert preparer.get_feature_names_out().tolist() == []


def test_numbers_as_categories():
    X = np.array([[3.0, 1.0], [1.0, 2.0], [np.nan, 3.0]])
    preparer = TablePreparer(nominal=[0], scale=None).fit(X)
    assert preparer.get_feature_names_out().tolist() == ["x0=1", "x0=3", "x0=missing", "x1"]
    assert preparer.transform(X).tolist() == [[0, 1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]]
    # An integer batch of the same column, and one of objects, hold the same categories.
    assert preparer.transform(np.array([[3, 5]])).tolist() == [[0, 1, 0, 5]]
    assert preparer.transform(np.array([[1, 5]], dtype=object)).tolist() == [[1, 0, 0, 5]]
    frame = pd.DataFrame({"a": pd.Categorical([7, 5, 7]), "b": [True, False, True]})
    preparer = TablePreparer(scale=None).fit(frame)
    assert preparer.get_feature_names_out().tolist() == ["a=5", "a=7", "b"]
    assert preparer.transform(frame).tolist() == [[0, 1, 1], [1, 0, 0], [0, 1, 1]]
    half = TablePreparer(nominal=[0]).fit(np.array([[0.5], [2.0]]))
    assert half.get_feature_names_out().tolist() == ["x0=0.5", "x0=2"]


def test_string_array_is_nominal():
    X = np.array([["1", "x"], ["2", "y"]])
    assert TablePreparer().fit_transform(X).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    # Text of a number in a column that is not nominal is that number.
    assert TablePreparer(nominal=[1], scale=None).fit_transform(X)[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize(
    "X", [np.eye(3, dtype=bool), np.eye(3, dtype=np.int8), np.eye(3, dtype="f4")]
)
def test_numbers_of_other_types(X):
    out = TablePreparer(scale=None).fit_transform(X)
    assert out.dtype == np.float64
    assert np.array_equal(out, np.eye(3))
    assert TablePreparer(nominal=[0], scale=None).fit_transform(X).tolist() == [
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [1, 0, 0, 1],
    ]


def test_nominal_by_name_and_position():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    for nominal in (["c"], [2], [-1], ("c",), np.array([2])):
        names = TablePreparer(nominal=nominal).fit(frame).get_feature_names_out().tolist()
        assert names == ["a", "b", "c=5", "c=6"]
    assert TablePreparer(nominal=[]).fit_transform(as_pandas()[["weight"]]).shape == (4, 1)


def test_float32():
    out = TablePreparer(dtype=np.float32).fit_transform(as_pandas())
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, PREPARED, atol=1e-6)
    with pytest.raises(ValueError, match="column 'x0', row 1 is a value too large for float32"):
        TablePreparer(dtype="float32", scale=None).fit_transform([[0.0], [1e39]])


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_set_output(backend):
    preparer = TablePreparer().set_output(transform=backend)
    out = preparer.fit_transform(as_pandas().set_index(pd.Index([7, 8, 9, 10])))
    assert list(out.columns) == NAMES
    np.testing.assert_allclose(out.to_numpy(), PREPARED, atol=1e-15)
    if backend == "pandas":
        assert out.index.tolist() == [7, 8, 9, 10]


def test_names_are_distinct():
    frame = pd.DataFrame({"a": ["missing", None, "b"], "a=b": [1, 2, 3], "a=b (2)": [1, 2, 3]})
    preparer = TablePreparer().set_output(transform="polars").fit(frame)
    names = preparer.get_feature_names_out().tolist()
    assert names == ["a=b", "a=missing", "a=missing (2)", "a=b (3)", "a=b (2)"]
    assert preparer.transform(frame).columns == names


def test_feature_names_given_later():
    preparer = TablePreparer().fit(as_object())
    assert preparer.get_feature_names_out(COLUMNS).tolist() == NAMES
    with pytest.raises(ValueError, match="should have length equal to number of features"):
        preparer.get_feature_names_out(["a"])
    named = TablePreparer().fit(as_pandas())
    assert named.get_feature_names_out(COLUMNS).tolist() == NAMES
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        named.get_feature_names_out(["a", "b", "c"])


def test_other_columns_are_refused():
    preparer = TablePreparer().fit(as_pandas())
    with pytest.raises(ValueError, match="feature names should match"):
        preparer.transform(as_pandas()[["weight", "colour", "size"]])
    with pytest.raises(ValueError, match="feature names should match"):
        preparer.transform(as_pandas().rename(columns={"size": "length"}))
    with pytest.raises(ValueError, match="2 features, but TablePreparer is expecting 3"):
        TablePreparer().fit(as_object()).transform(as_object()[:, :2])


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_is_refused_by_name(infinity):
    X = np.ones((4, 3))
    X[2, 1] = infinity
    with pytest.raises(ValueError, match="infinity: column 'x1', row 2"):
        TablePreparer().fit(X)
    with pytest.raises(ValueError, match="infinity: column 'x1', row 2"):
        TablePreparer(nominal=[1]).fit(X)
    with pytest.raises(ValueError, match="infinity: column 'x1', row 2"):
        TablePreparer().fit(np.ones((4, 3))).transform(X)
    frame = as_pandas()
    frame.loc[1, "weight"] = infinity
    for form in (frame, pl.from_pandas(frame)):
        with pytest.raises(ValueError, match="infinity: column 'weight', row 1"):
            TablePreparer().fit(form)


@pytest.mark.parametrize(
    ("cell", "error", "match"),
    [
        ({}, TypeError, "argument must be a string or a number, not 'dict': column 'x1', row 2"),
        ([], TypeError, "not 'list': column 'x1', row 2"),
        (datetime.date(2002, 1, 1), TypeError, "not 'date': column 'x1', row 2"),
        (np.datetime64("2002-01-01"), TypeError, "not 'date.*': column 'x1', row 2"),
        (np.complex128(1j), TypeError, "not 'complex128': column 'x1', row 2"),
        (10**5000, ValueError, "column 'x1', row 2 is a number too large for float64"),
    ],
    ids=["dict", "list", "date", "datetime64", "complex", "int"],
)
def test_what_is_no_cell_of_a_table(cell, error, match):
    table = as_object()
    fitted = TablePreparer().fit(table)
    table[2, 1] = cell
    with pytest.raises(error, match=match):
        TablePreparer().fit(table)
    with pytest.raises(error, match=match):
        fitted.transform(table)
    with pytest.raises(error, match=match):
        TablePreparer(nominal=[0, 1, 2]).fit(table)


def test_text_among_numbers():
    table = as_object()
    fitted = TablePreparer().fit(table)
    table[1, 1] = "heavy"
    with pytest.raises(ValueError, match="column 'x1' is numeric, but row 1 holds 'heavy'"):
        fitted.transform(table)
    with pytest.raises(
        TypeError, match=r"uniformly strings or numbers: in column 'x1' row 0 holds 1\.0 and row 1"
    ):
        TablePreparer().fit(table)
    table = as_object()
    table[:, 0] = [1, 2, 3, 4]
    with pytest.raises(
        TypeError, match="nominal column 'x0' holds numbers; in fit it held strings"
    ):
        fitted.transform(table)


def test_dates_and_bytes_are_refused():
    for X in (np.array([["2002-01-01"]], dtype="M8[D]"), np.array([[b"red"]])):
        with pytest.raises(TypeError, match="a table holds numbers and strings, not"):
            TablePreparer().fit(X)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"missing": "drop"}, "missing must be one of 'category', 'impute', not 'drop'"),
        ({"scale": "robust"}, "scale must be one of 'standard', 'range', not 'robust'"),
        ({"dtype": np.int64}, "dtype must be float64 or float32, not"),
        ({"dtype": "wide"}, "dtype must be float64 or float32, not 'wide'"),
        ({"nominal": "all"}, "nominal must be 'auto' or a list of columns, not 'all'"),
        ({"nominal": 3}, "nominal must be 'auto' or a list of columns, not 3"),
        ({"nominal": [3]}, "names or positions below 3, not 3"),
        ({"nominal": [1.0]}, "names or positions below 3, not 1.0"),
        ({"nominal": [True]}, "names or positions below 3, not True"),
        ({"nominal": ["shape"]}, "names column 'shape', but the columns are colour, weight, size"),
    ],
)
def test_wrong_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        TablePreparer(**parameters).fit(as_pandas())


def test_names_for_a_table_without_names():
    with pytest.raises(ValueError, match="names column 'x1', but the columns have no names"):
        TablePreparer(nominal=["x1"]).fit(as_object())


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    preparer = TablePreparer().fit(as_pandas())
    before = preparer.transform(as_pandas())
    bad = as_pandas().rename(columns={"size": "length"})
    bad.loc[0, "weight"] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        preparer.fit(bad)
    np.testing.assert_array_equal(preparer.transform(as_pandas()), before)


def test_in_a_pipeline():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"colour": rng.choice(["red", "blue", "green"], 300), "weight": rng.normal(size=300)}
    )
    frame.loc[::10, "weight"] = np.nan
    y = (frame["colour"] == "red").to_numpy()
    scores = cross_val_score(
        make_pipeline(TablePreparer(), Perceptron(random_state=0)), frame, y, cv=5
    )
    assert (scores == 1).all()
    assert clone(TablePreparer(nominal=["colour"])).nominal == ["colour"]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", None]),
            st.one_of(st.none(), st.floats(-1e6, 1e6)),
            st.sampled_from([0, 1, 2.5, None]),
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["category", "impute"]),
)
def test_against_a_naive_model(rows, missing):
    """Row by row, from the definition."""
    table = np.array(rows, dtype=object).reshape(len(rows), 3)
    preparer = TablePreparer(nominal=[0, 2], missing=missing, scale=None).fit(table)
    out = preparer.transform(table)
    expected = []
    for j in (0, 2):
        values = [row[j] for row in rows if row[j] is not None]
        kinds = sorted(set(values))
        slots = list(kinds)
        if missing == "category" and len(values) < len(rows):
            slots.append(None)
        favourite = max(kinds, key=values.count) if kinds else "nothing"
        cells = [favourite if row[j] is None and missing == "impute" else row[j] for row in rows]
        expected.append([[float(cell == slot) for slot in slots] for cell in cells])
    numbers = [row[1] for row in rows if row[1] is not None]
    mean = sum(numbers) / len(numbers) if numbers else 0.0
    middle = [[mean if row[1] is None else row[1]] for row in rows]
    naive = np.hstack([expected[0], middle, expected[1]])
    np.testing.assert_allclose(out, naive, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("name", ["soybean", "audiology", "car", "postoperative", "tae", "glass"])
def test_tables_of_the_papers(data_dir, name):
    data = load(name, source=data_dir)
    preparer = TablePreparer()
    out = preparer.fit_transform(data.data)
    nominal = np.isin(data.feature_names, data.nominal)
    assert np.array_equal(preparer.nominal_, nominal)
    assert np.isfinite(out).all()
    # Every nominal column of a row has exactly one indicator set.
    widths = [c.size for c in preparer.categories_]
    indicators = out[:, np.repeat(nominal, preparer._widths())]
    assert (indicators.sum(axis=1) == nominal.sum()).all()
    assert indicators.shape[1] == sum(widths) + (preparer.fill_ >= 0).sum()
