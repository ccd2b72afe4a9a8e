"""How ConstraintSVC gets where it ends: limits, warm starts, weights of classes, threads."""

import hashlib
import re
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import machines
import numpy as np
import pytest
from machines import CELLS, blobs, certified, fit, stops_short, supervision, text_like
from sklearn.exceptions import ConvergenceWarning
from test_svc_forms import identical, refused

from kesler import Constraints, ConstraintSVC, _core

# ---- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dual", "newton"])
def test_max_iter_warns_of_the_gap_it_leaves(solver):
    X, y = blobs(n=300, spread=0.3)
    with stops_short() as caught:
        model = fit(X, y, C=10.0, tol=1e-9, max_iter=2, solver=solver)
    said = str(caught[0].message)
    assert f"max_iter=2 with a relative duality gap of {model.duality_gap_:.3g}" in said
    assert "tol=1e-09" in said
    assert caught[0].filename == machines.__file__  # where fit was called
    assert model.outcome_.status == "max_iter"
    assert model.n_iter_ == model.outcome_.n_iter == len(model.outcome_.history) == 2
    assert model.duality_gap_ > 1e-9
    certified(model, X, Constraints.from_classes(y))


@pytest.mark.parametrize("solver", ["dual", "newton"])
def test_a_time_budget_ends_it_too(solver):
    X, y = blobs(n=300, spread=0.3)
    with stops_short() as caught:
        model = fit(X, y, C=10.0, tol=1e-12, time_budget=1e-9, solver=solver)
    assert "time_budget=1e-09 with a relative duality gap of" in str(caught[0].message)
    assert (model.outcome_.status, model.n_iter_) == ("time_budget", 1)
    certified(model, X, Constraints.from_classes(y))


def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was():
    X, y = blobs(n=300, spread=0.3)
    model = fit(X, y, tol=0.1).set_params(tol=1e-9, max_iter=1, C=10.0)
    with refused(model, ConvergenceWarning, "duality gap"):
        model.fit(X, y)


def test_what_float32_does_not_resolve_is_called_precision():
    X, y = blobs(n=300, spread=0.3)
    model = fit(X.astype(np.float32), y, tol=1e-13)
    assert model.outcome_.status == "precision"
    assert 1e-13 < model.duality_gap_ < 1e-4
    certified(model, X, Constraints.from_classes(y), rtol=1e-5)
    assert fit(X, y, tol=1e-9).outcome_.status == "converged"


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_the_outcome_tells_the_course(aggregate, loss):
    X, y = blobs(n=150, spread=0.3)
    outcome = (model := fit(X, y, aggregate=aggregate, loss=loss)).outcome_
    assert outcome.status == "converged"
    assert outcome.value == model.duality_gap_ == outcome.history[-1].value <= model.tol
    assert [r.n_iter for r in outcome.history] == list(range(1, model.n_iter_ + 1))
    seconds = [r.seconds for r in outcome.history]
    assert seconds == sorted(seconds)
    # Only the last round may be within the tolerance: an estimate never ends it.
    assert all(r.value > model.tol for r in outcome.history[:-1])
    assert re.search(r"\d+ steps|passes over the data", outcome.note)


# ---- warm starts -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("to", [0.1, 3.0])
def test_a_warm_start_at_another_C(solver, to):
    X, y = blobs(n=400, spread=0.5)
    c = Constraints.from_classes(y)
    cold = fit(X, y, C=to, tol=1e-4, solver=solver)
    model = fit(X, y, C=1.0, tol=1e-4, solver=solver, warm_start=True)
    first = model.outcome_.history[0].value
    model.set_params(C=to).fit(X, y)
    certified(model, X, c)
    assert model.primal_objective_ >= cold.dual_objective_
    assert cold.primal_objective_ >= model.dual_objective_
    assert first > model.outcome_.history[0].value  # it began nearer


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_a_warm_start_where_the_last_fit_ended_has_little_to_do(aggregate, loss):
    for kind, c in supervision(n=40).items():
        if aggregate == "max" and kind.startswith("weighed"):
            continue
        X, _ = blobs(n=40)
        model = fit(X, c, aggregate=aggregate, loss=loss, warm_start=True)
        rounds, dual = model.n_iter_, model.dual_objective_
        model.fit(X, c)
        assert model.n_iter_ == 1, (kind, rounds)
        assert model.dual_objective_ >= dual * (1 - 1e-9)
        certified(model, X, c)


