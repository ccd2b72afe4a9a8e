"""What the commands' options have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

FORMATS = """\
data files:
  CSV (.csv, .tsv, .gz)    with a header row; empty fields, ? and NA are missing
  Parquet (.parquet)       pip install 'kesler[cli]'
  svmlight (.svm, .svmlight, .libsvm, .gz)
  NumPy                    X.npy with --labels y.npy, or one .npz that holds X and y

labels:
  a                        a class
  a|b                      a set of labels; an empty field is the empty set
  a>b|c>d                  a ranking, best first, b and c tied
"""


def help_format(prog: str) -> argparse.HelpFormatter:
    """Help with its own line breaks, and room for the longest option."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28)


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], None],
    summary: str,
    examples: str,
    *,
    formats: bool = True,
) -> argparse.ArgumentParser:
    """A command with its help; `run` gets the parsed options."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{examples}" + (f"\n{FORMATS}" if formats else ""),
        formatter_class=help_format,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


def add_labels(parser: argparse.ArgumentParser, target: str, kind: str) -> None:
    """Options that say where the labels are and what they mean."""
    parser.add_argument("--target", metavar="COLUMN", help=f"column of the labels ({target})")
    parser.add_argument("--labels", metavar="FILE", help="labels of X.npy, a .npy file too")
    parser.add_argument(
        "--kind",
        choices=["auto", "classes", "labelsets", "rankings"],
        help=f"what the labels are ({kind})",
    )


def add_jobs(parser: argparse.ArgumentParser, work: str = "prediction") -> None:
    """The option for threads."""
    parser.add_argument(
        "--jobs", type=_threads, metavar="N", help=f"threads for {work}, -1 for all (1)"
    )


def _threads(text: str) -> int:
    value = int(text)
    if value == 0:
        raise argparse.ArgumentTypeError("there must be one thread at least")
    return value


def whole(at_least: int) -> Callable[[str], int]:
    """The type of an option that is an integer."""

    def integer(text: str) -> int:
        value = int(text)
        if value < at_least:
            raise argparse.ArgumentTypeError(f"{value} is below {at_least}")
        return value

    return integer


def defaults(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that nobody has set."""
    found: dict[str, Any] = estimator().get_params()
    return found
