"""A tracker over arrays: estimates, memory layouts, settings, several targets."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import kcf_track
import numpy as np
import pytest
from conftest import moving
from kcf_track import MultiTracker, Tracker
from kcf_track._tracks import rows_of

BOX = (60, 40, 30, 24)
PRESETS = [name for name in kcf_track.presets() if name != "expert"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_follow_motion(noise, preset):
    tracker = Tracker(preset)
    assert tracker.init(noise, BOX) is None
    assert (tracker.box, tracker.state) == (BOX, "initial")
    for i, frame in enumerate(moving(noise, 5)[1:], 1):
        ok, box = tracker.update(frame)
        assert ok and isinstance(box, tuple)
        assert abs(box[0] - 60 - 3 * i) < 3 and abs(box[1] - 40) < 3, (preset, i, box)
    # Noise between pixels is other noise, which `robust` doubts.
    assert tracker.state in ("tracking", "uncertain")
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
    assert (scores == kept).all(), "the array is a copy"


def colored(noise):
    return np.stack([noise, np.roll(noise, 5, 0), np.roll(noise, 9, 1)], axis=2)


def layouts(frame):
    """The same pixels in different memory layouts."""
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
        assert boxes([frame[..., :3] for frame in frames]) == plain, "the fourth channel is ignored"


def test_colors_are_read_in_the_given_order(noise):
    def boxes(order, frames):
        tracker = Tracker("robust", order=order)
        tracker.init(frames[0], BOX)
        return [tracker.update(frame) + (tracker.confidence,) for frame in frames[1:]]

    frames = [colored(frame) for frame in moving(noise, 4)]
    backwards = [frame[..., ::-1] for frame in frames]
    assert boxes("bgr", frames) == boxes("rgb", backwards) == boxes("rgb", [b.copy() for b in backwards])
    assert boxes("bgr", frames) != boxes("rgb", frames), "the order has an effect"


@pytest.mark.parametrize(
    ("name", "copied"),
    [("plain", False), ("rows with gaps", False), ("colours backwards twice", False), ("mirrored twice", True)],
)
def test_frames_are_copied_only_where_necessary(noise, name, copied):
    frame = np.tile(colored(noise), (6, 6, 1))
    given = {"plain": frame, **dict(layouts(frame))}[name]
    tracker = Tracker("paper")
    tracker.init(given, BOX)
    tracemalloc.start()
    tracker.update(given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (peak > frame.nbytes / 2) == copied, peak


def test_numpy_booleans_are_booleans():
    assert Tracker(settings={"search.background.mask": np.True_}).settings["search.background.mask"] is True
    with pytest.raises(kcf_track.SettingError):
        Tracker("paper", learning_rate=np.True_)


def test_new_targets_get_free_ids(noise):
    targets = MultiTracker("paper")
    assert [targets.add(noise, BOX, id=id) for id in (1, 2**64 - 1, None, None)] == [1, 2**64 - 1, 2, 3]
    assert len(targets) == 4


def test_a_target_may_have_its_own_settings(noise):
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


def test_several_targets_get_the_boxes_of_single_trackers(noise):
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


def test_detections_begin_correct_and_end_targets(noise):
    frames = moving(noise, 30)
    targets = MultiTracker("fast", detections={"patience": 2})
    for index, frame in enumerate(frames):
        box = (60 + 3 * index, 40, 30, 24)
        found = targets.update(frame, [(*box, 0.9, "car")] if index % 4 == 0 and index < 20 else None)
        assert len(found) == 1 and all(abs(left - box[0]) < 3 for _, (left, *_) in found.values()), index
    assert targets.ids == [1] and targets.tracks.classes == ["car"] and targets.tracks.xyxy.shape == (1, 4)
    copied = targets.copy()
    assert [(id, estimate.box) for id, estimate in targets.items()] == [(1, copied[1].box)]
    # A box of four frames ago is compared with where the target was then.
    targets.update(frames[-1], [(60 + 3 * 26, 40, 30, 24)], at=targets.position - 2)
    assert targets.detected == [1] and abs(targets[1].box[0] - copied[1].box[0]) < 4
    for _ in range(8):
        targets.update(frames[-1], [])
    assert targets.ids == [] and copied.ids == [1]
    with pytest.raises(KeyError):
        targets[1]
    targets.update(frames[-1], [(20, 20, 24, 24, 7), (20, 20, float("nan"), 24), (1, 1, 20, 20)])
    assert targets.detected == [None, None, 2] and list(targets.refused) == [0, 1]
    for wrong in (targets.position + 9, 1 - 1):
        with pytest.raises(kcf_track.SettingError, match="frame"):
            targets.update(frames[-1], [], at=wrong)
    with pytest.raises(kcf_track.SettingError, match="1 to 100"):
        MultiTracker(detections={"confirm": 0})


def test_detections_of_other_libraries_are_read():
    corners = np.array([[10.0, 20, 40, 60], [1, 2, 3, 4]])
    rows = [([10.0, 20.0, 30.0, 40.0], 0.5, "car"), ([1.0, 2.0, 2.0, 2.0], 0.25, "dog")]

    class Tensor:
        """An array of torch."""

        def __init__(self, values):
            self.values = values

        def cpu(self):
            return np.array(self.values)

    boxes = SimpleNamespace(xyxy=Tensor(corners), conf=Tensor([0.5, 0.25]), cls=Tensor([2.0, 5.0]))
    result = SimpleNamespace(boxes=boxes, names={2: "car", 5: "dog"})
    supervised = SimpleNamespace(
        xyxy=corners, confidence=np.array([0.5, 0.25]), class_id=np.array([2, 5]), data={"class_name": ["car", "dog"]}
    )
    assert rows_of(result) == rows_of([result]) == rows_of(supervised) == rows
    plain = np.hstack([corners, [[0.5], [0.25]]])
    assert rows_of(plain, "xyxy") == [(box, score, None) for box, score, _ in rows]
    assert rows_of([{"bbox": [10, 20, 30, 40], "score": 0.5, "class": "car"}]) == rows[:1]
    assert rows_of(np.empty((0, 5))) == [] and rows_of([(1, 2, 3, 4, 0.5, 7)])[0][2] == "7"
    with pytest.raises(kcf_track.BoxError):
        rows_of([(1, 2, 3)])
    with pytest.raises(kcf_track.SettingError):
        rows_of([], "xxyy")


def test_a_correction_stays_and_corners_are_a_format(noise):
    frames = moving(noise, 8)
    one, targets = Tracker("fast"), MultiTracker("fast")
    one.init(frames[0], (60, 40, 90, 64), format="xyxy")
    targets.add(frames[0], (60, 40, 90, 64), format="xyxy")
    assert one.box == targets[1].box == (60, 40, 30, 24)
    assert one.adjust((64, 40, 30, 24), 0) == targets.adjust(1, (64, 40, 30, 24), noise=0) == (64, 40, 30, 24)
    for index, frame in enumerate(frames[1:], 1):
        assert abs(one.update(frame)[1][0] - 64 - 3 * index) < 2
    with pytest.raises(kcf_track.BoxError):
        one.adjust((64, 40, 30, 24), -1)
    with pytest.raises(kcf_track.SettingError):
        targets.adjust(7, (64, 40, 30, 24))
    with pytest.raises(kcf_track.NotInitializedError):
        Tracker().adjust((64, 40, 30, 24), 1)


def test_settings_are_keywords_paths_and_machines():
    def settings(preset="paper", **keywords):
        return Tracker(preset, **keywords).settings

    linear = settings(kernel="linear", padding=2, feature="gray", learning_rate=0.01)
    assert linear["search.filter.kernel"] == "linear" and linear["search.filter.feature"] == "gray"
    assert linear["search.filter.padding"] == 2.0 and linear["search.filter.learning-rate"] == 0.01
    assert settings(settings={"search.filter.padding": 2.0})["search.filter.padding"] == 2.0
    assert settings(guard="svm", machine={"c": 3.0})["guard.windows.machine.svm.c"] == 3.0
    assert settings(guard=None) == settings()
    assert settings("robust", mask=False)["search.background.mask"] is False
    assert settings(half_size_from=50)["search.filter.half-size-from"] == 50.0
    machine = settings("fast", detector="svm", machine={"c": 3}, reach=3, kernel="linear")
    assert machine["search.machine.windows.machine.svm.c"] == 3.0
    assert machine["search.machine.windows.reach"] == 3.0 and machine["search.machine.windows.kernel"] == "linear"
    assert settings("robust", padding=np.float32(2.5), interval=np.int64(3))["search.background.padding"] == 2.5
    assert settings("robust", scale="none")["search.background.scale"] == "none"
    for preset in PRESETS:
        assert Tracker(preset, settings=settings(preset)).settings == settings(preset)


def test_a_copy_is_independent(noise):
    for preset in ("robust", "paper"):
        tracker = Tracker(preset)
        tracker.init(noise, BOX)
        tracker.update(np.roll(noise, 3, axis=1))
        copies = [tracker.copy(), copy.copy(tracker), copy.deepcopy(tracker)]
        here = [tracker.update(np.roll(noise, 3 * i, axis=1)) for i in (2, 3)]
        for other in copies:
            assert (other.preset, other.settings) == (tracker.preset, tracker.settings)
            assert [other.update(np.roll(noise, 3 * i, axis=1)) for i in (2, 3)] == here


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_several_targets_survive_a_fork():
    """A forked child has no threads and starts its own."""
    program = """
