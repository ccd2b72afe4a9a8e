"""A data file of any format, told by its name."""

from __future__ import annotations

from pathlib import Path

from kesler.cli._arrays import read_arrays
from kesler.cli._csv import read_csv
from kesler.cli._examples import Examples, Wanted
from kesler.cli._parquet import read_parquet
from kesler.cli._streams import UsageError
from kesler.cli._svmlight import read_svmlight

_READERS = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
    ".npy": read_arrays,
    ".npz": read_arrays,
}
_TEXT = (read_csv, read_svmlight)  # may be packed


def read_examples(path: str, wanted: Wanted) -> Examples:
    """Read a data file."""
    name = Path(path).name.lower()
    reader = _READERS.get(Path(name.removesuffix(".gz")).suffix)
    if reader is None or (name.endswith(".gz") and reader not in _TEXT):
        raise UsageError(f"{path}: the name must end in {', '.join(_READERS)}")
    if reader is not read_arrays and wanted.labels_path is not None:
        raise UsageError(f"--labels goes with NumPy files; {path} holds its labels itself")
    if reader not in (read_csv, read_parquet):
        for option, value in (("--target", wanted.target), ("--nominal", wanted.nominal)):
            if value:
                raise UsageError(f"{option} names a column; {path} has no names of columns")
    return reader(path, wanted)
