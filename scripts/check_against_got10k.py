#!/usr/bin/env python3
"""Scores published boxes with `kcf-track eval` and with the got10k toolkit, and compares.

    python -m venv venv && venv/bin/pip install got10k six numpy
    cargo build --release
    venv/bin/python scripts/check_against_got10k.py --otb OTB --results RESULTS [--binary target/release/kcf-track]

OTB holds the sequences, RESULTS a folder for each tracker with one text file a sequence. Every sequence's success and
precision curve, AUC and P@20 of every tracker has to agree to 1e-6 under `--toolkit got10k`; the exit code is 1
otherwise. Then the script shows what `--toolkit otb` (the default) changes.

The labels and boxes are read here with numpy alone, so that reading is checked as well.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from got10k.experiments import ExperimentOTB

TOLERANCE = 1e-6
WHY = {"otb": "an invalid box (NaN or empty) repeats the one before; got10k scores it as a miss"}


def rows(path):
    """All rows of four numbers of a text file, whatever stands between the numbers."""
    lines = [line for line in Path(path).read_text().splitlines() if line.strip()]
    return np.array([[float(word) for word in re.split(r"[,;\s]+", line.strip())] for line in lines])


def labels(otb, name):
    """The labels of a sequence; `Jogging-2` is the second target of `Jogging`."""
    folder, _, target = name.partition("-")
    if target:
        return rows(otb / folder / f"groundtruth_rect.{target}.txt")
    return rows(otb / folder / "groundtruth_rect.txt")


class Subset:
    """The part of got10k's OTB dataset that is there."""

    def __init__(self, otb, names):
        self.seq_names = names
        self.annotations = [labels(otb, name) for name in names]

    def __len__(self):
        return len(self.seq_names)

    def __getitem__(self, index):
        return [None] * len(self.annotations[index]), self.annotations[index]

    def __iter__(self):
        return (self[i] for i in range(len(self)))


class Experiment(ExperimentOTB):
    """got10k's own report over that part, without its plots."""

    def __init__(self, dataset, result_dir, report_dir):
        self.dataset, self.result_dir, self.report_dir = dataset, str(result_dir), str(report_dir)
        self.nbins_iou, self.nbins_ce = 21, 51

    def plot_curves(self, tracker_names):
        pass


def by_got10k(otb, results, trackers, names, work):
    dataset = Subset(otb, names)
    for tracker in trackers:
        (work / tracker).mkdir(parents=True)
        for name, truth in zip(names, dataset.annotations):
            boxes = rows(results / tracker / f"{name}.txt")[: len(truth)]
            np.savetxt(work / tracker / f"{name}.txt", boxes, fmt="%.17g", delimiter=",")
    return Experiment(dataset, work, work / "report").report(trackers)


def by_us(binary, otb, results, trackers, toolkit, out):
    command = [binary, "eval", "--data", otb, "--out", out, "--toolkit", toolkit, "--quiet"]
    for tracker in trackers:
        command += ["--results", f"{tracker}={results / tracker}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    report = json.loads((out / "report.json").read_text())
    return {tracker["name"]: tracker for tracker in report["trackers"]}, [s["name"] for s in report["sequences"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--otb", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--binary", default="target/release/kcf-track")
    args = parser.parse_args()
    trackers = sorted(path.name for path in args.results.iterdir() if path.is_dir())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        ours, names = by_us(args.binary, args.otb, args.results, trackers, "got10k", folder / "got10k")
        theirs = by_got10k(args.otb, args.results, trackers, names, folder / "boxes")
        worst = 0.0
        print(
            f"{'tracker':10} {'AUC got10k':>12} {'ours':>12} {'P@20 got10k':>12} {'ours':>12} "
            f"{'largest difference':>20}"
        )
        for tracker in trackers:
            a, b = theirs[tracker]["overall"], ours[tracker]["overall"]
            gaps = [abs(a["success_score"] - b["auc"]), abs(a["precision_score"] - b["precision_20"])]
            for name in names:
                x, y = theirs[tracker]["seq_wise"][name], ours[tracker]["sequences"][name]
                gaps.append(np.abs(np.subtract(x["success_curve"], y["success"])).max())
                gaps.append(np.abs(np.subtract(x["precision_curve"], y["precision"])).max())
            gap = float(max(gaps))
            worst = max(worst, gap)
            print(
                f"{tracker:10} {a['success_score']:12.8f} {b['auc']:12.8f} {a['precision_score']:12.8f} "
                f"{b['precision_20']:12.8f} {gap:20.2e}"
            )
        for toolkit, why in WHY.items():
            other, _ = by_us(args.binary, args.otb, args.results, trackers, toolkit, folder / toolkit)
            print(f"\n--toolkit {toolkit}: {why}")
            changed = False
            for tracker in trackers:
                a, b = ours[tracker]["overall"], other[tracker]["overall"]
                auc, precision = b["auc"] - a["auc"], b["precision_20"] - a["precision_20"]
                if max(abs(auc), abs(precision)) > TOLERANCE:
                    changed = True
                    print(f"  {tracker:10} AUC {auc:+.6f}  P@20 {precision:+.6f}")
            if not changed:
                print("  changes nothing here")
    agree = worst <= TOLERANCE
    print(
        f"\n{len(trackers)} trackers, {len(names)} sequences: largest difference {worst:.2e}, "
        f"{'agree' if agree else 'DIFFER'}"
    )
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
