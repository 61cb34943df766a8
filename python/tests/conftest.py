"""Frames and places that several tests use."""

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
    """A gray frame without two places that look alike."""
    return np.random.default_rng(7).integers(0, 255, (120, 160), np.uint8)


def moving(noise: np.ndarray, count: int, step: int = 3) -> list[np.ndarray]:
    """Frames that move to the right."""
    return [np.roll(noise, step * i, axis=1) for i in range(count)]


def hear():
    """A program in the background of a shell does not hear Ctrl-C, one under nohup no SIGHUP, nor their children."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
