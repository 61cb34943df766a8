"""The scripts find the targets of sequences. No tracker runs."""

from __future__ import annotations

from pathlib import Path

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
