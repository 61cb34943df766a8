"""A tracker on arrays: what it follows, what it says, and what it makes of every layout of memory."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tracemalloc

import kcf_track
import numpy as np
import pytest
from conftest import moving
from kcf_track import MultiTracker, Tracker

BOX = (60, 40, 30, 24)
PRESETS = list(kcf_track.presets())


@pytest.mark.parametrize("preset", PRESETS)
def test_it_follows_what_moves(noise, preset):
    tracker = Tracker(preset)
    assert tracker.init(noise, BOX) is None
    assert (tracker.box, tracker.state) == (BOX, "initial")
    for i, frame in enumerate(moving(noise, 5)[1:], 1):
        ok, box = tracker.update(frame)
        assert ok and isinstance(box, tuple)
        assert abs(box[0] - 60 - 3 * i) < 3 and abs(box[1] - 40) < 3, (preset, i, box)
    assert tracker.state == "tracking"
    assert tracker.box == box == tracker.estimate.box
    assert set(tracker.evidence) >= {"peak", "psr", "apce", "decision", "confidence", "refit_kept"}


def test_ok_is_false_exactly_when_the_state_is_lost(noise):
    tracker = Tracker("fast")
    tracker.init(noise, BOX)
    seen = []
    for frame in [noise] * 3 + [np.zeros_like(noise)] * 3 + [noise]:
        ok, _ = tracker.update(frame)
        seen.append(ok)
        assert ok == (tracker.state != "lost") == tracker.estimate.ok
    assert seen[:4] == [True, True, True, False]


def test_the_response_is_highest_where_the_target_is(noise):
    tracker = Tracker("paper")
    assert tracker.response is None and tracker.response_grid is None and tracker.response_angle is None
    tracker.init(noise, BOX)
    _, (x, y, w, h) = tracker.update(np.roll(noise, 8, axis=1))
    scores = tracker.response
    assert scores.dtype == np.float32 and scores.ndim == 2
    row, column = np.unravel_index(scores.argmax(), scores.shape)
    (x0, y0), (dx, dy) = tracker.response_grid
    assert abs(x0 + column * dx - (x + w / 2)) <= dx and abs(y0 + row * dy - (y + h / 2)) <= dy
    assert tracker.response_angle == 0
    kept = scores.copy()
    tracker.update(noise)
    assert (scores == kept).all(), "the array is the caller's own"


def colored(noise):
    return np.stack([noise, np.roll(noise, 5, 0), np.roll(noise, 9, 1)], axis=2)


def layouts(frame):
    """The same pixels, lying in memory in different ways."""
    height, width = frame.shape[:2]
    wide = np.zeros((height + 4, width + 9, *frame.shape[2:]), np.uint8)
    wide[2:-2, 4:-5] = frame
    yield "rows with gaps", wide[2:-2, 4:-5]
    yield "upside down twice", frame[::-1].copy()[::-1]
    yield "mirrored twice", frame[:, ::-1].copy()[:, ::-1]
    yield "columns first", np.asfortranarray(frame)
    yield "every second row", np.repeat(frame, 2, axis=0)[::2]
    yield "every second pixel", np.repeat(frame, 2, axis=1)[:, ::2]
    locked = frame.copy()
    locked.setflags(write=False)
    yield "read only", locked
    if frame.ndim == 3:
        yield "colours backwards twice", frame[..., ::-1].copy()[..., ::-1]
        yield "planes", np.ascontiguousarray(frame.transpose(2, 0, 1)).transpose(1, 2, 0)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_every_layout_gives_the_same_boxes(noise, channels):
    def boxes(frames):
        tracker = Tracker("robust")
        tracker.init(frames[0], BOX)
        return [tracker.update(frame) for frame in frames[1:]]

    frames = [frame if channels == 1 else colored(frame) for frame in moving(noise, 4)]
    if channels == 4:
        frames = [np.dstack([frame, noise]) for frame in frames]
    plain = boxes(frames)
    for at, (name, _) in enumerate(layouts(frames[0])):
        same = [list(layouts(frame))[at][1] for frame in frames]
        assert all((a == b).all() for a, b in zip(same, frames)), name
        assert boxes(same) == plain, name
    if channels == 1:
        assert boxes([frame[..., None] for frame in frames]) == plain
        assert boxes([np.dstack([frame] * 3) for frame in frames]) != [], "gray in three channels is a frame"
    if channels == 4:
        assert boxes([frame[..., :3] for frame in frames]) == plain, "the fourth channel is not looked at"


def test_the_order_of_colours_is_what_was_said(noise):
    def boxes(order, frames):
        tracker = Tracker("robust", order=order)
        tracker.init(frames[0], BOX)
        return [tracker.update(frame) + (tracker.confidence,) for frame in frames[1:]]

    frames = [colored(frame) for frame in moving(noise, 4)]
    backwards = [frame[..., ::-1] for frame in frames]
    assert boxes("bgr", frames) == boxes("rgb", backwards) == boxes("rgb", [b.copy() for b in backwards])
    assert boxes("bgr", frames) != boxes("rgb", frames), "the order would have no effect"


@pytest.mark.parametrize(
    ("name", "copied"),
    [("plain", False), ("rows with gaps", False), ("colours backwards twice", False), ("mirrored twice", True)],
)
def test_nothing_is_copied_that_can_be_tracked_where_it_lies(noise, name, copied):
    frame = np.tile(colored(noise), (6, 6, 1))
    given = {"plain": frame, **dict(layouts(frame))}[name]
    tracker = Tracker("paper")
    tracker.init(given, BOX)
    tracemalloc.start()
    tracker.update(given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (peak > frame.nbytes / 2) == copied, peak


def test_settings_are_keywords_paths_and_machines(noise):
    linear = Tracker("paper", kernel="linear", padding=2)
    assert linear.settings["search.filter.kernel"] == "linear"
    assert linear.settings["search.filter.padding"] == 2.0
    assert Tracker("paper", settings={"search.filter.padding": 2.0}).settings["search.filter.padding"] == 2.0
    guarded = Tracker("paper", guard="svm", machine={"c": 3.0})
    assert guarded.settings["guard.windows.machine.svm.c"] == 3.0
    assert Tracker("paper", guard=None).settings == Tracker("paper").settings
    assert Tracker("paper", smooth_area=True).settings["search.filter.smooth-area"] is True
    assert Tracker("paper", max_cells=300).settings["search.filter.area.bounded.max-cells"] == 300
    assert Tracker("paper", max_cells=float("inf")).settings["search.filter.area"] == "published"
    assert Tracker("fast", detector="svm").settings["search"] == "svm"
    assert Tracker(padding=np.float32(2.5)).settings["search.background.padding"] == 2.5


def test_a_copy_goes_its_own_way(noise):
    for preset in ("robust", "paper"):
        tracker = Tracker(preset)
        tracker.init(noise, BOX)
        tracker.update(np.roll(noise, 3, axis=1))
        copies = [tracker.copy(), copy.copy(tracker), copy.deepcopy(tracker)]
        here = [tracker.update(np.roll(noise, 3 * i, axis=1)) for i in (2, 3)]
        for other in copies:
            assert (other.preset, other.settings) == (tracker.preset, tracker.settings)
            assert [other.update(np.roll(noise, 3 * i, axis=1)) for i in (2, 3)] == here


@pytest.mark.parametrize(
    ("preset", "settings"),
    [*((preset, {}) for preset in PRESETS), ("paper", {"guard": "krr"}), ("fast", {"detector": "kpca"})],
)
def test_a_pickled_tracker_goes_on_where_it_was(noise, preset, settings):
    frames = [np.roll(noise, 3 * i, axis=1) for i in range(7)]
    tracker = Tracker(preset, order="rgb", **settings)
    empty = pickle.loads(pickle.dumps(tracker))
    assert empty.estimate is None and empty.settings == tracker.settings
    tracker.init(frames[0], BOX)
    for frame in frames[1:4]:
        tracker.update(frame)
    copied = pickle.loads(pickle.dumps(tracker))
    assert (copied.preset, copied.order, copied.settings) == (preset, "rgb", tracker.settings)
    assert copied.estimate == tracker.estimate and (copied.response == tracker.response).all()
    for frame in frames[4:]:
        assert copied.update(frame) == tracker.update(frame)
        assert copied.estimate == tracker.estimate


def test_a_pickled_tracker_goes_on_in_another_process(noise):
    tracker = Tracker("fast")
    tracker.init(noise, BOX)
    program = "import pickle, sys; tracker, frame = pickle.load(sys.stdin.buffer); print(tracker.update(frame))"
    given = pickle.dumps((tracker, np.roll(noise, 3, axis=1)))
    found = subprocess.run([sys.executable, "-c", program], input=given, capture_output=True, check=True)
    assert found.stdout.decode().strip() == str(tracker.update(np.roll(noise, 3, axis=1)))


def test_other_bytes_are_no_tracker(noise):
    tracker = Tracker("fast")
    tracker.init(noise, BOX)
    good = tracker.snapshot()
    for wrong in (b"", b"KCFTRACK", good[:-1], good + b"0", good[:400] + b"x" + good[401:]):
        with pytest.raises(kcf_track.SnapshotError):
            Tracker.restore(wrong)
    with pytest.raises(TypeError):
        Tracker.restore("text")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_many_targets_are_followed_after_a_fork(noise):
    """Threads do not come along into a child: it makes its own."""
    program = """
