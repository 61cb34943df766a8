"""Push boxes through a video for annotation, and write COCO and MOT.

    pip install .    # in a clone of kcf-track
    python examples/python/annotate.py clip.mp4 --box car:10,20,30,40 --box car:200,20,40,30 --coco a.json --mot gt.txt

The source is a video (read by ffmpeg) or a folder of images. Frames below `--confidence` are listed for a review.
"""

import argparse
from pathlib import Path

import kcf_track


def labelled(text):
    """`label:x,y,w,h`."""
    label, _, numbers = text.rpartition(":")
    return label or "object", [float(number) for number in numbers.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--box", type=labelled, action="append", required=True, metavar="LABEL:X,Y,W,H")
    parser.add_argument("--confidence", type=float, default=0.5)
    parser.add_argument("--preset", default="robust")
    parser.add_argument("--coco", type=Path)
    parser.add_argument("--mot", type=Path)
    given = parser.parse_args()
    classes, boxes = zip(*given.box)
    run = kcf_track.track(given.source, boxes, classes=classes, preset=given.preset, start=1, frames=False)
    doubtful = {}
    for step in run:
        for id, estimate in step.estimates.items():
            # The given box has no confidence.
            sure = estimate.confidence is None or estimate.confidence >= given.confidence
            if not (estimate.ok and sure):
                doubtful.setdefault(id, []).append(step.position)
    if given.coco:
        run.save(given.coco, "coco")
    if given.mot:
        run.save(given.mot, "mot")
    print(f"{len(run.steps)} frames, {len(run.rows)} boxes")
    for id, positions in doubtful.items():
        print(f"target {id}: review {len(positions)} frames from {positions[0]}")


if __name__ == "__main__":
    main()
