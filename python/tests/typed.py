"""A program that uses the package as its types have it; mypy and pyright read it, nobody runs it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from kcf_track import Box, Estimate, Frame, MultiTracker, Source, Step, Tracker, evaluate, track
from kcf_track.machines import SVM, KernelPCA


def follow(frames: Iterator[Frame], box: Box) -> list[Box]:
    tracker = Tracker("robust", order="rgb", padding=2.5)
    tracker.init(next(frames), box)
    found: list[Box] = []
    for frame in frames:
        ok, where = tracker.update(frame)
        if ok:
            found.append(where)
    said: Estimate | None = tracker.estimate
    confidence: float | None = tracker.confidence
    evidence = tracker.evidence
    if evidence is not None and said is not None and confidence is not None:
        psr: float = evidence["psr"]
        print(psr, said.state, said.evidence["decision"])
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
    scores = evaluate(folder, ["paper", ("fast", {"padding": 3})], others={"mine": Tracker}).scores
    auc: float = scores["paper"]["auc"]
    print(names, number, both, auc)


def machines() -> None:
    x = np.zeros((4, 2))
    decided = SVM(C=2.0).fit(x, [0, 0, 1, 1]).decision_function(x)
    coordinates = KernelPCA(2).fit(x).transform(x)
    print(decided.shape, coordinates.shape)
