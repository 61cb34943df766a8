#!/usr/bin/env python3
"""Measures the tables of docs/results.md and the README, and writes them. `scripts/results.sh` makes its environment.

    scripts/results.py --program PROGRAM --data DIR [--data DIR ...] [--model DIR] [--part NAME ...] [--limit N]

Each DIR is a folder of sequences in the layout of OTB; the kernel machines run on the first. A sequence is OTB's if
assets/otb.json names it. Parts are accuracy, confidence, speed, machines and latency; those that are not run keep their
tables. Confidence uses the runs of accuracy. --limit takes the first N sequences of each folder, to try the script.
"""

import argparse
import concurrent.futures
import csv
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import latency
import peers
from compare_opencv import SETS, pin
from labelled import ROOT, marked, targets

PARTS = ("accuracy", "confidence", "speed", "machines", "latency")
PRESETS = ("expert", "robust", "fast", "paper")
# Each row of the README: its name, its purpose, and what it needs.
ROWS = {
    "robust": ("`robust` (default)", "any target; turns and knows when it is lost", "nothing"),
    "fast": ("`fast`", "several targets, small machines", "nothing"),
    "crowd": ("`crowd`", "dozens of small targets", "nothing"),
    "expert": ("`expert`", "the best boxes, also of drones", "a file of 2.6 MB"),
    "paper": ("`paper`", "KCF as published, to study and compare", "nothing"),
    "NanoTrack v3": ("*NanoTrack v3*", "*a network, in ONNX Runtime*", "*a file of 2.6 MB*"),
    "OpenCV CSRT": ("*OpenCV CSRT*", "*correlation filters*", "*nothing*"),
    "OpenCV KCF": ("*OpenCV KCF*", "*a correlation filter*", "*nothing*"),
}
DETECTORS, GUARDS = ("krr", "svm", "klda", "kpca", "slem", "kdspe"), ("krr", "svm", "klda", "slem")
LATENCY = [
    ("fast", 1, 0), ("fast", 2, 0), ("fast", 8, 0), ("robust", 1, 0), ("robust", 8, 0), ("fast", 8, 2)
]


def share(value, digits=3):
    """A share as in the documents: .624, or a dash for none."""
    return f"{float(value):.{digits}f}".replace("0.", ".", 1) if value not in (None, "") else "–"


def percent(value):
    return f"{100 * float(value):.1f} %" if value not in (None, "") else "–"


def table(head, rows):
    line = lambda cells: f"| {' | '.join(str(cell) for cell in cells)} |"
    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)])


