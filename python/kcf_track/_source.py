"""Sources of frames, and the boxes that are given in them."""

from __future__ import annotations

import operator
import os
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ._boxes import Boxes, PathLike
from ._errors import BoxError, FormatError, SettingError
from ._names import Order
from ._native import Source, read_image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Frame = NDArray[np.uint8]
else:
    Frame = np.ndarray

#: Left, top (0-based), width, height in pixels.
Box = tuple[float, float, float, float]
#: One box, several, several by id, or what `read_boxes` has read.
Init = Union[Iterable[float], Iterable[Iterable[float]], Mapping[int, Iterable[float]], Boxes]

#: Position, name, pixels or the exception, time, milliseconds of decoding.
Item = tuple[int, str, "Frame | Exception", "float | None", float]


class Targets:
    """The given boxes of each target: the first begins it, each later one corrects it, None ends it."""

    def __init__(self, init: Init) -> None:
        """Take the boxes that the user gave."""
        #: Whether outputs tell targets apart by their ids.
        self.named = True
        #: The targets of a JSON document.
        self.records: list[dict[str, Any]]
        if isinstance(init, Boxes):
            self.records = init.targets
            return
        given: Any = init
        if isinstance(init, Mapping):
            if any(not _is_number(id) for id in given):
                raise TypeError("a dict of boxes has their ids as keys: {1: (left, top, width, height)}")
            boxes = {operator.index(id): as_box(box) for id, box in given.items()}
        else:
            given = given if isinstance(init, str) else list(given)
            several = bool(given) and all(hasattr(each, "__iter__") and not isinstance(each, str) for each in given)
            boxes = dict(enumerate(map(as_box, given) if several else [as_box(given)], 1))
            self.named = len(boxes) > 1
        if not boxes:
            raise BoxError("there is no box")
        self.records = [{"id": id, "given": [{"frame": None, "bbox": list(box)}]} for id, box in boxes.items()]

    @property
    def start(self) -> int | None:
        """The first frame with a box; None for the first of the run."""
        frames = [target["given"][0]["frame"] for target in self.records]
        return None if None in frames or not frames else min(frames)

    def within(self, first: int, last: int | None) -> dict[int, dict[int, Box | None]]:
        """The boxes of each frame of a run by id."""
        due: dict[int, dict[int, Box | None]] = {}
        records: list[dict[str, Any]] = []
        outside: list[dict[str, Any]] = []
        for target in self.records:
            # Boxes outside of the run are left out.
            given: list[dict[str, Any]] = [
                {**each, "frame": first if each["frame"] is None else each["frame"]}
                for each in target["given"]
                if each["frame"] is None or (first <= each["frame"] and (last is None or each["frame"] <= last))
            ]
            while given and given[0]["bbox"] is None:
                given.pop(0)
            if not given:
                outside.append(target)
                continue
            for each in given:
                box = None if each["bbox"] is None else as_box(each["bbox"])
                due.setdefault(each["frame"], {})[target["id"]] = box
            records.append({**target, "given": given})
        if outside and not records:
            begin = outside[0]["given"][0]["frame"]
            span = f"from frame {first} to {'its end' if last is None else last}"
            raise BoxError(f"target {outside[0]['id']} begins in frame {begin}, and the run goes {span}")
        if outside:
            ids = ", ".join(str(target["id"]) for target in outside)
            message = f"no box is given in these frames to target {ids}, which is left out"
            warnings.warn(message, stacklevel=3)
        self.records = records
        return due


class Opened(NamedTuple):
    """An open source, and the boxes that are given in it."""

    items: Iterator[Item]
    targets: Targets
    #: The boxes of each frame by id; None ends a target.
    due: dict[int, dict[int, Box | None]]
    first: int
    last: int | None
    #: The record of the source in a JSON document.
    record: dict[str, Any]


