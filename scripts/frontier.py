#!/usr/bin/env python3
"""Accuracy against speed: presets, OpenCV's trackers and a network, a curve for each group of sequences.

    python3 -m venv .venv && .venv/bin/pip install opencv-contrib-python-headless onnxruntime matplotlib
    .venv/bin/python scripts/frontier.py A=DIR B=DIR … [--frames N] [--model DIR] --out docs/frontier

A group is a folder of sequences in the layout of OTB. All trackers follow each target from its first box through its
first N frames in turn, on one thread, pinned to one core where the system allows. The speeds are of this run: the time
of updates alone, frames in memory, geometric means over sequences. DIR holds the networks of NanoTrack, which ONNX
Runtime runs by the published steps; the preset `expert` has them too. Writes OUT.png and OUT.md.
"""

import os

# Before anything that loads numpy: one thread each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import labelled
from compare_opencv import pin
from labelled import accuracy, marked, result_name, targets

COLORS = ("#c0392b", "#2471a3", "#1e8449", "#b9770e", "#6c3483")


class NanoTrack:
    """NanoTrack in ONNX Runtime: the steps of the published Python code."""

    def __init__(self, folder):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        load = lambda name: onnxruntime.InferenceSession(f"{folder}/{name}.onnx", options)
        self.backbone, self.head = load("backbone"), load("head")

    def features(self, frame, side, out):
        import cv2
        import numpy as np

        side = round(side)
        left, top = (int(np.floor(c - (side + 1) / 2 + 0.5)) for c in self.center)
        height, width = frame.shape[:2]
        beyond = [max(0, v) for v in (-top, top + side - height, -left, left + side - width)]
        if any(beyond):
            frame = cv2.copyMakeBorder(frame, *beyond, cv2.BORDER_CONSTANT, value=self.mean)
        left, top = left + beyond[2], top + beyond[0]
        picture = cv2.resize(frame[top : top + side, left : left + side], (out, out))
        picture = picture.transpose(2, 0, 1)[None].astype(np.float32)
        return self.backbone.run(None, {self.backbone.get_inputs()[0].name: picture})[0]

    def context(self):
        return (self.size + self.size.sum() / 2).prod() ** 0.5

    def init(self, frame, box):
        import numpy as np

        self.size = np.array(box[2:], float)
        self.center = np.array(box[:2]) + (self.size - 1) / 2
        self.mean = [int(v) for v in frame.mean((0, 1))]
        self.given = self.features(frame, self.context(), 127)

    def update(self, frame):
        import numpy as np

        zoom = 127 / self.context()
        search = self.features(frame, 255 / zoom, 255)
        names = [given.name for given in self.head.get_inputs()]
        scores, sides = self.head.run(None, dict(zip(names, (self.given, search))))
        score = 1 / (1 + np.exp(scores[0, 0] - scores[0, 1])).ravel()
        left, top, right, bottom = sides[0].reshape(4, -1)
        cells = scores.shape[-1]
        places = (np.arange(cells) - cells // 2) * 16
        x, y = (grid.ravel() for grid in np.meshgrid(places, places))
        width, height = left + right, top + bottom
        root = lambda w, h: np.sqrt((w + (w + h) / 2) * (h + (w + h) / 2))
        change = lambda ratio: np.maximum(ratio, 1 / ratio)
        changes = change(root(width, height) / root(*self.size * zoom))
        changes = changes * change(self.size[0] / self.size[1] / (width / height))
        penalty = np.exp(-(changes - 1) * 0.138)
        window = np.outer(np.hanning(cells), np.hanning(cells)).ravel()
        best = (penalty * score * (1 - 0.455) + window * 0.455).argmax()
        rate = penalty[best] * score[best] * 0.348
        moved = np.array([x + (right - left) / 2, y + (bottom - top) / 2])[:, best] / zoom
        limit = np.array(frame.shape[1::-1])
        self.center = np.clip(self.center + moved, 0, limit)
        seen = np.array([width, height])[:, best] / zoom
        self.size = np.clip(self.size * (1 - rate) + seen * rate, 10, limit)
        return True, [*(self.center - (self.size - 1) / 2), *self.size]


def peer_worker(job):
    """Follows a target by a tracker of others; prints the frames per second of its updates and its boxes."""
    import cv2

    cv2.setNumThreads(1)
    first, boxes, seconds = job["init"], [], 0.0
    if job["model"]:
        tracker = NanoTrack(job["model"])
    else:
        tracker, first = getattr(cv2, f"Tracker{job['name'].split()[1]}_create")(), [round(v) for v in first]
    for i, image in enumerate(job["images"]):
        frame = cv2.imread(image)
        if i == 0:
            tracker.init(frame, tuple(first))
            continue
        begun = time.perf_counter()
        found, box = tracker.update(frame)
        seconds += time.perf_counter() - begun
        # After a loss the last box stands, as a user would see it.
        boxes.append([float(v) for v in box] if found else (boxes or [first])[-1])
    print(json.dumps({"fps": len(boxes) / seconds, "boxes": boxes}))


def peer(name, model, images, init):
    job = {"name": name, "model": model, "images": images, "init": init}
    done = subprocess.run(
        [sys.executable, __file__, "--worker", json.dumps(job)], check=True, stdout=subprocess.PIPE, text=True
    )
    answer = json.loads(done.stdout)
    return answer["fps"], answer["boxes"]


def measure(groups, trackers, program, count):
    """AUC and frames per second of each tracker in each group: `{tracker: {group: [(AUC, speed) of each sequence]}}`."""
    rows = {name: {group: [] for group in groups} for name in trackers}
    for group, folder in groups.items():
        for sequence, truth in targets(folder):
            start = [(frame["index"], label) for frame, label in marked(program, sequence, truth, ["--preset", "paper"])]
            (first, init), known = start[0], dict(start)
            last = min(first + count, start[-1][0] + 1) - 1
            images = [str(path) for path in sorted((sequence / "img").iterdir()) if path.suffix != ".txt"]
            for name, (model, *flags) in trackers.items():
                if flags:
                    command = [*flags, "--end", str(last)]
                    run = [frame for frame, _ in marked(program, sequence, truth, command)][1:]
                    boxes = {frame["index"]: frame["bbox"] for frame in run}
                    fps = 1000 / statistics.mean(frame["track_ms"] for frame in run)
                else:
                    fps, boxes = peer(name, model, images[first - 1 : last], init)
                    boxes = dict(enumerate(boxes, first + 1))
                auc, _ = accuracy([(box, known[i]) for i, box in boxes.items() if i in known])
                rows[name][group].append((auc, fps))
            now = {name: f"{runs[group][-1][0]:.3f}" for name, runs in rows.items()}
            print(group, result_name(sequence, truth), now, file=sys.stderr)
    return rows


def table(rows, groups):
    lines = [f"| tracker | frames/s | {' | '.join(groups)} |", "| --- | --- |" + " --- |" * len(groups)]
    for name, (fps, by_group) in sorted(rows.items(), key=lambda row: row[1][0]):
        lines.append(f"| {name} | {fps:.0f} | {' | '.join(f'{by_group[group]:.3f}' for group in groups)} |")
    return "\n".join(lines) + "\n"


def draw(rows, groups, ours, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(8.4, 5.2), layout="constrained")
    for group, color in zip(groups, itertools.cycle(COLORS)):
        points = sorted((fps, aucs[group]) for name, (fps, aucs) in rows.items() if name in ours)
        others = [(fps, aucs[group]) for name, (fps, aucs) in rows.items() if name not in ours]
        axes.plot(*zip(*points), "o-", color=color, label=group, zorder=3)
        axes.plot(*zip(*others), "D", color=color, markerfacecolor="none", zorder=3)
    for name, (fps, aucs) in rows.items():
        axes.axvline(fps, color="#eeeeee", zorder=0)
        # Ours above their points, others below.
        at, y, style = (max, 8, {"fontweight": "bold"}) if name in ours else (min, -18, {"color": "#555555"})
        place = {"xytext": (0, y), "textcoords": "offset points", "ha": "center", "fontsize": 10}
        axes.annotate(name, (fps, at(aucs.values())), **place, **style)
    axes.set_xscale("log")
    axes.set_xlabel("frames a second on one core (filled: kcf-track)")
    axes.set_ylabel("success, AUC")
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.margins(x=0.1, y=0.12)
    axes.legend(title="sequences", frameon=False, loc="lower left")
    figure.savefig(f"{out}.png", dpi=160)


def main():
    if sys.argv[1:2] == ["--worker"]:
        return peer_worker(json.loads(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", metavar="NAME=DIR", help="sequences in the layout of OTB")
    parser.add_argument("--frames", type=int, default=300, help="frames of each sequence [default: 300]")
    parser.add_argument("--model", help="folder of NanoTrack's networks")
    parser.add_argument("--out", default="frontier", help="without an ending")
    parser.add_argument("--program", help="the built program [default: built here]")
    args = parser.parse_args()
    groups = dict(group.split("=", 1) for group in args.groups)
    program = args.program or labelled.program(*(["--features", "neural"] if args.model else []))
    pin()
    trackers = {name: (None, "--preset", name) for name in ("paper", "fast", "robust")}
    trackers |= {name: (None,) for name in ("OpenCV KCF", "OpenCV CSRT")}
    if args.model:
        trackers["expert"] = (None, "--preset", "expert", "--model", args.model)
        trackers["NanoTrack"] = (args.model,)
    ours = {name for name, (_, *flags) in trackers.items() if flags}
    rows = {}
    for name, by_group in measure(groups, trackers, program, args.frames).items():
        speeds = [fps for runs in by_group.values() for _, fps in runs]
        aucs = {group: statistics.mean(auc for auc, _ in runs) for group, runs in by_group.items()}
        rows[name] = (statistics.geometric_mean(speeds), aucs)
    draw(rows, groups, ours, args.out)
    Path(f"{args.out}.md").write_text(table(rows, groups))
    print(table(rows, groups), end="")


if __name__ == "__main__":
    main()
