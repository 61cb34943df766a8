"""The names of presets, orders of colours and states, as types."""

from typing import Literal

Preset = Literal["robust", "fast", "crowd", "paper", "paper-dcf", "paper-gray", "expert"]
Order = Literal["bgr", "rgb"]
State = Literal["initial", "tracking", "recovered", "uncertain", "occluded", "lost", "missing"]
