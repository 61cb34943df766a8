"""The examples run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
import types

import kcf_track
import numpy as np
from conftest import ROOT, moving

EXAMPLES = ROOT / "examples/python"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_opencv_loop_runs(noise, monkeypatch):
    frames = moving(noise, 5)

    class Video:
        """A capture of OpenCV."""

        def __init__(self):
            self.rest = iter(frames)

        def read(self):
            frame = next(self.rest, None)
            return frame is not None, frame

    drawn, cv2 = [], types.SimpleNamespace(FONT_HERSHEY_SIMPLEX=0)

    def rectangle(frame, first, second, *_):
        # OpenCV's rectangle refuses fractions.
        assert all(type(number) is int for number in (*first, *second))
        drawn.append((*first, *second))

    cv2.rectangle, cv2.putText = rectangle, lambda frame, text, *_: 0 <= float(text) <= 1 or 1 / 0
    monkeypatch.setitem(sys.modules, "cv2", cv2)
    example = load("opencv_swap")
    found = example.follow(Video(), (60, 40, 30, 24), example.create)
    exact = [step.box for step in kcf_track.track(frames, (60, 40, 30, 24))]
    assert np.abs(np.array(found) - exact).max() <= 0.5 and len(drawn) == 4


def test_a_camera_loop_follows_what_a_late_detector_finds(noise):
    frames = iter(moving(noise, 12))
    camera = types.SimpleNamespace(read=lambda: (True, frame) if (frame := next(frames, None)) is not None else (False, None))
    found, targets = [], kcf_track.MultiTracker("paper", detections={"confirm": 1})

    def show(frame, tracks):
        found.append(tracks.boxes)
        time.sleep(0.05)

    load("camera_detector").follow(camera, lambda frame: [(60, 40, 30, 24)], show, targets)
    assert len(found) == 12 and any(found)


def test_annotations_have_the_boxes_of_the_tracker(demo, tmp_path):
    coco, mot = tmp_path / "coco.json", tmp_path / "gt.txt"
    words = [demo, "--box", "car:12.8,44.4,38,60", "--box", "sign:150,100,40,40"]
    subprocess.run(
        [sys.executable, EXAMPLES / "annotate.py", *words, "--coco", coco, "--mot", mot], check=True, timeout=120
    )
    document = json.loads(coco.read_text())
    assert len(document["images"]) == 120 and document["images"][0]["file_name"].startswith("0001")
    assert [category["name"] for category in document["categories"]] == ["car", "sign"]
    expected = [step.box for step in kcf_track.track(demo, (12.8, 44.4, 38, 60), start=1)]
    car = {found["image_id"]: found for found in document["annotations"] if found["attributes"]["track_id"] == 1}
    assert len(car) > 60 and car[1]["attributes"]["given"]
    boxes = {image: found["attributes"].get("box", found["bbox"]) for image, found in car.items()}
    assert all(np.allclose(box, expected[image - 1], atol=0.01) for image, box in boxes.items())
    rows = np.loadtxt(mot, delimiter=",")
    assert len(rows) == len(document["annotations"]) and set(rows[:, 1]) <= {1, 2}
    assert np.allclose(rows[rows[:, 1] == 1][:, 2:4] - 1, [box[:2] for box in boxes.values()], atol=0.01)
