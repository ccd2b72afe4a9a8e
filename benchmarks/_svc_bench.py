"""What the sections of `svc.py` share: sets, contenders run in rounds, equal objectives, tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import _sets
from _svc_run import Result, run, store

TOLS = tuple(m * 10.0**-e for e in range(1, 7) for m in (3, 2, 1, 0.5))[:-1]
STARTS = (0.05, 0.002)  # where the search for the loosest tolerance starts, by the peer's
LONG = 20.0  # seconds of a fit beyond which it is not repeated
FILES = ("letter", "mnist", "20news")

SETS: dict[str, Callable[[], _sets.Split]] = {
    "sorting": _sets.sorting,
    "letter": _sets.letter,
    "mnist": _sets.mnist,
    "20news": _sets.newsgroups,
    "text-like": lambda: _sets.text_like(n=20_000),
    "labels10k": lambda: _sets.text_like(100_000, 100_000, 10_000, even=False),
}
QUICK = (2000, 1000)  # rows of the training and the test part with --quick


@dataclass(frozen=True)
class Case:
    """A stored set and the objective to minimise on it."""

    name: str
    folder: Path
    C: float = 1.0
    aggregate: str = "max"
    loss: str = "hinge"


@dataclass(frozen=True)
class Line:
    """A contender as the table names it, and its settings."""

    label: str
    contender: str
    settings: dict[str, Any]
    dtype: str = "float32"
    measure: tuple[str, ...] = ()


@dataclass
class Bench:
    """The run: what was asked for, where sets are stored, what was found."""

    folder: Path
    quick: bool
    repeat: int
    cap: float
    records: list[Result] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _absent: set[str] = field(default_factory=set)

    def problem(self, text: str) -> None:
        """Say what is missing or missed, now and at the end."""
        if text not in self.problems:
            self.problems.append(text)
        print(f"  ! {text}", flush=True)

    def stored(
        self,
        name: str,
        make: Callable[[], _sets.Split] | None = None,
        needs_files: bool | None = None,
        rows: int | None = None,
    ) -> Path | None:
        """The folder of a set, made at first; None where its files are missing.

        `rows` thins the training part.
        """
        folder = self.folder / (name if rows is None else f"{name}-{rows}")
        if (folder / "set.json").exists():
            return folder
        needs_files = name in FILES if needs_files is None else needs_files
        if needs_files and _sets.missing_data():
            self.problem(f"{name}: set missing, {_sets.missing_data()}")
            return None
        data = (make or SETS[name])()
        most = [m for m in (rows, QUICK[0] if self.quick else None) if m is not None]
        if most:
            data = data.thinned(min(most), QUICK[1] if self.quick else data.X_test.shape[0])
        store(data, folder)
        X = data.X
        print(
            f"set {name}: {X.shape[0]} x {X.shape[1]}"
            + (f" with {X.nnz} stored" if hasattr(X, "nnz") else "")
            + f", {data.n_labels} labels, {data.X_test.shape[0]} test rows",
            flush=True,
        )
        return folder

    def fits(self, case: Case, line: Line, limit: float | None = None) -> Result:
        """Fits of one contender in a fresh process."""
        found = self.start(case, line, {"task": "fits", "measure": line.measure}, limit)
        if "missing" in found and line.contender not in self._absent:
            self._absent.add(line.contender)
            self.problem(f"{line.label}: peer missing ({found['missing']})")
        return found

    def start(self, case: Case, line: Line, job: Result, limit: float | None = None) -> Result:
        told = {
            "contender": line.contender,
            "settings": line.settings,
            "dtype": line.dtype,
            "data": str(case.folder),
            "C": case.C,
            "aggregate": case.aggregate,
            "loss": case.loss,
        }
        return run(told | job, limit or self.cap)

    def rounds(
        self, case: Case, lines: Sequence[Line], found: list[Result], limit: float | None = None
    ) -> None:
        """Further rounds through all contenders, in turn, into the results `found` of the first."""
        for _ in range(1, self.repeat):
            for line, result in zip(lines, found, strict=True):
                if "times" not in result or best(result)[1] > LONG:
                    continue
                again = self.fits(case, replace(line, measure=()), limit)
                result["times"] += again.get("times", [])

    def show(self, section: str, case: Case, line: Line, found: Result) -> None:
        """One line of the table of contenders, and its record."""
        self.records.append(
            {"section": section, "set": case.name, "C": case.C, "aggregate": case.aggregate}
            | {"loss": case.loss, "solver": line.label, "rows": line.dtype}
            | {"settings": line.settings, **found}
        )
        print(_row(case.name, line, found), flush=True)


def ours(case: Case, tol: float, dtype: str = "float32", **settings: Any) -> Line:
    """`ConstraintSVC` with one thread unless told otherwise."""
    told = {"C": case.C, "aggregate": case.aggregate, "loss": case.loss, "n_jobs": 1, **settings}
    return Line(f"Kesler tol={tol:g}", "kesler", {**told, "tol": tol}, dtype)


def liblinear(case: Case, eps: float | None, solver: int = 4) -> Line:
    label = f"LIBLINEAR -s {solver}" + (f" -e {eps:g}" if eps is not None else "")
    return Line(label, "liblinear", {"solver": solver, "eps": eps, "C": case.C}, "float64")


def best(found: Result) -> tuple[float, float]:
    """Least seconds of CPU and of the clock."""
    return min(cpu for cpu, _ in found["times"]), min(wall for _, wall in found["times"])


def loosest(
    bench: Bench,
    case: Case,
    goals: Sequence[float | None],
    dtype: str,
    limit: float,
    starts: Sequence[float] = STARTS,
) -> list[float | None]:
    """The loosest tolerance of ours that reaches each objective; None where none does."""
    kept = [(goal, start) for goal, start in zip(goals, starts, strict=True) if goal is not None]
    if not kept:
        return [None] * len(goals)
    line = ours(case, 0.0, dtype)
    settings = {name: value for name, value in line.settings.items() if name != "tol"}
    job = {
        "task": "ladder",
        "tols": TOLS,
        "targets": [goal for goal, _ in kept],
        "starts": [start for _, start in kept],
        "budget": limit,
    }
    found = bench.start(case, replace(line, settings=settings), job, 2 * limit)
    if "found" not in found:
        bench.problem(f"{case.name}: ConstraintSVC, {dtype}: {why(found)}")
        return [None] * len(goals)
    reached = iter(found["found"])
    tols = [None if goal is None else next(reached) for goal in goals]
    for goal, tol in zip(goals, tols, strict=True):
        if goal is not None and tol is None:
            least = min(tried["objective"] for tried in found["tried"])
            bench.problem(
                f"{case.name}, C={case.C:g}, {case.aggregate} {case.loss}, {dtype}: objective "
                f"{goal:.8g} not reached, {least:.8g} at best"
            )
    return tols


def compare(
    bench: Bench,
    section: str,
    case: Case,
    peers: Sequence[Line],
    dtypes: Iterable[str] = ("float32", "float64"),
    limit: float | None = None,
    stand_in: Callable[[Line], tuple[Line, Result] | None] = lambda line: None,
) -> dict[str, list[float | None]]:
    """Peers, and ours at the objective of each: a table, and the ratios of CPU time by type.

    `stand_in` finds something to compare with for a peer that was stopped at the limit.
    """
    limit = limit or bench.cap
    peers, found = list(peers), [bench.fits(case, peer, limit) for peer in peers]
    for i, result in enumerate(found):
        if "capped" in result:
            bench.show(section, case, peers[i], result)
            other = stand_in(peers[i])
            if other is not None:
                peers[i], found[i] = other
    goals = [result.get("objective") for result in found]
    lines, results = peers.copy(), found.copy()
    at: dict[str, list[int | None]] = {}
    starts: Sequence[float] = STARTS
    for dtype in dtypes:
        tols = loosest(bench, case, goals, dtype, limit, starts)
        starts = [start if tol is None else tol for start, tol in zip(starts, tols, strict=True)]
        at[dtype] = []
        for tol in tols:
            line = None if tol is None else ours(case, tol, dtype)
            if line is not None and line not in lines:
                lines.append(line)
                measured = replace(line, measure=("prediction",))
                results.append(bench.fits(case, measured, 2 * limit))
            at[dtype].append(None if line is None else lines.index(line))
    bench.rounds(case, lines, results, limit)
    for line, result in zip(lines, results, strict=True):
        bench.show(section, case, line, result)
    ratios: dict[str, list[float | None]] = {}
    for dtype, places in at.items():
        ratios[dtype] = []
        for i, place in enumerate(places):
            both = place is not None and "times" in results[i] and "times" in results[place]
            ratios[dtype].append(
                best(results[i])[0] / best(results[place])[0]
                if both and place is not None
                else None
            )
        told = ", ".join(
            f"{peer.label}: {'none' if ratio is None else f'{ratio:.1f}'}"
            for peer, ratio in zip(peers, ratios[dtype], strict=True)
        )
        print(f"  {case.name}, {dtype}: times the CPU seconds of Kesler at equal objective, {told}")
    for result in results:
        if "predict" in result:
            print(
                f"  {case.name}: predict {result['predict']:.4g} rows/s, one matrix product "
                f"{result['product']:.4g} rows/s"
            )
            break
    bench.records.append({"section": section, "set": case.name, "C": case.C, "ratios": ratios})
    return ratios


# --- Tables ------------------------------------------------------------------------------------

HEADER = (
    f"{'set':<16} {'solver':<34} {'rows':<8} {'CPU s':>9} {'wall s':>9} {'objective':>13} "
    f"{'gap':>8} {'sweeps':>6} {'accuracy':>8} {'peak MB':>8}"
)


def why(found: Result) -> str:
    """Why a result has no times."""
    if "capped" in found:
        return f"capped at {found['capped']:g} s"
    return str(found.get("missing") or found.get("failed"))


def _row(name: str, line: Line, found: Result) -> str:
    start = f"{name:<16} {line.label:<34} {line.dtype:<8} "
    if "times" not in found:
        return start + why(found)
    cpu, wall = best(found)

    def cell(key: str, shape: str, width: int) -> str:
        value = found.get(key)
        return f"{'-' if value is None else format(value, shape):>{width}}"

    text = (
        start
        + f"{cpu:9.4f} {wall:9.4f} {cell('objective', '.8g', 13)} {cell('gap', '.1e', 8)} "
        + f"{cell('n_iter', 'd', 6)} {cell('accuracy', '.4f', 8)} {found['peak'] / 1e6:8.1f}"
    )
    status = found.get("status", "converged")
    return text if status == "converged" else f"{text}  {status}"


def memory() -> float:
    """Bytes of memory of the machine, or infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
