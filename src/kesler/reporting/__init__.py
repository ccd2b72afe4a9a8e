"""Reports: tables as text, and pages of text, tables and figures in one file that needs no network.

A `Page` is written as HTML that carries its style and its figures inside itself, or as Markdown.
What the figures show is drawn with matplotlib (``pip install 'kesler[report]'``); of its own there
is only the page of a certificate.
"""

from kesler.reporting._certificate import certificate_page
from kesler.reporting._page import Page
from kesler.reporting._tables import format_table

__all__ = ["Page", "certificate_page", "format_table"]
