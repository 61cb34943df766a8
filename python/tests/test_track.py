"""Runs over folders, videos and iterators, the command line, and evaluations."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import kcf_track
import numpy as np
import pytest
from conftest import moving
from kcf_track import BoxError, FormatError, FrameError, Source, Tracker, track

BOX = (60, 40, 30, 24)


def test_a_folder_with_its_truth(demo):
    steps = list(track(demo, preset="fast", end=20))
    assert [step.position for step in steps] == list(range(1, 21))
    assert steps[0].state == "initial" and steps[0].box == Source(demo).box(1)
    truth = Source(demo).true_box
    for step in steps:
        assert step.ok and step.name.startswith(f"{step.position:04}") and step.frame.dtype == np.uint8
        assert abs(step.box[0] - truth(step.position)[0]) < 10


def test_a_folder_gives_what_its_arrays_give(demo):
    for preset in ("robust", "paper"):
        expected = [step.box for step in track(demo, preset=preset, start=3, end=8)]
        frames = [frame for _, _, frame, *_ in Source(demo).frames(3, 8)]
        box = Source(demo).box(3)
        assert [step.box for step in track(frames, box, preset=preset, order="rgb")] == expected
        assert [step.box for step in track(iter(frames), box, preset=preset, order="rgb")] == expected
        stack = np.stack(frames)[..., ::-1]
        assert [step.box for step in track(stack, box, preset=preset)] == expected


def test_start_and_end_count_from_one(noise):
    frames = moving(noise, 6)
    assert [step.position for step in track(frames, BOX, preset="paper", start=2, end=4)] == [2, 3, 4]
    assert [step.position for step in track(iter(frames), BOX, preset="paper", start=5)] == [5, 6]
    for start, end in ((0, None), (3, 2)):
        with pytest.raises(ValueError, match="count from 1"):
            track(frames, BOX, start=start, end=end)


def test_bad_frames_end_a_run_unless_they_are_skipped(noise):
    frames = moving(noise, 5)
    frames[2] = frames[2][:-1]
    steps = track(frames, BOX, preset="paper")
    assert [next(steps).position, next(steps).position] == [1, 2]
    with pytest.raises(FrameError):
        next(steps)
    steps = list(track(frames, BOX, preset="paper", skip_bad_frames=True))
    assert [step.state for step in steps] == ["initial", "tracking", "missing", "tracking", "tracking"]
    assert steps[2].box == steps[1].box and not steps[2].ok and steps[2].confidence is None
    with pytest.raises(FrameError):
        list(track([frames[0][:0]], BOX, skip_bad_frames=True))


def test_a_broken_image_is_named(demo, tmp_path):
    shutil.copytree(demo, tmp_path / "seq")
    broken = sorted((tmp_path / "seq/img").iterdir())[2]
    broken.write_bytes(b"no image")
    with pytest.raises(FormatError, match=broken.name):
        list(track(tmp_path / "seq", preset="paper", end=5))
    steps = list(track(tmp_path / "seq", preset="paper", end=5, skip_bad_frames=True))
    assert steps[2].state == "missing" and steps[2].frame is None and steps[4].state == "tracking"


def test_sources_and_boxes_that_are_none(noise, demo, tmp_path):
    with pytest.raises(FileNotFoundError):
        track("/no/such/folder", BOX)
    with pytest.raises(TypeError, match="source"):
        track(5, BOX)
    with pytest.raises(TypeError, match="box"):
        track([noise])
    for box in ((1, 2, 3), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match="four numbers"):
            track([noise], box)
    with pytest.raises(BoxError):
        list(track([noise], (1, 2, float("nan"), 4)))
    with pytest.raises(ValueError, match="no such setting|there is no setting|search"):
        track(demo, settings={"nothing": 1})
    with pytest.raises(TypeError, match="paddin"):
        track(demo, paddin=1)
    assert list(track([], BOX)) == []


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="videos are read by ffmpeg")
def test_a_video_gives_what_its_frames_give(noise, tmp_path):
    path = tmp_path / "clip.mkv"
    frames = [np.dstack([frame, np.roll(frame, 7, 0), frame]) for frame in moving(noise, 6)]
    words = "ffmpeg -v error -f rawvideo -pix_fmt rgb24 -s 160x120 -r 25 -i - -c:v ffv1 -pix_fmt bgr0 -y".split()
    subprocess.run([*words, path], input=b"".join(frame.tobytes() for frame in frames), check=True)
    read = [frame for _, _, frame, *_ in Source(path).frames()]
    assert all((a == b).all() for a, b in zip(read, frames)) and len(read) == 6
    steps = list(track(path, BOX, start=2))
    assert [step.box for step in steps] == [step.box for step in track(frames, BOX, order="rgb", start=2)]
    assert [round(step.time, 3) for step in steps] == [0.04, 0.08, 0.12, 0.16, 0.2] and Source(path).rate == 25.0
    ran = program(path, "--init", "60,40,30,24", "-q", "--jsonl", "-", "--start", 2)
    assert [json.loads(line)["time"] for line in ran.stdout.splitlines()] == [0.04, 0.08, 0.12, 0.16, 0.2]
    with pytest.raises(kcf_track.Error, match="no true box|give"):
        track(path)
    (tmp_path / "none.mp4").write_bytes(b"no video")
    with pytest.raises(kcf_track.Error, match="none.mp4"):
        track(tmp_path / "none.mp4", BOX)


def test_the_bar_goes_to_the_standard_error(noise, capfd):
    list(track(moving(noise, 5), BOX, preset="paper", progress=True))
    said = capfd.readouterr()
    assert said.out == "" and "5/5 frames" in said.err
    list(track(moving(noise, 5), BOX, preset="paper", progress=False))
    list(track(moving(noise, 5), BOX, preset="paper"))
    assert capfd.readouterr().err == "", "nobody looks at a pipe"


def test_a_run_that_is_left_early_leaves_nothing_behind(demo):
    for _ in range(20):
        steps = track(demo, preset="paper")
        next(steps)
        steps.close()


def hear():
    """A program that was begun in the background of a shell does not hear Ctrl-C, nor do those that it begins."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def program(*arguments, **options):
    words = [sys.executable, "-m", "kcf_track", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def test_the_command_line_writes_every_form(demo, tmp_path):
    forms = ("json", "jsonl", "csv", "otb", "mot", "coco", "cvat", "label-studio")
    out = [f"--{form}={tmp_path / form}" for form in forms]
    ran = program(demo, "--preset", "fast", "--end", "10", *out)
    assert ran.returncode == 0, ran.stderr
    assert "10 frames" in ran.stdout and "AUC" in ran.stdout
    document = json.loads((tmp_path / "json").read_text())
    boxes = [frame["bbox"] for frame in document["frames"]]
    expected = [step.box for step in track(demo, preset="fast", end=10)]
    assert np.allclose(boxes, expected, atol=1e-4)
    assert document["summary"]["completed"] and document["schema"].startswith("kcf-track/")
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert [line["bbox"] for line in lines] == boxes and lines[3]["state"] == "tracking"
    otb = np.loadtxt(tmp_path / "otb", delimiter=",")
    assert np.allclose(otb - [1, 1, 0, 0], expected, atol=1e-3)
    assert len((tmp_path / "csv").read_text().splitlines()) == 11
    assert np.allclose(np.loadtxt(tmp_path / "mot", delimiter=",")[:, 2:6] - [1, 1, 0, 0], expected, atol=1e-2)
    assert len(json.loads((tmp_path / "coco").read_text())["annotations"]) == 10
    assert len(json.loads((tmp_path / "cvat").read_text())["tracks"]) == 1
    assert json.loads((tmp_path / "label-studio").read_text())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--init", "10,20,30,40"],
        ["--init", "10", "20", "30", "40"],
        ["-i", "10 20 30 40"],
        ["--init=10,20,40,60", "--init-format", "xyxy"],
    ],
)
def test_a_box_is_four_numbers_however_they_stand(demo, arguments):
    ran = program(*arguments, demo, "--end", 2, "-p", "paper", "--jsonl", "-")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[0])["bbox"] == [10.0, 20.0, 30.0, 40.0]


