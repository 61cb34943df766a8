#!/usr/bin/env python3
"""What a video costs beside its decoding, and several targets beside one.

    scripts/video_speed.py [--clip FILE --init x,y,w,h [--init x,y,w,h]...] [--preset NAME] [--rounds N] [--seconds N]
                           [--program FILE]

Without a clip one is rendered: H.264 of 1920x1080, noisy as of a camera, with as many seconds of 30 frames as --seconds
says. One after the other, ffmpeg alone decodes it to the raw gray frames that the program asks for, to nowhere and
through a pipe to `cat`, and the program follows its first target. Then the program follows 1, 2, 4 and 8 targets on one
thread and on two, in the same frames from a pipe, which costs hardly any decoding. Prints
medians of the paired ratios: of whole times, and on one thread of the updates' own times. Without further boxes the
eight lie around the first one, moved by an eighth of its size.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from labelled import labels, program

# Offsets of the first box, in its own width and height.
AROUND = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1)]


def timed(command, given=None):
    """How long a command takes that reads the file `given`."""
    begun = time.perf_counter()
    with open(given or "/dev/null", "rb") as frames:
        subprocess.run(list(map(str, command)), stdin=frames, capture_output=True, check=True)
    return time.perf_counter() - begun


def followed(command, frames):
    """How long a run takes in which rows of JSON are written, and its updates alone."""
    begun = time.perf_counter()
    with open(frames, "rb") as given:
        rows = subprocess.run(list(map(str, command)), stdin=given, capture_output=True, check=True).stdout
    whole = time.perf_counter() - begun
    return whole, sum(row["track_ms"] for row in map(json.loads, rows.splitlines()) if row["state"] != "initial")


def rendered(executable, place, seconds):
    """A clip of the program's own scenes, and the box of its target."""
    scene, clip = Path(place) / "scene", Path(place) / "clip.mp4"
    flags = ["--size", "1920x1080", "--target", "120x90", "--frames", 60, "--seed", 3, "--set", "noise=3"]
    timed([executable, "synth", "--out", scene, *flags])
    pattern = scene / "img/%04d.jpg"
    # There and back, so that it goes on where it begins again.
    there_and_back = "split[a][b];[b]reverse[c];[a][c]concat,loop=-1:120"
    encode = ["ffmpeg", "-v", "error", "-y", "-framerate", 30, "-i", pattern, "-filter_complex", there_and_back]
    timed([*encode, "-t", seconds, "-c:v", "libx264", "-pix_fmt", "yuv420p", clip])
    first = next(labels(scene / "groundtruth_rect.txt"))
    return clip, [",".join(map(str, first))]


def eight(boxes):
    """The boxes, and others around the first until there are eight."""
    x, y, w, h = map(float, boxes[0].split(","))
    return (boxes + [f"{x + i * w / 8},{y + j * h / 8},{w},{h}" for i, j in AROUND])[:8]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=Path)
    parser.add_argument("--init", action="append", default=[])
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    if bool(args.clip) != bool(args.init):
        parser.error("--clip and --init belong together")
    executable = args.program or program()
    with tempfile.TemporaryDirectory() as place:
        clip, boxes = (args.clip, args.init) if args.clip else rendered(executable, place, args.seconds)
        track = [executable, clip, "--preset", args.preset]
        decode = ["ffmpeg", "-v", "error", "-nostdin", "-i", clip, "-map", "0:V:0", "-f", "rawvideo"]
        decode += ["-fps_mode", "passthrough", "-pix_fmt", "gray", "-y"]
        piped = ["sh", "-c", '"$@" | cat > /dev/null', "sh", *decode, "pipe:1"]
        # As it is sent through a pipe: frames in one file, in memory after the first reading.
        raw = Path(place) / "clip.y4m"
        timed(["ffmpeg", "-v", "error", "-y", "-i", clip, "-frames:v", 150, "-pix_fmt", "gray", "-strict", -1, raw])
        all_boxes = eight(boxes)
        nowhere, pipe, targets = [], [], {}
        for _ in range(args.rounds):
            alone, through = timed([*decode, "/dev/null"]), timed(piped)
            whole = timed([*track, "--init", boxes[0]])
            nowhere.append(whole / alone)
            pipe.append(whole / through)
            for threads in (1, 2):
                for count in (1, 2, 4, 8):
                    flags = [part for box in all_boxes[:count] for part in ("--init", box)]
                    follow = [executable, "-", "--preset", args.preset, *flags, "--jobs", threads]
                    key = f"{count} targets on {threads} threads"
                    targets.setdefault(key, []).append(followed([*follow, "--quiet", "--jsonl", "-"], raw))
    ratios = (statistics.median(nowhere), statistics.median(pipe))
    said = f"{ratios[0]:.2f} times as long as decoding to nowhere, {ratios[1]:.2f} to a pipe"
    print(f"{clip.name}, {args.preset}: {said}")
    ones = targets["1 targets on 1 threads"]
    for key, times in targets.items():
        whole, updates = (statistics.median(t[i] / one[i] for t, one in zip(times, ones)) for i in range(2))
        # On two threads updates wait for each other's memory and for the machine.
        alone = f", {updates:.2f} in updates alone" if "on 1 threads" in key else ""
        print(f"  {key}: {whole:.2f} times as long as one on one{alone}")
    print(json.dumps({"nowhere": nowhere, "pipe": pipe, "targets": targets}))


main()
