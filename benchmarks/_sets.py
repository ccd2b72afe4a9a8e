"""The sets that the benchmarks run on: generated ones, and those of KESLER_DATA where it is set."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Split(NamedTuple):
    """A training and a test part; classes are 0 to k - 1, X is float32.

    `kind` says what `y` is: "class"; "labelsets", an indicator; or "ranks", 1 the best.
    """

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    n_labels: int
    kind: str = "class"

    def thinned(self, n: int, n_test: int = 0) -> Split:
        """`n` training and `n_test` test rows at even distances; classes not met are left out."""
        rows, test_rows = _spread(self.X.shape[0], n), _spread(self.X_test.shape[0], n_test)
        y, y_test, k = self.y[rows], self.y_test[test_rows], self.n_labels
        if self.kind == "class":
            met, y = np.unique(y, return_inverse=True)
            known = np.isin(y_test, met)
            test_rows, y_test = test_rows[known], np.searchsorted(met, y_test[known])
            k = met.size
        return self._replace(
            X=self.X[rows], y=y, X_test=self.X_test[test_rows], y_test=y_test, n_labels=k
        )


def _spread(n: int, wanted: int) -> np.ndarray:
    if wanted >= n:
        return np.arange(n)
    return np.arange(wanted) * n // max(wanted, 1)


def sorting() -> Split:
    """The synthetic set of Har-Peled, Roth and Zimak (2002, section 5)."""
    from kesler.datasets import make_linear_sorting

    X, y, _ = make_linear_sorting(100_000, 100, 3, random_state=0)
    X = np.ascontiguousarray(X, dtype=np.float32)
    return Split("sorting", X[:50_000], y[:50_000], X[50_000:], y[50_000:], 3)


def letter() -> Split:
    """Letter recognition, standardised; the first 16 000 rows train."""
    return _table("letter")


def mnist() -> Split:
    """Handwritten digits, 60 000 x 784 pixels in 0..1."""
    return _table("mnist", scale=False)


def _table(name: str, scale: bool = True) -> Split:
    from kesler.datasets import load

    X, X_test, y, y_test = load(name).split()
    labels, y = np.unique(y, return_inverse=True)
    if scale:
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    y_test = np.searchsorted(labels, y_test)
    return Split(name, _float32(X), y, _float32(X_test), y_test, labels.size)


def _float32(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_matrix(X, dtype=np.float32)
    return np.ascontiguousarray(X, dtype=np.float32)


def newsgroups() -> Split:
    """20 newsgroups by date, tf-idf rows of unit norm."""
    return _table("20news", scale=False)


def labelsets(name: str) -> Split:
    """A set with label sets, as its authors split it."""
    from kesler.datasets import load

    X, X_test, Y, Y_test = load(name).split()
    parts = [X, X_test]
    if sp.issparse(X) and X.nnz > 0.3 * X.shape[0] * X.shape[1]:
        parts = [part.toarray() for part in parts]
    parts = [_float32(part) for part in parts]
    sides = [np.asarray(side.todense() if sp.issparse(side) else side) for side in (Y, Y_test)]
    sides = [side.astype(np.uint8) for side in sides]
    return Split(name, parts[0], sides[0], parts[1], sides[1], sides[0].shape[1], "labelsets")


def rankings(name: str) -> Split:
    """A set with a full ranking for each row, standardised; all rows train."""
    from kesler.datasets import load

    data = load(name)
    X = _float32((data.data - data.data.mean(axis=0)) / data.data.std(axis=0))
    ranks = np.asarray(data.target)
    return Split(name, X, ranks, X[:0], ranks[:0], ranks.shape[1], "ranks")


def text_like(
    n: int = 50_000,
    d: int = 60_000,
    k: int = 100,
    words: int = 80,
    seed: int = 0,
    even: bool = True,
) -> Split:
    """Sparse rows like tf-idf of short texts: common words of all classes, rarer ones of each.

    One of twelve words of a row comes from the 300 words of its class, one of twelve from those of
    a neighbouring class, the others from a Zipf law over all words; rows have unit norm. Classes
    are equally likely, or (`even=False`) follow a Zipf law of which each has a row at least.
    """
    rng = np.random.default_rng(seed)
    total = n + n // 5
    if even:
        y = rng.integers(0, k, total)
    else:
        mass = np.cumsum(1.0 / (np.arange(k) + 1.0))
        y = np.minimum(np.searchsorted(mass / mass[-1], rng.random(total)), k - 1)
        y[:n] = rng.permutation(np.concatenate([np.arange(k), y[k:n]]))
    topic = rng.integers(0, d, (k, 300))
    share = 1.0 / (np.arange(d) + 10.0)
    idf = np.log(1.0 / (share / share.sum()))
    name_of_rank = rng.permutation(d)
    common = np.searchsorted(np.cumsum(share / share.sum()), rng.random((total, words)))
    common = name_of_rank[np.minimum(common, d - 1)]
    neighbour = (y + rng.integers(1, 6, total)) % k
    draw = rng.random((total, words))
    word = rng.integers(0, 300, (total, words))
    columns = np.where(draw < 1 / 12, topic[y[:, None], word], common)
    columns = np.where(draw > 11 / 12, topic[neighbour[:, None], word], columns)
    weight = np.empty(d)
    weight[name_of_rank] = idf
    values = weight[columns] * (1.0 + rng.random((total, words)))
    indptr = np.arange(total + 1) * words
    X = sp.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(total, d))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags(1.0 / norms) @ X, dtype=np.float32)
    X.sort_indices()
    return Split("text-like" if even else "labels10k", X[:n], y[:n], X[n:], y[n:], k)


def missing_data() -> str:
    """Why the sets from files cannot be had, or an empty string."""
    return "" if os.environ.get("KESLER_DATA") else "KESLER_DATA is not set"
