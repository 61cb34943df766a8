"""Detections in, tracks out: the arrays of other libraries."""

# Other libraries need not be there, and not all of them have types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._boxes import xyxy_of
from ._errors import BoxError, SettingError
from ._native import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._source import Box

#: Left, top, width, height; score; class.
Row = tuple["list[float]", float, "str | None"]


@dataclass(frozen=True, eq=False)
class Tracks:
    """The targets of a `MultiTracker` in the last frame, in the order of their ids.

    Examples:
        >>> import kcf_track, numpy
        >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
        >>> targets = kcf_track.MultiTracker("fast")
        >>> _ = targets.update(frame, [(10, 10, 20, 20, 0.9, "cup")])
        >>> targets.tracks.ids, targets.tracks.classes
        ([1], ['cup'])
    """

    #: The ids.
    ids: list[int]
    #: The estimates.
    estimates: list[Estimate]
    #: The classes of the targets; `target` where no detection has a class.
    classes: list[str]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Estimate, str | None]]) -> Tracks:
        """The tracks of ids, estimates and classes."""
        rows = list(rows)
        return cls([row[0] for row in rows], [row[1] for row in rows], [row[2] or "target" for row in rows])

    def __len__(self) -> int:
        """The number of targets."""
        return len(self.ids)

    @property
    def boxes(self) -> list[Box]:
        """Left, top, width, height of each."""
        return [estimate.box for estimate in self.estimates]

    @property
    def xyxy(self) -> NDArray[np.float64]:
        """Left, top, right, bottom of each: an array (targets, 4)."""
        return xyxy_of(self.boxes)

    @property
    def states(self) -> list[str]:
        """The state of each."""
        return [estimate.state for estimate in self.estimates]

    @property
    def confidence(self) -> list[float | None]:
        """The probability that the box of each overlaps its target by more than half, where calibrated."""
        return [estimate.confidence for estimate in self.estimates]

    def to_supervision(self) -> Any:
        """The targets that are there as `supervision.Detections`, with their ids as `tracker_id`.

        Classes are numbered in the order of the targets. A given box has the confidence 1; presets without a calibration
        have none.
        """
        return supervision_of(zip(self.ids, self.boxes, self.estimates, self.classes), self.classes)


def supervision_of(rows: Iterable[tuple[int, Box, Estimate | None, str]], classes: Iterable[str]) -> Any:
    """The targets of `rows` that are there; `classes` are numbered in their order."""
    try:
        import supervision  # pyright: ignore
    except ImportError as error:
        raise ImportError("to_supervision needs supervision: pip install supervision") from error
    seen = [(id, box, estimate, name) for id, box, estimate, name in rows if estimate is not None and estimate.ok]
    sure = [1.0 if estimate.state == "initial" else estimate.confidence for _, _, estimate, _ in seen]
    names = list(dict.fromkeys(classes))
    make: Any = supervision.Detections  # pyright: ignore
    return make(
        xyxy=xyxy_of(box for _, box, _, _ in seen).astype(np.float32),
        confidence=None if None in sure else np.array(sure, np.float32),
        class_id=np.array([names.index(name) for *_, name in seen], int),
        tracker_id=np.array([id for id, *_ in seen], int),
        data={
            "state": np.array([estimate.state for _, _, estimate, _ in seen], str),
            "class_name": np.array([name for *_, name in seen], str),
        },
    )


def rows_of(given: Any, format: str = "xywh") -> list[Row]:
    """The rows of an array or a list, of `supervision.Detections`, or of what ultralytics returns."""
    if format not in ("xywh", "xyxy"):
        raise SettingError(f"format {format}: must be xywh or xyxy")
    if isinstance(given, (list, tuple)) and len(given) == 1 and hasattr(given[0], "boxes"):
        # A model of ultralytics answers a list, with an element a picture.
        given = given[0]
    boxes = getattr(given, "boxes", given)
    if hasattr(boxes, "xyxy"):
        return _rows_of_corners(given, boxes)
    return [_row(row, format) for row in given]


def _rows_of_corners(given: Any, boxes: Any) -> list[Row]:
    corners = _array(boxes.xyxy).reshape(-1, 4)
    scores = getattr(boxes, "confidence", getattr(boxes, "conf", None))
    numbers = getattr(boxes, "class_id", getattr(boxes, "cls", None))
    data = getattr(boxes, "data", None)
    named = data.get("class_name") if isinstance(data, Mapping) else None
    names: Any = getattr(given, "names", {})
    scores = np.ones(len(corners)) if scores is None else _array(scores)
    classes: Sequence[str | None] = [None] * len(corners)
    if named is not None:
        classes = [str(name) for name in named]
    elif numbers is not None:
        classes = [str(names[int(number)]) if int(number) in names else str(int(number)) for number in _array(numbers)]
    return [
        ([float(x), float(y), float(right - x), float(bottom - y)], float(score), name)
        for (x, y, right, bottom), score, name in zip(corners, scores, classes)
    ]


def _array(values: Any) -> NDArray[np.float64]:
    # A tensor of torch may be on another device.
    values = values.cpu() if hasattr(values, "cpu") else values
    return np.asarray(values, float)


def _row(row: Any, format: str) -> Row:
    if isinstance(row, Mapping):
        words: Any = row
        row = [*words.get("bbox", words.get("box", ())), words.get("score", 1.0), words.get("class")]
    values = list(row)
    if not 4 <= len(values) <= 6:
        raise BoxError(f"a detection is four numbers, a score and a class, not {len(values)} values")
    x, y, a, b = map(float, values[:4])
    score = float(values[4]) if len(values) > 4 else 1.0
    name = values[5] if len(values) > 5 else None
    if name is not None and not isinstance(name, str):
        name = f"{name:g}"
    return ([x, y, a, b] if format == "xywh" else [x, y, a - x, b - y]), score, name
