"""The version, and what a bug report should say of the installation."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from kesler import _core

__version__ = version("kesler")


def show_versions() -> None:
    """Print the build, the instruction set, the threads and the versions of what Kesler uses.

    Examples
    --------
    >>> import kesler
    >>> kesler.show_versions()
    kesler ...
    """
    print(f"kesler {__version__}")
    print(f"python {sys.version.split()[0]} on {platform.platform()}")
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "matplotlib", "pyarrow"):
        try:
            print(f"{name} {version(name)}")
        except PackageNotFoundError:
            print(f"{name} not installed")
    print(f"instruction set {_core.isa()} of {', '.join(_core.available_isas())}")
    print(f"processors {os.cpu_count()}")
