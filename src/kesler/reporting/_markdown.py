"""A page as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kesler.reporting._blocks import Block, Figure, Table, paragraphs
from kesler.reporting._tables import cells_as_markdown, escape_markdown


def to_markdown(title: str, blocks: Sequence[Block], stem: str) -> tuple[str, dict[str, str]]:
    """The text, and the SVG files that stand beside it, by name."""
    parts = [f"# {escape_markdown(title)}"]
    figures: dict[str, str] = {}
    for block in blocks:
        if isinstance(block, Table):
            parts += [escape_markdown(block.caption)] if block.caption else []
            parts.append(cells_as_markdown(block.cells))
        elif isinstance(block, Figure):
            name = f"{stem}-{len(figures) + 1}.svg"
            figures[name] = block.svg
            # Between <> a name may hold blanks.
            parts.append(f"![{escape_markdown(block.caption)}](<{name}>)")
            parts.append(escape_markdown(block.caption))
        else:
            parts += [_paragraph(p.kind, p.lines) for p in paragraphs(block.text)]
    return "\n\n".join(parts) + "\n", figures


def _paragraph(kind: str, lines: list[str]) -> str:
    shown = [_words(line) for line in lines]
    if kind == "list":
        return "\n".join(f"- {item}" for item in shown)
    return f"## {shown[0]}" if kind == "heading" else shown[0]


def _words(text: str) -> str:
    """Text with its own markup, but without anybody's HTML."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(p if i % 2 else p.replace("<", "\\<") for i, p in enumerate(parts))
