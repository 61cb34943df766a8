#!/usr/bin/env python3
"""Speed and accuracy of kcf-track beside OpenCV's TrackerKCF, in one run on one machine.

Needs, besides a Rust toolchain:

    python3 -m venv .venv && .venv/bin/pip install opencv-contrib-python-headless numpy
    .venv/bin/python scripts/compare_opencv.py --data DIR [--set speed] [--preset NAME]

DIR holds sequences of OTB as published (by default $KCF_TRACK_OTB). Frames are decoded to memory before any clock
starts; a run is the updates of frames 2 to K. The programs take turns, A B C A B C, each a process of its own on one
thread, pinned to one core where the system allows; the medians over all rounds are printed, and the accuracies by OTB's
rules (precision at 20 pixels, area under the success curve). OpenCV runs twice: as it comes (detect_thresh 0.5, it
reports a loss and stops) and with detect_thresh 0, by which it always answers.
"""

import os

# Before anything that loads numpy: one thread each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

import labelled

SETS = {
    "default": ["Deer", "Walking2", "Woman"],
    "speed": ["Crossing", "Couple", "Deer", "David", "FaceOcc1", "MotorRolling", "Walking2", "Woman"],
}


def pin():
    """Keeps this process and its children on one core; not every system can."""
    try:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    except (AttributeError, OSError):
        pass


def opencv_worker(job):
    """Runs OpenCV's tracker over frames in memory; prints seconds and boxes (0-based, null where it gave none)."""
    import cv2
    import numpy as np

    cv2.setNumThreads(1)
    job = json.loads(job)
    frames = [np.ascontiguousarray(cv2.imread(file)) for file in job["files"]]
    seconds, cpu_seconds = [], []
    for _ in range(job["repeat"]):
        params = cv2.TrackerKCF_Params()
        params.detect_thresh = job["detect_thresh"]
        tracker = cv2.TrackerKCF_create(params)
        first = [round(v) for v in job["init"]]
        tracker.init(frames[0], tuple(first))
        boxes = [first]
        begun, cpu_begun = time.perf_counter(), time.thread_time()
        for frame in frames[1:]:
            found, box = tracker.update(frame)
            boxes.append(list(box) if found else None)
        seconds.append(time.perf_counter() - begun)
        cpu_seconds.append(time.thread_time() - cpu_begun)
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "boxes": boxes, "version": cv2.__version__}))


def run(command):
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))[:200]} failed:\n{finished.stderr}")
    return json.loads(finished.stdout.splitlines()[-1])


