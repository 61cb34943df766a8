"""`python -m kcf_track` is the program, and `python -m kcf_track.vot` speaks TraX."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import ROOT, reset_signals
from kcf_track import Error, MissingFileError, SettingError, Tracker, install_model, track


def program(*arguments, **options):
    words = [sys.executable, "-m", "kcf_track", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def test_the_program_writes_the_boxes_of_track(demo, tmp_path):
    ran = program(demo, "--preset", "fast", "--end", 10, "--json", tmp_path / "a.json", "--overlay", tmp_path / "drawn")
    assert ran.returncode == 0, ran.stderr
    assert "10 frames" in ran.stdout and "AUC" in ran.stdout and len(list((tmp_path / "drawn").glob("*.jpg"))) == 10
    boxes = [frame["bbox"] for frame in json.loads((tmp_path / "a.json").read_text())["frames"]]
    assert np.allclose(boxes, [step.box for step in track(demo, preset="fast", end=10)], atol=1e-4)


def test_rows_on_the_standard_output_are_complete(demo):
    ran = program(demo, "--preset", "paper", "--end", 20, "-q", "--jsonl", "-")
    assert [json.loads(line)["index"] for line in ran.stdout.splitlines()] == list(range(1, 21)), ran.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--version"], 0, "kcf-track"),
        (["eval", "--help"], 0, "Usage: kcf-track eval"),
        (["/no/such/folder"], 2, "no such folder"),
        (["--no-such-flag"], 2, "unexpected argument"),
        ([sys.prefix], 1, "no image"),
    ],
)
def test_exit_codes_are_those_of_the_program(arguments, code, message):
    ran = program(*arguments)
    assert ran.returncode == code and message in ran.stdout + ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_the_frames_until_then(demo, tmp_path, number, code):
    long = tmp_path / "long/img"
    long.mkdir(parents=True)
    images = sorted((demo / "img").iterdir())
    for i in range(5000):
        (long / f"{i:05}.jpg").symlink_to(images[i % 100])
    rows, document = tmp_path / "rows.jsonl", tmp_path / "run.json"
    words = [sys.executable, "-m", "kcf_track", long, "--init", "12,44,38,60", "--jsonl", rows, "--json", document]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=reset_signals)
    while not rows.exists() or rows.stat().st_size < 1000:
        time.sleep(0.01)
    running.send_signal(number)
    _, stderr = running.communicate(timeout=10)
    assert running.returncode == code and "interrupted" in stderr and "Traceback" not in stderr
    kept = [json.loads(line) for line in rows.read_text().splitlines()]
    found = json.loads(document.read_text())
    assert not found["summary"]["completed"] and len(found["frames"]) == len(kept) < 5000


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_end_up_in_files(demo, tmp_path, closed):
    words = f"{sys.executable} -m kcf_track {demo} --preset fast --end 30 --csv rows.csv {closed}"
    ran = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 31


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_reader_may_close_the_pipe(demo):
    words = [sys.executable, "-m", "kcf_track", str(demo), "--preset", "paper", "--jsonl", "-", "-q"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert json.loads(running.stdout.readline())["index"] == 1
        running.stdout.close()
        stderr = running.stderr.read()
        assert running.wait(timeout=60) == 0 and "error" not in stderr and "Traceback" not in stderr


@pytest.mark.parametrize("settings", [{"preset": "expert"}, {"preset": "robust", "detector": "siamese"}])
def test_a_network_gives_the_boxes_of_the_program(demo, tmp_path, settings):
    model = ROOT / "tests/fixtures/networks"
    try:
        run = track(demo, end=5, model=model, **settings)
    except SettingError as error:
        assert "needs a build with networks" in str(error)
        pytest.skip("needs FEATURES=neural scripts/python_tests.sh")
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    assert program(demo, *words, "--model", model, "--end", 5, "--json", tmp_path / "a.json", "-q").returncode == 0
    boxes = [frame["bbox"] for frame in json.loads((tmp_path / "a.json").read_text())["frames"]]
    assert np.allclose(boxes, [step.box for step in run], atol=1e-4)


def test_a_model_that_is_not_the_published_one_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("KCF_TRACK_MODELS", str(tmp_path / "models"))
    (tmp_path / "nanotrack_backbone.onnx").write_bytes(bytes(1000))
    with pytest.raises(Error, match="it has 1000 bytes, not 1431635"):
        install_model(source=tmp_path)
    with pytest.raises(MissingFileError, match="nanotrack_backbone_sim.onnx"):
        install_model("nanotrack-v2", str(tmp_path))
    with pytest.raises(SettingError, match="nanotrack-v3, nanotrack-v2, nanotrack-v1"):
        install_model("nanotrack")
    with pytest.raises(SettingError, match="model install nanotrack-v3|needs a build with networks"):
        Tracker("expert")
    assert not (tmp_path / "models").exists()


def test_a_client_of_trax_gets_the_boxes_of_track(demo):
    client_module = pytest.importorskip("trax.client")
    from trax import FileImage, Polygon, Rectangle

    frames = [{"color": FileImage.create(str(path))} for path in sorted((demo / "img").iterdir())[:4]]
    expected = [step.box for step in track(demo, (12, 44, 38, 60), preset="fast", end=4, padding=1.5)]
    corners = [(12, 44), (50, 44), (50, 104), (12, 104)]
    for region in (Rectangle.create(12, 44, 38, 60), Polygon.create(corners)):
        words = [sys.executable, "-m", "kcf_track.vot", "--preset", "fast", "padding=1.5"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            streams = (process.stdin.fileno(), process.stdout.fileno())
            client = client_module.Client(stream=streams, log=lambda _: None)
            states = [client.initialize(frames[0], [(region, {})], {})[0]]
            states += [client.frame(frame, {}, [])[0] for frame in frames[1:]]
            client.quit()
            assert process.wait(10) == 0
        assert np.allclose([state[0][0].bounds() for state in states], expected, atol=1e-3)
        assert all("confidence" in state[0][1] for state in states)
