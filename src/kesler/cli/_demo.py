"""`kesler demo`: a first look, on data that needs no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from kesler.cli._options import Commands, add_command
from kesler.cli._streams import UsageError

_EXAMPLES = """\
  kesler demo
  kesler demo --quick -o /tmp/demo.html
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        _run,
        "compare one-vs-all and constraint classification on embedded data",
        _EXAMPLES,
        formats=False,
    )
    parser.add_argument(
        "-o", "--output", default="kesler-demo.html", metavar="FILE", help="page (kesler-demo.html)"
    )
    parser.add_argument("--quick", action="store_true", help="one repetition on fewer points")


def _run(options: argparse.Namespace) -> None:
    from kesler.experiments import demo

    page = Path(options.output).absolute()
    if page.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--output {options.output}: the page is an .html file")
    if not page.parent.is_dir():
        raise UsageError(f"--output {options.output}: there is no folder {page.parent}")
    print(demo.run(page, quick=options.quick))
    print(page)
