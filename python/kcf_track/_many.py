"""Many clips at once, on the processors of this machine or on a cluster."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ._boxes import Boxes, PathLike, rows_of
from ._errors import BoxError, SettingError
from ._native import MultiTracker
from ._progress import Progress
from ._source import Targets
from ._track import track

if TYPE_CHECKING:
    import pandas  # pyright: ignore

    Jobs = TypeVar("Jobs", "pandas.DataFrame", list[dict[str, Any]])

#: Columns of a clip without boxes.
COLUMNS = ("frame", "id", *"xywh")

#: The JSON document of a clip, and the warnings.
Answer = tuple[str, "list[str]"]

#: A clip, its targets as in a JSON document (None for those of a truth), and the settings of `track`.
Job = tuple[str, "list[dict[str, Any]] | None", "dict[str, Any]"]


def track_many(
    jobs: Jobs,
    client: Any = None,
    *,
    out: PathLike | None = None,
    workers: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Jobs:
    """Follow the targets of many clips: a table of first boxes in, a table of all boxes out.

    `jobs` is a list of dicts or a DataFrame of pandas, and so is the result. Each row has a `clip` and a `box`, or the
    columns `x`, `y`, `w`, `h`. Rows of one clip are several targets; with `id` and `frame` a later box of a target
    corrects it. A clip without a box has a truth beside it. Columns `name` and `class` of a target are kept, others are
    left out; `settings` are those of `track`.

    The clips are followed by `workers` processes (one per processor) with one thread each, or by `client`: a
    `distributed.Client` of Dask or an executor of `concurrent.futures`, whose workers see the clips at the same paths.
    Dask gives the clip of a worker that dies to others (`distributed.scheduler.allowed-failures`).

    A clip that fails has a row with its `error`, after the boxes until then, and never ends the others. With `out`, a folder,
    each clip's boxes are written to `out/NAME.json` as soon as it is finished. The next call with the same `out`
    follows only the clips that are missing, have failed, are newer files than their boxes, or have other boxes or
    settings: repeat it after Ctrl-C.

    Examples:
        >>> import kcf_track
        >>> jobs = [{"clip": "assets/demo", "box": (12.8, 44.4, 38, 60)}, {"clip": "no/such.mp4", "box": (1, 2, 3, 4)}]
        >>> rows = kcf_track.track_many(jobs, end=3, preset="fast", workers=2)
        >>> [(row["clip"], row["frame"], row["error"]) for row in rows]
        [('assets/demo', 1, None), ('assets/demo', 2, None), ('assets/demo', 3, None), ('no/such.mp4', None, 'no/such.mp4: ...')]
    """
    table: Any = jobs
    dicts = table.to_dict("records") if hasattr(table, "to_dict") else table
    todo = [(clip, targets, settings) for clip, targets in clips(dicts).items()]
    found: dict[str, dict[str, Any]] = {}
    places = {job[0]: None if out is None else Path(out) / name_of(job) for job in todo}
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        found = {clip: kept for clip, place in places.items() if place and (kept := finished(place, clip))}
    left = [job for job in todo if job[0] not in found]
    if client is None:
        # A wrong setting is an error of this call, not of each clip. (Workers may have models that are not here.)
        own = inspect.signature(track).parameters.keys() - {"preset", "order", "settings"}
        MultiTracker(**{name: value for name, value in settings.items() if name not in own})
    children = Children()
    executor: Executor
    futures: dict[Future[Answer], str] = {}
    if client is None:
        executor = ThreadPoolExecutor(workers or os.cpu_count() or 1)
    else:
        executor = client.get_executor(pure=False) if hasattr(client, "get_executor") else client
    shown = Progress(len(todo), progress, "clips")
    shown.show(len(found), len(todo))
    with closing(shown):
        try:
            run = children.follow if client is None else recorded if hasattr(client, "get_executor") else follow
            futures = {executor.submit(run, job): job[0] for job in left}
            for future in as_completed(futures):
                clip = futures.pop(future)
                (text, warned), place = answer_of(future), places[clip]
                found[clip] = json.loads(text)
                if place is not None and "frames" in found[clip]:
                    part = place.with_suffix(".part")
                    part.write_text(text, encoding="utf-8")
                    part.replace(place)
                shown.advance()
                for message in warned:
                    warnings.warn(f"{clip}: {message}", stacklevel=2)
        except BaseException:
            for future in futures:
                future.cancel()
            children.end()
            raise
        finally:
            if executor is not client:
                executor.shutdown()
    rows: Any = [row for clip, *_ in todo for row in rows_with(clip, found[clip])]
    if dicts is not table:
        rows = type(table)(rows, columns=None if rows else ["clip", *COLUMNS, "error"])
        # A clip that failed has no frame.
        rows = rows.astype({"frame": "Int64", "id": "Int64"})
    result: Jobs = rows
    return result


def clips(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]] | None]:
    """The targets of each clip of a table."""
    found: dict[str, list[dict[str, Any]] | None] = {}
    settings: set[str] = set()
    for number, row in enumerate(rows, 1):
        if not hasattr(row, "items"):
            kind = type(row).__name__
            raise TypeError(f"jobs must be a list of dicts or a DataFrame of pandas, and row {number} is a {kind}")
        row = {key: value for key, value in row.items() if not _is_missing(value)}
        if "clip" not in row:
            raise SettingError(f"row {number}: it has no clip")
        clip, sides = str(row["clip"]), [row[side] for side in "xywh" if side in row]
        if "box" not in row and 0 < len(sides) < 4:
            missing = ", ".join(side for side in "xywh" if side not in row)
            raise BoxError(f"row {number}: the box has no {missing}; its columns are x, y, w, h")
        settings.update(row.keys() & {"preset", "start", "end"})
        known = found.setdefault(clip, None)
        init = row.get("box", sides or None)
        if init is None:
            continue
        known = found[clip] = known or []
        try:
            records = Targets(init).records
            numbers = {name: int(row[name]) for name in ("id", "frame") if name in row}
        except (BoxError, TypeError, ValueError) as error:
            wrong = SettingError if type(error) is ValueError else type(error)
            raise wrong(f"row {number}: {error}") from None
        for target in records:
            ids = [other["id"] for other in known]
            id = numbers.get("id", 1 + max(ids, default=0))
            given = [{**each, "frame": numbers.get("frame")} for each in target["given"]]
            if id in ids and _frame(given[0]) in map(_frame, known[ids.index(id)]["given"]):
                raise SettingError(f"row {number}: target {id} has a box in this frame: give another id or frame")
            extra: dict[str, Any] = {name: str(row[name]) for name in ("name", "class") if name in row}
            if id in ids:
                known[ids.index(id)]["given"] += given
            else:
                known.append({**target, "id": id, **extra, "given": given})
    for targets in found.values():
        for target in targets or []:
            target["given"].sort(key=_frame)
    if settings:
        columns = ", ".join(sorted(settings))
        warnings.warn(f"columns that are left out: {columns}; settings are arguments, for all clips", stacklevel=3)
    return found


def _frame(given: dict[str, Any]) -> int:
    return given["frame"] or 0


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def name_of(job: Job) -> str:
    """The name of the file of a clip's boxes, by its job."""
    digest = hashlib.sha256(json.dumps(job, default=repr, sort_keys=True).encode()).hexdigest()
    return f"{Path(job[0]).stem}-{digest[:8]}.json"


