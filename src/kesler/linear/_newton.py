"""The augmented-Lagrangian semismooth Newton method as a `Step` of the driver.

For Crammer and Singer's problem (2001, section 3) on dense X. The worst loss of an example, the
largest p.l over the unit simplex, is smoothed by (w / 2) |p - c|^2; Newton's method minimises the
smooth problem, the centres c move to where the p are, the width w shrinks. Every p is feasible in
the dual, so each round has a duality gap. The passes over the rows are the core's
(native/newton.hpp); what has the size of the weights is NumPy's and LAPACK's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from kesler import _core
from kesler._driver import Sweep
from kesler.linear._machine import Certified, Masses, Problem, Solution, Start
from kesler.linear._sorter import FloatArray, aligned_zeros, as_rows

Table = npt.NDArray[np.float64]

DIRECT = 1500  # unknowns up to which the Hessian is factored
_LEAST = 0.01  # the last width
_REACH = 1.2  # difference of losses beyond which a row is left out, at first
_STEPS = 12  # of Newton's method, for one width and one set of centres
_INDIRECT = 6  # of them where the Hessian is too large to be factored, as long as that will do
_WARM = 0.1  # width to begin with from dual variables
_SHORT = 0.05  # a step of this part of Newton's own tells of rows that are far out
_ROUNDS = 4  # certificates that bring nothing, until it is the precision that ends it
_PAIRS = 20_000  # pairs of carriers, beyond which rows are sampled for the Hessian
_NOTHING = 1e-15  # of the loss
_DAMPINGS = (0.0, 1e-7, 1e-5, 1e-3)
_SAMPLE = 4000  # rows for the preconditioner
_STALE = 1.5  # times as much or as little as it was made for, at which it is made anew
_ROWS = 10_000  # rows for a product with the Hessian that is not factored
_CONJUGATES, _PRECISE = 20, 0.3  # steps of conjugate gradients, what they leave of the gradient


class Schedule(NamedTuple):
    """How the width falls.

    Attributes
    ----------
    stages : dict
        One row of so many stands for all, at these widths; the last is the first of all rows.
    shrink : float
        Part of the width that is left after each round.
    enough : float
        What part of what smoothing costs a step of the first rounds must promise.
    near : float
        How many times what smoothing costs must fit into the tolerance before the dual is asked to
        be as near.
    """

    stages: dict[int, float]
    shrink: float
    enough: float
    near: float


FACTORED = Schedule({16: 1.0, 4: 0.5, 1: 0.3}, 0.5, 0.1, 1.0)
# Where the Hessian is not factored it is as hard to solve with as the width is small: the width
# starts large and falls slowly, and the centres do the rest.
ITERATED = Schedule({16: 2.0, 4: 2.0, 1: 2.0}, 0.9, 0.3, 3.0)


class Newton:
    """Rounds of Newton's method, each at a smaller width than the one before."""

    def __init__(self, problem: Problem, tol: float, start: Start | None = None) -> None:
        self._problem = problem
        self._target = tol
        self._tol = tol
        self._k = problem.constraints.n_labels
        make = _core.Newton32 if problem.X.dtype == np.float32 else _core.Newton64
        self._core = make(
            as_rows(problem.X),
            problem.constraints._native(),
            problem.lanes,
            problem.intercept,
            problem.n_threads,
        )
        weight = problem.weight
        self._rows = np.arange(problem.n) if weight is None else np.flatnonzero(weight)
        self._table = problem.table()
        shape = self._table.shape
        self._W: Table = np.zeros(shape)
        self._V: Table = np.zeros(shape)
        self._linear: Table = np.zeros(shape)
        self._direction = aligned_zeros(shape, problem.X.dtype)
        self._size = shape[0] * self._k
        self._schedule = FACTORED if self.direct else ITERATED
        self._inverse, self._inverse_size = np.zeros((0, 0), dtype=np.float32), -math.inf
        self._dual = self._smoothing = math.nan
        self._width = 0.0
        self._stalled = 0
        self._best_gap = math.inf
        self._kept: tuple[float, Table] = (math.inf, self._W)
        self._certified: Certified | None = None
        self._report: Callable[[int], None] | None = None
        self.steps = 0
        self.short = False  # whether the last step was
        if start is not None:
            self._place(start)

    @property
    def sweep_size(self) -> int:
        return self._problem.n

    @property
    def note(self) -> str:
        """What was done, in words."""
        return f"Newton: {self.steps} steps, the last at a width of {self._width:.3g}"

    def sweep(self, report: Callable[[int], None] | None) -> Sweep:
        self._certified = None
        self._report = report
        if self.steps == 0 and self._gap() <= self._tol:
            return Sweep(self.solution().certified.gap)  # where it began is good enough
        with np.errstate(all="ignore"):  # what is no number is found out below
            if self._width == 0:
                self._begin()
            else:
                self._round()
        gap = self._gap()
        if gap > self._target:  # only the certificate may end it
            return Sweep(max(gap, float(np.nextafter(self._tol, np.inf))))
        certified = self.solution().certified
        if certified.gap > self._tol:
            # The estimate was too good by rounding: ask for less.
            self._target = max(0.5 * self._target, self._target - (certified.gap - gap))
            self._stalled += certified.gap > 0.95 * self._best_gap
            self._best_gap = min(self._best_gap, certified.gap)
            if self._stalled >= _ROUNDS:
                return Sweep(certified.gap, "precision")
        return Sweep(certified.gap)

    def solution(self) -> Solution:
        """Where the rounds stand, certified."""
        masses = self._masses()
        if self._certified is None:
            self._certified = self._problem.certify(masses, self.weights)
        return Solution(self._table, masses, self._certified)

    def _masses(self) -> Masses:
        """The dual variables; those of examples that do not count are none."""
        indptr, keys, values = self._core.masses()
        counts = np.zeros(self._problem.n, dtype=np.int64)
        counts[self._rows] = np.diff(indptr)
        return Masses(np.concatenate(([0], np.cumsum(counts))), keys, values)

    @property
    def direct(self) -> bool:
        """Whether the Hessian is factored."""
        return bool(self._size <= DIRECT)

    @property
    def passes(self) -> float:
        """About how many passes over the data its steps were worth."""
        solving = 0.1 * self._size**2 / self._problem.n if self.direct else 2 * _CONJUGATES
        return self.steps * (5 + solving)

    @property
    def primal(self) -> float:
        """The least objective seen over all rows."""
        return self._kept[0]

    @property
    def weights(self) -> FloatArray:
        """The weights that have it."""
        self._table[...] = self._kept[1]
        return self._table

    def _gap(self) -> float:
        primal = self._kept[0]
        return (primal - self._dual) / primal if primal > 0 else 0.0

    # --- rounds -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """The first weights come from parts of the rows, whose count stands for all."""
        n = self._rows.size
        order = np.random.default_rng(self._problem.seed).permutation(self._rows)
        for part in (16, 4) if n >= 10_000 else (4,):
            if n // part >= 8 * self._k:
                self._pick(np.sort(order[: n // part]))
                self._split(math.inf)
                self._minimise(self._schedule.stages[part], rough=True)
        total = self._pick(self._rows)
        self._kept = (total, np.zeros_like(self._W))  # of no weights, where every loss is 1
        primal = float(np.vdot(self._W, self._W)) / 2 + self._split(_REACH)
        if primal < total:
            self._kept = (primal, self._W.copy())
        else:
            self._W[...] = 0
            self._split(math.inf)
        self._width = self._schedule.stages[1]
        self._minimise(self._width, rough=True)
        self._recentre(_REACH)

    def _round(self) -> None:
        if self.direct or self._schedule.near * self._smoothing > self._target * self._kept[0]:
            self._width = max(self._width * self._schedule.shrink, _LEAST)
        before = self._W.copy()
        self._minimise(self._width)
        moved = self._W - before
        X = self._problem.X
        typical = math.sqrt(float(np.vdot(moved, moved)) / moved.size * self._norm2(X))
        self._recentre(max(5 * typical, 2.2 * self._width))

    def _norm2(self, X: Any) -> float:
        rows = X[:: max(1, X.shape[0] // 1000)]
        total: float = np.einsum("ij,ij->", rows, rows, dtype=np.float64)
        return float(total / rows.shape[0] + 1)

    def _recentre(self, reach: float) -> None:
        """Centres move, and all rows are looked at."""
        self._core.recentre()
        worst = self._split(reach)
        primal = float(np.vdot(self._W, self._W)) / 2 + worst
        kept = self._kept[0]
        if primal <= kept:
            self._kept = (primal, self._W.copy())
        elif primal > kept + max(2 * self._smoothing, 1e-3 * kept):
            # Rows that had been left out were not as settled as they seemed.
            self._W[...] = self._kept[1]
            self._split(math.inf)

    def _pick(self, rows: npt.NDArray[np.int64]) -> float:
        """Learns from these rows from now on; the sum of what they count."""
        problem = self._problem
        weight = np.ones(rows.size) if problem.weight is None else problem.weight[rows]
        cap = problem.C * weight
        if rows.size < self._rows.size:
            cap *= self._rows.size / rows.size
        self._core.pick(rows, cap.astype(problem.X.dtype))
        return float(cap.sum())

    def _split(self, reach: float) -> float:
        self._table[...] = self._W
        return float(self._core.split(self._table, min(reach, 1e30), self._linear))

    def _place(self, start: Start) -> None:
        """Begins where another solution ended."""
        problem, masses = self._problem, start.scaled
        if start.table is not None:
            self._table[...] = start.table
        certified = problem.certify(masses, self._table, start.table is None)
        self._pick(self._rows)
        self._core.place(*masses.picked(self._rows))
        self._W[...] = self._table
        self._dual = certified.dual
        self._kept = (certified.primal, self._W.copy())
        self._split(math.inf)
        self._width = _WARM / self._schedule.shrink

    # --- one smooth problem -----------------------------------------------------------------------

    def _minimise(self, width: float, rough: bool = False) -> None:
        """Newton's steps, until one promises less than smoothing costs.

        Where smoothing costs little enough for the tolerance, until the dual is as near too.
        """
        for step_number in range(_STEPS):
            if self._report is not None:
                self._report(self._problem.n * step_number // _STEPS)
            _, reached, worst = self._core.smooth(width)
            linear = self._core.gradient(self._V)
            self._V += self._linear
            gradient = self._W - self._V
            self._smoothing = worst - reached
            off = float(np.vdot(gradient, gradient)) / 2
            if not math.isfinite(off + worst):
                raise self._problem.overflow()
            self._dual = linear - float(np.vdot(self._V, self._V)) / 2
            room = self._target * max(self._dual, 0.0) - self._schedule.near * self._smoothing
            # Centres that move without a step between, time and again, run away.
            enough = max(self._smoothing, room / 2) if step_number > 0 else _NOTHING * abs(worst)
            if not rough and off <= enough:
                break
            rough = rough or room < 0  # the dual need not be near yet
            if rough and not self.direct and step_number == _INDIRECT:
                break
            step = self._solve(width, gradient)
            decrement = float(np.vdot(gradient, step)) / 2
            if rough and step_number > 0 and decrement < self._schedule.enough * self._smoothing:
                break
            self._direction[...] = -step
            self._core.aim(self._direction)
            by = self._search(width, step, decrement)
            self.short = by < _SHORT
            self._core.move(by)
            self._W -= by * step
            self.steps += 1

    def _search(self, width: float, step: Table, decrement: float) -> float:
        """A step at which the derivative is small beside what it was."""
        first = -2 * decrement
        along = -float(np.vdot(self._W - self._linear, step))
        bent = float(np.vdot(step, step))
        low, high = 0.0, math.inf
        at_low, at_high = first, math.inf
        by = 1.0
        for _ in range(20):
            slope = along + by * bent + self._core.slope(by, width)
            if 0.5 * first <= slope <= -0.15 * first:
                break
            if slope < 0:
                low, at_low = by, slope
            else:
                high, at_high = by, slope
            if high == math.inf:
                by *= 2
                continue
            by = low - at_low * (high - low) / (at_high - at_low)
            by = min(max(by, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        return by

    def _solve(self, width: float, gradient: Table) -> Table:
        if self.direct:
            return self._solve_directly(width, gradient)
        return self._solve_by_conjugates(width, gradient)

    def _solve_directly(self, width: float, gradient: Table) -> Table:
        hessian = np.empty((self._size, self._size))
        for damping in _DAMPINGS:  # of what rounding made indefinite
            self._core.hessian(width, _PAIRS, hessian)
            diagonal = hessian.ravel()[:: self._size + 1]
            diagonal += 1.0 + damping * float(diagonal.max())
            factor, failed = lapack.dpotrf(hessian.T, lower=0, clean=0, overwrite_a=1)
            if not failed:
                break
        else:
            raise self._problem.overflow()
        flat = np.ascontiguousarray(gradient[:, : self._k].T).ravel()
        found, _ = lapack.dpotrs(factor, flat, lower=0)
        step = np.zeros_like(gradient)
        step[:, : self._k] = found.reshape(self._k, -1).T
        return step

    def _solve_by_conjugates(self, width: float, gradient: Table) -> Table:
        """Conjugate gradients, preconditioned by one block of the Hessian for all labels."""
        heavy = 1 + self._core.carried() / width
        if not heavy / _STALE <= self._inverse_size <= heavy * _STALE:
            self._inverse, self._inverse_size = self._sampled_inverse(width), heavy
        step = np.zeros_like(gradient)
        rest = gradient.copy()
        ready = self._preconditioned(rest)
        way = ready.copy()
        product = np.empty_like(gradient)
        size = float(np.vdot(rest, ready))
        enough = _PRECISE**2 * size
        for _ in range(_CONJUGATES):
            self._direction[...] = way
            self._core.product(width, _ROWS, self._direction, product)
            product += way
            by = size / float(np.vdot(way, product))
            step += by * way
            rest -= by * product
            ready = self._preconditioned(rest)
            size, before = float(np.vdot(rest, ready)), size
            if size <= enough:
                break
            way *= size / before
            way += ready
        return step

    def _sampled_inverse(self, width: float) -> npt.NDArray[np.float32]:
        """The inverse of the mean of the labels' own blocks, from a sample of the rows."""
        X, d = self._problem.X, self._problem.X.shape[1]
        size = self._W.shape[0]
        rows, counts = self._core.carrying()
        block = np.zeros((size, size), dtype=np.float32, order="F")
        if rows.size and counts.any():
            every = max(1, rows.size // _SAMPLE)
            share = counts.sum() / counts[::every].sum() / (self._k * width)
            part = np.ones((counts[::every].size, size), dtype=np.float32)
            part[:, :d] = X[rows[::every]]
            part *= np.sqrt(counts[::every] * share)[:, None].astype(np.float32)
            block = blas.ssyrk(1.0, part.T, lower=1)
        block.T.flat[:: size + 1] += 1
        factor, failed = lapack.spotrf(block, lower=1, clean=0, overwrite_a=1)
        inverse, wrong = lapack.spotri(factor, lower=1, overwrite_c=1)
        if failed or wrong:
            raise self._problem.overflow()
        found: npt.NDArray[np.float32] = inverse
        return found

    def _preconditioned(self, table: Table) -> Table:
        narrow = np.asfortranarray(table[:, : self._k], dtype=np.float32)
        found = np.zeros_like(table)
        found[:, : self._k] = blas.ssymm(1.0, self._inverse, narrow, lower=1)
        # Directions add up to nothing over the labels, as gradients do.
        found[:, : self._k] -= found[:, : self._k].mean(axis=1, keepdims=True)
        return found
