"""Results of runs: several targets, tables, files, pictures; and the sources of OpenCV's users."""

from __future__ import annotations

import ast
import inspect
import json
import shutil
import subprocess
import sys
import typing
import warnings
from pathlib import Path

import kcf_track
import numpy as np
import pytest
from conftest import moving
from kcf_track import BoxError, FormatError, FrameError, SettingError, Source, Tracker, _native, read_boxes, track

BOX, OTHER = (60, 40, 30, 24), (20, 20, 24, 24)
CAR, SIGN = (12.8, 44.4, 38, 60), (150, 100, 40, 40)
UNTIMED = ("decode_ms", "track_ms")


def program(*words):
    subprocess.run([sys.executable, "-m", "kcf_track", *map(str, words), "-qq"], check=True, timeout=120)


def untimed(path):
    """A JSON document without what differs from run to run."""
    document = json.loads(path.read_text())
    document["frames"] = [{k: v for k, v in frame.items() if k not in UNTIMED} for frame in document["frames"]]
    return {key: document[key] for key in ("schema", "source", "parameters", "targets", "frames")}


def test_several_targets_are_those_of_single_runs(noise):
    frames = moving(noise, 6)
    run = track(frames, [BOX, OTHER], preset="fast")
    steps = list(run)
    assert steps[0].boxes == {1: BOX, 2: OTHER} and steps[0].box == BOX
    for id, box in ((1, BOX), (2, OTHER)):
        assert [step.boxes[id] for step in steps] == [step.box for step in track(frames, box, preset="fast")]
    named = list(track(frames, {7: OTHER}, preset="fast"))
    assert [step.boxes[7] for step in named] == [step.boxes[2] for step in steps]
    assert steps[3].xyxy.tolist() == [[x, y, x + w, y + h] for x, y, w, h in steps[3].boxes.values()]
    assert run.xyxy.shape == (12, 4) and len(run.rows) == 12
    assert all(step.frame is None for step in run.steps) and steps[0].frame is frames[0]
    assert all(step.frame is None for step in track(frames, BOX, preset="fast", frames=False))


@pytest.mark.parametrize("targets", [(CAR,), (CAR, SIGN)])
@pytest.mark.parametrize("preset", ["fast", "robust"])
def test_files_are_those_of_the_command_line(demo, tmp_path, targets, preset):
    run = track(demo, targets, preset=preset, end=12, classes=["target"] * len(targets))
    words = [f"--init={','.join(map(str, box))}" for box in targets]
    formats = [("json", "b.json"), ("coco", "b.coco"), ("cvat", "b.xml"), ("mot", "b.mot"), ("label-studio", "b.ls")]
    formats += [("yolo", "b.yolo")] + ([] if len(targets) > 1 else [("otb", "b.otb")])
    flags = [word for format, name in formats for word in (f"--{format}", tmp_path / "by_program" / name)]
    (tmp_path / "by_program").mkdir()
    program(demo, *words, "--preset", preset, "--end", 12, *flags)
    for format, name in formats:
        ours, theirs = tmp_path / name, tmp_path / "by_program" / name
        run.save(ours, format)
        if format == "json":
            ours, theirs = untimed(ours), untimed(theirs)
            for target in ours["targets"]:
                assert target.pop("class") == "target"
            assert ours == theirs
        elif format == "yolo":
            for file in ("data.yaml", "classes.txt", "tracks.csv", "labels/0007.txt"):
                assert (ours / file).read_text() == (theirs / file).read_text(), file
        else:
            assert ours.read_text() == theirs.read_text(), format