class Measurement:
    """The sequences by group, the program, and where its files lie."""

    def __init__(self, args):
        self.program, self.jobs = args.program.resolve(), args.jobs
        self.model = args.model and args.model.resolve()
        self.out = args.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.otb = {entry["name"]: entry for entry in json.loads((ROOT / "assets/otb.json").read_text())}
        self.groups = {"otb": [], "outside": [], "first": []}
        for number, folder in enumerate(args.data):
            found = sorted(path.parent for path in folder.resolve().glob("*/img"))[: args.limit]
            self.groups["first"] += found if number == 0 else []
            for path in found:
                self.groups["otb" if path.name in self.otb else "outside"].append(path)
        self.numbers = self.out / "numbers.json"
        self.presets = [name for name in PRESETS if name != "expert" or self.model]

    def folder(self, group):
        """A folder of links to the sequences of a group."""
        place = self.out / "data" / group
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for path in self.groups[group]:
            (place / path.name).symlink_to(path)
        return place

    def evaluate(self, group, out, flags, jobs=None):
        """Runs `kcf-track eval`; returns the rows of overall.csv by tracker. Runs that are done are kept."""
        jobs = str(jobs or self.jobs)
        command = [self.program, "eval", "--data", self.folder(group), "--out", out, "--jobs", jobs, *flags]
        command += ["--resume"] if (out / "evaluation.json").exists() else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(out / "overall.csv") as file:
            return {row["tracker"]: row for row in csv.DictReader(file)}

    def images(self, sequence, count):
        """The images that OTB's toolkit evaluates, or all from the first label on."""
        first = self.otb[sequence.name]["first"] - 1 if sequence.name in self.otb else 0
        paths = sorted(str(path) for path in (sequence / "img").iterdir() if path.suffix != ".txt")
        return paths[first : first + count]

    def follow_peers(self, group, out):
        """Boxes of the trackers of others, from the boxes and over the frames that `eval` gave `paper`; their flags."""
        names = [name for name in peers.NAMES if self.model or not name.startswith("NanoTrack")]

        def follow(job):
            name, run = job
            target = out / "peers" / name / f"{run.stem}.txt"
            if target.exists():
                return
            boxes = json.loads(run.read_text())["runs"][0]["boxes"]
            sequence = next(p for p in self.groups[group] if p.name in (run.stem, run.stem.rsplit("-", 1)[0]))
            _, found = peers.follow(name, self.images(sequence, len(boxes)), boxes[0], self.model and str(self.model))
            lines = [f"{x + 1:.3f},{y + 1:.3f},{w:.3f},{h:.3f}\n" for x, y, w, h in found]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(lines))
            print(group, name, run.stem, file=sys.stderr)

        runs = sorted((out / "runs/ope/paper").glob("*.json"), key=lambda run: -run.stat().st_size)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(follow, [(name, run) for name in names for run in runs]))
        return [flag for name in names for flag in ("--results", f"{name}={out / 'peers' / name}")]

    def accuracy(self):
        found = {}
        for group in ("otb", "outside"):
            if not self.groups[group]:
                continue
            out = self.out / "eval" / group
            shutil.rmtree(out, ignore_errors=True)
            flags = [flag for name in self.presets if name != "expert" for flag in ("--preset", name)]
            flags += ["--tracker", f"expert=expert,search.expert.model={self.model}"] if self.model else []
            self.evaluate(group, out, flags)
            found[group] = self.evaluate(group, out, flags + self.follow_peers(group, out))
        return found

    def speed(self):
        """Frames a second of updates alone on one core, of the speed set or else the first eight sequences."""
        chosen = [path for path in self.groups["otb"] if path.name in SETS["speed"]] or self.groups["otb"][:8]
        cores = os.sched_getaffinity(0)
        pin()
        found = {name: [] for name in (*self.presets, *peers.NAMES) if self.model or name != "NanoTrack v3"}
        for sequence in chosen:
            truth = next(path for folder, path in targets(sequence.parent) if folder == sequence)
            run = [frame for frame, _ in marked(self.program, sequence, truth, ["--preset", "paper"])][:300]
            images = self.images(sequence, len(run))
            for name in found:
                if name in peers.NAMES:
                    fps, _ = peers.follow(name, images, run[0]["bbox"], self.model and str(self.model))
                else:
                    more = ["--model", str(self.model)] if name == "expert" else []
                    flags = ["--preset", name, "--end", str(run[-1]["index"]), *more]
                    frames = [frame for frame, _ in marked(self.program, sequence, truth, flags)][1:]
                    fps = 1000 / statistics.mean(frame["track_ms"] for frame in frames)
                found[name].append(fps)
            print("speed", sequence.name, file=sys.stderr)
        os.sched_setaffinity(0, cores)
        return {name: statistics.geometric_mean(runs) for name, runs in found.items()}

    def machines(self):
        """Detectors and guards on the first folder, and the fits of the Python estimators."""
        out = self.out / "eval/machines"
        shutil.rmtree(out, ignore_errors=True)
        named = {f"guard-{name}": f"paper,guard={name}" for name in GUARDS}
        named |= {f"detector-{name}": f"paper,detector={name}" for name in DETECTORS}
        flags = [flag for name, text in named.items() for flag in ("--tracker", f"{name}={text}")]
        # One at a time, for the sake of the times.
        overall = self.evaluate("first", out, ["--preset", "paper", *flags], jobs=1)
        time = lambda run: statistics.mean(json.loads(run.read_text())["runs"][0]["micros"][1:])
        paper = {run.name: time(run) for run in (out / "runs/ope/paper").glob("*.json")}
        for name, row in overall.items():
            runs = (out / "runs/ope" / name).glob("*.json")
            row["time"] = statistics.median(time(run) / paper[run.name] for run in runs)
        command = [sys.executable, ROOT / "scripts/machines.py", "--repeats", "3"]
        fits = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        # Without the Python package the fits are left out.
        return {"trackers": overall, "fits": fits.stdout.split("\n\n")[0].strip() if fits.returncode == 0 else None}

    def latency(self):
        found = []
        for preset, count, load in LATENCY:
            row = latency.measure(self.program, count, preset, seconds=10, load=load)
            found.append({"preset": preset, "targets": count, "load": load, **row})
            print("latency", found[-1], file=sys.stderr)
        return found

    def stamp(self):
        """The commit, the day and the machine."""
        git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        commit = git("rev-parse", "--short=12", "HEAD").stdout.strip() or "unknown"
        # The tables themselves do not count as a change.
        changed = git("diff", "--quiet", "HEAD", "--", ".", ":!docs", ":!README.md").returncode
        commit += " with changes" if changed else ""
        cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        cores = len(os.sched_getaffinity(0))
        return {
            "commit": commit,
            "date": datetime.date.today().isoformat(),
            "machine": f"{cpu[1] if cpu else 'unknown processor'}, {cores} cores",
        }


