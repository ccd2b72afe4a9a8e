"""One loaded data set: rows, target, and the split of the paper that used it.

Only what every source gives alike stands here; where the numbers came from is of no concern.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from kesler.constraints import Constraints
from kesler.datasets._catalogue import TargetKind

__all__ = ["Dataset"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as `load` gives it.

    Attributes
    ----------
    name : str
    data : ndarray or csr_matrix, shape (n_samples, n_features)
        float64 where every column is a number; object where some are categories (strings beside
        floats, NaN where a value is missing); CSR for sparse sets; float32 in [0, 1] for images.
    target : ndarray or csr_matrix
        Class names (strings); a 0/1 matrix of shape (n_samples, n_labels) for label sets; or the
        rank of every label, 1 the best, as floats of shape (n_samples, n_labels).
    feature_names : list of str
    nominal : list of str
        The features that are categories.
    target_kind : {"class", "labelsets", "ranks"}
    target_names : list of str
        The classes, sorted, or the labels in the order of the target's columns.
    train, test : ndarray of int64, or None
        Row numbers of the paper's split, where it has one.

    Examples
    --------
    >>> import numpy as np
    >>> from kesler.datasets import Dataset
    >>> toy = Dataset(
    ...     "toy", np.eye(3), np.array(["a", "b", "a"]), ["x", "y", "z"], [], "class", ["a", "b"],
    ...     train=np.array([0, 1]), test=np.array([2]),
    ... )
    >>> X_train, X_test, y_train, y_test = toy.split()
    >>> X_train.shape, y_test.tolist()
    ((2, 3), ['a'])
    >>> toy.constraints()
    Constraints(classes: 3 examples, 2 labels)
    """

    name: str
    data: Any = field(repr=False)
    target: Any = field(repr=False)
    feature_names: list[str] = field(repr=False)
    nominal: list[str] = field(repr=False)
    target_kind: TargetKind
    target_names: list[str] = field(repr=False)
    train: IntArray | None = field(default=None, repr=False)
    test: IntArray | None = field(default=None, repr=False)

    def split(self) -> tuple[Any, Any, Any, Any]:
        """X_train, X_test, y_train, y_test of the paper's split.

        Dense arrays are views into `data` and `target`, not copies.
        """
        if self.train is None or self.test is None:
            raise ValueError(
                f"{self.name} has no split into training and test rows here; "
                "sklearn.model_selection.train_test_split makes one"
            )
        train, test = _as_slice(self.train), _as_slice(self.test)
        return self.data[train], self.data[test], self.target[train], self.target[test]

    def constraints(self) -> Constraints:
        """The target as constraints; labels are class names, or else numbers of its columns."""
        if self.target_kind == "class":
            return Constraints.from_classes(self.target)
        if self.target_kind == "labelsets":
            return Constraints.from_labelsets(self.target)
        return Constraints.from_rankings(ranks=self.target)


def _as_slice(rows: IntArray) -> slice | IntArray:
    if rows.size and np.array_equal(rows, np.arange(rows[0], rows[0] + rows.size)):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def fingerprint(data: npt.NDArray[Any], target: npt.NDArray[Any]) -> int:
    """A checksum of the order of the rows that is the same whatever classes are called.

    It looks at the classes and, as these may come in turn, at the first feature if it is a number.
    """
    checksum = 0
    for column in (target, data[:, 0]):
        if column.dtype != object:
            _, first, codes = np.unique(column, return_index=True, return_inverse=True)
            appearance = np.argsort(
                np.argsort(first)
            )  # which distinct value comes first, second...
            checksum = crc32(appearance[codes].astype("<u4").tobytes(), checksum)
    return checksum
