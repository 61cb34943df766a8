"""The scripts find the targets of sequences. No tracker runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
ROW = "11,21,30,40\n"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return lambda name: __import__(name)


@pytest.fixture
def otb(tmp_path):
    """Jogging has two targets, Human4 two files of which the first is empty, Deer one."""
    for path, text in {
        "Deer/groundtruth_rect.txt": ROW,
        "Human4/groundtruth_rect.1.txt": "",
        "Human4/groundtruth_rect.2.txt": ROW,
        "Jogging/groundtruth_rect.1.txt": ROW,
        "Jogging/groundtruth_rect.2.txt": ROW,
    }.items():
        place = tmp_path / "otb" / path
        (place.parent / "img").mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "otb"


def test_an_empty_truth_is_not_a_target(scripts, otb):
    labelled = scripts("labelled")
    found = [(labelled.result_name(*target), target[1].name) for target in labelled.targets(otb)]
    assert found == [
        ("Deer", "groundtruth_rect.txt"),
        ("Human4", "groundtruth_rect.2.txt"),
        ("Jogging-1", "groundtruth_rect.1.txt"),
        ("Jogging-2", "groundtruth_rect.2.txt"),
    ]


def test_each_target_has_a_row(scripts, otb, monkeypatch, capsys):
    scale_table = scripts("scale_table")
    frames = lambda program, folder, path, flags: [({}, 0.25 if ".2." in path.name else 0.75)]
    monkeypatch.setattr(scale_table, "frames", frames)
    monkeypatch.setattr(sys, "argv", ["scale_table.py", str(otb), "Jogging", "--program", "kcf-track"])
    scale_table.main()
    rows = [line.split(" | ")[:2] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [["| Jogging-1", "0.750, 0.750"], ["| Jogging-2", "0.250, 0.250"], ["| mean", "0.500, 0.500"]]


def test_an_existing_report_is_made_again(scripts, tmp_path, monkeypatch):
    detectors = scripts("detectors")

    def run(command, check):
        assert "--resume" in command
        scores = {"trackers": [{"sequences": {command[command.index("--data") + 1]: {}}}]}
        (tmp_path / "report.json").write_text(json.dumps(scores))
        (tmp_path / "timings.json").write_text(json.dumps({"trackers": {"paper": {"sequences": {}}}}))

    monkeypatch.setattr(detectors, "subprocess", SimpleNamespace(run=run))
    for data in ("one", "other"):
        scores, _ = detectors.evaluate("kcf-track", data, tmp_path, [])
        assert list(scores) == [data]
