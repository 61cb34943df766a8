"""Plot accuracy against speed of presets, and of OpenCV's trackers where installed, on the sequences of a benchmark.

    pip install . matplotlib    # in a clone of kcf-track
    python examples/python/accuracy_speed.py OTB --out frontier.png --preset paper --preset fast --preset robust

Run it on an idle machine: sequences run one after the other for the sake of their times.
"""

import argparse
from pathlib import Path

import kcf_track
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def opencv_trackers():
    """OpenCV's trackers by name, if it is installed."""
    try:
        import cv2
    except ImportError:
        return {}
    names = ("TrackerKCF_create", "TrackerCSRT_create", "TrackerMIL_create")
    return {f"OpenCV {name[7:-7]}": getattr(cv2, name) for name in names if hasattr(cv2, name)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("frontier.png"))
    parser.add_argument("--preset", action="append")
    parser.add_argument("--sequences", nargs="*", default=[])
    parser.add_argument("--no-opencv", action="store_true")
    given = parser.parse_args()
    others = {} if given.no_opencv else opencv_trackers()
    presets = given.preset or ["paper", "fast", "robust"]
    found = kcf_track.evaluate(given.data, presets, others=others, sequences=given.sequences, jobs=1)
    print(f"{'tracker':24}{'AUC':>8}{'P@20':>8}{'frames/s':>10}")
    for name, score in found.scores.items():
        print(f"{name:24}{score['auc']:8.3f}{score['precision_20']:8.3f}{score['fps']:10.0f}")
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, score in found.scores.items():
        axes.scatter(score["fps"], score["auc"], s=36, color="tab:gray" if name in others else "tab:blue")
        axes.annotate(name, (score["fps"], score["auc"]), xytext=(6, 4), textcoords="offset points")
    axes.set(xscale="log", xlabel="frames per second, updates alone", ylabel="area under the success curve")
    axes.margins(x=0.25)
    axes.grid(alpha=0.3, which="both")
    figure.savefig(given.out, dpi=120)
    print(f"plot: {given.out}")


if __name__ == "__main__":
    main()
