"""The objective of constraint classification in float64, and its problem written out as rows.

P(W) = 1/2 |W|^2 + C sum_i L_i, with the weights of the constant feature 1 (the intercept) inside W.
L_i is the largest or the sum of the losses of the pairs of example i; the loss of a pair (a, b) is
the hinge max(0, 1 - (w_a - w_b) x), or its square. Plain NumPy and SciPy, by blocks of rows and of
labels: this is the judge of every solver, and shares no code with any.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import _sets

_BLOCK = 1 << 23  # scores held at a time


def target(data: _sets.Split) -> Any:
    """What `fit` takes as `y`."""
    from kesler import Constraints

    if data.kind == "labelsets":
        return Constraints.from_labelsets(data.y)
    if data.kind == "ranks":
        return Constraints.from_rankings(ranks=data.y)
    return data.y


def pairs(data: _sets.Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, label above and label below of every pair, sorted by row."""
    k = data.n_labels
    if data.kind == "class":
        over = np.repeat(data.y, k - 1)
        under = np.tile(np.arange(k - 1), data.y.size)
        under += under >= over
        return np.repeat(np.arange(data.y.size), k - 1), over, under
    if data.kind == "labelsets":
        row, over, under = np.nonzero(data.y[:, :, None] > data.y[:, None, :])
        return row, over, under
    order = np.argsort(data.y, axis=1)  # full rankings without ties: neighbours make the pairs
    row = np.repeat(np.arange(order.shape[0]), k - 1)
    return row, order[:, :-1].ravel(), order[:, 1:].ravel()


def objective(
    data: _sets.Split, W: np.ndarray, b: np.ndarray, C: float, aggregate: str, loss: str
) -> float:
    """P(W) of weights of shape (k, d) and intercepts of shape (k,)."""
    if data.kind == "class" and aggregate == "max":
        losses = _largest_of_classes(data, W, b)
        total = np.sum(losses**2 if loss == "squared_hinge" else losses)
    else:
        total = _by_pairs(data, W, b, aggregate, loss)
    return 0.5 * (_squares(W) + _squares(b)) + C * float(total)


def _squares(weights: np.ndarray) -> float:
    step = max(1, _BLOCK // max(weights[:1].size, 1))
    blocks = (weights[at : at + step].astype(np.float64) for at in range(0, len(weights), step))
    return float(sum(np.sum(block**2) for block in blocks))


def _scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(X @ W.astype(np.float64).T) + np.asarray(b, dtype=np.float64)


def _largest_of_classes(data: _sets.Split, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Hinge of the strongest rival of each row; a table of many labels goes through in blocks."""
    n, k = data.y.size, data.n_labels
    step = min(k, max(1, _BLOCK // max(data.X.shape[1], 1)))
    rows = max(1, min(n, _BLOCK // max(step, data.X.shape[1] if not sp.issparse(data.X) else 1)))
    hinges = np.empty(n)
    for at in range(0, n, rows):
        X, y = data.X[at : at + rows].astype(np.float64), data.y[at : at + rows]
        own, rival = np.empty(y.size), np.full(y.size, -np.inf)
        for low in range(0, k, step):
            scores = _scores(X, W[low : low + step], b[low : low + step])
            inside = np.flatnonzero((y >= low) & (y < low + step))
            own[inside] = scores[inside, y[inside] - low]
            scores[inside, y[inside] - low] = -np.inf
            np.maximum(rival, scores.max(axis=1), out=rival)
        hinges[at : at + rows] = np.maximum(0.0, 1.0 + rival - own)
    return hinges


def _by_pairs(data: _sets.Split, W: np.ndarray, b: np.ndarray, aggregate: str, loss: str) -> float:
    row, over, under = pairs(data)
    n = data.X.shape[0]
    starts = np.searchsorted(row, np.arange(n + 1))
    step = max(1, _BLOCK // max(data.n_labels, 1 if sp.issparse(data.X) else data.X.shape[1]))
    total = 0.0
    for at in range(0, n, step):
        end = min(at + step, n)
        scores = _scores(data.X[at:end].astype(np.float64), W, b)
        mine = slice(starts[at], starts[end])
        local = row[mine] - at
        losses = np.maximum(0.0, 1.0 - scores[local, over[mine]] + scores[local, under[mine]])
        if loss == "squared_hinge":
            losses **= 2
        if aggregate == "sum":
            total += losses.sum()
        elif losses.size:
            total += np.maximum.reduceat(losses, np.unique(local, return_index=True)[1]).sum()
    return total


def expansion(data: _sets.Split) -> tuple[sp.csr_matrix, np.ndarray]:
    """Kesler's construction: a row for each pair, with x at the label above and -x at that below.

    Rows are multiplied by 1 and -1 in turn, with that sign as their class, as solvers for two
    classes must see both. x ends in the constant feature 1.
    """
    row, over, under = pairs(data)
    width = data.X.shape[1] + 1
    ones = np.ones((data.X.shape[0], 1))
    X = sp.csr_matrix(sp.hstack([sp.csr_matrix(data.X, dtype=np.float64), ones], format="csr"))[row]
    stored = np.diff(X.indptr)
    sign = np.where(np.arange(row.size) % 2, -1.0, 1.0)
    values = X.data * np.repeat(sign, stored)
    shape = (row.size, width * data.n_labels)

    def placed(labels: np.ndarray) -> sp.csr_matrix:
        columns = X.indices + np.repeat(labels * width, stored)
        return sp.csr_matrix((values, columns, X.indptr), shape=shape)

    return placed(over) - placed(under), sign


def weights_of_expansion(flat: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The table and the intercepts that the weights of the expansion stand for."""
    table = np.asarray(flat).reshape(n_labels, -1)
    return table[:, :-1], table[:, -1]
