#!/usr/bin/env python3
"""The worth of each part of the preset `robust`: all parts on, and one off.

    scripts/ablation.py FOLDER [FOLDER ...] [--starts N] [--only NAME,NAME] [--set NAME=FLAGS]... [--by-sequence]
                        [--runs FILE] [--rounds N] [--program FILE]

Each folder holds sequences in OTB's form. Every sequence is tracked from the box given and, with --starts 5, from that
box moved by a tenth of its size in each direction; the runs of a sequence are averaged first. Prints AUC and P@20, in
brackets their difference to all parts on with its standard error over the sequences, on how many sequences AUC is
better and worse by more than .03, and the area under the ROC curve of the confidence for "overlap above 0.5" over all
frames; the weights of the confidence are those of all parts on. The microseconds of an update are measured apart, so
that what else the machine does meets all parts alike: the first 100 frames of each sequence by one part after another,
--rounds times; the mean of the shortest three quarters of each run's updates, the least of the rounds, the geometric
mean over the sequences, and how many times that of all parts on.

--set tries other settings, such as --set "wider=--set search.background.padding=5". --by-sequence prints the largest changes.
--runs FILE keeps each run's scores, a line each, and takes those that stand there already: of other programs or data
take another file.
"""

import argparse
import itertools
import json
import math
import statistics
import subprocess
from pathlib import Path

from labelled import SHIFTS, accuracy, area_under_roc, labels, marked, overlap, program, targets

def setting(path, value):
    """The flags that set one setting of `robust`."""
    return ["--set", f"search.background.{path}={value}"]


# Flags that remove or replace each part.
PARTS = {
    "nothing": [],
    "colour histograms": setting("color-weight", 0),
    "angle": setting("rotation", "none"),
    "size": setting("scale", "none"),
    "mask": setting("mask", "false") + setting("weight", 0.1),
    "temporal term": setting("temporal", 0) + setting("learning-rate", 0.015),
    "second solver step": setting("solver-steps", 1),
    "learning each frame at first": setting("warmup-frames", 0),
    "learning from the area of the detection": setting("reuse-shift", 0),
    "rule of the long-term response": setting("confidence.long-term-drop", 0),
    "search for a lost target": setting("confidence.tiles", 0),
}
# Frames of a run that is timed.
TIMED = 100
# A sequence is better or worse by more than this.
CLEARLY = 0.03


def checked(run):
    """The output of a run of the program; an error message ends the script."""
    try:
        return list(run)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(map(str, error.cmd))}: {error.stderr}") from error


def settings(flags):
    """The flags of a run: `robust`, unless they name a preset themselves."""
    return flags if "--preset" in flags else ["--preset", "robust", *flags]


def score(executable, target, flags, start):
    """AUC, P@20 and of each frame its confidence and whether its overlap is above 0.5."""
    run = checked(marked(executable, *target, settings(flags), SHIFTS[start]))
    later = [(frame, overlap(frame["bbox"], label)) for frame, label in run if frame["state"] != "initial"]
    judged = [(round(frame["confidence"], 4), int(value > 0.5)) for frame, value in later]
    return [*accuracy([(frame["bbox"], label) for frame, label in run]), judged]


def measure(executable, data, part, starts, known, keep):
    """(AUC, P@20) of each sequence, the mean of its starts, and what `score` gives for each frame."""
    name, flags = part
    scores, judged = {}, []
    for target in data:
        runs = []
        for start in range(starts):
            run = f"{target[0].name}/{target[1].name} from {start}: {name} {' '.join(flags)}"
            if run not in known:
                known[run] = score(executable, target, flags, start)
                keep(run, known[run])
            runs.append(known[run])
            judged += map(tuple, known[run][2])
        scores[target[1]] = [statistics.mean(run[i] for run in runs) for i in range(2)]
    return scores, judged


def first_updates(executable, target, flags):
    """Microseconds of the first updates of a run."""
    sequence, path = target
    first = ",".join(str(v) for v in next(labels(path)))
    command = [executable, "--seq", sequence, "--init", first, "--jsonl", "-", "--quiet", *settings(flags)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        frames = [json.loads(line) for line in itertools.islice(run.stdout, TIMED + 1)]
        run.kill()
    return [1e3 * frame["track_ms"] for frame in frames if frame["state"] != "initial"]


def times(executable, data, parts, rounds):
    """Microseconds of an update by each part, the geometric mean over the sequences."""
    least = {}
    for target in data:
        for _ in range(rounds):
            for name, flags in parts.items():
                # Waits for the processor are the longest of them; every second update learns.
                shortest = sorted(first_updates(executable, target, flags))[: TIMED * 3 // 4]
                micros = statistics.mean(shortest)
                least[name, target[1]] = min(micros, least.get((name, target[1]), math.inf))

    def geometric(name):
        return math.exp(statistics.mean(math.log(least[name, path]) for _, path in data))

    return {name: geometric(name) for name in parts}


def compared(scores, whole, i, is_whole):
    """A cell of the table, and the change of each sequence."""
    mean = statistics.mean(score[i] for score in scores.values())
    changes = {path: scores[path][i] - whole[path][i] for path in scores}
    error = statistics.stdev(changes.values()) / math.sqrt(len(changes)) if len(changes) > 1 else 0.0
    change = "" if is_whole else f" ({statistics.mean(changes.values()):+.3f} ± {error:.3f})"
    return f"{mean:.3f}{change}", changes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--starts", type=int, default=1, choices=range(1, len(SHIFTS) + 1))
    parser.add_argument("--only", help="parts of the table, separated by commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=FLAGS")
    parser.add_argument("--by-sequence", action="store_true")
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="0 for no times")
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else [] if args.set else list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    parts = {name: PARTS[name] for name in PARTS if name in wanted or name == "nothing"}
    for text in args.set:
        name, _, flags = text.partition("=")
        parts[name] = flags.split()
    executable = args.program or program()
    data = [target for folder in args.folders for target in targets(folder)]
    known = {}
    if args.runs and args.runs.exists():
        known = {run: score for run, *score in map(json.loads, args.runs.read_text().splitlines())}

    def keep(run, score):
        if args.runs:
            with args.runs.open("a") as file:
                file.write(json.dumps([run, *score]) + "\n")

    micros = times(executable, data, parts, args.rounds) if args.rounds else None
    print("| off, or on where it says so | AUC | P@20 | better, worse | AUROC of the confidence | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    whole = None
    for part in parts.items():
        name = part[0]
        scores, judged = measure(executable, data, part, args.starts, known, keep)
        whole = whole or scores
        auc, changes = compared(scores, whole, 0, name == "nothing")
        near, _ = compared(scores, whole, 1, name == "nothing")
        better, worse = (sum(sign * change > CLEARLY for change in changes.values()) for sign in (1, -1))
        moved = "" if name == "nothing" else f"{better}, {worse}"
        took = f"{micros[name] / micros['nothing']:.2f} ({micros[name]:.0f} µs)" if micros else ""
        print(f"| {name} | {auc} | {near} | {moved} | {area_under_roc(judged):.3f} | {took} |", flush=True)
        if args.by_sequence:
            largest = sorted(changes.items(), key=lambda item: -abs(item[1]))[:8]
            print("  " + ", ".join(f"{path.parent.name} {change:+.3f}" for path, change in largest))


main()
