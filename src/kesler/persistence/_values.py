"""Parameters, labels and names as JSON and numeric arrays, and back with every value checked.

JSON has no tuples, no keys but text and no dtypes: what is none of its own kinds is written as an
object with one entry that names the kind. Labels keep their dtype. Text of fixed width is stored by
code points, so that an array never grows beyond its bytes in the file when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = dict[str, Array]
Fields: TypeAlias = dict[str, Any]

_FLOATS = {"float32": np.float32, "float64": np.float64}
_DEEPEST = 20  # of values within values


# ---- parameters ---------------------------------------------------------------------------------


def plain(value: Any, what: str) -> Any:
    """A parameter as JSON has it; `what` names it in an error."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [plain(v, what) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[plain(k, what), plain(v, what)] for k, v in value.items()]}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return plain(value.tolist(), what)
    if isinstance(value, np.dtype) and value.name in _FLOATS:
        return {"dtype": value.name}
    if isinstance(value, type) and value in _FLOATS.values():
        return {"scalar": np.dtype(value).name}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        raise ValueError(
            f"{what} is a {type(value).__name__}, whose state a model file does not hold; set it "
            "to an integer or None before saving"
        )
    raise ValueError(f"{what} is {value!r}, which a model file cannot hold")


def parameter(value: Any, depth: int = 0) -> Any:
    """What `plain` made JSON of."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a list stands where a value should")
        return value
    if len(value) != 1 or depth > _DEEPEST:
        raise ValueError("a value of no known kind")
    [(kind, held)] = value.items()
    if kind in ("dtype", "scalar") and isinstance(held, str) and held in _FLOATS:
        return np.dtype(held) if kind == "dtype" else _FLOATS[held]
    if kind not in ("list", "tuple", "dict") or not isinstance(held, list):
        raise ValueError("a value of no known kind")
    if kind != "dict":
        made = [parameter(v, depth + 1) for v in held]
        return made if kind == "list" else tuple(made)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in held):
        raise ValueError("a dict that does not consist of pairs")
    try:
        return {parameter(k, depth + 1): parameter(v, depth + 1) for k, v in held}
    except TypeError as error:
        raise ValueError("a dict with a key that cannot be one") from error


# ---- labels and names ---------------------------------------------------------------------------


def pack(values: Array, what: str) -> tuple[str, Array]:
    """One-dimensional labels or names as a kind and an array of numbers."""
    kind = values.dtype.kind
    if kind in "iufb":
        return "numbers", values
    if kind in "US" and values.dtype.itemsize > 0:
        unit = np.uint32 if kind == "U" else np.uint8
        native = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
        width = native.dtype.itemsize // np.dtype(unit).itemsize
        return "text" if kind == "U" else "bytes", native.view(unit).reshape(values.size, width)
    if kind == "O":
        held = [v.item() if isinstance(v, np.generic) else v for v in values.tolist()]
        bad = next((v for v in held if not isinstance(v, (str, int, float, type(None)))), None)
        if bad is None:
            text = json.dumps(held, separators=(",", ":"))
            return "objects", np.frombuffer(text.encode("ascii"), dtype=np.uint8)
        raise ValueError(f"{what} hold {bad!r}; a model file holds text and numbers")
    raise ValueError(f"{what} are of type {values.dtype}; a model file holds text and numbers")


def unpack(kind: str, packed: Array) -> Array:
    """What `pack` made an array of."""
    if kind == "numbers" and packed.ndim == 1 and packed.dtype.kind in "iufb":
        return packed
    if kind == "text" and packed.ndim == 2 and packed.dtype == np.uint32 and packed.shape[1]:
        if packed.size and packed.max() > 0x10FFFF:
            raise ValueError("text with a character that does not exist")
        return packed.reshape(-1).view(f"U{packed.shape[1]}")
    if kind == "bytes" and packed.ndim == 2 and packed.dtype == np.uint8 and packed.shape[1]:
        return packed.reshape(-1).view(f"S{packed.shape[1]}")
    if kind == "objects" and packed.ndim == 1 and packed.dtype == np.uint8:
        try:
            held = json.loads(packed.tobytes().decode("ascii"))
        except RecursionError as error:
            raise ValueError("labels within labels") from error
        if isinstance(held, list) and all(
            v is None or isinstance(v, (str, int, float)) for v in held
        ):
            made = np.empty(len(held), dtype=object)
            made[:] = held
            return made
    raise ValueError("labels of no known kind")


# ---- reading ------------------------------------------------------------------------------------


class Stored:
    """What a file says of one estimator; each value is checked when it is taken."""

    def __init__(self, fields: Any, arrays: Mapping[str, Array], prefix: str = "") -> None:
        if not isinstance(fields, dict):
            raise ValueError("an estimator is described by no JSON object")
        self._fields: Fields = fields
        self._arrays = arrays
        self._prefix = prefix

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def field(self, name: str, *types: type) -> Any:
        """A value of the description, of one of these types."""
        if name not in self._fields:
            raise ValueError(f"{self._prefix}{name} is missing")
        value = self._fields[name]
        if type(value) not in types:
            wanted = " or ".join("None" if t is type(None) else t.__name__ for t in types)
            raise ValueError(
                f"{self._prefix}{name} is of type {type(value).__name__}, not {wanted}"
            )
        return value

    def whole(self, name: str, at_least: int = 0) -> int:
        """An integer."""
        value: int = self.field(name, int)
        if not at_least <= value < 1 << 63:
            raise ValueError(f"{self._prefix}{name} is {value}, which cannot be")
        return value

    def number(self, name: str) -> float:
        """A finite number, as a float."""
        value = self.field(name, float, int)
        if not np.isfinite(value):
            raise ValueError(f"{self._prefix}{name} is {value}, no finite number")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or False."""
        value: bool = self.field(name, bool)
        return value

    def option(self, name: str, options: tuple[str, ...]) -> str:
        """One of some words."""
        value: str = self.field(name, str)
        if value not in options:
            raise ValueError(f"{self._prefix}{name} is {value!r}, not one of {', '.join(options)}")
        return value

    def parameters(self, known: set[str]) -> Fields:
        """The parameters of the estimator; what an older file lacks takes its default."""
        found = self.field("params", dict)
        strange = sorted(set(found) - known)
        if strange:
            raise ValueError(f"{self._prefix}params has the unknown {strange[0]!r}")
        return {name: parameter(value) for name, value in found.items()}

    def array(self, name: str, kinds: str, ndim: int) -> Array:
        """An array with a dtype of one of these kinds."""
        full = self._prefix + name
        if full not in self._arrays:
            raise ValueError(f"array {full!r} is missing")
        array = self._arrays[full]
        if array.dtype.kind not in kinds or array.ndim != ndim:
            raise ValueError(f"array {full!r} is of type {array.dtype} and shape {array.shape}")
        return array

    def has_array(self, name: str) -> bool:
        """Whether the file holds an array of this name."""
        return self._prefix + name in self._arrays

    def labels(self, name: str) -> Array:
        """Labels or names that were stored by `pack` as field and array `name`."""
        kind = self.option(name, ("numbers", "text", "bytes", "objects"))
        ndim = 2 if kind in ("text", "bytes") else 1
        try:
            return unpack(kind, self.array(name, "iufb", ndim))
        except ValueError as error:
            raise ValueError(f"{self._prefix}{name}: {error}") from error

    def names(self, name: str, count: int) -> Array:
        """Names of so many features, as scikit-learn keeps them."""
        names = self.labels(name)
        if names.shape != (count,) or not all(isinstance(v, str) for v in names.tolist()):
            raise ValueError(f"{self._prefix}{name} are not the names of {count} features")
        return names

    def part(self, fields: Any, name: str) -> Stored:
        """What is said of a part of the estimator."""
        return Stored(fields, self._arrays, f"{self._prefix}{name}.")
