#!/usr/bin/env python3
"""How much following the target's size gains: mean overlaps on sequences whose targets change it.

    scripts/scale_table.py OTB [--program FILE] [SEQUENCE ...]

OTB holds sequences of OTB as published; by default those with large changes of size are tracked. Each is tracked twice
by each of some trackers, once with the box's size frozen. The table, in Markdown, has the mean overlap over the frames
with a label, and below it the means over the sequences.
"""

import argparse
from pathlib import Path

from labelled import frames, program, result_name, targets

SEQUENCES = ["Walking2", "Girl", "Human7", "Freeman1", "Toy", "Trans", "Dog", "David"]
TRACKERS = {
    "`robust`": (["--preset", "robust"], "search.background.scale"),
    "`fast`": (["--preset", "fast"], "search.background.scale"),
    "`paper`": (["--preset", "paper"], "search.filter.scale"),
    "`paper --guard krr`": (["--preset", "paper", "--guard", "krr"], "search.filter.scale"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sequences", nargs="*", default=SEQUENCES)
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    executable = args.program or program()
    print("| | " + " | ".join(f"{name}, frozen" for name in TRACKERS) + " |")
    print("| --- |" + " --- |" * len(TRACKERS))
    rows = {}
    for folder, path in targets(args.data):
        if folder.name in args.sequences:
            row = rows.setdefault(result_name(folder, path), [])
            for flags, scale in TRACKERS.values():
                for kind in ("filter", "none"):
                    followed = frames(executable, folder, path, [*flags, "--set", f"{scale}={kind}"])
                    overlaps = [overlap for _, overlap in followed]
                    row.append(sum(overlaps) / len(overlaps))
            print(line(result_name(folder, path), row), flush=True)
    print(line("mean", [sum(column) / len(column) for column in zip(*rows.values())]))


def line(name, row):
    """A row of the table: each tracker's overlap with its size followed, and frozen."""
    return f"| {name} | " + " | ".join(f"{a:.3f}, {b:.3f}" for a, b in zip(row[::2], row[1::2])) + " |"


if __name__ == "__main__":
    main()
