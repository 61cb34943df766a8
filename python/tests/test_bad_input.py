"""Wrong arguments raise exceptions of the right type and leave the tracker as it was."""

from __future__ import annotations

import sys
import threading

import kcf_track
import numpy as np
import pytest
from kcf_track import BoxError, Error, FrameError, MultiTracker, NotInitializedError, SettingError, Tracker

BOX = (60, 40, 30, 24)

WRONG_FRAMES = [
    (np.zeros((48, 64)), TypeError, "float64"),
    (np.zeros((48, 64), np.int8), TypeError, "int8"),
    (np.zeros((48, 64), np.uint16), TypeError, "uint16"),
    (np.zeros((48, 64), bool), TypeError, "bool"),
    (np.zeros((48, 64), object), TypeError, "object"),
    (np.zeros((48, 64), [("r", np.uint8)]), TypeError, "uint8"),
    ([[1, 2], [3, 4]], TypeError, "list"),
    (None, TypeError, "NoneType"),
    (b"123", TypeError, "bytes"),
    (np.zeros((), np.uint8), FrameError, "shape"),
    (np.zeros(64, np.uint8), FrameError, "shape"),
    (np.zeros((48, 64, 2), np.uint8), FrameError, "channels"),
    (np.zeros((48, 64, 5), np.uint8), FrameError, "channels"),
    (np.zeros((2, 48, 64, 3), np.uint8), FrameError, "shape"),
    (np.zeros((0, 64), np.uint8), FrameError, "no pixels"),
    (np.zeros((48, 0, 3), np.uint8), FrameError, "no pixels"),
    (np.zeros((48, 64, 0), np.uint8), FrameError, "channels"),
]


@pytest.mark.parametrize(("frame", "kind", "message"), WRONG_FRAMES)
def test_wrong_arrays_are_refused(noise, frame, kind, message):
    tracker = Tracker("paper")
    with pytest.raises(kind, match=message):
        tracker.init(frame, BOX)
    with pytest.raises(NotInitializedError):
        tracker.update(noise)
    tracker.init(noise, BOX)
    with pytest.raises(kind, match=message):
        tracker.update(frame)
    assert tracker.update(noise)[0], "the tracker is intact"


WRONG_BOXES = [
    ((60, 40, float("nan"), 24), BoxError),
    ((float("inf"), 40, 30, 24), BoxError),
    ((60, 40, 0, 24), BoxError),
    ((60, 40, 30, -1), BoxError),
    ((60, 40, 0.5, 0.5), BoxError),
    ((1e6, 40, 30, 24), BoxError),
    ((0, 0, 1e9, 1e9), BoxError),
    ((60, 40, 30), BoxError),
    ((60, 40, 30, 24, 1), BoxError),
    ((), BoxError),
    ("60,40,30,24", TypeError),
    (("a", 1, 2, 3), TypeError),
    (None, TypeError),
    (5, TypeError),
    (np.zeros((2, 2)), TypeError),
]


@pytest.mark.parametrize(("box", "kind"), WRONG_BOXES)
def test_wrong_boxes_are_refused(noise, box, kind):
    tracker = Tracker("paper")
    tracker.init(noise, BOX)
    with pytest.raises(kind):
        tracker.init(noise, box)
    # Several rows are several boxes there.
    with pytest.raises((kind, BoxError)):
        MultiTracker("paper").add(noise, box)
    assert tracker.box == BOX and tracker.update(noise)[0], "the earlier target stays"


def test_uniform_boxes_are_refused(noise):
    with pytest.raises(BoxError, match="uniform"):
        Tracker("paper").init(np.zeros((120, 160), np.uint8), BOX)


def test_update_needs_init(noise):
    tracker = Tracker()
    with pytest.raises(NotInitializedError, match="init"):
        tracker.update(noise)
    assert tracker.box is tracker.state is tracker.confidence is tracker.evidence is tracker.estimate is None
    with pytest.raises(NotInitializedError):
        MultiTracker().update(noise)


def test_frames_of_another_size_are_refused(noise):
    tracker, targets = Tracker("fast"), MultiTracker("fast")
    tracker.init(noise, BOX)
    targets.add(noise, BOX)
    for wrong in (noise[:-1], noise[:, :-1], noise.T):
        with pytest.raises(FrameError, match="160x120"):
            tracker.update(wrong)
        with pytest.raises(FrameError, match="160x120"):
            targets.update(wrong)
        with pytest.raises(FrameError, match="160x120"):
            targets.add(wrong, (10, 10, 20, 20))
    assert tracker.update(noise) == targets.update(noise)[1]


