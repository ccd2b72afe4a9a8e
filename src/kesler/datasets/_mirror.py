"""Reads a data set from files in a folder: gzipped CSV, svmlight or IDX.

The files are taken for what a stranger gave: whatever does not fit the facts of the catalogue is
refused with the name of the file, and nothing is unpacked without a bound.
"""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kesler.datasets._catalogue import Facts
from kesler.datasets._dataset import Dataset

# Text of numbers packs by 3 to 15; far beyond that a file is a trap, not data.
_MOST_PACKED = 100


def read(facts: Facts, folder: Path) -> Dataset:
    """The data set from its files in `folder`, all of which are there."""
    paths = [folder / file for file in facts.files]
    if facts.layout == "csv":
        return _read_table(facts, paths[0])
    data, target = (_read_svmlight if facts.layout == "svmlight" else _read_images)(facts, paths)
    return assemble(facts, data, target, [f"x{j + 1}" for j in range(facts.n_features)])


def assemble(
    facts: Facts,
    data: Any,
    target: Any,
    feature_names: list[str],
    target_names: list[str] | None = None,
    ordered: bool = True,
) -> Dataset:
    """A data set from its parts; without `ordered` the paper's split does not apply."""
    if target_names is None:
        if facts.target == "class":
            target_names = list(facts.class_names) or np.unique(target).tolist()
        else:
            target_names = [str(r) for r in range(facts.n_labels)]
    has_split = facts.n_test > 0 and ordered
    return Dataset(
        facts.name,
        data,
        target,
        feature_names,
        [feature_names[j] for j in facts.nominal],
        facts.target,
        target_names,
        np.arange(facts.n_train, dtype=np.int64) if has_split else None,
        np.arange(facts.n_train, facts.n_rows, dtype=np.int64) if has_split else None,
    )


def _unpack(path: Path, at_most: int | None = None) -> bytes:
    limit = at_most or _MOST_PACKED * path.stat().st_size + 4096
    try:
        with gzip.open(path) as file:
            raw = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is no gzip file, or only part of one: {error}") from error
    if len(raw) > limit:
        raise ValueError(f"{path} unpacks to more than {limit} bytes, which no copy of it would")
    return raw


# ---- tables --------------------------------------------------------------------------------------


def _read_table(facts: Facts, path: Path) -> Dataset:
    try:
        text = _unpack(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}") from error
    head, _, body = text.partition("\n")
    columns = head.rstrip("\r").split(",")
    begin = 1 if facts.n_test else 0
    end = begin + facts.n_features
    n_targets = 1 if facts.target == "class" else facts.n_labels
    wanted_end = ["class"] if facts.target == "class" else [f"L{r + 1}" for r in range(n_targets)]
    if columns[:begin] + columns[end:] != ["split"] * begin + wanted_end:
        raise ValueError(
            f"{path} must have the columns {'split, ' * begin}{facts.n_features} features, "
            f"{', '.join(wanted_end)}; its first line has {len(columns)}, "
            f"the last of them {columns[-1]!r}"
        )
    if len(set(columns)) < len(columns):
        raise ValueError(f"{path} has two columns of the same name in its first line")
    # np.loadtxt with usecols does not look at surplus fields; it does refuse short rows.
    n_rows = body.count("\n") + (not body.endswith("\n"))
    if n_rows != facts.n_rows or body.count(",") != n_rows * (len(columns) - 1):
        raise ValueError(
            f"{path} must have {facts.n_rows} rows of {len(columns)} fields below its first line; "
            f"it has {n_rows} lines with {body.count(',') + n_rows} fields in all"
        )
    if facts.target == "ranks":
        numbers = _parse(path, body, n_rows, range(begin, len(columns)), float)
        data, target = np.ascontiguousarray(numbers[:, : end - begin]), numbers[:, end - begin :]
        _check_ranks(path, target)
        return assemble(facts, data, target.copy(), columns[begin:end], columns[end:])
    if facts.nominal:
        cells = _parse(path, body, n_rows, range(len(columns)), str)
        data = _mixed(path, cells[:, begin:end], facts.nominal)
        labels = cells[:, [0, -1]]
    else:
        data = _parse(path, body, n_rows, range(begin, end), float)
        labels = _parse(path, body, n_rows, (0, len(columns) - 1), str)
    if (
        facts.n_test
        and labels[:, 0].tolist() != ["train"] * facts.n_train + ["test"] * facts.n_test
    ):
        raise ValueError(
            f"column 'split' of {path} must be {facts.n_train} times 'train', "
            f"then {facts.n_test} times 'test'"
        )
    target = np.array(labels[:, 1].tolist())  # as wide as its longest name, not as any cell
    check_classes(facts, target, str(path))
    return assemble(facts, data, target, columns[begin:end])


def _parse(path: Path, body: str, n_rows: int, columns: Any, dtype: type) -> npt.NDArray[Any]:
    try:
        cells: npt.NDArray[Any] = np.loadtxt(
            StringIO(body), dtype=dtype, comments=None, delimiter=",", usecols=columns, ndmin=2
        )
    except ValueError as error:
        raise ValueError(f"{path} is no table of the kind expected: {error}") from error
    if cells.shape[0] != n_rows:
        raise ValueError(f"{path} must have {n_rows} rows; {cells.shape[0]} are not blank")
    if dtype is float and not np.isfinite(cells).all():
        row, column = np.argwhere(~np.isfinite(cells))[0]
        raise ValueError(
            f"{path}, line {row + 2}: value {cells[row, column]} in a column of numbers"
        )
    return cells