def test_another_y_begins_anew():
    """As it would without a warm start, to the bit; so do other weights and another loss."""
    X, y = blobs(n=100)
    for change, other, weight in (
        ({}, (y + 1) % 4, None),
        ({}, y, np.arange(100) % 3 + 1.0),
        ({"loss": "squared_hinge"}, y, None),
        ({"aggregate": "sum"}, y, None),
        ({}, Constraints.from_classes(y, labels=range(9)), None),
        ({}, np.where(y == 3, 0, y), None),
        ({}, supervision(n=100)["mixed"], None),
    ):
        model = fit(X, y, warm_start=True).set_params(**change)
        model.fit(X, other, sample_weight=weight)
        assert identical(model, fit(X, other, weight, **change))


def test_labels_that_went_are_no_place_for_masses():
    """The same codes of classes, but fewer labels: dual variables of the others fit no more."""
    X, y = blobs(n=100, k=3)
    few, many = (Constraints.from_classes(y, labels=range(k)) for k in (3, 5))
    model = fit(X, many, warm_start=True, C=100.0).fit(X, few)
    assert identical(model, fit(X, few, C=100.0))


def test_a_warm_start_from_other_rows_or_another_type():
    X, y = blobs(n=100)
    model = fit(X, y, warm_start=True, tol=1e-4)
    for other in (X[::-1] * 3, X.astype(np.float32), X[:, :2]):
        model.fit(other, y)
        certified(model, other, Constraints.from_classes(y), rtol=1e-5)
        assert model.outcome_.status == "converged"


# ---- weights of classes ------------------------------------------------------------------------


def test_class_weight_multiplies_sample_weight():
    X, y = blobs(n=90, k=3)
    weight = np.linspace(0.5, 2, 90)
    heavy = {0: 3.0, 1: 0.5}
    by_hand = weight * np.where(y == 0, 3.0, np.where(y == 1, 0.5, 1.0))
    assert identical(fit(X, y, weight, class_weight=heavy), fit(X, y, by_hand))
    balanced = 90 / (3 * np.bincount(y))[y]
    assert identical(fit(X, y, class_weight="balanced"), fit(X, y, balanced))
    with pytest.warns(UserWarning, match="'sun'"):
        assert identical(fit(X, y, class_weight={"sun": 2.0}), fit(X, y, np.ones(90)))


# ---- threads and seeds -------------------------------------------------------------------------


def large(sparse=False):
    """More visits than one thread gets."""
    return text_like(n=6000, k=6) if sparse else blobs(n=6000, d=8, k=5, spread=1.0)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_bits_every_time(n_jobs, sparse):
    X, y = large(sparse)
    settings = {"C": 0.1, "tol": 1e-2, "n_jobs": n_jobs}
    for dtype in (np.float32, np.float64):
        a, b = (fit(X.astype(dtype), y, random_state=4, **settings) for _ in range(2))
        assert identical(a, b)
        assert (a.dual_coef_ != b.dual_coef_).nnz == 0
    assert not identical(a, fit(X, y, random_state=5, **settings))


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_the_same_minimum_for_any_number_of_threads(aggregate, loss):
    X, y = large()
    sets = Constraints.from_labelsets(np.eye(5, dtype=int)[y] | np.eye(5, dtype=int)[(y * 2) % 5])
    for c in (Constraints.from_classes(y), sets):
        models = [
            fit(X, c, C=0.01, aggregate=aggregate, loss=loss, tol=1e-3, n_jobs=n_jobs)
            for n_jobs in (1, 2, 5)
        ]
        best = max(m.dual_objective_ for m in models)
        for model in models:
            assert model.outcome_.status == "converged"
            assert best <= model.primal_objective_ <= best / (1 - 1.1e-3)
    certified(models[-1], X, sets)