def test_flags_of_settings_are_those_of_the_table(demo):
    ran = program(
        demo, "--end", 2, "-q", "--preset", "paper", "--kernel", "linear", "--guard", "svm", "--machine", "c=3",
        "--set", "search.filter.padding=2", "--smooth-area", "--json", "/dev/stdout",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert set(json.loads(ran.stdout)["parameters"]["changed"]) == {
        "search.filter.kernel", "guard", "guard.windows.machine.svm.c", "search.filter.padding",
        "search.filter.smooth-area",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["/no/such/folder"], 2, "no such folder"),
        (["DEMO", "--init", "1,2,3"], 2, "four numbers"),
        (["DEMO", "--init", "1,2,0,4"], 2, "above zero"),
        (["DEMO", "--init", "9000,2,10,10"], 2, "outside"),
        (["DEMO", "--padding", "99"], 2, "0 to 20"),
        (["DEMO", "--no-such-flag"], 2, "unrecognized"),
        (["DEMO", "--preset", "papre"], 2, "invalid choice"),
        (["DEMO", "--start", "900"], 2, "120 images"),
        (["DEMO", "--out", "boxes.xyz"], 2, "ending"),
        (["DEMO", "--set", "padding"], 2, "name and a value"),
        (["DEMO", "--json", "/no/such/folder/x.json"], 1, "does not exist"),
        (["DEMO", "--json", "DEMO/groundtruth_rect.txt"], 1, "ground truth"),
        ([sys.prefix], 1, "no image"),
        ([], 2, "SRC"),
    ],
)
def test_wrong_usage_and_failures_have_their_exit_codes(demo, arguments, code, said):
    ran = program(*[argument.replace("DEMO", str(demo)) for argument in arguments])
    assert (ran.returncode, ran.stdout) == (code, ""), ran
    assert said in ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_keeps_what_was_computed(demo, tmp_path, number, code):
    long = tmp_path / "long/img"
    long.mkdir(parents=True)
    images = sorted((demo / "img").iterdir())
    for i in range(5000):
        (long / f"{i:05}.jpg").symlink_to(images[i % 100])
    rows, document = tmp_path / "rows.jsonl", tmp_path / "run.json"
    words = [sys.executable, "-m", "kcf_track", long, "--init", "12,44,38,60", "--jsonl", rows, "--json", document]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=hear)
    while not rows.exists() or rows.stat().st_size < 1000:
        time.sleep(0.01)
    begun = time.monotonic()
    running.send_signal(number)
    _, said = running.communicate(timeout=10)
    assert time.monotonic() - begun < 5.0, "17 seconds and more are left to do"
    assert running.returncode == code and "interrupted" in said and "Traceback" not in said
    kept = rows.read_text()
    assert kept.endswith("\n") and all(json.loads(line) for line in kept.splitlines())
    found = json.loads(document.read_text())
    assert not found["summary"]["completed"] and len(found["frames"]) == len(kept.splitlines()) < 5000


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("what", ["track", "evaluate"])
def test_ctrl_c_raises_promptly(demo, what):
    loops = {
        "track": "for _ in range(1000):\n    for step in kcf_track.track(DEMO): print(step.position, flush=True)",
        "evaluate": "print(1, flush=True)\nkcf_track.evaluate(DEMO, [('robust', {'padding': 3 + i / 100}) "
        "for i in range(100)])",
    }
    text = f"import kcf_track\nDEMO = {str(demo)!r}\ntry:\n" + "\n".join(
        "    " + line for line in loops[what].splitlines()
    )
    text += "\nexcept KeyboardInterrupt:\n    print('heard')\n"
    running = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, preexec_fn=hear
    )
    assert running.stdout.readline() == "1\n"
    time.sleep(0.3)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=10)
    assert said.endswith("heard\n") and running.returncode == 0
    assert time.monotonic() - begun < 5.0, "far more is left to do"


