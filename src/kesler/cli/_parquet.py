"""Parquet files: columns of numbers, of text and of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from kesler.cli._examples import Examples, Schema, Wanted, choose_columns


def read_parquet(path: str, wanted: Wanted) -> Examples:
    """Features and labels of a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'kesler[cli]'") from error
    try:
        with pq.ParquetFile(path) as file:
            header = list(file.schema_arrow.names)
            chosen = choose_columns(path, header, wanted)
            used = [*chosen.features, *([] if chosen.target is None else [chosen.target])]
            table = file.read(columns=[header[j] for j in used])
    except pa.ArrowException as error:
        raise ValueError(f"{path}: {str(error).splitlines()[0]}") from error
    if table.num_rows == 0:
        raise ValueError(f"{path}: the file has no rows")
    nominal = [
        _is_text(table[header[j]].type, _named(path, header, j)) if known is None else known
        for j, known in zip(chosen.features, chosen.nominal, strict=True)
    ]
    shape = (table.num_rows, len(nominal))
    X = np.empty(shape, dtype=object if any(nominal) else np.float64)
    for k, j in enumerate(chosen.features):
        X[:, k] = _column(table[header[j]], nominal[k], _named(path, header, j))
    target, labels, column_name = chosen.target, None, ""
    if target is not None:
        column_name = f", column {target + 1} ({header[target]!r})"
        held = table[header[target]]
        _is_text(held.type, _named(path, header, target))
        labels = ["" if v is None else str(v).strip() for v in held.to_pylist()]
    return Examples(
        path,
        X,
        Schema(
            len(nominal),
            np.array(nominal, dtype=bool),
            [header[j] for j in chosen.features],
            None if target is None else header[target],
        ),
        labels,
        lambda i: f"row {i + 1}",
        lambda i: f"row {i + 1}{column_name}",
        is_table=True,
    )


def _named(path: str, header: list[str], column: int) -> str:
    return f"{path}: column {column + 1} ({header[column]!r})"


def _is_text(kind: Any, where: str) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type, where)
    if str(kind) in ("string", "large_string", "string_view"):
        return True
    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(is_kind(kind) for is_kind in numbers):
        return False
    raise ValueError(f"{where} is of type {kind}, which is neither text nor a number")


def _column(column: Any, nominal: bool, where: str) -> Any:
    import pyarrow as pa

    if nominal:
        made = np.empty(len(column), dtype=object)
        made[:] = [None if v is None else str(v) for v in column.to_pylist()]
        return made
    if _is_text(column.type, where):
        raise ValueError(f"{where} is text, but the model takes numbers there")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    endless = np.isinf(numbers)
    if endless.any():
        raise ValueError(f"{where}: row {int(np.argmax(endless)) + 1} is no finite number")
    return numbers
