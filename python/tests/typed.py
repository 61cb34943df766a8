"""A program that mypy and pyright check; it does not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

import numpy as np
from kcf_track import (
    Box,
    Boxes,
    Estimate,
    Evaluation,
    Frame,
    MultiTracker,
    Preset,
    Run,
    Source,
    Step,
    Tracker,
    evaluate,
    presets,
    read_boxes,
    track,
    track_many,
)
from kcf_track.machines import SVM, KernelPCA, KernelRidge


def follow(frames: Iterator[Frame], box: Box) -> list[Box]:
    tracker = Tracker("robust", order="rgb", padding=2.5)
    tracker.init(next(frames), box)
    found: list[Box] = []
    for frame in frames:
        ok, where = tracker.update(frame)
        if ok:
            found.append(where)
    estimate: Estimate | None = tracker.estimate
    confidence: float | None = tracker.confidence
    evidence = tracker.evidence
    if evidence is not None and estimate is not None and confidence is not None:
        psr: float = evidence["psr"]
        print(psr, estimate.state, estimate.evidence["decision"])
    response = tracker.response
    if response is not None:
        height: int = response.shape[0]
        print(height)
    return found


def everything(folder: str) -> None:
    steps: list[Step] = list(track(Source(folder), progress=True))
    names: list[str] = [step.name for step in steps]
    targets = MultiTracker(threads=2)
    pixels = np.zeros((48, 64), np.uint8)
    number: int = targets.add(pixels, (1, 2, 3, 4))
    both: dict[int, tuple[bool, Box]] = targets.update(pixels)
    run = track(folder)
    first: Step = next(run)
    run.close()
    found: Evaluation = evaluate(folder, ["paper", ("fast", {"padding": 3})], others={"mine": Tracker})
    auc: float = found.scores["paper"]["auc"]
    print(names, number, both, first, auc)


#: `cv2.typing.MatLike`.
MatLike = np.ndarray[Any, np.dtype[Union[np.integer[Any], np.floating[Any]]]]


def opencv(frame: MatLike, box: tuple[int, int, int, int]) -> Frame:
    tracker = Tracker("fast")
    tracker.init(frame, box)
    targets = MultiTracker("paper")
    targets.add(frame, box)
    steps = list(track([frame, frame], [box, box], classes=["car", "dog"]))
    return steps[0].plot(frame, style="box")


def results(folder: str) -> list[dict[str, Any]]:
    run: Run = track(0, {3: (1, 2, 3, 4)}, frames=False)
    run.save("labels.xml", "cvat")
    boxes: Boxes = read_boxes("work.json", size=(640, 480))
    state: str = next(track(folder, boxes)).state
    rows = track_many([{"clip": folder, "box": (1, 2, 3, 4)}], out="out", preset="fast")
    return [*rows, {"shape": run.xyxy.shape, "state": state}]


def every(frame: Frame) -> list[Preset]:
    return [name for name in presets() if Tracker(name).update(frame)[0]]


def machines() -> None:
    x = np.zeros((4, 2))
    decided = SVM(C=2.0).fit(x, [0, 0, 1, 1]).decision_function(x)
    components = KernelPCA(2).set_output(transform="default").fit(x)
    coordinates = components.transform(x)
    bias: float = SVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=False).heads_[0].bias
    print(decided.shape, coordinates.shape, components.embedding_.values, KernelRidge().fit(x, x[:, 0]).head_.alpha)
    print(bias, components.X_fit_, components.feature_names_in_, components.get_metadata_routing())
