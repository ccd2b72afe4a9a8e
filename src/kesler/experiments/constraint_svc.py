"""ConstraintSVC beside one-vs-rest on the multi-label and the label-ranking sets.

Sets of labels by their ranking loss, rankings by Kendall's tau, in ten folds, with C chosen inside
of each training part by the same rule for all. `_svc_trials` learns, `_svc_page` shows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kesler._checks import whole
from kesler._progress import Progress
from kesler.datasets import load
from kesler.experiments import _svc_page as page
from kesler.experiments import _svc_trials as learn

__all__ = ["run"]

_FOLDS = 10
_QUICK_ROWS, _QUICK_FOLDS, _QUICK_SEEDS = 150, 3, 1


def run(output: Path, *, seeds: int = 5, quick: bool = False) -> str:
    """Compare the learners on the eleven sets and write what came out.

    Parameters
    ----------
    output : pathlib.Path
        Folder for ``constraint-svc-results.md``, ``trials.csv`` and ``summary.csv``.
    seeds : int, default=5
        How often to cut each set into folds.
    quick : bool, default=False
        Few rows of each set and one seed: it shows that it works, not what it shows.

    Returns
    -------
    str
        The tables of ranking losses and of Kendall's tau.
    """
    whole("seeds", seeds, at_least=1)
    tables = {name: load(name) for name in (*page.LABELSETS, *page.RANKINGS)}
    seeds = min(seeds, _QUICK_SEEDS) if quick else seeds
    parts = _QUICK_FOLDS if quick else _FOLDS
    trials: list[learn.Trial] = []
    split: list[learn.Trial] = []
    work = {name: _work(table, quick) for name, table in tables.items()}
    n_split = 0 if quick else 1  # the published split is one more round for sets that have one
    total = sum(
        work[name] * (seeds * parts + (n_split if table.train is not None else 0)) * _methods(table)
        for name, table in tables.items()
    )
    with Progress("eleven sets", total) as progress:
        done = 0
        for name, table in tables.items():
            task = learn.read_task(table, _some_rows(table) if quick else None)
            rounds = [
                (seed, learn.folds(len(task.constraints), parts, seed), trials)
                for seed in range(seeds)
            ]
            if n_split and table.train is not None and table.test is not None:
                rounds.append((0, [(table.train, table.test)], split))
            for seed, cuts, found in rounds:
                for method in task.methods:
                    tested = []
                    for fold in learn.try_method(task, method, seed, cuts):
                        tested.append(fold)
                        done += work[name]
                        progress.update(done, f"{name}, {method}")
                    found.append(learn.judged(task, method, seed, tested))

    output.mkdir(parents=True, exist_ok=True)
    _write_csv(output / "trials.csv", *_as_trials([*trials, *split]))
    _write_csv(output / "summary.csv", *_as_summary(trials))
    text = page.page(trials, split, seeds=seeds, parts=parts, quick=quick)
    (output / page.NAME).write_text(text, encoding="utf-8", newline="\n")
    return page.printed(trials)


def _methods(table: Any) -> int:
    return 2 if table.target_kind == "labelsets" else 3


def _work(table: Any, quick: bool) -> int:
    """About what a fold costs; rankings have more pairs, and larger C are chosen for them."""
    n, k = table.target.shape
    size = table.data.nnz if sp.issparse(table.data) else table.data.size
    each = k if table.target_kind == "labelsets" else 4 * k**2
    return int(size * each * (_QUICK_ROWS / n if quick else 1))


def _some_rows(table: Any) -> learn.Rows:
    n = table.target.shape[0]
    rows: learn.Rows = np.sort(np.random.default_rng(0).permutation(n)[:_QUICK_ROWS])
    return rows


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _as_trials(trials: Iterable[learn.Trial]) -> tuple[list[str], list[list[Any]]]:
    header = ["data", "tested", "seed", "method", "ranking_loss", "one_error"]
    header += ["average_precision", "gap", "chosen_C"]
    rows = []
    for t in trials:
        made = [t.name, t.loss.size, t.seed, t.method, t.loss.mean(), t.one_error, t.precision]
        rows.append([*made, t.gap, " ".join(f"{C:.3g}" for C in t.chosen)])
    return header, rows


def _as_summary(trials: Sequence[learn.Trial]) -> tuple[list[str], list[list[Any]]]:
    header = ["data", "peer", "svc_loss", "svc_standard_error", "peer_loss", "peer_standard_error"]
    header += ["gain", "gain_standard_error", "verdict"]
    rows = []
    for name, method in dict.fromkeys((t.name, t.method) for t in trials):
        if method != learn.SVC:
            found = learn.compare(trials, name, method)
            rows.append([name, method, *found, found.verdict])
    return header, rows
