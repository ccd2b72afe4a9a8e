"""How `constraint_classification` shows what it found: two drawings and a page in Markdown.

What Har-Peled, Roth and Zimak (2002) report stands here beside it: the sizes of their Table 2, in
the order of their Figure 3, and what they claim. Nothing is computed here but means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kesler.datasets import Dataset
from kesler.experiments._constraint_trials import (
    AVERAGED,
    CONSTRAINT,
    CURVE_PASSES,
    GAP,
    LAST,
    ONE_VS_ALL,
    PASSES,
    Comparison,
    Course,
    FloatArray,
    mean_and_spread,
)
from kesler.reporting import format_table

# Features, classes, training and test examples in the paper's Table 2.
TABLE_2 = {
    "audiology": (69, 24, 200, 26),
    "glass": (9, 6, 214, None),
    "vowel": (10, 11, 528, 462),
    "letter": (16, 26, 16_000, 4_000),
    "isolet": (617, 26, 6_238, 1_559),
    "soybean": (35, 19, 307, 376),
    "synthetic": (100, 3, 50_000, 50_000),
}
ERROR_HEADER = [
    "data", "constraint", "one-vs-all", "verdict", "constraint, last", "one-vs-all, last",
    "verdict, last",
]  # fmt: skip
BARS, COURSES = "figure-3.png", "curves.png"
_COLOURS = {CONSTRAINT: "#d55e00", ONE_VS_ALL: "#2a7fc9"}


def require_matplotlib() -> None:
    """Say what is missing before an hour is spent rather than after."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the figures are drawn with matplotlib: pip install 'kesler[report]'"
        ) from error


# ---- tables --------------------------------------------------------------------------------------


