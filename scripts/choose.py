#!/usr/bin/env python3
"""Compares trackers over groups of sequences, to choose settings that hold outside the data they were chosen on.

    scripts/choose.py A=OTB B=OTHERS DRONES=DIR --tracker "" --tracker "--set search.background.padding=3" [--starts N]

Each group is a folder of sequences in OTB's form. Every tracker (flags of kcf-track) follows every target from the box
given and, with --starts 5, from that box moved by a tenth of its size to each side. Prints for each tracker and group
the mean AUC over targets, the difference to the first tracker with its standard error, the mean of the groups and the
frames/s. Then it leaves each group out: it names the tracker with the best mean over the other groups and what that one
has on the group left out.
"""

import argparse
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from labelled import SHIFTS, frames, program, targets


def auc(run):
    """Mean success over 21 overlap thresholds."""
    overlaps = [overlap for _, overlap in run]
    return statistics.mean(statistics.mean(value > k / 20 for value in overlaps) for k in range(21))


def measured(job):
    """Mean AUC over the starts of one target, and milliseconds of tracking and frames."""
    executable, sequence, path, flags, starts = job
    runs = [list(frames(executable, sequence, path, flags, shift)) for shift in SHIFTS[:starts]]
    times = [frame["track_ms"] for run in runs for frame, _ in run]
    return statistics.mean(map(auc, runs)), sum(times), len(times)


def error(values):
    """The standard error of a mean."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--tracker", action="append", required=True, metavar="FLAGS")
    parser.add_argument("--starts", type=int, default=3, choices=range(1, len(SHIFTS) + 1))
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time; 1 for true frames/s")
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    groups = dict(group.split("=", 1) for group in args.groups)
    executable = args.program or program()
    scores = {}
    for flags in args.tracker:
        milliseconds = count = 0
        for group, folder in groups.items():
            jobs = [(executable, sequence, path, flags.split(), args.starts) for sequence, path in targets(folder)]
            with ThreadPoolExecutor(args.jobs) as pool:
                results = list(pool.map(measured, jobs))
            scores[flags, group] = [score for score, _, _ in results]
            milliseconds += sum(time for _, time, _ in results)
            count += sum(frames for _, _, frames in results)
        line = []
        for group in groups:
            here, first = scores[flags, group], scores[args.tracker[0], group]
            differences = [a - b for a, b in zip(here, first)]
            change = f" ({statistics.mean(differences):+.3f} ± {error(differences):.3f})"
            line.append(f"{group} {statistics.mean(here):.3f}{change}")
        mean = statistics.mean(statistics.mean(scores[flags, group]) for group in groups)
        print(f"{flags or 'default'}: {', '.join(line)}, mean {mean:.3f}, {1000 * count / milliseconds:.0f} frames/s")
    if len(groups) < 2 or len(args.tracker) < 2:
        return
    for left_out in groups:
        others = [group for group in groups if group != left_out]
        best = max(args.tracker, key=lambda flags: sum(statistics.mean(scores[flags, group]) for group in others))
        here = statistics.mean(scores[best, left_out])
        print(f"without {left_out}: {best or 'default'} is best, and has {here:.3f} on {left_out}")


main()
