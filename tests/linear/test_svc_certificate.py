"""The certificate is computed by code of its own, and what is wrong with a solution shows in it."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import (
    CELLS,
    KINDS,
    as_float32_can,
    blobs,
    cell,
    fit,
    losses,
    scores_of,
    supervision,
    takes,
    weights_of,
)
from twins import pairs_of

from kesler import Constraints
from kesler.linear._machine import Masses, Problem


def problem(X, constraints, aggregate, loss, weight=None, C=0.7, n_threads=1, intercept=True):
    return Problem(X, constraints, weight, C, aggregate, loss, intercept, n_threads, seed=0)


def solved(kind, aggregate, loss, dtype=np.float64):
    X, c, weight, best = cell(kind, aggregate, loss, True)
    X = X.astype(dtype)
    model = fit(X, c, weight, C=0.7, aggregate=aggregate, loss=loss, tol=1e-4)
    return problem(X, c, aggregate, loss, weight), model, best


ALL = [(a, e, kind) for a, e in CELLS for kind in KINDS if takes(a, kind)]


# ---- by another path ---------------------------------------------------------------------------


@pytest.mark.parametrize(("aggregate", "loss", "kind"), ALL)
def test_the_dual_from_dual_coef(aggregate, loss, kind):
    """D = sum of margin * mass - R - |V|^2 / 2, where V = dual_coef_.T @ X; of one hinge no R."""
    machine, model, best = solved(kind, aggregate, loss)
    X = np.column_stack([machine.X, np.ones(machine.n)])
    V = model.dual_coef_.T @ X
    assert model.dual_coef_.shape == (machine.n, len(weights_of(model)))
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-10)
    linear = model.dual_objective_ + (V**2).sum() / 2
    if loss == "hinge" and not machine.constraints.has_margins:
        # Half of what goes up and down in a row is its mass, where no label does both.
        if kind in ("classes", "label sets"):
            assert linear == pytest.approx(abs(model.dual_coef_).sum() / 2, rel=1e-9)
        else:
            assert linear >= abs(model.dual_coef_).sum() / 2 - 1e-9
    for q, row in zip(machine.weight, model.dual_coef_.toarray(), strict=True):
        if q == 0:
            assert not row.any()
        if (aggregate, loss) == ("max", "hinge"):
            assert np.maximum(row, 0).sum() <= 0.7 * q * (1 + 1e-9)
    assert model.dual_objective_ <= best * (1 + 1e-7)


@pytest.mark.parametrize(
    ("solver", "aggregate", "loss", "kind"),
    [("newton", "max", "hinge", "classes"), *(("dual", *how) for how in ALL)],
)
def test_primal_and_dual_weights_certify_each_other(solver, aggregate, loss, kind):
    """gap * P >= |W - V|^2 / 2: `coef_` and `dual_coef_.T @ X` agree to within the certificate."""
    X, c, weight, _ = cell(kind, aggregate, loss, True)
    for tol in (0.2, 1e-2, 1e-5):
        model = fit(X, c, weight, C=0.7, aggregate=aggregate, loss=loss, tol=tol, solver=solver)
        V = model.dual_coef_.T @ np.column_stack([X, np.ones(len(X))])
        apart = ((weights_of(model) - V) ** 2).sum() / 2
        assert apart <= model.duality_gap_ * model.primal_objective_ + 1e-12


@given(
    st.integers(0, 10_000),
    st.sampled_from(CELLS),
    st.sampled_from(["classes", "label sets", "calibrated sets", "tied rankings", "pairs", "fans"]),
    st.booleans(),
)
@settings(max_examples=60)
def test_any_masses_and_any_weights_make_a_true_bound(seed, how, kind, rebuild):
    """Nonsense is put back among what is allowed: D <= P* <= P whatever was given."""
    aggregate, loss = how
    c = supervision(n=8, k=4, seed=seed)[kind]
    rng = np.random.default_rng(seed)
    X = as_float32_can(rng.normal(size=(8, 2)))
    machine = problem(X, c, aggregate, loss, rng.uniform(0, 2, 8))
    model = fit(X, c, machine.weight, C=0.7, aggregate=aggregate, loss=loss)
    masses = model._masses
    wild = rng.normal(scale=10.0 ** rng.integers(-3, 4), size=masses.values.size)
    wild[rng.random(wild.size) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
    table = machine.table()
    table[:, : c.n_labels] = rng.normal(size=(3, c.n_labels))
    found = machine.certify(masses._replace(values=wild), table, rebuild)
    room = 1e-9 * (1 + model.primal_objective_)
    assert found.dual <= model.primal_objective_ + room
    assert found.primal >= model.dual_objective_ - room
    assert np.isfinite(found.primal)


@pytest.mark.parametrize(("aggregate", "loss", "kind"), ALL)
def test_the_primal_of_any_weights(aggregate, loss, kind):
    """Against its definition, at weights that no solver made."""
    X, c, weight, _ = cell(kind, aggregate, loss, True)
    machine = problem(X, c, aggregate, loss, weight)
    nobody = Masses(np.zeros(25, np.int64), np.zeros(0, np.int32), np.zeros(0))
    table = machine.table()
    k = c.n_labels + c.calibrated
    W = np.random.default_rng(3).normal(size=(k, 4))
    table[:, :k] = W.T
    found = machine.certify(nobody, table)
    each, least = losses(scores_of(W, X), c, aggregate, loss)
    assert found.primal == pytest.approx((W**2).sum() / 2 + 0.7 * (weight @ each), rel=1e-12)
    assert found.margin == pytest.approx(least, rel=1e-12)
    assert found.dual == 0


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_the_certificate_does_not_depend_on_threads_or_storage(n_threads):
    for aggregate, loss in CELLS:
        machine, model, _ = solved("mixed", aggregate, loss)
        rows = {"dense": machine.X, "csr": sp.csr_matrix(machine.X)}
        for X in rows.values():
            other = problem(X, machine.constraints, aggregate, loss, machine.weight,
                            n_threads=n_threads)  # fmt: skip
            table = other.table()
            found = other.certify(model._masses, table, rebuild=True)
            assert found.dual == pytest.approx(model.dual_objective_, rel=1e-13)
            assert found.primal == pytest.approx(model.primal_objective_, rel=1e-12)


# ---- what is wrong shows -----------------------------------------------------------------------


@pytest.mark.parametrize(("aggregate", "loss", "kind"), ALL)
def test_a_corrupted_dual_variable_makes_the_gap_grow(aggregate, loss, kind):
    machine, model, best = solved(kind, aggregate, loss)
    masses, table = model._masses, model._table.weights
    sound = machine.certify(masses, table)
    grew = 0
    for at in range(0, masses.values.size, 3):
        for value in (0.0, masses.values[at] / 2, masses.values[at] * 3, -1.0, np.nan):
            values = masses.values.copy()
            values[at] = value
            found = machine.certify(masses._replace(values=values), table)
            assert found.primal == sound.primal  # which knows nothing of masses
            assert found.dual <= best * (1 + 1e-7)
            # The best masses of a last example may be better than those found, by the gap at most.
            assert found.gap >= sound.gap - model.tol
            grew += found.gap > sound.gap + 1e-6
    assert grew >= masses.values.size / 3


@pytest.mark.parametrize(("aggregate", "loss"), CELLS)
def test_corrupted_weights_make_the_gap_grow(aggregate, loss):
    machine, model, _ = solved("mixed", aggregate, loss)
    sound = machine.certify(model._masses, model._table.weights)
    for label in range(4):
        table = model._table.weights.copy()
        table[0, label] += 0.5
        found = machine.certify(model._masses, table)
        assert found.dual == sound.dual
        # P is strongly convex: away from the minimum by half the square of the way, at least.
        assert found.primal >= model.dual_objective_ + (0.5 - np.sqrt(2 * sound.gap)) ** 2 / 2 - 0.1
        assert found.gap > sound.gap


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masses_beyond_the_cap_count_no_more_than_the_cap(dtype):
    """Infeasible duals would promise too much; they are taken for the nearest that are allowed."""
    for kind in ("classes", "label sets", "pairs", "fans"):
        for aggregate in ("max", "sum"):
            machine, model, best = solved(kind, aggregate, "hinge", dtype)
            for factor in (1.5, 10.0, 1e6):
                masses = model._masses._replace(values=model._masses.values * dtype(factor))
                found = machine.certify(masses, machine.table())
                assert found.dual <= best * (1 + 1e-6)


def test_masses_that_belong_to_no_pair_are_noticed():
    X, y = blobs(n=6, k=3)
    machine = problem(X, Constraints.from_classes(y), "max", "hinge")
    indptr = np.arange(7, dtype=np.int64)
    values = np.full(6, 0.1)
    other = ((y + 1) % 3).astype(np.int32)
    machine.certify(Masses(indptr, other, values), machine.table())
    for wrong in (y, np.full(6, 3), np.full(6, -1)):
        with pytest.raises(ValueError, match="example 0 belongs to no pair"):
            machine.certify(Masses(indptr, wrong.astype(np.int32), values), machine.table())
    for broken in (indptr[:-1], indptr + 1, indptr[::-1].copy(), np.array([0, 9, 1, 2, 3, 4, 6])):
        with pytest.raises(ValueError, match="do not fit the examples"):
            machine.certify(Masses(broken, other, values), machine.table())


def test_pairs_of_masses_can_be_counted_by_hand():
    """One example, two pairs: W, P and D on paper."""
    c = Constraints.from_pairs([0, 0], [0, 1], [1, 2], 1, 3, margin=[1.0, 2.0])
    machine = problem(np.array([[2.0]]), c, "sum", "hinge", C=1.0, intercept=False)
    masses = Masses(np.array([0, 2]), np.array([0, 1], np.int32), np.array([0.25, 0.5]))
    table = machine.table()
    found = machine.certify(masses, table, rebuild=True)
    assert table[0, :3].tolist() == [0.5, 0.5, -1.0]
    assert found.dual == 0.25 * 1 + 0.5 * 2 - (0.25 + 0.25 + 1) / 2
    assert found.primal == (0.25 + 0.25 + 1) / 2 + max(0, 1 - 0) + max(0, 2 - 3)
    assert found.margin == 0.0
    assert pairs_of(c)[0][1] == (1, 2, 2.0, 1.0)
