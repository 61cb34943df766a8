#!/usr/bin/env python3
"""Tracking a folder of images, from the start of the program to its end, beside decoding the same images alone.

    python3 scripts/end_to_end.py --data DIR [--preset paper] [--rounds 9] [SEQUENCE ...]

DIR holds sequences of OTB as published (by default $KCF_TRACK_OTB). Whole processes take turns: one that only decodes,
one image after the other (examples/bench_sequence.rs); the same ahead on another thread; and `kcf-track --seq` with its
boxes written. Medians of the ratio of each turn to the decoding of the same turn are printed, so that a busy machine
disturbs both alike; and for each preset the ratio to the slower half, which is decoding alone or tracking alone (frames
in memory), since two cores do both at once.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import labelled

SEQUENCES = ["Crossing", "Couple", "Deer", "David", "FaceOcc1", "MotorRolling", "Walking2", "Woman"]


def timed(command):
    """How long a command takes, and what it printed."""
    begun = time.perf_counter()
    finished = subprocess.run(command, capture_output=True, text=True)
    taken = time.perf_counter() - begun
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{finished.stderr}")
    return taken, finished.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequences", nargs="*", help="names of folders in --data")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KCF_TRACK_OTB", "OTB")))
    parser.add_argument("--preset", action="append", help="may be given several times (paper, fast)")
    parser.add_argument("--rounds", type=int, default=9, help="turns that every program takes")
    parser.add_argument(
        "--built", type=Path, help="the folder of built programs (target/release), instead of building them"
    )
    parser.add_argument("--json", type=Path, help="write all seconds there")
    arguments = parser.parse_args()
    built = arguments.built or labelled.program("--example", "bench_sequence").parent
    presets = arguments.preset or ["paper", "fast"]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.sequences or SEQUENCES:
            sequence = arguments.data / name
            if not sequence.is_dir():
                sys.exit(f"there is no {sequence}: give the folder of the OTB sequences by --data")
            commands = {
                "decode": [built / "examples/bench_sequence", sequence, "--decode", "here"],
                "decode ahead": [built / "examples/bench_sequence", sequence, "--decode", "ahead"],
            }
            for preset in presets:
                commands[preset] = [
                    built / "kcf-track",
                    "--seq",
                    sequence,
                    "--preset",
                    preset,
                    "--quiet",
                    "--force",
                    "--otb",
                    Path(folder) / "boxes.txt",
                ]
            times = {program: [] for program in commands}
            tracking = {preset: [] for preset in presets}
            for _ in range(arguments.rounds):
                for program, command in commands.items():
                    times[program].append(timed(command)[0])
                for preset in presets:
                    said = timed([built / "examples/bench_sequence", sequence, "--preset", preset])[1]
                    tracking[preset].append(json.loads(said)["seconds"][0])
            ratio = {
                program: statistics.median(t / d for t, d in zip(times[program], times["decode"]))
                for program in commands
            }
            slower = {
                preset: statistics.median(
                    t / max(d, alone) for t, d, alone in zip(times[preset], times["decode"], tracking[preset])
                )
                for preset in presets
            }
            print(
                f"{name:>14}: decode {statistics.median(times['decode']):.3f} s, ahead {ratio['decode ahead']:.2f}x"
                + "".join(
                    f"; {preset} tracks {statistics.median(tracking[preset]):.3f} s, takes {ratio[preset]:.2f}x,"
                    f" {slower[preset]:.2f}x the slower half"
                    for preset in presets
                ),
                flush=True,
            )
            results[name] = {"seconds": times, "tracking": tracking, "ratio": ratio, "slower": slower}
    halves = [("ratio", "decoding alone", ["decode ahead", *presets]), ("slower", "the slower half", presets)]
    for kind, what, programs in halves:
        for program in programs:
            ratios = [result[kind][program] for result in results.values()]
            print(
                f"{program:>14}: {statistics.geometric_mean(ratios):.3f}x {what} (geometric mean),"
                f" at most {max(ratios):.3f}x"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
