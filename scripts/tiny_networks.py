#!/usr/bin/env python3
"""Write the small networks that the tests of `siamese` and `expert` use, and what NumPy answers for one picture.

    python scripts/tiny_networks.py tests/fixtures/networks

needs the packages onnx and numpy. The backbone is one convolution with gratings as weights; the head compares by squared
distances and answers boxes of 64 pixels. `nan/` has a head whose answer is not a number unless the picture is black.
"""
import json
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

CHANNELS, KERNEL, STRIDE, TEMPLATE = 6, 15, 16, 8


def gratings():
    """Weights `[channel][colour][row][column]` of mean 0."""
    y, x = np.mgrid[:KERNEL, :KERNEL] - KERNEL // 2
    out = np.empty((CHANNELS, 3, KERNEL, KERNEL))
    for k in range(CHANNELS):
        angle = np.pi * k / CHANNELS
        for c in range(3):
            out[k, c] = np.sin(0.4 * (np.cos(angle) * x + np.sin(angle) * y) + 0.7 * c)
    out -= out.mean(axis=(2, 3), keepdims=True)
    return (out / 2000).astype(np.float32)


def network(name, nodes, inputs, outputs, constants):
    def value(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    initial = [numpy_helper.from_array(np.asarray(v, np.float32), n) for n, v in constants.items()]
    graph = helper.make_graph(nodes, name, value(inputs), value(outputs), initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    checker.check_model(model)
    return model


def convolution(inputs, output, stride=1):
    return helper.make_node(
        "Conv", inputs, [output], strides=[stride, stride], dilations=[1, 1], pads=[0, 0, 0, 0], group=1
    )


def head(nan):
    node = helper.make_node
    nodes = [
        convolution(["x", "z"], "product"),
        node("Mul", ["x", "x"], ["xx"]),
        convolution(["xx", "ones"], "energy"),
        node("Mul", ["z", "z"], ["zz"]),
        node("ReduceSum", ["zz"], ["given"], axes=[1, 2, 3], keepdims=1),
        node("Mul", ["product", "two"], ["twice"]),
        node("Sub", ["energy", "twice"], ["rest"]),
        node("Add", ["rest", "given"], ["distance"]),
        node("Add", ["given", "little"], ["unit"]),
        node("Div", ["distance", "unit"], ["relative"]),
        node("Mul", ["relative", "four"], ["background"]),
        node("Sub", ["three", "background"], ["target"]),
        node("Concat", ["background", "target"], ["classes"], axis=1),
        convolution(["product", "nothing", "sides"], "boxes"),
    ]
    if nan:
        nodes[-2] = node("Concat", ["background", "target"], ["finite"], axis=1)
        nodes += [node("Neg", ["energy"], ["below"]), node("Sqrt", ["below"], ["nan"]), node("Add", ["finite", "nan"], ["classes"])]
    constants = dict(
        ones=np.ones((1, CHANNELS, TEMPLATE, TEMPLATE)), two=2.0, three=3.0, four=4.0, little=1e-6,
        nothing=np.zeros((4, 1, 1, 1)), sides=np.full(4, 32.0),
    )
    inputs = {"z": [1, CHANNELS, TEMPLATE, TEMPLATE], "x": [1, CHANNELS, 2 * TEMPLATE, 2 * TEMPLATE]}
    side = TEMPLATE + 1
    return network("head", nodes, inputs, {"classes": [1, 2, side, side], "boxes": [1, 4, side, side]}, constants)


def picture(side):
    y, x = np.mgrid[:side, :side].astype(float)
    return np.stack([np.floor(127 + 120 * np.sin(0.05 * (c + 1) * x + 0.002 * x * y + c)) for c in range(3)])


def features(weights, picture):
    cells = (picture.shape[1] - KERNEL) // STRIDE + 1
    cut = lambda i, j: picture[:, STRIDE * i:STRIDE * i + KERNEL, STRIDE * j:STRIDE * j + KERNEL]
    return np.array([[np.tensordot(weights, cut(i, j), 3) for j in range(cells)] for i in range(cells)]).transpose(2, 0, 1)


def main(folder):
    weights = gratings()
    backbone = network(
        "backbone", [convolution(["picture", "weights"], "features", STRIDE)],
        {"picture": [1, 3, "height", "width"]}, {"features": [1, CHANNELS, "rows", "columns"]}, {"weights": weights},
    )
    for path, nan in ((folder, False), (folder / "nan", True)):
        path.mkdir(parents=True, exist_ok=True)
        save(backbone, path / "backbone.onnx")
        save(head(nan), path / "head.onnx")
    # The target is what lies in the middle of the search area, moved by a cell each way.
    area = picture(255)
    z, x = features(weights, area[:, 80:207, 48:175]), features(weights, area)
    distance = np.array([[((x[:, i:i + TEMPLATE, j:j + TEMPLATE] - z) ** 2).sum() for j in range(9)] for i in range(9)])
    relative = 4 * distance / (z ** 2).sum()
    scores = 1 / (1 + np.exp(2 * relative - 3))
    (folder / "numpy.json").write_text(json.dumps({"features": z[:, 3, 5].tolist(), "scores": scores.ravel().round(6).tolist()}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
