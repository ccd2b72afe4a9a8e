"""The solvers that `svc.py` compares, each behind the same three functions.

A contender is prepared with the data in the form that it reads (not timed); `fit` is what is timed.
What it cannot import it raises as ImportError, which the caller turns into a line of the report.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import _sets
import _svc_objective
from _svc_objective import expansion, weights_of_expansion


class Contender(NamedTuple):
    """A solver with its data: what is timed, and what can be read off its model.

    `weights` gives the table (k, d) and the intercepts (k,), where the model minimises the
    objective of the comparison; `accuracy` the share of test rows whose class is right.
    """

    fit: Callable[[], Any]
    weights: Callable[[Any], tuple[np.ndarray, np.ndarray]] | None = None
    accuracy: Callable[[Any], float] | None = None


def kesler(data: _sets.Split, **settings: Any) -> Contender:
    """`ConstraintSVC`; `dtype` is that of the rows."""
    from kesler import ConstraintSVC

    def fit() -> Any:
        return ConstraintSVC(random_state=0, **settings).fit(data.X, wanted)

    wanted = _svc_objective.target(data)
    return Contender(fit, lambda model: (model.coef_, model.intercept_), _accuracy_of(data))


def liblinear(data: _sets.Split, solver: int, eps: float | None, C: float) -> Contender:
    """LIBLINEAR through its own Python interface, with the problem built beforehand."""
    from liblinear.liblinearutil import parameter, problem, train

    built = problem(data.y, sp.csr_matrix(data.X, dtype=np.float64))
    told = f"-s {solver} -B 1 -c {C} -q" + (f" -e {eps}" if eps is not None else "")

    def table(model: Any) -> tuple[np.ndarray, np.ndarray]:
        k, d = model.nr_class, model.nr_feature
        stored = np.ctypeslib.as_array(model.w, (k * (d + 1),)).reshape(d + 1, k)
        weights = np.empty_like(stored)
        weights[:, np.array(model.label[:k])] = stored
        return np.ascontiguousarray(weights[:-1].T), weights[-1]

    def accuracy(model: Any) -> float:
        return _share(data, *table(model))

    return Contender(
        lambda: train(built, parameter(told)), table if solver == 4 else None, accuracy
    )


def crammer_singer(data: _sets.Split, tol: float, C: float, max_iter: int = 10**6) -> Contender:
    """scikit-learn's LIBLINEAR on the multi-class problem."""
    from sklearn.svm import LinearSVC

    def fit() -> Any:
        model = LinearSVC(
            multi_class="crammer_singer",
            C=C,
            tol=tol,
            intercept_scaling=1,
            max_iter=max_iter,
            random_state=0,
        )
        return model.fit(data.X, data.y)

    return Contender(fit, lambda model: (model.coef_, model.intercept_), _accuracy_of(data))


def expanded(data: _sets.Split, loss: str, tol: float, C: float) -> Contender:
    """scikit-learn's LIBLINEAR for two classes on the rows of all pairs."""
    from sklearn.svm import LinearSVC

    Z, sign = expansion(data)

    def fit() -> Any:
        model = LinearSVC(
            loss=loss,
            dual=True,
            fit_intercept=False,
            C=C,
            tol=tol,
            max_iter=10**6,
            random_state=0,
        )
        return model.fit(Z, sign)

    return Contender(fit, lambda model: weights_of_expansion(model.coef_, data.n_labels))


def sgd(data: _sets.Split, C: float) -> Contender:
    """One-vs-rest by stochastic gradient descent; alpha makes it the problem of C."""
    from sklearn.linear_model import SGDClassifier

    def fit() -> Any:
        alpha = 1.0 / (C * data.y.size)
        return SGDClassifier(loss="hinge", alpha=alpha, random_state=0).fit(data.X, data.y)

    return Contender(fit, None, _accuracy_of(data))


def snapml(data: _sets.Split, model: str, C: float) -> Contender:
    """Snap ML, one-vs-rest."""
    import snapml as snap

    made = getattr(snap, model)
    y = data.y.astype(np.float64)

    def fit() -> Any:
        settings = {"regularizer": 1.0 / C, "fit_intercept": True, "n_jobs": 1, "random_state": 0}
        fitted = made(**settings)
        fitted.fit(data.X, y)
        return fitted

    return Contender(fit, None, _accuracy_of(data))


def vowpal_wabbit(data: _sets.Split, options: str) -> Contender:
    """Vowpal Wabbit one-vs-all, reading its binary cache."""
    import vowpalwabbit  # noqa: F401 - missing it shall show before the files are written

    from online import vowpal_wabbit as learner

    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    fit, accuracy = learner(data, folder.name, options)
    return Contender(fit, None, accuracy)


CONTENDERS: dict[str, Callable[..., Contender]] = {
    "kesler": kesler,
    "liblinear": liblinear,
    "crammer_singer": crammer_singer,
    "expanded": expanded,
    "sgd": sgd,
    "snapml": snapml,
    "vowpal_wabbit": vowpal_wabbit,
}


def _accuracy_of(data: _sets.Split) -> Callable[[Any], float] | None:
    if data.kind != "class" or not data.y_test.size:
        return None
    return lambda model: float(np.mean(np.asarray(model.predict(data.X_test)) == data.y_test))


def _share(data: _sets.Split, W: np.ndarray, b: np.ndarray) -> float:
    scores = np.asarray(data.X_test @ W.T.astype(data.X_test.dtype)) + b
    return float(np.mean(scores.argmax(axis=1) == data.y_test))
