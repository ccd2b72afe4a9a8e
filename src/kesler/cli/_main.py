"""Where the command line begins: options, commands, and what becomes of an error."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from kesler._version import __version__
from kesler.cli import _demo, _evaluate, _predict, _reproduce, _train
from kesler.cli._options import help_format
from kesler.cli._streams import UsageError

_DESCRIPTION = "Learning from any order on labels: a class, a set of labels, a ranking."

_EPILOG = """\
examples:
  kesler demo
  kesler train flowers.csv -o flowers.kes
  kesler predict flowers.kes new.csv -o predicted.csv
  kesler evaluate flowers.kes test.csv
  kesler reproduce constraint-classification

`kesler COMMAND --help` shows the options of a command and examples.

exit codes:
  0    done
  1    the data, the model or the machine would not do; one line says why
  2    the command line was wrong
  130  stopped by Ctrl-C
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the name of the program; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 done, 1 bad data or a bad model, 2 a wrong command line, 130 Ctrl-C.

    Examples
    --------
    >>> from kesler.cli import main
    >>> main(["--version"])
    kesler ...
    0
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A label that the terminal cannot show is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(argv)
    except SystemExit as done:  # argparse has said what there is to say
        return int(done.code or 0)
    try:
        options.run(options)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(f"{error}\n(kesler {options.command} --help shows what can be given)", 2)
    except BrokenPipeError:
        # Who reads the output has enough. Python must not try again to write at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        reason = error.strerror or str(error)
        return _fail(reason if error.filename is None else f"{error.filename}: {reason}", 1)
    except (ValueError, TypeError, ImportError) as error:
        return _fail(" ".join(str(error).split()), 1)
    except MemoryError:
        return _fail("there is not enough memory", 1)
    except KeyboardInterrupt:
        return _fail("stopped", 130)
    return 0


def _fail(reason: str, code: int) -> int:
    print(f"kesler: {reason}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kesler",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=help_format,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kesler {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (_train, _predict, _evaluate, _reproduce, _demo):
        command.add(commands)
    return parser
