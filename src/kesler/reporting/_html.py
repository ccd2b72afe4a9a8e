"""A page as one HTML file: nothing in it is fetched from anywhere, and nothing in it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from kesler.reporting._blocks import Block, Figure, Table, paragraphs
from kesler.reporting._figures import inline

# Two things the style takes care of beside looks: a table wider than a phone scrolls by itself, and
# the colours of figures follow the page (_figures.py makes black and white into variables).
_STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1c1e21; --quiet: #5b616a;
  --line: #d9dbd7; --tint: #f3f3ee; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181c; --ink: #e4e5e1; --quiet: #a0a5ad; --line: #363a41; --tint: #202329; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55;
  font-family: ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.015em; margin: 0 0 1.25rem;
  text-wrap: balance; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.75rem 0 .75rem; text-wrap: balance; }
p, ul { margin: .75rem 0; }
ul { padding-left: 1.25rem; }
li { margin: .25rem 0; }
code { font-family: ui-monospace, "SF Mono", Consolas, "Liberation Mono", monospace;
  font-size: .9em; background: var(--tint); padding: .1em .3em; border-radius: .25em; }
.wide { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; min-width: 60%; font-size: .95rem;
  font-variant-numeric: tabular-nums lining-nums; border-bottom: 1.5px solid var(--ink); }
caption { text-align: left; padding: 0 0 .6rem; }
caption, figcaption { color: var(--quiet); font-size: .9rem; line-height: 1.45; }
th, td { padding: .4rem 1.4rem .4rem 0; text-align: left; vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 600; vertical-align: bottom; border-top: 1.5px solid var(--ink);
  border-bottom: 1px solid var(--ink); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th { font-weight: inherit; }
.number { text-align: right; }
td.number { white-space: nowrap; }
figure { margin: 2rem 0; }
figcaption { margin-top: .6rem; }
figure svg { display: block; max-width: 100%; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figure svg text { fill: currentColor; font-family: inherit !important; }
@media print { main { max-width: none; padding: 0; } .wide { overflow: visible; } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """The whole file."""
    body: list[str] = []
    for number, block in enumerate(blocks):
        if isinstance(block, Table):
            body.append(_table(block))
        elif isinstance(block, Figure):
            drawing = inline(block.svg, number, block.caption)
            caption = f"<figcaption>{_shown(block.caption)}</figcaption>"
            body.append(f"<figure>\n{drawing}\n{caption}\n</figure>")
        else:
            body += [_paragraph(p.kind, p.lines) for p in paragraphs(block.text)]
    content = "\n".join(body)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{content}
</main>
</body>
</html>
"""


def _paragraph(kind: str, lines: list[str]) -> str:
    shown = [_words(line) for line in lines]
    if kind == "list":
        items = "\n".join(f"<li>{item}</li>" for item in shown)
        return f"<ul>\n{items}\n</ul>"
    tag = "h2" if kind == "heading" else "p"
    return f"<{tag}>{shown[0]}</{tag}>"


def _words(text: str) -> str:
    parts = re.split(r"`([^`]+)`", _shown(text))
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"<code>{part}</code>"
        else:
            parts[i] = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", part)
    return "".join(parts)


def _shown(text: str) -> str:
    return escape(text).replace(" %", "&nbsp;%")


def _table(table: Table) -> str:
    cells = table.cells
    caption = f"<caption>{_shown(table.caption)}</caption>\n" if table.caption else ""
    head = _row(cells.header, cells.numeric, ["th"] * len(cells.header), ' scope="col"')
    # The first column says what its row is about, unless it counts something.
    tags = ["td" if i or number else "th" for i, number in enumerate(cells.numeric)]
    rows = "\n".join(_row(row, cells.numeric, tags, ' scope="row"') for row in cells.rows)
    # Whoever has no mouse must be able to scroll it too.
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="table">\n<table>\n'
        f"{caption}<thead>\n{head}\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _row(texts: list[str], numeric: list[bool], tags: list[str], scope: str) -> str:
    shown = ""
    for text, number, tag in zip(texts, numeric, tags, strict=True):
        attributes = (scope if tag == "th" else "") + (' class="number"' if number else "")
        shown += f"<{tag}{attributes}>{_shown(text)}</{tag}>"
    return f"<tr>{shown}</tr>"
