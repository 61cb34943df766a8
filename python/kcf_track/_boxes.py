"""Boxes of targets in frames: as tables, arrays, files and pictures."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from . import _native

if TYPE_CHECKING:
    import pandas  # pyright: ignore
    from numpy.typing import NDArray

PathLike = Union[str, "os.PathLike[str]"]
#: What `save` writes: the formats of the command line.
Format = Literal["json", "jsonl", "csv", "otb", "mot", "coco", "cvat", "label-studio", "yolo"]


class Results:
    """Boxes of targets as tables, arrays and files."""

    def document(self) -> dict[str, Any]:
        """The JSON document of the boxes, as `kcf-track --json` writes it, without a summary."""
        raise NotImplementedError

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each target in each frame: `frame`, `id`, `x`, `y`, `w`, `h`, `state`, `confidence` and more."""
        return rows_of(self.document())

    @property
    def xyxy(self) -> NDArray[np.float64]:
        """Left, top, right, bottom of all `rows`: an array (rows, 4)."""
        return xyxy_of(record["bbox"] for record in self.document()["frames"])

    def to_pandas(self) -> pandas.DataFrame:
        """The `rows` as a table of pandas, which has to be installed."""
        try:
            import pandas  # pyright: ignore
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas; `rows` are plain dicts") from error
        return pandas.DataFrame(self.rows)

    def save(self, path: PathLike, format: Format | None = None) -> None:
        """Write the boxes in a format of the command line, by default that of the ending of `path`.

        The endings are `.json`, `.jsonl`, `.csv` and `.txt` (OTB, or MOT with several targets); `coco`, `cvat`,
        `label-studio` and `yolo` (a folder) have to be named.
        """
        _native.save_document(json.dumps(self.document()), Path(path), format)


class Boxes(Results):
    """Boxes from a file: of a run, of a session of the view, or labels. `track` takes them to go on.

    Examples:
        >>> import kcf_track
        >>> kcf_track.Boxes(kcf_track.track("assets/demo", preset="fast", end=3).document())
        <kcf_track.Boxes: 3 of 1 target>
    """

    def __init__(self, document: dict[str, Any]) -> None:
        """Take a JSON document of the program."""
        self._document = document

    def document(self) -> dict[str, Any]:
        """The JSON document of the boxes."""
        return self._document

    @property
    def targets(self) -> list[dict[str, Any]]:
        """The targets: `id`, `name` and `class` where known, and the boxes that were `given`, by frame."""
        return list(self._document["targets"])

    def __repr__(self) -> str:
        """The numbers of boxes and of targets."""
        several = "" if len(self.targets) == 1 else "s"
        return f"<kcf_track.Boxes: {len(self._document['frames'])} of {len(self.targets)} target{several}>"


def read_boxes(
    path: PathLike,
    *,
    source: _native.Source | PathLike | None = None,
    size: tuple[int, int] | None = None,
    clip: str | None = None,
    base: Literal[0, 1] | None = None,
) -> Boxes:
    """Read boxes from JSON of the program, a session of the view, or labels in any format that `--init-file` reads.

    If labels of the program mark boxes that a person gave, only those are read, otherwise all boxes. `source` is what
    the labels are for: with it names of pictures, frames at another rate and shares of the frame's size are understood
    as the command line does, and labels of another clip are refused. Without it, labels that need it are an error;
    `size`, the width and height of the frames, is enough for shares. Where a file has labels of several clips, `clip`
    names the one; where its frames may be counted from 0 or 1, `base` says from which. What is left out is a warning.

    Examples:
        >>> import kcf_track, tempfile
        >>> run = kcf_track.track("assets/demo", preset="fast", end=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(f"{folder}/boxes.json")
        ...     boxes = kcf_track.read_boxes(f"{folder}/boxes.json")
        >>> len(boxes.rows), boxes.targets[0]["given"]
        (3, [{'bbox': [12.8215, 44.41, 38.0, 60.0], 'frame': 1}])
    """
    if source is not None and not isinstance(source, _native.Source):
        source = _native.Source(source)
    text, notes = _native.read_document(Path(path), source, size, clip, base)
    for note in notes:
        warnings.warn(f"{os.fspath(path)}: {note}", stacklevel=2)
    return Boxes(json.loads(text))


def xyxy_of(boxes: Iterable[Any]) -> NDArray[np.float64]:
    """Left, top, right, bottom of boxes; NaN where there is none."""
    known = [[math.nan] * 4 if box is None else box for box in boxes]
    found = np.array(known or np.empty((0, 4)), dtype=np.float64)
    found[:, 2:] += found[:, :2]
    return found


def rows_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The frames of a document, flat, with the names and classes of their targets."""
    targets = {target["id"]: target for target in document["targets"]}
    rows: list[dict[str, Any]] = []
    for record in document["frames"]:
        rest = dict(record)
        row = {"frame": rest.pop("index"), "file": rest.pop("file"), "time": rest.pop("time", None)}
        row["id"] = rest.pop("id", 1)
        row.update(zip("xywh", rest.pop("bbox") or [None] * 4))
        target = targets.get(row["id"], {})
        row.update({name: target[name] for name in ("name", "class") if target.get(name)})
        rows.append({**row, **{name: rest.pop(name, None) for name in ("state", "confidence")}, **rest})
    return rows

