#!/usr/bin/env python3
"""How soon a tracker notices that something covers its target in a real sequence, and finds it again.

    scripts/occlusion.py DIR... [--program target/release/kcf-track] [--flags="--preset robust ..."]

In each sequence of the folders (OTB's form) a piece of the first covered frame slides over the target within 8 frames,
moves with it for 20 or 40 frames, and slides off within 8. The piece is 1.6 times as wide and high as the target and
comes from the side of the frame that is farther from it, upside down. A case counts where the tracker's box overlaps the
true one by half until then. Prints

- lost: cases with the state `lost` within 10 frames of the first that is covered;
- found: cases with an overlap above .3 and another state than `lost` within 15 frames of the first uncovered one;
- sure: frames covered for 10 or more that are `tracking` or `recovered`.

Needs OpenCV for Python. On such cases the place of a lost target's box and the rule for covered targets were chosen.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import cv2

from labelled import marked, overlap, targets

SLIDE, LOST_WITHIN, FOUND_WITHIN, LARGER = 8, 10, 15, 1.6
CASES = [(30, 20), (60, 40)]


def covered(picture, piece, box, away):
    """The picture with the piece `away` of its way beside the box."""
    height, width = piece.shape[:2]
    left = round(box[0] + box[2] / 2 + away * (width + box[2]) / 2 - width / 2)
    top = round(box[1] + box[3] / 2 - height / 2)
    x, y = max(left, 0), max(top, 0)
    right, bottom = min(left + width, picture.shape[1]), min(top + height, picture.shape[0])
    if x < right and y < bottom:
        picture[y:bottom, x:right] = piece[y - top : bottom - top, x - left : right - left]
    return picture


def cut(picture, box):
    """A piece of the picture at the height of the box, from the farther side, upside down."""
    height, width = picture.shape[:2]
    w, h = int(min(LARGER * box[2] + 1, width / 2)), int(min(LARGER * box[3] + 1, 0.8 * height))
    left = 0 if box[0] + box[2] / 2 > width / 2 else width - w
    top = int(min(max(box[1] + box[3] / 2 - h / 2, 0), height - h))
    return picture[top : top + h, left : left + w][::-1, ::-1].copy()


def run(program, flags, sequence, truth, start, hold):
    """The rows of one case, each with its overlap; None where the sequence is too short or a label is missing."""
    end = start + 2 * SLIDE + hold + FOUND_WITHIN + 1
    known = list(marked(program, sequence, truth, ["--preset", "paper"]))[:end]
    if len(known) < end or known[-1][0]["index"] - known[0][0]["index"] >= end:
        return None
    boxes = [box for _, box in known]
    with tempfile.TemporaryDirectory() as folder:
        for i, (frame, box) in enumerate(known):
            picture = cv2.imread(str(sequence / "img" / frame["file"]))
            if i == start:
                piece = cut(picture, box)
            on, off = start + SLIDE, start + SLIDE + hold
            if start <= i < off + SLIDE:
                away = (on - i) / SLIDE if i < on else 0 if i < off else -(i - off + 1) / SLIDE
                picture = covered(picture, piece, box, away)
            cv2.imwrite(f"{folder}/{i + 1:04}.png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])
        init = ",".join(map(str, boxes[0]))
        command = [program, folder, "--init", init, "--json", "-", "--quiet", *flags]
        frames = json.loads(subprocess.check_output(command))["frames"]
    return [(frame["state"], overlap(frame["bbox"], box)) for frame, box in zip(frames, boxes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--program", default="target/release/kcf-track")
    parser.add_argument("--flags", default="", type=str.split, help="flags of kcf-track")
    args = parser.parse_args()
    cases = lost = found = sure = frames = 0
    for sequence, truth in (pair for folder in args.folders for pair in targets(folder)):
        for start, hold in CASES:
            rows = run(args.program, args.flags, sequence, truth, start, hold)
            if rows is None or any(share < 0.5 for _, share in rows[start - 5 : start]):
                continue
            on, off = start + SLIDE, start + SLIDE + hold
            said = any(state == "lost" for state, _ in rows[on : on + LOST_WITHIN])
            back = any(state != "lost" and share > 0.3 for state, share in rows[off + SLIDE :])
            wrong = [state in ("tracking", "recovered") for state, _ in rows[on + LOST_WITHIN : off]]
            cases, lost, found = cases + 1, lost + said, found + back
            sure, frames = sure + sum(wrong), frames + len(wrong)
            print(f"{truth.parent.name} {truth.name} {start}+{hold}: lost {said}, found {back}, sure {sum(wrong)}", flush=True)
    print(f"{cases} cases: lost {lost}, found {found}; sure in {sure} of {frames} covered frames")


if __name__ == "__main__":
    main()
