"""Files that are replaced as a whole: written beside their place first, then renamed into it.

Whoever reads the file meanwhile, or after a failure, finds the old one or the new one.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file `path` when the block ends without an error."""
    place = Path(os.path.realpath(path))  # a link stays a link
    if place.exists() and not place.is_file():
        raise ValueError(f"{os.fspath(path)} is no ordinary file, and cannot be replaced by one")
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(place.parent))
    beside = place.with_name(f".{place.name[:200]}.{secrets.token_hex(8)}")
    try:
        # Not a temporary file of the library: the new file has the permissions of any other.
        with open(beside, "xb") as stream:  # noqa: PTH123
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
