"""How far a run is, on the standard error."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

#: Seconds between two lines.
PAUSE = 0.1
WIDTH = 30


def note(text: str, end: str = "\n") -> None:
    """Say something on the standard error. That nobody can hear it is no failure."""
    if sys.stderr is None:
        return
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except ValueError:
        # It is closed.
        pass
    except OSError:
        forsake(sys.stderr)


def forsake(stream: TextIO) -> None:
    """Let what is still to be written go nowhere, or the interpreter would complain of the same when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def on_terminal() -> bool:
    """Whether somebody watches the standard error. What stands in its place need not know."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class Progress:
    """A bar that grows, or a count where the end is not known; nothing where nobody looks."""

    def __init__(self, total: int | None, shown: bool | None) -> None:
        """`shown` is None for: where the standard error is a terminal."""
        self.shown = on_terminal() if shown is None else shown
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
            note(f"\r{' ' * 79}\r", end="")

    def close(self) -> None:
        """The last line stays."""
        if self.shown and self.done:
            self._show(time.monotonic())
            note("")

    def _show(self, now: float) -> None:
        rate = self.done / max(now - self.begun, 1e-9)
        if self.total:
            full = WIDTH * min(self.done, self.total) // self.total
            text = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.done}/{self.total} frames"
        else:
            text = f"{self.done} frames"
        note(f"\r{text}, {rate:.0f} frames/s ", end="")
