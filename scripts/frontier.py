#!/usr/bin/env python3
"""Accuracy against speed: presets, guards, OpenCV's trackers and boxes of others, in one plot and one table.

    python3 -m venv .venv && .venv/bin/pip install opencv-contrib-python-headless matplotlib
    .venv/bin/python scripts/frontier.py --data OTB [--results DIR] [--speeds FILE] --out docs/frontier

OTB holds sequences as published. Presets and guards run by `kcf-track eval`, one sequence after the other, OpenCV's KCF
and CSRT in turn with them, a process a sequence, all on one thread and pinned to one core where the system allows: the
speeds are of one run, the time of updates alone, frames in memory, and geometric means over sequences. DIR holds one
folder a tracker with one text file a sequence; FILE is a CSV `name,fps,source` of speeds for these, and a tracker that
it does not name is listed without a point. Writes OUT.svg, OUT.png and OUT.md.
"""

import os

# Before anything that loads numpy: one thread each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare_opencv import pin
from labelled import result_name, target_number, truths

ROOT = Path(__file__).resolve().parent.parent
OPENCV = ("KCF", "CSRT")
OURS = ("robust", "fast", "paper")


def opencv_worker(name, images, init, out):
    """Follows a target by an OpenCV tracker; prints the frames per second of its updates and writes its boxes."""
    import cv2

    cv2.setNumThreads(1)
    images = sorted(Path(images).iterdir())
    first = tuple(round(v) for v in map(float, init.split(",")))
    tracker = getattr(cv2, f"Tracker{name}_create")()
    boxes, seconds = [first], 0.0
    for i, image in enumerate(images):
        frame = cv2.imread(str(image))
        if i == 0:
            tracker.init(frame, first)
            continue
        begun = time.perf_counter()
        found, box = tracker.update(frame)
        seconds += time.perf_counter() - begun
        # After a loss the last box stands, as a user would see it.
        boxes.append(box if found else boxes[-1])
    # The benchmark's files count pixels from 1.
    Path(out).write_text("".join(f"{x + 1},{y + 1},{w},{h}\n" for x, y, w, h in boxes))
    print((len(images) - 1) / seconds)


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def sequences(data, program):
    """Name, folder of images and first box of every sequence, as the program reads them."""
    for folder in sorted(path for path in Path(data).iterdir() if (path / "img").is_dir()):
        with tempfile.TemporaryDirectory() as place:
            out = Path(place) / "first.json"
            for path in truths(folder):
                target = target_number(folder, path)
                target = [] if target is None else ["--target", str(target)]
                subprocess.run(
                    [program, "--seq", folder, *target, "--preset", "paper", "--json", out, "-qq"], check=True
                )
                run = json.loads(out.read_text())
                source, frames = run["source"], run["frames"]
                yield result_name(folder, path), folder / "img", source["start"], len(frames), frames[0]["bbox"]


def run_opencv(data, program, out):
    """Boxes of OpenCV's trackers below `out`, and their frames per second by sequence."""
    speeds = {f"OpenCV {name}": {} for name in OPENCV}
    for sequence, images, start, count, box in sequences(data, program):
        with tempfile.TemporaryDirectory() as place:
            # The frames that are evaluated, by links of the same order.
            for i, image in enumerate(sorted(images.iterdir())[start - 1 : start - 1 + count]):
                (Path(place) / f"{i:06}{image.suffix}").symlink_to(image.resolve())
            for name in OPENCV:
                folder = out / f"OpenCV {name}"
                folder.mkdir(parents=True, exist_ok=True)
                init = ",".join(map(str, box))
                command = [sys.executable, __file__, "--worker", name, place, init, folder / f"{sequence}.txt"]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                speeds[f"OpenCV {name}"][sequence] = float(done.stdout)
        print(sequence, {name: round(by[sequence]) for name, by in speeds.items()}, file=sys.stderr)
    return speeds


