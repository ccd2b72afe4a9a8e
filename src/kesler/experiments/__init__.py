"""Tables and figures of the papers, each made anew by one function, by name.

An experiment is a module with ``run(output, *, seeds=5, quick=False)``, which writes its files into
the folder `output` and returns the table to print. What it needs is imported when it is run.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from kesler._checks import whole

__all__ = ["names", "run"]

_MODULES = {
    "constraint-classification": "constraint_classification",
    "constraint-svc": "constraint_svc",
}


def names() -> list[str]:
    """Names of the experiments.

    Examples
    --------
    >>> from kesler import experiments
    >>> "constraint-classification" in experiments.names()
    True
    """
    return sorted(_MODULES)


def run(name: str, output: str | os.PathLike[str], *, seeds: int = 5, quick: bool = False) -> str:
    """Run an experiment.

    Parameters
    ----------
    name : str
        One of `names`.
    output : path-like
        The folder for its files; it is made if it is not there.
    seeds : int, default=5
        How often to repeat with other random numbers.
    quick : bool, default=False
        A small version that shows that it works, not what it shows.

    Returns
    -------
    str
        The table as text.

    Examples
    --------
    >>> from kesler import experiments
    >>> experiments.run("perpetual-motion", "reports")
    Traceback (most recent call last):
    ...
    ValueError: there is no experiment 'perpetual-motion'; there is: constraint-classification, ...
    """
    if name not in _MODULES:
        raise ValueError(f"there is no experiment {name!r}; there is: {', '.join(names())}")
    whole("seeds", seeds, at_least=1)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    table: str = import_module(f"kesler.experiments.{_MODULES[name]}").run(
        folder, seeds=seeds, quick=quick
    )
    return table
