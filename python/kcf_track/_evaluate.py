"""Trackers over the labelled sequences of a benchmark."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Union

from . import _native
from ._progress import Progress

Chosen = Union[str, tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The results of an evaluation."""

    #: All results that depend on boxes alone: the document `report.json` of `kcf-track eval`.
    report: dict[str, Any]
    #: The speed of the trackers, without decoding.
    timings: dict[str, Any]

    def __repr__(self) -> str:
        names = ", ".join(tracker["name"] for tracker in self.report["trackers"])
        return f"<Evaluation of {names} on {len(self.report['sequences'])} sequences>"

    def _repr_html_(self) -> str:
        """The table of scores, as notebooks show it."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td>" + "".join(f"<td>{value:.3f}</td>" for value in scores.values()) + "</tr>"
            for name, scores in self.scores.items()
        )
        return f"<table><tr><th>Tracker</th><th>AUC</th><th>P@20</th><th>fps</th></tr>{rows}</table>"

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """AUC, precision at 20 pixels and frames per second (NaN but for `jobs=1`) of each tracker, best AUC first."""
        rates = self.timings["trackers"]
        return {
            tracker["name"]: {
                "auc": tracker["overall"]["auc"],
                "precision_20": tracker["overall"]["precision_20"],
                "fps": rates.get(tracker["name"], {}).get("fps", float("nan")),
            }
            for tracker in self.report["trackers"]
        }


def preset_of(chosen: Chosen) -> tuple[str, dict[str, Any]]:
    """A preset and its settings."""
    if isinstance(chosen, str):
        return chosen, {}
    try:
        preset, settings = chosen
        return preset, dict(settings)
    except (TypeError, ValueError):
        message = f"a tracker is the name of a preset, or a pair of it and a dict of settings, not {chosen!r}"
        raise TypeError(message) from None


def evaluate(
    data: str | os.PathLike[str],
    trackers: Iterable[Chosen] = ("robust",),
    *,
    others: Mapping[str, Callable[[], Any]] | None = None,
    results: Mapping[str, str | os.PathLike[str]] | None = None,
    sequences: Iterable[str] = (),
    protocol: str = "ope",
    toolkit: str = "otb",
    jobs: int | None = None,
    baseline: str | None = None,
    allow_short: bool = False,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Score trackers on the sequences in `data` (OTB, VOT, GOT-10k, or any folders with images and truth).

    `trackers` are presets, or pairs of a preset and a dict of settings. `others` are other trackers by name: a factory
    of objects with OpenCV's `init` and `update` over frames in blue, green, red. An `init` that refuses floats, as
    OpenCV's do, gets a box of integers. `results` are folders of published boxes by name. `protocol` is `ope`, `tre` or
    `sre`; `toolkit` chooses the rules. `jobs` sequences run at the same time (by default one per processor). Speed is measured with
    `jobs=1` only. `baseline` is the tracker that all others are compared with; `allow_short` scores files of `results` with
    too few rows. `out` keeps the runs and gets the report of `kcf-track eval`, `report.html`: the next call reuses the
    runs of presets, and runs `others` again; `results={"other": out / "results/other"}` reads their boxes. A tracker that fails on a sequence
    is left out there, with a warning.

    Examples:
        >>> import kcf_track
        >>> found = kcf_track.evaluate("assets/demo", ["paper", ("paper", {"padding": 2})])
        >>> sorted(found.scores)
        ['paper', 'paper+padding=2.0']
        >>> round(found.scores["paper"]["precision_20"], 3)
        1.0
    """
    for name, given in (("trackers", trackers), ("sequences", sequences)):
        if isinstance(given, str):
            # A string is a list of letters.
            raise TypeError(f"{name} are a list of names: {name}=[{given!r}]")
    presets = [preset_of(chosen) for chosen in trackers]
    factories = dict(others or {})
    for name, factory in factories.items():
        if not callable(factory):
            raise TypeError(f"others: {name} must be a factory of trackers, not {type(factory).__name__}")
    shown = Progress(None, progress)
    with tempfile.TemporaryDirectory(prefix="kcf-track-") as place, closing(shown):
        text = _native.evaluate(
            Path(data),
            Path(place if out is None else out),
            presets=presets,
            others=list(factories.items()),
            results=[(name, Path(place)) for name, place in dict(results or {}).items()],
            sequences=list(sequences),
            protocol=protocol,
            toolkit=toolkit,
            jobs=(os.cpu_count() or 1) if jobs is None else jobs,
            baseline=baseline,
            allow_short=allow_short,
            command="kcf_track.evaluate in " + " ".join(sys.argv),
            progress=shown.show if shown.shown else None,
        )
    found = json.loads(text)
    for warning in found["report"]["warnings"]:
        warnings.warn(warning, stacklevel=2)
    for left in found["report"]["left_out"]:
        tracker = f" ({left['tracker']})" if left["tracker"] else ""
        warnings.warn(f"left out: {left['sequence']}{tracker}: {left['reason']}", stacklevel=2)
    return Evaluation(found["report"], found["timings"])
