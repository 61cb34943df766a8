#!/usr/bin/env python3
"""What `--stagger` does to eight targets: how well they are followed.

    scripts/stagger.py FOLDER [FOLDER ...] [--preset NAME]... [--program FILE]

Each folder holds sequences in OTB's form. In every one eight boxes are followed in one run: the one given, and that
moved by a tenth of its size to each side and to three corners. Once each is followed for itself, once they are
staggered. Prints the AUC and P@20 of both, means over the boxes and then over the sequences, in brackets the difference
with its standard error over the sequences, and on how many sequences AUC is better and worse by more than .03. How long
it takes is measured by `cargo bench --bench tracker -- many`.
"""

import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path

from labelled import SHIFTS, accuracy, labels, program, targets

BOXES = [*SHIFTS, (-0.1, -0.1), (0.1, -0.1), (-0.1, 0.1)]
# A sequence is better or worse by more than this.
CLEARLY = 0.03


def followed(executable, preset, target, flags):
    """The mean AUC and P@20 of all boxes."""
    sequence, path = target
    truth = list(labels(path))
    x, y, w, h = truth[0]
    inits = [f"--init={x + i * w},{y + j * h},{w},{h}" for i, j in BOXES]
    command = [executable, sequence, "--preset", preset, "--jsonl", "-", "--quiet", *inits, *flags]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {ran.stderr}")
    boxes = {}
    for row in map(json.loads, ran.stdout.splitlines()):
        boxes.setdefault(row["id"], []).append(row["bbox"])
    runs = ([(box, label) for box, label in zip(run, truth) if label is not None] for run in boxes.values())
    return [statistics.mean(score) for score in zip(*map(accuracy, runs))]


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
    print("| preset | each for itself: AUC | P@20 | staggered: AUC | P@20 | better, worse |")
    print("| --- | --- | --- | --- | --- | --- |")
    for preset in args.preset or ["fast", "robust"]:
        ways = ([], ["--stagger"])
        before, after = ([followed(executable, preset, target, flags) for target in data] for flags in ways)
        auc, near = (statistics.mean(scores[i] for scores in before) for i in range(2))
        changes = [b[0] - a[0] for a, b in zip(before, after)]
        moved = ", ".join(str(sum(sign * change > CLEARLY for change in changes)) for sign in (1, -1))
        both = f"{changed(before, after, 0)} | {changed(before, after, 1)}"
        print(f"| `{preset}` | {auc:.3f} | {near:.3f} | {both} | {moved} |", flush=True)


main()
