"""The facts in the code are those written beside the data."""

import json

import pytest

from kesler.datasets import names
from kesler.datasets._catalogue import CATALOGUE


def described(data_dir, facts):
    return json.loads((data_dir / f"{facts.name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(set(names()) - {"mnist"}))
def test_facts_are_those_beside_the_data(data_dir, name):
    facts = CATALOGUE[name]
    said = described(data_dir, facts)
    assert said["name"] == facts.name
    assert said["target"] == facts.target
    assert said["features"] == facts.n_features
    assert said.get("classes", said.get("labels")) == facts.n_labels
    assert said.get("openml") == facts.openml
    assert said.get("rows", facts.n_rows) == facts.n_rows
    assert said.get("test", 0) == facts.n_test
    if facts.n_test:
        assert said["train"] == facts.n_train
    assert said.get("nominal", []) == [f"x{j + 1}" for j in facts.nominal]
    assert tuple(said.get("class_names", ())) == facts.class_names


def test_every_set_at_hand_is_in_the_catalogue(data_dir):
    at_hand = {path.stem for path in data_dir.glob("*.json")}
    at_hand |= {path.name for path in data_dir.iterdir() if path.is_dir()}
    assert at_hand == set(names())


def test_split_sets_that_openml_has_are_recognised_by_their_order():
    for facts in CATALOGUE.values():
        needs_order = facts.n_test > 0 and facts.openml is not None
        assert (facts.row_order is not None) == needs_order, facts.name


def test_names_are_sorted_and_their_own():
    assert names() == sorted(set(names()))
    names().clear()
    assert "letter" in names()
