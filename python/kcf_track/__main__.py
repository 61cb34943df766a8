"""`python -m kcf_track SRC --init x,y,w,h`: one target through one sequence, with the flags of the program."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence as Seq
from pathlib import Path
from types import FrameType
from typing import Any

from . import __version__, presets, settings
from ._errors import BoxError, ClosedPipeError, Error, SettingError
from ._native import Source, Tracker, Writer
from ._track import Box, Opened, Step, open_source, run

DONE, FAILED, WRONG_USAGE = 0, 1, 2

#: The flags of outputs and what each is.
OUTPUTS = {
    "json": "one JSON document, written when the run is over",
    "jsonl": "one JSON object a line and frame, written as frames are tracked",
    "otb": "boxes as OTB has them: x,y,w,h a line, 1-based",
    "csv": "a table with a header line",
    "mot": "boxes as the MOT challenge has them",
    "coco": "a COCO document for annotators",
    "cvat": "a CVAT document of annotations",
    "label-studio": "a task of Label Studio",
}
ENDINGS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "otb"}


class Stopped(Exception):
    """Somebody asked to stop; the exit code says by which signal."""

    def __init__(self, code: int) -> None:
        super().__init__("interrupted")
        self.code = code


def parser() -> argparse.ArgumentParser:
    """The flags, those of settings from the library's table."""
    made = argparse.ArgumentParser(
        prog="python -m kcf_track",
        description="Follow an object through a sequence of images or a video: give its box in the first frame.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C (129 by SIGHUP, 143 by "
        "SIGTERM). What was computed until then is kept.",
        allow_abbrev=False,
    )
    made.add_argument("source", metavar="SRC", help="folder of frames in natural order, a video, a camera, or - for Y4M")
    made.add_argument("--init", "-i", metavar="X,Y,W,H", help="the target's box: left, top (0-based), width, height")
    made.add_argument(
        "--init-format", choices=["xywh", "xyxy"], default="xywh", help="what the four numbers of --init are"
    )
    made.add_argument("--start", type=int, metavar="N", help="first frame, its position from 1")
    made.add_argument("--end", type=int, metavar="N", help="last frame, its position from 1")
    made.add_argument("--truth", type=Path, metavar="FILE", help="ground truth in place of the file beside the frames")
    made.add_argument("--target", type=int, metavar="N", help="which target's truth, where there are several")
    made.add_argument("--skip-bad-frames", action="store_true", help="go on after a frame that cannot be read")
    made.add_argument("--quiet", "-q", action="count", default=0, help="no progress and no summary")
    made.add_argument("--version", "-V", action="version", version=f"kcf-track {__version__}")
    made.add_argument("--out", "-o", action="append", default=[], metavar="PATH", help="any output, by its ending")
    for name, what in OUTPUTS.items():
        made.add_argument(f"--{name}", metavar="FILE|-", help=what)
    group = made.add_argument_group("settings")
    group.add_argument("--preset", "-p", choices=list(presets()), default="robust", help="settings to start from")
    group.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="set anything by its path")
    group.add_argument("--machine", action="append", default=[], metavar="KEY=VALUE", help="setting of the machine")
    known: set[str] = set()
    for row in settings().values():
        for keyword in row["keywords"]:
            if keyword not in known:
                known.add(keyword)
                what = f"{row['help']} ({row['values']})".replace("%", "%%")
                flag = "--" + keyword.replace("_", "-")
                only_true = row["values"] == "true or false"
                default: dict[str, Any] = {"nargs": "?", "const": "true"} if only_true else {}
                group.add_argument(flag, dest=f"setting_{keyword}", metavar="VALUE", help=what, **default)
    return made


def main(arguments: Seq[str] | None = None) -> int:
    """Run the program, and say how it ended."""
    made = parser()
    given = made.parse_args(joined(list(sys.argv[1:] if arguments is None else arguments)))
    try:
        with_signals()
        return follow(given)
    except (SettingError, BoxError, Usage) as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USAGE
    except Stopped as stopped:
        print("error: interrupted; what was computed until now is kept", file=sys.stderr)
        return stopped.code
    except KeyboardInterrupt:
        print("error: interrupted; what was computed until now is kept", file=sys.stderr)
        return 130
    except (ClosedPipeError, BrokenPipeError):
        return DONE
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED


class Usage(Exception):
    """The arguments make no sense together."""


def joined(arguments: list[str]) -> list[str]:
    """The arguments, where the numbers that follow `--init`, each on its own, are one word with it."""
    words: list[str] = []
    rest = iter(range(len(arguments)))
    for at in rest:
        word = arguments[at]
        if word not in ("--init", "-i"):
            words.append(word)
            continue
        end = at + 1
        while end < len(arguments) and end < at + 5 and all(map(is_number, parts(arguments[end]))):
            end += 1
        for _ in range(at + 1, end):
            next(rest)
        words.append(f"--init={','.join(arguments[at + 1 : end])}")
    return words


def parts(text: str) -> list[str]:
    """What stands between commas and blanks; of an empty word, itself."""
    return text.replace(",", " ").split() or [text]


