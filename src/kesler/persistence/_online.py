"""`OnlineClassifier` in a file: its parameters, and its network with only the lanes in use.

What is not stored is what can be computed: the padding of the lanes, and the averaged weights that
`fit` lays out.
"""

from __future__ import annotations

import numpy as np

from kesler import _core
from kesler.linear import OnlineClassifier
from kesler.linear._network import Network
from kesler.persistence._sorters import (
    answer,
    check_features,
    check_others,
    history,
    outcome,
    sorted_labels,
    table,
)
from kesler.persistence._values import Arrays, Fields, Stored, pack, plain


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
        fields["outcome"], arrays["history"] = model.outcome_.status, history(model.outcome_)
    if hasattr(model, "feature_names_in_"):
        fields["names"], arrays["names"] = pack(model.feature_names_in_, "the feature names")
    return fields, arrays


def decode(stored: Stored) -> OnlineClassifier:
    """The model, if what is stored fits together."""
    model = OnlineClassifier(**stored.parameters(set(OnlineClassifier().get_params())))
    model._check_parameters()
    check_others(model)
    network = _network(stored)
    model._answer = answer(stored, network.virtual)
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
        model.outcome_ = outcome(stored)
    if "names" in stored:
        model.feature_names_in_ = stored.names("names", model.n_features_in_)
    return model


def _network(stored: Stored) -> Network:
    labels = sorted_labels(stored)
    intercept, virtual = stored.flag("intercept"), stored.flag("virtual")
    used = labels.size + virtual
    weights = table(stored, "weights", used, None)
    check_features(weights, intercept)
    network = Network(
        labels,
        weights,
        table(stored, "sums", used, weights) if stored.has_array("sums") else None,
        table(stored, "logs", used, weights) if stored.has_array("logs") else None,
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
