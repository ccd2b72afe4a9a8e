"""Labels to codes: whatever the type of the labels, the answer is that of `numpy.unique`."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kesler._labels import codes_of_distinct, label_set, look_up, one_dimension

INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


@st.composite
def integer_arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = draw(st.sampled_from(INTEGERS))
    info = np.iinfo(dtype)
    anywhere = st.integers(int(info.min), int(info.max))
    base = draw(st.sampled_from([int(info.min), int(info.max) - 300, 0]) | anywhere)
    near = st.integers(0, 300).map(lambda v: min(max(base + v, int(info.min)), int(info.max)))
    values = draw(st.lists(draw(st.sampled_from([anywhere, near])), max_size=20))
    return np.array(values, dtype=dtype)


TEXT = st.text(alphabet="ab\u00e9\U0001f600", max_size=3)
# NumPy itself drops trailing zero characters and says that -0.0 equals 0.0.
OTHERS = st.one_of(
    st.lists(TEXT).map(np.array),
    st.lists(TEXT).map(lambda v: np.array(v, dtype=object)),
    st.lists(st.booleans()).map(lambda v: np.array(v, dtype=bool)),
    st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(np.array),
    st.lists(st.integers(-(10**30), 10**30)).map(lambda v: np.array(v, dtype=object)),
    st.lists(st.dates()).map(lambda v: np.array(v, dtype="M8[D]")),
)


@given(integer_arrays() | OTHERS)
@example(np.array([99, -100], dtype=np.int8))
@example(np.array([2**63 + 1, 2**63], dtype=np.uint64))
@settings(max_examples=300)
def test_codes_are_places_among_the_sorted_labels(values: np.ndarray) -> None:
    before = values.copy()
    found, codes = codes_of_distinct(values)
    wanted, places = np.unique(values, return_inverse=True)
    assert found.dtype == values.dtype
    assert found.tolist() == wanted.tolist()
    assert codes.dtype == np.int32
    assert codes.tolist() == places.tolist()
    assert values.tolist() == before.tolist()


@given(integer_arrays() | OTHERS, st.data())
@settings(max_examples=300)
def test_what_is_looked_up_is_found(values: np.ndarray, data: st.DataObject) -> None:
    found = label_set(values)
    assert found.tolist() == sorted(set(values.tolist()))
    codes = look_up(values, found, str)
    assert codes.dtype == np.int32
    assert found[codes].tolist() == values.tolist()
    if values.size:
        gone = data.draw(st.integers(0, found.size - 1))
        rest = np.delete(found, gone)
        with pytest.raises(ValueError, match="has unknown label") as raised:
            look_up(values, rest, lambda p: f"place {p}")
        assert str(raised.value).startswith(f"place {codes.tolist().index(gone)} has")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (np.array([1, 2], dtype=np.int8), np.array([1.0, 2.0])),
        (np.array([1.0, 2.0], dtype=np.float32), np.array([1, 2])),
        (np.array([True, False]), np.array([0, 1])),
        (np.array(["a", "b"], dtype=object), np.array(["a", "b"])),
        (np.array(["a", "b"]), np.array(["a", "b"], dtype=object)),
        (np.array(["aaaa", "b"]), np.array(["aaaa", "b"], dtype="<U9")),
        (np.array([2**53 + 1, 2**53], dtype=np.uint64), np.array([2**53, 2**53 + 1])),
    ],
)
def test_equal_values_of_other_types_are_found(values: Any, labels: Any) -> None:
    codes = look_up(values, labels, str)
    assert [labels.tolist()[c] for c in codes] == values.tolist()


@pytest.mark.parametrize(
    "values",
    [3, "abc", None, [[1, 2]], np.zeros((2, 1)), np.array(5), {"a": 1}],
    ids=repr,
)
def test_labels_have_one_dimension(values: Any) -> None:
    with pytest.raises(ValueError, match="things must be a one-dimensional array"):
        one_dimension(values, "things")
