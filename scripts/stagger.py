#!/usr/bin/env python3
"""What `--stagger` does to eight targets: how well they are followed, and in which time.

    scripts/stagger.py FOLDER [FOLDER ...] [--preset NAME]... [--program FILE]

Each folder holds sequences in OTB's form. In every one eight boxes are followed in one run on one thread: the one given,
and that moved by a tenth of its size to each side and to three corners. Once each is followed for itself, once they are
staggered. Prints the AUC and P@20 of both, means over the boxes and then over the sequences, in brackets the difference
with its standard error over the sequences, on how many sequences AUC is better and worse by more than .03, and how long
the updates of eight take, times those of one that is followed alone: the mean over the sequences.
"""

import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path

from labelled import SHIFTS, labels, overlap, program, targets

BOXES = [*SHIFTS, (-0.1, -0.1), (0.1, -0.1), (-0.1, 0.1)]
# A sequence is better or worse by more than this.
CLEARLY = 0.03


def middle(box):
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def followed(executable, preset, target, count, flags):
    """Of so many boxes the mean AUC and P@20, and the milliseconds of all updates."""
    sequence, path = target
    truth = list(labels(path))
    x, y, w, h = truth[0]
    inits = [f"--init={x + i * w},{y + j * h},{w},{h}" for i, j in BOXES[:count]]
    command = [executable, sequence, "--preset", preset, "--jobs", "1", "--jsonl", "-", "--quiet", *inits, *flags]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {ran.stderr}")
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    scores = []
    for id in range(1, count + 1):
        boxes = (row["bbox"] for row in rows if row.get("id", 1) == id)
        run = [(box, label) for box, label in zip(boxes, truth) if label is not None]
        overlaps = [overlap(box, label) for box, label in run]
        above = [statistics.mean(value > k / 20 for value in overlaps) for k in range(21)]
        near = statistics.mean(math.dist(middle(box), middle(label)) <= 20 for box, label in run)
        scores.append((statistics.mean(above), near))
    took = sum(row["track_ms"] for row in rows if row["state"] != "initial")
    return [statistics.mean(score) for score in zip(*scores)], took


def changed(before, after, i):
    """The mean of a score after a change, and in brackets the change."""
    changes = [b[i] - a[i] for a, b in zip(before, after)]
    error = statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else 0.0
    return f"{statistics.mean(b[i] for b in after):.3f} ({statistics.mean(changes):+.3f} ± {error:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--preset", action="append")
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    executable = args.program or program()
    data = [target for folder in args.folders for target in targets(folder)]
    print("| preset | each for itself: AUC, P@20, time | staggered: AUC | P@20 | better, worse | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for preset in args.preset or ["fast", "robust"]:
        before, after, times = [], [], []
        for target in data:
            _, one = followed(executable, preset, target, 1, [])
            for kept, flags in ((before, []), (after, ["--stagger"])):
                scores, took = followed(executable, preset, target, len(BOXES), flags)
                kept.append(scores)
                times.append(took / one)
        auc, near = (statistics.mean(scores[i] for scores in before) for i in range(2))
        changes = [b[0] - a[0] for a, b in zip(before, after)]
        moved = ", ".join(str(sum(sign * change > CLEARLY for change in changes)) for sign in (1, -1))
        alone, staggered = (f"{statistics.mean(times[i::2]):.1f}" for i in range(2))
        cells = [f"{auc:.3f}, {near:.3f}, {alone}", changed(before, after, 0), changed(before, after, 1), moved, staggered]
        print(f"| `{preset}` | {' | '.join(cells)} |", flush=True)


main()