def test_newton_on_several_threads():
    X, y = blobs(n=900, d=6, k=4, spread=0.5)
    for n_jobs in (1, 2, 3):
        a, b = (fit(X, y, solver="newton", tol=1e-4, n_jobs=n_jobs) for _ in range(2))
        assert identical(a, b)
        certified(a, X, Constraints.from_classes(y))


def processors_at_work(work):
    """CPU time of all threads over wall time; and the share of the thread that called."""
    wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    work()
    cpu, own = time.process_time() - cpu, time.thread_time() - own
    return cpu / (time.perf_counter() - wall), own / cpu


def hash_on_two_threads():
    """What two threads get of the machine at this moment; hashing holds no lock."""
    data = bytes(1 << 25)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: hashlib.sha256(data).digest(), range(2)))


@pytest.mark.parametrize("solver", ["dual", "newton"])
def test_two_threads_work_at_once(solver):
    """CPU time well above wall time, on a machine that has two processors to give at the moment."""
    X, y = blobs(n=20_000, d=40, k=10, spread=0.3)
    settings = {"tol": 1e-9, "max_iter": 1, "solver": solver, "random_state": 0}

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ConstraintSVC(n_jobs=2, **settings).fit(X, y)

    free = []
    for _ in range(8):
        at_work, own = processors_at_work(work)
        assert own < 0.85  # whatever else the machine does, another thread had its part
        if at_work > 1.3:
            return
        free.append(processors_at_work(hash_on_two_threads)[0])
        if sum(f > 1.8 for f in free) > 4:
            pytest.fail(f"{at_work} processors at work, where {free} were to be had")
    pytest.skip(f"the machine is busy: it had {max(free):.2f} processors for two threads")


def test_a_seed_orders_the_visits():
    X, y = blobs(n=200, spread=0.4)
    one, two = (fit(X, y, tol=1e-2, random_state=seed) for seed in (1, 2))
    assert not identical(one, two)
    drawn = fit(X, y, tol=1e-2, random_state=np.random.RandomState(1))
    assert identical(one, drawn)


def test_every_instruction_set_finds_the_same_minimum():
    X, y = blobs(n=300, d=7, k=6, spread=0.4)
    before = _core.isa()
    try:
        models = []
        for isa in _core.available_isas():
            _core.use_isa(isa)
            models.append(fit(X, y, tol=1e-6))
    finally:
        _core.use_isa(before)
    for model in models:
        assert model.primal_objective_ >= max(m.dual_objective_ for m in models) * (1 - 1e-12)


# ---- no other solver ---------------------------------------------------------------------------

ALONE = """
import sys
import numpy as np
from kesler import Constraints, ConstraintSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = np.arange(40) % 3
c = Constraints.from_rankings(orders=np.argsort(rng.random((40, 3))))

import scipy.optimize
def refuse(*args, **kwargs):
    raise AssertionError("a generic solver was called")
before = set(sys.modules)
for name in ("minimize", "linprog", "milp", "minimize_scalar", "root", "lsq_linear", "nnls"):
    setattr(scipy.optimize, name, refuse)
for solver in ("dual", "newton"):
    ConstraintSVC(solver=solver, random_state=0).fit(X, y)
for aggregate in ("max", "sum"):
    for loss in ("hinge", "squared_hinge"):
        ConstraintSVC(aggregate=aggregate, loss=loss, random_state=0).fit(X, c)
print(*sorted(m.partition(".")[0] for m in set(sys.modules) - before))
print(*sorted(m for m in sys.modules if m.partition(".")[0] in
      ("cvxpy", "osqp", "ecos", "scs", "clarabel", "highspy", "quadprog", "qpsolvers")))
"""


def test_no_generic_solver_is_loaded_or_called():
    """scikit-learn itself loads scipy.optimize, but fit calls nothing of it and loads nothing."""
    out = subprocess.run(
        [sys.executable, "-c", ALONE], check=True, capture_output=True, text=True
    ).stdout
    assert out.split() == []