def _mixed(
    path: Path, cells: npt.NDArray[np.str_], nominal: tuple[int, ...]
) -> npt.NDArray[np.object_]:
    data = cells.astype(object)
    data[cells == ""] = np.nan
    for j in set(range(cells.shape[1])).difference(nominal):
        try:
            numbers = np.where(cells[:, j] == "", "nan", cells[:, j]).astype(np.float64)
        except ValueError as error:
            raise ValueError(f"{path}, feature {j + 1}: {error}") from error
        if np.isinf(numbers).any():
            line = int(np.argmax(np.isinf(numbers))) + 2
            raise ValueError(f"{path}, line {line}: feature {j + 1} is infinite")
        data[:, j] = numbers
    return data


def _check_ranks(path: Path, ranks: npt.NDArray[np.float64]) -> None:
    wrong = np.any(np.sort(ranks, axis=1) != np.arange(1, ranks.shape[1] + 1), axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{path}, line {row + 2}: the ranks {ranks[row].tolist()} are no order of "
            f"{ranks.shape[1]} labels"
        )


def check_classes(facts: Facts, target: npt.NDArray[Any], origin: str) -> None:
    """Refuse a target with another number of classes than the set has."""
    found = np.unique(target)
    if found.size != facts.n_labels or "" in found.tolist():
        raise ValueError(
            f"{origin} must have {facts.n_labels} classes; it has {found.size}: "
            f"{', '.join(map(repr, found[:5].tolist()))}{', ...' if found.size > 5 else ''}"
        )


# ---- svmlight ------------------------------------------------------------------------------------


def _read_svmlight(facts: Facts, paths: list[Path]) -> tuple[Any, Any]:
    rows = (facts.n_train, facts.n_test)
    parts = [_svmlight_part(facts, path, n) for path, n in zip(paths, rows, strict=True)]
    data = sp.vstack([part[0] for part in parts], format="csr")
    if facts.target == "class":
        target = np.concatenate([part[1] for part in parts])
        check_classes(facts, target, f"{paths[0]} and {paths[1].name} together")
        return data, target
    return data, sp.vstack([part[1] for part in parts], format="csr")


def _svmlight_part(facts: Facts, path: Path, n_rows: int) -> tuple[Any, Any]:
    # Imported late: sklearn.datasets takes longer to import than this whole package.
    from sklearn.datasets import load_svmlight_file

    multilabel = facts.target == "labelsets"
    try:
        X, y = load_svmlight_file(
            BytesIO(_unpack(path)),
            n_features=facts.n_features,
            zero_based=True,
            multilabel=multilabel,
        )
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} is no svmlight file of the kind expected: {error}") from error
    if X.shape[0] != n_rows:
        raise ValueError(f"{path} must have {n_rows} examples; it has {X.shape[0]}")
    if not np.isfinite(X.data).all():
        raise ValueError(f"{path} has a value that is no finite number")
    sizes = np.fromiter(map(len, y), dtype=np.int64, count=n_rows) if multilabel else None
    codes = np.fromiter(chain.from_iterable(y), dtype=np.float64) if multilabel else y
    wrong = ~((codes >= 0) & (codes < facts.n_labels) & (codes == np.floor(codes)))
    if wrong.any():
        raise ValueError(
            f"{path} has label {codes[wrong][0]:g}; labels are whole numbers from 0 to "
            f"{facts.n_labels - 1}"
        )
    labels = codes.astype(np.int64)
    if sizes is None:
        return X, np.array(facts.class_names)[labels]
    indicator = sp.csr_matrix(
        (np.ones_like(labels), labels, np.concatenate([[0], np.cumsum(sizes)])),
        shape=(n_rows, facts.n_labels),
    )
    indicator.sum_duplicates()
    if indicator.nnz != labels.size:
        raise ValueError(f"{path} gives an example the same label twice")
    return X, indicator


# ---- images --------------------------------------------------------------------------------------


def _read_images(facts: Facts, paths: list[Path]) -> tuple[Any, Any]:
    data = np.empty((facts.n_rows, facts.n_features), dtype=np.float32)
    target = np.empty(facts.n_rows, dtype=np.uint8)
    side = int(facts.n_features**0.5)
    cut = facts.n_train
    for rows, images, labels in (
        (slice(0, cut), paths[0], paths[1]),
        (slice(cut, facts.n_rows), paths[2], paths[3]),
    ):
        n = data[rows].shape[0]
        pixels = _read_idx(images, (n, side, side)).reshape(n, -1)
        np.divide(pixels, np.float32(255), out=data[rows])
        target[rows] = _read_idx(labels, (n,))
    check_classes(facts, target, f"{paths[1]} and {paths[3].name} together")
    return data, target.astype(str)


def _read_idx(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    head = np.array([0x800 + len(shape), *shape], dtype=">u4").tobytes()
    size = len(head) + int(np.prod(shape))
    raw = _unpack(path, at_most=size)
    if not raw.startswith(head):
        raise ValueError(f"{path} is no IDX file of bytes with shape {shape}")
    if len(raw) != size:
        raise ValueError(f"{path} must unpack to {size} bytes; it has {len(raw)}")
    return np.frombuffer(raw, dtype=np.uint8, offset=len(head)).reshape(shape)
