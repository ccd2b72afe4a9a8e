"""The demo shows what it claims, and its page is one file."""

import re
import sys

import pytest

from kesler.cli import main

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the quick demo prints, and its page."""
    page = tmp_path_factory.mktemp("demo") / "demo.html"
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("builtins.print", lambda *args, **options: lines.append(*args))
        assert main(["demo", "--quick", "-o", str(page)]) == 0
    return "\n".join(map(str, lines)).splitlines(), page


def test_the_table_compares_three_methods_on_two_sets(shown):
    lines, _ = shown
    rows = [re.split(r"\s{2,}", line) for line in lines]
    assert rows[0] == [
        *("data", "method", "test error %", "train error %", "averaged %", "passes", "seconds")
    ]
    methods = ["one-vs-all", "constraints, all pairs", "constraints, worst pair"]
    assert [row[:2] for row in rows[2:8]] == [[d, m] for d in ("digits", "points") for m in methods]


def test_a_separable_set_is_learned_without_error_by_constraints_only(shown):
    rows = {tuple(row[:2]): row for row in (re.split(r"\s{2,}", line) for line in shown[0])}
    for method in ("all pairs", "worst pair"):
        row = rows["points", f"constraints, {method}"]
        assert float(row[3]) == 0 and int(row[5]) < 60
    assert float(rows["points", "one-vs-all"][3]) > 0
    assert int(rows["points", "one-vs-all"][5]) == 60


def test_the_last_line_is_the_page(shown):
    lines, page = shown
    assert lines[-1] == str(page.absolute())
    assert [p.name for p in page.parent.iterdir()] == ["demo.html"]
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "constraints, worst pair" in text
    assert re.search(r'(src|href)="(?!#)', text) is None


def test_without_matplotlib_it_says_so_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--quick", "-o", str(tmp_path / "demo.html")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "kesler: the demo draws with matplotlib: pip install 'kesler[report]'\n"
