"""`kesler demo`: one-vs-all against constraint classification on data that needs no network.

The comparison of Har-Peled, Roth and Zimak (2002, section 5) in small: the same perceptron on the
same network of one linear unit per label, trained label by label (one-vs-all) or by the order of
the labels (constraint classification), on scikit-learn's digits and on points that a linear sorter
is known to separate. It is a first look, not the reproduction of their Table 2.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kesler._progress import Progress
from kesler.datasets import make_linear_sorting
from kesler.linear import OnlineClassifier
from kesler.reporting import Page, format_table

__all__ = ["run"]

FloatArray = npt.NDArray[np.float64]

_METHODS = {
    "independent": "one-vs-all",
    "all": "constraints, all pairs",
    "worst": "constraints, worst pair",
}
# Colours that stand apart in any colour vision, on light and on dark.
_LOOKS = {"independent": ("#2a7fc9", "-"), "all": ("#d55e00", "-"), "worst": ("#0b9e77", ":")}

_HEADER = ["data", "method", "test error %", "train error %", "averaged %", "passes", "seconds"]

_INTRODUCTION = """
Three ways to train the same network, one linear unit per label, by the same rule, the perceptron.
**One-vs-all** (`update="independent"`) asks each unit to answer alone: is it my label or not?
**Constraint classification** asks only for the right order of the answers: the score of the true
label above every other score. It moves on every pair of labels that stands the wrong way round
(`update="all"`: **constraints, all pairs**) or on the worst of them (`update="worst"`:
**constraints, worst pair**).
"""

_READING = """
## Reading the table

- Errors are those of the weights after the last pass; ± is the standard deviation over repetitions.
- **averaged**: the test error of the mean of the weights over all steps, which is what
  `OnlineClassifier` predicts with unless it is told otherwise. It helps all of them, and one-vs-all
  a great deal.
- **passes**: training ends with the first pass without a mistake, at the latest after
  {passes_digits} passes on the digits and {passes_points} on the points.
- **seconds**: for training once, on one thread of this machine.
"""

_NEXT = """
## Where to go from here

