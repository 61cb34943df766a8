#!/usr/bin/env python3
"""The boxes in every label format, read back and scored against the truth.

    python3 scripts/label_formats.py PROGRAM DATA [SEQUENCE ...] [--turned] [--tolerance PX] [--readers]

DATA holds sequences of OTB as published. Each is tracked once, with every format as an output. A row is the mean overlap
of each format with the truth; the first column is what the program itself scores. A frame that a format leaves out, as
the target is lost there, counts as no overlap; the last two lines leave such frames out of the comparison: how far the
format is from the program's own boxes in the frames that it has, in the mean and in the worst sequence. `--readers` also opens the files of the first sequence with pycocotools, supervision and datumaro
(pip install them) and says how many boxes each finds.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

FORMATS = ["json", "csv", "otb", "mot", "coco", "yolo", "cvat", "label-studio"]


def overlap(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = w * h if w > 0 and h > 0 else 0.0
    return common / (a[2] * a[3] + b[2] * b[3] - common) if common else 0.0


def upright(x, y, w, h, degrees):
    """The upright box around the ellipse in a box that is turned about its middle x, y."""
    sin, cos = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    w, h = math.hypot(w * cos, h * sin), math.hypot(w * sin, h * cos)
    return [x - w / 2, y - h / 2, w, h]


def interpolated(keys, last):
    """Boxes by frame from keyframes (frame, shown, numbers), as annotation tools make them."""
    boxes = {}
    for place, (begin, shown, a) in enumerate(keys):
        end, _, b = keys[place + 1] if place + 1 < len(keys) else (last + 1, False, a)
        for frame in range(begin, end) if shown else []:
            share = (frame - begin) / (end - begin)
            boxes[frame] = [p + share * (q - p) for p, q in zip(a, b)]
    return boxes


def of_cvat(path, last):
    keys = []
    for box in ElementTree.parse(path).getroot().iter("box"):
        left, top, right, bottom = (float(box.get(name)) for name in ("xtl", "ytl", "xbr", "ybr"))
        numbers = [left, top, right, bottom, float(box.get("rotation", 0))]
        keys.append((int(box.get("frame")) + 1, box.get("outside") == "0", numbers))
    made = interpolated(keys, last)
    return {at: upright((l + r) / 2, (t + b) / 2, r - l, b - t, turn) for at, (l, t, r, b, turn) in made.items()}


def of_label_studio(path, last, width, height):
    [task] = json.loads(path.read_text())
    keys = []
    for key in task["predictions"][0]["result"][0]["value"]["sequence"]:
        x, w = (key[name] * width / 100 for name in ("x", "width"))
        y, h = (key[name] * height / 100 for name in ("y", "height"))
        keys.append((key["frame"], True, [x, y, w, h, key["rotation"]]))
        if not key["enabled"]:
            keys.append((key["frame"] + 1, False, keys[-1][2]))
    boxes = {}
    for at, (x, y, w, h, turn) in interpolated(keys, last).items():
        sin, cos = math.sin(math.radians(turn)), math.cos(math.radians(turn))
        boxes[at] = upright(x + (cos * w - sin * h) / 2, y + (sin * w + cos * h) / 2, w, h, turn)
    return boxes


def numbers(text):
    return [float(word) if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?|NaN", word) else math.nan for word in re.split("[, ]", text.strip())]


def read(out, form, document):
    frames, source = document["frames"], document["source"]
    last = frames[-1]["index"]
    if form == "json":
        return {frame["index"]: frame["bbox"] for frame in frames if frame["bbox"]}
    if form == "csv":
        return {int(row[0]): row[2:6] for row in map(numbers, (out / form).read_text().splitlines()[1:])}
    if form == "otb":
        rows = map(numbers, (out / form).read_text().splitlines())
        return {frame["index"]: [x - 1, y - 1, w, h] for frame, (x, y, w, h) in zip(frames, rows)}
    if form == "mot":
        rows = map(numbers, (out / form).read_text().splitlines())
        return {int(row[0]): [row[2] - 1, row[3] - 1, *row[4:6]] for row in rows}
    if form == "coco":
        return {a["image_id"]: a["bbox"] for a in json.loads((out / form).read_text())["annotations"]}
    if form == "yolo":
        boxes = {}
        for frame in frames:
            for line in (out / form / "labels" / (Path(frame["file"]).stem + ".txt")).read_text().splitlines():
                _, x, y, w, h = numbers(line)
                w, h = w * source["width"], h * source["height"]
                boxes[frame["index"]] = [x * source["width"] - w / 2, y * source["height"] - h / 2, w, h]
        return boxes
    if form == "cvat":
        return of_cvat(out / form, last)
    return of_label_studio(out / form, last, source["width"], source["height"])


def track(program, sequence, out, more):
    outputs = [word for form in FORMATS for word in (f"--{form}", str(out / form))]
    outputs += ["--frames", str(out / "yolo" / "images")]
    done = subprocess.run([program, str(sequence), "-qq", *outputs, *more], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{sequence}: {done.stderr}")
    document = json.loads((out / "json").read_text())
    [file] = [sequence / name for name in ("groundtruth_rect.txt", "groundtruth_rect.1.txt") if (sequence / name).exists()]
    rows = [numbers(re.sub(r"\s+", ",", line.strip())) for line in file.read_text().splitlines()]
    truth = {at: [x - 1, y - 1, w, h] for at, (x, y, w, h) in enumerate(rows, document["frames"][0]["index"])}
    return document, {at: box for at, box in truth.items() if box[2] > 0 and box[3] > 0}


def readers(out, document):
    """How many boxes other programs find in the files."""
    import datumaro
    import supervision
    from pycocotools.coco import COCO

    shown = sum(frame["state"] not in ("lost", "missing") for frame in document["frames"])
    # datumaro reads the keyframes of CVAT, which are fewer.
    print(f"{shown} boxes of {len(document['frames'])} frames are there; found by")
    coco = COCO(str(out / "coco"))
    print("  pycocotools, COCO:", len(coco.getAnnIds()), "of", len(coco.getImgIds()), "images")
    images = str(out / "yolo" / "images")
    found = supervision.DetectionDataset.from_coco(images, str(out / "coco"))
    print("  supervision, COCO:", sum(len(boxes) for _, _, boxes in found))
    found = supervision.DetectionDataset.from_yolo(images, str(out / "yolo" / "labels"), str(out / "yolo" / "data.yaml"))
    print("  supervision, YOLO:", sum(len(boxes) for _, _, boxes in found))
    for form, name in [("coco", "coco_instances"), ("cvat", "cvat"), ("yolo", "yolo"), ("mot", "mot_seq"),
                       ("label-studio", "label_studio")]:
        path = out / form
        if form in ("coco", "cvat"):
            # Its readers know their files by folder and name.
            folder = out / "datumaro" / form / ("annotations" if form == "coco" else "")
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / ("instances_default.json" if form == "coco" else "annotations.xml")
            path.write_bytes((out / form).read_bytes())
            path = folder.parent if form == "coco" else path
            if form == "coco":
                (path / "images").symlink_to(images)
        elif form == "mot":
            folder = out / "datumaro" / "mot" / "gt"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "gt.txt").write_bytes(path.read_bytes())
            path = folder.parent
        try:
            found = datumaro.Dataset.import_from(str(path), name)
            print(f"  datumaro, {form}:", sum(len(item.annotations) for item in found), "of", len(found), "images")
        except Exception as error:  # Whatever another program says is the result.
            print(f"  datumaro, {form}: {type(error).__name__}: {str(error).splitlines()[0][:150]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("sequences", nargs="*")
    parser.add_argument("--turned", action="store_true")
    parser.add_argument("--tolerance")
    parser.add_argument("--readers", action="store_true")
    parser.add_argument("--preset", default="robust")
    args = parser.parse_args()
    more = ["--preset", args.preset, *(["--turned"] if args.turned else [])]
    more += ["--tolerance", args.tolerance] if args.tolerance else []
    names = args.sequences or sorted(path.name for path in args.data.iterdir() if (path / "img").is_dir())
    print("sequence".ljust(14), "scored", *(form[:8].rjust(8) for form in FORMATS))
    rows, apart = [], []
    for place, name in enumerate(names):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            target = ["--target", "1"] if (args.data / name / "groundtruth_rect.1.txt").exists() else []
            document, truth = track(args.program, args.data / name, out, [*more, *target])
            scores, differences = [document["summary"]["truth"]["mean_overlap"]], []
            own = read(out, "json", document)
            for form in FORMATS:
                boxes = read(out, form, document)
                found = [at for at in truth if at in boxes]
                scores.append(sum(overlap(truth[at], boxes[at]) for at in found) / len(truth))
                lost = sum(overlap(truth[at], boxes[at]) - overlap(truth[at], own[at]) for at in found)
                differences.append(lost / max(len(found), 1))
            rows.append(scores)
            apart.append(differences)
            print(name.ljust(14), *(f"{score:8.4f}" for score in scores), flush=True)
            if args.readers and not place:
                readers(out, document)
    means = [sum(column) / len(rows) for column in zip(*rows)]
    print("mean".ljust(14), *(f"{mean:8.4f}" for mean in means))
    print("apart".ljust(23), *(f"{sum(column) / len(apart):8.4f}" for column in zip(*apart)))
    print("worst apart".ljust(23), *(f"{max(map(abs, column)):8.4f}" for column in zip(*apart)))


if __name__ == "__main__":
    main()