def evaluate(args, program, work):
    """Scores and speeds of all: name to (AUC, P@20, frames per second or none, where the speed is from)."""
    opencv = run_opencv(args.data, program, work / "opencv")
    command = [program, "eval", "--data", args.data, "--jobs", "1", "--out", work / "report", "-q"]
    command += [part for preset in OURS for part in ("--preset", preset)]
    for name in opencv:
        command += ["--results", f"{name}={work / 'opencv' / name}"]
    for folder in sorted(Path(args.results).iterdir()) if args.results else []:
        command += ["--results", f"{folder.name}={folder}"] if folder.is_dir() else []
    subprocess.run(command, check=True)
    guarded = [program, "eval", "--data", args.data, "--jobs", "1", "--preset", "paper", "--guard", "krr", "-q"]
    subprocess.run([*guarded, "--out", work / "guarded"], check=True)
    known = {}
    if args.speeds:
        with open(args.speeds, newline="") as file:
            known = {row["name"]: (float(row["fps"]), row["source"]) for row in csv.DictReader(file)}
    rows = {}
    for report in ("report", "guarded"):
        timings = json.loads((work / report / "timings.json").read_text())["trackers"]
        for tracker in json.loads((work / report / "report.json").read_text())["trackers"]:
            name, overall = tracker["name"], tracker["overall"]
            if name in opencv:
                fps, source = geometric_mean(opencv[name].values()), "this run"
            elif name in timings:
                fps, source = geometric_mean(timings[name]["sequences"].values()), "this run"
            else:
                fps, source = known.get(name, (None, ""))
            rows[name] = (overall["auc"], overall["precision_20"], fps, source, tracker["origin"] == "run")
    return rows


def table(rows):
    lines = ["| tracker | AUC | P@20 | frames/s | speed from |", "| --- | --- | --- | --- | --- |"]
    for name, (auc, p20, fps, source, ours) in sorted(rows.items(), key=lambda row: -row[1][0]):
        shown = f"**{name}**" if ours else name
        lines.append(f"| {shown} | {auc:.3f} | {p20:.3f} | {f'{fps:.0f}' if fps else ''} | {source} |")
    chosen = ", ".join(name for name, row in rows.items() if row[4] and name != "paper")
    lines += ["", f"The settings of {chosen} were chosen on these sequences; those of paper are the authors'."]
    return "\n".join(lines) + "\n"


def draw(rows, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {"svg.hashsalt": "frontier", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
    )
    figure, axes = plt.subplots(figsize=(8.4, 4.8), layout="constrained")
    points = [(name, *row) for name, row in rows.items() if row[2]]
    for name, auc, _, fps, source, ours in points:
        color = "#c0392b" if ours else "#34495e"
        face = color if source == "this run" else "none"
        axes.scatter(
            fps,
            auc,
            s=70 if ours else 42,
            marker="o" if face == color else "D",
            edgecolors=color,
            facecolors=face,
            zorder=3,
        )
        # Below, where another point lies close to the right.
        crowded = any(fps < other[3] < 4 * fps and abs(other[1] - auc) < 0.03 for other in points)
        place = (-8, -17) if crowded else (7, 4)
        weight = "bold" if ours else "normal"
        axes.annotate(name, (fps, auc), place, textcoords="offset points", color=color, fontsize=10, fontweight=weight)
    axes.axvline(30, color="#999999", linewidth=1, linestyle=":")
    axes.annotate(
        "30 frames/s", (30, axes.get_ylim()[0]), (4, 4), textcoords="offset points", color="#777777", fontsize=9
    )
    axes.set_xscale("log")
    axes.set_xlabel("frames a second on one core (filled: measured in this run)")
    axes.set_ylabel("success, AUC")
    axes.grid(color="#dddddd", linewidth=0.7, zorder=0)
    axes.margins(x=0.14, y=0.1)
    figure.savefig(f"{out}.svg", metadata={"Date": None})
    figure.savefig(f"{out}.png", dpi=160)


def main():
    if sys.argv[1:2] == ["--worker"]:
        return opencv_worker(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KCF_TRACK_OTB"), help="sequences of OTB as published")
    parser.add_argument("--results", help="boxes of other trackers: a folder each")
    parser.add_argument("--speeds", help="a CSV name,fps,source for these")
    parser.add_argument("--out", default="frontier", help="without an ending")
    parser.add_argument("--program", help="the built program [default: built here]")
    args = parser.parse_args()
    if not args.data:
        parser.error("give --data DIR, or set KCF_TRACK_OTB")
    program = args.program
    if not program:
        subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
        program = ROOT / "target" / "release" / "kcf-track"
    pin()
    with tempfile.TemporaryDirectory() as work:
        rows = evaluate(args, program, Path(work))
    draw(rows, args.out)
    Path(f"{args.out}.md").write_text(table(rows))
    print(table(rows), end="")


if __name__ == "__main__":
    main()
