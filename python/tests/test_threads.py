"""Python threads, with and without the GIL."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
from conftest import moving
from kcf_track import MultiTracker, Source, StateError, Tracker

BOX = (60, 40, 30, 24)
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def together(count, work):
    """Run `work(i)` on `count` threads at once and return the exceptions."""
    start, raised = threading.Barrier(count), []

    def run(i):
        start.wait()
        try:
            work(i)
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.skipif(not FREE, reason="needs a free-threaded interpreter")
def test_the_gil_stays_off():
    program = """
import sys, numpy, kcf_track, kcf_track.__main__
assert not sys._is_gil_enabled(), "after the import"
noise = numpy.random.default_rng(0).integers(0, 255, (120, 160), numpy.uint8)
tracker, targets = kcf_track.Tracker(), kcf_track.MultiTracker("fast")
tracker.init(noise, (60, 40, 30, 24)), targets.add(noise, (60, 40, 30, 24))
tracker.update(noise), targets.update(noise)
print(sys._is_gil_enabled())
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("False\n", ""), "a module without `gil_used = false` switches it on"


def test_each_thread_may_have_a_tracker(noise):
    frames = moving(noise, 8)
    alone = {}
    for preset in ("robust", "fast", "paper"):
        tracker = Tracker(preset)
        tracker.init(frames[0], BOX)
        alone[preset] = [tracker.update(frame) for frame in frames[1:]]
    found = {}

    def work(i):
        preset = ("robust", "fast", "paper")[i % 3]
        tracker = Tracker(preset)
        tracker.init(frames[0], BOX)
        found[i] = (preset, [tracker.update(frame) for frame in frames[1:]])

    assert not together(9, work) and len(found) == 9
    for preset, boxes in found.values():
        assert boxes == alone[preset]


def test_concurrent_calls_succeed_or_raise_state_error(noise):
    frames = moving(noise, 4)
    tracker, targets = Tracker("fast"), MultiTracker("fast", threads=2)
    asked = {
        Tracker: [
            lambda: tracker.init(frames[0], BOX),
            lambda: tracker.update(frames[1]),
            lambda: tracker.copy().update(frames[2]),
            lambda: (tracker.box, tracker.state, tracker.confidence, tracker.evidence, repr(tracker)),
            lambda: (tracker.response, tracker.response_grid, tracker.settings),
            lambda: tracker.estimate,
        ],
        MultiTracker: [
            lambda: targets.add(frames[0], BOX),
            lambda: targets.update(frames[1]),
            lambda: targets.update(frames[2]),
            lambda: (targets.ids, len(targets), repr(targets)),
            lambda: targets.remove(targets.ids[-1]) if len(targets) > 2 else None,
            lambda: [targets[id] for id in targets.ids],
            lambda: targets.update(frames[3]),
        ],
    }
    tracker.init(frames[0], BOX)
    targets.add(frames[0], BOX)
    for calls in asked.values():
        answered = []

        def work(i, calls=calls, answered=answered):
            for _ in range(40):
                try:
                    calls[i]()
                    answered.append(i)
                except StateError as error:
                    assert "another thread" in str(error), error
                except (KeyError, IndexError):
                    assert calls is asked[MultiTracker], "another thread has removed it"

        assert not together(len(calls), work) and answered
    tracker.init(frames[0], BOX)
    fresh = Tracker("fast")
    fresh.init(frames[0], BOX)
    assert tracker.update(frames[1]) == fresh.update(frames[1]), "the tracker is intact"


def test_threads_share_an_iterator_of_frames(demo):
    """Every frame comes once."""
    frames = Source(demo).frames(1, 60)
    seen = []

    def work(_):
        while True:
            try:
                position, _, frame, *_ = next(frames)
            except StopIteration:
                return
            except StateError as error:
                assert "another thread" in str(error)
                continue
            assert frame.dtype == np.uint8
            seen.append(position)

    assert not together(4, work)
    assert sorted(seen) == list(range(1, 61))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_frames_from_before_a_fork_are_refused(demo):
    """A forked child has no decoding thread."""
    program = f"""
import os, warnings
import kcf_track
warnings.simplefilter("ignore")
frames = kcf_track.Source({str(demo)!r}).frames(1, 20)
next(frames)
child = os.fork()
if child == 0:
    try:
        next(frames)
    except kcf_track.StateError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(sum(1 for _ in frames))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    child, parent = ran.stdout.splitlines()
    assert "before a fork" in child and parent == "19"
