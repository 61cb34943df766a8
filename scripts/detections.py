#!/usr/bin/env python3
"""Detections now and then: tracks of kcf-track beside those of Kalman boxes, against the truth.

    scripts/detections.py PROGRAM DATA [DATA ...] [--every 1,5,10,30] [--late 0,6] [--noise clean,noisy] [--seeds N]
                          [--clips Jogging,crowd] [--preset fast] [--set PATH=VALUE ...] [--fixed] [--no-peers] [--jobs 2]

DATA are folders with the sequences of OTB. The clips are Jogging and Skating2 (two people each), mosaics of four
sequences, and rendered crowds: cut-outs of real targets that cross, come and leave. Detections are made of the truth of
all targets: in every Nth frame, late by so many frames, and, if they are noisy, with a tenth missed, as many false boxes
as a tenth of the true ones, and Gaussian noise of 2.5 pixels. Covered targets are not detected.

Each tracker has eight settings. The one of a clip is the best on all other clips (mean of HOTA and IDF1); the table has
the means over the clips so left out. Coverage is the share of true boxes with a track's box at IoU above .5, false is a
number per frame, double the longest run of frames with two tracks on one target (the mean over clips). norfair goes on by its own motion or by the last two boxes; ByteTrack and OC-SORT, which answer with
detections alone, stay or go on by the last two boxes, from the frame that the detections are of. `--fixed` takes the
defaults of kcf-track in place of the best of eight.

Needs numpy<2, scipy, pillow and trackeval; for the peers norfair, supervision and trackers.
"""

import argparse
import json
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

FRAMES = 200
MOSAICS = [
    ("Deer", "Couple", "David", "Walking2"),
    ("Woman", "Surfer", "Crossing", "Girl"),
    ("Bolt2", "Dog", "Jumping", "DragonBaby"),
    ("Car4", "Basketball", "Subway", "Boy"),
]
CROWDS = 3


def truth_of(path):
    """Boxes x, y, w, h, 0-based, a row a frame; NaN without one."""
    rows = [[float(word) for word in line.replace(",", " ").split()] for line in path.read_text().splitlines()]
    boxes = np.array(rows)
    boxes[:, :2] -= 1
    boxes[(boxes[:, 2:] <= 0).any(axis=1)] = np.nan
    return boxes


class Clip:
    """A folder of frames, the truth of its targets (NaN where there is none), and where each can be seen."""

    def __init__(self, frames, truths, seen=None):
        from PIL import Image

        count = min(FRAMES if seen is not None else 400, min(map(len, truths)))
        self.frames, self.truths = frames, [truth[:count] for truth in truths]
        self.seen = seen or [~np.isnan(truth).any(axis=1) for truth in self.truths]
        self.count, self.size = count, Image.open(min(frames.glob("*.jpg"))).size


def sequence(data, name):
    """The pictures of a sequence, and the truths of its targets; None where it is not there."""
    place = next((each / name for each in data if (each / name / "img").is_dir()), None)
    return place and (sorted((place / "img").glob("*.jpg")), [truth_of(p) for p in sorted(place.glob("groundtruth_rect*.txt"))])


def mosaic(parts, place):
    """Four sequences side by side."""
    from PIL import Image

    count = min(FRAMES, *(min(len(frames), len(truths[0])) for frames, truths in parts))
    sizes = [Image.open(frames[0]).size for frames, _ in parts]
    width, height = max(size[0] for size in sizes), max(size[1] for size in sizes)
    offsets = [(0, 0), (width, 0), (0, height), (width, height)]
    if not place.exists():
        place.mkdir(parents=True)
        for index in range(count):
            page = Image.new("RGB", (2 * width, 2 * height))
            for (frames, _), offset in zip(parts, offsets):
                page.paste(Image.open(frames[index]).convert("RGB"), offset)
            page.save(place / f"{index + 1:06}.jpg", quality=92)
    truths = [truths[0][:count] + [dx, dy, 0, 0] for (_, truths), (dx, dy) in zip(parts, offsets)]
    return Clip(place, truths)


