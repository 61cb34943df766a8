"""Targets through a source of frames."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._boxes import PathLike, Results, xyxy_of
from ._errors import BoxError, FormatError, FrameError, SettingError
from ._native import Estimate, MultiTracker, Source
from ._progress import Progress
from ._source import Box, Frame, Init, Opened, Targets, open_source
from ._tracks import supervision_of

if TYPE_CHECKING:
    import supervision  # pyright: ignore
    from numpy.typing import NDArray

    from ._names import Order, Preset, State
    from ._native import FrameLike


@dataclass(frozen=True, eq=False)
class Step:
    """One frame of a run and the targets in it."""

    #: The frame's number, from 1.
    position: int
    #: The name of the image file, or empty.
    name: str
    #: The box of each target, or its last guess, by id.
    boxes: dict[int, Box]
    #: The estimate of each target by id; None for a missing frame.
    estimates: dict[int, Estimate | None]
    #: The pixels, gray where the settings need no colour, else with colours in `order`. None for a frame that cannot be
    #: read, and with `frames=False`.
    frame: Frame | None
    #: The order of the colours.
    order: Order
    #: The class of each target of the run by id, `target` where none was given.
    classes: dict[int, str]
    #: Seconds from the first frame of the source, where known.
    time: float | None
    #: Milliseconds of reading and decoding.
    decode_ms: float
    #: Milliseconds of tracking.
    track_ms: float

    @property
    def box(self) -> Box:
        """The box of the first target, or its last guess."""
        return next(iter(self.boxes.values()))

    @property
    def estimate(self) -> Estimate | None:
        """The estimate of the first target; None for a missing frame."""
        return next(iter(self.estimates.values()))

    @property
    def ok(self) -> bool:
        """False where the first target is lost or the frame is missing."""
        return self.estimate is not None and self.estimate.ok

    @property
    def state(self) -> State:
        """The state of the first target; `missing` for an unusable frame."""
        return "missing" if self.estimate is None else self.estimate.state

    @property
    def confidence(self) -> float | None:
        """The probability that the box of the first target overlaps it by more than half, where calibrated."""
        return None if self.estimate is None else self.estimate.confidence

    @property
    def xyxy(self) -> NDArray[np.float64]:
        """Left, top, right, bottom of all targets: an array (targets, 4)."""
        return xyxy_of(self.boxes.values())

    def to_supervision(self) -> supervision.Detections:  # pyright: ignore
        """The targets that are there as `supervision.Detections`, with their ids as `tracker_id`.

        Classes are numbered in the order of the targets, as in saved files. A given box has the confidence 1.
        Presets without a calibration have no confidence.
        """
        rows = ((id, self.boxes[id], estimate, self.classes[id]) for id, estimate in self.estimates.items())
        return supervision_of(rows, self.classes.values())  # pyright: ignore

    def plot(self, frame: FrameLike | None = None, *, style: Literal["full", "box"] = "full") -> Frame:
        """Draw the boxes on a copy of `frame`, by default the one that was tracked; colours are in `order`.

        `style` is `full`, with captions, or `box`.
        """
        frame = self.frame if frame is None else frame
        if frame is None:
            raise FrameError("this step has no frame: pass one, plot(frame)")
        text = json.dumps(document_of([self]))
        return _native.draw_document(text, frame, self.order, style)

    def records(self, named: bool) -> list[dict[str, Any]]:
        """The targets as the frames of a JSON document."""
        track_ms = self.track_ms / len(self.boxes)
        shared = (self.position, self.name, self.time)
        texts = [
            _native.frame_record(*shared, id if named else None, box, self.estimates[id], self.decode_ms, track_ms)
            for id, box in self.boxes.items()
        ]
        return [json.loads(text) for text in texts]


def document_of(steps: list[Step], opened: Opened | None = None, **source: Any) -> dict[str, Any]:
    """The JSON document of steps; without an open source, of the first step alone."""
    if opened is None:
        given = {id: [{"frame": steps[0].position, "bbox": list(box)}] for id, box in steps[0].boxes.items()}
        targets, named = [{"id": id, "given": boxes} for id, boxes in given.items()], len(given) > 1
    else:
        targets, named = opened.targets.records, opened.targets.named
    place = {"path": "", "start": 1, "end": None, "frames": None, "rate": None, "width": 0, "height": 0}
    return {
        "schema": "kcf-track/3",
        "source": {**place, **(opened.record if opened else {}), **source},
        "parameters": {},
        "targets": targets,
        "frames": [record for step in steps for record in step.records(named)],
    }


class Run(Results, Iterator[Step]):
    """A run of `track`: gives the `Step` of one frame after the other and keeps them, without pictures, in `steps`.

    `rows`, `to_pandas`, `xyxy` and `save` are about the steps so far; if there is none yet, they track all frames first.

    Examples:
        >>> import kcf_track
        >>> run = kcf_track.track("assets/demo", preset="fast", end=3)
        >>> run.xyxy.shape, run.rows[2]["frame"], run.rows[2]["state"]
        ((3, 4), 3, 'tracking')
    """

    def __init__(self, opened: Opened, tracker: MultiTracker, order: Order, frames: bool, skip: bool, progress: bool | None):
        """Take an open source and a tracker without targets."""
        #: The steps so far, without pictures.
        self.steps: list[Step] = []
        self._opened, self._tracker, self._frames = opened, tracker, frames
        self._size = (0, 0)
        self._rows: list[dict[str, Any]] = []
        #: Why the run has not reached its end.
        self.error: str | None = "stopped"
        total = None if opened.last is None else opened.last - opened.first + 1
        self._steps = self._follow(order, skip, Progress(total, progress))

    def __next__(self) -> Step:
        """Track the next frame."""
        try:
            step = next(self._steps)
        except StopIteration:
            raise
        except Exception as error:
            self.error = str(error)
            raise
        self.steps.append(replace(step, frame=None))
        return step if self._frames else self.steps[-1]

    def close(self) -> None:
        """End the run."""
        self._steps.close()

    def finish(self) -> Run:
        """Track all frames that are left."""
        for _ in self:
            pass
        return self

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each target in each frame so far: `frame`, `id`, `x`, `y`, `w`, `h`, `state`, and more."""
        steps = self.steps or self.finish().steps
        if len(self._rows) != sum(len(step.boxes) for step in steps):
            self._rows = super().rows
        return self._rows

    def __repr__(self) -> str:
        """How far the run has come."""
        several = "" if len(self._opened.targets.records) == 1 else "s"
        state = "" if self.error is None else f", {self.error}"
        targets = f"{len(self._opened.targets.records)} target{several}"
        return f"<kcf_track.Run: {len(self.steps)} frames of {targets}{state}>"

    def _repr_html_(self) -> str:
        """The last boxes, as notebooks show them."""
        last = self.steps[-1] if self.steps else None
        estimates = last.estimates.items() if last else ()
        cells = [
            (id, last.position, estimate.state if estimate else "missing", *(f"{side:.1f}" for side in last.boxes[id]))
            for id, estimate in estimates
            if last
        ]
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        heads = "".join(f"<th>{name}</th>" for name in ("id", "frame", "state", "x", "y", "w", "h"))
        return f"<p>{escape(repr(self))}</p><table><tr>{heads}</tr>{rows}</table>"

    def document(self) -> dict[str, Any]:
        """The JSON document of the steps so far."""
        if not self.steps:
            self.finish()
        found = document_of(self.steps, self._opened, width=self._size[0], height=self._size[1])
        return {**found, "parameters": json.loads(self._tracker._parameters), "summary": {"error": self.error}}

    def _follow(self, order: Order, skip: bool, shown: Progress) -> Generator[Step, None, None]:
        tracker, opened = self._tracker, self._opened
        boxes: dict[int, Box] = {}
        classes = {target["id"]: target.get("class") or "target" for target in opened.targets.records}
        position = opened.first - 1
        with closing(shown):
            for position, name, frame, at, decode_ms in opened.items:
                due = opened.due.get(position, {})
                pixels = None if isinstance(frame, Exception) else frame
                begun = time.perf_counter()
                estimates: dict[int, Estimate | None] = dict.fromkeys(boxes)
                try:
                    if isinstance(frame, Exception):
                        raise frame
                    for id in due.keys() & boxes.keys():
                        tracker.remove(id)
                    if len(tracker):
                        tracker.update(frame)
                    for id, box in due.items():
                        if box is not None:
                            tracker.add(frame, box, id=id)
                    estimates = {id: tracker[id] for id in tracker}
                    boxes = {id: estimate.box for id, estimate in estimates.items() if estimate}
                    self._size = (frame.shape[1], frame.shape[0])
                except (FormatError, FrameError, OSError, TypeError):
                    # A frame with a given box is required.
                    if due or not skip:
                        raise
                track_ms = (time.perf_counter() - begun) * 1e3
                if boxes:
                    yield Step(position, name, boxes, estimates, pixels, order, classes, at, decode_ms, track_ms)
                shown.advance()
        for target in opened.targets.records:
            begin = target["given"][0]["frame"]
            if 0 < position < begin:
                raise BoxError(f"target {target['id']} never began: the frames end before frame {begin}")
        self.error = None
        if opened.last is not None and opened.first <= position < opened.last:
            warnings.warn(f"the frames end with {position}, before end {opened.last}", stacklevel=3)


