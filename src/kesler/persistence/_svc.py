"""`ConstraintSVC` and `ConstraintSVCCV` in a file: weights, certificate, and how they were found.

The dual variables are left out: they grow with the training data, and predict nothing. A loaded
model has no `dual_coef_`, and a fit with `warm_start` begins anew.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from kesler.linear import ConstraintSVC, ConstraintSVCCV
from kesler.linear._calibration import Calibration
from kesler.linear._sorter import Sorter
from kesler.persistence._sorters import (
    answer,
    check_features,
    check_others,
    history,
    outcome,
    sorted_labels,
    table,
)
from kesler.persistence._values import Array, Arrays, Fields, Stored, pack, plain

Model = TypeVar("Model", bound=ConstraintSVC)

_CERTIFICATE = ("primal_objective_", "dual_objective_", "duality_gap_", "margin_")


def encode(model: ConstraintSVC) -> tuple[Fields, Arrays]:
    """The description and the arrays of a fitted model."""
    try:
        sorter = model._sorter()
    except AttributeError as error:
        raise ValueError(f"a model file holds what predicts: {error}") from error
    used = sorter.n_labels + sorter.virtual
    kind, labels = pack(model.classes_, "the labels")
    fields: Fields = {
        "params": {name: plain(value, name) for name, value in model.get_params().items()},
        "labels": kind,
        "answer": model._answer,
        "intercept": bool(sorter.intercept),
        "virtual": bool(sorter.virtual),
        "outcome": model.outcome_.status,
        "note": model.outcome_.note,
    }
    arrays = {
        "labels": labels,
        "weights": sorter.weights[:, :used],
        "certificate": np.array([getattr(model, name) for name in _CERTIFICATE]),
        "history": history(model.outcome_),
    }
    if model.calibration is not None:
        if not hasattr(model, "_calibration"):
            raise ValueError("calibration was set after fit; fit again before saving")
        fields["temperature"] = float(model._calibration.temperature)
    if isinstance(model, ConstraintSVCCV):
        arrays["Cs"], arrays["scores"] = model.Cs_, model.scores_
        fields["C"] = float(model.C_)
    if hasattr(model, "feature_names_in_"):
        fields["names"], arrays["names"] = pack(model.feature_names_in_, "the feature names")
    return fields, arrays


def decode(stored: Stored) -> ConstraintSVC:
    """The model, if what is stored fits together."""
    if stored.option("class", ("ConstraintSVC", "ConstraintSVCCV")) == "ConstraintSVC":
        return _decoded(stored, ConstraintSVC())
    model = _decoded(stored, ConstraintSVCCV())
    if not (model.cv is None or type(model.cv) in (int, list, tuple)):
        raise ValueError(f"cv is {model.cv!r}")
    model.Cs_ = _numbers(stored, "Cs", 1)
    model.scores_ = _numbers(stored, "scores", 2)
    model.C_ = stored.number("C")
    if (
        model.C_ not in model.Cs_
        or not np.all(np.diff(model.Cs_, prepend=0.0) > 0)
        or not np.isfinite(model.Cs_).all()
    ):
        raise ValueError("the values of C are not sorted numbers above 0 with the best among them")
    if model.scores_.shape[0] < 1 or model.scores_.shape[1] != model.Cs_.size:
        raise ValueError(f"scores of shape {model.scores_.shape} for {model.Cs_.size} values of C")
    return model


def _decoded(stored: Stored, model: Model) -> Model:
    model.set_params(**stored.parameters(set(model.get_params())))
    model._check_parameters()
    check_others(model)
    labels = sorted_labels(stored)
    intercept, virtual = stored.flag("intercept"), stored.flag("virtual")
    weights = table(stored, "weights", labels.size + virtual, None)
    check_features(weights, intercept)
    model._answer = answer(stored, virtual)
    model._table = Sorter(weights, labels.size, intercept, virtual)
    model.classes_ = labels
    model.n_features_in_ = model._table.n_features
    certificate = _numbers(stored, "certificate", 1)
    # The margin is endless where no example has a pair.
    if (
        certificate.shape != (4,)
        or not np.isfinite(certificate[:3]).all()
        or np.isnan(certificate[3])
    ):
        raise ValueError("the certificate is no pair of objectives, their gap and a margin")
    for name, value in zip(_CERTIFICATE, certificate.tolist(), strict=True):
        setattr(model, name, value)
    model.outcome_ = outcome(stored)
    model.n_iter_ = model.outcome_.n_iter
    if "temperature" in stored:
        temperature = stored.number("temperature")
        if not temperature > 0 or model._answer not in ("classes", "indicator", "sparse indicator"):
            raise ValueError(f"a temperature of {temperature} for a model of {model._answer}")
        model._calibration = Calibration(temperature)
    if (model.calibration is not None) != ("temperature" in stored):
        raise ValueError("calibration and temperature do not fit together")
    if "names" in stored:
        model.feature_names_in_ = stored.names("names", model.n_features_in_)
    return model


def _numbers(stored: Stored, name: str, ndim: int) -> Array:
    numbers = stored.array(name, "f", ndim)
    if numbers.dtype != np.float64:
        raise ValueError(f"array {name!r} is of type {numbers.dtype}")
    return numbers
