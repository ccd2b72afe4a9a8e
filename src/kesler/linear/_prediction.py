"""Prediction from a linear sorter, in all its forms, for every estimator that learns one.

What `predict` gives back follows what y was (`kesler._targets`); scores and best labels are
computed by blocks in the core, so nothing of size n x k is made unless it is asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from kesler import _checks
from kesler.constraints import Constraints
from kesler.linear._sorter import FloatArray, Sorter


class SorterMixin:
    """`predict` and its kin over `_sorter()`; `_answer` is the shape of the answer."""

    n_jobs: int | None
    classes_: npt.NDArray[Any]
    _answer: str

    @abstractmethod
    def _sorter(self) -> Sorter:
        """The sorter learned so far; AttributeError if there is none."""

    @property
    def _knows_threshold(self) -> bool:
        """Whether scores tell relevant labels from irrelevant ones."""
        return self._sorter().virtual

    def predict(self, X: Any) -> Any:
        """What y was: the top class, an indicator, the order of the labels, or the top label.

        Label sets are answered by an indicator when they were learned calibrated, rankings by all
        labels best first, pairs and mixed supervision by the top label.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import Constraints, OnlineClassifier
        >>> X = np.eye(2)
        >>> c = Constraints.from_rankings(orders=[["a", "b", "c"], ["c", "b", "a"]])
        >>> OnlineClassifier(average=False, random_state=0).fit(X, c).predict(X)
        array([['a', 'b', 'c'],
               ['c', 'b', 'a']], dtype='<U1')
        """
        X = self._read_new(X)
        if self._answer in ("indicator", "sparse indicator"):
            return self._indicator(X, sparse=self._answer == "sparse indicator")
        count = self.classes_.size if self._answer == "orders" else 1
        best = self._sorter().best(X, count, _checks.threads(self.n_jobs))
        return self.classes_[best if self._answer == "orders" else best[:, 0]]

    def predict_ranking(self, X: Any) -> npt.NDArray[Any]:
        """All labels of each row, best first, ties to the label that comes first in `classes_`.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import OnlineClassifier
        >>> OnlineClassifier(random_state=0).fit(np.eye(2), ["a", "b"]).predict_ranking(np.eye(2))
        array([['a', 'b'],
               ['b', 'a']], dtype='<U1')
        """
        X = self._read_new(X)
        best = self._sorter().best(X, self.classes_.size, _checks.threads(self.n_jobs))
        ranking: npt.NDArray[Any] = self.classes_[best]
        return ranking

    def predict_labelset(self, X: Any, l: int) -> npt.NDArray[Any]:  # noqa: E741
        """The l best labels of each row, best first (argmax_l of Table 1).

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import OnlineClassifier
        >>> model = OnlineClassifier(random_state=0).fit(np.eye(3), ["a", "b", "c"])
        >>> model.predict_labelset(np.eye(3), 2).shape
        (3, 2)
        """
        X = self._read_new(X)
        _checks.whole("l", l, at_least=0)
        if l > self.classes_.size:
            raise ValueError(f"l is {l}, but there are {self.classes_.size} labels")
        best = self._sorter().best(X, int(l), _checks.threads(self.n_jobs))
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the labels: shape (n, k), or (n,) for two classes.

        With calibrated label sets a label is relevant where its score is above 0.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import OnlineClassifier
        >>> model = OnlineClassifier(random_state=0).fit(np.eye(3), ["a", "b", "c"])
        >>> model.decision_function(np.eye(3)).shape
        (3, 3)
        """
        X = self._read_new(X)
        scores = self._sorter().scores(X, _checks.threads(self.n_jobs))
        k = self.classes_.size
        if self._sorter().virtual:
            return scores[:, :k] - scores[:, k:]
        return scores[:, 1] - scores[:, 0] if self._is_binary() else scores

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Accuracy, subset accuracy of an indicator, or 1 - constraint error of `Constraints`.

        A label that the model never saw stands below all others.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import OnlineClassifier
        >>> OnlineClassifier(random_state=0).fit(np.eye(2), [0, 1]).score(np.eye(2), [0, 0])
        0.5
        """
        if sp.issparse(y):
            _checks.refuse_corrupt(y)
            y = sp.csr_matrix(y)
        if not isinstance(y, Constraints):
            predicted = self.predict(X)
            weight = _checks.shares(_checks.weights(sample_weight, predicted.shape[0]))
            return float(accuracy_score(y, predicted, sample_weight=weight))
        X = self._read_new(X)
        if y.n_samples != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} examples and y has {y.n_samples}")
        if y.calibrated and not self._knows_threshold:
            raise ValueError(
                "y holds calibrated label sets, but the model learned none and knows no threshold "
                "between relevant and irrelevant"
            )
        weight = _checks.weights(sample_weight, X.shape[0])
        wrong = self._sorter().errors(X, y, self.classes_, _checks.threads(self.n_jobs))
        return _checks.mean(~wrong, weight)

    @property
    def coef_(self) -> FloatArray:
        """Weight vectors of the labels; of two classes, their difference."""
        coef = self._sorter().coef()
        return coef[1:] - coef[:1] if self._is_binary() else coef

    @property
    def intercept_(self) -> FloatArray:
        """Thresholds of the labels; of two classes, their difference."""
        thresholds = self._sorter().thresholds()
        return thresholds[1:] - thresholds[:1] if self._is_binary() else thresholds

    def _is_binary(self) -> bool:
        two = self._answer == "classes" and self.classes_.size == 2
        return two and not self._sorter().virtual

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read(X, reset=False, dtype=self._sorter().weights.dtype)

    def _indicator(self, X: Any, sparse: bool) -> Any:
        k = self.classes_.size
        scores = self._sorter().scores(X, _checks.threads(self.n_jobs))
        relevant = scores[:, :k] > scores[:, k:]
        return sp.csr_matrix(relevant, dtype=np.int64) if sparse else relevant.astype(np.int64)

    def _read(
        self, X: Any, *, reset: bool, dtype: npt.DTypeLike | None, finite: bool = True
    ) -> Any:
        """X as the core takes it; with `finite=False` the core finds what is no number."""
        if sp.issparse(X):
            _checks.refuse_corrupt(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32] if dtype is None else dtype,
            order="C",
            ensure_all_finite=finite,
        )
        if hasattr(X, "has_canonical_format") and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
