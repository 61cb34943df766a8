"""`python -m kcf_track SRC --init x,y,w,h`: the program `kcf-track`, as far as it follows targets and writes files."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence as Seq
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from . import __version__, presets, settings
from ._native import follow, joined
from ._progress import Progress, forsake, note

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

#: The flags of outputs and what each is.
OUTPUTS = {
    "json": "one JSON document, written when the run is over",
    "jsonl": "one JSON object a line and frame, written as frames are tracked",
    "otb": "boxes as OTB has them: x,y,w,h a line, 1-based",
    "csv": "a table with a header line",
    "mot": "boxes of any number of targets as the MOT challenge has them, 1-based",
    "coco": "an annotation document as COCO has it",
    "cvat": "tracks for CVAT: .xml is what a task uploads, any other ending the annotations.json of a backup",
    "label-studio": "an annotation document as Label Studio imports it",
}
#: What the Rust program does besides, and what there is for it in Python.
ELSEWHERE = {
    "config": "settings in Python are keywords of kcf_track.Tracker",
    "print-config": "in Python kcf_track.Tracker(...).settings has them",
    "pick": "give the box by --init",
    "seq": "give the source without a flag",
    "circulant": "",
}
COMMANDS = {
    "eval": "in Python kcf_track.evaluate does",
    "synth": "",
    "trax": "",
    "view": "",
    "completions": "",
    "man": "",
}


class Stopped(Exception):
    """Somebody asked to stop; the exit code says by which signal."""

    def __init__(self, code: int) -> None:
        super().__init__("interrupted")
        self.code = code


class Parser(argparse.ArgumentParser):
    """Says what is wrong in a line, as the program does."""

    def error(self, message: str) -> NoReturn:
        note(f"error: {message}\n\nFor more information, try '--help'.")
        sys.exit(WRONG_USAGE)


class Elsewhere(argparse.Action):
    """A flag that the Rust program alone has."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        instead = ELSEWHERE[self.dest.replace("_", "-")]
        parser.error(f"{self.option_strings[0]}: the Rust program alone has it" + (f"; {instead}" if instead else ""))


def once(action: type[argparse.Action]) -> type[argparse.Action]:
    """The action for flags that stand there once, as those of the program do."""

    class Once(action):  # type: ignore[valid-type, misc]
        def __call__(self, parser: argparse.ArgumentParser, given: argparse.Namespace, *rest: Any) -> None:
            seen = given.__dict__.setdefault("seen", set())
            if self.dest in seen:
                parser.error(f"the argument '{self.option_strings[0]}' cannot be used multiple times")
            seen.add(self.dest)
            super().__call__(parser, given, *rest)

    return Once


def parser() -> argparse.ArgumentParser:
    """The flags, those of settings from the library's table."""
    made = Parser(
        prog="python -m kcf_track",
        description="Follow objects through a sequence of images or a video: give their boxes in the first frame.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C (129 by SIGHUP, 143 by "
        "SIGTERM). What was computed until then is kept. What draws (--overlay, --response), --config, --pick and the "
        "subcommands are the Rust program's alone.",
        allow_abbrev=False,
    )
    for kind, action in ((None, argparse._StoreAction), ("store_true", argparse._StoreTrueAction)):
        made.register("action", kind, once(action))
    add = made.add_argument
    add("source", metavar="SRC", help="folder of frames in natural order, a video, a camera, or - for Y4M")
    add(
        "--init", "-i", metavar="X,Y,W,H", action="append", default=[],
        help="a target's box: left, top (0-based), width, height in pixels; before it, where it is not the start "
        "frame, the target's first frame and a colon; as often as there are targets [default: the ground truth's]",
    )  # fmt: skip
    add("--init-format", metavar="FORM", help="what the four numbers are, xywh or xyxy [default: xywh]")
    add("--init-file", type=Path, metavar="FILE", help="more targets, a line each: id,frame,x,y,w,h")
    add("--start", metavar="N|TIME", help="first frame, its position from 1, or its time (80.5s, 00:01:20.5)")
    add("--end", metavar="N|TIME", help="last frame, its position from 1, or its time [default: the last]")
    add("--truth", type=Path, metavar="FILE", help="ground truth in place of the file beside the frames")
    add("--target", type=natural, metavar="N", help="which target's truth, where there are several")
    add("--skip-bad-frames", action="store_true", help="go on after a frame that cannot be read")
    add("--timeout", type=float, default=30.0, metavar="SECONDS", help="longest time that a frame may take to come")
    add("--jobs", "-j", type=positive, metavar="N", help="threads that follow several targets [default: all cores]")
    add("--stagger", action="store_true", help="make many targets cheaper: each does what costs most in its own frames")
    add("--quiet", "-q", action="count", default=0, help="no progress and no summary; given twice, no warnings either")
    add("--profile", action="store_true", help="print a table of what the time was spent on, to the standard error")
    add("--version", "-V", action="version", version=f"kcf-track {__version__}")
    add("--out", "-o", action="append", default=[], type=Path, metavar="PATH", help="any output, by its ending")
    for name, what in OUTPUTS.items():
        add(f"--{name}", type=Path, metavar="FILE|-", help=what)
    for name in ("overlay", "response"):
        add(f"--{name}", type=Path, help=argparse.SUPPRESS)
    add("--inset", action="store_true", help=argparse.SUPPRESS)
    for name in ELSEWHERE:
        add(f"--{name}", action=Elsewhere, nargs="?", help=argparse.SUPPRESS)
    group = made.add_argument_group("settings")
    group.add_argument(
        "--preset", "-p", metavar="NAME", default="robust", help=f"settings to start from: {', '.join(presets())}"
    )
    group.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="set anything by its path")
    group.add_argument("--machine", action="append", default=[], metavar="KEY=VALUE", help="setting of the machine")
    for keyword, row in flags_of_settings().items():
        what = f"{row['help']} ({row['values']})".replace("%", "%%")
        default: dict[str, Any] = {"nargs": "?", "const": "true"} if row["values"] == "true or false" else {}
        flag = "--" + keyword.replace("_", "-")
        group.add_argument(flag, dest=f"setting_{keyword}", metavar="VALUE", help=what, **default)
    return made


