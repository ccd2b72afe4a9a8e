"""Every Python example of the README runs as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[-1][:40])
def test_example_runs(code, capsys):
    exec(compile(code, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


def test_there_is_an_example_of_each_supervision():
    text = "".join(BLOCKS)
    for maker in ("from_rankings", "from_pairs", "concatenate", "make_multilabel", "load_digits"):
        assert maker in text
