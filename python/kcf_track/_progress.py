"""How far a run is, on the standard error."""

from __future__ import annotations

import sys
import time

#: Seconds between two lines.
PAUSE = 0.1
WIDTH = 30


class Progress:
    """A bar that grows, or a count where the end is not known; nothing where nobody looks."""

    def __init__(self, total: int | None, shown: bool | None) -> None:
        """`shown` is None for: where the standard error is a terminal."""
        self.shown = sys.stderr is not None and (sys.stderr.isatty() if shown is None else shown)
        self.total = total
        self.done = 0
        self.begun = self.last = time.monotonic()

    def advance(self) -> None:
        """One more frame is done."""
        self.done += 1
        now = time.monotonic()
        if self.shown and now - self.last >= PAUSE:
            self.last = now
            self._show(now)

    def show(self, done: int, total: int) -> None:
        """So many of so many are done."""
        self.done, self.total = done, total
        if self.shown:
            self._show(time.monotonic())

    def reach(self, done: int) -> None:
        """So many are done; how many there are in all is known as before."""
        self.done = done
        if self.shown:
            self._show(time.monotonic())

    def clear(self) -> None:
        """The line is taken away; what is printed next begins on an empty one."""
        if self.shown and self.done:
            print(f"\r{' ' * 79}\r", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """The last line stays."""
        if self.shown and self.done:
            self._show(time.monotonic())
            print(file=sys.stderr)

    def _show(self, now: float) -> None:
        rate = self.done / max(now - self.begun, 1e-9)
        if self.total:
            full = WIDTH * min(self.done, self.total) // self.total
            text = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.done}/{self.total} frames"
        else:
            text = f"{self.done} frames"
        print(f"\r{text}, {rate:.0f} frames/s ", end="", file=sys.stderr, flush=True)
