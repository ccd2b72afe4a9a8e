"""scikit-learn's `Pipeline` of estimators that can be stored themselves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sklearn.pipeline import Pipeline

from kesler.persistence import _models
from kesler.persistence._values import Arrays, Fields, Stored


def encode(pipeline: Pipeline) -> tuple[Fields, Arrays]:
    """Each step under its number."""
    if pipeline.memory is not None:
        raise ValueError("a model file does not hold Pipeline(memory=...); set it to None")
    if getattr(pipeline, "transform_input", None) is not None:
        raise ValueError("a model file does not hold Pipeline(transform_input=...)")
    steps: list[list[object]] = []
    arrays: Arrays = {}
    for number, (name, step) in enumerate(pipeline.steps):
        if step is None or step == "passthrough":
            steps.append([name, step])
            continue
        fields, own = _models.encode(step)
        steps.append([name, fields])
        arrays.update({f"{number}.{key}": array for key, array in own.items()})
    return {"verbose": bool(pipeline.verbose), "steps": steps}, arrays


def decode(stored: Stored) -> Pipeline:
    """The pipeline of the decoded steps."""
    steps = []
    for number, step in enumerate(stored.field("steps", list)):
        if not (isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)):
            raise ValueError(f"step {number} is no name and estimator")
        name, described = step
        if described is not None and described != "passthrough":
            described = _models.decode(stored.part(described, str(number)))
        steps.append((name, described))
    if not steps or len({name for name, _ in steps}) != len(steps):
        raise ValueError("a pipeline needs steps of different names")
    _check_widths([step for _, step in steps if step is not None and step != "passthrough"])
    return Pipeline(steps, verbose=stored.flag("verbose"))


def _check_widths(estimators: list[Any]) -> None:
    """Refuse a step that cannot take what the one before it gives."""
    for before, after in pairwise(estimators):
        if not hasattr(before, "transform"):
            raise ValueError(
                f"{type(before).__name__} transforms nothing, and is not the last step"
            )
        given = len(before.get_feature_names_out())
        if given != after.n_features_in_:
            raise ValueError(
                f"a step gives {given} features and the next takes {after.n_features_in_}"
            )
