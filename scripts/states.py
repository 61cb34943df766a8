#!/usr/bin/env python3
"""How often a tracker's states are right: the share of frames called uncertain and lost, among those that overlap the
truth by more than half and among the others.

    scripts/states.py OTB [--program FILE] [FLAG ...]     (flags of kcf-track, such as --preset paper --guard krr)

Builds the program (`cargo build --release`), unless --program names one. OTB holds sequences of OTB as published;
frames without a label do not count, nor does the first.
"""

import argparse
from collections import Counter
from pathlib import Path

from labelled import frames, program, targets


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--program", type=Path)
    args, flags = parser.parse_known_args()
    executable = args.program or program()
    states = {True: Counter(), False: Counter()}
    for sequence, path in targets(args.data):
        for frame, overlap in frames(executable, sequence, path, flags):
            states[overlap > 0.5][frame["state"]] += 1
    for good, counts in states.items():
        total = max(counts.total(), 1)
        shares = (f", {state} {counts[state] / total:.3f}" for state in ("tracking", "recovered", "uncertain", "lost"))
        print(f"{'good' if good else 'bad'} frames: {counts.total()}" + "".join(shares))


main()
