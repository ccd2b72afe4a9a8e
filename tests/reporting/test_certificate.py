"""The page of a certificate says what the model says of itself."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from kesler import ConstraintSVC, ConstraintSVCCV, load, save
from kesler.reporting import certificate_page

pytest.importorskip("matplotlib")

X, Y = load_iris(return_X_y=True)


def text_of(model, folder):
    return certificate_page(model, "Iris").save(folder / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("aggregate", ["max", "sum"])
def test_the_numbers_are_those_of_the_model(aggregate, tmp_path):
    model = ConstraintSVC(C=0.25, aggregate=aggregate, random_state=0).fit(X, Y)
    text = text_of(model, tmp_path)
    assert text.startswith("# Iris\n")
    for shown in [
        "C = 0.25",
        "4 features and 3 labels",
        f"{model.primal_objective_:.6g}",
        f"{model.dual_objective_:.6g}",
        f"{model.duality_gap_:.2e}",
        f"{model.margin_:.4g}",
        model.outcome_.note,
        "worst pair" if aggregate == "max" else "sum over the pairs",
    ]:
        assert shown in text, shown
    save(model, tmp_path / "model.kes")
    assert text_of(load(tmp_path / "model.kes"), tmp_path) == text


def test_a_limit_is_named(tmp_path):
    with pytest.warns(UserWarning, match="max_iter"):
        model = ConstraintSVC(max_iter=1, tol=1e-9, random_state=0).fit(X, Y)
    assert "max_iter: all rounds were made" in text_of(model, tmp_path)


def test_the_choice_of_c_is_shown(tmp_path):
    model = ConstraintSVCCV([0.01, 0.5], cv=3, random_state=0).fit(X, Y)
    text = text_of(model, tmp_path)
    assert f"C = {model.C_:.4g}" in text
    for mean in model.scores_.mean(axis=0):
        assert f"{mean:.4f}" in text


def test_the_picture_is_the_gap_after_each_round(tmp_path):
    model = ConstraintSVC(random_state=0).fit(X, Y)
    text_of(model, tmp_path)
    [svg] = tmp_path.glob("*.svg")
    drawn = svg.read_text(encoding="utf-8")
    assert "relative gap" in drawn and "seconds" in drawn and "tolerance" in drawn
    values = np.array([r.value for r in model.outcome_.history])
    assert (values > 0).sum() > 1
