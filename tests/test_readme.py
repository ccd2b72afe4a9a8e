"""Every Python example of the README runs as it stands, and what it says of the parts is so."""

import re
from pathlib import Path

import numpy as np
import pytest

import kesler
from kesler import Constraints, experiments
from kesler.cli import main

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def estimators():
    """Each estimator of the table, made as its cell has it, and what it is said to learn from."""
    table = re.search(r"^\| estimator \|.*?\n\n", TEXT, flags=re.DOTALL | re.MULTILINE).group()
    for line in table.strip().splitlines()[2:]:
        first, learns, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        name = ""
        for called, arguments in re.findall(r"`(\w*)\((.*?)\)`", first):
            name = called or name
            yield pytest.param(f"{name}({arguments})", learns, id=f"{name}({arguments})")


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[-1][:40])
def test_example_runs(code, capsys):
    exec(compile(code, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


def test_there_is_an_example_of_each_supervision():
    text = "".join(BLOCKS)
    for maker in ("from_rankings", "from_pairs", "concatenate", "make_multilabel", "load_digits"):
        assert maker in text


@pytest.mark.parametrize(("code", "learns"), list(estimators()))
def test_an_estimator_learns_from_what_the_table_says(code, learns):
    assert learns.startswith("everything")
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 4)), rng.integers(3, size=30)
    rival = (y + 1) % 3

    def pairs(**given):
        return Constraints.from_pairs(range(30), y, rival, n_samples=30, labels=3, **given)

    def fit(target):
        return eval(code, vars(kesler)).fit(X, target)

    ranked = Constraints.from_rankings(orders=rng.permuted([[0, 1, 2]] * 30, axis=1))
    for target in (
        y,
        rng.integers(2, size=(30, 3)),
        Constraints.from_labelsets([[label] for label in y]),
        ranked,
        pairs(),
        Constraints.concatenate([pairs()[:15], ranked[15:]]),
    ):
        fit(target)
    given = np.full(30, 2.0)
    for word, target in (("margin", pairs(margin=given)), ("weights", pairs(weight=given))):
        if "without" in learns:
            with pytest.raises(ValueError, match=word.rstrip("s")):
                fit(target)
        elif word in learns:
            fit(target)


def test_every_estimator_is_in_the_table():
    named = {parameters.values[0].partition("(")[0] for parameters in estimators()}
    assert named == {name for name in kesler.__all__ if hasattr(getattr(kesler, name), "fit")}


def test_commands_are_there(capsys):
    commands = re.findall(r"^    kesler (\w+)(?: (\S+))?", TEXT, flags=re.MULTILINE)
    assert {name for command, name in commands if command == "reproduce"} == set(
        experiments.names()
    )
    for command, _ in commands:
        assert main([command, "--help"]) == 0
        assert f"usage: kesler {command}" in capsys.readouterr().out


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (README.parent / target).exists()