def test_the_ending_is_the_format(noise, tmp_path):
    run = track(moving(noise, 4), BOX, preset="fast")
    for name, start in (("a.json", "{"), ("a.jsonl", '{"index":1'), ("a.csv", "index,file"), ("a.txt", "61,41,30,24\n")):
        run.save(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(start)
    for wrong, kind in (({"path": "a.foo"}, "its ending"), ({"path": "a.txt", "format": "foo"}, "json, jsonl, csv")):
        with pytest.raises(SettingError, match=kind):
            run.save(**{**wrong, "path": tmp_path / wrong["path"]})
    with pytest.raises(SettingError, match="several targets"):
        track(moving(noise, 2), [BOX, OTHER]).save(tmp_path / "a.txt", "otb")
    for classes in ("car", ["car", "sign"]):
        with pytest.raises(SettingError, match="one name for each target"):
            track(moving(noise, 2), BOX, classes=classes)
    with pytest.raises(OSError, match="no/such"):
        run.save("no/such/folder/a.json")


def test_a_run_that_fails_keeps_its_boxes(noise, tmp_path):
    frames = moving(noise, 6)
    frames[3] = frames[3][:-1]
    run = track(frames, BOX, preset="fast")
    with pytest.raises(FrameError):
        run.finish()
    run.save(tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    assert len(found["frames"]) == len(run.rows) == 3
    assert "160x119" in found["summary"]["error"] and not found["summary"]["completed"]
    assert run.finish().error == found["summary"]["error"], "also when it is asked again"
    run = track(moving(noise, 6), BOX, preset="fast")
    next(run), next(run)
    assert len(run.rows) == 2, "what was tracked so far"
    assert len(run.finish().rows) == 6


def test_a_session_is_read_and_continued(demo, tmp_path):
    """Corrections and ends of targets count as in the command line."""
    lines = ["id,frame,x,y,w,h,class,name", "3,2,12.8,44.4,38,60,car,Ann", "3,6,20,50,38,60,,", "8,4,150,100,40,40,,"]
    (tmp_path / "given.csv").write_text("\n".join(lines))
    program(demo, "--init-file", tmp_path / "given.csv", "--preset", "fast", "--end", 9, "--json", tmp_path / "a.json")
    session = json.loads((tmp_path / "a.json").read_text())
    session["targets"][1]["given"].append({"frame": 8, "bbox": None})
    (tmp_path / "work.json").write_text(json.dumps(session))
    program(demo, "--init-file", tmp_path / "work.json", "--preset", "fast", "--end", 9, "--json", tmp_path / "b.json")
    boxes = read_boxes(tmp_path / "work.json")
    assert [(target["id"], target.get("name")) for target in boxes.targets] == [(3, "Ann"), (8, None)]
    assert boxes.rows[0]["name"] == "Ann" and boxes.rows[0]["frame"] == 2
    run = track(demo, boxes, preset="fast", end=9)
    run.save(tmp_path / "c.json")
    assert untimed(tmp_path / "c.json") == untimed(tmp_path / "b.json")
    assert [step.position for step in run.steps] == list(range(2, 10))
    assert list(run.steps[-1].boxes) == [3] and run.steps[4].estimates[3].state == "initial"
    boxes.save(tmp_path / "labels.xml", "cvat")
    given = read_boxes(tmp_path / "labels.xml")
    assert [(row["frame"], row["id"]) for row in given.rows] == [(2, 3), (4, 8), (6, 3)]
    with pytest.raises(BoxError, match="begins in frame 2, and the run goes from frame 7"):
        track(demo, boxes, start=7)
    with pytest.warns(UserWarning, match="to target 8, which is left out"):
        assert next(iter(track(demo, read_boxes(tmp_path / "work.json"), start=5, end=6))).position == 6
    for text in ("{", "id,frame", '{"schema":"kcf-track/9"}'):
        (tmp_path / "no.json").write_text(text)
        with pytest.raises(FormatError, match="no.json: "):
            read_boxes(tmp_path / "no.json")
    with pytest.raises(FileNotFoundError):
        read_boxes(tmp_path / "none.json")


def test_labels_know_the_pictures_of_a_source(demo, tmp_path):
    """Labels of other tools name pictures, or count frames at a rate of their own."""
    names = sorted(path.name for path in (Path(demo) / "img").glob("*") if path.suffix in (".jpg", ".png"))
    images = [{"id": 500 - place, "file_name": f"images/{name}"} for place, name in enumerate(names)]
    box = {"id": 1, "image_id": 494, "category_id": 1, "bbox": [1, 2, 30, 40], "attributes": {"track_id": 4}}
    labels = {"images": images, "annotations": [box], "categories": [{"id": 1, "name": "car"}]}
    (tmp_path / "coco.json").write_text(json.dumps(labels))
    for source in (demo, Source(demo)):
        rows = read_boxes(tmp_path / "coco.json", source=source).rows
        assert [(row["frame"], row["id"], row["x"], row["class"]) for row in rows] == [(7, 4, 1, "car")]
    with pytest.raises(FormatError, match="give the source"):
        read_boxes(tmp_path / "coco.json")
    (tmp_path / "other.xml").write_text(
        "<annotations><meta><task><size>7</size><dumped>1</dumped></task></meta><track label='car'><box frame='0' "
        "keyframe='1' occluded='1' xtl='1' ytl='2' xbr='31' ybr='42'/></track></annotations>"
    )
    assert [row["state"] for row in read_boxes(tmp_path / "other.xml").rows] == ["occluded"]
    with pytest.raises(FormatError, match="7 frames"):
        read_boxes(tmp_path / "other.xml", source=demo)
    shape = {"frame": 2, "time": 0.08, "x": 10, "y": 20, "width": 30, "height": 40}
    value = {"framesCount": 20, "duration": 0.8, "sequence": [shape]}
    task = {"annotations": [{"result": [{"type": "videorectangle", "value": value}]}], "data": {"video": "a.mp4"}}
    (tmp_path / "task.json").write_text(json.dumps(task))
    with pytest.raises(FormatError, match="give the source"):
        read_boxes(tmp_path / "task.json", size=(100, 100))
    with pytest.raises(SettingError, match="0 or 1"):
        read_boxes(tmp_path / "coco.json", source=demo, base=2)


def test_tables_and_detections(noise):
    frames = [*moving(noise, 3), *[np.zeros_like(noise)] * 3]
    run = track(frames, [BOX, OTHER], preset="fast").finish()
    assert {row["state"] for row in run.rows} >= {"initial", "tracking", "lost"}
    pandas = pytest.importorskip("pandas")
    table = run.to_pandas()
    assert isinstance(table, pandas.DataFrame) and list(table.columns[:9]) == [
        "frame", "file", "time", "id", "x", "y", "w", "h", "state",
    ]  # fmt: skip
    assert table.groupby("id").size().tolist() == [6, 6]
    assert run.rows is run.rows, "rows are made once"


def test_detections_of_supervision(noise):
    pytest.importorskip("supervision")
    steps = list(track([*moving(noise, 3), *[np.zeros_like(noise)] * 3], [BOX, OTHER], preset="fast"))
    found = steps[1].to_supervision()
    assert found.tracker_id.tolist() == [1, 2] and np.allclose(found.xyxy, steps[1].xyxy)
    assert found.data["state"].tolist() == ["tracking", "tracking"] and (found.confidence > 0.2).all()
    assert len(steps[-1].to_supervision()) == 0, "a lost target is none"
    step = next(track([noise], [BOX, OTHER, BOX], classes=["car", "sign", "car"], preset="paper"))
    found = step.to_supervision()
    assert found.class_id.tolist() == [0, 1, 0] and found.data["class_name"].tolist() == ["car", "sign", "car"]


def test_missing_packages_are_named(noise, monkeypatch):
    run = track(moving(noise, 2), BOX, preset="paper").finish()
    for name in ("pandas", "supervision"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install pandas"):
        run.to_pandas()
    with pytest.raises(ImportError, match="pip install supervision"):
        run.steps[0].to_supervision()


def test_a_plot_has_the_boxes_on_a_copy(noise):
    color = np.dstack([noise // 4, noise // 2, noise])
    for frame, order in ((color, "bgr"), (color[..., ::-1], "rgb"), (noise, "bgr")):
        step = next(track([frame], [BOX, OTHER], order=order, preset="fast"))
        kept = frame.copy()
        plain, full = step.plot(style="box"), step.plot()
        assert plain.shape == full.shape == (120, 160, 3) and (frame == kept).all()
        # The edge of target 1 is orange: red 230, green 159, blue 0.
        edge = plain[39, 70] if order == "rgb" else plain[39, 70, ::-1]
        assert edge.tolist() == [230, 159, 0]
        assert (plain[60, 75] == (frame[60, 75] if frame.ndim == 3 else [frame[60, 75]] * 3)).all()
        assert (full != plain).any(), "captions"
    run = track([color], BOX, preset="fast", frames=False)
    with pytest.raises(FrameError, match="pass one"):
        next(run).plot()
    assert run.steps[0].plot(color).shape == color.shape
    with pytest.raises(SettingError, match="full or box"):
        run.steps[0].plot(color, style="round")


def test_sources_as_in_opencv(demo, tmp_path, monkeypatch):
    files = Source(demo).files[:8]
    for number, file in enumerate(files, 8):
        shutil.copy(file, tmp_path / f"im_{number:04}.jpg")
    (tmp_path / "im_extra.jpg").write_text("no number")
    box = Source(demo).box(1)
    expected = [step.box for step in track(demo, box, end=8)]
    pattern = track(str(tmp_path / "im_%04d.jpg"), box)
    assert [step.box for step in pattern] == expected and pattern.steps[0].name == "im_0008.jpg"
    for source in (files, tuple(files), iter(files), str(tmp_path / "im_%d.jpg")):
        assert [step.box for step in track(source, box)] == expected
    color = [frame for *_, frame, _, _ in Source(files).frames()]
    assert [step.box for step in track(color, box)] == expected
    with pytest.raises(FormatError, match=r"no true box.*pass the first box, track\(source, \(left, "):
        track(files)
    assert track(Source(demo), box, end=2).document()["source"]["path"] == Source(demo).name
    with pytest.raises(TypeError, match="pass a list of frames"):
        track(color[0], box)
    with pytest.raises(SettingError, match="target and truth"):
        Source(files, truth="truth.txt")
    with pytest.raises(kcf_track.Error, match="/dev/video97"):
        track(97, box)
    with pytest.raises(FileNotFoundError, match="none.jpg"):
        list(track([files[0], "none.jpg"], box))
    states = [step.state for step in track([files[0], "none.jpg", files[1]], box, skip_bad_frames=True)]
    assert states == ["initial", "missing", "tracking"]


def test_pictures_of_pillow(demo):
    image = pytest.importorskip("PIL.Image")
    files = Source(demo).files[:4]
    pictures = [image.open(file) for file in files]
    for order in ("bgr", "rgb"):
        arrays = [np.asarray(picture)[..., :: 1 if order == "rgb" else -1] for picture in pictures]
        expected = [step.box for step in track(arrays, CAR, order=order)]
        assert [step.box for step in track(pictures, CAR, order=order)] == expected
    gray = [picture.convert("L") for picture in pictures]
    assert next(track(gray, CAR)).frame.shape == (240, 320)
    for mode in ("I;16", "F"):
        with pytest.raises(TypeError, match=f"its mode is {mode}"):
            next(track([gray[0].convert("I").convert(mode)], CAR))


def test_tiny_boxes_are_a_warning(noise):
    tracker, targets = Tracker("paper"), kcf_track.MultiTracker("paper")
    for init in (tracker.init, targets.add, lambda frame, box: track([frame] * 4, box).finish()):
        with pytest.warns(UserWarning, match="the box is 5x9 pixels: below about 6") as output:
            init(noise, (60, 40, 5, 9))
        assert [warning.filename for warning in output] == [__file__], "it names the caller's line, once"
    for init in (tracker.init, targets.add):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            init(noise, (60, 40, 6, 9))
            with pytest.raises(UserWarning):
                init(noise, (60, 40, 5, 9))
    assert tracker.box == (60, 40, 6, 9) and len(targets) == 2, "a warning that is an error changes nothing"


def test_luma_of_colours_is_that_of_the_program(demo, tmp_path):
    """Lossless colours give what the command line gives, also to presets that use gray values."""
    image = pytest.importorskip("PIL.Image")
    frames = [frame for *_, frame, _, _ in Source(demo).frames(1, 8)]
    for number, frame in enumerate(frames):
        strong = np.clip(frame.astype(int) * 2 - 90, 0, 255).astype(np.uint8)
        frames[number] = strong
        image.fromarray(strong[..., ::-1]).save(tmp_path / f"{number:04}.png")
    for preset in ("fast", "robust", "paper"):
        program(tmp_path, "--init", "12.8,44.4,38,60", "--preset", preset, "--json", tmp_path / "a.json")
        boxes = [frame["bbox"] for frame in json.loads((tmp_path / "a.json").read_text())["frames"]]
        (tmp_path / "a.json").unlink()
        assert np.allclose(boxes, [step.box for step in track(frames, CAR, preset=preset)], atol=1e-4)


def test_the_stub_says_what_the_module_says():
    """Editors show the docstrings of the stub, and presets are literals."""
    stub = ast.parse((Path(kcf_track.__file__).parent / "_native.pyi").read_text())

    def compare(node, found):
        for item in node.body:
            if isinstance(item, (ast.FunctionDef, ast.ClassDef)) and not item.name.startswith("__"):
                here = getattr(found, item.name, None)
                # Of several signatures the last one has the text.
                is_bare = ast.get_docstring(item) is None and bool(item.decorator_list)
                if here is None or is_bare:
                    continue
                said = " ".join((ast.get_docstring(item) or "").split())
                first = (inspect.cleandoc(here.__doc__ or "").split("\n\n")[0]).replace("``", "`")
                assert said == " ".join(first.split()), item.name
                if isinstance(item, ast.ClassDef):
                    compare(item, here)

    compare(stub, _native)
    assert set(typing.get_args(kcf_track.Preset)) >= set(kcf_track.presets())
