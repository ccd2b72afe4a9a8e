"""A path of C: every stop is a certified solution, whatever it began from."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kesler import Constraints, ConstraintSVC
from kesler.linear import regularization_path

N, D, K = 60, 6, 4


def examples(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=(D, K)) + rng.normal(size=(N, K))


def supervision(name: str, scores: Any) -> Any:
    order = np.argsort(-scores, axis=1)
    if name == "classes":
        return order[:, 0]
    if name == "two classes":
        return np.where(scores[:, 0] > 0, "yes", "no")
    if name == "indicator":
        return (scores > 0).astype(int)
    if name == "sets":
        return Constraints.from_labelsets(scores > 0.5)
    if name == "rankings":
        return Constraints.from_rankings(orders=order)
    if name == "costs":
        cost = np.arange(K * K, dtype=float).reshape(K, K) / K
        return Constraints.from_classes(order[:, 0], margin=cost)
    pairs = Constraints.from_pairs(
        np.arange(N), order[:, 0], order[:, -1], N, K, margin=np.linspace(0.5, 2, N)
    )
    if name == "pairs":
        return pairs
    half = Constraints.from_rankings(orders=order)[: N // 2]
    return Constraints.concatenate([half, pairs[N // 2 :]])


KINDS = ["classes", "two classes", "indicator", "sets", "rankings", "costs", "pairs", "mixed"]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("aggregate", ["max", "sum"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_stop_is_as_good_as_a_fit_of_its_own(kind: str, aggregate: str, loss: str) -> None:
    X, scores = examples()
    y = supervision(kind, scores)
    settings: dict[str, Any] = {"aggregate": aggregate, "loss": loss, "random_state": 0}
    path = regularization_path(X, y, Cs=[1.0, 0.01, 0.1, 0.01], **settings)
    assert path.Cs.tolist() == [0.01, 0.1, 1.0]
    for c, C in enumerate(path.Cs):
        cold = ConstraintSVC(C=C, **settings).fit(X, y)
        # The optimum lies between every dual and every primal objective.
        assert path.dual_objectives[c] <= cold.primal_objective_ * (1 + 1e-9)
        assert cold.dual_objective_ <= path.primal_objectives[c] * (1 + 1e-9)
        assert path.gaps[c] <= 1e-3
        assert path.coefs[c].shape == cold.coef_.shape
        assert path.intercepts[c].shape == cold.intercept_.shape
        assert path.classes.tolist() == cold.classes_.tolist()
    # A larger C weighs the losses more: the smallest objective rises, that of one unit of C falls.
    assert np.all(np.diff(path.primal_objectives) > 0)
    assert np.all(np.diff(path.dual_objectives / path.Cs) < 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_storage_and_weights(sparse: bool, dtype: type) -> None:
    X, scores = examples(1)
    X = sp.csr_matrix(X.astype(dtype)) if sparse else X.astype(dtype)
    y = supervision("classes", scores)
    weight = np.arange(N) % 3
    path = regularization_path(X, y, Cs=[0.03, 0.3], sample_weight=weight, random_state=0)
    assert path.coefs.dtype == dtype
    again = np.repeat(np.arange(N), weight)
    copies = regularization_path(X[again], y[again], Cs=[0.03, 0.3], random_state=0)
    assert np.allclose(path.primal_objectives, copies.primal_objectives, rtol=2e-3)


def test_coefficients_are_those_of_the_objective() -> None:
    X, scores = examples(2)
    y = supervision("classes", scores)
    path = regularization_path(X, y, Cs=[0.5, 5.0], random_state=0)
    for c, C in enumerate(path.Cs):
        W, b = path.coefs[c], path.intercepts[c]
        s = X @ W.T + b
        own = s[np.arange(N), y]
        s[np.arange(N), y] -= 1
        primal = (np.sum(W**2) + np.sum(b**2)) / 2 + C * np.sum(1 + s.max(axis=1) - own)
        assert path.primal_objectives[c] == pytest.approx(primal, rel=1e-9)


def test_by_default_ten_values_are_tried() -> None:
    path = regularization_path(np.eye(6), np.arange(6) % 3, random_state=0)
    assert np.allclose(path.Cs, np.logspace(-3, 2, 10))
    assert len(path.outcomes) == path.n_iter.size == path.gaps.size == 10
    assert [o.n_iter for o in path.outcomes] == path.n_iter.tolist()


def test_a_path_begins_each_fit_where_the_last_one_ended() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(400, 8)), rng.integers(5, size=400)
    Cs = np.logspace(-1, 1, 9)
    warm = regularization_path(X, y, Cs, random_state=0).n_iter[1:].sum()
    cold = sum(ConstraintSVC(C=C, random_state=0).fit(X, y).n_iter_ for C in Cs[1:])
    assert warm < cold


def test_the_same_seed_gives_the_same_bits() -> None:
    X, scores = examples(3)
    y = supervision("classes", scores)
    one, two = (regularization_path(X, y, Cs=4, random_state=7) for _ in range(2))
    assert np.array_equal(one.coefs, two.coefs)


def test_a_limit_is_told_once() -> None:
    X, scores = examples()
    y = supervision("classes", scores)
    with pytest.warns(ConvergenceWarning, match=r"2 of 2 fits stopped short \(max_iter\)") as told:
        path = regularization_path(X, y, Cs=[10.0, 100.0], tol=1e-9, max_iter=1, random_state=0)
    assert len(told) == 1
    assert [o.status for o in path.outcomes] == ["max_iter"] * 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Cs": 0}, "Cs must be an integer, 1 or more, not 0"),
        ({"Cs": []}, "one at least"),
        ({"Cs": [[1.0]]}, r"shape \(1, 1\)"),
        ({"Cs": 2.5}, r"shape \(\)"),
        ({"Cs": "many"}, "not 'many'"),
        ({"Cs": True}, "Cs must be an integer"),
        ({"Cs": [1.0, 0.0]}, r"Cs\[1\] must be a number above 0"),
        ({"Cs": [np.inf]}, r"Cs\[0\] must be a number above 0"),
        ({"Cs": [np.nan]}, r"Cs\[0\]"),
        ({"aggregate": "mean"}, "aggregate must be one of"),
        ({"loss": "log"}, "loss must be one of"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"time_budget": -1.0}, "time_budget must be"),
        ({"solver": "primal"}, "solver must be one of"),
        ({"fit_intercept": 1}, "fit_intercept must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"verbose": -1}, "verbose must be"),
        ({"class_weight": "even"}, "class_weight must be"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 entries"),
    ],
)
def test_parameters_are_checked(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regularization_path(np.eye(3), [0, 1, 2], **changed)


def test_progress_is_shown_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, scores = examples()
    from kesler.linear import path

    slow = path.Progress
    monkeypatch.setattr(path, "Progress", lambda *a: slow(*a, delay=0.0))
    regularization_path(X, supervision("classes", scores), Cs=[2.0], random_state=0)
    assert capsys.readouterr().err == ""
    regularization_path(X, supervision("classes", scores), Cs=[2.0], verbose=1, random_state=0)
    assert "regularization_path [####" in capsys.readouterr().err