def score(truth, boxes):
    """P@20 and AUC by the rules of the OTB toolkit; a frame without an answer repeats the box before it."""
    hits, overlaps, last = 0, [], truth[0]
    for i, (label, box) in enumerate(zip(truth, boxes)):
        last = box if box is not None and box[2] > 0 and box[3] > 0 else last
        box = label if i == 0 else last
        # Labels that are missing or begin outside (1-based: not above zero) miss by overlap and hit by distance.
        if label is None or label[0] <= -1 or label[1] <= -1:
            hits, overlaps = hits + 1, overlaps + [-1.0]
            continue
        dx = box[0] + box[2] / 2 - label[0] - label[2] / 2
        dy = box[1] + box[3] / 2 - label[1] - label[3] / 2
        hits += math.sqrt(dx * dx + dy * dy) <= 20
        overlaps.append(labelled.overlap(box, label))
    auc = sum(sum(o > t / 20 for o in overlaps) for t in range(21)) / 21 / len(overlaps)
    return hits / len(overlaps), auc


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequences", nargs="*", help="names of folders in --data; by default those of --set")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KCF_TRACK_OTB", "OTB")))
    parser.add_argument("--set", choices=SETS, default="default")
    parser.add_argument("--preset", action="append", help="of kcf-track; may be given several times (paper, fast)")
    parser.add_argument("--frames", type=int, default=10**6, help="use the first so many frames")
    parser.add_argument("--rounds", type=int, default=5, help="turns that every program takes")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="time on the wall, or on a core: that of the one thread, for a machine that others use too",
    )
    parser.add_argument(
        "--channels",
        choices=["luma", "color"],
        default="luma",
        help="what kcf-track's frames hold in memory: the gray plane, as its command line decodes, or RGB",
    )
    parser.add_argument("--program", type=Path, help="a built bench_sequence, instead of building it")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return opencv_worker(arguments.worker)

    try:
        import cv2  # noqa: F401
    except ImportError:
        sys.exit("pip install opencv-contrib-python-headless numpy")
    if not hasattr(cv2, "TrackerKCF_create"):
        sys.exit("this OpenCV has no TrackerKCF: pip install opencv-contrib-python-headless")
    program = arguments.program
    if program is None:
        program = labelled.program("--example", "bench_sequence").parent / "examples/bench_sequence"
    pin()

    presets = arguments.preset or ["paper", "fast"]
    clock = {"wall": "seconds", "cpu": "cpu_seconds"}[arguments.clock]
    trackers = presets + ["opencv", "opencv-0"]
    results = {}
    for name in arguments.sequences or SETS[arguments.set]:
        folder = arguments.data / name
        if not folder.is_dir():
            sys.exit(f"there is no {folder}: give the folder of the OTB sequences by --data")
        common = [program, folder, "--frames", str(arguments.frames), "--channels", arguments.channels]
        facts = run(common + ["--preset", presets[0], "--files"])
        job = {"files": facts["files"], "init": facts["boxes"][0], "repeat": 1}
        jobs = {"opencv": {**job, "detect_thresh": 0.5}, "opencv-0": {**job, "detect_thresh": 0.0}}
        rows = {tracker: {"fps": [], "boxes": None} for tracker in trackers}
        for _ in range(arguments.rounds):
            for tracker in trackers:
                if tracker in jobs:
                    got = run([sys.executable, __file__, "--worker", json.dumps(jobs[tracker])])
                else:
                    got = run(common + ["--preset", tracker])
                rows[tracker]["fps"] += [facts["updates"] / s for s in got[clock]]
                rows[tracker]["boxes"] = got["boxes"]
                # OpenCV is done quickly once it has lost its target: count how often it answered.
                rows[tracker]["answered"] = sum(box is not None for box in got["boxes"])
        print(f"{name}: {facts['updates'] + 1} frames, target {facts['boxes'][0][2]:g}x{facts['boxes'][0][3]:g}")
        for tracker, row in rows.items():
            row["precision"], row["auc"] = score(facts["truth"], row.pop("boxes"))
            row["median"] = statistics.median(row["fps"])
            print(
                f"  {tracker:>18} {row['median']:9.1f} fps ({min(row['fps']):.1f} to {max(row['fps']):.1f})"
                f"   P@20 {row['precision']:.3f}  AUC {row['auc']:.3f}   answered {row['answered']}",
                flush=True,
            )
        for preset in presets:
            ratios = [rows[preset]["median"] / rows[other]["median"] for other in ("opencv", "opencv-0")]
            print(f"  {preset:>18} is {ratios[0]:.2f}x opencv, {ratios[1]:.2f}x opencv-0")
        results[name] = rows

    print(
        f"\n{len(results)} sequences, {arguments.rounds} rounds, {arguments.clock} clock, "
        f"opencv-contrib {cv2.__version__}; means"
        " (fps: geometric)"
    )
    means = {}
    for tracker in trackers:
        of = lambda key: [rows[tracker][key] for rows in results.values()]
        means[tracker] = geometric_mean(of("median"))
        print(
            f"  {tracker:>18} {means[tracker]:9.1f} fps   P@20 {statistics.mean(of('precision')):.3f}"
            f"  AUC {statistics.mean(of('auc')):.3f}"
        )
    for preset in presets:
        print(
            f"  {preset:>18} is {means[preset] / means['opencv']:.2f}x opencv,"
            f" {means[preset] / means['opencv-0']:.2f}x opencv-0"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