def open_source(
    source: int | PathLike | Source | Iterable[Any],
    targets: Targets | None,
    *,
    order: Order = "bgr",
    start: int | None = None,
    end: int | None = None,
    color: bool = True,
) -> Opened:
    """Open a source of frames; without targets that of its truth is followed."""
    path = ""
    shape: tuple[int, ...] = getattr(source, "shape", ())
    if 0 < len(shape) < 3 or (len(shape) == 3 and shape[2] <= 4):
        raise TypeError("a source is several frames, and this array is one: pass a list of frames, or use Tracker")
    if isinstance(source, (str, os.PathLike)) or _is_number(source) or _are_paths(source):
        # A password must stand in no file.
        path = "" if _are_paths(source) else re.sub(r"^([\w+.-]+://)[^/?#]*@", r"\1", str(source))
        named: Any = source
        source = Source(named)
    begin = targets.start if targets is not None and start is None else start
    record: dict[str, Any] = {"path": path}
    if isinstance(source, Source):
        for warning in source.warnings:
            warnings.warn(warning, stacklevel=3)
        first, last = source.span(begin, end)
        targets = Targets(true_box(source, first)) if targets is None else targets
        record = {"path": path or source.name, "frames": source.length, "rate": source.rate}
        items: Iterator[Item] = source.frames(first, last, color=color, order=order)
    elif isinstance(source, Iterable):
        length = len(source) if isinstance(source, Sized) else None
        if targets is None:
            raise TypeError("the first box is missing: track(source, (left, top, width, height))")
        first, last = span(begin, end, length)
        record["frames"] = length
        items = _numbered(source, first, last, color, order)
    else:
        kind = type(source).__name__
        raise TypeError(f"a source is a folder, a video, a camera's number or an iterable of frames, not {kind}")
    due = targets.within(first, last)
    return Opened(items, targets, due, first, last, {**record, "start": first, "end": last})


def _is_number(source: Any) -> bool:
    return hasattr(source, "__index__") and not isinstance(source, (bool, np.ndarray))


def _are_paths(source: Any) -> bool:
    if type(source) not in (list, tuple):
        return False
    return len(source) > 0 and all(isinstance(each, (str, os.PathLike)) for each in source)


def true_box(source: Source, position: int) -> Box:
    """The box of a truth, or an error that says what to pass."""
    try:
        return source.box(position)
    except FormatError as error:
        raise FormatError(f"{error}: pass the first box, track(source, (left, top, width, height))") from None


def as_box(given: Any) -> Box:
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


def span(start: int | None, end: int | None, length: int | None) -> tuple[int, int | None]:
    """The first and the last of frames that are counted from 1."""
    first = 1 if start is None else operator.index(start)
    last = None if end is None else operator.index(end)
    if first < 1 or (last is not None and last < first):
        raise SettingError(f"start {start}, end {end}: positions count from 1, and the end is not before the start")
    if length is not None and first > max(length, 1):
        raise _too_late("start", first, length)
    if length is not None and last is not None and last > length:
        raise _too_late("end", last, length)
    return first, length if last is None else last


def _too_late(name: str, position: int, length: int) -> SettingError:
    return SettingError(f"{name} {position}: there are {length} frames, counted from 1")


def _numbered(frames: Iterable[Any], first: int, last: int | None, color: bool, order: Order) -> Iterator[Item]:
    rest = iter(frames)
    index = 0
    while last is None or index < max(first, last):
        begun = time.perf_counter()
        try:
            given = next(rest)
        except StopIteration:
            if index == 0:
                raise FormatError("the source has no frame") from None
            if index < first:
                raise _too_late("start", first, index) from None
            return
        index += 1
        if index >= first:
            name, frame = _pixels(given, color, order)
            yield index, name, frame, None, (time.perf_counter() - begun) * 1e3


def _pixels(given: Any, color: bool, order: Order) -> tuple[str, Any]:
    """The name and the pixels of a file, a picture of Pillow, or an array."""
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        path = str(given)
        try:
            return os.path.basename(path), read_image(path, color, order)
        except (FormatError, OSError) as error:
            return os.path.basename(path), error
    if hasattr(given, "getbands"):
        if given.mode.startswith(("I", "F")):
            raise TypeError(f"a picture must have 8 bits a channel, and its mode is {given.mode}: scale it first")
        pixels = np.asarray(given if given.mode == "L" else given.convert("RGB"))
        return "", pixels[..., ::-1] if pixels.ndim == 3 and order == "bgr" else pixels
    return "", given
