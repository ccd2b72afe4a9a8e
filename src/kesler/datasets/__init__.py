"""The papers' data by name, and generators whose right answer is known.

`load` reads the sets of Har-Peled, Roth and Zimak 2002 (Table 2), of El-Yaniv, Pechyony and Yom-Tov
2008 and others from a folder or from OpenML; the ``make_`` functions draw examples from a linear
sorter. No data comes with the package.
"""

from kesler.datasets._catalogue import names
from kesler.datasets._counterexample import make_ova_counterexample
from kesler.datasets._dataset import Dataset
from kesler.datasets._generators import (
    make_labelsets,
    make_linear_sorting,
    make_partial_orders,
    make_rankings,
)
from kesler.datasets._load import load

__all__ = [
    "Dataset",
    "load",
    "make_labelsets",
    "make_linear_sorting",
    "make_ova_counterexample",
    "make_partial_orders",
    "make_rankings",
    "names",
]
