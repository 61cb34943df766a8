"""Propagate boxes through a video for annotation, and write COCO and MOT.

    pip install .    # in a clone of kcf-track
    python examples/python/annotate.py clip.mp4 --box car:10,20,30,40 --box car:200,20,40,30 --coco a.json --mot gt.txt

The source is a video (read by ffmpeg) or a folder of images. Boxes below `--confidence` are left out and listed for a
review.
"""

import argparse
import json
from pathlib import Path

import kcf_track


def labelled(text):
    """`label:x,y,w,h`."""
    label, _, numbers = text.rpartition(":")
    box = tuple(float(number) for number in numbers.split(","))
    if len(box) != 4:
        raise argparse.ArgumentTypeError(f"{text}: must be label:x,y,w,h")
    return label or "object", box


def follow(source, targets, **settings):
    """The estimates of all targets per frame: `position, name, (width, height), {id: estimate}`."""
    trackers = kcf_track.MultiTracker(order="rgb", **settings)
    for position, name, frame in frames(source):
        if position == 1:
            for _, box in targets:
                trackers.add(frame, box)
        else:
            trackers.update(frame)
        yield position, name, (frame.shape[1], frame.shape[0]), {id: trackers[id] for id in trackers.ids}


def frames(source):
    """The frames of a folder or of a video."""
    for position, name, frame, *_ in kcf_track.Source(source).frames(1):
        if isinstance(frame, Exception):
            raise frame
        yield position, name, frame


def push(source, targets, sure=0.5, **settings):
    """A COCO document, the lines of a MOT file, and the frames to review by target."""
    names = sorted({label for label, _ in targets})
    coco = {
        "images": [],
        "annotations": [],
        "categories": [{"id": number, "name": name} for number, name in enumerate(names, 1)],
    }
    lines, doubtful = [], {id: [] for id in range(1, len(targets) + 1)}
    for position, name, (width, height), found in follow(source, targets, **settings):
        coco["images"].append({"id": position, "file_name": name, "width": width, "height": height})
        for id, estimate in found.items():
            # The given box has no confidence.
            confidence = 1.0 if estimate.confidence is None else estimate.confidence
            if not estimate.ok or confidence < sure:
                doubtful[id].append(position)
                continue
            x, y, w, h = (round(number, 2) for number in estimate.box)
            coco["annotations"].append(
                {
                    "id": len(coco["annotations"]) + 1,
                    "image_id": position,
                    "category_id": names.index(targets[id - 1][0]) + 1,
                    "bbox": [x, y, w, h],
                    "area": round(w * h, 2),
                    "iscrowd": 0,
                    "attributes": {"track_id": id, "confidence": round(confidence, 4), "keyframe": position == 1},
                }
            )
            # MOT is 1-based.
            lines.append(f"{position},{id},{x + 1:.2f},{y + 1:.2f},{w},{h},{confidence:.4f},-1,-1,-1")
    return coco, lines, doubtful


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--box", type=labelled, action="append", required=True, metavar="LABEL:X,Y,W,H")
    parser.add_argument("--confidence", type=float, default=0.5)
    parser.add_argument("--preset", default="robust")
    parser.add_argument("--coco", type=Path)
    parser.add_argument("--mot", type=Path)
    given = parser.parse_args()
    coco, lines, doubtful = push(given.source, given.box, given.confidence, preset=given.preset)
    if given.coco:
        given.coco.write_text(json.dumps(coco))
    if given.mot:
        given.mot.write_text("".join(line + "\n" for line in lines))
    print(f"{len(coco['images'])} frames, {len(coco['annotations'])} boxes")
    for id, positions in doubtful.items():
        if positions:
            print(f"target {id}: review {len(positions)} frames from {positions[0]}")


if __name__ == "__main__":
    main()
