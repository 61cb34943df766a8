"""What is wrong raises an exception of the right type, leaves the tracker as it was, and never ends the interpreter."""

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


@pytest.mark.parametrize(("frame", "kind", "said"), WRONG_FRAMES)
def test_arrays_that_are_no_frames(noise, frame, kind, said):
    tracker = Tracker("paper")
    with pytest.raises(kind, match=said):
        tracker.init(frame, BOX)
    with pytest.raises(NotInitializedError):
        tracker.update(noise)
    tracker.init(noise, BOX)
    with pytest.raises(kind, match=said):
        tracker.update(frame)
    assert tracker.update(noise)[0], "it goes on as if nothing had been"


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
def test_boxes_that_are_none(noise, box, kind):
    tracker = Tracker("paper")
    tracker.init(noise, BOX)
    with pytest.raises(kind):
        tracker.init(noise, box)
    with pytest.raises(kind):
        MultiTracker("paper").add(noise, box)
    assert tracker.box == BOX and tracker.update(noise)[0], "the earlier target stays"


def test_nothing_to_follow(noise):
    with pytest.raises(BoxError, match="uniform"):
        Tracker("paper").init(np.zeros((120, 160), np.uint8), BOX)


def test_update_before_init(noise):
    tracker = Tracker()
    with pytest.raises(NotInitializedError, match="init"):
        tracker.update(noise)
    assert tracker.box is tracker.state is tracker.confidence is tracker.evidence is tracker.estimate is None
    with pytest.raises(NotInitializedError):
        MultiTracker().update(noise)


def test_frames_of_another_size(noise):
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
    ("keywords", "kind", "said"),
    [
        ({"preset": "papre"}, SettingError, "robust, paper"),
        ({"padding": 99}, SettingError, "0 to 20"),
        ({"padding": float("nan")}, SettingError, "number"),
        ({"padding": "wide"}, SettingError, "number"),
        ({"padding": [1]}, TypeError, "list"),
        ({"paddin": 2}, TypeError, "search.background.padding may be meant"),
        ({"order": "rbg"}, SettingError, "rgb"),
        ({"kernel_a": 1}, SettingError, "polynomial"),
        ({"preset": "fast", "faint_after": 3}, SettingError, "faint_after needs faint_below above 0"),
        ({"settings": {"guard.far": 1}, "guard": "krr", "guard_tiles": 0}, SettingError, "guard_tiles above 0"),
        ({"preset": "robust", "tracking_until": 0.9}, SettingError, "must not lie above .*belief.tracking-from 0.8"),
        ({"machine": {"c": 1}}, SettingError, "detector"),
        ({"guard": "svm", "machine": {"cc": 1}}, SettingError, "tolerance"),
        ({"settings": {"no.such": 1}}, SettingError, "no such setting"),
        ({"settings": [1]}, TypeError, "dict"),
        ({"learning_rate": True}, SettingError, "number"),
    ],
)
def test_settings_that_are_none(keywords, kind, said):
    with pytest.raises(kind, match=said):
        Tracker(**{"preset": "paper", **keywords})
    with pytest.raises(kind, match=said):
        MultiTracker(**{"preset": "paper", **keywords})


@pytest.mark.parametrize("number", [-1, 2**32, 2**64, 10**30])
def test_numbers_that_no_argument_holds_are_settings(noise, demo, number):
    """PyO3's OverflowError would be no error of the library, and name no argument."""
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


def test_ids_that_no_target_can_have_are_of_no_target(noise):
    targets = MultiTracker("paper", threads=1)
    targets.add(noise, BOX)
    for id in (-1, 2**64):
        assert id not in targets
        with pytest.raises(KeyError, match=str(id)):
            targets[id]
        with pytest.raises(KeyError, match=str(id)):
            targets.remove(id)


def test_estimates_of_wrong_parts():
    with pytest.raises(SettingError, match="initial, tracking"):
        kcf_track.Estimate(BOX, "nix", {})
    with pytest.raises(BoxError):
        kcf_track.Estimate((1, 2), "lost", {})
    for polygon in ([(0, 0)] * 3, [(0, 0, 0)] * 4, [(0,) * 8], []):
        with pytest.raises(SettingError, match="four corners"):
            kcf_track.Estimate(BOX, "lost", {}, polygon)
    assert kcf_track.Estimate(BOX, "lost", {}, [(0, 0)] * 4).polygon.shape == (4, 2)


def test_a_frame_that_is_all_one_byte_of_memory(noise):
    """Broadcast to a size that no memory holds: it cannot be tracked where it lies, and cannot be copied."""
    huge = np.broadcast_to(np.uint8(3), (2_000_000, 2_000_000))
    with pytest.raises((MemoryError, ValueError)):
        Tracker("paper").init(huge, BOX)


def test_one_object_from_two_threads(noise):
    """Either each call is served, or it raises StateError; what is said meanwhile can be read."""
    big = np.random.default_rng(3).integers(0, 255, (960, 1280), np.uint8)
    box = (300, 300, 200, 200)
    reference = Tracker("robust")
    reference.init(big, box)
    expected = [reference.update(big) for _ in range(16)]
    for made in (Tracker("robust"), MultiTracker("robust")):
        add = made.init if isinstance(made, Tracker) else made.add
        add(big, box)
        served, refused, wrong, read = [], [], [], []

        def work():
            while len(served) < 12:
                try:
                    served.append(made.update(big))
                except kcf_track.StateError as error:
                    refused.append(str(error))
                except BaseException as error:  # noqa: BLE001
                    wrong.append(error)
                    return
                if isinstance(made, Tracker):
                    read.append(made.state)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong and None not in read
        assert refused and all("another thread" in said for said in refused)
        found = [found if isinstance(made, Tracker) else found[1] for found in served]
        assert sorted(found) == sorted(expected[: len(found)]), "each update that was served is a frame of one run"


def test_other_threads_run_while_one_tracks(noise):
    """The interpreter is let go of: counting goes on during an update."""
    big = np.tile(noise, (12, 12))
    tracker = Tracker("paper-gray", settings={"search.filter.area.published.half-size-from": 1e6})
    tracker.init(big, (200, 200, 400, 400))
    counted, done = 0, threading.Event()

    def work():
        # More than one: on a busy machine the thread that counts may get its turn late.
        for _ in range(20):
            tracker.update(big)
        done.set()

    switch = sys.getswitchinterval()
    # Nobody is asked for the interpreter within this test: what runs beside the update runs because it was let go of.
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
