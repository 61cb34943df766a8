#!/usr/bin/env python3
"""The picture at the top of the README, made of the program's own output on the demo: box and state, the response
behind them, and the confidence over time.

    python3 -m venv .venv && .venv/bin/pip install pillow
    .venv/bin/python scripts/demo_picture.py docs/demo.webp
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw

import labelled

HEIGHT, STRIP, GAP = 480, 56, 8
GROUND, INK, CURVE = (24, 24, 30), (220, 220, 224), (92, 200, 120)


def run(program, place):
    """The documents and pictures of a run on the demo."""
    command = [program, "--seq", labelled.ROOT / "assets/demo", "--overlay", place / "overlay", "-q"]
    subprocess.run([*command, "--response", place / "response", "--json", place / "run.json"], check=True)
    return json.loads((place / "run.json").read_text())["frames"]


def compose(frames, place, every):
    pictures = []
    overlays, responses = (
        sorted((place / kind).glob(end)) for kind, end in (("overlay", "*.jpg"), ("response", "*.png"))
    )
    by_name = {path.stem: path for path in responses}
    for i in range(0, len(frames), every):
        left = Image.open(overlays[i]).convert("RGB")
        left = left.resize((left.width * HEIGHT // left.height, HEIGHT), Image.LANCZOS)
        # The first frame has no response.
        right = by_name.get(overlays[i].stem)
        if right is not None:
            right = Image.open(right).convert("RGB")
            right = right.resize((right.width * HEIGHT // right.height, HEIGHT), Image.LANCZOS)
        width = left.width + GAP + (right.width if right else HEIGHT * 4 // 7)
        picture = Image.new("RGB", (width if not pictures else pictures[0].width, HEIGHT + GAP + STRIP), GROUND)
        picture.paste(left, (0, 0))
        if right is not None:
            picture.paste(right, (left.width + GAP, 0))
        draw = ImageDraw.Draw(picture)
        top, bottom, across = HEIGHT + GAP + 4, HEIGHT + GAP + STRIP - 6, picture.width - 96
        points = [
            (8 + j * across / (len(frames) - 1), bottom - frame.get("confidence", 1.0) * (bottom - top))
            for j, frame in enumerate(frames[: i + 1])
        ]
        draw.line([(8, bottom), (8 + across, bottom)], fill=(70, 70, 78))
        if len(points) > 1:
            draw.line(points, fill=CURVE, width=2)
        x, y = points[-1]
        draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=CURVE)
        confidence = frames[i].get("confidence", 1.0)
        draw.text((picture.width - 80, top + 4), f"confidence\n{confidence:.2f}", fill=INK, font_size=14)
        pictures.append(picture)
    return pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="a .webp or .gif file")
    parser.add_argument("--every", type=int, default=2, help="of so many frames one is shown")
    parser.add_argument("--program", help="the built program [default: built here]")
    args = parser.parse_args()
    program = args.program or labelled.program()
    with tempfile.TemporaryDirectory() as place:
        pictures = compose(run(program, Path(place)), Path(place), args.every)
    pause = 40 * args.every
    pictures[0].save(args.out, save_all=True, append_images=pictures[1:], duration=pause, loop=0, quality=60, method=4)


if __name__ == "__main__":
    main()
