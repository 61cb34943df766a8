"""Shared fixtures."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def demo() -> Path:
    return ROOT / "assets/demo"


@pytest.fixture
def noise() -> np.ndarray:
    """A gray frame of noise."""
    return np.random.default_rng(7).integers(0, 255, (120, 160), np.uint8)


def moving(noise: np.ndarray, count: int, step: int = 3) -> list[np.ndarray]:
    """Frames that move to the right."""
    return [np.roll(noise, step * i, axis=1) for i in range(count)]


def reset_signals():
    """Undo ignored signals, which a child inherits from a shell's background or nohup."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
