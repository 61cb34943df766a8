"""Follow any object through a video: give its box in the first frame, get its box in every later one.

Examples:
    >>> import kcf_track
    >>> boxes = [step.box for step in kcf_track.track("assets/demo", end=3)]
    >>> len(boxes), boxes[0]
    (3, (12.8215, 44.41, 38.0, 60.0))
"""

from __future__ import annotations

from ._errors import (
    BoxError,
    ClosedPipeError,
    Error,
    EvaluationError,
    FileError,
    FitError,
    FormatError,
    FrameError,
    MissingFileError,
    NotInitializedError,
    SettingError,
    StateError,
)
from ._evaluate import Evaluation, evaluate
from ._native import VERSION as __version__
from ._native import Estimate, MultiTracker, Source, Tracker, presets
from ._track import Box, Frame, Step, track

__all__ = [
    "Box",
    "BoxError",
    "ClosedPipeError",
    "Error",
    "Estimate",
    "Evaluation",
    "EvaluationError",
    "FileError",
    "FitError",
    "FormatError",
    "Frame",
    "FrameError",
    "MissingFileError",
    "MultiTracker",
    "NotInitializedError",
    "SettingError",
    "Source",
    "StateError",
    "Step",
    "Tracker",
    "__version__",
    "evaluate",
    "presets",
    "track",
]
