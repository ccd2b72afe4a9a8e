"""`ConstraintSVC` against LIBLINEAR and others: seconds of training to equal objective.

Every contender runs in a process of its own, with the rows loaded before its clock starts; `CPU s`
and `wall s` are the least of all its fits, which come in rounds through the contenders. Times of
LIBLINEAR are those of `train`, its problem built beforehand; ours are those of the whole `fit`,
with the certificate (`gap`) that it ends with. One float64 objective, in NumPy, judges all. A
tolerance means another thing to each solver, so ours is the loosest of a ladder at which the
objective is no higher than the peer's. `peak MB` is what the first fit adds to the memory that
the process held before.

    python benchmarks/svc.py                          # everything but the 10 000 labels
    python benchmarks/svc.py --quick                  # the same on few rows of every set
    python benchmarks/svc.py --sets letter,20news --sections classes,threads
    python benchmarks/svc.py --strict --json svc.json # exit 1 if a peer or a target is missed
    python benchmarks/svc.py --sections growth --plots plots
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import tempfile
from pathlib import Path

from _svc_bench import SETS, Bench
from _svc_growth import growth
from _svc_sections import SECTIONS
from kesler import ConstraintSVC, _core

OPTIONAL = ("labels10k",)


def chosen(names: list[str]):
    def parse(text: str) -> list[str]:
        wanted = text.split(",")
        for name in wanted:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(names)}")
        return wanted

    return parse


def main() -> int:
    sets, sections = list(SETS), [*SECTIONS, "growth"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = [name for name in sets if name not in OPTIONAL]
    parser.add_argument("--sets", type=chosen(sets), default=usual, help=",".join(sets))
    parser.add_argument("--sections", type=chosen(sections), help=",".join(sections))
    parser.add_argument("--repeat", type=int, default=3, help="rounds through the contenders")
    parser.add_argument("--cap", type=float, default=900.0, help="seconds a process may take")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--plots", type=Path, help="folder for the plots of growth")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    options = parser.parse_args()
    wanted = options.sections or [*SECTIONS, *(["growth"] if options.plots else [])]

    print(f"instruction set {_core.isa()}, load {os.getloadavg()[0]:.2f}, {ConstraintSVC()!r}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.quick, options.repeat, options.cap)
        for section in wanted:
            measure = growth if section == "growth" else SECTIONS[section]
            print(f"\n== {section}: {inspect.getdoc(measure)}\n")
            if section == "growth":
                growth(bench, options.plots or Path("plots"))
            else:
                SECTIONS[section](bench, options.sets)
    print("\n== missing or missed" if bench.problems else "\n== nothing missing, no target missed")
    for problem in bench.problems:
        print(problem)
    if options.json:
        found = {"records": bench.records, "problems": bench.problems, "isa": _core.isa()}
        options.json.write_text(json.dumps(found, indent=1, default=str))
    return 1 if options.strict and bench.problems else 0


if __name__ == "__main__":
    sys.exit(main())