def flags_of_settings() -> dict[str, Any]:
    """Each flag's keyword, and the first setting that has it."""
    known: dict[str, Any] = {}
    for row in settings().values():
        for keyword in row["keywords"]:
            known.setdefault(keyword, row)
    return known


def natural(text: str) -> int:
    """A whole number from 0."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not natural(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1")
    return int(text)


class Watcher:
    """Shows how far the run is, and what is odd about it, on the standard error."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.quiet = given.quiet
        # Rows that a person reads as they come are progress enough.
        self.shown = not self.quiet and not (to_stdout(given) and sys.stdout is not None and sys.stdout.isatty())
        self.progress = Progress(None, False)

    def begin(self, words: str, warnings: Seq[str], total: int | None) -> None:
        """All is open, and the first frame will be read."""
        if not self.quiet:
            note(words)
        for warning in warnings:
            self.warn(warning)
        self.progress = Progress(total, None if self.shown else False)

    def frame(self, done: int) -> None:
        """So many frames are done."""
        self.progress.reach(done)

    def warn(self, warning: str) -> None:
        """Something is odd."""
        if self.quiet < 2:
            self.progress.clear()
            note(f"warning: {warning}")

    def profile(self, table: str) -> None:
        """What the time was spent on."""
        self.progress.clear()
        note(table, end="")


def main(arguments: Seq[str] | None = None) -> int:
    """Run the program, and say how it ended."""
    made = parser()
    words = [str(word) for word in (sys.argv[1:] if arguments is None else arguments)]
    if words and words[0] in COMMANDS and not Path(words[0]).exists():
        instead = COMMANDS[words[0]]
        made.error(f"{words[0]}: the Rust program alone has this subcommand" + (f"; {instead}" if instead else ""))
    given = made.parse_args(bound(joined(words)))
    chosen = {key[len("setting_") :]: value for key, value in vars(given).items() if key.startswith("setting_")}
    given.flags = [(keyword.replace("_", "-"), value) for keyword, value in chosen.items() if value is not None]
    forms = [*OUTPUTS, "response", "overlay"]
    given.outputs = [(name, path) for name in forms if (path := getattr(given, name.replace("-", "_"))) is not None]
    watcher = Watcher(given)
    try:
        with_signals()
        code, said = follow(given, watcher)
    except (KeyboardInterrupt, Stopped) as stopped:
        code = stopped.code if isinstance(stopped, Stopped) else INTERRUPTED
        said = "interrupted; what was computed until now is kept"
    watcher.progress.clear()
    if code != DONE:
        note(f"error: {said}")
    elif not given.quiet and to_stdout(given):
        note(said, end="")
    elif not given.quiet:
        return say(said)
    return code


def bound(words: Seq[str]) -> Iterator[str]:
    """The words, where what may begin with a dash is one with its flag: argparse would take it for a flag itself."""
    rest = iter(words)
    for word in rest:
        flag = {"-i": "--init"}.get(word, word)
        value = next(rest, None) if flag in ("--init", "--start", "--end") else None
        yield word if value is None else f"{flag}={value}"


def to_stdout(given: argparse.Namespace) -> bool:
    """Whether rows go to the standard output."""
    return any(str(path) == "-" for _, path in given.outputs)


def say(text: str) -> int:
    """Print the summary, and give the exit code; that its reader has gone, as `head` does, is no failure."""
    if sys.stdout is None:
        return DONE
    try:
        print(text, end="", flush=True)
    except OSError as error:
        forsake(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return DONE
        note(f"error: cannot write to the standard output: {error.strerror}")
        return FAILED
    return DONE


def with_signals() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does; what is ignored (`nohup`) stays so."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Stopped(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:
            signal.signal(getattr(signal, name), stop)


if __name__ == "__main__":
    sys.exit(main())