def accuracy_table(found):
    groups = list(found)
    sizes = {group: max(int(row["sequences"]) for row in found[group].values()) for group in groups}
    names = {"otb": "OTB", "outside": "outside"}
    head = ["tracker"]
    for group in groups:
        head += [f"{names[group]}, {sizes[group]} targets: AUC (95 %)", "P@20"]
    rows = []
    for name in [name for name in (*ROWS,) if name in found[groups[0]]]:
        cells = []
        for group in groups:
            row = found[group][name]
            interval = f"{share(row['auc'])} ({share(row['auc_low'], 2)}–{share(row['auc_high'], 2)})"
            cells += [interval, share(row["precision_20"])]
        rows.append([ROWS[name][0], *cells])
    return table(head, rows)


def confidence_table(found):
    names = {"otb": "OTB", "outside": "outside"}
    head = ["preset", "sequences", "AUROC", "calibration error", "`tracking` on misses", "`uncertain` on hits", "`lost` on hits"]
    rows = []
    for preset in ("robust", "fast", "expert"):
        for group in found:
            if row := found[group].get(preset):
                called = [percent(row[f"{state}_on_{kind}"])
                          for state, kind in (("tracking", "misses"), ("uncertain", "hits"), ("lost", "hits"))]
                rows.append([f"`{preset}`", names[group], share(row["auroc"]), share(row["calibration_error"]), *called])
    return table(head, rows)


def speed_table(found):
    rows = [[ROWS[name][0], f"{fps:,.0f}"] for name, fps in sorted(found.items(), key=lambda row: -row[1])]
    return table(["tracker", "frames a second"], rows)


def machines_table(found):
    rows = []
    for name, row in sorted(found["trackers"].items(), key=lambda row: -float(row[1]["auc"])):
        kind, _, machine = name.partition("-")
        label = f"`--{kind} {machine}`" if machine else "`paper`"
        rows.append([label, share(row["auc"]), share(row["precision_20"]), f"{row['time']:.1f}"])
    text = table(["with `--preset paper`", "AUC", "P@20", "time of an update, `paper` = 1"], rows)
    return text + (f"\n\n{found['fits']}" if found["fits"] else "")


def latency_table(found):
    head = ["preset", "targets", "busy programs beside it", "p50, ms", "p95", "p99", "CPU a frame, ms"]
    keys = ("p50", "p95", "p99", "cpu")
    rows = [[f"`{row['preset']}`", row["targets"], row["load"], *(f"{row[key]:.1f}" for key in keys)] for row in found]
    return table(head, rows)


