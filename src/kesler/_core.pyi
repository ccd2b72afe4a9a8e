"""Types of the native core (native/bindings.cpp)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Int64 = npt.NDArray[np.int64]

def isa() -> str: ...
def available_isas() -> list[str]: ...
def use_isa(name: str) -> None: ...
def lanes_for(n_labels: int) -> int: ...
def rule_names() -> list[str]: ...
def rule_traits(name: str) -> tuple[bool, float]: ...

class Rows:
    def __init__(
        self, values: _Array, indices: _Array | None, indptr: _Array | None, n: int, d: int
    ) -> None: ...

class Orders:
    def __init__(
        self,
        n: int,
        n_labels: int,
        form: int,
        forms: npt.NDArray[np.uint8] | None,
        indptr: _Int64 | None,
        items: npt.NDArray[np.int32],
        margin: npt.NDArray[np.float64] | None,
        weight: npt.NDArray[np.float64] | None,
    ) -> None: ...
    def sizes(self) -> _Int64: ...
    def pairs(
        self,
    ) -> tuple[
        npt.NDArray[np.int32],
        npt.NDArray[np.int32],
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
    ]: ...
    def errors(self, scores: _Array) -> npt.NDArray[np.uint8]: ...
    def cycle(self) -> tuple[int, npt.NDArray[np.int32]] | None: ...
    def repeat(self) -> tuple[int, int] | None: ...
    def closure(self) -> tuple[_Int64, npt.NDArray[np.int32]]: ...
    def reduction(self) -> npt.NDArray[np.uint8]: ...
    def is_consistent_with(self, other: Orders) -> npt.NDArray[np.uint8]: ...

def online_pass(
    rows: Rows,
    orders: Orders,
    visits: _Int64 | None,
    weight: npt.NDArray[np.float64] | None,
    weights: _Array,
    sums: _Array | None,
    logs: _Array | None,
    state: npt.NDArray[np.float64],
    rule: str,
    update: str,
    C: float,
    log_promotion: float,
    intercept: bool,
    report: Callable[[int], None] | None,
) -> tuple[int, int, int]: ...
def scores(
    rows: Rows,
    picked: _Int64 | None,
    weights: _Array,
    sums: _Array | None,
    per_step: float,
    intercept: bool,
    out: _Array,
    n_threads: int,
) -> None: ...
def best(
    rows: Rows,
    weights: _Array,
    sums: _Array | None,
    per_step: float,
    intercept: bool,
    n_labels: int,
    out: _Int64,
    n_threads: int,
) -> None: ...

class _DualSolver:
    def __init__(
        self,
        rows: Rows,
        orders: Orders,
        weight: npt.NDArray[np.float64] | None,
        C: float,
        aggregate: str,
        loss: str,
        intercept: bool,
        weights: _Array,
        seed: int,
        n_threads: int,
    ) -> None: ...
    def overflow(self) -> int: ...
    def round(
        self, target: float, most: int, report: Callable[[int], None] | None
    ) -> tuple[float, float, float, int, int]: ...
    def scale(self, factor: float) -> None: ...
    def certify(self, rebuild: bool) -> tuple[float, float, float]: ...
    def masses(self) -> tuple[_Int64, npt.NDArray[np.int32], _Array]: ...
    def place(
        self, indptr: _Int64, keys: npt.NDArray[np.int32], values: _Array, factor: float
    ) -> None: ...

class DualSolver32(_DualSolver): ...
class DualSolver64(_DualSolver): ...

class _Newton:
    def __init__(
        self, rows: Rows, orders: Orders, lanes: int, intercept: bool, n_threads: int
    ) -> None: ...
    def pick(self, picked: _Int64, cap: _Array) -> None: ...
    def place(self, indptr: _Int64, labels: npt.NDArray[np.int32], values: _Array) -> None: ...
    def split(self, table: _Array, reach: float, linear: npt.NDArray[np.float64]) -> float: ...
    def smooth(self, width: float) -> tuple[float, float, float]: ...
    def gradient(self, out: npt.NDArray[np.float64]) -> float: ...
    def hessian(self, width: float, enough: int, out: npt.NDArray[np.float64]) -> None: ...
    def product(
        self, width: float, enough: int, table: _Array, out: npt.NDArray[np.float64]
    ) -> None: ...
    def carried(self) -> float: ...
    def carrying(self) -> tuple[_Int64, _Array]: ...
    def aim(self, table: _Array) -> None: ...
    def slope(self, step: float, width: float) -> float: ...
    def move(self, step: float) -> None: ...
    def recentre(self) -> None: ...
    def masses(self) -> tuple[_Int64, npt.NDArray[np.int32], _Array]: ...

class Newton32(_Newton): ...
class Newton64(_Newton): ...

def certify(
    rows: Rows,
    orders: Orders,
    weight: npt.NDArray[np.float64] | None,
    C: float,
    aggregate: str,
    loss: str,
    intercept: bool,
    indptr: _Int64,
    keys: npt.NDArray[np.int32],
    values: _Array,
    weights: _Array,
    rebuild: bool,
    n_threads: int,
) -> tuple[float, float, float]: ...
def dual_shares(
    orders: Orders,
    weight: npt.NDArray[np.float64] | None,
    C: float,
    aggregate: str,
    loss: str,
    indptr: _Int64,
    keys: npt.NDArray[np.int32],
    values: _Array,
) -> tuple[_Int64, npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...