import os, pickle, sys, warnings
targets, frames = pickle.load(sys.stdin.buffer)
warnings.simplefilter("ignore")
targets.update(frames[0])
child = os.fork()
found = targets.update(frames[1])
if child == 0:
    print(found, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(found)
"""
    targets = MultiTracker("paper", threads=2)
    for x in (20, 60, 90):
        targets.add(noise, (x, 40, 24, 24))
    given = pickle.dumps((targets, moving(noise, 3)[1:]))
    words = [sys.executable, "-c", program]
    ran = subprocess.run(words, input=given, capture_output=True, check=True, timeout=60)
    child, parent = ran.stdout.decode().splitlines()
    assert child == parent


def test_switches_of_numpy_are_switches():
    assert Tracker("paper", settings={"search.filter.sub-cell": np.True_}).settings["search.filter.sub-cell"] is True
    with pytest.raises(kcf_track.SettingError):
        Tracker("paper", learning_rate=np.True_)


def test_the_next_number_is_a_free_one(noise):
    targets = MultiTracker("paper")
    assert [targets.add(noise, BOX, id=id) for id in (1, 2**64 - 1, None, None)] == [1, 2**64 - 1, 2, 3]
    assert len(targets) == 4


def test_a_target_of_its_own_settings_keeps_the_others(noise):
    targets = MultiTracker("paper", kernel="linear")
    one = Tracker("paper", kernel="linear", padding=2)
    id = targets.add(noise, BOX, padding=2)
    one.init(noise, BOX)
    frame = np.roll(noise, 3, axis=1) // 2
    targets.update(frame)
    one.update(frame)
    assert targets[id].evidence == one.evidence
    other = targets.add(noise, BOX, preset="fast")
    assert list(targets) == targets.ids == [id, other] and id in targets and 99 not in targets and "a" not in targets


def test_many_targets_are_pickled(noise):
    targets = MultiTracker("fast", threads=2)
    targets.add(noise, (20, 20, 24, 24))
    targets.add(noise, BOX, id=7, preset="paper")
    targets.update(np.roll(noise, 3, axis=1))
    copied = pickle.loads(pickle.dumps(targets))
    assert copied.ids == [1, 7] and copied[7] == targets[7]
    for i in (2, 3):
        assert copied.update(np.roll(noise, 3 * i, axis=1)) == targets.update(np.roll(noise, 3 * i, axis=1))
    assert copied.add(noise, BOX) == targets.add(noise, BOX) == 8


def test_many_targets_are_staggered_if_they_shall_be(noise):
    boxes = [(20, 20, 24, 24), (60, 40, 30, 24), (90, 70, 28, 28)]
    frames = moving(noise, 9)

    def run(targets, pickled=False):
        for box in boxes:
            targets.add(frames[0], box)
        for frame in frames[1:]:
            found = targets.update(frame)
            targets = pickle.loads(pickle.dumps(targets)) if pickled else targets
        return found, [targets[id].evidence for id in targets]

    staggered = run(MultiTracker("fast", stagger=True, threads=1))
    assert staggered == run(MultiTracker("fast", stagger=True, threads=2), pickled=True)
    assert staggered != run(MultiTracker("fast"))
    del boxes[2]
    assert run(MultiTracker("fast", stagger=True)) == run(MultiTracker("fast"))


def test_many_targets_are_followed_as_one_is(noise):
    boxes = {1: (20, 20, 24, 24), 2: (60, 40, 30, 24), 9: (90, 70, 28, 28)}
    frames = moving(noise, 5)
    for threads in (1, 2, None):
        targets = MultiTracker("fast", threads=threads)
        assert [targets.add(frames[0], box, id=id) for id, box in boxes.items()] == list(boxes)
        alone = {id: Tracker("fast") for id in boxes}
        for id, box in boxes.items():
            alone[id].init(frames[0], box)
        for frame in frames[1:]:
            found = targets.update(frame)
            assert found == {id: alone[id].update(frame) for id in boxes}
            assert all(targets[id].confidence == alone[id].confidence for id in boxes)
    assert targets.ids == [1, 2, 9] and len(targets) == 3
    assert targets.add(frame, (30, 30, 20, 20)) == 10, "the next free number"
    targets.remove(2)
    assert targets.ids == [1, 9, 10]
    added = targets.add(frame, (30, 30, 20, 20), preset="paper", kernel="linear")
    assert targets[added].box == (30, 30, 20, 20)
    with pytest.raises(KeyError):
        targets.remove(2)
    with pytest.raises(KeyError):
        targets[2]
