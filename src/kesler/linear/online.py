"""On-line constraint classification: promote the label that should stand above, demote the other.

The on-line meta-algorithm of Har-Peled, Roth and Zimak (2002, Figure 1b) over every kind of
`Constraints`, with the perceptron, Winnow (Roth's lecture notes, section 5.1) and the
passive-aggressive rules as promotion strategies; one-vs-all on the same network is one of its
updates (section 3.4). The exact batch solver is another module.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state

from kesler import _checks, _core
from kesler._driver import Outcome, Sweep, run
from kesler._labels import label_set, united
from kesler._progress import Progress
from kesler._targets import Target, class_weights, read_target
from kesler.constraints import Constraints
from kesler.linear._network import Network
from kesler.linear._prediction import SorterMixin
from kesler.linear._sorter import Sorter, as_rows

__all__ = ["OnlineClassifier"]

_UPDATES = ("worst", "all", "independent")
_MOST_STEPS = 2.0**53
_NO_VISITS = None  # all rows, in the order given


class _Passes:
    """A `Step` of the driver: one sweep is one pass over the training examples."""

    def __init__(
        self,
        learner: OnlineClassifier,
        network: Network,
        X: Any,
        constraints: Constraints,
        weight: npt.NDArray[np.float64] | None,
    ) -> None:
        self._learner = learner
        self._X = X
        self._constraints = constraints
        self._rows = as_rows(X)
        self._orders = constraints._native()
        self._weight = weight
        self._random = check_random_state(learner.random_state)
        self._train: npt.NDArray[np.int64] | None = None
        self._held_out: npt.NDArray[np.int64] | None = None
        if learner.early_stopping:
            self._hold_out(X.shape[0])
        self._threads = _checks.threads(learner.n_jobs) if learner.early_stopping else 1
        self._best_error = np.inf
        self._passes_since_best = 0
        self.network = network
        self.best = network
        self.mistakes: list[int] = []

    def _hold_out(self, n: int) -> None:
        share = self._learner.validation_fraction
        size = max(1, round(share * n))
        if size >= n:
            raise ValueError(
                f"validation_fraction={share} of {n} examples leaves none to learn from"
            )
        order = self._random.permutation(n).astype(np.int64)
        self._held_out, self._train = np.sort(order[:size]), np.sort(order[size:])

    @property
    def sweep_size(self) -> int:
        return int(self._X.shape[0] if self._train is None else self._train.size)

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        visits = self._train
        if self._learner.shuffle:
            n = self.sweep_size
            order = self._random.permutation(n).astype(np.int64, copy=False)
            visits = order if self._train is None else self._train[order]
        mistakes, moves = self.present(visits, report)
        self.mistakes.append(mistakes)
        finished = "" if moves else "no_mistakes" if mistakes == 0 else "no_moves"
        if self._held_out is not None:
            return self._judge(finished)
        self.best = self.network
        return Sweep(mistakes / max(self.sweep_size, 1), finished)

    def present(
        self, visits: npt.NDArray[np.int64] | None, report: Callable[[int], None] | None
    ) -> tuple[int, int]:
        """One pass of the core over the given rows; the examples it got wrong, and the moves."""
        learner, network = self._learner, self.network
        mistakes, moves, overflow = _core.online_pass(
            self._rows,
            self._orders,
            visits,
            self._weight,
            network.weights,
            network.sums,
            network.logs,
            network.state,
            learner.rule,
            learner.update,
            float(learner.C),
            float(np.log(learner.promotion)),
            network.intercept,
            report,
        )
        if overflow >= 0:
            assert_all_finite(self._X, input_name="X", estimator_name=type(learner).__name__)
            raise ValueError(
                f"the scores of example {overflow} overflow {network.weights.dtype}: its features, "
                "or the margins and weights of its pairs, are too large; scale X, for instance "
                "with sklearn.preprocessing.StandardScaler"
            )
        return mistakes, moves

    def _judge(self, finished: str) -> Sweep:
        assert self._held_out is not None
        network = self.network
        wrong = network.sorter().errors(
            self._X, self._constraints, network.labels, self._threads, self._held_out
        )
        weight = None if self._weight is None else self._weight[self._held_out]
        if weight is not None and not weight.any():
            weight = None  # nothing held out counts: then all of it does
        error = _checks.mean(wrong, weight)
        if error < self._best_error:
            self._best_error, self._passes_since_best = error, 0
            self.best = self.network.copy()
        else:
            self._passes_since_best += 1
        stop = self._passes_since_best >= self._learner.n_iter_no_change
        return Sweep(error, finished or ("validation" if stop else ""))


class OnlineClassifier(SorterMixin, ClassifierMixin, BaseEstimator):
    """A linear sorter learned on line from classes, label sets, rankings, pairs, or a mixture.

    Each example is shown to a network of one linear unit per label. Where a pair of its order is
    violated the label that should stand above is promoted and the other demoted.

    Parameters
    ----------
    rule : {"perceptron", "winnow", "positive_winnow", "pa1", "pa2"}, default="perceptron"
        How far to move. "winnow" is balanced Winnow, multiplicative and at home where few of many
        features matter; "positive_winnow" keeps only positive weights; "pa1" and "pa2" are the
        passive-aggressive rules, which ask for a margin of 1 (or that of the pair).
    update : {"worst", "all", "independent"}, default="worst"
        Move on the worst violated pair only (ultraconservative); on every violated pair in turn; or
        train each label on its own, which is one-vs-all on the same network.
    average : bool, default=True
        Predict with the mean of the weights over all steps rather than with the last ones.
    C : float, default=1.0
        How aggressive "pa1" and "pa2" are.
    promotion : float, default=1.1
        Winnow's factor for a feature of value 1.
    max_iter : int, default=10
        Passes over the data in `fit`; a pass without a mistake is the last.
    shuffle : bool, default=True
        Visit the examples in a new random order in each pass of `fit`.
    fit_intercept : bool, default=True
        Learn a threshold per label, as the weight of a constant feature 1.
    early_stopping : bool, default=False
        Hold out a share of the data in `fit`, stop when its error no longer falls, and keep the
        weights that did best on it.
    validation_fraction : float, default=0.1
        That share.
    n_iter_no_change : int, default=3
        Passes without a lower error to wait for.
    class_weight : dict or "balanced", optional
        Weight of each class, which multiplies `sample_weight`; for classes only.
    warm_start : bool, default=False
        Go on in `fit` from where the last `fit` ended.
    n_jobs : int, optional
        Threads for prediction and for the error on held-out data. Learning is sequential.
    random_state : int, RandomState or None
        For shuffling and holding out.
    verbose : int, default=0
        1 shows progress on whatever takes more than two seconds.

    Attributes
    ----------
    classes_ : ndarray, shape (n_labels,)
        The labels, sorted.
    coef_ : ndarray, shape (n_labels, n_features), or (1, n_features) for two classes
    intercept_ : ndarray, shape (n_labels,) or (1,)
    n_iter_ : int
        Passes made by the last `fit`, and by `partial_fit` since.
    mistakes_ : list of int
        For each of them the number of examples that had a violated pair when they were presented.
    n_updates_ : int
        Moves made since learning began: the number that mistake bounds speak of.
    t_ : float
        Examples presented since learning began, each counted by its weight.
    outcome_ : Outcome
        Why the last `fit` stopped: "no_mistakes" in the last pass, "no_moves" (there were mistakes,
        but on rows of zeros), "validation" or "max_iter"; and its history.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    A tie is a mistake while learning, or zero weights would never move. A weight of w is w
    presentations in a row; what is left of it below one is a presentation whose moves are that much
    smaller. Winnow's weights, and so its scores, share an arbitrary positive factor.

    A last pass without a mistake says that the last weights sort all training examples rightly
    (``average=False``); their mean over all steps may not.

    With ``warm_start=True`` and an integer `random_state` every `fit` visits the examples in the
    same orders; a RandomState goes on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kesler import Constraints, OnlineClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OnlineClassifier(max_iter=50, random_state=0).fit(X, y).score(X, y) > 0.9
    True

    "This rather than that" is enough to learn something:

    >>> c = Constraints.from_pairs(range(150), y, (y + 1) % 3, n_samples=150, labels=3)
    >>> model = OnlineClassifier("pa1", max_iter=50, random_state=0).fit(X, c)
    >>> model.score(X, c) > 0.9
    True
    """

    def __init__(
        self,
        rule: str = "perceptron",
        update: str = "worst",
        *,
        average: bool = True,
        C: float = 1.0,
        promotion: float = 1.1,
        max_iter: int = 10,
        shuffle: bool = True,
        fit_intercept: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.rule = rule
        self.update = update
        self.average = average
        self.C = C
        self.promotion = promotion
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> OnlineClassifier:
        """Learn in up to `max_iter` passes.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
            float32 and float64 are read in place, C-contiguous or CSR, with 32- or 64-bit indices.
        y : array-like of classes, indicator of label sets (n_samples, n_labels), or Constraints
        sample_weight : array-like, shape (n_samples,), optional
            How many times in a row each example is presented.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import OnlineClassifier
        >>> X = np.eye(3)
        >>> OnlineClassifier(average=False, random_state=0).fit(X, ["a", "b", "c"]).predict(X)
        array(['a', 'b', 'c'], dtype='<U1')
        """
        self._check_parameters()
        with _checks.unchanged_on_error(self):
            warm = self.warm_start and hasattr(self, "_network")
            # A first fit shows the core every row, which tells what is no number: no need to look
            # at X twice. Where it may skip rows, or a model is at stake, X is looked at first.
            seen = not warm and sample_weight is None and self.class_weight is None
            X = self._read(
                X,
                reset=not warm,
                dtype=self._network.weights.dtype if warm else None,
                finite=self.early_stopping or not seen,
            )
            target = read_target(y, X.shape[0])
            weight = self._weights(target, sample_weight, X.shape[0])
            if weight is not None and weight.size and not weight.any():
                raise ValueError("every weight is zero; at least one example must weigh more")
            if warm:
                network, target = self._taking_in(target, target.constraints.labels)
                network = network.copy()
            else:
                network = self._start(target, X)
            passes = _Passes(self, network, X, target.constraints, weight)
            self.outcome_: Outcome = run(
                passes, max_iter=self.max_iter, verbose=self.verbose, label="OnlineClassifier"
            )
            self.n_iter_ = self.outcome_.n_iter
            self.mistakes_: list[int] = passes.mistakes
            self._keep(passes.best, target, passes.best.sorter().laid_out())
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> OnlineClassifier:
        """Learn from a batch, in the order given, once.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            All labels, or in a later call more labels. A batch may lack some, but must not bring
            one that was not announced. By default the labels of the first batch.

        Returns
        -------
        self

        Notes
        -----
        Ctrl-C, or an example whose scores overflow, leaves the model with what it learned until
        then; any other error leaves it as it was.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> model.partial_fit(np.eye(2), ["a", "c"], classes=["a", "c"]).classes_
        array(['a', 'c'], dtype='<U1')
        >>> model.partial_fit(np.eye(2), ["b", "c"], classes=["b"]).classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        self._check_parameters()
        if self.early_stopping:
            raise ValueError("early_stopping=True is for fit; partial_fit sees one batch at a time")
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all data at once; give partial_fit a dict"
            )
        with _checks.unchanged_on_error(self):
            first = not hasattr(self, "_network")
            X = self._read(X, reset=first, dtype=None if first else self._network.weights.dtype)
            target = read_target(y, X.shape[0])
            weight = self._weights(target, sample_weight, X.shape[0])
            announced = None if classes is None else label_set(classes)
            if first:
                if announced is not None:
                    target = target._replace(constraints=self._over(target.constraints, announced))
                network = self._start(target, X)
                self.n_iter_ = 0
                self.mistakes_ = []
            else:
                network, target = self._taking_in(target, announced)
            passes = _Passes(self, network, X, target.constraints, weight)
        # From here on the weights move in place; what was learned stays learned.
        with_answer = target if first else target._replace(answer=self._common_answer(target))
        self._keep(network, with_answer, None)
        try:
            with (
                Progress("OnlineClassifier", X.shape[0]) if self.verbose else nullcontext() as line
            ):
                mistakes, _ = passes.present(_NO_VISITS, line.update if line else None)
        finally:
            self._count(network)
        self.n_iter_ += 1
        self.mistakes_.append(mistakes)
        return self

    def _check_parameters(self) -> None:
        _checks.one_of("rule", self.rule, _core.rule_names())
        _checks.one_of("update", self.update, _UPDATES)
        for name in ("average", "shuffle", "fit_intercept", "early_stopping", "warm_start"):
            _checks.flag(name, getattr(self, name))
        _checks.real("C", self.C, above=0)
        _checks.real("promotion", self.promotion, above=1)
        _checks.whole("max_iter", self.max_iter, at_least=1)
        _checks.real("validation_fraction", self.validation_fraction, above=0, below=1)
        _checks.whole("n_iter_no_change", self.n_iter_no_change, at_least=1)
        _checks.threads(self.n_jobs)
        if not isinstance(self.verbose, (bool, np.bool_)):
            _checks.whole("verbose", self.verbose, at_least=0)
        if self.rule == "positive_winnow" and self.update == "independent":
            raise ValueError(
                "rule='positive_winnow' compares labels: its scores are all positive, so no label "
                "can be judged on its own; use update='all' or 'worst', or rule='winnow'"
            )

    def _weights(
        self, target: Target, sample_weight: npt.ArrayLike | None, n: int
    ) -> npt.NDArray[np.float64] | None:
        constraints = target.constraints
        if self.update == "independent" and (constraints.has_margins or constraints.has_weights):
            raise ValueError(
                "update='independent' judges every label on its own, so margins and weights of "
                "pairs mean nothing to it; use update='all' or 'worst'"
            )
        weight = _checks.weights(sample_weight, n)
        if self.class_weight is not None:
            each = class_weights(self.class_weight, constraints)
            weight = each if weight is None else each * weight
        if weight is not None:
            with np.errstate(over="ignore"):
                total = float(weight.sum())
            if not total <= _MOST_STEPS:
                raise ValueError(
                    f"the weights of all examples add up to {total:.3g}; a weight is a number of "
                    f"presentations, and no more than {_MOST_STEPS:.3g} can be counted"
                )
        return weight

    def _start(self, target: Target, X: Any) -> Network:
        constraints = target.constraints
        if constraints.n_labels == 0:
            raise ValueError("y names no label at all; there is nothing to sort")
        return Network.start(
            constraints.labels,
            X.shape[1],
            X.dtype,
            rule=self.rule,
            average=self.average,
            intercept=self.fit_intercept,
            virtual=constraints.calibrated,
        )

    def _taking_in(
        self, target: Target, announced: npt.NDArray[Any] | None
    ) -> tuple[Network, Target]:
        """The network grown by announced labels, and the target over all of them."""
        network = self._network.writable()
        logarithmic, first = _core.rule_traits(self.rule)
        kept = (network.logs is not None, network.sums is not None, network.intercept)
        if kept != (logarithmic, self.average, self.fit_intercept) or network.first != first:
            raise ValueError(
                "average and fit_intercept cannot change between calls that go on learning, nor "
                "can a rule take over weights of another family (additive, winnow, "
                "positive_winnow); call fit with warm_start=False"
            )
        labels = network.labels
        if announced is not None:
            labels = united(labels, announced)
        constraints = self._over(target.constraints, labels)
        network = network.with_labels(labels, constraints.calibrated)
        return network, target._replace(constraints=constraints)

    def _over(self, constraints: Constraints, labels: npt.NDArray[Any]) -> Constraints:
        try:
            return constraints.relabelled(labels)
        except ValueError as error:
            raise ValueError(f"{error}; announce new labels with classes=") from error

    def _common_answer(self, target: Target) -> str:
        return target.answer if target.answer == self._answer else "top"

    def _keep(self, network: Network, target: Target, sorter: Sorter | None) -> None:
        self._network = network
        self._laid_out = sorter
        self._answer = target.answer
        self.classes_ = network.labels
        self._count(network)

    def _count(self, network: Network) -> None:
        self.t_ = network.steps
        self.n_updates_ = int(network.state[2])

    def _sorter(self) -> Sorter:
        if not hasattr(self, "_network"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._network.sorter() if self._laid_out is None else self._laid_out

    @property
    def _knows_threshold(self) -> bool:
        return self._network.virtual or self.update == "independent"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
