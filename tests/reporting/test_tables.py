"""Tables show every cell, equal decimals down a column, numbers to the right."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kesler.reporting import format_table

CELLS = st.one_of(st.text(max_size=12), st.integers(), st.floats(), st.none())
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        st.lists(st.text(max_size=8), min_size=width, max_size=width),
        st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5),
    )
)


@given(TABLES)
def test_a_text_table_has_a_line_for_each_row(table):
    header, rows = table
    assert len(format_table(header, rows).split("\n")) == 2 + len(rows)


@given(TABLES)
def test_a_markdown_table_has_the_same_cells_in_each_line(table):
    header, rows = table
    lines = format_table(header, rows, style="markdown").split("\n")
    assert len(lines) == 2 + len(rows)
    for line in lines:
        bare = re.sub(r"\\.", "x", line)  # a bar after a backslash is text
        assert bare.startswith("| ") and bare.endswith(" |")
        assert bare.count("|") == len(header) + 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
def test_floats_keep_four_digits_and_line_up(values):
    (*_,) = lines = format_table(["x"], [[v] for v in values]).split("\n")[2:]
    shown = [line.strip() for line in lines]
    for text, value in zip(shown, values, strict=True):
        assert math.isclose(float(text), value, rel_tol=5.1e-4, abs_tol=1e-300)
    if not any("e" in text for text in shown):
        assert len({len(text.partition(".")[2]) for text in shown}) == 1


def test_columns_line_up():
    text = format_table(
        ["set", "error", "n"], [["a", 12.25, 5], ["longer", 3.0, 12345], ["b", None, 7]]
    )
    assert text.split("\n") == [
        "set     error      n",
        "------  -----  -----",
        "a       12.25      5",
        "longer   3.00  12345",
        "b           –      7",
    ]


def test_what_counts_as_a_number():
    header = ["a", "b", "c", "d", "e"]
    rows = [["1.5 ± 0.2", "x1", np.float32(0.5), "", "≤ 3"], ["–", "2", np.int64(3), None, "-.5"]]
    rule = format_table(header, rows, style="markdown").split("\n")[1]
    assert [cell.endswith(":") for cell in rule.strip("| ").split(" | ")] == [
        True,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.1, 0.25], ["0.10", "0.25"]),
        ([123456.7, 1.0], ["123457", "1"]),
        ([1e-9, 1.0], ["1e-09", "1"]),
        ([1e300, 1.0], ["1e+300", "1"]),
        ([0.0, -0.5], ["0.0", "-0.5"]),
        ([math.inf, 2.5, math.nan], ["inf", "2.5", "–"]),
        ([True, 1.5], ["True", "1.5"]),
    ],
)
def test_decimals(values, shown):
    lines = format_table(["x"], [[v] for v in values]).split("\n")
    assert [line.strip() for line in lines[2:]] == shown


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"row 1 .* 2 cells"):
        format_table(["a", "b"], [[1, 2], [3]])
    with pytest.raises(ValueError, match="row 0"):
        format_table(["a", "b"], ["xy"])
    with pytest.raises(ValueError, match="'html'"):
        format_table(["a"], [], style="html")