def test_presets_and_others_are_scored(demo, tmp_path):
    class Ours:
        """The same tracker by OpenCV's conventions."""

        def __init__(self):
            self.tracker = Tracker("robust")

        def init(self, frame, box):
            assert frame.ndim == 3 and frame.flags.c_contiguous
            self.tracker.init(frame, box)

        def update(self, frame):
            return self.tracker.update(frame)

    class Still:
        def init(self, frame, box):
            self.box = box

        def update(self, frame):
            return self.box

    results = tmp_path / "theirs"
    results.mkdir()
    shutil.copy(demo / "groundtruth_rect.txt", results / "demo.txt")
    found = kcf_track.evaluate(
        demo, ["robust", ("robust", {"padding": 2})], others={"ours": Ours, "still": Still}, results={"truth": results},
        progress=False, folder=tmp_path / "runs",
    )  # fmt: skip
    scores = found.scores
    assert list(scores)[0] == "truth" and scores["truth"]["precision_20"] == 1.0
    assert scores["ours"]["auc"] == scores["robust"]["auc"] > scores["still"]["auc"]
    assert "robust+padding=2" in scores and scores["robust"]["fps"] > 0
    again = kcf_track.evaluate(demo, ["robust"], folder=tmp_path / "runs")
    assert again.scores["robust"]["auc"] == scores["robust"]["auc"]


def test_evaluations_that_cannot_be(demo, tmp_path):
    with pytest.raises(kcf_track.SettingError):
        kcf_track.evaluate(demo, ["papre"])
    with pytest.raises(kcf_track.SettingError, match="ope"):
        kcf_track.evaluate(demo, ["paper"], protocol="opera")
    with pytest.raises(kcf_track.EvaluationError, match="two trackers"):
        kcf_track.evaluate(demo, ["paper", "paper"])
    with pytest.raises(FileNotFoundError):
        kcf_track.evaluate(tmp_path / "none", ["paper"])

    class Broken:
        def init(self, frame, box):
            raise ZeroDivisionError("by design")

    found = kcf_track.evaluate(demo, ["paper"], others={"broken": Broken})
    assert [left["tracker"] for left in found.report["left_out"]] == ["broken"]
    assert "by design" in found.report["left_out"][0]["reason"]
