"""Reports: tables as text, and pages of text, tables and figures in one file that needs no network.

A `Page` is written as HTML that carries its style and its figures inside itself, or as Markdown.
What the figures show is drawn elsewhere, with matplotlib (``pip install 'kesler[report]'``).
"""

from kesler.reporting._page import Page
from kesler.reporting._tables import format_table

__all__ = ["Page", "format_table"]