def crowd(parts, place, seed, targets=12, size=(960, 540), count=FRAMES):
    """Cut-outs of targets over a picture: each comes, goes along a smooth path, and leaves; later ones cover earlier ones."""
    from PIL import Image, ImageDraw

    chance = np.random.default_rng(seed)
    ground = Image.open(parts[seed % len(parts)][0][0]).convert("RGB").resize(size, Image.BICUBIC)
    truths, seen, sprites = [], [], []
    for number in range(targets):
        frames, boxes = parts[number % len(parts)]
        x, y, w, h = boxes[0][0]
        sprite = Image.open(frames[0]).convert("RGB").crop((round(x), round(y), round(x + w), round(y + h)))
        factor = 40 / np.sqrt(w * h) * chance.uniform(0.8, 1.5)
        sprite = sprite.resize((max(12, round(w * factor)), max(12, round(h * factor))), Image.BICUBIC)
        mask = Image.new("L", sprite.size)
        ImageDraw.Draw(mask).ellipse((0, 0, sprite.width - 1, sprite.height - 1), fill=255)
        start = 0 if number < 7 else int(chance.integers(10, count // 2))
        end = count if number % 3 else int(chance.integers(count // 2 + 20, count))
        time = np.arange(count)
        place_of = lambda length, side: (length - side) * (
            0.5 + 0.3 * np.sin(time / chance.uniform(25, 60) + chance.uniform(0, 6.3)) + 0.19 * np.sin(time / chance.uniform(12, 30) + chance.uniform(0, 6.3))
        )
        x, y = place_of(size[0], sprite.width), place_of(size[1], sprite.height)
        truth = np.stack([x, y, np.full(count, sprite.width), np.full(count, sprite.height)], 1).round()
        truth[(time < start) | (time >= end)] = np.nan
        truths.append(truth)
        sprites.append((sprite, mask))
    if not place.exists():
        place.mkdir(parents=True)
        for index in range(count):
            page = ground.copy()
            for truth, (sprite, mask) in zip(truths, sprites):
                if not np.isnan(truth[index, 0]):
                    page.paste(sprite, tuple(truth[index, :2].astype(int)), mask)
            page.save(place / f"{index + 1:06}.jpg", quality=92)
    for number, truth in enumerate(truths):
        covered = [sum(shares(truth[index], other[index]) for other in truths[number + 1 :]) for index in range(count)]
        seen.append(np.array(covered) < 0.6)
    return Clip(place, truths, [each & ~np.isnan(truth).any(axis=1) for each, truth in zip(seen, truths)])


def shares(box, other):
    """The share of a box that another one covers; 0 without one of them."""
    if np.isnan(box).any() or np.isnan(other).any():
        return 0.0
    low, high = np.maximum(box[:2], other[:2]), np.minimum(box[:2] + box[2:], other[:2] + other[2:])
    return np.clip(high - low, 0, None).prod() / box[2:].prod()


def clips_of(data, work, names):
    """All clips whose sequences are there, by name."""
    clips = {}
    for name in ("Jogging", "Skating2"):
        if found := sequence(data, name):
            clips[name] = Clip(found[0][0].parent, found[1])
    for mixed in MOSAICS:
        parts = [sequence(data, name) for name in mixed]
        if all(parts):
            clips["mosaic " + mixed[0]] = mosaic(parts, work / "-".join(mixed))
    parts = [found for mixed in MOSAICS for name in mixed if (found := sequence(data, name))]
    for seed in range(CROWDS):
        clips[f"crowd {seed + 1}"] = crowd(parts[seed * 3 :] + parts[: seed * 3], work / f"crowd-{seed}", seed)
    return {name: clip for name, clip in clips.items() if any(name.startswith(wanted) for wanted in names)}


def detections_of(clip, every, noisy, seed):
    """Boxes x, y, w, h, score by frame from 1."""
    chance, found, size = random.Random(seed), {}, clip.size
    for index in range(0, clip.count, every):
        boxes = []
        for truth, seen in zip(clip.truths, clip.seen):
            box = truth[index]
            if not seen[index] or noisy and chance.random() < 0.1:
                continue
            if noisy:
                x, y, w, h = (value + chance.gauss(0, 2.5) for value in box)
                box = [x, y, max(w, 4), max(h, 4)]
            boxes.append([*map(float, box), chance.uniform(0.6, 1.0) if noisy else 0.9])
            if noisy and chance.random() < 0.1:
                w, h = float(box[2]), float(box[3])
                boxes.append([chance.uniform(0, size[0] - w), chance.uniform(0, size[1] - h), w, h, chance.uniform(0.5, 0.9)])
        found[index + 1] = boxes
    return found


def ours(args, clip, detections, late, settings):
    """Our tracks: boxes by id, by frame."""
    lines = [
        {"frame": frame, "comes": frame + late, "boxes": [{"bbox": box[:4], "score": box[4]} for box in boxes]}
        for frame, boxes in detections.items()
    ]
    with tempfile.TemporaryDirectory() as work:
        given, out = Path(work) / "detections.jsonl", Path(work) / "tracks.txt"
        given.write_text("\n".join(map(json.dumps, lines)))
        command = [args.program, clip.frames, "--end", clip.count, "--detections", given, "--preset", args.preset, "--mot", out]
        command += [word for setting in [*settings, *args.settings] for word in ("--set", setting)]
        done = subprocess.run([*map(str, command), "-q"], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        tracks = {}
        for row in out.read_text().splitlines() if out.exists() else []:
            frame, id, x, y, w, h, *_ = map(float, row.split(","))
            tracks.setdefault(int(frame), {})[int(id)] = [x - 1, y - 1, w, h]
    return tracks


def carried(count, detections, late, step, extrapolate):
    """Tracks of a tracker that answers with detections alone: its boxes stay or go on by the last two of an id."""
    tracks, shown, before, every = {}, {}, {}, sorted(detections)[1] - 1
    for frame in range(1, count + 1):
        boxes = detections.get(frame - late)
        if boxes is not None:
            before, shown, since = shown, step(boxes, every), frame - late
        if shown:
            by = (frame - since) / every if extrapolate else 0
            moved = {id: np.array(box) + by * (np.subtract(box, before[id]) if id in before else 0) for id, box in shown.items()}
            tracks[frame] = {id: [*box[:2], *np.maximum(box[2:], 2)] for id, box in moved.items()}
    return tracks


def norfair(count, detections, late, threshold, life, extrapolate):
    """Kalman boxes of norfair."""
    from norfair import Detection, Tracker

    tracker = Tracker(distance_function="iou", distance_threshold=threshold, hit_counter_max=life, initialization_delay=1)

    def boxes_of(found):
        return {one.id: [*one.estimate[0], *(one.estimate[1] - one.estimate[0])] for one in found}

    def step(boxes, every):
        points = [np.array([[x, y], [x + w, y + h]]) for x, y, w, h, _ in boxes]
        return boxes_of(tracker.update([Detection(points=p) for p in points], period=every))

    if extrapolate:
        return carried(count, detections, late, step, True)
    every, tracks = sorted(detections)[1] - 1, {}
    for frame in range(1, count + 1):
        boxes = detections.get(frame - late)
        tracks[frame] = boxes_of(tracker.update()) if boxes is None else step(boxes, every)
    return tracks


def by_supervision(tracker):
    """A step of a tracker of `trackers`."""
    import supervision

    def step(boxes, _):
        array = np.array(boxes, float).reshape(-1, 5)
        corners = array[:, :4].copy()
        corners[:, 2:] += corners[:, :2]
        given = supervision.Detections(xyxy=corners, confidence=array[:, 4], class_id=np.zeros(len(array), int))
        found = tracker.update(given)
        ids = found.tracker_id if found.tracker_id is not None else []
        return {int(id): [x, y, r - x, b - y] for (x, y, r, b), id in zip(found.xyxy, ids) if id >= 0}

    return step


def bytetrack(count, detections, late, overlap, extrapolate):
    """ByteTrack of trackers, which supervision has handed on."""
    from trackers import ByteTrackTracker

    tracker = ByteTrackTracker(
        minimum_iou_threshold=overlap, minimum_consecutive_frames=1, track_activation_threshold=0.5, high_conf_det_threshold=0.5
    )
    return carried(count, detections, late, by_supervision(tracker), extrapolate)


def ocsort(count, detections, late, overlap, extrapolate):
    """OC-SORT of trackers."""
    from trackers import OCSORTTracker

    tracker = OCSORTTracker(minimum_iou_threshold=overlap, minimum_consecutive_frames=1, high_conf_det_threshold=0.5)
    return carried(count, detections, late, by_supervision(tracker), extrapolate)


SETTINGS = {
    "kcf-track": [[f"detections.noise={n}", f"detections.patience={p}"] for n in (0.0, 0.03, 0.06, 0.12) for p in (4, 8)],
    "norfair": [(t, l, e) for t in (0.7, 0.9) for l in (15, 40) for e in (False, True)],
    "ByteTrack": [(t, e) for t in (0.03, 0.1, 0.2, 0.3) for e in (False, True)],
    "OC-SORT": [(t, e) for t in (0.03, 0.1, 0.2, 0.3) for e in (False, True)],
}
PEERS = {"norfair": norfair, "ByteTrack": bytetrack, "OC-SORT": ocsort}

def overlaps(a, b):
    """Intersection over union of all pairs."""
    a, b = np.array(a, float).reshape(-1, 4), np.array(b, float).reshape(-1, 4)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, :2] + a[:, None, 2:], b[None, :, :2] + b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    return common / (a[:, 2:].prod(axis=1)[:, None] + b[:, 2:].prod(axis=1)[None] - common)


def scores(truths, tracks, first=1):
    """Coverage, false boxes a frame, switches, and the scores of trackeval."""
    from trackeval.metrics import CLEAR, HOTA, Identity

    count, ids = len(truths[0]), {}
    data = {name: [] for name in ("gt_ids", "tracker_ids", "similarity_scores")}
    covered = true = false = 0
    run, longest = {}, 0
    for index in range(first - 1, count):
        there = [(target, truth[index]) for target, truth in enumerate(truths) if not np.isnan(truth[index]).any()]
        found = list(tracks.get(index + 1, {}).items())
        near = overlaps([box for _, box in there], [box for _, box in found])
        rows, columns = linear_sum_assignment(-near) if near.size else ([], [])
        hits = sum(near[row, column] > 0.5 for row, column in zip(rows, columns))
        # A second track on a true box, which lies on no other one.
        second = {row for column in set(range(len(found))) - set(columns) for row in np.flatnonzero(near[:, column] > 0.5)}
        run = {there[row][0]: run.get(there[row][0], 0) + 1 for row in second}
        longest = max(longest, *run.values(), 0)
        covered, true, false = covered + hits, true + len(there), false + len(found) - hits
        data["gt_ids"].append(np.array([target for target, _ in there], int))
        data["tracker_ids"].append(np.array([ids.setdefault(id, len(ids)) for id, _ in found], int))
        data["similarity_scores"].append(near.reshape(len(there), len(found)))
    data |= {
        "num_gt_ids": len(truths), "num_tracker_ids": len(ids), "num_timesteps": len(data["gt_ids"]),
        "num_gt_dets": true, "num_tracker_dets": sum(len(each) for each in data["tracker_ids"]),
    }
    quiet = {"PRINT_CONFIG": False}
    clear, identity = CLEAR(quiet).eval_sequence(data), Identity(quiet).eval_sequence(data)
    return {
        "double": longest, "coverage": covered / true, "false": false / (count - first + 1), "switches": int(clear["IDSW"]),
        "MOTA": clear["MOTA"], "IDF1": identity["IDF1"], "HOTA": float(np.mean(HOTA().eval_sequence(data)["HOTA"])),
    }



def compared(args, clips, every, late, noise):
    """The means of each tracker over the clips, each with the best settings of all others."""
    names = ["kcf-track"] if args.no_peers else list(SETTINGS)
    choices = {name: [[]] if name == "kcf-track" and args.fixed else SETTINGS[name] for name in names}
    given = {(clip, seed): detections_of(clips[clip], every, noise == "noisy", seed) for clip in clips for seed in range(args.seeds)}

    def one(job):
        name, settings, (clip, seed) = job
        found = given[clip, seed]
        if name == "kcf-track":
            tracks = ours(args, clips[clip], found, late, settings)
        else:
            tracks = PEERS[name](clips[clip].count, found, late, *settings)
        return scores(clips[clip].truths, tracks, args.first)

    jobs = [(name, settings, key) for name in names for settings in choices[name] for key in given]
    with ThreadPoolExecutor(args.jobs) as pool:
        found = list(pool.map(one, jobs))
    for name in names:
        of = [[row for job, row in zip(jobs, found) if job[0] == name and job[1] is each] for each in choices[name]]
        keys = list(given)
        value = np.array([[row["HOTA"] + row["IDF1"] for row in rows] for rows in of])
        rows = []
        for place, (clip, _) in enumerate(keys):
            others = [at for at, (other, _) in enumerate(keys) if other != clip] or [place]
            rows.append((clip, of[int(value[:, others].mean(axis=1).argmax())][place]))
        yield name, rows


def main():
    """Print a table."""
    numbers = lambda text: [int(word) for word in text.split(",")]
    words = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--every", type=numbers, default=[1, 5, 10, 30])
    parser.add_argument("--late", type=numbers, default=[0, 6])
    parser.add_argument("--noise", type=words, default=["clean", "noisy"])
    parser.add_argument("--clips", type=words, default=["Jogging", "Skating2", "mosaic", "crowd"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--first", type=int, default=1, help="frame from which the scores count")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--each", action="store_true", help="also a row for each clip")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    clips = clips_of(args.data, Path(tempfile.gettempdir()) / "kcf-track-detections", args.clips)
    columns = ("coverage", "false", "double", "switches", "MOTA", "IDF1", "HOTA")
    print(f"{'every':>5} {'late':>4} {'':6} {'':10}" + "".join(f"{column:>9}" for column in columns))
    for every in args.every:
        for late in args.late:
            for noise in args.noise:
                for name, rows in compared(args, clips, every, late, noise):
                    line = lambda rows: "".join(f"{np.mean([row[key] for row in rows]):9.3f}" for key in columns)
                    print(f"{every:5} {late:4} {noise:6} {name:10}{line([row for _, row in rows])}", flush=True)
                    for clip in clips if args.each else []:
                        print(f"{'':17} {clip:>20}{line([row for of, row in rows if of == clip])}", flush=True)


if __name__ == "__main__":
    main()
