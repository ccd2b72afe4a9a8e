"""The command line: `kesler train`, `predict`, `evaluate`, `reproduce` and `demo`.

A thin layer: files are read into arrays and `Constraints`, the estimators of the library do the
work, and what they say is written out. Whatever goes wrong with a file is one line that names the
file, the row and the column.
"""

from kesler.cli._main import main

__all__ = ["main"]
