"""`OnlineClassifier` in a file: its parameters, and its network with only the lanes in use.

What is not stored is what can be computed: the padding of the lanes, and the averaged weights that
`fit` lays out.
"""

from __future__ import annotations

import numpy as np

from kesler import _core
from kesler._driver import Outcome, Record
from kesler.linear import OnlineClassifier
from kesler.linear._network import Network
from kesler.linear._sorter import aligned_zeros
from kesler.persistence._values import Array, Arrays, Fields, Stored, pack, plain

_ANSWERS = ("classes", "indicator", "sparse indicator", "orders", "top")


def encode(model: OnlineClassifier) -> tuple[Fields, Arrays]:
    """The description and the arrays of a fitted model."""
    network: Network = model._network
    used = network.labels.size + network.virtual
    kind, labels = pack(network.labels, "the labels")
    fields: Fields = {
        "params": {name: plain(value, name) for name, value in model.get_params().items()},
        "labels": kind,
        "answer": model._answer,
        "intercept": bool(network.intercept),
        "virtual": bool(network.virtual),
        "first": float(network.first),
        "laid_out": model._laid_out is not None,
        "n_iter": int(model.n_iter_),
        "mistakes": [int(count) for count in model.mistakes_],
    }
    arrays = {"labels": labels, "weights": network.weights[:, :used], "state": network.state}
    if network.sums is not None:
        arrays["sums"] = network.sums[:, :used]
    if network.logs is not None:
        arrays["logs"] = network.logs[:, :used]
    if hasattr(model, "outcome_"):
        outcome = model.outcome_
        fields["outcome"] = outcome.status
        arrays["history"] = np.array(outcome.history, dtype=np.float64).reshape(-1, 3)
    if hasattr(model, "feature_names_in_"):
        fields["names"], arrays["names"] = pack(model.feature_names_in_, "the feature names")
    return fields, arrays


def decode(stored: Stored) -> OnlineClassifier:
    """The model, if what is stored fits together."""
    model = OnlineClassifier(**stored.parameters(set(OnlineClassifier().get_params())))
    _check_parameters(model)
    network = _network(stored)
    model._answer = stored.option("answer", _ANSWERS)
    if "indicator" in model._answer and not network.virtual:
        raise ValueError("the model answers label sets, but has no virtual label")
    model._network = network
    model._laid_out = network.sorter().laid_out() if stored.flag("laid_out") else None
    model.classes_ = network.labels
    model.t_ = network.steps
    model.n_iter_ = stored.whole("n_iter")
    model.n_updates_ = int(network.state[2])
    model.n_features_in_ = network.weights.shape[0] - network.intercept
    model.mistakes_ = stored.field("mistakes", list)
    if not all(type(count) is int for count in model.mistakes_):
        raise ValueError("the numbers of mistakes are not all integers")
    if "outcome" in stored:
        model.outcome_ = _outcome(stored)
    if "names" in stored:
        model.feature_names_in_ = stored.names("names", model.n_features_in_)
    return model


def _check_parameters(model: OnlineClassifier) -> None:
    """All of them, also those that `fit` leaves to others to check."""
    model._check_parameters()
    weight = model.class_weight
    if not (weight is None or weight == "balanced" or isinstance(weight, dict)):
        raise ValueError(f"class_weight is {weight!r}")
    for name in ("n_jobs", "random_state", "verbose"):
        value = getattr(model, name)
        if not (value is None or isinstance(value, int)):
            raise ValueError(f"{name} is {value!r}")


def _network(stored: Stored) -> Network:
    labels = stored.labels("labels")
    if labels.size == 0:
        raise ValueError("the model has no labels")
    try:
        ordered = bool(np.all(labels[:-1] < labels[1:]))
    except TypeError:
        ordered = False
    if not ordered:
        raise ValueError("the labels are not sorted, or one stands twice")
    intercept, virtual = stored.flag("intercept"), stored.flag("virtual")
    used = labels.size + virtual
    weights = _table(stored, "weights", used, None)
    if weights.shape[0] - intercept < 1:
        raise ValueError("the model has no features")
    network = Network(
        labels,
        weights,
        _table(stored, "sums", used, weights) if stored.has_array("sums") else None,
        _table(stored, "logs", used, weights) if stored.has_array("logs") else None,
        stored.array("state", "f", 1).astype(np.float64),
        intercept,
        virtual,
        stored.number("first"),
    )
    state = network.state
    if state.shape != (3,) or not np.isfinite(state).all() or min(state[0], state[2]) < 0:
        raise ValueError("the steps, the shift and the moves are no such numbers")
    traits = [_core.rule_traits(rule) for rule in _core.rule_names()]
    if (network.logs is not None, network.first) not in traits:
        raise ValueError("the weights are those of no rule")
    return network


def _table(stored: Stored, name: str, used: int, like: Array | None) -> Array:
    """A table of weights, with its lanes padded as the core wants them."""
    held = stored.array(name, "f", 2)
    if held.dtype.itemsize not in (4, 8):
        raise ValueError(f"array {name!r} is of type {held.dtype}")
    rows = held.shape[0] if like is None else like.shape[0]
    if held.shape != (rows, used) or (like is not None and held.dtype != like.dtype):
        raise ValueError(
            f"array {name!r} is of shape {held.shape} and type {held.dtype}, which does not fit "
            f"{used} labels and the other arrays"
        )
    if held.size and not np.isfinite([held.min(), held.max()]).all():
        raise ValueError(f"array {name!r} holds what is no finite number")
    table = aligned_zeros((rows, _core.lanes_for(used)), held.dtype)
    table[:, :used] = held
    return table


def _outcome(stored: Stored) -> Outcome:
    history = stored.array("history", "f", 2)
    if history.shape[0] == 0 or history.shape[1] != 3 or not np.isfinite(history).all():
        raise ValueError(f"a history of shape {history.shape}")
    records = tuple(Record(int(n), s, v) for n, s, v in history.tolist())
    return Outcome(stored.field("outcome", str), len(records), records[-1].value, records)
