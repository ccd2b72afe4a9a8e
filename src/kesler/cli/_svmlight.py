"""svmlight files (.svm, .svmlight, .libsvm, packed with .gz or not): ``label feature:value ...``.

scikit-learn's reader parses the features; the labels are taken off each line before it sees them,
for they may be sets (``3,7`` or ``3|7``, nothing at all for the empty set) and rankings
(``3>1>2``). A number as a label loses its sign and its zeros: ``+1`` and ``1.0`` are ``1``.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from kesler.cli._examples import Examples, Schema, Wanted, check_finite
from kesler.cli._streams import opened

_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
_TELL_EVERY = 1000  # lines


class _Bodies:
    """The lines without their labels, as a file that is only iterated."""

    def __init__(self, lines: Iterable[bytes], tell: Callable[[], None]) -> None:
        self._lines = lines
        self._tell = tell
        self._known: dict[bytes, str] = {}
        self.labels: list[str] = []
        self.numbers = array("q")  # of the lines, from 1
        self.number = 0
        self.line = b""

    def read(self) -> bytes:
        """There only to say that this is a file."""
        raise io.UnsupportedOperation("lines come one by one")

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.number += 1
            self.line = line.partition(b"#")[0]
            if self.number % _TELL_EVERY == 0:
                self._tell()
            label, _, body = self.line.strip().partition(b" ")
            if not label:
                continue
            if b":" in label:  # no label: the empty set
                label, body = b"", self.line
            self.labels.append(self._text(label))
            self.numbers.append(self.number)
            yield b"0 " + body

    def _text(self, label: bytes) -> str:
        text = self._known.get(label)
        if text is None:
            text = self._known[label] = _label(label.decode("utf-8"))
        return text


def read_svmlight(path: str, wanted: Wanted) -> Examples:
    """Features as a CSR matrix, and labels."""
    with opened(path) as (stream, tell):
        bodies = _Bodies((line.replace(b"\t", b" ") for line in stream), tell)
        try:
            matrix = load_svmlight_file(bodies, zero_based=True)[0]
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{path}: row {bodies.number}: {_fault(bodies.line)}") from error
    n = len(bodies.labels)
    if n == 0:
        raise ValueError(f"{path}: the file holds no example")

    def place(i: int) -> str:
        return f"row {bodies.numbers[i]}"

    schema = _schema(matrix, wanted.schema)
    X = _counted_from_zero(path, matrix, schema, place)
    check_finite(path, X, place)
    return Examples(
        path,
        X,
        schema,
        bodies.labels,
        place,
        lambda i: f"{place(i)}, the label",
        is_table=False,
    )


def _schema(matrix: Any, known: Schema | None) -> Schema:
    zero_based = bool(matrix.nnz == 0 or matrix.indices.min() == 0)
    if known is not None:
        if known.zero_based is not None:
            zero_based = known.zero_based
        n_features = known.n_features
    else:
        n_features = max(matrix.shape[1] - (not zero_based), 1)
    return Schema(n_features, np.zeros(n_features, dtype=bool), zero_based=zero_based)


def _counted_from_zero(
    path: str, matrix: Any, schema: Schema, place: Callable[[int], str]
) -> sp.csr_matrix:
    low = 0 if schema.zero_based else 1
    high = schema.n_features - 1 + low
    wrong = (matrix.indices < low) | (matrix.indices > high)
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise ValueError(
            f"{path}: {place(row)}: feature {matrix.indices[at]}; the model takes features {low} "
            f"to {high}"
        )
    return sp.csr_matrix(
        (matrix.data, matrix.indices - low, matrix.indptr),
        shape=(matrix.shape[0], schema.n_features),
    )


def _label(text: str) -> str:
    names = re.split(r"([>|,])", text)
    shown = [str(int(float(name))) if _WHOLE.fullmatch(name) else name for name in names]
    return "".join("|" if name == "," else name for name in shown)


def _fault(line: bytes) -> str:
    """What is wrong with a line that cannot be read."""
    before = -1
    tokens = line.split()
    features = tokens if tokens and b":" in tokens[0] else tokens[1:]
    for token in features:
        text = token.decode("utf-8", "backslashreplace")
        name, _, value = text.partition(":")
        if name == "qid":
            continue
        try:
            index = int(name)
            float(value)
        except ValueError:
            return f"{text!r} is not feature:value, a whole number and a number"
        if not 0 <= index < 2**31:
            return f"feature {index} is below 0 or too large"
        if index <= before:
            return f"feature {index} follows feature {before}; features must rise"
        before = index
    return "the label is not UTF-8 text"
