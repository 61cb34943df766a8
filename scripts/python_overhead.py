#!/usr/bin/env python3
"""What Python adds to an update, and what threads of Python give.

    scripts/python_tests.sh                       # builds and installs the package
    cargo build --release --manifest-path python/Cargo.toml --target-dir target/python/build --example time_updates
    target/python/venv/bin/python scripts/python_overhead.py target/python/build/release/examples/time_updates

The same gray frames of 640x480 pixels are tracked by the same library from Rust and from Python, in turn, for some
rounds. Printed are the medians of all updates, and the times that a tenth of them stays below: on a machine that does
other work meanwhile, those say more. Then eight threads, each with a tracker of its own, do eight times the work of
one: printed is how much more they do in the same time, and how many processors each kept busy. With two processors idle, the
best that there is to have is 2.
"""

import argparse
import statistics
import subprocess
import tempfile
import threading
import time

import kcf_track
import numpy as np

WIDTH, HEIGHT, COUNT = 640, 480, 120
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
    """Updates a second of so many threads together, and the processors that were busy."""

    def work():
        tracker = kcf_track.Tracker(preset)
        tracker.init(frames[0], BOX)
        for _ in range(rounds):
            for frame in frames[1:]:
                tracker.update(frame)

    running = [threading.Thread(target=work) for _ in range(threads)]
    begun, used = time.perf_counter(), time.process_time()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    took = time.perf_counter() - begun
    return threads * rounds * (len(frames) - 1) / took, (time.process_time() - used) / took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--preset", action="append")
    parser.add_argument("--rounds", type=int, default=9)
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
        for _ in range(3):
            (one, busy), (eight, busier) = (throughput(frames, preset, n, 8 // n) for n in (1, 8))
            print(
                f"{preset}: 8 threads do {eight / one:.2f} times what one does, "
                f"on {busier:.2f} processors instead of {busy:.2f}"
            )


if __name__ == "__main__":
    main()
