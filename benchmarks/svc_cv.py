"""Choosing C: a warm path against cold fits, `ConstraintSVCCV` against grid searches.

All contenders see the same rows, folds and values of C on one thread, each in a process of its own
with a limit of time; what reaches the limit is shown with it, and its ratio is a lower bound. Times
are CPU seconds of the whole call, the data in memory beforehand. Certificates to the same
tolerance (1e-3) are part of every time of Kesler; LinearSVC stops at LIBLINEAR's own tolerance
(0.1). `ratio` is the time of the line over that of the first line.

    python benchmarks/svc_cv.py                      # all sets
    python benchmarks/svc_cv.py --quick              # few rows of every set
    python benchmarks/svc_cv.py --sets letter --cap 100
    python benchmarks/svc_cv.py --strict             # exit 1 if a warm way is not the faster one
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import _sets
from kesler import ConstraintSVC, ConstraintSVCCV, _core
from kesler.linear import regularization_path

SETS: dict[str, Callable[[], _sets.Split]] = {
    "sorting": lambda: _sets.sorting().thinned(20_000),
    "letter": _sets.letter,
    "text-like": _sets.text_like,
}
CS = np.logspace(-2, 1, 7)
CV = 3


class Found(NamedTuple):
    """What a contender comes to: seconds, and what it found in words."""

    seconds: float
    note: str


def warm_path(data: _sets.Split, **settings: Any) -> str:
    path = regularization_path(data.X, data.y, CS, random_state=0, **settings)
    return f"largest gap {path.gaps.max():.1e}"


def cold_fits(data: _sets.Split, **settings: Any) -> str:
    models = [ConstraintSVC(C, random_state=0, **settings).fit(data.X, data.y) for C in CS]
    return f"largest gap {max(m.duality_gap_ for m in models):.1e}"


def own_search(data: _sets.Split) -> str:
    model = ConstraintSVCCV(CS, cv=CV, random_state=0).fit(data.X, data.y)
    return f"C {model.C_:.3g}, score {model.scores_.mean(axis=0).max():.4f}"


def grid_of_ours(data: _sets.Split) -> str:
    return _grid(ConstraintSVC(random_state=0), data)


def grid_of_liblinear(data: _sets.Split) -> str:
    return _grid(LinearSVC(multi_class="crammer_singer", tol=0.1, random_state=0), data)


def _grid(estimator: Any, data: _sets.Split) -> str:
    search = GridSearchCV(estimator, {"C": CS}, cv=CV).fit(data.X, data.y)
    return f"C {search.best_params_['C']:.3g}, score {search.best_score_:.4f}"


GROUPS: dict[str, dict[str, Callable[[_sets.Split], str]]] = {
    "path, max": {"warm": warm_path, "cold": cold_fits},
    "path, sum": {
        "warm": lambda data: warm_path(data, aggregate="sum"),
        "cold": lambda data: cold_fits(data, aggregate="sum"),
    },
    "choosing C": {
        "ConstraintSVCCV": own_search,
        "GridSearchCV of ConstraintSVC": grid_of_ours,
        "GridSearchCV of LinearSVC": grid_of_liblinear,
    },
}


def measured(work: Callable[[_sets.Split], str], data: _sets.Split, cap: float) -> Found:
    """The work in a forked process, which is ended at the limit."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        warnings.simplefilter("ignore")  # LinearSVC warns of a change of its own, and of limits
        with threadpool_limits(1):
            start = time.process_time()
            note = work(data)
            sender.send(Found(time.process_time() - start, note))

    before = _of_children()
    process = context.Process(target=run)
    process.start()
    sender.close()
    try:
        if receiver.poll(cap):
            return receiver.recv()
    except EOFError:
        return Found(float("nan"), "failed")
    finally:
        process.kill()
        process.join()
    return Found(_of_children() - before, "stopped at the limit")


def _of_children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--cap", type=float, default=600.0, help="wall seconds for each contender")
    parser.add_argument("--quick", action="store_true", help="2 000 rows of every set")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    print(
        f"instruction set {_core.isa()}, load {os.getloadavg()[0]:.2f}, {CS.size} values of C from "
        f"{CS[0]:g} to {CS[-1]:g}, {CV} folds"
    )
    missed = []
    for name in options.sets:
        data = SETS[name]()
        if options.quick:
            data = data.thinned(2_000)
        print(f"\n== {name}: {data.X.shape[0]} x {data.X.shape[1]}, {data.n_labels} labels")
        for group, contenders in GROUPS.items():
            first = 0.0
            for contender, work in contenders.items():
                found = measured(work, data, options.cap)
                first = first or found.seconds
                ratio = found.seconds / first
                bound = ">" if found.note == "stopped at the limit" else " "
                print(
                    f"{group:<12} {contender:<30} {found.seconds:8.2f} s  ratio {bound}{ratio:6.2f}"
                    f"  {found.note}",
                    flush=True,
                )
                if not (contender in list(contenders)[:1] or ratio > 1):
                    missed.append(f"{name}: {group}: {contender} is not slower")
    for miss in missed:
        print(f"missed: {miss}")
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
