#!/usr/bin/env python3
"""How many targets a core carries: time per frame of a rendered crowd, from a pipe of raw frames to the rows.

    scripts/detections_speed.py PROGRAM [--preset crowd] [--targets 20] [--side 40] [--size 1280x720] [--frames 600]
                                [--threads 2] [--set PATH=VALUE ...]

A frame goes in when the rows of the one before have come out. Of each frame the wall time is measured and, from
/proc, the CPU time of all threads, which other programs on the machine hardly change. Both have the pipe in them, about a
millisecond of CPU time for 1280x720. The first frame, in which all targets are learned, is printed alone. `close` is the
share of boxes with IoU above .5 in the last frame. Needs numpy and pillow.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np


def crowd(count, targets, side, size):
    """Frames of textured discs that move over textured ground, and the boxes by frame."""
    chance = np.random.default_rng(1)

    def texture(width, height, grain):
        from PIL import Image

        small = chance.integers(30, 226, (max(2, height // grain), max(2, width // grain), 3), np.uint8)
        return np.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC))

    ground = texture(*size, 24) // 2 + 50
    y, x = np.mgrid[:side, :side]
    disc = (x - side / 2 + 0.5) ** 2 + (y - side / 2 + 0.5) ** 2 <= side**2 / 4
    looks = [texture(side, side, 5) for _ in range(targets)]
    phases, speeds = chance.uniform(0, 6.3, (targets, 2)), chance.uniform(25, 70, (targets, 2))
    columns = int(np.ceil(np.sqrt(targets * size[0] / size[1])))
    cell = np.array([size[0] / columns, size[1] / np.ceil(targets / columns)])
    home = np.array([((n % columns + 0.5) * cell[0], (n // columns + 0.5) * cell[1]) for n in range(targets)])
    for index in range(count):
        page = ground.copy()
        at = (home + 0.9 * (cell - side) / 2 * np.sin(index / speeds + phases) - side / 2).round().astype(int)
        at = np.clip(at, 0, np.array(size) - side)
        for (left, top), look in zip(at, looks):
            part = page[top : top + side, left : left + side]
            part[disc] = look[disc]
        yield page.tobytes(), at


def cpu_time(pid):
    """Nanoseconds that all threads of a process have run."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass
    return total


def main():
    """Print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--preset", default="crowd")
    parser.add_argument("--targets", type=int, default=20)
    parser.add_argument("--side", type=int, default=40)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    args = parser.parse_args()
    size = tuple(map(int, args.size.split("x")))
    frames = crowd(args.frames, args.targets, args.side, size)
    pixels, at = next(frames)
    with tempfile.TemporaryDirectory() as work:
        given = Path(work) / "targets.csv"
        given.write_text("".join(f"{n + 1},1,{x},{y},{args.side},{args.side}\n" for n, (x, y) in enumerate(at)))
        command = [args.program, "-", "--raw", f"rgb24:{args.size}@60", "--init-file", given, "--preset", args.preset]
        command += ["--jobs", str(args.threads), "--jsonl", "-", "-qq"]
        command += [word for setting in args.settings for word in ("--set", setting)]
        process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        walls, cpus = [], []
        while True:
            begun, ran = time.perf_counter(), cpu_time(process.pid)
            process.stdin.write(pixels)
            process.stdin.flush()
            rows = []
            while len(rows) < args.targets:
                row = json.loads(process.stdout.readline())
                rows += [row] if "bbox" in row else []
            walls.append((time.perf_counter() - begun) * 1e3)
            cpus.append((cpu_time(process.pid) - ran) / 1e6)
            try:
                pixels, at = next(frames)
            except StopIteration:
                break
        process.stdin.close()
        process.wait()
    truth = {n + 1: box for n, box in enumerate(at)}
    boxes = {row["id"]: row["bbox"] for row in rows}

    def overlap(box, corner):
        common = np.prod([max(0, args.side - abs(box[axis] - corner[axis])) for axis in (0, 1)])
        return common / (box[2] * box[3] + args.side**2 - common)

    close = np.mean([overlap(boxes[id], corner) > 0.5 for id, corner in truth.items()])
    median, p99 = (lambda times: np.median(times[1:])), (lambda times: np.percentile(times[1:], 99))
    print(
        f"{args.preset}, {args.targets} targets: CPU {median(cpus):.1f} ms a frame, p99 {p99(cpus):.1f}, first {cpus[0]:.1f}; "
        f"wall {median(walls):.1f} ms, p99 {p99(walls):.1f}, first {walls[0]:.1f}; close {close:.2f}; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
