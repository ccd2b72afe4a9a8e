"""The Kesler expansion of Har-Peled, Roth and Zimak (2002, Definitions 3.1 to 3.3).

It turns constraints into points of one binary problem: a hyperplane through the origin that
separates them is a linear sorter, read chunk by chunk. Kesler's own solvers never lay it out; it is
here for foreign binary learners and for checking theorems.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array

from kesler.constraints import Constraints


def kesler_expansion(
    X: Any, constraints: Constraints, both_signs: bool = False
) -> tuple[sp.csr_matrix, npt.NDArray[np.int64]]:
    """Points and signs of the binary problem that the stored pairs make (Definition 3.3).

    Parameters
    ----------
    X : array-like or sparse matrix, shape (n_samples, n_features)
        With a column of ones where labels are to have thresholds.
    constraints : Constraints
    both_signs : bool, default=False
        Add the reflections of all points through the origin, with sign -1, after the points
        themselves. Without them all signs are 1.

    Returns
    -------
    points : csr_matrix, shape (n_pairs, n_labels * n_features), or twice as many rows
        Row p is Vec(x, a, b) of pair p: x in the chunk of the label above, -x in that of the label
        below. The virtual label of calibrated label sets has a chunk of its own, the last.
    signs : ndarray of 1 and -1

    Examples
    --------
    >>> from kesler import Constraints
    >>> from kesler.theory import kesler_expansion
    >>> c = Constraints.from_classes(["b"], labels=["a", "b", "c"])
    >>> points, signs = kesler_expansion([[1.0, 2.0]], c)
    >>> points.toarray()
    array([[-1., -2.,  1.,  2.,  0.,  0.],
           [ 0.,  0.,  1.,  2., -1., -2.]])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if X.shape[0] != constraints.n_samples:
        raise ValueError(f"X has {X.shape[0]} examples and constraints {constraints.n_samples}")
    indptr, over, under, _, _ = constraints.pairs()
    rows = sp.csr_matrix(X)[np.repeat(np.arange(X.shape[0]), np.diff(indptr))]
    n_chunks = constraints.n_labels + constraints.calibrated
    points = _in_chunk(rows, over, n_chunks) - _in_chunk(rows, under, n_chunks)
    signs = np.ones(points.shape[0], dtype=np.int64)
    if not both_signs:
        return points, signs
    return sp.vstack([points, -points], format="csr"), np.concatenate([signs, -signs])


def _in_chunk(rows: sp.csr_matrix, chunk: npt.NDArray[np.int32], n_chunks: int) -> sp.csr_matrix:
    """Vec(x, i) of Definition 3.2 for a chunk i of each row; -1 is the last one."""
    d = rows.shape[1]
    shift = np.repeat(chunk.astype(np.int64) % n_chunks * d, np.diff(rows.indptr))
    shape = (rows.shape[0], n_chunks * d)
    return sp.csr_matrix((rows.data, rows.indices + shift, rows.indptr), shape=shape)
