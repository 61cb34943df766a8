#!/usr/bin/env python3
"""Trackers of others, in processes of their own: OpenCV's CSRT and KCF, and NanoTrack in ONNX Runtime.

`scripts/results.py` compares with them. Needs opencv-contrib-python-headless and onnxruntime.
"""

import os

# Before anything that loads numpy: one thread each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import json
import subprocess
import sys
import time

NAMES = ("OpenCV CSRT", "OpenCV KCF", "NanoTrack v3")


class NanoTrack:
    """NanoTrack in ONNX Runtime: the steps of the published Python code."""

    def __init__(self, folder):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        load = lambda name: onnxruntime.InferenceSession(f"{folder}/{name}.onnx", options)
        self.backbone, self.head = load("backbone"), load("head")

    def features(self, frame, side, out):
        import cv2
        import numpy as np

        side = round(side)
        left, top = (int(np.floor(c - (side + 1) / 2 + 0.5)) for c in self.center)
        height, width = frame.shape[:2]
        beyond = [max(0, v) for v in (-top, top + side - height, -left, left + side - width)]
        if any(beyond):
            frame = cv2.copyMakeBorder(frame, *beyond, cv2.BORDER_CONSTANT, value=self.mean)
        left, top = left + beyond[2], top + beyond[0]
        picture = cv2.resize(frame[top : top + side, left : left + side], (out, out))
        picture = picture.transpose(2, 0, 1)[None].astype(np.float32)
        return self.backbone.run(None, {self.backbone.get_inputs()[0].name: picture})[0]

    def context(self):
        return (self.size + self.size.sum() / 2).prod() ** 0.5

    def init(self, frame, box):
        import numpy as np

        self.size = np.array(box[2:], float)
        self.center = np.array(box[:2]) + (self.size - 1) / 2
        self.mean = [int(v) for v in frame.mean((0, 1))]
        self.given = self.features(frame, self.context(), 127)

    def update(self, frame):
        import numpy as np

        zoom = 127 / self.context()
        search = self.features(frame, 255 / zoom, 255)
        names = [given.name for given in self.head.get_inputs()]
        scores, sides = self.head.run(None, dict(zip(names, (self.given, search))))
        score = 1 / (1 + np.exp(scores[0, 0] - scores[0, 1])).ravel()
        left, top, right, bottom = sides[0].reshape(4, -1)
        cells = scores.shape[-1]
        places = (np.arange(cells) - cells // 2) * 16
        x, y = (grid.ravel() for grid in np.meshgrid(places, places))
        width, height = left + right, top + bottom
        root = lambda w, h: np.sqrt((w + (w + h) / 2) * (h + (w + h) / 2))
        change = lambda ratio: np.maximum(ratio, 1 / ratio)
        changes = change(root(width, height) / root(*self.size * zoom))
        changes = changes * change(self.size[0] / self.size[1] / (width / height))
        penalty = np.exp(-(changes - 1) * 0.138)
        window = np.outer(np.hanning(cells), np.hanning(cells)).ravel()
        best = (penalty * score * (1 - 0.455) + window * 0.455).argmax()
        rate = penalty[best] * score[best] * 0.348
        moved = np.array([x + (right - left) / 2, y + (bottom - top) / 2])[:, best] / zoom
        limit = np.array(frame.shape[1::-1])
        self.center = np.clip(self.center + moved, 0, limit)
        seen = np.array([width, height])[:, best] / zoom
        self.size = np.clip(self.size * (1 - rate) + seen * rate, 10, limit)
        return True, [*(self.center - (self.size - 1) / 2), *self.size]


def worker(job):
    """Follows a target; prints the frames per second of the updates and the boxes, of which the first is given."""
    import cv2

    cv2.setNumThreads(1)
    if job["model"]:
        tracker, first = NanoTrack(job["model"]), job["init"]
    else:
        tracker = getattr(cv2, f"Tracker{job['name'].split()[1]}_create")()
        first = [round(v) for v in job["init"]]
    boxes, seconds = [job["init"]], 0.0
    for i, image in enumerate(job["images"]):
        frame = cv2.imread(image)
        if i == 0:
            tracker.init(frame, tuple(first))
            continue
        begun = time.perf_counter()
        found, box = tracker.update(frame)
        seconds += time.perf_counter() - begun
        # After a loss the last box stands, as a user would see it.
        boxes.append([float(v) for v in box] if found else boxes[-1])
    print(json.dumps({"fps": (len(boxes) - 1) / seconds, "boxes": boxes}))


def follow(name, images, init, model=None):
    """Frames per second and boxes of the tracker `name` over `images` from the box `init`. `model` is the folder of
    NanoTrack's networks."""
    job = {"name": name, "model": model if name.startswith("NanoTrack") else None, "images": images, "init": init}
    command = [sys.executable, __file__, json.dumps(job)]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return answer["fps"], answer["boxes"]


if __name__ == "__main__":
    worker(json.loads(sys.argv[1]))
