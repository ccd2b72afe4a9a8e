"""Experiments are run by name, each with the same few arguments."""

import inspect
import types

import pytest

from kesler import experiments


@pytest.mark.parametrize("name", experiments.names())
def test_every_name_is_an_experiment(name):
    module = experiments.import_module(f"kesler.experiments.{experiments._MODULES[name]}")
    parameters = inspect.signature(module.run).parameters
    assert list(parameters) == ["output", "seeds", "quick"]
    assert parameters["seeds"].default == 5 and parameters["quick"].default is False


def test_an_experiment_gets_a_folder_and_gives_a_table(tmp_path, monkeypatch):
    asked = []
    module = types.SimpleNamespace(
        run=lambda output, *, seeds, quick: asked.append((output, seeds, quick)) or "table"
    )
    monkeypatch.setattr(experiments, "import_module", lambda name: module)
    folder = tmp_path / "new" / "folder"
    found = experiments.run("constraint-classification", folder, seeds=3, quick=True)
    assert found == "table"
    assert folder.is_dir() and asked == [(folder, 3, True)]


def test_what_is_no_experiment_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is: constraint-classification"):
        experiments.run("demo", tmp_path / "new")
    with pytest.raises(ValueError, match="seeds must be"):
        experiments.run("constraint-classification", tmp_path / "new", seeds=0)
    assert not (tmp_path / "new").exists()
