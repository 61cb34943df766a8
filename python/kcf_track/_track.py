"""One target through a folder of images, a video, or an iterable of frames."""

from __future__ import annotations

import operator
import os
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sized
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ._errors import BoxError, FormatError, FrameError, SettingError
from ._native import Estimate, Source, Tracker
from ._progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Frame = NDArray[np.uint8]
else:
    Frame = np.ndarray

#: Left, top (0-based), width, height in pixels.
Box = tuple[float, float, float, float]
PathLike = Union[str, "os.PathLike[str]"]


class Step(NamedTuple):
    """One frame of a run and the target in it."""

    #: The frame's number, from 1.
    position: int
    #: The name of the image file, or empty.
    name: str
    #: The box of the target, or the last guess.
    box: Box
    #: The estimate of the tracker; None for a missing frame.
    estimate: Estimate | None
    #: The given pixels; from a file red, green, blue, or gray where the settings need no colour. None for a frame that
    #: cannot be read.
    frame: Frame | None
    #: Seconds from the first frame of the source, where known.
    time: float | None
    #: Milliseconds of reading and decoding.
    decode_ms: float
    #: Milliseconds of tracking.
    track_ms: float

    @property
    def ok(self) -> bool:
        """False where the target is lost or the frame is missing."""
        return self.estimate is not None and self.estimate.ok

    @property
    def state(self) -> str:
        """`initial`, `tracking`, `recovered`, `uncertain`, `lost`, or `missing` for an unusable frame."""
        return "missing" if self.estimate is None else self.estimate.state

    @property
    def confidence(self) -> float | None:
        """The probability that the box overlaps the target by more than half, where calibrated."""
        return None if self.estimate is None else self.estimate.confidence


#: Position, name, pixels or the exception, time, milliseconds of decoding.
Item = tuple[int, str, "Frame | Exception", "float | None", float]


class Opened(NamedTuple):
    """An open source."""

    items: Iterator[Item]
    order: str
    init: Box
    first: int
    last: int | None
    source: Source | None


def track(
    source: PathLike | Source | Iterable[Frame],
    init: Iterable[float] | None = None,
    *,
    preset: str = "robust",
    order: str = "bgr",
    start: int | None = None,
    end: int | None = None,
    skip_bad_frames: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Generator[Step, None, None]:
    """Follow one target and yield a `Step` per frame, the first with the given box.

    `source` is what `Source` opens, or an iterable of arrays with colours in `order`. `init` is the box in the first
    frame; a sequence with ground truth needs none. `start` and `end` are the first and the last frame, from 1; a video
    or a generator that ends before `end` causes a warning. With `skip_bad_frames` an unusable frame has the state
    `missing`. `progress` prints progress to the standard error, by default where that is a terminal. Keywords are
    settings of `Tracker`.

    Examples:
        >>> import kcf_track
        >>> states = [step.state for step in kcf_track.track("assets/demo", end=4)]
        >>> states
        ['initial', 'tracking', 'tracking', 'tracking']

        Frames from anywhere:

        >>> import numpy
        >>> noise = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
        >>> frames = (numpy.roll(noise, 4 * i, axis=1) for i in range(4))
        >>> [round(step.box[0]) for step in kcf_track.track(frames, (20, 10, 16, 16), preset="paper")]
        [20, 24, 28, 32]
    """
    tracker = Tracker(preset, order=order, **settings)
    opened = open_source(source, init, order=order, start=start, end=end, color=tracker.uses_color)
    if opened.order != order:
        tracker = Tracker(preset, order=opened.order, **settings)
    return run(tracker, opened, skip_bad_frames=skip_bad_frames, progress=progress)


def open_source(
    source: PathLike | Source | Iterable[Frame],
    init: Iterable[float] | None,
    *,
    order: str = "bgr",
    start: int | None = None,
    end: int | None = None,
    color: bool = True,
) -> Opened:
    """Open a source of frames."""
    if isinstance(source, (str, os.PathLike)):
        source = Source(source)
    if isinstance(source, Source):
        first, last = source.span(start, end)
        box = source.box(first) if init is None else as_box(init)
        return Opened(source.frames(first, last, color=color), "rgb", box, first, last, source)
    if isinstance(source, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        length = len(source) if isinstance(source, Sized) else None
    else:
        raise TypeError(f"a source is a folder, a video or an iterable of frames, not {type(source).__name__}")
    if init is None:
        raise TypeError("an iterable of frames needs a box: track(source, (left, top, width, height))")
    begin = 1 if start is None else operator.index(start)
    end = None if end is None else operator.index(end)
    if begin < 1 or (end is not None and end < begin):
        raise SettingError(f"frames {start} to {end}: positions count from 1, and the end lies behind the start")
    if length is not None and begin > max(length, 1):
        raise _too_late("start", begin, length)
    if length is not None and end is not None and end > length:
        raise _too_late("end", end, length)
    until = length if end is None else end
    return Opened(_numbered(source, begin, until), order, as_box(init), begin, until, None)


def as_box(given: Iterable[float]) -> Box:
    """Four numbers as a box."""
    numbers = tuple(given)
    # `float` would read text.
    if isinstance(given, str) or any(isinstance(number, (str, bytes)) for number in numbers):
        raise TypeError("a box must be four numbers (left, top, width, height), not text")
    if len(numbers) != 4:
        raise BoxError(f"a box is four numbers (left, top, width, height), not {len(numbers)}")
    try:
        x, y, w, h = (float(number) for number in numbers)
    except OverflowError as error:
        raise BoxError(f"a box is four numbers (left, top, width, height): {error}") from None
    return x, y, w, h


def _too_late(name: str, position: int, length: int) -> SettingError:
    return SettingError(f"{name} {position}: there are {length} frames, counted from 1")


def _numbered(frames: Iterable[Frame], first: int, last: int | None) -> Iterator[Item]:
    rest = iter(frames)
    index = 0
    while last is None or index < last:
        begun = time.perf_counter()
        try:
            frame = next(rest)
        except StopIteration:
            if 1 < first and index < first:
                raise _too_late("start", first, index) from None
            return
        index += 1
        if index >= first:
            yield index, "", frame, None, (time.perf_counter() - begun) * 1e3


def run(
    tracker: Tracker, opened: Opened, *, skip_bad_frames: bool = False, progress: bool | None = None
) -> Generator[Step, None, None]:
    """Track all frames of a source."""
    total = None if opened.last is None else opened.last - opened.first + 1
    shown = Progress(total, progress)
    box: Box | None = None
    position = opened.first - 1
    with closing(shown):
        for position, name, frame, at, decode_ms in opened.items:
            estimate, pixels = None, None if isinstance(frame, Exception) else frame
            begun = time.perf_counter()
            try:
                if isinstance(frame, Exception):
                    raise frame
                if box is None:
                    tracker.init(frame, opened.init)
                else:
                    tracker.update(frame)
                estimate = tracker.estimate
            except (FormatError, FrameError, OSError, TypeError):
                # The first frame is required.
                if box is None or not skip_bad_frames:
                    raise
            track_ms = (time.perf_counter() - begun) * 1e3
            box = opened.init if box is None else box if estimate is None else estimate.box
            yield Step(position, name, box, estimate, pixels, at, decode_ms, track_ms)
            shown.advance()
    if opened.last is not None and opened.first <= position < opened.last:
        warnings.warn(f"the frames end with {position}, before end {opened.last}", stacklevel=2)
