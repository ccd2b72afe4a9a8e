"""A model file, and what it says of the data it wants."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kesler.cli._examples import Schema
from kesler.cli._labels import KINDS
from kesler.cli._learners import Learner
from kesler.linear import ConstraintSVC, OnlineClassifier
from kesler.persistence._models import read_model
from kesler.preparation import TablePreparer

_NOTES = "command_line"


@dataclass
class Model:
    """A loaded model.

    Attributes
    ----------
    estimator : OnlineClassifier, ConstraintSVC, or a Pipeline that ends in one
    classifier : OnlineClassifier or ConstraintSVC
    schema : Schema
    """

    estimator: Any
    classifier: Learner
    schema: Schema

    @property
    def names(self) -> list[str]:
        """The labels as text, in the order of the scores."""
        return [str(label) for label in self.classifier.classes_.tolist()]

    def prepared(self, X: Any) -> Any:
        """X as the classifier takes it."""
        if isinstance(self.estimator, Pipeline) and len(self.estimator.steps) > 1:
            return self.estimator[:-1].transform(X)
        return X


def notes_of(schema: Schema) -> dict[str, Any]:
    """What the command line keeps in the model file beside the model."""
    return {
        _NOTES: {
            "columns": schema.columns,
            "target": schema.target,
            "kind": schema.kind,
            "zero_based": schema.zero_based,
        }
    }


def load_model(path: str, n_jobs: int | None) -> Model:
    """Read a model that `kesler train` or `kesler.save` wrote."""
    estimator, notes = read_model(path)
    steps = (
        [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    )
    classifier, first = steps[-1], steps[0]
    if not isinstance(classifier, (OnlineClassifier, ConstraintSVC)):
        raise ValueError(f"{path} is a {type(classifier).__name__}, which predicts no labels")
    classifier.set_params(n_jobs=n_jobs)
    n_features = getattr(first, "n_features_in_", None) or classifier.n_features_in_
    nominal = np.zeros(n_features, dtype=bool)
    if isinstance(first, TablePreparer):
        nominal = first.nominal_
    columns = getattr(first, "feature_names_in_", None)
    schema = Schema(n_features, nominal, None if columns is None else columns.tolist())
    for step in steps:
        # Here columns are found by name; scikit-learn would warn that arrays have none.
        if "feature_names_in_" in getattr(step, "__dict__", {}):
            del step.feature_names_in_
    _take_notes(path, schema, notes.get(_NOTES, {}))
    return Model(estimator, classifier, schema)


def _take_notes(path: str | os.PathLike[str], schema: Schema, notes: Any) -> None:
    if not isinstance(notes, dict):
        notes = {}
    columns = notes.get("columns")
    if isinstance(columns, list):
        texts = all(isinstance(name, str) for name in columns)
        if not texts or len(set(columns)) != len(columns) or len(columns) != schema.n_features:
            raise ValueError(f"{path} names other columns than its model takes")
        schema.columns = columns
    if isinstance(notes.get("target"), str):
        schema.target = notes["target"]
    if notes.get("kind") in KINDS:
        schema.kind = notes["kind"]
    if isinstance(notes.get("zero_based"), bool):
        schema.zero_based = notes["zero_based"]
