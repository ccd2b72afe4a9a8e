"""`kesler evaluate`: how well a model predicts the labels of a data file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from kesler import metrics
from kesler._progress import Progress
from kesler.cli._examples import Wanted
from kesler.cli._labels import constraints_of
from kesler.cli._model import Model, load_model
from kesler.cli._options import Commands, add_command, add_jobs, add_labels
from kesler.cli._predict import label_scores
from kesler.cli._read import read_examples
from kesler.constraints import Constraints
from kesler.reporting import format_table

_EXAMPLES = """\
  kesler evaluate flowers.kes test.csv
  kesler evaluate news.kes test.svm.gz --jobs -1
  kesler evaluate numbers.kes X_test.npy --labels y_test.npy
"""

_SCORES_AT_ONCE = 1 << 20
_BEST = 5


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "evaluate", _run, "judge a model on a data file with labels", _EXAMPLES
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("data", metavar="DATA", help="the examples, with their labels")
    add_labels(parser, "the one of training", "as in training")
    add_jobs(parser)


def _run(options: argparse.Namespace) -> None:
    model = load_model(options.model, options.jobs)
    wanted = Wanted(schema=model.schema, target=options.target, labels_path=options.labels)
    examples = read_examples(options.data, wanted)
    assert examples.labels is not None
    kind = options.kind or model.schema.kind
    constraints = constraints_of(examples.labels, kind, examples.path, examples.target_place)
    known = set(model.names)
    unknown = [label for label in constraints.labels.tolist() if label not in known]
    if unknown:
        some = ", ".join(unknown[:6]) + (", ..." if len(unknown) > 6 else "")
        print(
            f"kesler: {examples.path}: labels the model does not know, ranked last: {some}",
            file=sys.stderr,
        )
    rows = [["examples", len(examples)], *_judge(model, examples.X, constraints)]
    print(format_table(["measure", "value"], rows))


def _judge(model: Model, X: Any, constraints: Constraints) -> list[list[Any]]:
    """The mean of each measure, by blocks of rows: nothing of size n x k is made."""
    labels = np.union1d(constraints.labels.astype(np.str_), np.array(model.names))
    constraints = constraints.relabelled(labels)
    place = np.searchsorted(labels, model.names)
    judges_sets = constraints.kind == "labelsets" and "indicator" in model.classifier._answer
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    n = X.shape[0]
    step = max(1, _SCORES_AT_ONCE // labels.size)
    with Progress("evaluating", n) as progress:
        for begin in range(0, n, step):
            part = constraints[begin : begin + step]
            scores = np.full((part.n_samples, labels.size), -np.inf)
            scores[:, place] = label_scores(model, model.prepared(X[begin : begin + step]))
            for name, (value, count) in _measures(part, scores, judges_sets).items():
                # Of no examples there is no mean.
                sums[name] = sums.get(name, 0.0) + (value * count if count else 0.0)
                counts[name] = counts.get(name, 0) + count
            progress.update(begin + part.n_samples)
    return [[k, f"{sums[k] / counts[k]:.4f}" if counts[k] else None] for k in sums]


def _measures(
    part: Constraints, scores: npt.NDArray[Any], judges_sets: bool
) -> dict[str, tuple[float, int]]:
    """Means over some examples that suit the kind of their labels, and over how many they are."""
    n = part.n_samples
    right = 1 - metrics.constraint_error(part, scores)
    if part.kind == "rankings":
        ranked = int(np.count_nonzero(part.sizes))
        return {
            "orders without error": (right, n),
            "Kendall's tau": (metrics.kendall_tau(part, scores), ranked),
        }
    found: dict[str, tuple[float, int]] = {}
    if part.kind == "classes":
        found["accuracy"] = (right, n)
        if part.n_labels > 2 * _BEST:
            among = _BEST * metrics.precision_at(part, scores, _BEST)
            found[f"among the best {_BEST}"] = (among, n)
    else:
        if judges_sets:
            found["subset accuracy"] = (right, n)
            wrong = (scores > 0) != part.indicator().toarray()
            found["Hamming loss"] = (float(wrong.mean()), n)
        found["precision of the best"] = (metrics.precision_at(part, scores, 1), n)
    found["ranking loss"] = (metrics.ranking_loss(part, scores), n)
    return found
