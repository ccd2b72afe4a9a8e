"""`kesler train`: from a data file to a model file."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from kesler.cli._examples import Examples, Wanted
from kesler.cli._labels import constraints_of
from kesler.cli._learners import Learner, add_learners, learner_of, rows_of
from kesler.cli._model import notes_of
from kesler.cli._options import Commands, add_command, add_jobs, add_labels
from kesler.cli._read import read_examples
from kesler.cli._streams import UsageError, check_output, written
from kesler.constraints import Constraints
from kesler.linear import ConstraintSVC
from kesler.persistence._models import pack_model, write_model
from kesler.preparation import TablePreparer
from kesler.reporting import certificate_page

_EXAMPLES = """\
  kesler train flowers.csv -o flowers.kes
  kesler train flowers.csv --target species --passes 50 -o flowers.kes
  kesler train songs.parquet --kind labelsets --rule pa1 --C 0.1 -o songs.kes
  kesler train news.svm.gz --estimator constraint-svc --C 0.5 --report news.html -o news.kes
  kesler train news.svm.gz --rule winnow --early-stopping -o news.kes
  kesler train X.npy --labels y.npy --scale standard -o numbers.kes
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "train", _run, "train a model on a data file", _EXAMPLES)
    parser.add_argument("data", metavar="DATA", help="the examples, with their labels")
    parser.add_argument(
        "-o", "--output", required=True, metavar="MODEL", help="model file to write; - is stdout"
    )
    add_labels(parser, "the last", "auto: as they look")
    table = parser.add_argument_group("preparation")
    table.add_argument(
        "--nominal",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of categories that look like numbers; can be repeated",
    )
    table.add_argument(
        "--missing",
        choices=["category", "impute"],
        default="category",
        help="missing categories: one more category, or the most frequent one (category)",
    )
    table.add_argument(
        "--scale",
        choices=["standard", "range", "none"],
        help="numbers to mean 0 and deviation 1, or to 0..1 (standard for tables, none for arrays)",
    )
    add_learners(parser)
    add_jobs(parser, "learning, or the error on the share held out")
    parser.add_argument(
        "--report",
        metavar="PAGE",
        help="write the certificate of constraint-svc as a page, .html or .md",
    )


def _run(options: argparse.Namespace) -> None:
    check_output(options.output, options.data, options.labels)
    if options.output == "-" and sys.stdout.isatty():
        raise UsageError("a model is no text for a terminal; give -o a file, or a pipe")
    classifier = learner_of(options)
    if options.report is not None:
        _check_report(options, classifier)
    examples = read_examples(
        options.data,
        Wanted(target=options.target, labels_path=options.labels, nominal=options.nominal),
    )
    assert examples.labels is not None
    constraints = constraints_of(
        examples.labels, options.kind or "auto", examples.path, examples.target_place
    )
    examples.schema.kind = constraints.kind
    estimator = _estimator(classifier, options, examples)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # The summary says by what it was stopped, and at which gap.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(examples.X, constraints)
    seconds = time.perf_counter() - start
    classifier.set_params(verbose=0)
    with written(options.output) as stream:
        write_model(stream, *pack_model(estimator, notes_of(examples.schema)))
    shown = sys.stderr if options.output == "-" else sys.stdout
    print(_summary(examples, constraints, classifier, seconds), file=shown)
    print(f"{'model:':<20} {options.output}", file=shown)
    if options.report is not None:
        assert isinstance(classifier, ConstraintSVC)
        page = certificate_page(classifier, f"Learned from {Path(options.data).name}")
        print(f"{'report:':<20} {page.save(options.report)}", file=shown)


def _check_report(options: argparse.Namespace, classifier: Learner) -> None:
    if not isinstance(classifier, ConstraintSVC):
        raise UsageError("--report shows a certificate; only --estimator constraint-svc has one")
    check_output(options.report, options.data, options.labels)
    if Path(options.report).suffix.lower() not in (".html", ".htm", ".md"):
        raise UsageError(f"--report {options.report}: a page is .html or .md")
    if not Path(options.report).absolute().parent.is_dir():
        raise UsageError(f"--report {options.report}: there is no such folder")
    if find_spec("matplotlib") is None:
        raise ImportError("figures need matplotlib: pip install 'kesler[report]'")


def _estimator(classifier: Learner, options: argparse.Namespace, examples: Examples) -> Any:
    """The classifier, behind what prepares tables for it."""
    if not examples.is_table and options.scale in (None, "none"):
        return classifier
    if not isinstance(examples.X, np.ndarray):
        raise UsageError("--scale would fill in the zeros of a sparse file; leave it out")
    scale: Any = options.scale or "standard"
    preparer = TablePreparer(
        nominal=np.flatnonzero(examples.schema.nominal).tolist(),
        missing=options.missing,
        scale=None if scale == "none" else scale,
        dtype=np.float32 if examples.X.dtype == np.float32 else np.float64,
    )
    return Pipeline([("table", preparer), ("model", classifier)])


def _summary(
    examples: Examples, constraints: Constraints, classifier: Learner, seconds: float
) -> str:
    schema = examples.schema
    kind = {"labelsets": "label sets"}.get(constraints.kind, constraints.kind)
    rows: list[list[Any]] = [
        ["examples", len(examples)],
        ["features", schema.n_features],
        ["labels", f"{constraints.n_labels} ({kind})"],
        *rows_of(classifier),
        ["seconds", f"{seconds:.2f}"],
    ]
    if schema.columns is not None:
        nominal = [
            name for name, is_so in zip(schema.columns, schema.nominal, strict=True) if is_so
        ]
        some = ", ".join(nominal[:8]) + (", ..." if len(nominal) > 8 else "")
        rows.insert(2, ["nominal", some or "none"])
    return "\n".join(f"{name + ':':<20} {value}" for name, value in rows)