def error_rows(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """A row for each set: errors with averaged weights, then with the last ones."""
    by_weights = {
        weights: {c.name: c for c in comparisons if c.weights == weights}
        for weights in (AVERAGED, LAST)
    }
    return [
        [name] + [cell for by in by_weights.values() for cell in _error_cells(by[name])]
        for name in TABLE_2
    ]


def _error_cells(comparison: Comparison) -> list[str]:
    return [
        _as_text(comparison.constraint),
        _as_text(comparison.one_vs_all),
        comparison.verdict,
    ]


def _as_text(errors: FloatArray) -> str:
    mean, spread = mean_and_spread(errors)
    return f"{mean:.1f}" if np.isnan(spread) else f"{mean:.1f} ± {spread:.1f}"


def size_rows(
    tables: Mapping[str, Dataset], widths: Mapping[str, int], n_points: int
) -> list[list[Any]]:
    """Table 2: sizes there and here, and the weights of the network."""
    rows: list[list[Any]] = []
    for name, paper in TABLE_2.items():
        here = _sizes(tables[name]) if name in tables else (100, 3, n_points, n_points)
        weights = here[1] * (widths[name] + 1)
        rows.append([name, *(_both(a, b) for a, b in zip(paper, here, strict=True)), weights])
    return rows


def _sizes(table: Dataset) -> tuple[int, int, int, int | None]:
    n, columns = table.data.shape
    if table.train is None or table.test is None:
        return columns, len(table.target_names), n, None
    return columns, len(table.target_names), table.train.size, table.test.size


def _both(paper: int | None, here: int | None) -> str:
    if paper == here:
        return "–" if paper is None else str(paper)
    return f"{here} (paper: {paper})"


# ---- drawings ------------------------------------------------------------------------------------


def draw_bars(comparisons: Sequence[Comparison]) -> Any:
    """Figure 3, once with averaged and once with the last weights."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    place = np.arange(len(TABLE_2))
    for axes, weights in zip(figure.subplots(ncols=2, sharey=True), (AVERAGED, LAST), strict=True):
        shown = [c for c in comparisons if c.weights == weights]
        for shift, method, errors in (
            (-0.2, CONSTRAINT, [c.constraint for c in shown]),
            (0.2, ONE_VS_ALL, [c.one_vs_all for c in shown]),
        ):
            means, spreads = np.transpose([mean_and_spread(e) for e in errors])
            axes.bar(
                place + shift, means, 0.38, yerr=np.nan_to_num(spreads), capsize=2.5,
                color=_COLOURS[method], label=method, error_kw={"linewidth": 1},
            )  # fmt: skip
        axes.set_xticks(place, list(TABLE_2), rotation=30, ha="right", rotation_mode="anchor")
        axes.set_title(f"{weights} weights", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    _label(figure, "test error %")
    return figure


def draw_courses(courses: Sequence[Course]) -> Any:
    """Errors after each pass; logarithmic above a hundredth of a percent, so that 0 has a place."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(11, 4), layout=ConstrainedLayoutEngine(wspace=0.05))
    for axes, course in zip(figure.subplots(ncols=len(courses), sharey=True), courses, strict=True):
        for curve in course.curves:
            passes = np.arange(1, len(curve.training) + 1)
            colour = _COLOURS[curve.method]
            axes.plot(passes, curve.training, color=colour, linewidth=1.2, label=curve.method)
        axes.set_yscale("symlog", linthresh=0.01, linscale=0.5)
        axes.set_yticks([0, 0.01, 0.1, 1, 10, 100], ["0", "0.01", "0.1", "1", "10", "100"])
        axes.minorticks_off()
        axes.set_ylim(-0.002, 100)
        axes.set_xlim(0, CURVE_PASSES)
        axes.set_xticks([0, 100, 200, CURVE_PASSES])
        axes.set_xlabel("passes")
        axes.set_title(course.title, fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
    _label(figure, "training error %")
    return figure


def _label(figure: Any, what: str) -> None:
    first = figure.axes[0]
    first.set_ylabel(what)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)


# ---- the page ------------------------------------------------------------------------------------

_PAGE = """\
# Constraint classification against one-vs-all

{trial_run}Table 2 and Figure 3 of S. Har-Peled, D. Roth and D. Zimak, *Constraint Classification
for Multiclass Classification and Ranking* (NIPS 2002), made anew by
`kesler reproduce constraint-classification`.

Both learners train the perceptron on one network of k(d + 1) weights that begin at 0: a weight
vector and a threshold for each class. **Constraint classification** moves two classes wherever the
right one does not score above the other. **One-vs-all** moves each class by itself, wherever its
score has the wrong sign. All else is the same for both: the preparation of the table (learned from
the training part), the random order of the examples, anew in each pass, and {passes} passes
(fewer where a pass makes no mistake, since nothing moves any more).

## Test errors

Mean and standard deviation over seeds ({seeds}) of the test error in %. The seeds differ in the
orders of presentation; on glass in its ten folds, too, and on the synthetic set in all of its data.

{errors}

The first three columns use the mean of the weights over all steps, the last three the weights after
the last step. The paper trains the plain perceptron, which is the latter; but on data that it
cannot separate they depend on the examples that happened to come last, as the standard deviations
show. So the mean is the comparison to rely on, and the last weights are the one to set beside the
paper.

*Verdict* is that on constraint classification: better or worse if the mean errors differ by more
than two standard errors, else even. The standard error counts both sources of noise, seeds and the
size of the test set (audiology has 26 test examples: one of them is 3.8 %).

![Test errors of both learners on the seven sets]({bars})

## What the paper claims

{claims}

## Pass by pass

![Training error after each pass]({courses})

Share of training examples that the last weights get wrong after each pass, with one seed.

{course_table}

*Margin* is the smallest difference between the two best scores of a training example, by the sorter
that made the labels, scaled to norm 1. By Novikoff's theorem constraint classification moves at
most 2R²/margin² times (R the largest norm of an example, the constant 1 of the threshold counted)
before it makes no mistake any more. That is a promise for the synthetic set as well, but not one
that can be waited for; without the near-ties it is kept soon. One-vs-all has no such promise on any
of these sets: no hyperplane stands between each class and all the others.

## Sizes

Those of the paper's Table 2, which are also ours unless it is said otherwise; and the number of
weights of the network, after nominal columns have become indicators.

{sizes}

Files beside this page: `trials.csv` (every set, seed and learner), `summary.csv` (the table of test
errors), `curves.csv` (errors pass by pass, on test examples too).
"""


def page(
    comparisons: Sequence[Comparison],
    courses: Sequence[Course],
    sizes: Sequence[Sequence[Any]],
    *,
    seeds: int,
    quick: bool,
) -> str:
    """The page in Markdown."""
    return _PAGE.format(
        trial_run="**A trial run on a small part of the data: its numbers say nothing.**\n\n"
        if quick
        else "",
        passes=PASSES,
        seeds=seeds,
        errors=format_table(ERROR_HEADER, error_rows(comparisons), style="markdown"),
        bars=BARS,
        claims=format_table(["paper", "here"], _claims(comparisons, courses), style="markdown"),
        courses=COURSES,
        course_table=format_table(_COURSE_HEADER, _course_rows(courses), style="markdown"),
        sizes=format_table(
            ["data", "features", "classes", "training", "test", "weights"], sizes, style="markdown"
        ),
    )


_MARKS = (1, 10, 100, CURVE_PASSES)
_COURSE_HEADER = ["data", "margin", "moves at most", "learner", *(f"pass {p}" for p in _MARKS)]


def _course_rows(courses: Sequence[Course]) -> list[list[Any]]:
    return [
        [course.title, f"{course.margin:.2g}", f"{course.bound:.0e}", curve.method]
        + [f"{curve.training[p - 1]:.2f} %" for p in _MARKS]
        for course in courses
        for curve in course.curves
    ]


def _claims(comparisons: Sequence[Comparison], courses: Sequence[Course]) -> list[list[str]]:
    synthetic, apart, figure_2 = courses
    verdicts = "; ".join(
        f"{weights} weights: " + _counts([c for c in comparisons if c.weights == weights])
        for weights in (AVERAGED, LAST)
    )

    def on_synthetic(method: str) -> str:
        near = _fall(synthetic, method)
        return f"{near}; with gaps below {GAP} left out {_end(apart, method)}"

    return [
        ["Figure 3: constraint classification does better than one-vs-all", verdicts],
        [
            "on the synthetic set constraint classification would converge to an error of 0",
            on_synthetic(CONSTRAINT),
        ],
        ["on the synthetic set one-vs-all would not converge", on_synthetic(ONE_VS_ALL)],
        [
            "the perceptron finds a sorter for the example of Figure 2 extended to 100 dimensions, "
            "where one-vs-all fails",
            f"constraint classification: {_end(figure_2, CONSTRAINT)}; "
            f"one-vs-all: {_end(figure_2, ONE_VS_ALL)}",
        ],
        [
            "constraint classification is competitive with known results",
            "not judged: the paper prints no errors, and no other learner is run here",
        ],
    ]


def _counts(comparisons: Sequence[Comparison]) -> str:
    sets = {
        verdict: [c.name for c in comparisons if c.verdict == verdict]
        for verdict in ("better", "even", "worse")
    }
    return ", ".join(
        f"{verdict} on {len(names)} ({', '.join(names)})" if names else f"{verdict} on none"
        for verdict, names in sets.items()
    )


def _training(course: Course, method: str) -> list[float]:
    return next(curve.training for curve in course.curves if curve.method == method)


def _fall(course: Course, method: str) -> str:
    errors = _training(course, method)
    return (
        f"training error {errors[0]:.2f} % after 1 pass, {errors[99]:.2f} % after 100 and "
        f"{errors[-1]:.2f} % after {len(errors)}"
    )


def _end(course: Course, method: str) -> str:
    errors = np.array(_training(course, method))
    if errors[-1] == 0:
        return f"0 from pass {int(np.flatnonzero(errors).max(initial=-1)) + 2} on"
    return f"never below {errors.min():.2f} % in {errors.size} passes"
