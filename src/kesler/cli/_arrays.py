"""NumPy files: X.npy with the labels in a file of their own, or one .npz that holds X and y."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kesler.cli._examples import Examples, Schema, Wanted, check_finite


def read_arrays(path: str, wanted: Wanted) -> Examples:
    """Features, of the type they have, and labels: one each, or a 0/1 column for each label."""
    arrays = _load(path)
    if "X" not in arrays:
        raise ValueError(f"{path}: no array X among {', '.join(arrays)}")
    X, y, y_path = arrays["X"], arrays.get("y"), path
    if wanted.labels_path is not None:
        y_path = wanted.labels_path
        y = _load(y_path).get("X")
        if y is None:
            raise ValueError(f"{y_path}: the labels must be one array (.npy)")
    if y is None and wanted.labels:
        raise ValueError(f"{path}: no labels; give --labels y.npy, or a .npz file with X and y")
    if X.ndim != 2 or X.dtype.kind not in "fiub" or X.shape[1] == 0:
        raise ValueError(
            f"{path}: X is of type {X.dtype} and shape {X.shape}; wanted numbers, a row for each "
            "example"
        )
    if X.shape[0] == 0:
        raise ValueError(f"{path}: X has no rows")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    known = wanted.schema
    if known is not None and known.n_features != X.shape[1]:
        raise ValueError(
            f"{path}: X has {X.shape[1]} columns, but the model takes {known.n_features}"
        )
    check_finite(path, X, _place)
    return Examples(
        path,
        X,
        Schema(X.shape[1], np.zeros(X.shape[1], dtype=bool)),
        None if y is None else _labels(y_path, y, X.shape[0]),
        _place,
        lambda i: f"{'' if y_path == path else y_path + ', '}{_place(i)}, the label",
        is_table=False,
    )


def _place(i: int) -> str:
    return f"row {i + 1}"


def _load(path: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file by name; the one of a .npy file is X."""
    try:
        with Path(path).open("rb") as stream:
            held = np.load(stream, allow_pickle=False)
            if isinstance(held, np.ndarray):
                return {"X": held}
            return {name: held[name] for name in held.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: no NumPy file that can be read safely ({error})") from error


def _labels(path: str, y: npt.NDArray[Any], n: int) -> list[str] | npt.NDArray[Any]:
    if y.ndim not in (1, 2) or y.shape[0] != n:
        raise ValueError(f"{path}: y is of shape {y.shape}, but X has {n} rows")
    if y.ndim == 2:
        if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"{path}: a y of two dimensions holds 0 and 1, a column for each label"
            )
        return y
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8")
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.round(y))
        if not whole.all():
            bad = int(np.argmin(whole))
            raise ValueError(
                f"{path}: {_place(bad)}: {y[bad]} is no label; wanted text or integers"
            )
        y = y.astype(np.int64)
    if y.dtype.kind not in "Uiub":
        raise ValueError(f"{path}: y is of type {y.dtype}; wanted text or integers")
    return [text.strip() for text in y.astype(np.str_).tolist()]