def test_errors_are_of_the_library_and_of_python():
    for kind, base in [
        (BoxError, ValueError),
        (FrameError, ValueError),
        (SettingError, ValueError),
        (NotInitializedError, RuntimeError),
        (kcf_track.StateError, RuntimeError),
        (kcf_track.FitError, ValueError),
        (kcf_track.FormatError, ValueError),
        (kcf_track.FileError, OSError),
        (kcf_track.MissingFileError, FileNotFoundError),
    ]:
        assert issubclass(kind, Error) and issubclass(kind, base)
    with pytest.raises(FileNotFoundError):
        kcf_track.Source("/no/such/folder")
    with pytest.raises(kcf_track.FormatError, match="no image"):
        kcf_track.Source(sys.prefix)


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"preset": "papre"}, SettingError, "robust, fast"),
        ({"padding": 99}, SettingError, "search.filter.padding = 99: must be 0 to 20"),
        ({"padding": float("nan")}, SettingError, "0 to 20"),
        ({"padding": "wide"}, SettingError, "number"),
        ({"padding": [1]}, TypeError, "list"),
        ({"paddin": 2}, TypeError, "unknown setting \"paddin\": detector kcf has .*padding"),
        ({"detector": "svm", "padding": 2}, TypeError, "detector svm has .*reach"),
        ({"order": "rbg"}, SettingError, "rgb"),
        ({"machine": {"c": 1}}, SettingError, "detector"),
        ({"guard": "svm", "machine": {"cc": 1}}, SettingError, "tolerance"),
        ({"guard": "kpca"}, SettingError, "none, krr"),
        ({"settings": {"no.such": 1}}, SettingError, "unknown setting"),
        ({"settings": [1]}, TypeError, "dict"),
        ({"learning_rate": True}, SettingError, "number"),
    ],
)
def test_wrong_settings_are_refused(keywords, kind, message):
    with pytest.raises(kind, match=message):
        Tracker(**{"preset": "paper", **keywords})
    with pytest.raises(kind, match=message):
        MultiTracker(**{"preset": "paper", **keywords})


@pytest.mark.parametrize("number", [-1, 2**32, 2**64, 10**30])
def test_integers_out_of_range_name_their_argument(noise, demo, number):
    source = kcf_track.Source(demo)
    calls = {
        "threads": lambda: MultiTracker("paper", threads=number),
        "jobs": lambda: kcf_track.evaluate(demo, ["paper"], jobs=number),
        "start": lambda: source.span(start=number),
        "end": lambda: source.frames(end=number),
        "target": lambda: kcf_track.Source(demo, target=number),
    }
    if number != 2**32:
        calls["id"] = lambda: MultiTracker("paper").add(noise, BOX, id=number)
        calls["position"] = lambda: source.true_box(number)
    for name, call in calls.items():
        with pytest.raises(SettingError, match=f"^{name} {number}: ") as raised:
            call()
        assert isinstance(raised.value, ValueError), name
    for wrong in ("a", 1.5):
        for call in (MultiTracker("paper", threads=1).remove, source.true_box, source.box):
            with pytest.raises(TypeError):
                call(wrong)


def test_impossible_ids_are_unknown_ids(noise):
    targets = MultiTracker("paper", threads=1)
    targets.add(noise, BOX)
    for id in (-1, 2**64):
        assert id not in targets
        with pytest.raises(KeyError, match=str(id)):
            targets[id]
        with pytest.raises(KeyError, match=str(id)):
            targets.remove(id)


def test_an_enormous_broadcast_frame_is_refused(noise):
    """No memory holds a copy of it."""
    huge = np.broadcast_to(np.uint8(3), (2_000_000, 2_000_000))
    with pytest.raises((MemoryError, ValueError)):
        Tracker("paper").init(huge, BOX)


def test_other_threads_run_during_an_update(noise):
    """An update releases the GIL."""
    big = np.tile(noise, (12, 12))
    tracker = Tracker("paper-gray", settings={"search.filter.half-size-from": 1e6})
    tracker.init(big, (200, 200, 400, 400))
    counted, done = 0, threading.Event()

    def work():
        for _ in range(20):
            tracker.update(big)
        done.set()

    switch = sys.getswitchinterval()
    # No thread gives up the GIL on request during this test.
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            counted += 1
            if counted > 500_000:
                break
        thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert counted > 100
