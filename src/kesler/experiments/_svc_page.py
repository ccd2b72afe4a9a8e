"""How `constraint_svc` shows what it found: two tables to print and a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kesler.experiments._svc_trials import (
    GRID,
    HELD_OUT,
    ONE_VS_REST,
    PATIENCE,
    SVC,
    UPPER_HALF,
    WINNER,
    WORSE,
    Comparison,
    Trial,
    compare,
)
from kesler.reporting import format_table

LABELSETS = ("emotions", "scene", "yeast", "bibtex")
RANKINGS = tuple(
    f"{name}-ranking"
    for name in ("authorship", "glass", "iris", "vehicle", "vowel", "wine", "pendigits")
)
NAME = "constraint-svc-results.md"
LOSS_HEADER = ["ranking loss, %", SVC, ONE_VS_REST, "verdict"]
TAU_HEADER = ["Kendall's tau", SVC, WINNER, UPPER_HALF, "verdict"]


def printed(trials: Sequence[Trial]) -> str:
    """Both tables as text."""
    return "\n\n".join(
        (
            format_table(LOSS_HEADER, loss_rows(trials)),
            format_table(TAU_HEADER, tau_rows(trials)),
        )
    )


# ---- tables --------------------------------------------------------------------------------------


def loss_rows(trials: Sequence[Trial]) -> list[list[str]]:
    """A row for each set of label sets."""
    rows = []
    for name in LABELSETS:
        found = compare(trials, name, ONE_VS_REST)
        rows.append([name, *_percents(found), found.verdict])
    return rows


def tau_rows(trials: Sequence[Trial]) -> list[list[str]]:
    """A row for each set of rankings; the verdict is that against the better of the two peers."""
    rows = []
    for name in RANKINGS:
        found = [compare(trials, name, method) for method in (WINNER, UPPER_HALF)]
        better = min(found, key=lambda comparison: comparison.theirs)
        cells = [_as_tau(found[0].ours, found[0].ours_error)]
        cells += [_as_tau(each.theirs, each.theirs_error) for each in found]
        rows.append([name.removesuffix("-ranking"), *cells, better.verdict])
    return rows


def _percents(found: Comparison) -> list[str]:
    return [
        f"{100 * loss:.2f} ± {100 * error:.2f}"
        for loss, error in ((found.ours, found.ours_error), (found.theirs, found.theirs_error))
    ]


def _as_tau(loss: float, error: float) -> str:
    """Of a full ranking tau is 1 less twice the share of pairs out of order."""
    return f"{1 - 2 * loss:.3f} ± {2 * error:.3f}"


def _other_rows(trials: Sequence[Trial]) -> list[list[str]]:
    """One-error and average precision in %, means over seeds."""
    rows = []
    for name in LABELSETS:
        row = [name]
        for measure in ("one_error", "precision"):
            for method in (SVC, ONE_VS_REST):
                values = [
                    getattr(t, measure) for t in trials if (t.name, t.method) == (name, method)
                ]
                row.append(f"{100 * np.mean(values):.1f}")
        rows.append(row)
    return rows


def _fit_rows(trials: Sequence[Trial]) -> list[list[str]]:
    """The C that were chosen, and the certificates of ConstraintSVC."""
    rows = []
    for name in (*LABELSETS, *RANKINGS):
        of_set = [t for t in trials if t.name == name]
        cells = [
            _range([C for t in of_set if t.method == method for C in t.chosen])
            for method in dict.fromkeys(t.method for t in of_set)
        ]
        cells += ["–"] * (3 - len(cells))
        gap = max(t.gap for t in of_set if t.method == SVC)
        rows.append([name, *cells, f"{gap:.1e}"])
    return rows


def _range(chosen: Sequence[float]) -> str:
    low, middle, high = np.quantile(chosen, [0, 0.5, 1])
    return f"{middle:.2g} ({low:.2g} to {high:.2g})"


# ---- the page ------------------------------------------------------------------------------------

_PAGE = """\
# ConstraintSVC beside one-vs-rest: the results

{trial_run}Made by `kesler reproduce constraint-svc --seeds {seeds}`: four sets of label sets
(Mulan's), and the seven that Kesler knows of the label rankings of W. Cheng, J. Hühn and
E. Hüllermeier, *Decision Tree and Instance-Based Learning for Label Ranking* (ICML 2009).

All learners are linear, with a threshold for each label, and minimise squared hinge losses.

- **ConstraintSVC** has `aggregate="sum"` and `loss="squared_hinge"`, on uncalibrated label sets and
  on rankings with `pairs="all"`. Each example weighs 1 over the number of its pairs, so that its
  loss is a mean over them: a convex stand-in for the ranking loss.
- **One-vs-rest** is scikit-learn's `LinearSVC`, one for each label. Of a label set its labels are
  positive. Of a ranking it is told either the *winner*, or which labels stand in the *upper half*.

The same for all: {parts} folds, cut anew with each seed ({seeds}); tables scaled to mean 0 and
variance 1 by their training rows, sparse rows (bibtex) as they are; and the choice of C, from
{grid}, on {held_out:.0%} of the training rows that are held out, by the loss of the table, in
ascending order until {patience} values in a row are {worse:.0%} worse than the best.

A figure behind ± is a standard error, over examples and seeds; that training parts overlap is not
counted. *Verdict* is that on ConstraintSVC: better or worse if the mean difference, example by
example, is more than two standard errors of it, else even.

## Sets of labels

Ranking loss in %: the mean share of pairs of a relevant and an irrelevant label that are out of
order.

{losses}

What no one minimised, in %: how often the first label is irrelevant (one-error, less is better),
and the average precision (more is better).

{others}

{split}## Rankings

Kendall's tau: 1 all pairs in order, −1 none. The verdict is that against the better of the two.

{taus}

What that paper prints for constraint classification is not repeated here: there was no copy of it
at hand to check the figures against.

## What was chosen, and how exactly it was solved

Median of the C that the folds chose, with the least and the largest; and the largest relative
duality gap of the fits above: how far an objective may be from its minimum (`tol` is 1e-3).

{fits}

Files beside this page: `trials.csv` (every set, seed and method), `summary.csv` (the comparisons).
"""

_SPLIT = """\
On the split into training and test rows that comes with each set, once, the ranking loss in %:

{losses}

"""


def page(
    trials: Sequence[Trial], split: Sequence[Trial], *, seeds: int, parts: int, quick: bool
) -> str:
    """The page in Markdown; `split` are trials on the published splits, or empty."""
    tables = {
        "losses": (LOSS_HEADER, loss_rows(trials)),
        "others": (
            ["data", f"one-error, {SVC}", ONE_VS_REST, f"average precision, {SVC}", ONE_VS_REST],
            _other_rows(trials),
        ),
        "taus": (TAU_HEADER, tau_rows(trials)),
        "fits": (
            ["data", f"C of {SVC}", "of one-vs-rest (winner)", "of upper half", "largest gap"],
            _fit_rows(trials),
        ),
    }
    shown = {
        name: format_table(header, rows, style="markdown")
        for name, (header, rows) in tables.items()
    }
    on_split = format_table(LOSS_HEADER, loss_rows(split), style="markdown") if split else ""
    return _PAGE.format(
        trial_run="**A trial run on a small part of the data: its numbers say nothing.**\n\n"
        if quick
        else "",
        seeds=seeds,
        parts=parts,
        grid=f"{GRID[0]:g} to {GRID[-1]:g} in {len(GRID)} steps",
        held_out=HELD_OUT,
        patience=PATIENCE,
        worse=WORSE - 1,
        split=_SPLIT.format(losses=on_split) if split else "",
        **shown,
    )
