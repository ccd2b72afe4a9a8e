"""Labels as text: ``a``, the set ``a|b``, the ranking ``a>b>c`` with the tie ``a>b|c``.

Within the command line every label is text, whatever it was in its file, so that a model trained on
one format judges another. Each distinct text is parsed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kesler.constraints import Constraints

KINDS = ("auto", "classes", "labelsets", "rankings")


def kind_of(texts: Iterable[str], kind: str = "auto") -> str:
    """The kind that was asked for, or the one the labels look like."""
    if kind != "auto":
        return kind
    distinct = set(texts)
    if any(">" in text for text in distinct):
        return "rankings"
    return "labelsets" if any("|" in text for text in distinct) else "classes"


def constraints_of(
    labels: list[str] | npt.NDArray[Any], kind: str, path: str, place: Callable[[int], str]
) -> Constraints:
    """The labels as constraints; label sets are calibrated. `place` is for errors."""
    if not isinstance(labels, list):
        if kind not in ("auto", "labelsets"):
            raise ValueError(f"{path}: a y of two dimensions is label sets, not {kind}")
        names = [str(j) for j in range(labels.shape[1])]
        return Constraints.from_labelsets(labels, labels=names, calibrate=True)
    number: dict[str, int] = {}
    codes = np.fromiter(
        (number.setdefault(text, len(number)) for text in labels), np.int64, count=len(labels)
    )
    parse = {"classes": _one_class, "labelsets": _label_set, "rankings": _ranking}[
        kind_of(number, kind)
    ]
    parsed = []
    for text, code in number.items():
        try:
            parsed.append(parse(text))
        except ValueError as error:
            first = int(np.argmax(codes == code))
            raise ValueError(f"{path}: {place(first)}: {error}") from None
    if parse is _one_class:
        return Constraints.from_classes(parsed)[codes]
    if parse is _label_set:
        return Constraints.from_labelsets(parsed, calibrate=True)[codes]
    return Constraints.from_rankings(orders=parsed)[codes]


def _one_class(text: str) -> str:
    if not text:
        raise ValueError("the label is missing (for empty label sets there is --kind labelsets)")
    return text


def _label_set(text: str) -> list[str]:
    return _names(text, text.split("|")) if text else []


def _ranking(text: str) -> list[list[str]]:
    if not text:
        return []
    tiers = [_names(text, tier.split("|")) for tier in text.split(">")]
    seen: set[str] = set()
    for name in (name for tier in tiers for name in tier):
        if name in seen:
            raise ValueError(f"the ranking {text!r} has {name!r} more than once")
        seen.add(name)
    return tiers


def _names(text: str, parts: list[str]) -> list[str]:
    names = [part.strip() for part in parts]
    if not all(names):
        raise ValueError(f"a label between signs is missing in {text!r}")
    return names