def is_number(text: str) -> bool:
    """Whether the word is one number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def with_signals() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Stopped(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)


def follow(given: argparse.Namespace) -> int:
    """One run, to all outputs that were asked for."""
    tracker = tracker_of(given, "bgr")
    if "://" not in given.source and given.source != "-" and not Path(given.source).exists():
        raise Usage(f"{given.source}: there is no such folder or file")
    source = Source(given.source, target=given.target, truth=given.truth, lenient=given.skip_bad_frames)
    box = None if given.init is None else box_of(given.init, given.init_format)
    opened = open_source(source, box, start=given.start, end=given.end, color=tracker.uses_color)
    tracker = tracker_of(given, opened.order)
    writer = Writer(outputs(given), source)
    if given.quiet < 2:
        for warning in source.warnings:
            print(f"warning: {warning}", file=sys.stderr)
    failure: str | None = "interrupted"
    try:
        write(given, tracker, opened, writer, source)
        failure = None
    except (Error, OSError) as error:
        failure = str(error)
        raise
    finally:
        summary = json.loads(writer.finish(failure))
    if given.quiet == 0:
        words(given, summary)
    return DONE


def write(given: argparse.Namespace, tracker: Tracker, opened: Opened, writer: Writer, source: Source) -> None:
    """Every step to the files."""
    begun = False
    steps = run(tracker, opened, skip_bad_frames=given.skip_bad_frames, progress=False if given.quiet else None)
    for step in steps:
        if not begun:
            begun = True
            writer.begin(tracker, given.source, opened.first, opened.last, size_of(step))
        label = source.true_box(step.position)
        if step.estimate is None and given.quiet < 2:
            print(f"warning: frame {step.position} ({step.name}) cannot be used (skipped)", file=sys.stderr)
        writer.add(step.position, step.name, step.box, step.estimate, label, step.time, step.decode_ms, step.track_ms)
    if not begun:
        raise Usage("the range holds no frame")


def size_of(step: Step) -> tuple[int, int]:
    """Width and height of a frame."""
    return (0, 0) if step.frame is None else (step.frame.shape[1], step.frame.shape[0])


def tracker_of(given: argparse.Namespace, order: str) -> Tracker:
    """The tracker of the flags."""
    chosen = {key[len("setting_") :]: value for key, value in vars(given).items() if key.startswith("setting_")}
    keywords: dict[str, Any] = {key: value for key, value in chosen.items() if value is not None}
    for name, flag in (("settings", "set"), ("machine", "machine")):
        pairs = [pair(text, flag) for text in getattr(given, flag)]
        if pairs:
            keywords[name] = dict(pairs)
    return Tracker(given.preset, order=order, **keywords)


def pair(text: str, flag: str) -> tuple[str, str]:
    """`key=value` of a flag."""
    key, sign, value = text.partition("=")
    if not sign:
        raise Usage(f"--{flag} {text}: must be a name and a value, as in padding=2")
    return key.strip(), value.strip()


def box_of(text: str, form: str) -> Box:
    """Four numbers as a box."""
    if not all(map(is_number, parts(text))) or len(parts(text)) != 4:
        raise Usage(f"--init {text}: four numbers are needed, as in 10,20,30,40")
    x, y, w, h = map(float, parts(text))
    if form == "xyxy":
        w, h = w - x, h - y
    if not (w > 0 and h > 0):
        raise Usage(f"--init {text}: width and height must be above zero, not {w:g} and {h:g}")
    return x, y, w, h


def outputs(given: argparse.Namespace) -> list[tuple[str, str]]:
    """All outputs: their forms and paths."""
    named = [(name, path) for name in OUTPUTS if (path := getattr(given, name.replace("-", "_"))) is not None]
    for path in given.out:
        form = ENDINGS.get(Path(path).suffix.lower())
        if form is None:
            raise Usage(f"--out {path}: its ending must be one of {', '.join(ENDINGS)}")
        named.append((form, path))
    return named


def words(given: argparse.Namespace, summary: dict[str, Any]) -> None:
    """A few lines for a person; on the standard error where the standard output holds rows."""
    to = sys.stderr if any(path == "-" for _, path in outputs(given)) else sys.stdout
    fps = summary["fps"]
    rate = "-" if fps is None else f"{fps:.0f}"
    print(f"{given.source}: {summary['frames']} frames; tracking alone {rate} frames/s", file=to)
    counts = ", ".join(f"{count} {state}" for state, count in summary["states"].items() if count)
    print(f"  states: {counts}", file=to)
    if summary["truth"] is not None:
        truth = summary["truth"]
        print(
            f"  against the truth of {truth['frames']} of them: precision at 20 px {truth['precision_20']:.3f}, "
            f"AUC {truth['auc']:.3f}, mean overlap {truth['mean_overlap']:.3f}, "
            f"mean centre error {truth['mean_center_error']:.1f} px",
            file=to,
        )


if __name__ == "__main__":
    sys.exit(main())