def finished(place: Path, clip: str) -> dict[str, Any] | None:
    """The document of a clip that was followed to its end, unless the clip is a newer file."""
    try:
        if Path(clip).is_file() and Path(clip).stat().st_mtime > place.stat().st_mtime:
            return None
        document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError):
        return None
    return document if "frames" in document and not document["summary"]["error"] else None


def document_of(job: Job) -> str:
    """The JSON document of a clip; an error is in its summary."""
    clip, targets, settings = job
    try:
        keywords: dict[str, Any] = {"progress": False, "frames": False, "threads": 1, **settings}
        run = track(clip, None if targets is None else Boxes({"targets": targets}), **keywords)
    except Exception as error:
        return json.dumps({"summary": {"error": str(error)}})
    with suppress(Exception):
        # The document has the error, and the boxes until then.
        run.finish()
    if not run.steps:
        return json.dumps({"summary": {"error": run.error or "there is no frame"}})
    with tempfile.TemporaryDirectory(prefix="kcf-track-") as place:
        run.save(f"{place}/boxes.json")
        return Path(f"{place}/boxes.json").read_text(encoding="utf-8")


def follow(job: Job) -> Answer:
    """Follow a clip on a given executor, which has its own way with warnings."""
    return document_of(job), []


def recorded(job: Job) -> Answer:
    """Follow a clip in another process, whose warnings are recorded."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        text = document_of(job)
    return text, [str(warning.message) for warning in warned]


def answer_of(future: Future[Answer]) -> Answer:
    """The answer of a task, or the error of its worker."""
    try:
        return future.result()
    except Exception as error:
        return json.dumps({"summary": {"error": f"its worker failed: {str(error) or type(error).__name__}"}}), []


def rows_with(clip: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a clip, the last with the error if there was one."""
    rows = rows_of(document) if "frames" in document else []
    found = [{"clip": clip, **row, "error": None} for row in rows]
    error = document["summary"]["error"]
    if error:
        found.append({"clip": clip, **dict.fromkeys(rows[0] if rows else COLUMNS), "error": error})
    return found


class Children:
    """A process for each clip, so that a crash ends one clip only."""

    def __init__(self) -> None:
        """Begin without a process."""
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def follow(self, job: Job) -> Answer:
        """Follow a clip in a new process."""
        code = "from kcf_track._many import child; child()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with self._lock:
            if self._ended:
                raise RuntimeError("interrupted")
            # Ctrl-C is for this process, which then ends its children.
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
        output, errors = process.communicate(pickle.dumps(job))
        with self._lock:
            self._running.discard(process)
        if process.returncode:
            said = errors.decode(errors="replace").strip().splitlines()
            raise RuntimeError(": ".join([f"exit code {process.returncode}", *said[-1:]]))
        text, warned = json.loads(output)
        return text, warned

    def end(self) -> None:
        """End all processes."""
        with self._lock:
            self._ended = True
            for process in self._running:
                process.terminate()


def child() -> None:
    """Answer the job on the standard input."""
    sys.stdout.write(json.dumps(recorded(pickle.loads(sys.stdin.buffer.read()))))
