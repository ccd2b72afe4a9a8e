"""Kesler learns from any order on labels: a class, a set of labels, a ranking, preferences.

What a user needs every day imports from here; `kesler.metrics`, `kesler.datasets`,
`kesler.preparation`, `kesler.theory`, `kesler.experiments` and `kesler.reporting` are loaded when
they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kesler._version import __version__, show_versions
from kesler.constraints import Constraints
from kesler.linear import ConstraintSVC, ConstraintSVCCV, OnlineClassifier
from kesler.persistence import load, save

_SUBPACKAGES = ("datasets", "experiments", "metrics", "preparation", "reporting", "theory")

__all__ = [
    "ConstraintSVC",
    "ConstraintSVCCV",
    "Constraints",
    "OnlineClassifier",
    "__version__",
    "load",
    "save",
    "show_versions",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"kesler.{name}")
    raise AttributeError(f"module 'kesler' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