import os, warnings, kcf_track, numpy as np
warnings.simplefilter("ignore")
noise = np.random.default_rng(7).integers(0, 255, (120, 160), np.uint8)
targets = kcf_track.MultiTracker("paper", threads=2)
for x in (20, 60, 90):
    targets.add(noise, (x, 40, 24, 24))
targets.update(np.roll(noise, 3, axis=1))
child = os.fork()
found = targets.update(np.roll(noise, 6, axis=1))
os.write(1, f"{found}\\n".encode())  # in one piece, so that both lines stay whole
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    child, parent = ran.stdout.splitlines()
    assert child == parent


@pytest.mark.parametrize("preset", PRESETS)
def test_a_pickled_tracker_goes_on_with_equal_results(noise, preset):
    frames = moving(noise, 8)
    tracker = kcf_track.Tracker(preset, order="rgb", integer=True)
    tracker.init(frames[0], (60, 40, 30, 24))
    tracker.update(frames[1])
    again = pickle.loads(pickle.dumps(tracker))
    assert (again.preset, again.order, again.settings, again.box) == (preset, "rgb", tracker.settings, tracker.box)
    for frame in frames[2:]:
        assert again.update(frame) == tracker.update(frame) and again.estimate == tracker.estimate
    with pytest.raises(kcf_track.FormatError, match="cannot be saved"):
        guarded = kcf_track.Tracker("paper", guard="krr")
        guarded.init(frames[0], (60, 40, 30, 24))
        guarded.to_bytes()


