#!/usr/bin/env python3
"""How soon a tracker says that its target is gone, and how soon it finds it again.

    scripts/recovery.py [--seeds 20] [--binary target/release/kcf-track] [--scene scale=0.6] [-- --preset robust ...]

Renders sequences in which the target is hidden, and others in which it leaves the picture, each for 20 frames and more
(`kcf-track synth --set occlusion=1 --set hold=20` and `--set out-of-view=true`, one of each a seed), tracks them, and
counts:

- lost: the state is `lost` within 10 frames of the last in which any of the target is seen;
- found: the box overlaps the true one by more than a half, and the state is `tracking` or `recovered`, within 15 frames
  of the first in which at least half of the target is seen again;
- false: frames in which all of the target is seen and the state is `lost`, in percent; those until it is found again are
  left out.

The frames are rendered by this project.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

from labelled import overlap

LOST_WITHIN, FOUND_WITHIN = 10, 15


def judge(scene, rows):
    """Whether one disappearance was noticed and the return too; false and all frames that show the target."""
    visible = [frame["visible"] for frame in scene]
    gone = next(i for i, share in enumerate(visible) if share == 0)
    back = next(i for i in range(gone, len(visible)) if visible[i] >= 0.5)
    lost = any(row["state"] == "lost" for row in rows[gone : gone + LOST_WITHIN])

    def right(i):
        box = [float(rows[i][side]) for side in "xywh"]
        return overlap(box, scene[i]["bbox"]) > 0.5 and rows[i]["state"] in ("tracking", "recovered")

    window = range(back, min(back + FOUND_WITHIN, len(rows)))
    found = next((i for i in window if right(i)), None)
    until = gone if found is None else len(rows)
    seen = [i for i in range(until) if visible[i] == 1 and not gone <= i < (found or 0)]
    false = sum(rows[i]["state"] == "lost" for i in seen)
    return lost, found is not None, false, len(seen)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--binary", default="target/release/kcf-track")
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--scene", action="append", default=[], help="a parameter of all scenes, as scale=0.6")
    parser.add_argument("--failures", action="store_true", help="name the seeds that miss")
    parser.add_argument("flags", nargs="*", help="of the tracker, after --")
    args = parser.parse_args()
    for name, flags in [("occlusion", ["occlusion=1", "--set", "hold=20"]), ("out of view", ["out-of-view=true"])]:
        lost = found = false = shown = 0
        missed = []
        for seed in range(args.first, args.first + args.seeds):
            with tempfile.TemporaryDirectory() as folder:
                place = pathlib.Path(folder)
                where = ["--out", place / "seq", "--seed", str(seed), "--frames", str(args.frames)]
                where += [word for scene in args.scene for word in ("--set", scene)]
                subprocess.run([args.binary, "synth", *where, "--set", *flags], check=True, stdout=subprocess.DEVNULL)
                table = place / "boxes.csv"
                run = [args.binary, "--seq", place / "seq", "-q", "--csv", table, *args.flags]
                subprocess.run(run, check=True)
                scene = json.loads((place / "seq" / "scene.json").read_text())["frames"]
                with open(table, newline="") as file:
                    said = judge(scene, list(csv.DictReader(file)))
            lost, found = lost + said[0], found + said[1]
            false, shown = false + said[2], shown + said[3]
            if not (said[0] and said[1]):
                missed.append(f"{seed} ({'lost' if said[0] else 'not lost'}, {'found' if said[1] else 'not found'})")
        n = args.seeds
        print(f"{name}: lost {lost} of {n}, found {found} of {n}, false {100 * false / max(shown, 1):.2f} %")
        if args.failures and missed:
            print("  " + ", ".join(missed))


if __name__ == "__main__":
    main()
