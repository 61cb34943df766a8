#!/usr/bin/env python3
"""Run trackers of kcf-track in the VOT toolkit and compare their boxes with those of the command line.

    scripts/vot/run.py --otb DIR [--package PATH] [--place DIR] [TRACKER ...]

The script installs the toolkit and the package (a wheel, or this clone) into a virtual environment. The workspace has
three sequences of OTB from DIR, one of them with two targets, and a rendered one. Each tracker, a section of
trackers.ini, runs through `vot test`, the experiment of stack.yaml and the report. A box or a confidence that differs
from `kcf-track --json` is a failure: exit code 1.
"""

import argparse
import configparser
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
# attributee 0.1.10 cannot read the toolkit's stacks.
PACKAGES = ["vot-toolkit==0.9.0", "vot-trax==4.0.2", "attributee==0.1.8"]
SEQUENCES = ["Deer", "Crossing", "Jogging"]
SYNTH = "Rendered"
# libtrax has floats of 32 bits: at 1,000 pixels their steps are 6e-5.
TOLERANCE = 1e-4


def run(command, **options):
    """Run a program and return its output."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def install(place, package):
    """Install the toolkit and the package, and return the folder of their programs."""
    programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    if not (programs / "vot").exists():
        venv.create(place / "venv", with_pip=True)
        run([programs / "python", "-m", "pip", "install", "-q", *PACKAGES])
    run([programs / "python", "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", package])
    return programs


def convert(source, target):
    """Write a sequence of OTB as one of VOT: numbered frames, 0-based boxes."""
    (target / "color").mkdir(parents=True)
    frames = sorted((source / "img").glob("*.jpg"))
    for number, frame in enumerate(frames, 1):
        shutil.copyfile(frame, target / "color" / f"{number:08d}.jpg")
    for truth in source.glob("groundtruth_rect*.txt"):
        rows = truth.read_text().split("\n")
        boxes = [[float(word) for word in row.replace(",", " ").split()] for row in rows if row.strip()]
        text = [f"{x - 1},{y - 1},{w},{h}\n" for x, y, w, h in boxes]
        # groundtruth_rect.2.txt is that of the second target.
        number = truth.suffixes[0].strip(".") if len(truth.suffixes) == 2 else ""
        name = f"groundtruth_{number}.txt" if number else "groundtruth.txt"
        (target / name).write_text("".join(text[:len(frames)]))
    (target / "sequence").write_text("name=%s\nfps=30\nchannels.color=color/%%08d.jpg\n" % target.name)


def workspace(place, otb, binary):
    """Make a new workspace of the toolkit."""
    folder = place / "workspace"
    shutil.rmtree(folder, ignore_errors=True)
    sequences = folder / "sequences"
    for name in SEQUENCES:
        convert(otb / name, sequences / name)
    with tempfile.TemporaryDirectory() as rendered:
        scene = Path(rendered) / "scene"
        run([binary, "synth", "--out", scene, "--format", "jpg", "--frames", "80", "--seed", "7"])
        convert(scene, sequences / SYNTH)
    (sequences / "list.txt").write_text("".join(f"{name}\n" for name in [*SEQUENCES, SYNTH]))
    (folder / "config.yaml").write_text("registry: [./trackers.ini]\nstack: ./stack.yaml\nsequences: sequences\n")
    for name in ("trackers.ini", "stack.yaml"):
        shutil.copyfile(HERE / name, folder / name)
    return folder


def rows_of_toolkit(folder, tracker, sequence, target):
    """Box and confidence of all frames but the first, whose box the toolkit does not keep."""
    results = folder / "results" / tracker / "baseline" / sequence
    name = f"{sequence}{target and '_' + target}_001"
    lines = [(results / f"{name}{ending}").read_text().split()[1:] for ending in (".txt", "_confidence.value")]
    return [[*map(float, box.split(",")), float(confidence)] for box, confidence in zip(*lines, strict=True)]


def rows_of_program(binary, flags, folder, sequence, truth):
    """The same from the command line."""
    out = folder / "boxes.json"
    first = truth.read_text().split("\n")[0]
    run([binary, folder / "sequences" / sequence / "color", "--init", first, "--quiet", "--json", out, *flags])
    frames = json.loads(out.read_text())["frames"][1:]
    # The peak-to-sidelobe ratio replaces a confidence that is not calibrated.
    return [[*frame["bbox"], frame["psr"] if frame["confidence"] is None else frame["confidence"]] for frame in frames]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--otb", type=Path, required=True, help="folder of OTB's sequences")
    parser.add_argument("--package", type=Path, default=HERE.parent.parent, help="wheel or clone of kcf-track")
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()) / "kcf-track-vot",
                        help="folder for the toolkit and the workspace")
    parser.add_argument("trackers", nargs="*", metavar="TRACKER", default=["kcf-paper", "kcf-fast", "kcf-robust"])
    args = parser.parse_args()
    registry = configparser.ConfigParser()
    registry.read(HERE / "trackers.ini")
    unknown = [tracker for tracker in args.trackers if tracker not in registry]
    if unknown:
        parser.error(f"trackers.ini has no {', '.join(unknown)}")
    package, otb, place = (path.resolve() for path in (args.package, args.otb, args.place))
    programs = install(place, package)
    binary = programs / "kcf-track"
    folder = workspace(place, otb, binary)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "VOT_RESULTS_BINARY": "false"}

    def vot(*words):
        # The toolkit may end with 0 after an error, which it prints in red.
        output = run([programs / "vot", *words], cwd=folder, env=environment)
        if "\033[31m" in output or "Traceback" in output:
            sys.exit(f"vot {shlex.join(map(str, words))}:\n{output}")
        return output

    for tracker in args.trackers:
        output = vot("test", tracker)
        if "Test concluded successfuly" not in output:
            sys.exit(f"vot test {tracker}:\n{output}")
        print(f"vot test {tracker}: passed")
    vot("evaluate", "--workspace", folder, *args.trackers)
    vot("analysis", "--workspace", folder, "--name", "analysis", *args.trackers)
    vot("report", "--workspace", folder, "--name", "report", *args.trackers)
    worst = 0.0
    for tracker in args.trackers:
        words = shlex.split(registry[tracker]["command"])[3:]
        flags = [f"--{word}" if "=" in word else word for word in words]
        for truth in sorted((folder / "sequences").glob("*/groundtruth*.txt")):
            sequence, target = truth.parent.name, truth.stem.partition("_")[2]
            ours = rows_of_program(binary, flags, folder, sequence, truth)
            theirs = rows_of_toolkit(folder, tracker, sequence, target)
            name = f"{tracker}, {sequence} {target}".strip()
            if len(ours) != len(theirs):
                sys.exit(f"{name}: {len(theirs)} rows of the toolkit, {len(ours)} of the command line")
            apart = max(abs(a - b) for one, other in zip(ours, theirs) for a, b in zip(one, other))
            print(f"{name}: {len(ours)} boxes and confidences, at most {apart:.1e} apart")
            worst = max(worst, apart)
    analysis = json.loads((folder / "analysis" / "analysis.json").read_text())
    for tracker, (accuracy,) in zip(args.trackers, analysis["results"]["baseline"]["results"][0]):
        print(f"{tracker}: the toolkit's average accuracy is {accuracy:.3f}")
    print(folder / "reports" / "report" / "report.html")
    sys.exit(f"they differ by {worst}" if worst > TOLERANCE else 0)


if __name__ == "__main__":
    main()
