"""ConstraintSVC and the shapes of data: read in place, answered rightly, or refused by name."""

import pickle
import tracemalloc
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from machines import CELLS, as_float32_can, blobs, certified, fit, supervision, text_like
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kesler import Constraints, ConstraintSVC


def state(model):
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


@contextmanager
def refused(model, error, match):
    before = state(model)
    with pytest.raises(error, match=match):
        yield
    assert state(model) == before


def identical(a, b):
    return (
        np.array_equal(a.coef_, b.coef_)
        and np.array_equal(a.intercept_, b.intercept_)
        and a.primal_objective_ == b.primal_objective_
        and a.dual_objective_ == b.dual_objective_
    )


# ---- storage -----------------------------------------------------------------------------------


def strided(X):
    room = np.full((2 * X.shape[0], 2 * X.shape[1]), np.nan, dtype=X.dtype)
    room[::2, ::2] = X
    return room[::2, ::2]


def mapped(X, path):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode="r")


def read_only(X):
    X = X.copy()
    for a in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        a.flags.writeable = False
    return X


def with_indices(X, kind):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["dual", "newton"])
def test_dense_storage_makes_no_difference(tmp_path, solver, dtype):
    X, y = blobs(n=80)
    X = X.astype(dtype)
    plain = fit(X, y, solver=solver, tol=1e-4)
    assert plain.coef_.dtype == dtype
    for other in (np.asfortranarray(X), strided(X), read_only(X), mapped(X, tmp_path)):
        assert identical(plain, fit(other, y, solver=solver, tol=1e-4))
    if dtype == np.float64:
        assert identical(plain, fit(X.astype(">f8"), y, solver=solver, tol=1e-4))
    odd = np.frombuffer(b"." + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape)
    assert identical(plain, fit(odd, y, solver=solver, tol=1e-4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_storage_makes_no_difference(dtype):
    X, y = text_like()
    X = X.astype(dtype)
    plain = fit(X, y, tol=1e-4)
    shuffled = X.copy()
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        shuffled.indices[row] = X.indices[row][::-1]
        shuffled.data[row] = X.data[row][::-1]
    shuffled.has_sorted_indices = False
    shuffled.has_canonical_format = False
    forms = [with_indices(X, np.int32), with_indices(X, np.int64), read_only(X), sp.csr_array(X)]
    for other in (*forms, sp.csc_matrix(X), sp.coo_matrix(X), shuffled):
        assert identical(plain, fit(other, y, tol=1e-4))
    before = X.copy()
    fit(X, y, tol=1e-4)
    assert abs(X - before).nnz == 0


@pytest.mark.parametrize("kind", ["classes", "label sets", "mixed"])
@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_dense_and_sparse_meet(aggregate, loss, kind):
    c = supervision(n=40)[kind]
    X, _ = blobs(n=40, d=6)
    X[np.abs(X) < 0.7] = 0
    dense, sparse = (
        fit(form(X), c, aggregate=aggregate, loss=loss) for form in (np.asarray, sp.csr_matrix)
    )
    assert dense.primal_objective_ >= sparse.dual_objective_ * (1 - 1e-12)
    assert sparse.primal_objective_ >= dense.dual_objective_ * (1 - 1e-12)


def test_integers_and_lists_are_numbers():
    X, y = np.arange(24).reshape(8, 3) % 5, [0, 1, 2, 0, 1, 2, 0, 1]
    assert identical(fit(X, y), fit(X.astype(float).tolist(), np.array(y)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["dense", "csr32", "csr64", "map"])
def test_X_is_not_copied(form, dtype, tmp_path):
    """Beyond the weights and a few numbers an example, nothing is allocated."""
    n, d = 600, 800
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    if form == "map":
        X = mapped(X, tmp_path)
    elif form != "dense":
        X = with_indices(X, np.int32 if form == "csr32" else np.int64)
    y = np.arange(n) % 3
    model = ConstraintSVC(tol=0.1, random_state=0)
    model.fit(X[:6], y[:6])  # what is imported late is no part of this
    tracemalloc.start()
    try:
        model.fit(X, y)
        predicted = model.predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert predicted.shape == (n,)
    size = X.nbytes if not sp.issparse(X) else X.data.nbytes
    assert peak < size / 2


# ---- edges -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_one_class_one_example_no_feature(aggregate, loss):
    X, y = blobs(n=20, k=3)
    model = fit(X, ["only"] * 20, aggregate=aggregate, loss=loss)
    assert not model.coef_.any()
    assert (model.primal_objective_, model.duality_gap_, model.margin_) == (0.0, 0.0, np.inf)
    assert set(model.predict(X)) == {"only"}
    assert model.dual_coef_.shape == (20, 1)

    model = fit(X[:1], [7], aggregate=aggregate, loss=loss)
    assert model.predict(X).tolist() == [7] * 20
    three = Constraints.from_classes([1], labels=range(3))
    model = fit(X[:1], three, aggregate=aggregate, loss=loss)
    certified(model, X[:1], three)
    assert model.predict(X[:1]).tolist() == [1]

    with refused(ConstraintSVC(), ValueError, "0 feature"):
        ConstraintSVC().fit(X[:, :0], y)
    model = fit(sp.csr_matrix((20, 1)), y, aggregate=aggregate, loss=loss)
    certified(model, np.zeros((20, 1)), Constraints.from_classes(y))
    assert not model.coef_.any()


def test_one_class_under_every_solver():
    X, _ = blobs(n=20)
    for solver in ("auto", "dual", "newton"):
        model = fit(X, ["only"] * 20, solver=solver)
        assert model.outcome_.status == "converged"
        assert model.primal_objective_ == 0
    only = Constraints.from_classes([1] * 20, labels=range(3))  # others are known, none is seen
    found = [fit(X, only, solver=solver).primal_objective_ for solver in ("dual", "newton")]
    assert found[0] == pytest.approx(found[1], rel=1e-5)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_examples_that_say_nothing(aggregate, loss):
    X, _ = blobs(n=12)
    for c in (
        Constraints.from_labelsets([[]] * 12, labels=["a", "b"]),
        Constraints.from_labelsets([["a", "b"]] * 12, labels=["a", "b"]),
        Constraints.from_rankings(orders=[["a"]] * 12, labels=["a", "b"]),
        Constraints.from_pairs([], [], [], 12, ["a", "b"]),
    ):
        model = fit(X, c, aggregate=aggregate, loss=loss)
        assert not model.coef_.any()
        assert (model.duality_gap_, model.margin_) == (0.0, np.inf)
        assert model.outcome_.status == "converged"
        assert model.dual_coef_.nnz == 0


def test_empty_and_broken_X_are_refused():
    X, y = blobs(n=12)
    model = fit(X, y)
    for bad, match in (
        (X[:0], "0 sample"),
        (sp.csr_matrix(X)[:0], "0 sample"),
        (np.where(X > 1, np.nan, X), "NaN"),
        (np.where(X > 1, np.inf, X), "infinity"),
        (sp.csr_matrix(np.where(X > 1, np.nan, X)), "NaN"),
        ([[1.0], [1.0, 2.0]], "inhomogeneous|sequence"),
        (X[0], "2D array|dimension"),
        (X + 1j, "Complex"),
    ):
        with refused(model, ValueError, match):
            model.fit(bad, y[:0] if match == "0 sample" else y)
    corrupt = sp.csr_matrix(X)
    corrupt.indices[3] = 99
    with refused(model, ValueError, "corrupt"):
        model.fit(corrupt, y)


def test_y_and_weights_that_do_not_fit_are_refused():
    X, y = blobs(n=12)
    model = fit(X, y)
    for bad, match in (
        (None, "y"),
        (y[:5], "12 examples"),
        (np.linspace(0, 1, 12), "continuous"),
        ([[0], [1, 2]] * 6, "Constraints"),
        (Constraints.from_pairs([], [], [], 12, []), "no label"),
    ):
        with refused(model, ValueError, match):
            model.fit(X, bad)
    for bad, match in (
        (np.ones(5), "5 entries"),
        (-np.ones(12), "0 or more"),
        (np.full(12, np.nan), "finite"),
        (np.zeros(12), "zero"),
    ):
        with refused(model, ValueError, match):
            model.fit(X, y, sample_weight=bad)
    weighed = supervision(n=12)["weighed pairs"]
    with refused(model, ValueError, "no place for weights of pairs"):
        model.fit(X, weighed)
    with refused(clone(model).set_params(class_weight="balanced"), ValueError, "for classes"):
        clone(model).set_params(class_weight="balanced").fit(X, weighed.closure())


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("C", [0, -1, np.inf, np.nan, "1", None]),
        ("aggregate", ["mean", None]),
        ("loss", ["log", None]),
        ("solver", ["lbfgs", None]),
        ("fit_intercept", ["yes", None, 1]),
        ("tol", [0, -1, np.inf]),
        ("max_iter", [0, 1.5, None]),
        ("time_budget", [0, "1"]),
        ("calibration", [1, 0, 0.0, 1.0, -3, "cv"]),
        ("n_jobs", [0, 1.5]),
        ("warm_start", [None, 2]),
        ("class_weight", ["heavy", {0: -1.0}]),
        ("verbose", [-1, 0.5]),
    ],
)
def test_parameters_are_checked_at_the_door(name, values):
    X, y = blobs(n=12)
    for value in values:
        model = fit(X, y).set_params(**{name: value})
        with refused(model, ValueError, "hard margin" if value == np.inf and name == "C" else name):
            model.fit(X, y)


# ---- size of numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_of_any_size_are_learned_or_refused(dtype, aggregate, loss):
    """A right answer or a clear error, never a wrong one that calls itself converged."""
    X, y = blobs(n=30, k=3)
    c = Constraints.from_classes(y)
    for exponent in (-44, -30, -12, -4, 4, 12, 18, 30, 37):
        scaled = as_float32_can(X).astype(dtype) * dtype(10.0**exponent)
        model = ConstraintSVC(aggregate=aggregate, loss=loss, random_state=0, time_budget=0.2,
                              max_iter=50)  # fmt: skip
        with np.errstate(all="ignore"):
            learned_or_refused(model, scaled, c)


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_C_and_any_weight_is_learned_or_refused(dtype, aggregate, loss):
    X, y = blobs(n=30, k=3)
    c = Constraints.from_classes(y)
    for exponent in (-300, -50, -20, -6, 6, 20, 50, 300):
        model = ConstraintSVC(10.0**exponent, aggregate=aggregate, loss=loss, random_state=0,
                              time_budget=0.2, max_iter=50)  # fmt: skip
        learned_or_refused(model, X.astype(dtype), c)
        weight = np.ones(30)
        weight[:3] = 10.0**exponent
        learned_or_refused(model.set_params(C=1.0), X.astype(dtype), c, weight)


def learned_or_refused(model, X, c, weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, c, sample_weight=weight)
        except ValueError as error:
            assert "overflow" in str(error) or "too " in str(error)
            return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite([model.primal_objective_, model.dual_objective_]).all()
    assert model.dual_objective_ <= model.primal_objective_ * (1 + 1e-9)
    if model.C <= 1e12:  # beyond it the last bit of a score is worth more than the objective
        certified(model, X.astype(np.float64), c, weight, rtol=1e-3)
