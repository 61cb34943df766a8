"""Progress on the standard error."""

from __future__ import annotations

import sys
import time

#: Seconds between two updates.
PAUSE = 0.1
WIDTH = 30


class Progress:
    """A bar, or a count where the total is unknown. By default it is shown on a terminal only."""

    def __init__(self, total: int | None, shown: bool | None, unit: str = "frames") -> None:
        """Show the bar if `shown`; None shows the bar if the standard error is a terminal."""
        try:
            self.shown = sys.stderr.isatty() if shown is None else shown and sys.stderr is not None
        except (AttributeError, ValueError):
            self.shown = False
        self.total, self.unit = total, unit
        self.done = 0
        self.begun = self.last = time.monotonic()

    def advance(self) -> None:
        """Count one more."""
        self.show(self.done + 1, self.total)

    def show(self, done: int, total: int | None) -> None:
        """Show how many of how many are done."""
        self.done, self.total = done, total
        now = time.monotonic()
        if self.shown and now - self.last >= PAUSE:
            self.last = now
            self._print("")

    def close(self) -> None:
        """End the line."""
        if self.shown and self.done:
            self._print("\n")

    def _print(self, end: str) -> None:
        rate = self.done / max(time.monotonic() - self.begun, 1e-9)
        text = f"{self.done} {self.unit}"
        if self.total:
            full = WIDTH * min(self.done, self.total) // self.total
            text = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.done}/{self.total} {self.unit}"
        try:
            print(f"\r{text}, {rate:.{1 if rate < 10 else 0}f} {self.unit}/s ", end=end, file=sys.stderr, flush=True)
        except (OSError, ValueError):
            self.shown = False
