#!/usr/bin/env python3
"""Write the small networks that the tests of `siamese` and `expert` use, and what NumPy answers for one picture.

    python scripts/tiny_networks.py tests/fixtures/networks

needs the packages onnx and numpy. The backbone is a convolution with gratings as weights, two depthwise ones that spread
its answers to the cells beside, and the mean of each channel; the head compares by squared distances and answers boxes of
64 pixels. `nan/` has a head whose answer is not a number unless the picture is black.
"""
import json
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

CHANNELS, KERNEL, STRIDE, TEMPLATE = 6, 15, 16, 8
BIAS = np.linspace(-0.02, 0.03, CHANNELS).astype(np.float32)


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


def spread():
    """Weights `[channel][1][row][column]` of the depthwise convolution: mostly the middle."""
    weights = 0.02 * np.sin(np.arange(CHANNELS * 9)).reshape(CHANNELS, 1, 3, 3)
    weights[:, 0, 1, 1] = 1
    return weights.astype(np.float32)


def network(name, nodes, inputs, outputs, constants):
    def value(shapes):
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]

    initial = [numpy_helper.from_array(np.asarray(v, np.float32), n) for n, v in constants.items()]
    graph = helper.make_graph(nodes, name, value(inputs), value(outputs), initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    checker.check_model(model)
    return model


def convolution(inputs, output, stride=1, padding=0, group=1):
    return helper.make_node(
        "Conv", inputs, [output], strides=[stride] * 2, dilations=[1, 1], pads=[padding] * 4, group=group
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
    step = STRIDE // 2
    cells = (picture.shape[1] - KERNEL) // step + 1
    cut = lambda i, j: picture[:, step * i:step * i + KERNEL, step * j:step * j + KERNEL]
    raw = np.array([[np.tensordot(weights, cut(i, j), 3) for j in range(cells)] for i in range(cells)]).transpose(2, 0, 1)
    near = depthwise(depthwise(raw, 2) + BIAS[:, None, None], 1)
    return near + raw.mean((1, 2))[:, None, None]


def depthwise(maps, stride):
    """Each channel's convolution with its weights and a border of one zero."""
    padded, cells = np.pad(maps, ((0, 0), (1, 1), (1, 1))), (maps.shape[1] - 1) // stride + 1
    cell = lambda i, j: (padded[:, stride * i:stride * i + 3, stride * j:stride * j + 3] * spread()[:, 0]).sum((1, 2))
    return np.array([[cell(i, j) for j in range(cells)] for i in range(cells)]).transpose(2, 0, 1)


def main(folder):
    weights = gratings()
    nodes = [
        convolution(["picture", "weights"], "raw", STRIDE // 2),
        helper.make_node("GlobalAveragePool", ["raw"], ["mean"]),
        convolution(["raw", "spread", "bias"], "beside", 2, 1, CHANNELS),
        convolution(["beside", "spread"], "near", 1, 1, CHANNELS),
        helper.make_node("Add", ["near", "mean"], ["features"]),
    ]
    for path, nan in ((folder, False), (folder / "nan", True)):
        path.mkdir(parents=True, exist_ok=True)
        backbone = network(
            "backbone", nodes, {"picture": [1, 3, "height", "width"]}, {"features": [1, CHANNELS, "rows", "columns"]},
            {"weights": weights, "spread": spread(), "bias": 0 * BIAS if nan else BIAS},
        )
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
