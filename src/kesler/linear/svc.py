"""The exact batch learner of constraint classification, with a certificate.

Minimises a regularised hinge loss over the pairs of every example: Crammer and Singer's multiclass
machine (2001, section 5) where the worst pair of a class counts, the support vector machine of the
Kesler expansion (Har-Peled, Roth and Zimak 2002, section 3) where all pairs do, and the same for
label sets, rankings and any partial orders.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from kesler import _checks, _core
from kesler._driver import Outcome
from kesler._targets import Target, class_weights, read_target
from kesler.constraints import Constraints
from kesler.linear._calibration import Calibration, calibrate
from kesler.linear._machine import AGGREGATES, LOSSES, Masses, Problem, Solution, Start
from kesler.linear._path import fell_short, unfinished
from kesler.linear._prediction import SorterMixin
from kesler.linear._solve import SOLVERS, solve
from kesler.linear._sorter import FloatArray, Sorter

__all__ = ["ConstraintSVC"]


def _is_calibrated(model: ConstraintSVC) -> bool:
    if model.calibration is None:
        raise AttributeError(
            "predict_proba needs calibration=, for instance calibration=5 for scores that are "
            "cross-validated in five parts"
        )
    return True


class ConstraintSVC(SorterMixin, ClassifierMixin, BaseEstimator):
    """A linear sorter that minimises a hinge loss over pairs of labels, to a proven gap.

    Classes, label sets, rankings, pairs or a mixture: whatever says which label should stand above
    which. The objective is ``|W|^2 / 2 + C * sum of losses``, where the loss of an example is the
    worst or the sum of ``max(0, margin - (score over - score under))`` over its pairs.

    Parameters
    ----------
    C : float, default=1.0
        What losses count beside the size of the weights.
    aggregate : {"max", "sum"}, default="max"
        The loss of an example is that of its worst pair (on classes the machine of Crammer and
        Singer), or the sum over its pairs (on classes that of Weston and Watkins).
    loss : {"hinge", "squared_hinge"}, default="hinge"
    fit_intercept : bool, default=True
        Learn a threshold per label, as the weight of a constant feature 1, regularised as others.
    tol : float, default=1e-3
        Stop when the relative duality gap over all examples is at most this: then the objective is
        no further than that from the smallest there is.
    max_iter : int, default=1000
        Rounds at most; a round visits every example once and those that still move a few times.
    time_budget : float, optional
        Seconds after which no new round is begun; those of calibration have as many each.
    solver : {"auto", "dual", "newton"}, default="auto"
        Dual sweeps, or a semismooth Newton method for dense data (classes, the worst pair), or
        whichever suits the shape of the data. Each ends with the same certificate.
    calibration : int or float, optional
        Makes `predict_proba` available: an integer is a number of parts for cross-validated scores,
        a float below 1 a share of examples held out. For classes and calibrated label sets.
    n_jobs : int, optional
        Threads, for learning and for prediction. What takes one thread less than about a
        millisecond is not divided.
    class_weight : dict or "balanced", optional
        Weight of each class, which multiplies `sample_weight`; for classes only.
    warm_start : bool, default=False
        Begin `fit` with the dual variables of the last one, where y is the same: for another C.
    random_state : int, RandomState or None
        For the order of visits.
    verbose : int, default=0
        1 shows progress on whatever takes more than two seconds.

    Attributes
    ----------
    classes_ : ndarray, shape (n_labels,)
        The labels, sorted.
    coef_ : ndarray, shape (n_labels, n_features), or (1, n_features) for two classes
    intercept_ : ndarray, shape (n_labels,) or (1,)
    primal_objective_, dual_objective_ : float
        Recomputed in float64 over all examples from the weights and the dual variables: the
        smallest objective lies between the two.
    duality_gap_ : float
        ``(primal - dual) / primal``.
    margin_ : float
        The smallest difference of scores over all pairs of the training examples; above 0 where all
        are in order.
    dual_coef_ : csr_array, shape (n_samples, n_labels)
        The share of each example in the weights of each label, the virtual label of calibrated
        sets as a last column. ``V = dual_coef_.T @ X`` (with the constant feature) and the weights
        W that `coef_` and `intercept_` show certify each other and need not be equal:
        ``|W - V|^2 / 2`` is at most `primal_objective_` - `dual_objective_`. The two that one row
        of `coef_` holds for two classes are its halves, one with its sign turned.
    n_iter_ : int
        Rounds made.
    outcome_ : Outcome
        Why `fit` stopped ("converged", "max_iter", "time_budget", or "precision": the type of X
        does not resolve a smaller gap), the gap after each round, and what was done in words.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Notes
    -----
    X is read in place: float32 and float64, C-contiguous or CSR with 32- or 64-bit indices, memory
    maps too. The dual variables kept are those that are not zero.

    With the same `random_state`, `n_jobs` and instruction set the weights are the same bit for bit;
    for another number of threads they are another solution within the same tolerance.

    Two classes at C are the binary support vector machine at 2C.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kesler import Constraints, ConstraintSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConstraintSVC(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.duality_gap_ <= 1e-3
    (True, True)

    A ranking of the labels for each example:

    >>> c = Constraints.from_rankings(orders=[[a, (a + 1) % 3, (a + 2) % 3] for a in y])
    >>> ConstraintSVC(aggregate="sum", random_state=0).fit(X, c).predict(X[:1])
    array([[0, 1, 2]])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        aggregate: str = "max",
        loss: str = "hinge",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_budget: float | None = None,
        solver: str = "auto",
        calibration: float | None = None,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.aggregate = aggregate
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.solver = solver
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> ConstraintSVC:
        """Learn from all examples.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like of classes, indicator of label sets (n_samples, n_labels), or Constraints
        sample_weight : array-like, shape (n_samples,), optional
            What each example counts: a weight of w is as good as w copies.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import ConstraintSVC
        >>> ConstraintSVC(random_state=0).fit(np.eye(3), ["a", "b", "c"]).predict(np.eye(3))
        array(['a', 'b', 'c'], dtype='<U1')
        """
        self._check_parameters()
        with _checks.unchanged_on_error(self):
            problem, target = self._problem(X, y, sample_weight, self.C)
            self._learn(problem, target, self._start(problem))
        return self

    def _learn(self, problem: Problem, target: Target, start: Start | None) -> None:
        """Solve, keep what was found, and calibrate it where that is asked for."""
        solution, outcome = self._solve(problem, start)
        self._keep(problem, target, solution, outcome)
        if hasattr(self, "_calibration"):
            del self._calibration
        if self.calibration is None:
            return
        outcomes: list[Outcome] = []

        def solve_part(part: Problem, start: Start) -> Solution:
            found, outcome = self._solve(part, start)
            outcomes.append(outcome)
            return found

        self._calibration: Calibration = calibrate(problem, solution, self.calibration, solve_part)
        if said := unfinished(outcomes):
            name = type(self).__name__
            warnings.warn(f"{name}: for calibration {said}", ConvergenceWarning, stacklevel=3)

    def _solve(self, problem: Problem, start: Start | None) -> tuple[Solution, Outcome]:
        return solve(
            problem,
            self.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            time_budget=self.time_budget,
            start=start,
            verbose=self._verbosity,
            label=type(self).__name__,
        )

    @property
    def _verbosity(self) -> int:
        """What a single solution is asked to show."""
        return int(self.verbose)

    def _check_parameters(self) -> None:
        check_C("C", self.C)
        _checks.flag("warm_start", self.warm_start)
        self._check_settings()

    def _check_settings(self) -> None:
        """The parameters that do not depend on how C is found."""
        _checks.one_of("aggregate", self.aggregate, AGGREGATES)
        _checks.one_of("loss", self.loss, LOSSES)
        _checks.one_of("solver", self.solver, SOLVERS)
        _checks.flag("fit_intercept", self.fit_intercept)
        _checks.real("tol", self.tol, above=0)
        _checks.whole("max_iter", self.max_iter, at_least=1)
        if self.time_budget is not None:
            _checks.real("time_budget", self.time_budget, above=0)
        if self.calibration is not None:
            if isinstance(self.calibration, (float, np.floating)):
                _checks.real("calibration", self.calibration, above=0, below=1)
            else:
                _checks.whole("calibration", self.calibration, at_least=2)
        _checks.threads(self.n_jobs)
        if not isinstance(self.verbose, (bool, np.bool_)):
            _checks.whole("verbose", self.verbose, at_least=0)

    def _problem(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, C: float
    ) -> tuple[Problem, Target]:
        X = self._read(X, reset=True, dtype=None)
        target = read_target(y, X.shape[0])
        constraints = target.constraints
        if constraints.n_labels == 0:
            raise ValueError("y names no label at all; there is nothing to sort")
        if self.aggregate == "max" and constraints.has_weights:
            raise ValueError(
                "aggregate='max' has no place for weights of pairs: only the worst pair counts. "
                "Give the pairs margins, weigh the examples with sample_weight, or use "
                "aggregate='sum'"
            )
        if self.calibration is not None and not (
            constraints.kind == "classes"
            or (constraints.kind == "labelsets" and constraints.calibrated)
        ):
            raise ValueError(
                "calibration is for classes and calibrated label sets, whose probabilities there "
                f"are; y holds {constraints.kind}"
            )
        weight = _checks.weights(sample_weight, X.shape[0])
        if self.class_weight is not None:
            each = class_weights(self.class_weight, constraints)
            weight = each if weight is None else each * weight
        if weight is not None and weight.size and not weight.any():
            raise ValueError("every weight is zero; at least one example must weigh more")
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        problem = Problem(
            X=X,
            constraints=constraints,
            weight=weight,
            C=float(C),
            aggregate=self.aggregate,
            loss=self.loss,
            intercept=bool(self.fit_intercept),
            n_threads=_checks.threads(self.n_jobs),
            seed=int(seed),
        )
        return problem, target

    def _start(self, problem: Problem) -> Start | None:
        """Where the last fit ended, where that is of use."""
        if not (self.warm_start and hasattr(self, "_masses")):
            return None
        if _fingerprint(self._origin) != _fingerprint(problem):
            return None
        values = self._masses.values.astype(problem.X.dtype, copy=False)
        masses = self._masses._replace(values=values)
        fits = self._table.weights.shape == (problem.X.shape[1] + problem.intercept, problem.lanes)
        return Start(masses, problem.C / self._origin.C, self._table.weights if fits else None)

    def _keep(self, problem: Problem, target: Target, solution: Solution, outcome: Outcome) -> None:
        self._stand(target, problem.sorter(solution.table))
        self._masses = solution.masses
        self._origin = replace(problem, X=None)  # what the masses belong to
        self.primal_objective_ = solution.certified.primal
        self.dual_objective_ = solution.certified.dual
        self.duality_gap_ = solution.certified.gap
        self.margin_ = solution.certified.margin
        self.n_iter_ = outcome.n_iter
        self.outcome_ = outcome
        if fell_short(outcome):
            where = (
                f"where numbers of type {problem.X.dtype} tell no more"
                if outcome.status == "precision"
                else f"at {outcome.status}={getattr(self, outcome.status)}"
            )
            warnings.warn(
                f"{type(self).__name__} stopped {where} with a relative duality gap of "
                f"{self.duality_gap_:.3g}, above tol={self.tol}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _stand(self, target: Target, sorter: Sorter) -> None:
        """Answer by this sorter."""
        self._table = sorter
        self._answer = target.answer
        self.classes_ = target.constraints.labels

    @property
    def dual_coef_(self) -> sp.csr_array:
        """The share of each training example in the weights of each label."""
        self._sorter()
        if not hasattr(self, "_origin"):
            raise AttributeError("dual_coef_ is not kept in a model file; fit makes it")
        return _shares(self._origin, self._masses)

    @available_if(_is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, or that each label is relevant: shape (n, k).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from kesler import ConstraintSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ConstraintSVC(calibration=5, random_state=0).fit(X, y)
        >>> model.predict_proba(X[:1]).round(1)
        array([[1., 0., 0.]])
        """
        X = self._read_new(X)
        if not hasattr(self, "_calibration"):
            raise AttributeError("calibration was set after fit; fit again for predict_proba")
        scores = self._sorter().scores(X, _checks.threads(self.n_jobs))
        return self._calibration.probabilities(scores, self.classes_.size)

    def _sorter(self) -> Sorter:
        if not hasattr(self, "_table"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def check_C(name: str, C: Any) -> None:
    """Refuse what is no positive number, and say of infinity why."""
    if isinstance(C, (float, np.floating)) and np.isposinf(C):
        raise ValueError(
            f"{name}=inf, the hard margin, is not supported: where the data cannot be sorted "
            "without an error there is no solution; use a large C, such as 1e4"
        )
    _checks.real(name, C, above=0)


def _shares(problem: Problem, masses: Masses) -> sp.csr_array:
    """Dual variables as the share of each example in the weights of each label."""
    indptr, labels, values = _core.dual_shares(
        problem.constraints._native(),
        problem.weight,
        problem.C,
        problem.aggregate,
        problem.loss,
        *masses,
    )
    constraints = problem.constraints
    shape = (constraints.n_samples, constraints.n_labels + constraints.calibrated)
    return sp.csr_array((values, labels, indptr), shape=shape)


def _fingerprint(problem: Problem) -> tuple[Any, ...]:
    """What must be the same for dual variables to be feasible, up to a factor."""
    digest = hashlib.blake2b(digest_size=16)
    constraints: Constraints = problem.constraints
    for part in (
        constraints._items,
        constraints._indptr,
        constraints._forms,
        constraints._weight,
        problem.weight,
    ):
        digest.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
    shape = constraints.n_samples, constraints.n_labels, constraints._form
    return *shape, problem.aggregate, problem.loss, digest.hexdigest()
