"""Tables of mixed cells as text: equal decimals down a column, numbers to the right."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

_DIGITS = 4  # significant ones of a float
_MOST_DECIMALS = 6
_LARGEST = 9  # digits before the point, less one
_NOTHING = "–"  # a cell without a value
_MARKDOWN_SIGNS = re.compile(r"[\\|`*<\[]|(?<!\w)_|_(?!\w)")
_BEGINS_LIKE_A_NUMBER = re.compile(r"[-+−±~<>≤≥]?\s?[.\d]")


class Cells(NamedTuple):
    """A table as text.

    Attributes
    ----------
    header : list of str
    rows : list of list of str
    numeric : list of bool
        The columns that hold numbers.
    """

    header: list[str]
    rows: list[list[str]]
    numeric: list[bool]


def format_table(
    header: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    *,
    style: Literal["text", "markdown"] = "text",
) -> str:
    """A table as plain text or as Markdown.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequences
        Cells are text or numbers. Floats of a column get the same number of decimals, enough for
        four digits of each; None and NaN are shown as a dash. Columns of numbers, or of text that
        begins with one (``"1.2 ± 0.1"``), stand to the right.
    style : {"text", "markdown"}, default="text"

    Returns
    -------
    str
        Without a newline at the end.

    Examples
    --------
    >>> from kesler.reporting import format_table
    >>> rows = [["one-vs-all", 12.25, 10], ["constraint classification", 8.5, 7]]
    >>> print(format_table(["method", "error %", "passes"], rows))
    method                     error %  passes
    -------------------------  -------  ------
    one-vs-all                   12.25      10
    constraint classification     8.50       7
    >>> print(format_table(["method", "error %"], [["one|all", 12]], style="markdown"))
    | method   | error % |
    | -------- | ------: |
    | one\\|all |      12 |
    """
    if style not in ("text", "markdown"):
        raise ValueError(f"style must be 'text' or 'markdown', not {style!r}")
    cells = as_cells(header, rows)
    if style == "text":
        return _as_text(cells)
    return cells_as_markdown(cells)


def as_cells(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Cells:
    """The cells as text, and which columns are numeric."""
    names = [str(name) for name in header]
    for i, row in enumerate(rows):
        if isinstance(row, str) or len(row) != len(names):
            raise ValueError(f"row {i} of the table is {row!r}; the header has {len(names)} cells")
    columns = [_column([row[j] for row in rows]) for j in range(len(names))]
    numeric = [_is_numeric(column) for column in columns]
    lines = [list(line) for line in zip(*columns, strict=True)]
    return Cells([_one_line(name) for name in names], lines, numeric)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN_SIGNS.sub(r"\\\g<0>", text)


def _column(values: list[Any]) -> list[str]:
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    floats = [v for v in plain if isinstance(v, float) and math.isfinite(v)]
    decimals = _decimals(floats)
    return [_cell(v, decimals) for v in plain]


def _decimals(floats: list[float]) -> int | None:
    """Decimals that show enough digits of every number; None where only exponents could."""
    most = 0
    for value in floats:
        size = math.floor(math.log10(abs(value))) if value else 0
        decimals = max(0, _DIGITS - 1 - size)
        if decimals > _MOST_DECIMALS or size > _LARGEST:
            return None
        most = max(most, len(f"{value:.{decimals}f}".rstrip("0").partition(".")[2]))
    return most


def _cell(value: Any, decimals: int | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _NOTHING
    if isinstance(value, float):
        if decimals is None or math.isinf(value):
            return f"{value:.{_DIGITS}g}"
        return f"{value:.{decimals}f}"
    return _one_line(str(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_numeric(column: list[str]) -> bool:
    shown = [text for text in column if text not in ("", _NOTHING)]
    return bool(shown) and all(_BEGINS_LIKE_A_NUMBER.match(t) or t.endswith("inf") for t in shown)


def _as_text(cells: Cells) -> str:
    widths = _widths(cells.header, cells.rows)
    header, *rows = [_padded(row, widths, cells.numeric) for row in [cells.header, *cells.rows]]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def cells_as_markdown(cells: Cells) -> str:
    """A table in Markdown; the cells are escaped."""
    header = [escape_markdown(name) for name in cells.header]
    rows = [[escape_markdown(text) for text in row] for row in cells.rows]
    widths = [max(width, 3) for width in _widths(header, rows)]
    rules = [
        "-" * (width - number) + ":" * number
        for width, number in zip(widths, cells.numeric, strict=True)
    ]
    lines = [_padded(row, widths, cells.numeric) for row in [header, *rows]]
    lines.insert(1, rules)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _padded(row: list[str], widths: list[int], numeric: list[bool]) -> list[str]:
    return [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(row, widths, numeric, strict=True)
    ]


def _widths(header: list[str], rows: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(header, *rows, strict=True)]
