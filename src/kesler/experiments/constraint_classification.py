"""Table 2 and Figure 3 of Har-Peled, Roth and Zimak (2002), made anew.

Constraint classification against one-vs-all on their seven sets: both train the perceptron on one
network of k(d + 1) weights, with the same preparation, orders of presentation and number of passes;
only the update differs. The paper prints its errors as bars without numbers, so what can be
compared is what it claims. `_constraint_trials` learns, `_constraint_page` shows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kesler._checks import whole
from kesler._progress import Progress
from kesler.datasets import load
from kesler.experiments import _constraint_page as page
from kesler.experiments import _constraint_trials as learn
from kesler.reporting import format_table

__all__ = ["run"]

_QUICK_ROWS = 600
_QUICK_SEEDS = 2


def run(output: Path, *, seeds: int = 5, quick: bool = False) -> str:
    """Compare both learners on the seven sets and write what came out.

    Parameters
    ----------
    output : pathlib.Path
        Folder for ``constraint-classification.md`` and the CSV and PNG files beside it.
    seeds : int, default=5
        How often to learn each set, each time in other orders of presentation.
    quick : bool, default=False
        A few hundred rows of each set and two seeds: it shows that it works, not what it shows.

    Returns
    -------
    str
        The table of test errors, a row for each set.
    """
    whole("seeds", seeds, at_least=1)
    page.require_matplotlib()
    tables = {name: load(name) for name in page.TABLE_2 if name != "synthetic"}
    seeds = min(seeds, _QUICK_SEEDS) if quick else seeds
    most_rows = _QUICK_ROWS if quick else None
    n_points = _QUICK_ROWS if quick else 50_000

    rows = {name: min(len(table.target), 2 * n_points) for name, table in tables.items()}
    work = {name: n * tables[name].data.shape[1] * learn.PASSES for name, n in rows.items()}
    work["synthetic"] = 2 * n_points * 100 * learn.PASSES
    course_work = 4 * n_points * 100 * learn.CURVE_PASSES
    trials: list[learn.Trial] = []
    widths: dict[str, int] = {}
    with Progress("seven sets", seeds * sum(work.values()) + 2 * course_work) as progress:
        done = 0
        for name in page.TABLE_2:
            for seed in range(seeds):
                if name == "synthetic":
                    parts = [learn.synthetic_part(n_points, seed)[0]]
                else:
                    parts = list(learn.table_parts(tables[name], seed, most_rows))
                widths[name] = parts[0].X_train.shape[1]
                trials += learn.try_all(name, seed, parts)
                done += work[name]
                progress.update(done, name)
        courses = []
        for title, gap in (("synthetic", 0.0), (f"gaps below {learn.GAP} left out", learn.GAP)):
            courses.append(learn.follow(title, *learn.synthetic_part(n_points, 0, gap)))
            done += course_work
            progress.update(done, title)
        courses.append(learn.follow_figure_2())
    comparisons = [
        learn.compare(trials, name, weights) for weights in learn.WEIGHTS for name in page.TABLE_2
    ]

    output.mkdir(parents=True, exist_ok=True)
    _write_csv(output / "trials.csv", *_as_trials(trials))
    _write_csv(output / "summary.csv", *_as_summary(comparisons))
    _write_csv(output / "curves.csv", *_as_curves(courses))
    page.draw_bars(comparisons).savefig(output / page.BARS, dpi=150)
    page.draw_courses(courses).savefig(output / page.COURSES, dpi=150)
    sizes = page.size_rows(tables, widths, n_points)
    text = page.page(comparisons, courses, sizes, seeds=seeds, quick=quick)
    (output / "constraint-classification.md").write_text(text, encoding="utf-8", newline="\n")
    return format_table(page.ERROR_HEADER, page.error_rows(comparisons))


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _as_trials(trials: Iterable[learn.Trial]) -> tuple[list[str], list[list[Any]]]:
    header = ["data", "seed", "weights", "method", "tested", "wrong"]
    header += ["test_error_percent", "training_error_percent"]
    rows = []
    for t in trials:
        made = [t.name, t.seed, t.weights, t.method]
        rows.append([*made, t.wrong.size, int(t.wrong.sum()), t.error, t.training_error])
    return header, rows


def _as_summary(comparisons: Iterable[learn.Comparison]) -> tuple[list[str], list[list[Any]]]:
    header = ["data", "weights", "constraint_mean", "constraint_std"]
    header += ["one_vs_all_mean", "one_vs_all_std", "difference", "standard_error", "verdict"]
    rows = []
    for c in comparisons:
        errors = [*learn.mean_and_spread(c.constraint), *learn.mean_and_spread(c.one_vs_all)]
        rows.append([c.name, c.weights, *errors, c.gain, c.noise, c.verdict])
    return header, rows


def _as_curves(courses: Iterable[learn.Course]) -> tuple[list[str], list[list[Any]]]:
    header = ["data", "method", "pass", "training_error_percent", "test_error_percent"]
    return header, [
        [course.title, curve.method, number, training, test]
        for course in courses
        for curve in course.curves
        for number, (training, test) in enumerate(zip(curve.training, curve.test, strict=True), 1)
    ]
