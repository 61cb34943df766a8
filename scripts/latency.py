#!/usr/bin/env python3
"""Latency from a frame to its last row: frames of 640x480 at 60 a second go down a pipe, rows of JSON come back.

    scripts/latency.py PROGRAM [--targets 8] [--preset fast] [--seconds 20] [--load N] [more flags of the program]

Prints p50, p95, p99 in milliseconds, from the end of the write of a frame to the arrival of its last row, how many frames
were left out, and the CPU time of the program per frame that it tracked, which other load changes least. `--load N` keeps N cores busy meanwhile.
"""

import argparse
import json
import multiprocessing
import random
import resource
import subprocess
import threading
import time

WIDTH, HEIGHT, SIDE = 640, 480, 48


def pictures(targets):
    """60 frames in which textured squares move over noise, and the boxes in the first."""
    noise = random.Random(1)
    coarse = lambda n: bytes(noise.randrange(256) for _ in range(n))
    row = lambda n: b"".join(bytes([value]) * 4 for value in coarse(n // 4))
    ground = [row(WIDTH) for _ in range(HEIGHT // 4) for _ in range(1)]
    ground = [line for line in ground for _ in range(4)]
    squares = [[line for line in (row(SIDE) for _ in range(SIDE // 4)) for _ in range(4)] for _ in range(targets)]
    place = lambda t, n: (20 + 150 * (t % 4) + abs(n % 60 - 30), 60 + 200 * (t // 4 % 2) + abs((n + 7 * t) % 60 - 30))
    frames = []
    for n in range(60):
        lines = [bytearray(line) for line in ground]
        for t, square in enumerate(squares):
            x, y = place(t, n)
            for dy, line in enumerate(square):
                lines[y + dy][x : x + SIDE] = line
        frames.append(b"FRAME\n" + b"".join(lines))
    return frames, [(*place(t, 0), SIDE, SIDE) for t in range(targets)]


def busy():
    while True:
        pass


def measure(program, targets=8, preset="fast", rate=60.0, seconds=20.0, load=0, more=()):
    """Waits in milliseconds (`p50`, `p95`, `p99`, `most`), frames `left_out` of `sent`, CPU milliseconds per tracked frame
    (`cpu`), and by how many milliseconds the last frame was sent `late`."""
    frames, boxes = pictures(targets)
    others = [multiprocessing.Process(target=busy, daemon=True) for _ in range(load)]
    for process in others:
        process.start()
    command = [program, "-", "-qq", "-p", preset, "--jsonl", "-", *more]
    for box in boxes:
        command += ["--init", ",".join(map(str, box))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sent, seen = {}, {}

    def read():
        for line in child.stdout:
            seen[json.loads(line)["index"]] = time.perf_counter()

    reader = threading.Thread(target=read)
    reader.start()
    child.stdin.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F60:1 Cmono\n".encode())
    begun, count = time.perf_counter(), int(rate * seconds)
    for n in range(count):
        time.sleep(max(0.0, begun + n / rate - time.perf_counter()))
        child.stdin.write(frames[n % 60])
        child.stdin.flush()
        sent[n + 1] = time.perf_counter()
    child.stdin.close()
    reader.join()
    child.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for process in others:
        process.terminate()
        process.join()
    # The first second warms up.
    waits = sorted(1e3 * (seen[n] - sent[n]) for n in seen if n > rate)
    at = lambda share: waits[min(len(waits) - 1, int(share * len(waits)))]
    cpu = 1e3 * (used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime) / len(seen)
    late = 1e3 * (max(sent.values()) - begun - (count - 1) / rate)
    left_out = count - len(seen)
    return {"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "most": waits[-1], "left_out": left_out, "sent": count,
            "cpu": cpu, "late": late}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--targets", type=int, default=8)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--rate", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--load", type=int, default=0)
    args, more = parser.parse_known_args()
    found = measure(args.program, args.targets, args.preset, args.rate, args.seconds, args.load, more)
    print(
        f"{args.targets} targets, {args.preset}, {args.rate:.0f} frames/s {' '.join(more)}: "
        "p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, most {most:.1f} ms; {left_out} of {sent} frames left out; "
        "CPU {cpu:.1f} ms a frame; the last frame was sent {late:.0f} ms late".format(**found)
    )


if __name__ == "__main__":
    main()