def readme_table(numbers):
    """A row for each tracker, for newcomers."""
    accuracy, speed = numbers["accuracy"]["found"], numbers["speed"]["found"]
    rows = []
    for name, (label, purpose, needs) in ROWS.items():
        cells = [share(accuracy[group][name]["auc"]) if group in accuracy and name in accuracy[group] else "–"
                 for group in ("otb", "outside")]
        cells.append(f"{speed[name]:,.0f}" if name in speed else "–")
        rows.append([label, purpose, *(f"*{cell}*" if label.startswith("*") else cell for cell in cells), needs])
    head = ["`--preset`", "take it for", "accuracy on OTB", "outside OTB", "frames a second", "needs"]
    return table(head, rows)


def plot(numbers, out):
    """Accuracy against speed, a curve for each group."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    accuracy, speed = numbers["accuracy"]["found"], numbers["speed"]["found"]
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(8.4, 4.6), layout="constrained")
    labels = {"otb": ("OTB", "#c0392b"), "outside": ("outside OTB", "#2471a3")}
    tops = {}
    for group, rows in accuracy.items():
        label, color = labels[group]
        points = {name: (fps, float(rows[name]["auc"])) for name, fps in speed.items() if name in rows}
        ours = sorted(point for name, point in points.items() if name in PRESETS)
        others = [point for name, point in points.items() if name not in PRESETS]
        axes.plot(*zip(*ours), "o-", color=color, label=label, zorder=3)
        if others:
            axes.plot(*zip(*others), "D", color=color, markerfacecolor="none", zorder=3)
        for name, (fps, auc) in points.items():
            tops.setdefault(name, []).append((auc, fps))
    for name, points in tops.items():
        auc, fps = max(points) if name in PRESETS else min(points)
        axes.axvline(fps, color="#eeeeee", zorder=0)
        place = {"xytext": (0, 8 if name in PRESETS else -18), "textcoords": "offset points", "ha": "center"}
        axes.annotate(name, (fps, auc), fontsize=10, fontweight="bold" if name in PRESETS else "normal", **place)
    axes.set_xscale("log")
    axes.set_xlabel("frames a second on one core (filled: kcf-track)")
    axes.set_ylabel("accuracy: success, AUC")
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.margins(x=0.1, y=0.14)
    axes.legend(title="sequences", frameon=False, loc="lower left")
    figure.savefig(out, dpi=110)


def written(path, name, text):
    """Puts `text` between the marks of `name` in a document."""
    old = path.read_text()
    begin, end = f"<!-- {name}: scripts/results.sh -->", f"<!-- end of {name} -->"
    before, found, rest = old.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{path} has no marks {begin} and {end}")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--model", type=Path, help="folder of NanoTrack v3, for expert and for ONNX Runtime")
    parser.add_argument("--part", action="append", choices=PARTS, help="repeatable [default: all]")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="sequences at the same time")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, default=ROOT / "target/results")
    parser.add_argument("--dry", action="store_true", help="print the tables in place of writing the documents")
    args = parser.parse_args()
    measurement = Measurement(args)
    numbers = json.loads(measurement.numbers.read_text()) if measurement.numbers.exists() else {}
    for part in [part for part in PARTS if part in (args.part or PARTS) and part != "confidence"]:
        numbers[part] = {"found": getattr(measurement, part)(), **measurement.stamp()}
        measurement.numbers.write_text(json.dumps(numbers, indent=1))
    if "accuracy" in numbers:
        numbers["confidence"] = numbers["accuracy"]
    for part in [part for part in PARTS if part in numbers and part in (args.part or PARTS)]:
        of = numbers[part]
        stamp = f"Commit {of['commit']}, {of['date']}, {of['machine']}."
        text = f"{globals()[f'{part}_table'](of['found'])}\n\n{stamp}"
        print(text, "\n") if args.dry else written(ROOT / "docs/results.md", part, text)
    if {"accuracy", "speed"} <= set(numbers):
        print(readme_table(numbers)) if args.dry else written(ROOT / "README.md", "presets", readme_table(numbers))
        plot(numbers, measurement.out / "frontier.png" if args.dry else ROOT / "docs/frontier.png")


if __name__ == "__main__":
    main()
