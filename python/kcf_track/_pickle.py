"""Trackers made of what was pickled of them."""

from __future__ import annotations

from typing import Any

from ._native import MultiTracker, Tracker


def tracker(parts: dict[str, Any]) -> Tracker:
    """A tracker with all that it had learned."""
    return Tracker.restore(
        parts["snapshot"], preset=parts["preset"], order=parts["order"], estimate=parts["estimate"]
    )


def multi_tracker(parts: dict[str, Any]) -> MultiTracker:
    """Several targets with all that was learned of them."""
    kept = {key: parts[key] for key in ("order", "threads", "stagger", "settings")}
    made = MultiTracker(parts["preset"], **kept)
    made._restore(parts["next"], parts["frames"], parts["targets"])
    return made
