"""`kesler predict`: labels, rankings and scores for a data file, as CSV."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from kesler._progress import Progress
from kesler.cli._examples import Wanted
from kesler.cli._model import Model, load_model
from kesler.cli._options import Commands, add_command, add_jobs, whole
from kesler.cli._read import read_examples
from kesler.cli._streams import UsageError, check_output, written

_EXAMPLES = """\
  kesler predict flowers.kes new.csv
  kesler predict flowers.kes new.csv -o predicted.csv --scores
  kesler predict songs.kes songs.parquet --top 3 -o best.csv
  kesler predict meals.kes meals.csv --ranking -o orders.csv
"""

_SCORES_AT_ONCE = 1 << 20


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "predict", _run, "predict the labels of a data file, as CSV", _EXAMPLES
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("data", metavar="DATA", help="the examples; labels are not looked at")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="CSV file to write; - is stdout (-)"
    )
    parser.add_argument("--ranking", action="store_true", help="add all labels, best first")
    parser.add_argument("--top", type=whole(1), metavar="L", help="add the L best labels")
    parser.add_argument("--scores", action="store_true", help="add the score of each label")
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="add those of a model trained with --calibration",
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="column to leave out, where the model knows no names"
    )
    add_jobs(parser)


def _run(options: argparse.Namespace) -> None:
    check_output(options.output, options.data, options.model)
    model = load_model(options.model, options.jobs)
    if options.top is not None and options.top > len(model.names):
        raise UsageError(f"--top {options.top}: the model knows {len(model.names)} labels")
    if options.probabilities and not hasattr(model.classifier, "predict_proba"):
        raise UsageError("--probabilities: the model was trained without --calibration")
    wanted = Wanted(schema=model.schema, target=options.target, labels=False)
    X = read_examples(options.data, wanted).X
    with written(options.output) as stream:
        _write(stream, model, X, options)


def _write(stream: BinaryIO, model: Model, X: Any, options: argparse.Namespace) -> None:
    n = X.shape[0]
    step = max(1, _SCORES_AT_ONCE // len(model.names))
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    try:
        out = csv.writer(text, lineterminator="\n")
        out.writerow(_header(model, options))
        with Progress("predicting", n) as progress:
            for begin in range(0, n, step):
                rows = model.prepared(X[begin : begin + step])
                out.writerows(zip(*_columns(model, rows, options), strict=True))
                progress.update(begin + rows.shape[0])
    finally:
        text.detach()  # the stream belongs to the caller


def _header(model: Model, options: argparse.Namespace) -> list[str]:
    header = ["prediction"]
    if options.ranking:
        header.append("ranking")
    if options.top is not None:
        header += [f"top_{place}" for place in range(1, options.top + 1)]
    if options.probabilities:
        header += [f"probability_{name}" for name in model.names]
    if options.scores:
        header += [f"score_{name}" for name in model.names]
    return header


def _columns(model: Model, rows: Any, options: argparse.Namespace) -> Iterator[list[str]]:
    """The columns of the answer for some rows, in the order of `_header`."""
    classifier = model.classifier
    yield _predictions(model, rows)
    if options.ranking:
        yield _orders(classifier.predict_ranking(rows))
    if options.top is not None:
        best = classifier.predict_labelset(rows, options.top)
        yield from ([str(label) for label in column.tolist()] for column in best.T)
    if options.probabilities:
        yield from classifier.predict_proba(rows).T.astype(np.str_).tolist()
    if options.scores:
        # As text of the scores' own precision: a float32 has no sixteen digits to show.
        yield from label_scores(model, rows).T.astype(np.str_).tolist()


def label_scores(model: Model, rows: Any) -> Any:
    """A column of scores for each label, of two labels too."""
    scores = model.classifier.decision_function(rows)
    if scores.ndim == 1:
        return np.stack([np.zeros_like(scores), scores], axis=1)
    return scores


def _predictions(model: Model, rows: Any) -> list[str]:
    predicted = model.classifier.predict(rows)
    if model.classifier._answer == "orders":
        return _orders(predicted)
    if predicted.ndim == 1:
        return [str(label) for label in predicted.tolist()]
    held = sp.csr_matrix(predicted)
    names = np.array(model.names, dtype=object)[held.indices]
    return ["|".join(part) for part in np.split(names, held.indptr[1:-1])]


def _orders(orders: Any) -> list[str]:
    return [">".join(map(str, order)) for order in orders.tolist()]
