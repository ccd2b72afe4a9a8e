"""Which estimators can be stored, and the file around them.

A codec is a module with `encode(estimator)`, which gives a JSON object and arrays, and
`decode(stored)`, which checks and builds. A class is stored by its own name, never by something to
import; what the file names is looked up in the table below.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.utils.validation import check_is_fitted

from kesler._version import __version__
from kesler.persistence._container import Container, write_container
from kesler.persistence._files import replacing
from kesler.persistence._values import Arrays, Fields, Stored

__all__ = ["load", "save"]

FORMAT_VERSION = 1

# Name in the file: module of the class, module of its codec.
_CODECS = {
    "ConstraintSVC": ("kesler.linear.svc", "kesler.persistence._svc"),
    "ConstraintSVCCV": ("kesler.linear.svc_cv", "kesler.persistence._svc"),
    "OnlineClassifier": ("kesler.linear.online", "kesler.persistence._online"),
    "TablePreparer": ("kesler.preparation", "kesler.persistence._preparer"),
    "Pipeline": ("sklearn.pipeline", "kesler.persistence._pipeline"),
}

_METADATA = {"format", "format_version", "kesler_version", "model", "notes", "crc32"}


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that `load` reads without running code.

    Parameters
    ----------
    estimator : ConstraintSVC, ConstraintSVCCV, OnlineClassifier, TablePreparer, Pipeline of these
        Fitted. Labels may be text, numbers or booleans. A ``random_state`` must be an integer or
        None: the state of a generator is not stored, and it is refused rather than forgotten. Dual
        variables are left out: what is loaded has no ``dual_coef_``.
    path : path-like
        The file, which is replaced as a whole: whoever reads it meanwhile finds the old one.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from kesler import OnlineClassifier, load, save
    >>> model = OnlineClassifier(random_state=0).fit(np.eye(2), ["yes", "no"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "answers.kes")
    ...     load(Path(folder) / "answers.kes").predict(np.eye(2))
    array(['yes', 'no'], dtype='<U3')
    """
    packed = pack_model(estimator)
    with replacing(path) as stream:
        write_model(stream, *packed)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote: it predicts the same and can go on learning.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ConstraintSVC, ConstraintSVCCV, OnlineClassifier, TablePreparer or Pipeline

    Raises
    ------
    ValueError
        If the file is no model, is damaged, does not fit together, or was written by a later
        version in a format this one does not know. A file from an untrusted place is safe to load:
        it takes memory in proportion to its size, and none of it is run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kesler import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "broken.kes"
    ...     _ = path.write_bytes(b"no model at all")
    ...     load(path)
    Traceback (most recent call last):
    ...
    ValueError: ...broken.kes is no Kesler model: its header claims ...
    """
    return read_model(path)[0]


def pack_model(estimator: Any, notes: dict[str, Any] | None = None) -> tuple[Arrays, Fields]:
    """What `write_model` writes; `notes` are JSON values that go with the model."""
    described, arrays = encode(estimator)
    metadata = {
        "format": "kesler",
        "format_version": str(FORMAT_VERSION),
        "kesler_version": __version__,
        "model": json.dumps(described, allow_nan=False, separators=(",", ":")),
    }
    if notes is not None:
        metadata["notes"] = json.dumps(notes, allow_nan=False, separators=(",", ":"))
    return arrays, metadata


def write_model(stream: BinaryIO, arrays: Arrays, metadata: Fields) -> None:
    """Write what `pack_model` made."""
    write_container(stream, arrays, metadata)


def read_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator in a file, and the notes that went with it."""
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        try:
            return _read(Container(stream, size))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)} is no Kesler model: {error}") from error


def encode(estimator: Any) -> tuple[Fields, Arrays]:
    """The description of an estimator, its class among it, and its arrays."""
    kind = type(estimator)
    home, codec = _CODECS.get(kind.__name__, ("", ""))
    if kind.__module__ != home:
        known = ", ".join(_CODECS)
        raise TypeError(f"a model file holds {known}, not {kind.__module__}.{kind.__name__}")
    check_is_fitted(estimator)
    fields, arrays = import_module(codec).encode(estimator)
    return {"class": kind.__name__, **fields}, arrays


def decode(stored: Stored) -> Any:
    """The estimator that was described."""
    name = stored.option("class", tuple(_CODECS))
    return import_module(_CODECS[name][1]).decode(stored)


def _read(container: Container) -> tuple[Any, dict[str, Any]]:
    metadata = container.metadata
    if metadata.get("format") != "kesler":
        raise ValueError("it is a safetensors file of something else")
    version = metadata.get("format_version", "")
    if version != str(FORMAT_VERSION):
        raise ValueError(
            f"its format is version {version[:20]!r} (Kesler {metadata.get('kesler_version')!r} "
            f"wrote it), and Kesler {__version__} reads version {FORMAT_VERSION}"
        )
    strange = set(metadata) - _METADATA
    if strange:
        raise ValueError(f"nothing is known of {', '.join(sorted(strange))!r} in its metadata")
    estimator = decode(Stored(json.loads(metadata.get("model", "null")), container))
    notes = json.loads(metadata.get("notes", "{}"))
    if not isinstance(notes, dict):
        raise ValueError("its notes are no JSON object")
    return estimator, notes
