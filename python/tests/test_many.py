"""Many clips: tables in and out, failures, resumption, Ctrl-C, and a Dask worker that is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import reset_signals
from kcf_track import BoxError, SettingError, read_boxes, track, track_many

CAR, SIGN = (12.8, 44.4, 38, 60), (150, 100, 40, 40)


@pytest.fixture
def clips(demo, tmp_path):
    """The demo under several names."""
    names = [tmp_path / f"clip{number}" for number in range(6)]
    for name in names:
        name.symlink_to(demo)
    return [str(name) for name in names]


def boxes(rows, clip, id=1):
    return [tuple(row[side] for side in "xywh") for row in rows if row["clip"] == clip and row["id"] == id]


def test_a_table_of_boxes(clips, tmp_path):
    jobs = [
        {"clip": clips[0], "box": CAR},
        {"clip": "none.mp4", "box": CAR},
        {"clip": clips[1], **dict(zip("xywh", CAR)), "id": 4, "note": "left out"},
        {"clip": clips[1], **dict(zip("xywh", SIGN)), "frame": 3, "class": "sign"},
        {"clip": clips[1], "box": (20, 50, 38, 60), "id": 4, "frame": 6},
        {"clip": clips[2]},
        {"clip": clips[3], "box": (-900, 0, 20, 20)},
    ]
    rows = track_many(jobs, preset="fast", end=8, out=tmp_path / "out", workers=2)
    expected = [tuple(round(side, 4) for side in step.box) for step in track(clips[0], CAR, preset="fast", end=8)]
    assert boxes(rows, clips[0]) == expected
    assert boxes(rows, clips[1], 4)[0] == CAR and boxes(rows, clips[1], 4)[5] == (20, 50, 38, 60)
    sign = [row for row in rows if row["clip"] == clips[1] and row["id"] == 5]
    assert [row["frame"] for row in sign] == [3, 4, 5, 6, 7, 8] and sign[0]["class"] == "sign"
    assert len(boxes(rows, clips[2])) == 8, "the truth beside the frames"
    assert list(dict.fromkeys(row["clip"] for row in rows)) == list(dict.fromkeys(job["clip"] for job in jobs))
    failed = {row["clip"]: row["error"] for row in rows if row["error"]}
    assert set(failed) == {"none.mp4", clips[3]} and "none.mp4" in failed["none.mp4"] and "box" in failed[clips[3]]
    (kept,) = (tmp_path / "out").glob("clip0-*.json")
    assert [row["x"] for row in read_boxes(kept).rows] == [box[0] for box in expected]
    assert len(list((tmp_path / "out").iterdir())) == 3, "failures leave nothing behind"
    assert track_many(iter(jobs), preset="fast", end=8, out=tmp_path / "out") == rows
    for wrong, reason in (({"frame": "a"}, "row 2: invalid"), ({"id": 1}, "row 2: target 1 has a box in this frame")):
        with pytest.raises(SettingError, match=reason):
            track_many([jobs[0], {**jobs[0], **wrong}])
    for wrong in ({"y": float("nan")}, {"y": None}):
        with pytest.raises(BoxError, match="row 2: the box has no y;"):
            track_many([jobs[0], {"clip": clips[0], **dict(zip("xywh", CAR)), **wrong}])
    with pytest.warns(UserWarning, match="left out: end, preset;"):
        track_many([{"clip": "none.mp4", "box": CAR, "end": 5, "preset": "fast"}])
    with pytest.raises(TypeError, match="presett"):
        track_many(jobs, presett="fast")
    with pytest.raises(SettingError, match="no.such"):
        track_many(jobs, settings={"no.such": 1})
    with pytest.warns(UserWarning, match="clip0: .*4x4 pixels"):
        track_many([{"clip": clips[0], "box": (12.8, 44.4, 4, 4)}], preset="fast", end=2)
    with pytest.raises(TypeError, match="row 1 is a str"):
        track_many(jobs[0])


def test_a_data_frame_gives_a_data_frame(clips):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([{"clip": clips[0], **dict(zip("xywh", CAR))}, {"clip": clips[1]}])
    found = track_many(table, preset="fast", end=3)
    assert isinstance(found, pandas.DataFrame)
    assert found.groupby("clip").size().tolist() == [3, 3] and found.x.iloc[0] == CAR[0]
    failed = track_many(pandas.concat([table, pandas.DataFrame([{"clip": "none.mp4"}])]), preset="fast", end=3)
    assert failed.to_csv(index=False).splitlines()[1].startswith(f"{clips[0]},1,") and failed.frame.isna().sum() == 1
    none = track_many(table.head(0))
    assert none[none.error.notna()].empty and len(none) == 0


def test_finished_clips_are_kept(clips, demo, tmp_path):
    def follow(box=CAR, **settings):
        jobs = [{"clip": clips[0], "box": box}, {"clip": clips[1], "box": CAR}]
        return track_many(jobs, **{"preset": "fast", "end": 4, "out": tmp_path / "out", **settings})

    first = follow()
    os.unlink(clips[0])
    assert follow() == first, "the clip is not even opened"
    assert any(row["error"] for row in follow(box=SIGN)), "another box is another job"
    assert any(row["error"] for row in follow(end=5)), "and so are other settings"
    # A damaged frame: the boxes until then are kept, and the clip is tried again.
    shutil.copytree(demo, clips[0])
    broken = sorted((tmp_path / "clip0/img").iterdir())[2]
    good = broken.read_bytes()
    broken.write_bytes(b"")
    failed = follow(end=6)
    assert [row["frame"] for row in failed[:3]] == [1, 2, None] and broken.name in failed[2]["error"]
    broken.write_bytes(good)
    assert [row["error"] for row in follow(end=6)] == [None] * 12
    cut = next((tmp_path / "out").glob("clip1-*.json"))
    cut.write_text(cut.read_text()[:500])
    assert len(follow(end=6)) == 12, "a file that was cut is made again"
    cut.write_text("null")
    assert len(follow(end=6)) == 12
    # A clip that is one file, and newer than its boxes.
    pipe = tmp_path / "clip.y4m"
    pipe.write_bytes(b"YUV4MPEG2 W64 H48 F25:1\n" + 2 * (b"FRAME\n" + bytes(range(256)) * 18))
    jobs = [{"clip": pipe, "box": (9, 9, 20, 20)}]
    assert len(track_many(jobs, preset="fast", out=tmp_path / "out")) == 2
    pipe.write_bytes(pipe.read_bytes() + b"FRAME\n" + bytes(range(256)) * 18)
    os.utime(pipe, (time.time() + 9, time.time() + 9))
    assert len(track_many(jobs, preset="fast", out=tmp_path / "out")) == 3


def test_a_process_that_dies_ends_its_clip_alone(clips, monkeypatch):
    """A child that crashes is an error of one clip."""
    from kcf_track import _many

    begin = subprocess.Popen

    def killed(command, **options):
        code = "import sys, pickle, os; job = pickle.loads(sys.stdin.buffer.read()); "
        code += f"os.kill(os.getpid(), 9) if job[0] == {clips[1]!r} else "
        code += "print(__import__('json').dumps(__import__('kcf_track')._many.follow(job)))"
        return begin([command[0], "-c", code], **options)

    monkeypatch.setattr(_many.subprocess, "Popen", killed)
    rows = track_many([{"clip": clip, "box": CAR} for clip in clips[:3]], preset="fast", end=3)
    assert [(row["clip"], row["error"]) for row in rows if row["error"]] == [
        (clips[1], "its worker failed: exit code -9")
    ]
    assert len(rows) == 7


def test_an_executor_may_be_given(clips):
    jobs = [{"clip": clip, "box": CAR} for clip in clips[:2]]
    with ThreadPoolExecutor(2) as executor:
        assert [row["frame"] for row in track_many(jobs, executor, preset="fast", end=2)] == [1, 2, 1, 2]
    for wrong, what in (({"box": CAR}, "it has no clip"), ({"clip": "a", "x": 3}, "no y, w, h")):
        with pytest.raises(ValueError, match=f"row 2: .*{what}"):
            track_many([jobs[0], wrong])
    assert track_many([]) == []


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_keeps_what_is_done(clips, tmp_path):
    out = tmp_path / "out"
    jobs = [{"clip": clip, "box": CAR} for clip in clips]
    text = f"import kcf_track\nkcf_track.track_many({jobs!r}, out={str(out)!r}, workers=1, end=40)"
    running = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, preexec_fn=reset_signals)
    deadline = time.monotonic() + 60
    while not list(out.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, errors = running.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors and time.monotonic() - begun < 5
    kept = {path: path.read_bytes() for path in out.glob("*.json")}
    assert 1 <= len(kept) < len(clips)
    rows = track_many(jobs, out=out, end=40)
    assert len(rows) == 40 * len(clips) and not any(row["error"] for row in rows)
    assert all(path.read_bytes() == content for path, content in kept.items()), "finished clips are not tracked again"


@pytest.mark.filterwarnings("ignore")
def test_a_killed_dask_worker_loses_nothing(clips, tmp_path):
    """Two workers on this machine; one is killed while it follows a clip."""
    distributed = pytest.importorskip("distributed", reason="needs pip install distributed")
    jobs = [{"clip": clip, "box": CAR} for clip in clips]
    alone = track_many(jobs, preset="robust", end=40)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killed = []

        def kill():
            while not list((tmp_path / "out").glob("*.json")):
                time.sleep(0.01)
            busy = [address for address, tasks in client.processing().items() if tasks]
            killed.append(client.run(os.getpid, workers=busy[:1])[busy[0]])
            os.kill(killed[0], signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        rows = track_many(jobs, client, out=tmp_path / "out", preset="robust", end=40)
        thread.join()
    assert killed[0] in pids and len(rows) == 40 * len(clips)

    def timeless(rows):
        return [{key: value for key, value in row.items() if not key.endswith("_ms")} for row in rows]

    assert timeless(rows) == timeless(alone)
    assert all(json.loads(path.read_text())["summary"]["completed"] for path in (tmp_path / "out").glob("*.json"))