def name_classes(targets: list[dict[str, Any]], classes: Sequence[str] | Mapping[int, str]) -> None:
    """Give targets their classes: by id, or in their order."""
    ids = [target["id"] for target in targets]
    if isinstance(classes, str) or not isinstance(classes, Mapping) and len(classes) > len(ids):
        raise SettingError(f"classes {classes!r}: must be a list of at most one name for each target, or a dict by id")
    by_id = classes if isinstance(classes, Mapping) else dict(zip(ids, classes))
    unknown = [id for id in by_id if id not in ids]
    if unknown:
        raise SettingError(f"classes: there is no target {unknown[0]!r}; the ids are {', '.join(map(str, ids))}")
    for target in targets:
        if target["id"] in by_id:
            target["class"] = by_id[target["id"]]


def track(
    source: int | PathLike | Source | Iterable[Any],
    init: Init | None = None,
    *,
    preset: Preset = "robust",
    classes: Sequence[str] | Mapping[int, str] | None = None,
    order: Order = "bgr",
    start: int | None = None,
    end: int | None = None,
    frames: bool = True,
    skip_bad_frames: bool = False,
    progress: bool | None = None,
    threads: int | None = None,
    **settings: Any,
) -> Run:
    """Follow one or several targets: a `Run`, which gives a `Step` per frame, the first with the given boxes.

    `source` is what `Source` opens, or an iterable of arrays, image files or pictures of Pillow; arrays have colours in
    `order`, and so has `Step.frame`. `init` is the box in the first frame, a list of boxes, a dict of boxes by id, or what
    `read_boxes` has read; a sequence with ground truth needs none. `classes` are the classes of the targets in saved
    files: a list, or a dict by id. `start` and `end` are the first and the last frame, from 1; a video or a generator that ends before `end` causes
    a warning. With `frames=False` steps carry no pictures. With `skip_bad_frames` an unusable frame has the state
    `missing`. `progress` prints progress to the standard error, by default where that is a terminal. `threads` is the
    number of threads for several targets, by default one per processor. Other keywords are settings of `Tracker`.

    Examples:
        >>> import kcf_track
        >>> states = [step.state for step in kcf_track.track("assets/demo", end=4)]
        >>> states
        ['initial', 'tracking', 'tracking', 'tracking']

        Several targets in frames from anywhere:

        >>> import numpy
        >>> noise = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
        >>> frames = (numpy.roll(noise, 4 * i, axis=1) for i in range(4))
        >>> run = kcf_track.track(frames, [(20, 10, 16, 16), (30, 20, 12, 12)], preset="paper")
        >>> [[round(box[0]) for box in step.boxes.values()] for step in run]
        [[20, 30], [24, 34], [28, 38], [32, 42]]
    """
    targets = None if init is None else Targets(init)
    if targets is None or len(targets.records) == 1:
        # One target needs no threads.
        threads = 1
    tracker = MultiTracker(preset, order=order, threads=threads, **settings)
    opened = open_source(source, targets, order=order, start=start, end=end, color=tracker.uses_color)
    name_classes(opened.targets.records, classes or [])
    return Run(opened, tracker, order, frames, skip_bad_frames, progress)
