"""The sets that the benchmarks run on: generated ones, and those of KESLER_DATA where it is set."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Split(NamedTuple):
    """A training and a test part; classes are 0 to k - 1, X is float32."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    n_labels: int


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
    return Split(
        name,
        np.ascontiguousarray(X, dtype=np.float32),
        y,
        np.ascontiguousarray(X_test, dtype=np.float32),
        np.searchsorted(labels, y_test),
        labels.size,
    )


def text_like(
    n: int = 50_000, d: int = 60_000, k: int = 100, words: int = 80, seed: int = 0
) -> Split:
    """Sparse rows like tf-idf of short texts: common words of all classes, rarer ones of each.

    One of twelve words of a row comes from the 300 words of its class, one of twelve from those of
    a neighbouring class, the others from a Zipf law over all words; rows have unit norm.
    """
    rng = np.random.default_rng(seed)
    total = n + n // 5
    y = rng.integers(0, k, total)
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
    return Split("text-like", X[:n], y[:n], X[n:], y[n:], k)


def missing_data() -> str:
    """Why the sets from files cannot be had, or an empty string."""
    return "" if os.environ.get("KESLER_DATA") else "KESLER_DATA is not set"
