"""Every form of image and region, in every version of the protocol, by the clients' own library.

    python forms.py PROGRAM SEQUENCE      in the virtual environment that run.py makes; run.py calls it

PROGRAM follows the first box of a sequence of VOT. Boxes must not depend on the form that things come in, and the
program must end with 0 at the client's `quit`.
"""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
from trax.client import Client
from trax.image import BufferImage, FileImage, MemoryImage
from trax.region import Mask, Polygon, Rectangle

FRAMES = 8


def picture(form, path):
    if form == "path":
        return FileImage.create(str(path))
    if form == "buffer":
        return BufferImage.create(path.read_bytes())
    mode = "L" if form == "gray" else "RGB"
    return MemoryImage.create(np.ascontiguousarray(PIL.Image.open(path).convert(mode)))


def region(form, box, size):
    x, y, w, h = box
    if form == "rectangle":
        return Rectangle.create(x, y, w, h)
    if form == "polygon":
        return Polygon.create([(x, y), (x + w, y), (x + w, y + h), (x, y + h)])
    mask = np.zeros((size[1], size[0]), np.uint8)
    mask[y:y + h, x:x + w] = 1
    return Mask.create(mask)


def bounds(found):
    """Left, top, right, bottom."""
    if found.type == "rectangle":
        x, y, w, h = found.bounds()
        return x, y, x + w, y + h
    xs, ys = zip(*found)
    return min(xs), min(ys), max(xs), max(ys)


def follow(program, version, image, shape, frames, box, size):
    """The type of the regions that are answered, and the bounds of each."""
    command = [program, "trax", "--preset", "paper", "--protocol", str(version)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        client = Client(stream=(process.stdin.fileno(), process.stdout.fileno()), log=lambda text: None)
        first = {"color": picture(image, frames[0])}
        states = [client.initialize(first, [(region(shape, box, size), {})], {})[0]]
        states += [client.frame({"color": picture(image, frame)}, {}, [])[0] for frame in frames[1:]]
        client.quit()
        if process.wait(10) != 0 or any("confidence" not in found[1] for [found] in states):
            sys.exit(f"version {version}, {image}, {shape}: exit code {process.returncode}, {states}")
    return states[-1][0][0].type, [bounds(found) for [(found, _)] in states]


def main():
    program, sequence = sys.argv[1], Path(sys.argv[2])
    frames = sorted((sequence / "color").glob("*.jpg"))[:FRAMES]
    size = PIL.Image.open(frames[0]).size
    box = [int(float(word)) for word in (sequence / "groundtruth.txt").read_text().split("\n")[0].split(",")]
    count = 0
    # A JPEG is tracked by its luma as it is stored, pixels that somebody decoded by theirs: they differ a little.
    for forms in (("path", "buffer"), ("rgb", "gray")):
        expected = None
        for version, image, shape in itertools.product((1, 2, 3, 4), forms, ("rectangle", "polygon", "mask")):
            if shape == "mask" and version < 3:
                continue
            kind, boxes = follow(program, version, image, shape, frames, box, size)
            expected = expected or boxes
            answered = "polygon" if shape == "polygon" else "rectangle"
            if boxes != expected or kind != answered:
                sys.exit(f"version {version}, {image}, {shape}: {kind} {boxes}, expected {answered} {expected}")
            count += 1
    print(f"{count} forms of images, regions and versions: the same boxes by libtrax")


if __name__ == "__main__":
    main()
