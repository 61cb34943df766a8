"""`python -m kcf_track`: the files, words and exit codes of the program `kcf-track`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, hear
from kcf_track import track
from kcf_track.__main__ import COMMANDS

#: The program itself, where it is built.
RUST = Path(os.environ.get("KCF_TRACK_PROGRAM", ROOT / "target/debug/kcf-track"))
FORMS = ("json", "jsonl", "csv", "otb", "mot", "coco", "cvat", "label-studio")


def program(*arguments, **options):
    words = [sys.executable, "-m", "kcf_track", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def test_the_command_line_writes_every_form(demo, tmp_path):
    out = [f"--{form}={tmp_path / form}" for form in FORMS]
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
    assert len(json.loads((tmp_path / "cvat").read_text())[0]["tracks"]) == 1
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
        (["DEMO", "--preset", "papre"], 2, "must be one of robust, paper"),
        (["DEMO", "--start", "900"], 2, "120 images"),
        (["DEMO", "--out", "boxes.xyz"], 2, "ending"),
        (["DEMO", "--set", "padding"], 2, "PATH=VALUE"),
        (["DEMO", "--json", "/no/such/folder/x.json"], 1, "does not exist"),
        (["DEMO", "--json", "DEMO/groundtruth_rect.txt"], 2, "ground truth"),
        (["DEMO", "--jobs", "1025"], 2, "from 1 to 1024"),
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
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="addresses are read by ffmpeg")
def test_a_signal_ends_a_run_whose_source_stays_silent():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/a.mp4"
        words = [sys.executable, "-m", "kcf_track", address, "--init", "1,2,30,40"]
        running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=hear)
        silent.settimeout(20)
        asked, _ = silent.accept()
        with asked:
            running.send_signal(signal.SIGTERM)
            _, said = running.communicate(timeout=10)
    assert running.returncode == 143 and "interrupted" in said


@pytest.mark.skipif(os.name != "posix", reason="redirections of a shell")
@pytest.mark.parametrize(
    ("redirected", "code"),
    [("2>&-", 0), ("2>/dev/full", 0), (">&-", 0), (">/dev/full", 1), (">&- 2>&-", 0)],
)
def test_words_that_nobody_hears_stop_no_run(demo, tmp_path, redirected, code):
    if "full" in redirected and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    words = f"{sys.executable} -m kcf_track {demo} --preset fast --end 30 --csv rows.csv {redirected}"
    ran = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 31
    assert (code == 1) == ("cannot write to the standard output" in ran.stderr)
    if redirected.startswith("2"):
        words = f"{sys.executable} -m kcf_track {demo} --preset fast --end 3 --csv - {redirected}"
        ran = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=60)
        assert ran.stdout.startswith("index,") and len(ran.stdout.splitlines()) == 4, ran.stdout


@pytest.mark.parametrize("words", [["--jobs", "1", "-j", "2"], ["--skip-bad-frames"] * 2, ["--kernel", "linear"] * 2])
def test_a_flag_stands_there_once(demo, words):
    ran = program(demo, *words)
    assert ran.returncode == 2 and "cannot be used multiple times" in ran.stderr


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="videos are read by ffmpeg")
def test_times_are_of_what_has_times(video):
    ran = program(video, "--init", "60,40,30,24", "-q", "--jsonl", "-", "--start", "0.04s", "--end", "00:00:00.12")
    assert [json.loads(line)["time"] for line in ran.stdout.splitlines()] == [0.04, 0.08, 0.12], ran.stderr


def test_several_targets_are_told_apart(demo, tmp_path):
    targets = tmp_path / "targets.csv"
    targets.write_text("id,frame,x,y,w,h\n9,4,150,100,40,40\n")
    out = tmp_path / "boxes.txt"
    words = ["--init", "12,44,38,60", "--init", "3:100,60,40,40", "--init-file", targets, "--out", out]
    ran = program(demo, "--preset", "paper", "--end", 6, *words, "--json", tmp_path / "run.json")
    assert ran.returncode == 0, ran.stderr
    assert "target 9: 3 frames" in ran.stdout
    document = json.loads((tmp_path / "run.json").read_text())
    assert document["schema"] == "kcf-track/2"
    assert [(target["id"], target["start"]) for target in document["targets"]] == [(1, 1), (2, 3), (9, 4)]
    for id, start, box in ((1, 1, (12, 44, 38, 60)), (2, 3, (100, 60, 40, 40)), (9, 4, (150, 100, 40, 40))):
        found = [frame["bbox"] for frame in document["frames"] if frame["id"] == id]
        alone = [step.box for step in track(demo, box, preset="paper", start=start, end=6)]
        assert np.allclose(found, alone, atol=1e-4)
    rows = np.loadtxt(out, delimiter=",")
    assert [tuple(row) for row in rows[:, :2]] == [(f["index"], f["id"]) for f in document["frames"]], "MOT, not OTB"


def timeless(text):
    """An output without what differs from run to run: how long things took."""
    text = re.sub(r'"(decode_ms|track_ms|fps|decode_fps)": ?[0-9.e+-]+', r'"\1":0', text)
    if text.startswith("index,"):
        rows = [line.split(",") for line in text.splitlines()]
        times = [rows[0].index(name) for name in ("decode_ms", "track_ms")]
        text = "\n".join(",".join(word for i, word in enumerate(row) if i not in times) for row in rows)
    return re.sub(r"[0-9.]+ s;.*", "", text)


@pytest.fixture(scope="session")
def video(tmp_path_factory):
    """A clip of six frames, 25 of which are a second."""
    path = tmp_path_factory.mktemp("video") / "clip.mkv"
    noise = np.random.default_rng(7).integers(0, 255, (120, 160, 3), np.uint8)
    frames = [np.roll(noise, 3 * i, axis=1) for i in range(6)]
    words = "ffmpeg -v error -f rawvideo -pix_fmt rgb24 -s 160x120 -r 25 -i - -c:v ffv1 -pix_fmt bgr0 -y".split()
    subprocess.run([*words, path], input=b"".join(frame.tobytes() for frame in frames), check=True)
    return path


RUNS = [
    ["DEMO", "--end", "12"],
    ["DEMO", "--end", "6", "--preset", "paper", "--kernel", "linear", "--guard", "svm", "--machine", "c=3"],
    ["DEMO", "--end", "6", "--set", "search.background.padding=3", "--init", "12", "44", "38", "60", "-qq"],
    ["DEMO", "--start", "5", "--end", "9", "--init=12,40,50,100", "--init-format", "xyxy", "--preset", "fast"],
    ["DEMO", "--end", "9", "--init", "12,44,38,60", "-i", "3:100,60,40,40", "--preset", "fast", "--jobs", "1"],
    ["DEMO", "--end", "9", "--init-file", "TARGETS", "--preset", "paper"],
    ["DEMO", "--end", "9", *["--init=12,44,38,60", "-i9,9,20,30", "-i60,60,40,40"], "--preset", "fast", "--stagger"],
    ["DEMO", "--end", "3", "--init", "3:100,60,4,4", "--preset", "paper"],
    ["DEMO", "--end", "6", "--truth", "TRUTH", "--preset", "paper"],
    ["BROKEN", "--end", "6", "--preset", "paper", "--skip-bad-frames"],
    ["BROKEN", "--end", "6", "--preset", "paper"],
    ["BROKEN", "--end", "6", "--init", "2:12,44,38,60", "--init", "3:12,44,38,60", "--preset", "paper"],
    ["VIDEO", "--init", "60,40,30,24", "--start", "0.04s", "--end", "00:00:00.12", "--preset", "paper"],
    ["VIDEO", "--init", "60,40,30,24", "--init", "4:20,40,30,24", "--preset", "paper"],
    ["VIDEO", "--preset", "paper"],
    ["VIDEO", "--init", "1,1,20,20", "--truth", "TRUTH"],
    ["VIDEO", "--init", "9:1,1,20,20"],
    ["/no/such/folder"],
    ["DEMO", "--start", "3s"],
    ["DEMO", "--start", "soon"],
    ["DEMO", "--start", "900"],
    ["DEMO", "--start", "-3"],
    ["DEMO", "--end", "1:99"],
    ["DEMO", "--init", "1,2,3"],
    ["DEMO", "--init", "-1,-2,0,4"],
    ["DEMO", "--init", "0:1,2,3,4"],
    ["DEMO", "--init", "500:1,2,30,40"],
    ["DEMO", "--init", "9000,2,10,10"],
    ["DEMO", "--init", "1,2,30,40", "--init", "9000,2,10,10"],
    ["DEMO", "--init", "1,2,30,40", "--init", "4:9000,2,10,10"],
    ["DEMO", "--init-format", "xyxy"],
    ["DEMO", "--init-file", "/no/such/file"],
    ["DEMO", "--init-file", "TRUTH"],
    ["DEMO", "--init", "1,2,30,40", "--init-file", "TARGETS", "--init", "1,2,30,40", "--otb", "/dev/null"],
    ["DEMO", "--out", "boxes.xyz"],
    ["DEMO", "--out", "-"],
    ["DEMO", "--csv", "TRUTH"],
    ["DEMO", "--json", "/dev/null", "--csv", "/no/such/folder/x.csv"],
    ["DEMO", "--padding", "99"],
    ["DEMO", "--preset", "paper", "--kernel-a", "2"],
    ["DEMO", "--preset", "paper", "--padding", "2", "--set", "search.filter.padding=3"],
    ["DEMO", "--machine", "c=3"],
    ["DEMO", "--guard", "svm", "--machine", "cc=3"],
    ["DEMO", "--set", "padding"],
    ["DEMO", "--set", "search.filter.paddin=3"],
    ["DEMO", "--timeout", "0"],
    ["DEMO", "--inset"],
    ["DEMO", "--target", "3"],
    ["EMPTY"],
]  # fmt: skip


@pytest.mark.skipif(not RUST.exists(), reason="the Rust program is not built")
@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_files_words_and_exit_codes_are_the_programs(demo, request, tmp_path, words):
    if "VIDEO" in words and shutil.which("ffmpeg") is None:
        pytest.skip("videos are read by ffmpeg")
    broken = tmp_path / "broken"
    if "BROKEN" in words:
        shutil.copytree(demo, broken)
        sorted((broken / "img").iterdir())[2].write_bytes(b"no image")
    (tmp_path / "empty").mkdir()
    (tmp_path / "targets.csv").write_text("# two\n7,2,12,44,38,60\n9,4,150,100,40,40\n")
    places = {
        "DEMO": demo, "BROKEN": broken, "TRUTH": demo / "groundtruth_rect.txt", "EMPTY": tmp_path / "empty",
        "TARGETS": tmp_path / "targets.csv",
        "VIDEO": request.getfixturevalue("video") if "VIDEO" in words else None,
    }  # fmt: skip
    words = [str(places.get(word, word)) for word in words]
    several = words.count("--init") + words.count("-i") + 2 * words.count("--init-file") > 1
    forms = [form for form in FORMS if form != "otb" or not several]
    made = {}
    for name, program in (("rust", [str(RUST)]), ("python", [sys.executable, "-m", "kcf_track"])):
        folder = tmp_path / name
        folder.mkdir()
        out = [f"--{form}={folder / form}" for form in forms if f"--{form}" not in words]
        ran = subprocess.run([*program, *words, *out], capture_output=True, text=True, timeout=120)
        files = {path.name: timeless(path.read_text()) for path in folder.iterdir()}
        # How far a run is looks otherwise; of what clap and argparse say, the first line is told apart by its words.
        errors = [line for line in ran.stderr.splitlines() if line.startswith(("error:", "warning:", "preset "))]
        made[name] = (ran.returncode, files, timeless(ran.stdout), errors)
    rust, python = made["rust"], made["python"]
    assert python[0] == rust[0] and python[3] == rust[3]
    assert python[1].keys() == rust[1].keys()
    for form in rust[1]:
        assert python[1][form] == rust[1][form], form
    assert python[2] == rust[2]
    assert rust[0] == 0 or rust[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["DEMO", "--overlay", "seen"], "--overlay seen: it would be drawn, and the Rust program alone draws"),
        (["DEMO", "--out", "seen.mp4"], "--out seen.mp4: it would be drawn"),
        (["DEMO", "--response", "maps"], "--response maps: it would be drawn"),
        (["DEMO", "--config", "settings.toml"], "--config: the Rust program alone has it"),
        (["DEMO", "--print-config"], "kcf_track.Tracker(...).settings"),
        (["DEMO", "--pick"], "--pick: the Rust program alone has it; give the box by --init"),
        *(([command, "--data", "DEMO"], f"{command}: the Rust program alone has this") for command in COMMANDS),
    ],
)
def test_what_it_cannot_do_is_said(demo, words, said, tmp_path):
    ran = program(*[word.replace("DEMO", str(demo)) for word in words], cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "") and said in ran.stderr and "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_goes_away_is_no_failure(demo):
    words = [sys.executable, "-m", "kcf_track", str(demo), "--preset", "paper"]
    for more in (["--jsonl", "-", "-q"], []):
        with subprocess.Popen([*words, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            if more:
                assert json.loads(running.stdout.readline())["index"] == 1
            running.stdout.close()
            said = running.stderr.read()
            assert running.wait(timeout=60) == 0 and "error" not in said and "Traceback" not in said
