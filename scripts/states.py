#!/usr/bin/env python3
"""How often a tracker's states are right: the share of frames called uncertain and lost, among those that overlap the
truth by more than half and among the others.

    scripts/states.py OTB [FLAG ...]        (flags of kcf-track, such as --preset paper --guard krr)

OTB holds sequences of OTB as published; frames without a label do not count, nor does the first.
"""

import sys
from collections import Counter

from labelled import frames, program, targets


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    data, flags = sys.argv[1], sys.argv[2:]
    executable = program()
    states = {True: Counter(), False: Counter()}
    for sequence, path in targets(data):
        for frame, overlap in frames(executable, sequence, path, flags):
            states[overlap > 0.5][frame["state"]] += 1
    for good, counts in states.items():
        total = max(counts.total(), 1)
        shares = (f", {state} {counts[state] / total:.3f}" for state in ("tracking", "recovered", "uncertain", "lost"))
        print(f"{'good' if good else 'bad'} frames: {counts.total()}" + "".join(shares))


main()
