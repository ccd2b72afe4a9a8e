"""`kesler train`: from a data file to a model file."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kesler import _core
from kesler.cli._examples import Examples, Wanted
from kesler.cli._labels import constraints_of
from kesler.cli._model import notes_of
from kesler.cli._options import Commands, add_command, add_jobs, add_labels, defaults, whole
from kesler.cli._read import read_examples
from kesler.cli._streams import UsageError, check_output, written
from kesler.constraints import Constraints
from kesler.linear import OnlineClassifier
from kesler.persistence._models import pack_model, write_model
from kesler.preparation import TablePreparer

_EXAMPLES = """\
  kesler train flowers.csv -o flowers.kes
  kesler train flowers.csv --target species --passes 50 -o flowers.kes
  kesler train songs.parquet --kind labelsets --rule pa1 --C 0.1 -o songs.kes
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
    _add_learner(parser.add_argument_group("learning"))
    add_jobs(parser, "the error on the share held out")


def _add_learner(group: Any) -> None:
    own = defaults(OnlineClassifier)
    group.add_argument(
        "--rule",
        choices=_core.rule_names(),
        default=own["rule"],
        help=f"how to move ({own['rule']})",
    )
    group.add_argument(
        "--update",
        choices=["all", "worst", "independent"],
        default=own["update"],
        help=f"violated pairs to move on; independent is one-vs-all ({own['update']})",
    )
    group.add_argument(
        "--passes",
        dest="max_iter",
        type=whole(1),
        default=own["max_iter"],
        metavar="N",
        help=f"over the data, at most ({own['max_iter']})",
    )
    for option, name, text in [
        ("average", "average", "predict with the mean of the weights over all steps"),
        ("shuffle", "shuffle", "a new random order in each pass"),
        ("intercept", "fit_intercept", "a threshold for each label"),
        ("early-stopping", "early_stopping", "stop by the error on a share held out"),
    ]:
        group.add_argument(
            f"--{option}",
            dest=name,
            action=argparse.BooleanOptionalAction,
            default=own[name],
            help=f"{text} ({'yes' if own[name] else 'no'})",
        )
    for option, name, kind, text in [
        ("C", "C", float, "how aggressive pa1 and pa2 are"),
        ("promotion", "promotion", float, "factor of winnow"),
        ("validation-fraction", "validation_fraction", float, "the share held out"),
        ("patience", "n_iter_no_change", whole(1), "passes without a lower error to wait for"),
    ]:
        group.add_argument(
            f"--{option}",
            dest=name,
            type=kind,
            default=own[name],
            metavar="N" if option == "patience" else "X",
            help=f"{text} ({own[name]})",
        )
    group.add_argument(
        "--class-weight", choices=["balanced"], help="make rare classes weigh as much as others"
    )
    group.add_argument(
        "--seed",
        dest="random_state",
        type=whole(0),
        default=0,
        metavar="N",
        help="of what is random (0)",
    )


def _run(options: argparse.Namespace) -> None:
    check_output(options.output, options.data, options.labels)
    if options.output == "-" and sys.stdout.isatty():
        raise UsageError("a model is no text for a terminal; give -o a file, or a pipe")
    classifier = _classifier(options)
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
    estimator.fit(examples.X, constraints)
    seconds = time.perf_counter() - start
    classifier.set_params(verbose=0)
    with written(options.output) as stream:
        write_model(stream, *pack_model(estimator, notes_of(examples.schema)))
    shown = sys.stderr if options.output == "-" else sys.stdout
    print(_summary(examples, constraints, classifier, seconds), file=shown)
    print(f"{'model:':<20} {options.output}", file=shown)


def _classifier(options: argparse.Namespace) -> OnlineClassifier:
    names = defaults(OnlineClassifier)
    given = {name: value for name, value in vars(options).items() if name in names}
    classifier = OnlineClassifier(**given, n_jobs=options.jobs, verbose=1)
    try:
        classifier._check_parameters()
    except ValueError as error:
        raise UsageError(str(error)) from error
    return classifier


def _estimator(
    classifier: OnlineClassifier, options: argparse.Namespace, examples: Examples
) -> Any:
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
    examples: Examples, constraints: Constraints, classifier: OnlineClassifier, seconds: float
) -> str:
    schema = examples.schema
    kind = {"labelsets": "label sets"}.get(constraints.kind, constraints.kind)
    rows: list[list[Any]] = [
        ["examples", len(examples)],
        ["features", schema.n_features],
        ["labels", f"{constraints.n_labels} ({kind})"],
        ["passes", classifier.n_iter_],
        ["moved in last pass", f"{classifier.mistakes_[-1]} examples"],
        ["seconds", f"{seconds:.2f}"],
    ]
    if schema.columns is not None:
        nominal = [
            name for name, is_so in zip(schema.columns, schema.nominal, strict=True) if is_so
        ]
        some = ", ".join(nominal[:8]) + (", ..." if len(nominal) > 8 else "")
        rows.insert(2, ["nominal", some or "none"])
    return "\n".join(f"{name + ':':<20} {value}" for name, value in rows)
