"""The constraint margin of Har-Peled, Roth and Zimak (2002, Definition 4.3).

By how much scores keep the order of an example: it is the binary margin of the expanded example,
and on classes the multiclass margin of Crammer and Singer. It is measured in the unit of the
scores: bounds that speak of a margin say which norm of the weights makes it comparable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kesler._scores import pair_blocks, score_table
from kesler.constraints import Constraints


def constraint_margin(constraints: Constraints, scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """The margin of each example; ``.min()`` of it is the margin of the sample (Definition 4.3).

    Parameters
    ----------
    constraints : Constraints
        Read by the pairs as stored: where all are in order their closure has the same margin.
    scores : array-like, shape (n_samples, n_labels), or one column more for the virtual label
        Of two labels also shape (n_samples,): how far the second stands above the first.

    Returns
    -------
    ndarray, shape (n_samples,)
        The smallest difference of scores over the pairs of an example: above 0 where all are in
        order, infinite where there are no pairs.

    Examples
    --------
    >>> from kesler import Constraints
    >>> from kesler.theory import constraint_margin
    >>> c = Constraints.from_classes(["a", "b"], labels=["a", "b", "c"])
    >>> constraint_margin(c, [[3.0, 1.0, 2.5], [0.0, 1.0, 2.0]])
    array([ 0.5, -1. ])
    """
    table = score_table(constraints, scores)
    margin = np.full(constraints.n_samples, np.inf, dtype=table.dtype)
    for block in pair_blocks(constraints, table, closure=False):
        some = np.diff(block.indptr) > 0
        if some.any():  # reduceat reads an example to where the next one with pairs begins
            gap = block.above - block.below
            margin[block.rows][some] = np.minimum.reduceat(gap, block.indptr[:-1][some])
    return margin
