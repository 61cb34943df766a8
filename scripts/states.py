#!/usr/bin/env python3
"""How often a tracker's states are right: the share of frames called uncertain and lost, among those that overlap the
truth by more than half and among the others.

    scripts/states.py OTB [FLAG ...]        (flags of kcf-track, such as --guard krr)

OTB holds sequences of OTB as published; frames without a label do not count, nor does the first.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def overlap(a, b):
    """Intersection over union of two boxes x, y, w, h."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def labels(path):
    """The labels of a sequence, 0-based; None where there is none."""
    for line in path.read_text().split("\n"):
        numbers = [float(v) for v in re.split(r"[,\s]+", line.strip()) if v]
        usable = len(numbers) == 4 and numbers[2] > 0 and numbers[3] > 0
        yield [numbers[0] - 1, numbers[1] - 1, *numbers[2:]] if usable else None


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    data, flags = Path(sys.argv[1]), sys.argv[2:]
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bins"], cwd=ROOT, check=True)
    metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version=1", "--no-deps"], cwd=ROOT))
    program = Path(metadata["target_directory"]) / "release" / "kcf-track"
    states = {True: Counter(), False: Counter()}
    for sequence in sorted(path for path in data.iterdir() if path.is_dir()):
        targets = sorted(sequence.glob("groundtruth_rect*.txt"))
        for number in range(1, len(targets) + 1):
            target = ["--target", str(number)] if len(targets) > 1 else []
            lines = subprocess.run(
                [program, "--seq", sequence, *target, "--jsonl", "-", "--quiet", *flags],
                capture_output=True,
                text=True,
                check=True,
            )
            for frame, truth in zip(map(json.loads, lines.stdout.splitlines()), labels(targets[number - 1])):
                if frame["state"] != "initial" and truth is not None:
                    states[overlap(frame["bbox"], truth) > 0.5][frame["state"]] += 1
    for good, counts in states.items():
        total = max(counts.total(), 1)
        print(
            f"{'good' if good else 'bad'} frames: {counts.total()}"
            + "".join(f", {state} {counts[state] / total:.3f}" for state in ("tracking", "uncertain", "lost"))
        )


main()
