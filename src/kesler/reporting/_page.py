"""A page: what it says, in order, before it is HTML or Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kesler.reporting._blocks import Block, Figure, Table, Text
from kesler.reporting._figures import as_svg
from kesler.reporting._html import to_html
from kesler.reporting._markdown import to_markdown
from kesler.reporting._tables import as_cells


class Page:
    """A page of text, tables and figures, written as one HTML file or as Markdown.

    The HTML file holds its style and its figures (as SVG) inside itself, asks nothing of a network,
    follows the reader's choice of light or dark, and is the same, byte for byte, whenever it is
    made of the same things. What is given is shown as it is: no markup of it is passed through,
    except the little that `text` knows.

    Parameters
    ----------
    title : str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kesler.reporting import Page
    >>> page = Page("Two methods").text("Errors on **the same** split.")
    >>> page = page.table(["method", "error %"], [["one-vs-all", 12.3]], caption="Test errors")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = page.save(Path(folder) / "page.md")
    ...     print(path.read_text(encoding="utf-8"))
    # Two methods
    <BLANKLINE>
    Errors on **the same** split.
    <BLANKLINE>
    Test errors
    <BLANKLINE>
    | method     | error % |
    | ---------- | ------: |
    | one-vs-all |    12.3 |
    <BLANKLINE>
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._blocks: list[Block] = []

    def text(self, text: str) -> Page:
        """Add paragraphs, headings and lists.

        An empty line ends a paragraph. A paragraph that begins with ``## `` is a heading, one whose
        lines begin with ``- `` a list; ``**strong**`` and ```code``` mark words.

        Returns
        -------
        Page
            Itself, so that calls can be chained.
        """
        self._blocks.append(Text(text))
        return self

    def table(
        self, header: Sequence[Any], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> Page:
        """Add a table; cells are shown as in `format_table`."""
        self._blocks.append(Table(as_cells(header, rows), caption))
        return self

    def figure(self, figure: Any, caption: str) -> Page:
        """Add a matplotlib figure, as it looks now; the caption also says it to who cannot see."""
        self._blocks.append(Figure(as_svg(figure), caption))
        return self

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page.

        Parameters
        ----------
        path : path-like
            Ends in ``.html``, or in ``.md`` for Markdown; the figures of a Markdown page become
            SVG files beside it, named after it and numbered.

        Returns
        -------
        pathlib.Path
            Where the page is, absolute.
        """
        place = Path(path).absolute()
        suffix = place.suffix.lower()
        if suffix in (".html", ".htm"):
            files = {place: to_html(self.title, self._blocks)}
        elif suffix == ".md":
            text, figures = to_markdown(self.title, self._blocks, place.stem)
            files = {place: text, **{place.with_name(name): svg for name, svg in figures.items()}}
        else:
            raise ValueError(f"a page is saved as .html or .md, not as {place.name!r}")
        for where, content in files.items():
            where.write_text(content, encoding="utf-8", newline="\n")
        return place
