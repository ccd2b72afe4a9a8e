"""How the cost grows with rows, features, labels and stored values of a row: numbers and plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import _sets
from _svc_bench import Bench, Case, best, liblinear, ours, why

TOL = 1e-3
EPS = 0.1
Make = Callable[[], _sets.Split]


def growth(bench: Bench, plots: Path) -> None:
    """Seconds of CPU to a gap of 1e-3, and of LIBLINEAR -s 4 -e 0.1, one of four sizes varied."""
    measured: dict[str, list[tuple[int, float | None, float | None]]] = {}
    print(f"{'varied':<16} {'size':>8} {'Kesler s':>10} {'LIBLINEAR s':>12} {'ratio':>6}")
    for varied, sizes in _varied(bench.quick).items():
        measured[varied] = []
        for size, make in sizes.items():
            name = f"{varied}-{size}"
            folder = bench.stored(name, make, False)
            case = Case(name, folder)
            lines = [ours(case, TOL), liblinear(case, EPS)]
            found = [bench.fits(case, line) for line in lines]
            bench.rounds(case, lines, found)
            for line, result in zip(lines, found, strict=True):
                if "times" not in result:
                    bench.problem(f"growth, {name}, {line.label}: {why(result)}")
            one, peer = (best(result)[0] if "times" in result else None for result in found)
            measured[varied].append((size, one, peer))
            told = [f"{'-' if s is None else format(s, '.4f')}" for s in (one, peer)]
            ratio = "-" if one is None or peer is None else f"{peer / one:.1f}"
            print(f"{varied:<16} {size:8d} {told[0]:>10} {told[1]:>12} {ratio:>6}", flush=True)
        bench.records.append({"section": "growth", "varied": varied, "points": measured[varied]})
    for varied, points in measured.items():
        _plot(varied, points, plots)


def _varied(quick: bool) -> dict[str, dict[int, Make]]:
    """For each plot its sizes, and how the set of each is made."""
    n, d, k, words = (2000, 20, 4, 20) if quick else (20_000, 100, 10, 40)
    times = (1, 2, 4) if quick else (1, 2, 4, 8, 16)
    quarters = [max(1, t * n // 4) for t in times]
    return {
        "rows": {m: _dense(m, d, k) for m in quarters},
        "features": {d * t // 4: _dense(n, d * t // 4, k) for t in times},
        "labels": {k * t // 2: _dense(n, d, k * t // 2) for t in times},
        "stored of a row": {words * t // 4: _sparse(n, k, words * t // 4) for t in times},
    }


def _dense(n: int, d: int, k: int) -> Make:
    def make() -> _sets.Split:
        from kesler.datasets import make_linear_sorting

        X, y, _ = make_linear_sorting(n, d, k, random_state=0)
        X = X.astype("float32")
        return _sets.Split(f"{n}x{d}x{k}", X, y, X[:0], y[:0], k)

    return make


def _sparse(n: int, k: int, words: int) -> Make:
    return lambda: _sets.text_like(n=n, d=3 * n, k=k, words=words)


def _plot(varied: str, points: list[tuple[int, float | None, float | None]], plots: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.add_subplot()
    curves = ((1, f"Kesler, gap {TOL:g}"), (2, f"LIBLINEAR -s 4 -e {EPS:g}"))
    for column, label in curves:
        known = [(point[0], point[column]) for point in points if point[column] is not None]
        axes.plot(*zip(*known, strict=True), marker="o", label=label) if known else None
    axes.set(xlabel=varied, ylabel="CPU seconds", xscale="log", yscale="log")
    axes.legend()
    plots.mkdir(parents=True, exist_ok=True)
    path = plots / f"svc-{varied.split()[0]}.png"
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")
