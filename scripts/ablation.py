#!/usr/bin/env python3
"""What each part of the preset `robust` is worth: all of them on, and one off.

    scripts/ablation.py FOLDER [FOLDER ...] [--starts N] [--only NAME,NAME] [--program FILE]

Each folder holds sequences in OTB's form. Every sequence is tracked from the box given and, with --starts 5, from that
box moved by a tenth of its size in each direction; the runs of a sequence are averaged first. Prints AUC and P@20, in
brackets their difference to all parts on with its standard error over the sequences, the area under the ROC curve of
the confidence for "overlap above 0.5" over all frames, and the microseconds of an update, the geometric mean over the
sequences. The weights of the confidence are those of all parts on.
"""

import argparse
import math
import statistics
import subprocess
from pathlib import Path

from labelled import SHIFTS, area_under_roc, marked, overlap, program, targets

# What takes each part away.
PARTS = {
    "all": [],
    "mask": ["--mask", "false", "--weight", "0.1"],
    "temporal term": ["--temporal", "0", "--learning-rate", "0.015"],
    "second solver step": ["--solver-steps", "1"],
    "colour histograms": ["--color-weight", "0"],
    "size": ["--scale", "none"],
    "angle": ["--rotation", "none"],
    "learning each frame at first": ["--settle", "0"],
    "learning from the area at hand": ["--reuse-shift", "0"],
    "recovery": ["--lost-after", "1000000"],
}


def middle(box):
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def measure(executable, data, flags, starts):
    """Of each sequence (AUC, P@20, microseconds); of each frame (confidence, whether the overlap is above 0.5)."""
    scores, judged = {}, []
    for sequence, path in data:
        runs = []
        for shift in SHIFTS[:starts]:
            try:
                run = list(marked(executable, sequence, path, ["--preset", "robust", *flags], shift))
            except subprocess.CalledProcessError as error:
                raise SystemExit(f"{sequence}: {error.stderr}") from error
            overlaps = [overlap(frame["bbox"], label) for frame, label in run]
            above = [statistics.mean(value > k / 20 for value in overlaps) for k in range(21)]
            near = statistics.mean(math.dist(middle(frame["bbox"]), middle(label)) <= 20 for frame, label in run)
            later = [(frame, value) for (frame, _), value in zip(run, overlaps) if frame["state"] != "initial"]
            judged += [(frame["confidence"], value > 0.5) for frame, value in later]
            micros = 1e3 * statistics.mean(frame["track_ms"] for frame, _ in later)
            runs.append((statistics.mean(above), near, micros))
        scores[path] = [statistics.mean(values) for values in zip(*runs)]
    return scores, judged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--starts", type=int, default=1, choices=range(1, len(SHIFTS) + 1))
    parser.add_argument("--only", help="parts of the table, separated by commas")
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    executable = args.program or program()
    data = [target for folder in args.folders for target in targets(folder)]
    wanted = args.only.split(",") if args.only else list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    print("| off | AUC | P@20 | AUROC of the confidence | microseconds |")
    print("| --- | --- | --- | --- | --- |")
    whole = None
    for name in ["all", *(name for name in wanted if name != "all")]:
        scores, judged = measure(executable, data, PARTS[name], args.starts)
        whole = whole or scores
        cells = []
        for i in range(2):
            mean = statistics.mean(score[i] for score in scores.values())
            changes = [scores[path][i] - whole[path][i] for path in scores]
            error = statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else 0.0
            change = "" if name == "all" else f" ({statistics.mean(changes):+.3f} ± {error:.3f})"
            cells.append(f"{mean:.3f}{change}")
        micros = math.exp(statistics.mean(math.log(score[2]) for score in scores.values()))
        title = "nothing" if name == "all" else name
        print(f"| {title} | {' | '.join(cells)} | {area_under_roc(judged):.3f} | {micros:.0f} |", flush=True)


main()
