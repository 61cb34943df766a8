"""Run kcf-track in the got10k toolkit's ExperimentOTB and compare the score with `kcf_track.evaluate`.

    pip install . got10k six wget matplotlib    # in a clone of kcf-track
    python examples/python/got10k_tracker.py OTB --preset paper --preset fast

OTB is the folder of the sequences. The exit code is 1 where the AUCs differ by more than 0.001.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import kcf_track
import matplotlib
import numpy as np
from got10k.datasets import OTB
from got10k.experiments import ExperimentOTB
from got10k.trackers import Tracker

#: OTB's files are 1-based, kcf-track's boxes 0-based.
FIRST_PIXEL = np.array([1.0, 1.0, 0.0, 0.0])


class KcfTracker(Tracker):
    """A tracker of the toolkit: images of Pillow, boxes as in the files."""

    def __init__(self, preset, **settings):
        super().__init__(name=f"kcf-track-{preset}", is_deterministic=True)
        self.settings = {"preset": preset, **settings}
        self.tracker = kcf_track.Tracker(order="rgb", **self.settings)

    def init(self, image, box):
        self.tracker.init(self.pixels(image), np.asarray(box) - FIRST_PIXEL)

    def update(self, image):
        _, box = self.tracker.update(self.pixels(image))
        return np.array(box) + FIRST_PIXEL

    def pixels(self, image):
        """The colours, or the luma of a JPEG for a tracker of gray values."""
        if not self.tracker.uses_color and image.format == "JPEG":
            image.draft("L", None)
        return np.asarray(image)

    def track(self, img_files, box, visualize=False):
        """All frames of a sequence, decoded as in `kcf_track.evaluate`: pixels of another decoder differ a little."""
        steps = list(kcf_track.track(img_files, np.asarray(box) - FIRST_PIXEL, frames=False, **self.settings))
        boxes = np.array([step.box for step in steps]) + FIRST_PIXEL
        return boxes, np.array([step.track_ms / 1e3 for step in steps])


class Experiment(ExperimentOTB):
    """The experiment on the existing sequences, without downloads."""

    def __init__(self, root, folder):
        self.dataset = OTB(root, download=False)
        self.result_dir, self.report_dir = f"{folder}/results", f"{folder}/reports"
        self.nbins_iou, self.nbins_ce = 21, 51


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("otb", type=Path)
    parser.add_argument("--preset", action="append", required=True)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    given = parser.parse_args()
    matplotlib.use("Agg")
    ours = kcf_track.evaluate(given.otb, given.preset, toolkit="got10k").scores
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(str(given.otb), folder)
        for preset in given.preset:
            tracker = KcfTracker(preset)
            experiment.run(tracker)
            theirs = experiment.report([tracker.name])[tracker.name]["overall"]
            apart = abs(theirs["success_score"] - ours[preset]["auc"])
            worst = max(worst, apart)
            print(f"{preset}: AUC {theirs['success_score']:.4f} by got10k, {ours[preset]['auc']:.4f} by ours")
            precision = (theirs["precision_score"], ours[preset]["precision_20"])
            print(f"{preset}: P@20 {precision[0]:.4f} by got10k, {precision[1]:.4f} by ours")
    return int(worst > given.tolerance)


if __name__ == "__main__":
    sys.exit(main())
