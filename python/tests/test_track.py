"""Runs over folders, videos and iterables, and evaluations."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import kcf_track
import numpy as np
import pytest
from conftest import moving, reset_signals
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


def test_a_folder_gives_the_boxes_of_its_arrays(demo):
    for preset in ("robust", "paper"):
        expected = [step.box for step in track(demo, preset=preset, start=3, end=8)]
        frames = [frame for _, _, frame, *_ in Source(demo).frames(3, 8)]
        box = Source(demo).box(3)
        assert [step.box for step in track(frames, box, preset=preset)] == expected
        assert [step.box for step in track(iter(frames), box, preset=preset)] == expected
        stack = np.stack(frames)[..., ::-1]
        assert [step.box for step in track(stack, box, preset=preset, order="rgb")] == expected
        assert (next(Source(demo).frames(3, order="rgb"))[2] == stack[0]).all()


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


def test_wrong_sources_and_boxes_are_refused(noise, demo, tmp_path):
    with pytest.raises(FileNotFoundError):
        track("/no/such/folder", BOX)
    with pytest.raises(TypeError, match="source"):
        track(5.0, BOX)
    with pytest.raises(TypeError, match=r"first box is missing: track\(source, "):
        track([noise])
    for box in ((1, 2, 3), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match="four numbers"):
            track([noise], box)
    for number in (float("nan"), 10**400):
        with pytest.raises(BoxError):
            list(track([noise], (1, 2, number, 4)))
    with pytest.raises(ValueError, match="unknown setting"):
        track(demo, settings={"nothing": 1})
    with pytest.raises(TypeError, match="paddin"):
        track(demo, paddin=1)
    with pytest.raises(FormatError, match="no frame"):
        track(iter([]), BOX).finish()
    with pytest.raises(FormatError, match="no frame"):
        track([], BOX).finish()
    for box in ("1,2,3,4", ("60", "40", "30", "24"), ("a", 1, 2, 3)):
        with pytest.raises(TypeError, match="four numbers"):
            track([noise], box)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="videos are read by ffmpeg")
def test_a_video_gives_the_boxes_of_its_frames(noise, tmp_path):
    path = tmp_path / "clip.mkv"
    frames = [np.dstack([frame, np.roll(frame, 7, 0), frame]) for frame in moving(noise, 6)]
    words = "ffmpeg -v error -f rawvideo -pix_fmt rgb24 -s 160x120 -r 25 -i - -c:v ffv1 -pix_fmt bgr0 -y".split()
    subprocess.run([*words, path], input=b"".join(frame.tobytes() for frame in frames), check=True)
    read = [frame for _, _, frame, *_ in Source(path).frames(order="rgb")]
    assert all((a == b).all() for a, b in zip(read, frames)) and len(read) == 6
    steps = list(track(path, BOX, start=2))
    assert [step.box for step in steps] == [step.box for step in track(frames, BOX, order="rgb", start=2)]
    assert [round(step.time, 3) for step in steps] == [0.04, 0.08, 0.12, 0.16, 0.2] and Source(path).rate == 25.0
    with pytest.raises(kcf_track.Error, match="no true box|give"):
        track(path)
    with pytest.raises(kcf_track.BoxError, match="never began: the frames end before frame 9"):
        list(track(path, BOX, start=9))
    (tmp_path / "none.mp4").write_bytes(b"no video")
    with pytest.raises(kcf_track.Error, match="none.mp4"):
        track(tmp_path / "none.mp4", BOX)


def test_progress_goes_to_the_standard_error(noise, capfd):
    list(track(moving(noise, 5), BOX, preset="paper", progress=True))
    output = capfd.readouterr()
    assert output.out == "" and "5/5 frames" in output.err
    list(track(moving(noise, 5), BOX, preset="paper", progress=False))
    list(track(moving(noise, 5), BOX, preset="paper"))
    assert capfd.readouterr().err == "", "no progress without a terminal"


def test_a_run_may_be_left_early(demo):
    for _ in range(20):
        steps = track(demo, preset="paper")
        next(steps)
        steps.close()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("what", ["track", "evaluate", "open"])
def test_ctrl_c_raises_promptly(demo, what):
    if what == "open" and shutil.which("ffmpeg") is None:
        pytest.skip("addresses are read by ffmpeg")
    loops = {
        "open": "import socket\nsilent = socket.create_server(('127.0.0.1', 0))\nprint(1, flush=True)\n"
        "kcf_track.Source(f'http://127.0.0.1:{silent.getsockname()[1]}/a.mp4')",
        "track": "for _ in range(1000):\n    for step in kcf_track.track(DEMO): print(step.position, flush=True)",
        "evaluate": "print(1, flush=True)\nkcf_track.evaluate(DEMO, [('robust', {'padding': 3 + i / 100}) "
        "for i in range(100)])",
    }
    text = f"import kcf_track\nDEMO = {str(demo)!r}\ntry:\n" + "\n".join(
        "    " + line for line in loops[what].splitlines()
    )
    text += "\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    running = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, preexec_fn=reset_signals
    )
    assert running.stdout.readline() == "1\n"
    time.sleep(0.3)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=10)
    assert output.endswith("interrupted\n") and running.returncode == 0
    assert time.monotonic() - begun < 5.0, "the rest takes longer"


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
        progress=False, out=tmp_path / "runs", jobs=1, baseline="still",
    )  # fmt: skip
    scores = found.scores
    assert list(scores)[0] == "truth" and scores["truth"]["precision_20"] == 1.0
    assert scores["ours"]["auc"] == scores["robust"]["auc"] > scores["still"]["auc"]
    assert "robust+padding=2.0" in scores and scores["robust"]["fps"] > 0
    assert found.report["baseline"] == "still" and len(repr(found)) < 200 and "<td>still</td>" in found._repr_html_()
    states = {tracker["name"]: tracker["reliability"] for tracker in found.report["trackers"]}
    assert states["still"] is None and states["robust"]["hits"]["frames"] > 0
    assert "<svg" in (tmp_path / "runs/report.html").read_text(encoding="utf-8")
    read = kcf_track.evaluate(demo, [], results={"still": tmp_path / "runs/results/still"})
    assert read.scores["still"]["auc"] == scores["still"]["auc"]
    again = kcf_track.evaluate(demo, ["robust"], others={"still": Ours}, out=tmp_path / "runs")
    assert again.scores["robust"]["auc"] == scores["robust"]["auc"]
    assert again.scores["still"]["auc"] == scores["ours"]["auc"], "runs of others are not reused"


class OfWholePixels:
    """A tracker of OpenCV 4 and 5: boxes are integers."""

    error = type("error", (Exception,), {"__module__": "cv2"})

    def __init__(self):
        self.tracker = Tracker("paper")

    def init(self, frame, box):
        if not all(isinstance(number, int) for number in box):
            raise self.error("(-5:Bad argument) Can't parse 'boundingBox'. Sequence item with index 0 has a wrong type")
        self.tracker.init(frame, box)

    def update(self, frame):
        ok, box = self.tracker.update(frame)
        return ok, tuple(round(number) for number in box)


class OfSlices(OfWholePixels):
    """A tracker that uses its box as indices."""

    error = TypeError


def test_a_tracker_of_whole_pixels_is_scored(demo):
    found = kcf_track.evaluate(demo, ["paper"], others={"opencv": OfWholePixels, "slices": OfSlices})
    assert found.scores["opencv"]["auc"] == found.scores["slices"]["auc"]
    assert abs(found.scores["opencv"]["auc"] - found.scores["paper"]["auc"]) < 0.05


def test_a_tracker_of_opencv_is_scored(demo):
    cv2 = pytest.importorskip("cv2")
    found = kcf_track.evaluate(demo, ["paper"], others={"MIL": cv2.TrackerMIL_create})
    assert found.scores["MIL"]["auc"] > 0.3


def test_errors_of_other_trackers_are_warnings(demo):
    class Unlucky(OfWholePixels):
        def init(self, frame, box):
            super().init(frame, box)
            raise self.error("the target is too small")

    class Legacy(OfWholePixels):
        def init(self, frame, box):
            return False

    with pytest.warns(UserWarning) as output:
        kcf_track.evaluate(demo, ["paper"], others={"unlucky": Unlucky, "legacy": Legacy})
    output = [str(warning.message) for warning in output]
    assert any("(unlucky)" in text and "too small" in text for text in output), output
    assert any("(legacy)" in text and "`init` returned False" in text for text in output), output


def test_the_standard_error_may_be_replaced(demo, monkeypatch):
    class Log:
        def write(self, text):
            pass

        def flush(self):
            pass

    for instead in (Log(), None):
        monkeypatch.setattr(sys, "stderr", instead)
        assert len(list(track(demo, preset="paper", end=3))) == 3


def test_wrong_arguments_are_refused(noise):
    for wrong, error in (({"init": (1, 2, 3)}, kcf_track.BoxError), ({"init": BOX, "end": 0}, kcf_track.SettingError)):
        with pytest.raises(error):
            track([noise], **wrong)
    with pytest.raises(TypeError):
        track([noise], BOX, end=2.5)


def test_wrong_evaluations_are_refused(demo, tmp_path):
    with pytest.raises(kcf_track.SettingError):
        kcf_track.evaluate(demo, ["papre"])
    with pytest.raises(kcf_track.SettingError, match="ope"):
        kcf_track.evaluate(demo, ["paper"], protocol="opera")
    for jobs in (0, 1025):
        with pytest.raises(kcf_track.SettingError, match="from 1 to 1024"):
            kcf_track.evaluate(demo, ["paper"], jobs=jobs)
    with pytest.raises(kcf_track.EvaluationError, match="two trackers"):
        kcf_track.evaluate(demo, ["paper", "paper"])
    with pytest.raises(FileNotFoundError):
        kcf_track.evaluate(tmp_path / "none", ["paper"])

    class Broken:
        def init(self, frame, box):
            raise ZeroDivisionError("by design")

    with pytest.warns(UserWarning, match=r"left out: demo \(broken\): .*by design"):
        found = kcf_track.evaluate(demo, ["paper"], others={"broken": Broken})
    assert list(found.scores) == ["paper"]
    assert [left["tracker"] for left in found.report["left_out"]] == ["broken"]
    assert "by design" in found.report["left_out"][0]["reason"]


def test_a_start_behind_the_last_frame_is_refused(noise):
    for frames in ([noise] * 3, iter([noise] * 3)):
        with pytest.raises(kcf_track.SettingError, match="start 10: there are 3 frames"):
            list(track(frames, BOX, start=10))
    with pytest.raises(TypeError):
        list(track([noise] * 3, BOX, start=1.5))


def test_an_end_behind_the_last_frame_is_refused(noise, demo):
    for frames in ([noise] * 3, np.stack([noise] * 3)):
        with pytest.raises(kcf_track.SettingError, match="end 100: there are 3 frames"):
            track(frames, BOX, end=100)
    with pytest.raises(kcf_track.SettingError, match="end 900: there are 120 frames"):
        track(demo, end=900)
    # The length of an iterator is unknown.
    with pytest.warns(UserWarning, match="the frames end with 3, before end 100"):
        assert len(list(track(iter([noise] * 3), BOX, preset="paper", end=100))) == 3


def test_an_evaluation_warns_of_missing_labels(demo, tmp_path):
    sequence = tmp_path / "seq/short"
    shutil.copytree(demo, sequence)
    truth = sequence / "groundtruth_rect.txt"
    truth.write_text("\n".join(truth.read_text().splitlines()[:90]) + "\n")
    with pytest.warns(UserWarning) as output:
        found = kcf_track.evaluate(tmp_path / "seq", ["paper"])
    assert [str(warning.message) for warning in output] == found.report["warnings"] != []
    assert "90 rows for 120 images" in found.report["warnings"][0]


def test_a_name_is_not_a_list_of_names(demo):
    with pytest.raises(TypeError, match=r"trackers=\['paper'\]"):
        kcf_track.evaluate(demo, "paper")
    with pytest.raises(TypeError, match=r"sequences=\['Deer'\]"):
        kcf_track.evaluate(demo, ["paper"], sequences="Deer")
    for wrong in (("paper",), ("paper", 3), {"padding": 2}, 5):
        with pytest.raises(TypeError, match="a pair of it and a dict of settings"):
            kcf_track.evaluate(demo, [wrong])
    with pytest.raises(TypeError):
        kcf_track.evaluate(demo, ["paper"], others=[Tracker])
    with pytest.raises(TypeError, match="mine must be a factory"):
        kcf_track.evaluate(demo, ["paper"], others={"mine": Tracker("paper")})


def test_unusable_frames_are_missing_where_they_are_skipped(noise):
    frames = [noise, None, noise.astype(float), noise]
    states = [step.state for step in track(frames, BOX, preset="paper", skip_bad_frames=True)]
    assert states == ["initial", "missing", "missing", "tracking"]
    with pytest.raises(TypeError):
        list(track(frames, BOX, preset="paper"))


def test_classes_are_named_by_id_or_in_order(noise, demo):
    frames, boxes = moving(noise, 3), {1: (60, 40, 30, 24), 2: (20, 20, 24, 24)}
    run = kcf_track.track(frames, boxes, preset="paper", classes={2: "bike", 1: "person"})
    assert {row["id"]: row["class"] for row in run.rows} == {1: "person", 2: "bike"}
    assert next(kcf_track.track(frames, boxes, preset="paper", classes={2: "bike"})).classes == {1: "target", 2: "bike"}
    for wrong in ({3: "cat"}, {"1": "cat"}):
        with pytest.raises(kcf_track.SettingError, match="there is no target .*; the ids are 1, 2"):
            kcf_track.track(frames, boxes, classes=wrong)


def test_a_run_is_shown_in_a_line_and_as_a_table(noise):
    run = kcf_track.track(moving(noise, 3), [(60, 40, 30, 24), (20, 20, 24, 24)], preset="paper")
    assert repr(run) == "<kcf_track.Run: 0 frames of 2 targets, stopped>" and "<table>" in run._repr_html_()
    run.finish()
    assert repr(run) == "<kcf_track.Run: 3 frames of 2 targets>"
    shown = run._repr_html_()
    assert shown.count("<tr>") == 3 and "<td>tracking</td>" in shown and "<td>2</td><td>3</td>" in shown
