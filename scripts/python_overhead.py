#!/usr/bin/env python3
"""What Python adds to an update, and what threads of Python give.

    scripts/python_tests.sh                       # builds and installs the package
    cargo build --release --manifest-path python/Cargo.toml --target-dir target/python/build --example time_updates
    target/python/venv/bin/python scripts/python_overhead.py target/python/build/release/examples/time_updates

The same gray frames of 640x480 pixels are tracked by the same library from Rust and from Python, in turn, for some
rounds. Printed are the medians of all updates, and the times that a tenth of them stays below: on a machine that does
other work meanwhile, those say more. Then eight threads, each with a tracker of its own, update as often as one does,
each of them: printed is how many updates they do in the time of one, from Python and from Rust, and the processor time
of an update. With two processors idle, the best that there is to have is 2. Of all pairs the best is printed, too: what
other work takes from a processor is not the library's.
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
    start = threading.Barrier(threads + 1)

    def work(tracker):
        start.wait()
        for _ in range(rounds):
            for frame in frames[1:]:
                tracker.update(frame)

    running = [threading.Thread(target=work, args=(tracker,)) for tracker in trackers]
    for thread in running:
        thread.start()
    start.wait()
    begun, used = time.perf_counter(), time.process_time()
    for thread in running:
        thread.join()
    took, updates = time.perf_counter() - begun, threads * rounds * (len(frames) - 1)
    return updates / took, 1e3 * (time.process_time() - used) / updates


def throughput_in_rust(program, path, preset, threads, rounds):
    """The same of threads in Rust."""
    words = [program, path, str(WIDTH), str(HEIGHT), preset, ",".join(map(str, BOX)), str(threads), str(rounds)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, 1e3 * used / (threads * rounds * (COUNT - 1))


def show_threads(program, path, frames, preset, pairs):
    """How much more eight threads do than one."""
    ways = {
        "Rust": lambda threads, rounds: throughput_in_rust(program, path, preset, threads, rounds),
        "Python": lambda threads, rounds: throughput(frames, preset, threads, rounds),
    }
    for name, measure in ways.items():
        one, _ = measure(1, 1)
        rounds = max(1, round(THREAD_SECONDS * one / (COUNT - 1)))
        found = []
        for _ in range(pairs):
            (one, cost), (eight, costs) = measure(1, rounds), measure(8, max(1, rounds // 4))
            found.append((eight / one, cost, costs))
        gains = [gain for gain, *_ in found]
        cost, costs = (statistics.median(column) for column in list(zip(*found))[1:])
        print(
            f"{preset}, {name}: 8 threads do {statistics.median(gains):.2f} times what one does, at best "
            f"{max(gains):.2f}; processor time of an update {cost:.3f} ms, of one among eight {costs:.3f} ms"
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
                rust += in_rust(given.program, file.name, preset)
                python += in_python(frames, preset)
            medians = [statistics.median(times) / 1000 for times in (rust, python)]
            tenths = [statistics.quantiles(times, n=10)[0] / 1000 for times in (rust, python)]
            for name, (a, b) in (("median", medians), ("tenth", tenths)):
                print(f"{preset}, {name}: {a:.0f} us in Rust, {b:.0f} us in Python, {100 * (b / a - 1):+.1f} %")
        for preset in given.preset or ["fast", "robust"]:
            show_threads(given.program, file.name, frames, preset, given.pairs)


if __name__ == "__main__":
    main()
