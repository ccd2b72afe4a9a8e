"""What a page consists of, and the little markup its text knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from kesler.reporting._tables import Cells


class Text(NamedTuple):
    """Paragraphs, headings and lists."""

    text: str


class Table(NamedTuple):
    """A table and what is said of it."""

    cells: Cells
    caption: str


class Figure(NamedTuple):
    """A drawing as an SVG document and what is said of it."""

    svg: str
    caption: str


Block: TypeAlias = Text | Table | Figure


class Paragraph(NamedTuple):
    """Lines of one kind: "heading" and "plain" have one, "list" one for each item."""

    kind: str
    lines: list[str]


def paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a text, their own line breaks gone."""
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in part.splitlines() if line.strip()]
        if not lines:
            continue
        if lines[0].startswith("## "):
            yield Paragraph("heading", [" ".join(lines)[3:].strip()])
        elif lines[0].startswith("- "):
            yield Paragraph("list", _items(lines))
        else:
            yield Paragraph("plain", [" ".join(lines)])


def _items(lines: list[str]) -> list[str]:
    """Items of a list; a line that begins none goes on with the last."""
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(line[2:].strip())
        else:
            items[-1] += f" {line}"
    return items
