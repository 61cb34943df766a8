#!/usr/bin/env python3
"""Detections now and then: tracks of kcf-track beside those of Kalman boxes, against the truth.

    scripts/detections.py PROGRAM OTB [--every 1,5,10,30] [--late 0,6] [--noise clean,noisy] [--clips Jogging,mosaic]
                          [--set detections.NAME=VALUE ...] [--preset fast]

Detections are made of the truth of all targets of a clip: in every Nth frame, late by so many frames, and, if they are
noisy, with a tenth missed, as many false boxes as a tenth of the true ones, and Gaussian noise of 2.5 pixels. Clips are
OTB's Jogging (two people, who pass behind a pole) and mosaics of four other sequences. Each run prints coverage (true
boxes with a track's box at IoU above .5), false boxes a frame, id switches, MOTA, IDF1 and HOTA. Needs numpy, scipy,
trackeval, and for the peers norfair and supervision.
"""

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

MOSAICS = [("Deer", "Couple", "David", "Walking2"), ("Woman", "Surfer", "Crossing", "Girl")]


def truth_of(path):
    """Boxes x, y, w, h, 0-based, a row a frame; NaN without one."""
    rows = [[float(word) for word in line.replace(",", " ").split()] for line in path.read_text().splitlines()]
    boxes = np.array(rows)
    boxes[:, :2] -= 1
    boxes[(boxes[:, 2:] <= 0).any(axis=1)] = np.nan
    return boxes


def jogging(otb, _):
    """The folder of frames, and the truth by target."""
    folder = otb / "Jogging"
    return folder / "img", [truth_of(folder / f"groundtruth_rect.{target}.txt") for target in (1, 2)]


def mosaic(otb, work, names):
    """Four sequences side by side; each is scaled by nothing and cut to the smallest size."""
    from PIL import Image

    clips = []
    for name in names:
        frames = sorted((otb / name / "img").glob("*.jpg"))
        truths = sorted((otb / name).glob("groundtruth_rect*.txt"))
        clips.append((frames, truth_of(truths[0])))
    count = min(min(len(frames), len(truth)) for frames, truth in clips)
    count = min(count, 200)
    place = work / "-".join(names)
    sizes = [Image.open(frames[0]).size for frames, _ in clips]
    width, height = max(size[0] for size in sizes), max(size[1] for size in sizes)
    offsets = [(0, 0), (width, 0), (0, height), (width, height)]
    if not place.exists():
        place.mkdir(parents=True)
        for index in range(count):
            page = Image.new("RGB", (2 * width, 2 * height))
            for (frames, _), offset in zip(clips, offsets):
                page.paste(Image.open(frames[index]).convert("RGB"), offset)
            page.save(place / f"{index + 1:06}.jpg", quality=92)
    moved = [truth[:count] + [dx, dy, 0, 0] for (_, truth), (dx, dy) in zip(clips, offsets)]
    return place, moved


def detections_of(truths, every, noisy, size, seed):
    """Boxes x, y, w, h, score by frame from 1."""
    chance, found = random.Random(seed), {}
    for index in range(0, len(truths[0]), every):
        boxes = []
        for truth in truths:
            box = truth[index]
            if np.isnan(box).any() or noisy and chance.random() < 0.1:
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


def ours(program, frames, detections, late, preset, settings, work):
    """Our tracks: boxes by id, by frame."""
    lines = [
        {"frame": frame, "comes": frame + late, "boxes": [{"bbox": box[:4], "score": box[4]} for box in boxes]}
        for frame, boxes in detections.items()
    ]
    (work / "detections.jsonl").write_text("\n".join(map(json.dumps, lines)))
    command = [program, frames, "--detections", work / "detections.jsonl", "--preset", preset, "--mot", work / "tracks.txt"]
    command += [word for setting in settings for word in ("--set", setting)]
    (work / "tracks.txt").unlink(missing_ok=True)
    done = subprocess.run([*map(str, command), "-q"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stderr}")
    tracks = {}
    rows = (work / "tracks.txt").read_text().splitlines() if (work / "tracks.txt").exists() else []
    for row in rows:
        frame, id, x, y, w, h, *_ = map(float, row.split(","))
        tracks.setdefault(int(frame), {})[int(id)] = [x - 1, y - 1, w, h]
    return tracks


def norfair(count, detections, late, threshold, life):
    """Kalman boxes of norfair."""
    from norfair import Detection, Tracker

    tracker = Tracker(distance_function="iou", distance_threshold=threshold, hit_counter_max=life, initialization_delay=1)
    tracks, steps = {}, sorted(detections)
    every = steps[1] - steps[0]
    for frame in range(1, count + 1):
        boxes = detections.get(frame - late)
        if boxes is None:
            found = tracker.update()
        else:
            points = [np.array([[x, y], [x + w, y + h]]) for x, y, w, h, _ in boxes]
            found = tracker.update([Detection(points=p) for p in points], period=every)
        for one in found:
            (x, y), (right, bottom) = one.estimate
            tracks.setdefault(frame, {})[one.id] = [x, y, right - x, bottom - y]
    return tracks


def bytetrack(count, detections, late, threshold, buffer):
    """ByteTrack of supervision, whose boxes stay between detections."""
    import supervision

    tracker = supervision.ByteTrack(
        track_activation_threshold=0.5, lost_track_buffer=buffer, minimum_matching_threshold=threshold, frame_rate=30
    )
    tracks, shown = {}, {}
    for frame in range(1, count + 1):
        boxes = detections.get(frame - late)
        if boxes is not None:
            array = np.array(boxes, float).reshape(-1, 5)
            corners = array[:, :4].copy()
            corners[:, 2:] += corners[:, :2]
            given = supervision.Detections(xyxy=corners, confidence=array[:, 4], class_id=np.zeros(len(array), int))
            given = tracker.update_with_detections(given)
            shown = {int(id): [x, y, r - x, b - y] for (x, y, r, b), id in zip(given.xyxy, given.tracker_id)}
        if shown:
            tracks[frame] = dict(shown)
    return tracks


def overlaps(a, b):
    """Intersection over union of all pairs."""
    a, b = np.array(a, float).reshape(-1, 4), np.array(b, float).reshape(-1, 4)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, :2] + a[:, None, 2:], b[None, :, :2] + b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    return common / (a[:, 2:].prod(axis=1)[:, None] + b[:, 2:].prod(axis=1)[None] - common)


