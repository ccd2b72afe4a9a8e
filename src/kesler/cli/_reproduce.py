"""`kesler reproduce`: a table or a figure of a paper, made anew."""

from __future__ import annotations

import argparse
from pathlib import Path

from kesler import experiments
from kesler.cli._options import Commands, add_command, whole

_EXAMPLES = """\
  kesler reproduce constraint-classification
  kesler reproduce constraint-svc --quick -o /tmp/reports

The papers' data are read from the folder that the environment variable KESLER_DATA names, or
fetched from OpenML.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "reproduce",
        _run,
        "make a table or a figure of a paper anew",
        _EXAMPLES,
        formats=False,
    )
    parser.add_argument("name", choices=experiments.names(), help="the experiment")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="for its files (reports/NAME)")
    parser.add_argument(
        "--seeds", type=whole(1), default=5, metavar="N", help="repetitions, each with its seed (5)"
    )
    parser.add_argument("--quick", action="store_true", help="small: to see that it works")


def _run(options: argparse.Namespace) -> None:
    folder = Path(options.output or Path("reports") / options.name)
    print(experiments.run(options.name, folder, seeds=options.seeds, quick=options.quick))
    print(f"files in {folder.absolute()}")
