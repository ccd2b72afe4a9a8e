"""The constraint machine with C chosen by cross-validation along one path for each fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from kesler import _checks
from kesler._driver import Outcome
from kesler._progress import Progress
from kesler._targets import Target
from kesler.linear._folds import Fold, Judge, Rows, folds, own_judge, targets
from kesler.linear._machine import Problem
from kesler.linear._path import along, grid, start_for, unfinished
from kesler.linear._solve import takes_newton
from kesler.linear._sorter import Sorter
from kesler.linear.svc import ConstraintSVC

__all__ = ["ConstraintSVCCV"]

_SAME = 1e-9  # difference of mean scores that is rounding


class ConstraintSVCCV(ConstraintSVC):
    """`ConstraintSVC` that chooses its C by cross-validation.

    Every fold is one path of C, on which each fit begins with the dual variables of the one before.
    The examples that a fold leaves out weigh nothing while it learns: X is read once, and no row of
    it is copied. The best C learns from all examples at the end.

    Parameters
    ----------
    Cs : int or array-like of float, default=10
        The values of C to try, or how many of them from 1e-3 to 1e2.
    cv : int, splitter or iterable, default=5
        Folds as in scikit-learn: a number (stratified for classes), an object with `split`, or
        pairs of row numbers to learn from and to judge by.
    scoring : str or callable, optional
        A scorer as in scikit-learn, greater is better. By default accuracy for classes, subset
        accuracy for calibrated label sets, and for all other supervision Kendall's tau over all
        pairs that an order implies. A scorer is given the rows it judges, copied one fold at a
        time; the default is not.
    refit : bool, default=True
        Learn from all examples with the best C; if False, only the scores are made, and nothing is
        there to predict with.
    aggregate, loss, fit_intercept, tol, solver, calibration, n_jobs, class_weight, random_state
        As in `ConstraintSVC`.
    max_iter, time_budget
        Of each fit.
    verbose : int, default=0
        1 shows how many of the fits are done, 2 also each fit.

    Attributes
    ----------
    C_ : float
        The C with the best mean score over the folds, ties to the smaller.
    Cs_ : ndarray, shape (n_Cs,)
        The values tried, in ascending order.
    scores_ : ndarray, shape (n_folds, n_Cs)
        NaN where a fold has no example to judge by; such a fold does not count.

    After the refit it has all attributes of `ConstraintSVC`, and `n_features_in_` in any case.

    Notes
    -----
    A label that a fold leaves out altogether is still a label there, and scores below those seen.
    ``class_weight="balanced"`` is that of all examples, in every fold.

    With `sample_weight` both the fits and the scores are weighted; a scorer must then take
    `sample_weight`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kesler import ConstraintSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConstraintSVCCV(Cs=[0.01, 0.1, 1.0], random_state=0).fit(X, y)
    >>> model.C_, model.scores_.shape, model.score(X, y) > 0.95
    (0.1, (5, 3), True)
    """

    def __init__(
        self,
        Cs: Any = 10,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
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
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
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
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, groups: Any = None
    ) -> ConstraintSVCCV:
        """Choose C, and learn from all examples with it.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n_samples, n_features)
        y : array-like of classes, indicator of label sets (n_samples, n_labels), or Constraints
        sample_weight : array-like, shape (n_samples,), optional
            What each example counts, in learning and in judging.
        groups : array-like, shape (n_samples,), optional
            For a `cv` that keeps groups together.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.model_selection import GroupKFold
        >>> from kesler import ConstraintSVCCV
        >>> X, y, of = np.tile(np.eye(3), (4, 1)), np.tile(["a", "b", "c"], 4), np.repeat([1, 2], 6)
        >>> ConstraintSVCCV(cv=GroupKFold(2), random_state=0).fit(X, y, groups=of).scores_.shape
        (2, 10)
        """
        self._check_parameters()
        with _checks.unchanged_on_error(self):
            # What a fit before this one found must not pass for what this one will find.
            for name in [v for v in vars(self) if v.endswith("_") or v == "_table"]:
                delattr(self, name)
            self.Cs_ = grid(self.Cs)
            problem, target = self._problem(X, y, sample_weight, float(self.Cs_[0]))
            parts = folds(problem, y, self.cv, groups)
            best = self._judge_all(parts, self._judge_of(problem, target, y, sample_weight))
            if self.refit:
                everything, start = replace(problem, C=self.C_), None
                if not takes_newton(everything, self.solver):
                    # Sweeps of dense data are quicker by way of small C than straight on.
                    start = start_for(problem, self.Cs_[: best + 1], self._solve)
                self._learn(everything, target, start)
        return self

    def _judge_all(self, parts: list[Fold], judge_of: Callable[[Rows], Judge]) -> int:
        """Fill `scores_` and `C_`; the place of the best C."""
        self.scores_ = np.empty((len(parts), self.Cs_.size))
        outcomes: list[Outcome] = []
        progress = Progress(type(self).__name__, self.scores_.size) if self.verbose else None
        try:
            for f, (problem, left_out) in enumerate(parts):
                judge = judge_of(left_out)
                for c, stop in enumerate(along(problem, self.Cs_, self._solve)):
                    self.scores_[f, c] = judge(problem.sorter(stop.solution.table))
                    outcomes.append(stop.outcome)
                    if progress is not None:
                        progress.update(len(outcomes), f"C={self.Cs_[c]:.3g}")
        finally:
            if progress is not None:
                progress.close()
        if said := unfinished(outcomes):
            name = type(self).__name__
            warnings.warn(f"{name}: in the folds {said}", ConvergenceWarning, stacklevel=3)
        best = _best(self.scores_)
        self.C_ = float(self.Cs_[best])
        return best

    def _judge_of(
        self, problem: Problem, target: Target, y: Any, sample_weight: npt.ArrayLike | None
    ) -> Callable[[Rows], Judge]:
        """What gives the judge of a fold."""
        weight = _checks.weights(sample_weight, problem.n)
        if self.scoring is None:
            return lambda rows: own_judge(problem, weight, rows)
        scorer = get_scorer(self.scoring)
        known = ConstraintSVC().get_params()
        mine = {name: value for name, value in self.get_params().items() if name in known}
        model = ConstraintSVC(**mine | {"calibration": None})
        model.n_features_in_ = problem.X.shape[1]

        def judge_of(rows: Rows) -> Judge:
            X, told = problem.X[rows], targets(y, target, rows)
            weighted = {} if weight is None else {"sample_weight": weight[rows]}

            def judge(sorter: Sorter) -> float:
                model._stand(target, sorter)
                try:
                    return float(scorer(model, X, told, **weighted))
                except AttributeError as error:
                    if "predict_proba" not in str(error):
                        raise
                    raise ValueError(
                        f"scoring={self.scoring!r} asks for probabilities, and only the refit is "
                        "calibrated; search with GridSearchCV over ConstraintSVC(calibration=...)"
                    ) from error

            return judge

        return judge_of

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """By `scoring`, or where that is None as `ConstraintSVC` does.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import ConstraintSVCCV
        >>> X, y = np.tile(np.eye(2), (5, 1)), np.tile([0, 1], 5)
        >>> ConstraintSVCCV(scoring="neg_mean_absolute_error").fit(X, y).score(X, 1 - y)
        -1.0
        """
        if self.scoring is None:
            return super().score(X, y, sample_weight)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(get_scorer(self.scoring)(self, X, y, **weighted))

    @property
    def _verbosity(self) -> int:
        return max(int(self.verbose) - 1, 0)

    def _check_parameters(self) -> None:
        grid(self.Cs)
        _checks.flag("refit", self.refit)
        if self.scoring is not None and not (
            isinstance(self.scoring, str) or callable(self.scoring)
        ):
            raise ValueError(
                f"scoring must be the name of a scorer, a scorer or None, not {self.scoring!r}"
            )
        self._check_settings()

    def _sorter(self) -> Sorter:
        if hasattr(self, "C_") and not hasattr(self, "_table"):
            raise AttributeError(
                f"this {type(self).__name__} was fitted with refit=False: there is a C_, but "
                "nothing to predict with"
            )
        return super()._sorter()


def _best(scores: npt.NDArray[np.float64]) -> int:
    """The place of the smallest C among those with the best mean score."""
    judged = scores[~np.isnan(scores).all(axis=1)]
    mean = judged.sum(axis=0) / max(len(judged), 1)
    if not len(judged) or np.isnan(mean).all():
        raise ValueError("no fold has examples to judge by; C cannot be chosen")
    top = np.nanmax(mean)
    return int(np.flatnonzero(mean >= top - _SAME * max(abs(top), 1.0))[0])