def scores(truths, tracks, first=1):
    """Coverage, false boxes a frame, switches, and what trackeval makes of the rest."""
    from trackeval.metrics import CLEAR, HOTA, Identity

    count, ids = len(truths[0]), {}
    data = {name: [] for name in ("gt_ids", "tracker_ids", "similarity_scores")}
    covered = true = false = 0
    for index in range(first - 1, count):
        there = [(target, truth[index]) for target, truth in enumerate(truths) if not np.isnan(truth[index]).any()]
        found = list(tracks.get(index + 1, {}).items())
        near = overlaps([box for _, box in there], [box for _, box in found])
        rows, columns = linear_sum_assignment(-near) if near.size else ([], [])
        hits = sum(near[row, column] > 0.5 for row, column in zip(rows, columns))
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
        "coverage": covered / true, "false": false / (count - first + 1), "switches": int(clear["IDSW"]),
        "MOTA": clear["MOTA"], "IDF1": identity["IDF1"], "HOTA": float(np.mean(HOTA().eval_sequence(data)["HOTA"])),
    }


def main():
    """Print a table."""
    numbers = lambda text: [int(word) for word in text.split(",")]
    words = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("otb", type=Path)
    parser.add_argument("--every", type=numbers, default=[1, 5, 10, 30])
    parser.add_argument("--late", type=numbers, default=[0, 6])
    parser.add_argument("--noise", type=words, default=["clean", "noisy"])
    parser.add_argument("--clips", type=words, default=["Jogging", "mosaic"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    work = Path(tempfile.gettempdir()) / "kcf-track-detections"
    work.mkdir(exist_ok=True)
    clips = {"Jogging": jogging(args.otb, work)} if "Jogging" in args.clips else {}
    if "mosaic" in args.clips:
        clips |= {names[0] + "…": mosaic(args.otb, work, names) for names in MOSAICS}
    # Each peer's settings: the best in HOTA over all runs of the same kind.
    peers = {
        "norfair": [lambda c, d, l, t=t, b=b: norfair(c, d, l, t, b) for t in (0.7, 0.9) for b in (7, 15, 40)],
        "ByteTrack": [lambda c, d, l, t=t, b=b: bytetrack(c, d, l, t, b) for t in (0.8, 0.95) for b in (30, 90)],
    }
    from PIL import Image

    print(f"{'every':>5} {'late':>4} {'':6} {'':10} {'coverage':>8} {'false':>6} {'switch':>6} {'MOTA':>6} {'IDF1':>6} {'HOTA':>6}")
    for every in args.every:
        for late in args.late:
            for noise in args.noise:
                rows = {"kcf-track": [[]]} | ({} if args.no_peers else {name: [[] for _ in peer] for name, peer in peers.items()})
                for frames, truths in clips.values():
                    size = Image.open(next(iter(sorted(Path(frames).glob("*.jpg"))))).size
                    for seed in range(args.seeds):
                        found = detections_of(truths, every, noise == "noisy", size, seed)
                        tracks = ours(args.program, frames, found, late, args.preset, args.settings, work)
                        rows["kcf-track"][0].append(scores(truths, tracks))
                        for name in rows.keys() - {"kcf-track"}:
                            for kind, peer in enumerate(peers[name]):
                                rows[name][kind].append(scores(truths, peer(len(truths[0]), found, late)))
                for name, kinds in rows.items():
                    means = [{key: np.mean([row[key] for row in kind]) for key in kind[0]} for kind in kinds]
                    best = max(means, key=lambda mean: mean["HOTA"])
                    numbers = " ".join(f"{best[key]:6.3f}" for key in ("false", "switches", "MOTA", "IDF1", "HOTA"))
                    print(f"{every:5} {late:4} {noise:6} {name:10} {best['coverage']:8.3f} {numbers}", flush=True)


if __name__ == "__main__":
    main()
