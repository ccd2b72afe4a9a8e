"""Files to read from, packed or not, that know how far they are; places to write to."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kesler._progress import Progress
from kesler.persistence._files import replacing


class UsageError(Exception):
    """A command line that cannot be meant."""


@contextmanager
def opened(path: str, label: str = "reading") -> Iterator[tuple[BinaryIO, Callable[[], None]]]:
    """A stream of bytes, unpacked if the name ends in .gz, and what tells the progress."""
    with Path(path).open("rb") as raw:
        size = os.fstat(raw.fileno()).st_size
        with Progress(f"{label} {Path(path).name}", size) as bar:

            def tell() -> None:
                bar.update(raw.tell())

            if not path.endswith(".gz"):
                yield raw, tell
                return
            with gzip.open(raw) as unpacked:
                try:
                    yield unpacked, tell  # type: ignore[misc]
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    raise ValueError(f"{path}: a damaged gzip file ({error})") from error


def check_output(output: str, *inputs: str | None) -> None:
    """Refuse to write over what is read."""
    if output == "-" or not Path(output).exists():
        return
    for path in inputs:
        if path is not None and Path(path).exists() and Path(output).samefile(path):
            raise UsageError(f"the output {output} is the input {path}")


@contextmanager
def written(output: str) -> Iterator[BinaryIO]:
    """A stream of bytes into a file, which is replaced as a whole; "-" is standard output."""
    if output != "-":
        with replacing(output) as stream:
            yield stream
        return
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
