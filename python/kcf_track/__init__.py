"""Follow any object through a video: give its box in the first frame, get its box in every later one.

Examples:
    >>> import kcf_track
    >>> boxes = [step.box for step in kcf_track.track("assets/demo", end=3)]
    >>> len(boxes), boxes[0]
    (3, (12.8215, 44.41, 38.0, 60.0))
"""

from __future__ import annotations

from ._boxes import Boxes, read_boxes
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
from ._many import track_many
from ._names import Order, Preset, State
from ._native import VERSION as __version__
from ._native import Estimate, MultiTracker, Source, Tracker, install_model, presets
from ._source import Box, Frame
from ._track import Run, Step, track
from ._tracks import Tracks

__all__ = [
    "Box",
    "BoxError",
    "Boxes",
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
    "Order",
    "Preset",
    "Run",
    "SettingError",
    "Source",
    "State",
    "StateError",
    "Step",
    "Tracker",
    "Tracks",
    "__version__",
    "evaluate",
    "install_model",
    "presets",
    "read_boxes",
    "track",
    "track_many",
]
