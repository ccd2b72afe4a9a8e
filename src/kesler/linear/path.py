"""What the constraint machine learns for a row of values of C."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from kesler._driver import Outcome
from kesler._progress import Progress
from kesler.linear._path import along, grid, unfinished
from kesler.linear._sorter import FloatArray
from kesler.linear.svc import ConstraintSVC

__all__ = ["RegularizationPath", "regularization_path"]


@dataclass(frozen=True)
class RegularizationPath:
    """What `regularization_path` found; entry c of everything belongs to ``Cs[c]``.

    Attributes
    ----------
    Cs : ndarray, shape (n_Cs,)
        In ascending order.
    classes : ndarray, shape (n_labels,)
        The labels, sorted.
    coefs : ndarray, shape (n_Cs, n_labels, n_features), or (n_Cs, 1, n_features) for two classes
    intercepts : ndarray, shape (n_Cs, n_labels) or (n_Cs, 1)
    primal_objectives, dual_objectives, gaps : ndarray, shape (n_Cs,)
        The certificate of each, in float64 over all examples, as in `kesler.ConstraintSVC`.
    n_iter : ndarray of int, shape (n_Cs,)
    outcomes : tuple of Outcome
        Why each fit stopped, and how it got there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kesler.linear import regularization_path
    >>> path = regularization_path(*load_iris(return_X_y=True), Cs=[0.1, 1.0], random_state=0)
    >>> path.coefs.shape, path.intercepts.shape, [o.status for o in path.outcomes]
    ((2, 3, 4), (2, 3), ['converged', 'converged'])
    """

    Cs: npt.NDArray[np.float64]
    classes: npt.NDArray[Any]
    coefs: FloatArray
    intercepts: FloatArray
    primal_objectives: npt.NDArray[np.float64]
    dual_objectives: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]
    n_iter: npt.NDArray[np.int64]
    outcomes: tuple[Outcome, ...]


def regularization_path(
    X: Any,
    y: Any,
    Cs: Any = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    aggregate: str = "max",
    loss: str = "hinge",
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 1000,
    time_budget: float | None = None,
    solver: str = "auto",
    n_jobs: int | None = None,
    class_weight: dict[Any, float] | str | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> RegularizationPath:
    """Fit `kesler.ConstraintSVC` for a row of values of C, each from the solution before.

    X and y are read and checked once, and the dual variables of one C are where the next begins, so
    that a path costs less than its fits one by one.

    Parameters
    ----------
    X : array-like or sparse matrix, shape (n_samples, n_features)
    y : array-like of classes, indicator of label sets (n_samples, n_labels), or Constraints
    Cs : int or array-like of float, default=None
        The values of C, in any order, or how many of them from 1e-3 to 1e2; None is 10.
    sample_weight : array-like, shape (n_samples,), optional
    aggregate, loss, fit_intercept, tol, solver, n_jobs, class_weight, random_state
        As in `kesler.ConstraintSVC`.
    max_iter, time_budget
        Of each fit.
    verbose : int, default=0
        1 shows how much of the path is done, 2 also each fit.

    Returns
    -------
    RegularizationPath

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kesler.linear import regularization_path
    >>> path = regularization_path(*load_iris(return_X_y=True), random_state=0)
    >>> path.Cs.size, bool((path.gaps <= 1e-3).all())
    (10, True)
    """
    model = ConstraintSVC(
        aggregate=aggregate,
        loss=loss,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        time_budget=time_budget,
        solver=solver,
        n_jobs=n_jobs,
        class_weight=class_weight,
        random_state=random_state,
        verbose=verbose,
    )
    model._check_parameters()
    values = grid(Cs)
    model.verbose = max(int(verbose) - 1, 0)
    problem, target = model._problem(X, y, sample_weight, values[0])
    coefs: list[FloatArray] = []
    intercepts: list[FloatArray] = []
    certified = np.empty((values.size, 3))
    outcomes: list[Outcome] = []
    progress = Progress("regularization_path", values.size) if verbose else None
    try:
        for c, stop in enumerate(along(problem, values, model._solve)):
            model._stand(target, problem.sorter(stop.solution.table))
            coefs.append(model.coef_.copy())
            intercepts.append(model.intercept_)
            found = stop.solution.certified
            certified[c] = found.primal, found.dual, found.gap
            outcomes.append(stop.outcome)
            if progress is not None:
                progress.update(c + 1, f"C={values[c]:.3g}")
    finally:
        if progress is not None:
            progress.close()
    if said := unfinished(outcomes):
        warnings.warn(f"regularization_path: {said}", ConvergenceWarning, stacklevel=2)
    return RegularizationPath(
        Cs=values,
        classes=target.constraints.labels,
        coefs=np.stack(coefs),
        intercepts=np.stack(intercepts),
        primal_objectives=certified[:, 0].copy(),
        dual_objectives=certified[:, 1].copy(),
        gaps=certified[:, 2].copy(),
        n_iter=np.array([o.n_iter for o in outcomes], dtype=np.int64),
        outcomes=tuple(outcomes),
    )
