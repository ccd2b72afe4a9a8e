"""The y of fit, in whatever shape the user has it, read as `Constraints`.

A 1-D array is classes, a 2-D indicator is calibrated label sets, `Constraints` are themselves.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from kesler._labels import label_set, one_dimension
from kesler.constraints import Constraints


class Target(NamedTuple):
    """What y says, and in which shape it was said.

    Attributes
    ----------
    constraints : Constraints
    answer : str
        What predict gives back: "classes", "indicator", "sparse indicator", "orders" or "top".
    """

    constraints: Constraints
    answer: str


def read_target(y: Any, n_samples: int) -> Target:
    """Read y, which must have one entry for each of `n_samples` rows of X."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    if isinstance(y, Constraints):
        target = Target(y, _answer_of(y))
    elif sp.issparse(y):
        target = Target(Constraints.from_labelsets(y, calibrate=True), "sparse indicator")
    else:
        values = _as_array(y)
        if values.ndim == 2 and values.shape[1] > 1:
            kind = type_of_target(values, input_name="y")
            if kind != "multilabel-indicator":
                raise ValueError(
                    f"Unknown label type: {kind}. y has {values.ndim} dimensions but is no 0/1 "
                    "indicator; for label sets or rankings as lists use "
                    "Constraints.from_labelsets or Constraints.from_rankings"
                )
            target = Target(Constraints.from_labelsets(values, calibrate=True), "indicator")
        else:
            target = Target(Constraints.from_classes(read_classes(values)), "classes")
    if target.constraints.n_samples != n_samples:
        raise ValueError(
            f"X has {n_samples} examples and y has {target.constraints.n_samples}; "
            "each example needs one entry of both"
        )
    return target


def read_classes(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column of classes; a column of measurements is refused."""
    if values.ndim != 1:
        values = column_or_1d(values, warn=True)
    # Integers, text and booleans are classes by their type: no need to look at each.
    if values.dtype.kind not in "iuUbS":
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("Input y contains NaN or infinity, which is no class")
        if values.dtype == object:
            values = one_dimension(values, "y")
        try:
            check_classification_targets(values)
        except TypeError:  # scikit-learn cannot sort them, and label_set says so in words
            label_set(values)
            raise
    return values


def _as_array(y: Any) -> npt.NDArray[Any]:
    try:
        values = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y is a list of lists of different lengths; for label sets use "
            "Constraints.from_labelsets, for rankings Constraints.from_rankings"
        ) from error
    if values.dtype.kind == "T":  # NumPy's strings of any length; scikit-learn does not know them
        values = values.astype(np.str_)
    if values.dtype.kind == "U" and values.ndim == 1 and isinstance(y, list):
        one_dimension(y, "y")  # which refuses 1 beside "a"; NumPy made both strings
    if values.ndim == 1 and values.dtype == object and values.size:
        first = values[0]
        if isinstance(first, (list, tuple, set, frozenset, np.ndarray)):
            raise ValueError(
                "y is a list of collections; for label sets use Constraints.from_labelsets, "
                "for rankings Constraints.from_rankings"
            )
    return values


def _answer_of(constraints: Constraints) -> str:
    if constraints.kind == "labelsets":
        return "indicator" if constraints.calibrated else "top"
    return {"classes": "classes", "rankings": "orders"}.get(constraints.kind, "top")


def class_weights(
    class_weight: dict[Any, float] | str, constraints: Constraints
) -> npt.NDArray[np.float64]:
    """The weight of each example by its class: a dict, or "balanced"."""
    if constraints.kind != "classes":
        raise ValueError(f"class_weight is for classes; y holds {constraints.kind}")
    codes = constraints.class_codes()
    if isinstance(class_weight, dict):
        labels = constraints.labels.tolist()
        strange = sorted(map(repr, set(class_weight) - set(labels)))
        if strange:
            warnings.warn(
                f"class_weight names {', '.join(strange)}, which y does not hold", stacklevel=4
            )
        by_label = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
        wrong = ~np.isfinite(by_label) | (by_label < 0)
        if wrong.any():
            bad = labels[int(np.argmax(wrong))]
            raise ValueError(f"class_weight of {bad!r} must be a finite number, 0 or more")
    elif class_weight == "balanced":
        counts = np.bincount(codes, minlength=constraints.n_labels)
        present = counts > 0
        by_label = np.ones(constraints.n_labels)
        by_label[present] = codes.size / (present.sum() * counts[present])
    else:
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {class_weight!r}")
    weights: npt.NDArray[np.float64] = by_label[codes]
    return weights
