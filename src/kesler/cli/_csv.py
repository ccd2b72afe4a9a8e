"""CSV files with a header row (.csv, .tsv, packed with .gz or not).

Rows are parsed by the csv module and converted a column of some hundred cells at a time. A column
is nominal if at most half of its first cells are numbers; in any other column what is no number is
an error, for a typing mistake must not turn measurements into categories. Line numbers are looked
up by reading the file again, only when an error wants one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from kesler.cli._cells import BadCell, are_mostly_numbers, are_numbers, as_categories, as_numbers
from kesler.cli._examples import Columns, Examples, Schema, Wanted, choose_columns
from kesler.cli._streams import opened

_FIRST_ROWS = 4096  # looked at for the type of a column
_ROWS = 512  # converted at once: few enough to stay in the cache

Row = list[str]


def read_csv(path: str, wanted: Wanted) -> Examples:
    """Features and labels of a CSV file."""
    try:
        with _parsed(path) as (reader, tell):
            return _read(path, _rows(path, reader), tell, wanted)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: row {_first_undecodable(path)} is not UTF-8 text") from error


@contextmanager
def _parsed(path: str) -> Iterator[tuple[Any, Callable[[], None]]]:
    """The csv module's reader of a file, and what tells the progress."""
    tabs = path.removesuffix(".gz").endswith(".tsv")
    with (
        opened(path) as (stream, tell),
        io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text,
    ):
        yield csv.reader(text, delimiter="\t" if tabs else ",", strict=True), tell


def _read(path: str, rows: Iterator[Row], tell: Callable[[], None], wanted: Wanted) -> Examples:
    header = [name.strip() for name in next(rows, [])]
    if not header:
        raise ValueError(f"{path}: the file is empty; row 1 must name the columns")
    if are_numbers(header):
        raise ValueError(f"{path}: row 1 must name the columns, but holds numbers")
    chosen = choose_columns(path, header, wanted)
    hint = "" if wanted.schema else "; name the column with --nominal if it holds categories"
    parts: list[list[Any]] = [[] for _ in chosen.features]
    labels: list[str] = []
    n = 0
    while chunk := list(islice(rows, _ROWS if n else _FIRST_ROWS)):
        columns = _transposed(path, header, chunk, n)
        if n == 0:
            _find_nominal(chosen, columns)
        for part, j, nominal in zip(parts, chosen.features, chosen.nominal, strict=True):
            try:
                part.append(as_categories(columns[j]) if nominal else as_numbers(columns[j]))
            except BadCell as bad:
                where = f"row {_line_of(path, n + bad.index)}, column {j + 1} ({header[j]!r})"
                raise ValueError(
                    f"{path}: {where}: {bad.text.strip()!r} is no finite number, as the rest of "
                    f"the column is{hint}"
                ) from None
        if chosen.target is not None:
            labels += map(str.strip, columns[chosen.target])
        n += len(chunk)
        tell()
    if n == 0:
        raise ValueError(f"{path}: no row follows the header")
    names = [header[j] for j in chosen.features]
    nominal_columns = np.array(chosen.nominal, dtype=bool)
    target = chosen.target
    column = "" if target is None else f", column {target + 1} ({header[target]!r})"
    return Examples(
        path,
        _matrix(parts, n, bool(nominal_columns.any())),
        Schema(len(names), nominal_columns, names, None if target is None else header[target]),
        None if target is None else labels,
        lambda i: f"row {_line_of(path, i)}",
        lambda i: f"row {_line_of(path, i)}{column}",
        is_table=True,
    )


def _matrix(parts: list[list[Any]], n: int, mixed: bool) -> Any:
    """The columns side by side; each is let go as soon as it stands there."""
    X = np.empty((n, len(parts)), dtype=object if mixed else np.float64)
    for j, part in enumerate(parts):
        X[:, j] = np.concatenate(part)
        part.clear()
    return X


def _find_nominal(chosen: Columns, columns: list[tuple[str, ...]]) -> None:
    chosen.nominal = [
        not are_mostly_numbers(columns[j]) if nominal is None else nominal
        for j, nominal in zip(chosen.features, chosen.nominal, strict=True)
    ]


def _rows(path: str, reader: Any) -> Iterator[Row]:
    """The rows that are not blank."""
    try:
        for row in reader:
            if row:
                yield row
    except csv.Error as error:
        raise ValueError(f"{path}: row {reader.line_num}: {error}") from error


def _transposed(path: str, header: Row, chunk: list[Row], before: int) -> list[tuple[str, ...]]:
    width = len(header)
    try:
        columns = list(zip(*chunk, strict=True))
    except ValueError:
        columns = []
    if len(columns) == width:
        return columns
    at = next(i for i, row in enumerate(chunk) if len(row) != width)
    raise ValueError(
        f"{path}: row {_line_of(path, before + at)} has {len(chunk[at])} fields, "
        f"but the header has {width}"
    )


def _line_of(path: str, example: int) -> int:
    """The line on which an example begins."""
    with _parsed(path) as (reader, _):
        line, found = 0, -2  # the header is no example
        for row in reader:
            found += bool(row)
            if row and found == example:
                return line + 1
            line = reader.line_num
    raise AssertionError(f"{path} has no example {example}")


def _first_undecodable(path: str) -> int:
    with opened(path) as (stream, _):
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    raise AssertionError(f"{path} is UTF-8")
