"""matplotlib figures as SVG: the same bytes each time, and at home inside a page.

matplotlib names the parts of a drawing by hashes salted at random and writes the date; both are
fixed here. Text stays text, so that it can be read aloud, searched and set in the font of the page.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

_FIXED: dict[Any, Any] = {"svg.hashsalt": "kesler", "svg.fonttype": "none"}

# What stands around the drawing, and in it for the sake of other programs.
_CLUTTER = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>"
    r"|<defs>\s*<style[^>]*>.*?</style>\s*</defs>",
    re.DOTALL,
)
_OPENING = re.compile(r"<svg[^>]*>")
_VIEW = re.compile(r'viewBox="([-\d. ]+)"')
_NAME = re.compile(r'(\bid="|href="#|url\(#)')


def as_svg(figure: Any) -> str:
    """A matplotlib figure as an SVG document."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'kesler[report]'") from error
    if not isinstance(figure, Figure):
        raise TypeError(f"figure must be a matplotlib Figure, not {type(figure).__name__}")
    drawn = io.StringIO()
    with matplotlib.rc_context(_FIXED):
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
    return drawn.getvalue()


def inline(svg: str, number: int, description: str) -> str:
    """The drawing as an element of a page, its names its own and its colours those of the page."""
    body = _CLUTTER.sub("", svg)
    opening = _OPENING.search(body)
    view = _VIEW.search(opening.group() if opening else "")
    if not opening or not view:
        raise ValueError("matplotlib wrote no SVG drawing with a viewBox")
    width = float(view.group(1).split()[2])
    body = _NAME.sub(rf"\g<1>f{number}-", body[opening.end() :])
    body = body.replace("#000000", "currentColor").replace("#ffffff", "var(--paper)")
    head = (
        f'<svg role="img" aria-label="{escape(description)}" viewBox="{view.group(1)}" '
        f'style="width: {width * 4 / 3:.0f}px" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return head + body.strip()
