"""`load`: the papers' data by name, from a folder or from OpenML.

Nothing is bundled and nothing is downloaded on import.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from kesler.datasets._catalogue import CATALOGUE, Facts
from kesler.datasets._dataset import Dataset
from kesler.datasets._mirror import read
from kesler.datasets._openml import fetch

__all__ = ["load"]


def load(name: str, *, source: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set of the papers by name.

    It is read from the folder that the environment variable ``KESLER_DATA`` names, if the files are
    there, else fetched from OpenML (which needs pandas, and keeps a cache). Either way the numbers
    of rows, features and classes must be right. A folder holds ``NAME.csv.gz``, or
    ``NAME.train.svm.gz`` and ``NAME.test.svm.gz``, or the four IDX files of ``mnist/``.

    Copies on OpenML may name features and classes otherwise. The papers' splits go by row number;
    a copy with its rows in another order comes without a split.

    Parameters
    ----------
    name : str
        One of `names`.
    source : str or path, optional
        A folder to read from in place of ``KESLER_DATA``, or "openml".

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from kesler.datasets import load
    >>> letter = load("letter")  # doctest: +SKIP
    >>> X_train, X_test, y_train, y_test = letter.split()  # doctest: +SKIP
    >>> load("leter")
    Traceback (most recent call last):
    ...
    ValueError: there is no data set 'leter'; did you mean 'letter'? names() lists all
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is a string, not {type(name).__name__}")
    if name not in CATALOGUE:
        near = get_close_matches(name, CATALOGUE, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no data set {name!r}; {hint}names() lists all")
    facts = CATALOGUE[name]
    if source != "openml":
        folder = os.environ.get("KESLER_DATA") if source is None else source
        if folder:
            origin = "KESLER_DATA" if source is None else "source"
            if _is_complete(facts, Path(folder), origin):
                return read(facts, Path(folder))
            if source is not None:
                raise FileNotFoundError(f"{folder} has no {facts.files[0]}")
    if facts.openml is None:
        raise FileNotFoundError(
            f"{name} has no copy on OpenML that Kesler knows of; set the environment variable "
            f"KESLER_DATA to a folder that has {' and '.join(facts.files)}"
        )
    return fetch(facts)


def _is_complete(facts: Facts, folder: Path, origin: str) -> bool:
    if not folder.is_dir():
        raise NotADirectoryError(f"{origin} must name a folder; {str(folder)!r} is none")
    there = [(folder / file).is_file() for file in facts.files]
    if any(there) and not all(there):
        raise FileNotFoundError(
            f"{folder} has {facts.files[there.index(True)]} but not "
            f"{facts.files[there.index(False)]}; {facts.name} needs both"
        )
    return all(there)
