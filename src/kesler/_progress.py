"""A progress line on standard error for whatever takes longer than two seconds.

On a terminal the line is redrawn in place; elsewhere (a log, a pipe) a new line is written every
ten seconds. Work that ends sooner shows nothing.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO


class Progress:
    """Shows how much of `total` is done.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        What `update` counts up to.
    delay : float
        Seconds of silence before the first line.
    """

    def __init__(
        self, label: str, total: int, *, delay: float = 2.0, stream: TextIO | None = None
    ) -> None:
        self._label = label
        self._total = max(total, 1)
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._start = time.perf_counter()
        self._next = self._start + delay
        self._shown = False

    def update(self, done: float, note: str = "") -> None:
        """Say that `done` of the total is done, with a few words more if there are any."""
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + (0.2 if self._live else 10.0)
        share = min(max(done / self._total, 0.0), 1.0)
        elapsed = now - self._start
        left = f", {elapsed * (1 - share) / share:.0f} s to go" if share > 0.01 else ""
        bar = "#" * round(24 * share)
        text = f"{self._label} [{bar:<24}] {share:4.0%} {elapsed:.0f} s{left}"
        if note:
            text += f"  {note}"
        self._stream.write(f"\r\x1b[2K{text}" if self._live else f"{text}\n")
        self._stream.flush()
        self._shown = True

    def close(self) -> None:
        """Clear the line."""
        if self._shown and self._live:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
