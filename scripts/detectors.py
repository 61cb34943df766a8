#!/usr/bin/env python3
"""Accuracy and cost of every detector and guard on the sequences of OTB, in one table.

    scripts/detectors.py OTB [--out FOLDER] [--only svm,guard-krr]

Builds the program and runs `kcf-track eval --preset paper` with each --detector and each --guard, one sequence at a
time, so that frames per second compare. P@20 is the precision at 20 pixels, AUC the area under the success curve: means
over all sequences that are there, and over those without Girl, Toy, Bird1, FaceOcc1 and Walking2. "least" is the
largest loss of P@20 against kcf on any one sequence; the cost is the median over the sequences, and in brackets the
least and the most, of kcf's frames per second over the detector's, kcf being run before and after all others. Runs of
these sequences that are in FOLDER already are not run again.
"""

import argparse
import json
import statistics
import subprocess
from pathlib import Path

import labelled

LEFT_OUT = {"Girl", "Toy", "Bird1", "FaceOcc1", "Walking2"}
DETECTORS = ["krr", "svm", "klda", "slem", "kdspe", "kpca"]
GUARDS = ["krr", "klda", "svm", "slem"]
# Smaller losses do not count.
CLEARLY = 0.02


def evaluate(program, data, out, flags):
    """Scores and frames per second of every sequence."""
    # A report that is there may be of other sequences or of another version; what it shares with this one is kept.
    command = [program, "eval", "--data", data, "--preset", "paper", "--jobs", "1", "--quiet", "--out", out, "--resume"]
    subprocess.run([*command, *flags], check=True)
    (tracker,) = json.loads((out / "report.json").read_text())["trackers"]
    (timing,) = json.loads((out / "timings.json").read_text())["trackers"].values()
    return tracker["sequences"], timing["sequences"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=labelled.ROOT / "target" / "detectors")
    parser.add_argument("--only", help="names of the table, separated by commas")
    parser.add_argument("--program", type=Path, help="an executable that is built already")
    arguments = parser.parse_args()
    program = arguments.program or labelled.program()

    rows = {name: ["--detector", name] for name in DETECTORS} | {f"guard-{name}": ["--guard", name] for name in GUARDS}
    if arguments.only:
        wanted = arguments.only.split(",")
        rows = {name: flags for name, flags in rows.items() if name in wanted}
    arguments.out.mkdir(parents=True, exist_ok=True)
    run = lambda name, flags: evaluate(program, arguments.data, arguments.out / name, flags)
    found = {"kcf": run("kcf", [])}
    found |= {name: run(name, flags) for name, flags in rows.items()}
    _, again = run("kcf-again", [])
    kcf, before = found["kcf"]
    speed = {name: (before[name] + again[name]) / 2 for name in before}

    subset = [name for name in kcf if name not in LEFT_OUT]
    print(f"| tracker | P@20 of {len(kcf)} | AUC | P@20 of {len(subset)} | AUC | least | cost |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (scores, fps) in found.items():
        mean = lambda field, names: statistics.mean(scores[sequence][field] for sequence in names)
        cells = [f"{mean(field, names):.3f}" for names in (list(kcf), subset) for field in ("precision_20", "auc")]
        change = {sequence: scores[sequence]["precision_20"] - kcf[sequence]["precision_20"] for sequence in kcf}
        worst = min(change, key=change.get)
        costs = sorted(speed[sequence] / fps[sequence] for sequence in fps)
        cost = f"{statistics.median(costs):.1f} ({costs[0]:.1f} to {costs[-1]:.1f})"
        least = f"{change[worst]:+.3f} ({worst})" if change[worst] < -CLEARLY else f"none above {CLEARLY}"
        print(f"| `{name}` | {' | '.join(cells)} | {least} | {cost} |")


if __name__ == "__main__":
    main()
