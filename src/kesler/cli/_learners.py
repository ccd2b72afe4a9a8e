"""The estimators that `kesler train` knows, and the options each of them takes.

An option belongs to the estimators that have its parameter. What is given for one that has not is
refused; what is not given is left to the estimator.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

from kesler import _core
from kesler.cli._options import defaults, whole
from kesler.cli._streams import UsageError
from kesler.linear import ConstraintSVC, OnlineClassifier

Learner: TypeAlias = OnlineClassifier | ConstraintSVC

LEARNERS: dict[str, Callable[..., Any]] = {
    "online": OnlineClassifier,
    "constraint-svc": ConstraintSVC,
}

_SHOWN: dict[Any, str] = {True: "yes", False: "no", None: "none"}


def _parts(text: str) -> float:
    """A number of parts, or a share."""
    return int(text) if text.isdigit() else float(text)


# Option, parameter, what argparse has to know, help.
_OPTIONS: list[tuple[str, str, dict[str, Any], str]] = [
    ("rule", "rule", {"choices": _core.rule_names()}, "how to move"),
    (
        "update",
        "update",
        {"choices": ["all", "worst", "independent"]},
        "violated pairs to move on; independent is one-vs-all",
    ),
    ("passes", "max_iter", {"type": whole(1), "metavar": "N"}, "over the data, or rounds, at most"),
    ("average", "average", {}, "predict with the mean of the weights over all steps"),
    ("shuffle", "shuffle", {}, "a new random order in each pass"),
    ("intercept", "fit_intercept", {}, "a threshold for each label"),
    ("early-stopping", "early_stopping", {}, "stop by the error on a share held out"),
    (
        "C",
        "C",
        {"type": float, "metavar": "X"},
        "what losses count; how aggressive pa1 and pa2 are",
    ),
    ("promotion", "promotion", {"type": float, "metavar": "X"}, "factor of winnow"),
    (
        "validation-fraction",
        "validation_fraction",
        {"type": float, "metavar": "X"},
        "the share held out",
    ),
    (
        "patience",
        "n_iter_no_change",
        {"type": whole(1), "metavar": "N"},
        "passes without a lower error to wait for",
    ),
    (
        "aggregate",
        "aggregate",
        {"choices": ["max", "sum"]},
        "the loss of an example: its worst pair, or all",
    ),
    ("loss", "loss", {"choices": ["hinge", "squared_hinge"]}, "of a pair"),
    ("tol", "tol", {"type": float, "metavar": "X"}, "relative duality gap to stop at"),
    (
        "time-budget",
        "time_budget",
        {"type": float, "metavar": "SECONDS"},
        "begin no round after so long",
    ),
    ("solver", "solver", {"choices": ["auto", "dual", "newton"]}, "the algorithm"),
    (
        "calibration",
        "calibration",
        {"type": _parts, "metavar": "N"},
        "probabilities too: parts to cross-validate in, or the share held out",
    ),
    (
        "class-weight",
        "class_weight",
        {"choices": ["balanced"]},
        "make rare classes weigh as much as others",
    ),
]


def add_learners(parser: argparse.ArgumentParser) -> None:
    """The option for the estimator, and those of each."""
    parser.add_argument(
        "--estimator",
        choices=list(LEARNERS),
        default="online",
        help="online passes, or the exact machine with a certificate (online)",
    )
    group = parser.add_argument_group("learning", "(online: ..., svc: ...) are the defaults")
    known = {name: defaults(make) for name, make in LEARNERS.items()}
    for option, name, told, text in _OPTIONS:
        own = [
            f"{short}: {_SHOWN.get(known[learner][name], known[learner][name])}"
            for learner, short in (("online", "online"), ("constraint-svc", "svc"))
            if name in known[learner]
        ]
        if not told:
            told = {"action": argparse.BooleanOptionalAction}
        group.add_argument(
            f"--{option}",
            dest=name,
            default=argparse.SUPPRESS,
            help=f"{text} ({', '.join(own)})",
            **told,
        )
    group.add_argument(
        "--seed",
        dest="random_state",
        type=whole(0),
        default=0,
        metavar="N",
        help="of what is random (0)",
    )


def learner_of(options: argparse.Namespace) -> Learner:
    """The estimator with what was given for it."""
    make = LEARNERS[options.estimator]
    known = defaults(make)
    given = vars(options)
    for option, name, _, _ in _OPTIONS:
        if name in given and name not in known:
            raise UsageError(f"--{option} is no option of --estimator {options.estimator}")
    learner: Learner = make(
        **{name: given[name] for name in known if name in given and name != "verbose"},
        n_jobs=options.jobs,
        verbose=1,
    )
    try:
        learner._check_parameters()
    except ValueError as error:
        raise UsageError(str(error)) from error
    return learner


def rows_of(learner: Learner) -> list[list[Any]]:
    """What learning came to, for the summary."""
    if isinstance(learner, OnlineClassifier):
        return [
            ["passes", learner.n_iter_],
            ["moved in last pass", f"{learner.mistakes_[-1]} examples"],
        ]
    return [
        ["rounds", learner.n_iter_],
        ["primal objective", f"{learner.primal_objective_:.6g}"],
        ["dual objective", f"{learner.dual_objective_:.6g}"],
        ["relative gap", f"{learner.duality_gap_:.2e} (tolerance {learner.tol:.2e})"],
        ["stopped", learner.outcome_.status],
    ]