def test_pickled_targets_go_on_with_equal_results(noise):
    frames = moving(noise, 14)
    targets = kcf_track.MultiTracker("fast", threads=2, detections={"confirm": 1}, padding=2.5)
    assert targets.add(frames[0], [(60, 40, 30, 24), (20, 20, 24, 24)]) == [1, 2]
    for frame in frames[1:5]:
        targets.update(frame, [(90, 60, 20, 20)])
    again = pickle.loads(pickle.dumps(targets))
    for at, frame in enumerate(frames[5:], 5):
        late = {"detections": [(92, 61, 20, 20)], "at": at - 2} if at % 3 == 0 else {}
        assert again.update(frame, **late) == targets.update(frame, **late)
    assert again.items() == targets.items() and again.position == targets.position and len(again) == 3
    assert again._parameters == targets._parameters


def test_bytes_of_something_else_are_refused(noise):
    tracker, targets = kcf_track.Tracker("paper"), kcf_track.MultiTracker("paper")
    tracker.init(noise, (60, 40, 30, 24))
    for kind, data in ((kcf_track.Tracker, tracker.to_bytes()), (kcf_track.MultiTracker, targets.to_bytes())):
        changed = bytearray(data)
        changed[len(data) // 2] ^= 1
        for wrong in (b"", b"kcf-track", data[:-1], data[: len(data) // 3], data + b"x", bytes(changed)):
            with pytest.raises(kcf_track.FormatError, match="^saved "):
                kind.from_bytes(wrong)
    with pytest.raises(kcf_track.FormatError, match="something else"):
        kcf_track.Tracker.from_bytes(targets.to_bytes())


def test_boxes_may_be_whole_numbers_and_scores_have_the_name_of_opencv(noise):
    frames = moving(noise, 3)
    whole, exact = kcf_track.Tracker("fast", integer=True), kcf_track.Tracker("fast")
    with pytest.raises(kcf_track.NotInitializedError):
        whole.getTrackingScore()
    for tracker in (whole, exact):
        tracker.init(frames[0], (60.4, 40.4, 30, 24))
    assert whole.getTrackingScore() == 1 and whole.box == (60, 40, 30, 24)
    ok, box = whole.update(frames[1])
    assert all(type(side) is int for side in box) and box == tuple(round(side) for side in exact.update(frames[1])[1])
    assert whole.copy().update(frames[2])[1] == tuple(round(side) for side in exact.update(frames[2])[1])
    assert 0 < whole.getTrackingScore() <= 1 and whole.copy().box == whole.box


def test_a_list_of_boxes_adds_all_or_none(noise):
    targets = kcf_track.MultiTracker("paper")
    with pytest.raises(kcf_track.BoxError):
        targets.add(noise, [(60, 40, 30, 24), (1, 1, -3, 4)])
    assert targets.ids == []
    assert targets.add(noise, np.array([[60, 40, 90, 64], [10, 10, 40, 40]]), format="xyxy") == [1, 2]
    assert targets[2].box == (10, 10, 30, 30)
    with pytest.raises(kcf_track.BoxError, match="not 0"):
        targets.add(noise, [])
    with pytest.raises(kcf_track.SettingError, match="^id: "):
        targets.add(noise, [(60, 40, 30, 24)], id=4)
    with pytest.warns(UserWarning, match="1x1 pixels"):
        targets.add(noise, (60, 40, 1, 1))
