"""The safetensors format: a length, a JSON header, the bytes of the arrays.

The header is a JSON object. Its entry ``__metadata__`` maps text to text; every other entry names
an array and gives its type, its shape and where its bytes begin and end after the header. Numbers
are little-endian, the arrays leave no gap and do not overlap.

Kesler adds a checksum to the metadata, so that a damaged file is told from a model. A file without
one, as another program would write it, is read too.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

HEADER_LIMIT = 100_000_000  # that of the safetensors library

_METADATA = "__metadata__"
_CHECKSUM = "crc32"
_CHUNK = 1 << 20  # bytes moved at once
_MOST_DIMENSIONS = 32  # those NumPy 1 has

_DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def write_container(
    stream: BinaryIO, arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write arrays, of any strides, and the metadata; no array is copied as a whole."""
    # The widest items first: then every array begins at a multiple of its item size.
    ordered = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    end = 0
    for name in ordered:
        array = arrays[name]
        dtype = _NAMES.get(array.dtype.newbyteorder("<"))
        if dtype is None:
            raise ValueError(f"a model file cannot hold an array of type {array.dtype}")
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    checksum = _header_checksum(header)
    for name in ordered:
        for block in _blocks(arrays[name]):
            checksum = zlib.crc32(block, checksum)
    header[_METADATA][_CHECKSUM] = f"{checksum:08x}"
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"the header would have {len(text)} bytes; {HEADER_LIMIT} is the most")
    stream.write(len(text).to_bytes(8, "little"))
    stream.write(text)
    for name in ordered:
        for block in _blocks(arrays[name]):
            stream.write(block)


class Container(Mapping[str, npt.NDArray[Any]]):
    """The arrays of an open file, each read when it is asked for, and its metadata.

    Nothing is allocated that the file does not have the bytes for.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        if size < 8:
            raise ValueError(f"it has {size} bytes, too few for a model file")
        length = int.from_bytes(_exactly(stream, 8), "little")
        if length > HEADER_LIMIT:
            raise ValueError(f"its header claims {length} bytes; {HEADER_LIMIT} is the most")
        if length > size - 8:
            raise ValueError(f"its header claims {length} bytes, but only {size - 8} are left")
        header = _parse(_exactly(stream, length))
        self._stream = stream
        self._start = 8 + length
        self._entries = {n: _entry(n, e) for n, e in header.items() if n != _METADATA}
        self.metadata: dict[str, str] = _checked_metadata(header.get(_METADATA, {}))
        self._check_layout(size - self._start)
        if _CHECKSUM in self.metadata:
            self._check_sum(header, size - self._start)

    def _check_layout(self, size: int) -> None:
        end = 0
        for begin, stop, name in sorted((e[2], e[3], n) for n, e in self._entries.items()):
            if begin != end:
                raise ValueError(f"array {name!r} begins at byte {begin}, where {end} is right")
            end = stop
        if end != size:
            raise ValueError(f"its arrays take {end} bytes, but {size} follow the header")

    def _check_sum(self, header: dict[str, Any], left: int) -> None:
        checksum = _header_checksum(header)
        while left > 0:
            chunk = _exactly(self._stream, min(left, _CHUNK))
            checksum = zlib.crc32(chunk, checksum)
            left -= len(chunk)
        if f"{checksum:08x}" != self.metadata[_CHECKSUM]:
            raise ValueError("its checksum is wrong: the file is damaged")

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        dtype, shape, begin, _ = self._entries[name]
        array = np.empty(shape, dtype=dtype)
        if array.size:
            self._stream.seek(self._start + begin)
            _fill(self._stream, array.reshape(-1).view(np.uint8).data)
        if dtype == np.bool_ and np.any(array.view(np.uint8) > 1):
            raise ValueError(f"array {name!r} holds truth values that are neither 0 nor 1")
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _blocks(array: npt.NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of an array in C order, little-endian, a few rows at a time."""
    if array.size == 0:
        return
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, _CHUNK * len(rows) // rows.nbytes)
    little = rows.dtype.newbyteorder("<")
    for begin in range(0, len(rows), step):
        block = np.ascontiguousarray(rows[begin : begin + step], dtype=little)
        yield block.reshape(-1).view(np.uint8).data


def _header_checksum(header: Mapping[str, Any]) -> int:
    metadata = {k: v for k, v in header[_METADATA].items() if k != _CHECKSUM}
    text = json.dumps({**header, _METADATA: metadata}, sort_keys=True, separators=(",", ":"))
    return zlib.crc32(text.encode("ascii"))


def _exactly(stream: BinaryIO, size: int) -> bytes:
    held = stream.read(size)
    if len(held) != size:
        raise ValueError("it ends too early")
    return held


def _fill(stream: BinaryIO, room: memoryview) -> None:
    while len(room):
        got = stream.readinto(room)  # type: ignore[attr-defined]
        if not got:
            raise ValueError("it ends too early")
        room = room[got:]


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its header is no safetensors header ({error})") from error
    if not isinstance(header, dict):
        raise ValueError("its header is no safetensors header (no JSON object)")
    return header


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice")
    return made


def _checked_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("its metadata does not map text to text")
    return metadata


def _entry(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Type, shape, first byte and last of an array, which agree with each other."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the header says of {name!r} other things than dtype, shape and offsets")
    dtype = _DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise ValueError(f"array {name!r} is of the unknown type {entry['dtype']!r}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    counts = _are_counts(shape) and _are_counts(offsets)
    if not counts or len(offsets) != 2 or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"array {name!r} has a shape or offsets that are none")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if offsets[1] - offsets[0] != size:
        raise ValueError(
            f"array {name!r} of shape {shape} needs {size} bytes, but takes {offsets[0]} to "
            f"{offsets[1]}"
        )
    return dtype, tuple(shape), offsets[0], offsets[1]


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 63 for v in values
    )
