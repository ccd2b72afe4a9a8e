"""Columns of text as numbers or as categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"})


class BadCell(Exception):
    """The text at `index` of a column, which should be a number, is none."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(text)
        self.index = index
        self.text = text


def as_numbers(cells: Sequence[str]) -> npt.NDArray[np.float64]:
    """Numbers, NaN where one is missing; `BadCell` where the text is none, or infinity."""
    numbers = _parsed(cells)
    endless = np.isinf(numbers)
    if endless.any():
        at = int(np.argmax(endless))
        raise BadCell(at, cells[at])
    return numbers


def as_categories(cells: Sequence[str]) -> npt.NDArray[np.object_]:
    """Categories without blanks around them, None where one is missing."""
    made = np.empty(len(cells), dtype=object)
    made[:] = [None if cell in MISSING else cell for cell in map(str.strip, cells)]
    return made


def are_numbers(cells: Sequence[str]) -> bool:
    """Whether every cell is a number, however large, or missing."""
    try:
        _parsed(cells)
    except BadCell:
        return False
    return True


def are_mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether more of the cells that hold something are numbers than are not."""
    if are_numbers(cells):
        return True
    held = [cell for cell in map(str.strip, cells) if cell not in MISSING]
    return 2 * sum(are_numbers([cell]) for cell in held) > len(held)


def _parsed(cells: Sequence[str]) -> npt.NDArray[np.float64]:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        pass
    try:
        known = ["nan" if cell.strip() in MISSING else cell for cell in cells]
        return np.array(known, dtype=np.float64)
    except ValueError:
        raise _culprit(cells) from None


def _culprit(cells: Sequence[str]) -> BadCell:
    for index, cell in enumerate(cells):
        try:
            float("nan" if cell.strip() in MISSING else cell)
        except ValueError:
            return BadCell(index, cell)
    raise AssertionError("every cell is a number by itself")