`kesler train data.csv -o model.kes` learns from a file of yours, and `kesler reproduce
constraint-classification` repeats the experiment of the paper on all of its data.
"""


class _Size(NamedTuple):
    repetitions: int
    passes: int


class _Split(NamedTuple):
    X: Any
    y: Any
    X_test: Any
    y_test: Any


class _Run(NamedTuple):
    curve: list[float]  # test error in % after each pass
    train_error: float
    averaged: float
    seconds: float


def run(output: Path, *, quick: bool = False) -> str:
    """Compare the methods, write the page and return the table.

    Parameters
    ----------
    output : pathlib.Path
        The page, an HTML file.
    quick : bool, default=False
        One repetition on fewer points.

    Returns
    -------
    str
        The table as text.
    """
    _require_matplotlib()
    digits = _Size(1, 20) if quick else _Size(5, 50)
    points = _Size(1, 60) if quick else _Size(3, 200)
    n = 1000 if quick else 6000
    with Progress("demo", (digits.repetitions + 5 * points.repetitions) * len(_METHODS)) as bar:
        done = 0

        def report(share: int) -> None:
            nonlocal done
            done += share
            bar.update(done)

        results = {
            "digits": _compare(_digits, digits, lambda: report(1)),
            "points": _compare(lambda seed: _points(seed, n), points, lambda: report(5)),
        }
    rows = [_row(data, update, runs) for data, by in results.items() for update, runs in by.items()]
    _page(results, rows, digits, points, n).save(output)
    return format_table(_HEADER, rows)


def _digits(seed: int) -> _Split:
    X, y = load_digits(return_X_y=True)
    a, b, c, d = train_test_split(X / 16, y, test_size=0.4, stratify=y, random_state=seed)
    return _Split(a, c, b, d)


def _points(seed: int, n: int) -> _Split:
    X, y, _ = make_linear_sorting(2 * n, gap=0.02, random_state=seed)
    X = X.astype(np.float32)
    return _Split(X[:n], y[:n], X[n:], y[n:])


def _compare(
    draw: Callable[[int], _Split], size: _Size, report: Callable[[], None]
) -> dict[str, list[_Run]]:
    runs: dict[str, list[_Run]] = {update: [] for update in _METHODS}
    for seed in range(size.repetitions):
        data = draw(seed)
        for update, found in runs.items():
            found.append(_train(data, update, size.passes, seed))
            report()
    return runs


def _train(data: _Split, update: str, passes: int, seed: int) -> _Run:
    def learner(**options: Any) -> OnlineClassifier:
        # A generator and no number: a number would repeat the same order in every pass.
        state = np.random.RandomState(seed)
        return OnlineClassifier(update=update, random_state=state, **options)

    model = learner(average=False, max_iter=1, warm_start=True)
    curve: list[float] = []
    seconds = 0.0
    while len(curve) < passes:
        start = time.perf_counter()
        model.fit(data.X, data.y)
        seconds += time.perf_counter() - start
        curve.append(_error(model, data.X_test, data.y_test))
        if model.mistakes_[-1] == 0:
            break
    averaged = learner(average=True, max_iter=passes).fit(data.X, data.y)
    return _Run(
        curve,
        _error(model, data.X, data.y),
        _error(averaged, data.X_test, data.y_test),
        seconds,
    )


def _error(model: OnlineClassifier, X: Any, y: Any) -> float:
    return 100 * float(np.mean(model.predict(X) != y))


def _row(data: str, update: str, runs: list[_Run]) -> list[Any]:
    passes = sorted({len(run.curve) for run in runs})
    return [
        data,
        _METHODS[update],
        _spread([run.curve[-1] for run in runs]),
        _spread([run.train_error for run in runs]),
        _spread([run.averaged for run in runs]),
        str(passes[0]) if len(passes) == 1 else f"{passes[0]}–{passes[-1]}",
        round(float(np.mean([run.seconds for run in runs])), 2),
    ]


def _spread(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}"


# ---- the page -----------------------------------------------------------------------------------


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("the demo draws with matplotlib: pip install 'kesler[report]'") from error


def _page(
    results: dict[str, dict[str, list[_Run]]],
    rows: list[list[Any]],
    digits: _Size,
    points: _Size,
    n: int,
) -> Page:
    page = Page("Constraint classification against one-vs-all").text(_INTRODUCTION)
    page.table(_HEADER, rows, caption="The perceptron, one linear unit per label.")
    page.text("## Error after each pass")
    page.figure(
        _drawing(results["digits"]),
        "Digits: 1797 images of 8 by 8 pixels, 60 % of them for training. Test error after each "
        f"pass, mean of {digits.repetitions} split{'s' * (digits.repetitions > 1)}.",
    )
    page.figure(
        _drawing(results["points"]),
        f"Points in 100 dimensions, {n} for training and {n} for testing, labelled by the largest "
        "of three linear functions; points where the two largest differ by less than 0.02 are left "
        "out. So a sorter without error exists, and constraint classification is sure to find one "
        "that makes none in training; one-vs-all need not. Test error after each pass, mean of "
        f"{points.repetitions} draw{'s' * (points.repetitions > 1)}.",
    )
    page.text(_READING.format(passes_digits=digits.passes, passes_points=points.passes))
    return page.text(_NEXT)


def _drawing(runs: dict[str, list[_Run]]) -> Any:
    import matplotlib
    from matplotlib.figure import Figure

    longest = max(len(run.curve) for found in runs.values() for run in found)
    with matplotlib.rc_context({"font.size": 11}):  # still legible on a phone
        figure = Figure(figsize=(6.4, 3.6))
        axes = figure.subplots()
        for update, found in runs.items():
            # Whoever has finished keeps the error it ended with.
            curves = [run.curve + run.curve[-1:] * (longest - len(run.curve)) for run in found]
            colour, line = _LOOKS[update]
            axes.plot(
                np.arange(1, longest + 1),
                np.mean(curves, axis=0),
                line,
                color=colour,
                linewidth=1.8 if line == ":" else 1.3,
                label=_METHODS[update],
            )
        axes.set_xlabel("passes")
        axes.set_ylabel("test error %")
        axes.set_xlim(1, longest)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0.3,
            handlelength=1.5, columnspacing=1.2,
        )  # fmt: skip
    return figure
