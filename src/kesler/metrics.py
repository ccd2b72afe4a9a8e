"""How well scores keep an order on the labels: what scikit-learn's metrics lack.

The error of constraint classification (Har-Peled, Roth and Zimak 2002, Definitions 2.4 and 2.5),
Kendall's tau and the ranking loss over any partial orders, precision among the best labels, and
scorers by which ``cross_val_score`` and ``GridSearchCV`` use them. Metrics of classes, and what
scikit-learn has for label sets (subset accuracy, Hamming loss, coverage, average precision), are
not repeated here.

Everywhere a tie of scores goes to the label that comes first in ``Constraints.labels``. Scores have
the shapes of ``decision_function``: a column for each label, and for two labels also one number a
row, by how much the second stands above the first. Calibrated label sets separate relevant labels
from irrelevant ones at a score of 0, or at that of one more column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kesler._checks import mean, weights
from kesler._labels import united
from kesler._scores import FloatArray, count_violated, score_table
from kesler._targets import read_target
from kesler.constraints import Constraints

__all__ = [
    "constraint_accuracy_scorer",
    "constraint_error",
    "kendall_tau",
    "kendall_tau_scorer",
    "precision_at",
    "ranking_loss",
    "ranking_loss_scorer",
]


def constraint_error(
    constraints: Constraints, scores: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> float:
    """Share of examples with at least one pair out of order (Definition 2.5).

    For classes it is the error rate, for calibrated label sets one minus the subset accuracy.

    Parameters
    ----------
    constraints : Constraints
    scores : array-like, shape (n_samples, n_labels), or one column more for the virtual label
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    float
        Between 0 and 1. Examples without pairs count, and are right.

    Examples
    --------
    >>> from kesler import Constraints
    >>> from kesler.metrics import constraint_error
    >>> c = Constraints.from_rankings(orders=[["a", "b", "c"], ["c", "a"]])
    >>> constraint_error(c, [[3.0, 2.0, 1.0], [2.0, 0.0, 1.0]])
    0.5
    """
    wrong = constraints.errors(score_table(constraints, scores))
    return _mean(wrong, weights(sample_weight, wrong.size))


def kendall_tau(
    constraints: Constraints, scores: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> float:
    """Kendall's tau between orders and scores: 1 all pairs in order, -1 none.

    Of an example it is the number of pairs in order less the number of those that are not, over the
    number of pairs. All pairs count that the order implies, however they are stored; the virtual
    label of calibrated sets is left out, for it is no label to rank.

    Parameters
    ----------
    constraints : Constraints
    scores : array-like, shape (n_samples, n_labels), or one column more for the virtual label
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    float
        The mean over the examples that have pairs; NaN if there is none.

    Examples
    --------
    >>> from kesler import Constraints
    >>> from kesler.metrics import kendall_tau
    >>> c = Constraints.from_rankings(orders=[["a", "b", "c"]])
    >>> round(kendall_tau(c, [[2.0, 3.0, 1.0]]), 3)
    0.333
    """
    weight = weights(sample_weight, constraints.n_samples)
    violated, total = count_violated(constraints, scores)
    some = total > 0
    tau = 1 - 2 * violated[some] / total[some]
    return _mean(tau, None if weight is None else weight[some])


def ranking_loss(
    constraints: Constraints, scores: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> float:
    """Mean share of the pairs of an example that are out of order.

    The pairs are those of `kendall_tau`. On label sets and scores without ties it equals
    ``sklearn.metrics.label_ranking_loss``, which counts every tie against the scores.

    Parameters
    ----------
    constraints : Constraints
    scores : array-like, shape (n_samples, n_labels), or one column more for the virtual label
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    float
        Between 0 and 1. Examples without pairs count, with a loss of 0.

    Examples
    --------
    >>> from kesler import Constraints
    >>> from kesler.metrics import ranking_loss
    >>> c = Constraints.from_labelsets([["a", "c"], []], labels=["a", "b", "c", "d"])
    >>> ranking_loss(c, [[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    0.125
    """
    weight = weights(sample_weight, constraints.n_samples)
    violated, total = count_violated(constraints, scores)
    return _mean(violated / np.maximum(total, 1), weight)


def precision_at(
    constraints: Constraints,
    scores: npt.ArrayLike,
    l: int,  # noqa: E741
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Share of relevant labels among the `l` best of each example, for label sets and classes.

    What ``predict_labelset(X, l)`` is judged by. ``1 - precision_at(c, scores, 1)`` is the
    one-error.

    Parameters
    ----------
    constraints : Constraints
        Label sets, calibrated or not, or classes.
    scores : array-like, shape (n_samples, n_labels), or one column more for the virtual label
    l : int
        How many labels to look at, 1 to n_labels.
    sample_weight : array-like, shape (n_samples,), optional

    Returns
    -------
    float
        Between 0 and 1. An example with fewer than `l` relevant labels cannot reach 1.

    Examples
    --------
    >>> from kesler import Constraints
    >>> from kesler.metrics import precision_at
    >>> c = Constraints.from_labelsets([["a", "c"], ["b"]], labels=["a", "b", "c"])
    >>> scores = [[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]
    >>> precision_at(c, scores, 1), precision_at(c, scores, 2)
    (1.0, 0.5)
    """
    if constraints.kind not in ("classes", "labelsets"):
        raise ValueError(
            f"{constraints.kind} have no relevant labels; precision_at is for label sets and "
            "classes"
        )
    if not isinstance(l, (int, np.integer)) or not 1 <= l <= constraints.n_labels:
        raise ValueError(f"l must be an integer from 1 to {constraints.n_labels}, not {l!r}")
    table = score_table(constraints, scores)[:, : constraints.n_labels]
    best = np.argsort(-table, axis=1, kind="stable")[:, :l]
    relevant = constraints.indicator()
    found = relevant[np.arange(constraints.n_samples)[:, None], best]
    each = np.asarray(found.sum(axis=1)).ravel() / l
    return _mean(each, weights(sample_weight, each.size))


def constraint_accuracy_scorer(estimator: Any, X: Any, y: Any) -> float:
    """1 - `constraint_error`, as ``scoring=`` of scikit-learn's searches and cross-validation.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` and ``classes_``
    X : array-like or sparse matrix
    y : Constraints, or classes, or an indicator of label sets, which is read as calibrated

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from kesler import Constraints, OnlineClassifier
    >>> from kesler.metrics import constraint_accuracy_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model, c = OnlineClassifier(random_state=0), Constraints.from_classes(y)
    >>> cross_val_score(model, X, c, cv=5, scoring=constraint_accuracy_scorer).shape
    (5,)
    """
    return 1 - constraint_error(*_judged(estimator, X, y))


def kendall_tau_scorer(estimator: Any, X: Any, y: Any) -> float:
    """`kendall_tau`, as ``scoring=`` of scikit-learn's searches and cross-validation.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` and ``classes_``
    X : array-like or sparse matrix
    y : Constraints, or classes, or an indicator of label sets

    Examples
    --------
    >>> import numpy as np
    >>> from kesler import Constraints, OnlineClassifier
    >>> from kesler.metrics import kendall_tau_scorer
    >>> X, c = np.eye(2), Constraints.from_rankings(orders=[[0, 1, 2], [2, 1, 0]])
    >>> kendall_tau_scorer(OnlineClassifier(average=False).fit(X, c), X, c)
    1.0
    """
    return kendall_tau(*_judged(estimator, X, y))


def ranking_loss_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Minus `ranking_loss` (greater is better), as ``scoring=`` of searches and cross-validation.

    Parameters
    ----------
    estimator : classifier with ``decision_function`` and ``classes_``
    X : array-like or sparse matrix
    y : Constraints, or classes, or an indicator of label sets

    Examples
    --------
    >>> import numpy as np
    >>> from kesler import OnlineClassifier
    >>> from kesler.metrics import ranking_loss_scorer
    >>> X, y = np.eye(2), np.array([[1, 0, 0], [0, 1, 1]])
    >>> ranking_loss_scorer(OnlineClassifier(average=False).fit(X, y), X, y[::-1])
    -1.0
    """
    return -ranking_loss(*_judged(estimator, X, y))


def _mean(values: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None) -> float:
    if values.size == 0 or (weight is not None and not weight.any()):
        return float("nan")
    return mean(values, weight)


def _judged(estimator: Any, X: Any, y: Any) -> tuple[Constraints, FloatArray]:
    """What y says and the scores the estimator gives, over one set of labels."""
    if not (hasattr(estimator, "decision_function") and hasattr(estimator, "classes_")):
        raise TypeError(
            f"{type(estimator).__name__} has no decision_function or no classes_; these scorers "
            "judge the scores of labels"
        )
    scores = np.asarray(estimator.decision_function(X))
    known = np.asarray(estimator.classes_)
    constraints = read_target(y, scores.shape[0]).constraints
    if constraints.calibrated and not getattr(estimator, "_knows_threshold", True):
        raise ValueError(
            "y holds calibrated label sets, but the model learned none and knows no threshold "
            "between relevant and irrelevant"
        )
    if scores.ndim == 1 and known.size == 2:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    if np.array_equal(known, constraints.labels):
        return constraints, scores
    # A fold may lack a label that the other one has: then one side did not know of it.
    labels = united(constraints.labels, known)
    table = np.full((scores.shape[0], labels.size), -np.inf, dtype=scores.dtype)
    table[:, np.searchsorted(labels, known)] = scores
    return constraints.relabelled(labels), table
