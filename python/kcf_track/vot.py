"""`python -m kcf_track.vot [NAME=VALUE ...]`: a tracker for the VOT toolkit, which talks to it over TraX.

It needs `pip install vot-trax`. Names are keywords of `kcf_track.Tracker` (`detector=svm`) or paths of settings.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trax import Image, Rectangle, Region, Server, TraxStatus

from . import Tracker, presets
from ._native import read_image

if TYPE_CHECKING:
    from ._names import Preset


def serve(preset: Preset, settings: dict[str, Any]) -> None:
    """Answer the requests of a client until it quits."""

    def make() -> Tracker:
        return Tracker(preset, order="rgb", **settings)

    color = make().uses_color
    trackers: list[Tracker] = []
    with Server([Region.RECTANGLE], [Image.PATH], tracker_name=f"kcf-track {preset}", multiobject=True) as server:
        while (request := server.wait()).type != TraxStatus.QUIT:
            frame = read_image(request.image["color"].path(), color, "rgb")
            if request.type == TraxStatus.INITIALIZE:
                trackers = []
            for tracker in trackers:
                tracker.update(frame)
            for region, _ in request.objects or []:
                trackers.append(make())
                trackers[-1].init(frame, region.bounds())
            server.status([answer(tracker) for tracker in trackers])


def answer(tracker: Tracker) -> tuple[Any, dict[str, float]]:
    """The box and its confidence: 1 of a given box, the peak-to-sidelobe ratio without a calibration."""
    estimate = tracker.estimate
    assert estimate is not None
    confidence = 1.0 if estimate.state == "initial" else estimate.confidence
    if confidence is None:
        confidence = estimate.evidence["psr"]
    return Rectangle.create(*estimate.box), {"confidence": confidence}


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m kcf_track.vot", description=__doc__)
    parser.add_argument("--preset", default="robust", choices=list(presets()))
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    given = parser.parse_args()
    pairs = dict(setting.partition("=")[::2] for setting in given.settings)
    paths = {name: pairs.pop(name) for name in list(pairs) if "." in name}
    serve(given.preset, {**pairs, "settings": paths})


if __name__ == "__main__":
    main()
