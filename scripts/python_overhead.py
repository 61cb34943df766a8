#!/usr/bin/env python3
"""What Python adds to an update, and what threads of Python give.

    scripts/python_tests.sh                       # builds and installs the package
    cargo build --release --manifest-path python/Cargo.toml --target-dir target/python/build --example time_updates
    target/python/venv/bin/python scripts/python_overhead.py target/python/build/release/examples/time_updates

The same gray frames of 640x480 pixels are tracked by the same library from Rust and from Python, in turn, for some
rounds. Printed are the medians of all updates, the times that a tenth of them stays below, and the mean over the frames
of each one's least time in all rounds: on a machine that does other work meanwhile, that says most. Then eight threads,
each with a tracker of its own, update as often as one does, each of them: printed is how many updates they do in the
time of one, from Python and from Rust. With two processors idle, the best that there is to have is 2. What other work
takes of the processors is seen in that number, but not in what is printed beside it: the processor time of an update,
which grows where threads are in each other's way in memory, and the share of the time for which threads could not have
run on a free processor either, as they waited for a lock. Twice the one time by the other is what there is to expect
where there is no lock to wait for.
"""

import argparse
import resource
import statistics
import subprocess
import tempfile
import threading
import time

import kcf_track
import numpy as np

WIDTH, HEIGHT, COUNT = 640, 480, 120
#: Seconds of one thread's updates.
THREAD_SECONDS = 1.0
BOX = (280.0, 200.0, 64.0, 80.0)


def make_frames():
    """Smooth noise that drifts."""
    rng = np.random.default_rng(5)
    coarse = rng.integers(0, 255, (HEIGHT // 4, WIDTH // 4)).astype(float)
    picture = np.kron(coarse, np.ones((4, 4)))
    for axis in (0, 1):
        picture = (picture + np.roll(picture, 1, axis) + np.roll(picture, 2, axis)) / 3
    picture = picture.astype(np.uint8)
    return [np.roll(picture, (i % 7, 2 * i % 40), (0, 1)).copy() for i in range(COUNT)]


def in_rust(program, path, preset):
    words = [program, path, str(WIDTH), str(HEIGHT), preset, ",".join(map(str, BOX))]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return [int(word) for word in said.split()]


def in_python(frames, preset):
    tracker = kcf_track.Tracker(preset)
    tracker.init(frames[0], BOX)
    took = []
    for frame in frames[1:]:
        begun = time.perf_counter_ns()
        tracker.update(frame)
        took.append(time.perf_counter_ns() - begun)
    return took


def throughput(frames, preset, threads, rounds):
    """Updates a second of so many threads together, and the processor time of one update in milliseconds."""
    trackers = [kcf_track.Tracker(preset) for _ in range(threads)]
    for tracker in trackers:
        tracker.init(frames[0], BOX)
    start, idle = threading.Barrier(threads + 1), []

    def work(tracker):
        start.wait()
        begun, before = time.perf_counter_ns(), schedule()
        for _ in range(rounds):
            for frame in frames[1:]:
                tracker.update(frame)
        took = time.perf_counter_ns() - begun
        idle.append(max(0.0, 1 - (schedule() - before) / took))

    running = [threading.Thread(target=work, args=(tracker,)) for tracker in trackers]
    for thread in running:
        thread.start()
    start.wait()
    begun, used = time.perf_counter(), time.process_time()
    for thread in running:
        thread.join()
    took, updates = time.perf_counter() - begun, threads * rounds * (len(frames) - 1)
    return updates / took, 1e3 * (time.process_time() - used) / updates, statistics.mean(idle)


def schedule():
    """Nanoseconds for which this thread has run, or could have if a processor had been free."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
            return sum(map(int, file.read().split()[:2]))
    except OSError:
        return 0


def throughput_in_rust(program, path, preset, threads, rounds):
    """The same of threads in Rust."""
    words = [program, path, str(WIDTH), str(HEIGHT), preset, ",".join(map(str, BOX)), str(threads), str(rounds)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, 1e3 * used / (threads * rounds * (COUNT - 1)), None


def show_threads(program, path, frames, preset, pairs):
    """How much more eight threads do than one."""
    ways = {
        "Rust": lambda threads, rounds: throughput_in_rust(program, path, preset, threads, rounds),
        "Python": lambda threads, rounds: throughput(frames, preset, threads, rounds),
    }
    for name, measure in ways.items():
        one, *_ = measure(1, 1)
        rounds = max(1, round(THREAD_SECONDS * one / (COUNT - 1)))
        found = []
        for _ in range(pairs):
            (one, cost, _), (eight, costs, idle) = measure(1, rounds), measure(8, max(1, rounds // 4))
            found.append((eight / one, cost, costs, idle))
        gains, cost, costs, idle = zip(*found)
        cost, costs = statistics.median(cost), statistics.median(costs)
        waits = "" if idle[0] is None else f"; they wait for a lock {100 * statistics.median(idle):.1f} % of the time"
        print(
            f"{preset}, {name}: 8 threads do {statistics.median(gains):.2f} times what one does, at best "
            f"{max(gains):.2f}; processor time of an update {cost:.3f} ms, of one among eight {costs:.3f} ms{waits}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--preset", action="append")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    frames = make_frames()
    with tempfile.NamedTemporaryFile(suffix=".raw") as file:
        file.write(b"".join(frame.tobytes() for frame in frames))
        file.flush()
        for preset in given.preset or ["paper", "fast", "robust"]:
            rust, python = [], []
            for _ in range(given.rounds):
                rust.append(in_rust(given.program, file.name, preset))
                python.append(in_python(frames, preset))
            ways = {
                "median": lambda rounds: statistics.median(sum(rounds, [])),
                "tenth": lambda rounds: statistics.quantiles(sum(rounds, []), n=10)[0],
                "least": lambda rounds: statistics.mean(map(min, zip(*rounds))),
            }
            for name, way in ways.items():
                a, b = way(rust) / 1000, way(python) / 1000
                print(f"{preset}, {name}: {a:.0f} us in Rust, {b:.0f} us in Python, {100 * (b / a - 1):+.1f} %")
        for preset in given.preset or ["fast", "robust"]:
            show_threads(given.program, file.name, frames, preset, given.pairs)


if __name__ == "__main__":
    main()
