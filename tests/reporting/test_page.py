"""A page holds what it was given, shows it as it is, and needs nothing else."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kesler.reporting import Page

matplotlib = pytest.importorskip("matplotlib")

VOID = {"meta", "br", "hr", "img", "link"}


class Reader(HTMLParser):
    """Reads HTML strictly: every element that opens closes in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.attributes, self.tags = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def drawing(label="error"):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([1, 2, 3], [3, 1, 2], label=label)
    axes.set_title("a < b & c")
    axes.legend()
    return figure


def page():
    return (
        Page("Title <&>")
        .text("One **strong** word, `code <x>`.\nSame paragraph.\n\n## Heading\n\n- a\n- b\n  more")
        .table(["set", "error %"], [["<script>alert(1)</script>", 1.5]], caption="Cap & tion")
        .figure(drawing(), 'Error per "pass" <b>')
        .figure(drawing(), "Another")
    )


def html(page, folder):
    return page.save(folder / "page.html").read_text(encoding="utf-8")


def test_html_is_well_formed_and_says_everything(tmp_path):
    read = Reader(html(page(), tmp_path))
    for said in [
        "Title <&>",
        "One strong word, code <x>. Same paragraph.",
        "Heading",
        "b more",
        "<script>alert(1)</script>",
        "1.5",
        "Cap & tion",
        'Error per "pass" <b>',
        "a < b & c",
        "error",
    ]:
        assert said in read.text
    for tag in ("h1", "h2", "li", "strong", "code", "caption", "figcaption", "svg"):
        assert tag in read.tags


def test_html_asks_nothing_of_a_network_and_runs_nothing(tmp_path):
    read = Reader(html(page(), tmp_path))
    assert {"script", "link", "iframe", "object", "img"}.isdisjoint(read.tags)
    for name, value in read.attributes:
        assert not name.startswith("on")
        if name in ("href", "xlink:href", "src"):
            assert value.startswith("#")
    assert "@import" not in html(page(), tmp_path)


def test_names_within_a_page_are_distinct_and_found(tmp_path):
    read = Reader(html(page(), tmp_path))
    names = [value for name, value in read.attributes if name == "id"]
    assert names and len(names) == len(set(names))
    for name, value in read.attributes:
        if name.endswith("href"):
            assert value[1:] in names
        if "url(#" in (value or ""):
            assert value.partition("url(#")[2].partition(")")[0] in names


def test_figures_take_the_colours_of_the_page_and_speak(tmp_path):
    text = html(page(), tmp_path)
    svg = text[text.index("<svg") : text.rindex("</svg>")]
    assert "#000000" not in svg and "#ffffff" not in svg
    labels = [value for name, value in Reader(text).attributes if name == "aria-label"]
    assert 'Error per "pass" <b>' in labels


def test_the_same_page_is_the_same_bytes(tmp_path):
    first = html(page(), tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_page, pathlib; "
        "sys.stdout.buffer.write(test_page.html(test_page.page(), pathlib.Path(sys.argv[2]))"
        ".encode())"
    )
    folder = __file__.rpartition("test_page")[0]
    other = subprocess.run(
        [sys.executable, "-c", code, folder, str(tmp_path)], capture_output=True, check=True
    )
    assert other.stdout.decode() == first


@given(st.text(), st.text(), st.text(max_size=20))
def test_any_text_is_shown_as_it_is(tmp_path_factory, title, caption, cell):
    text = html(Page(title).table(["x"], [[cell]], caption), tmp_path_factory.mktemp("page"))
    read = Reader(text.replace("\r", " "))
    assert {"script", "b", "i", "a"}.isdisjoint(read.tags)
    assert " ".join(cell.split()) in read.text or "\0" in cell


@given(st.text())
def test_any_markup_gives_a_well_formed_page(tmp_path_factory, text):
    Reader(html(Page("x").text(text), tmp_path_factory.mktemp("page")))


def test_markdown_has_its_figures_beside_it(tmp_path):
    path = page().save(tmp_path / "a page.md")
    text = path.read_text(encoding="utf-8")
    assert path.is_absolute()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a page-1.svg", "a page-2.svg", path.name]
    assert text.startswith("# Title \\<&>\n\nOne **strong** word, `code <x>`. Same paragraph.\n\n")
    assert "\n## Heading\n\n- a\n- b more\n\nCap & tion\n\n| set " in text
    assert "| \\<script>alert(1)\\</script> |     1.5 |" in text
    assert "(<a page-2.svg>)" in text


def test_what_is_no_page_or_figure_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.html or \.md, not as 'page\.pdf'"):
        page().save(tmp_path / "page.pdf")
    with pytest.raises(TypeError, match="matplotlib Figure, not str"):
        Page("x").figure("figure", "caption")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'kesler\[report\]'"):
        Page("x").figure(None, "caption")
