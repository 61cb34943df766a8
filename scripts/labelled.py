"""Runs of kcf-track over sequences of OTB, frame by frame beside their labels: what other scripts have in common."""

import json
import math
import re
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Offsets of the first box, in its own width and height: none, and one to each side.
SHIFTS = [(0.0, 0.0), (-0.1, 0.0), (0.1, 0.0), (0.0, -0.1), (0.0, 0.1)]


def overlap(a, b):
    """Intersection over union of two boxes x, y, w, h."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def middle(box):
    """The middle of a box x, y, w, h."""
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def accuracy(run):
    """AUC and P@20 of boxes and their labels."""
    overlaps = [overlap(box, label) for box, label in run]
    above = [statistics.mean(value > k / 20 for value in overlaps) for k in range(21)]
    near = statistics.mean(math.dist(middle(box), middle(label)) <= 20 for box, label in run)
    return statistics.mean(above), near


def labels(path):
    """The labels of a sequence, 0-based; None where there is none."""
    for line in path.read_text().split("\n"):
        numbers = [float(v) for v in re.split(r"[,\s]+", line.strip()) if v]
        usable = len(numbers) == 4 and numbers[2] > 0 and numbers[3] > 0
        yield [numbers[0] - 1, numbers[1] - 1, *numbers[2:]] if usable else None


def program(*options):
    """The program, built for release with more `options` of cargo."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bins", *options], cwd=ROOT, check=True)
    metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version=1", "--no-deps"], cwd=ROOT))
    return Path(metadata["target_directory"]) / "release" / "kcf-track"


def truths(sequence):
    """The files of a sequence's labels, one for each target; Human4's first, which holds no box, is none."""
    paths = sorted(sequence.glob("groundtruth_rect*.txt"))
    return [path for path in paths if any(label is not None for label in labels(path))]


def targets(data):
    """All sequences of a folder with the files of their labels, one for each target."""
    for sequence in sorted(path for path in Path(data).iterdir() if path.is_dir()):
        yield from ((sequence, path) for path in truths(sequence))


def target_number(sequence, path):
    """The number of the target whose labels are in `path`; none where the sequence has no other target."""
    numbered = re.fullmatch(r"groundtruth_rect\.(\d+)\.txt", path.name)
    return int(numbered[1]) if numbered and len(truths(sequence)) > 1 else None


def result_name(sequence, path):
    """What results of the target are called: `Jogging-2`, but `Human4`."""
    target = target_number(sequence, path)
    return sequence.name if target is None else f"{sequence.name}-{target}"


def area_under_roc(pairs):
    """The probability that a good frame of `pairs` (value, whether it is good) has a higher value than a bad one, equal
    ones counting half; not a number where all are alike."""
    pairs = sorted(pairs)
    ranks, at = 0.0, 0
    while at < len(pairs):
        end = at
        while end < len(pairs) and pairs[end][0] == pairs[at][0]:
            end += 1
        ranks += sum(outcome for _, outcome in pairs[at:end]) * (at + end + 1) / 2
        at = end
    good = sum(outcome for _, outcome in pairs)
    if not 0 < good < len(pairs):
        return math.nan
    return (ranks - good * (good + 1) / 2) / (good * (len(pairs) - good))


def marked(executable, sequence, path, flags, shift=(0.0, 0.0)):
    """The rows of frames that have a label, with the label; the first box is moved by `shift` of its size."""
    truth = list(labels(path))
    x, y, w, h = truth[0]
    first = ",".join(str(v) for v in (x + shift[0] * w, y + shift[1] * h, w, h))
    command = [executable, "--seq", sequence, "--init", first, "--jsonl", "-", "--quiet", *flags]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for frame, label in zip(map(json.loads, lines), truth):
        if label is not None:
            yield frame, label


def frames(executable, sequence, path, flags, shift=(0.0, 0.0)):
    """The rows of `marked` without the first frame, with the overlap in place of the label."""
    for frame, label in marked(executable, sequence, path, flags, shift):
        if frame["state"] != "initial":
            yield frame, overlap(frame["bbox"], label)
