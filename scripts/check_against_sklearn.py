#!/usr/bin/env python3
"""Compares the kernel machines with scikit-learn on gradient histograms of real video patches.

    pip install numpy scikit-learn pillow
    cargo build --release --example gram
    KCF_TRACK_OTB=DIR python3 scripts/check_against_sklearn.py [--example target/release/examples/gram]

Per sequence: 12 windows on the target and 60 beside it from its first frames to learn from, 100 windows of a later frame to decide on.
It must hold that decisions of SVC differ by less than 1e-3, projections of KernelPCA (up to sign) by less than 1e-6 and predictions of
KernelRidge by less than 1e-8. The exit code says whether it does. Without the sequences nothing is compared.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

SEQUENCES = ["Crossing", "Couple", "Deer"]
CELL, SIDE, BINS = 4, 32, 9
LIMITS = {"SVC": 1e-3, "SVC balanced": 1e-3, "KernelPCA": 1e-6, "KernelRidge": 1e-8}


def features(image, box):
    """Histograms of gradients of one window, resized to 32 x 32 pixels: 8 x 8 cells, 9 orientations, blocks of 2 x 2 cells normalised.

    `box` is x, y, w, h, 0-based, in pixels of the gray `image`; what lies outside is the border repeated.
    Whatever else a window shall be described by goes here.
    """
    x, y, w, h = box
    columns = np.clip(np.round(x + (np.arange(SIDE) + 0.5) * w / SIDE - 0.5), 0, image.shape[1] - 1).astype(int)
    rows = np.clip(np.round(y + (np.arange(SIDE) + 0.5) * h / SIDE - 0.5), 0, image.shape[0] - 1).astype(int)
    patch = image[np.ix_(rows, columns)]
    dy, dx = np.gradient(patch)
    strength = np.hypot(dx, dy)
    bins = np.floor((np.arctan2(dy, dx) % np.pi) / np.pi * BINS).astype(int) % BINS
    cells = np.zeros((SIDE // CELL, SIDE // CELL, BINS))
    at = np.arange(SIDE) // CELL
    np.add.at(cells, (at[:, None], at[None, :], bins), strength)
    energy = (cells**2).sum(2)
    blocks = energy[:-1, :-1] + energy[1:, :-1] + energy[:-1, 1:] + energy[1:, 1:]
    normal = np.pad(blocks, 1, mode="edge")
    around = [normal[i : i + 8, j : j + 8] for i in (0, 1) for j in (0, 1)]
    return np.mean([np.minimum(cells / np.sqrt(n + 1e-6)[..., None], 0.2) for n in around], axis=0).ravel()


def overlap(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(w, 0) * max(h, 0)
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def windows(folder, seed=0):
    """Feature values and labels to learn from, and feature values to decide on."""
    images = sorted((folder / "img").iterdir())
    truth = [[float(v) for v in re.split(r"[,\s]+", line.strip())] for line in (folder / "groundtruth_rect.txt").read_text().split("\n") if line.strip()]
    truth = [(x - 1, y - 1, w, h) for x, y, w, h in truth]
    gray = lambda i: np.asarray(Image.open(images[i]).convert("L"), float)
    rng = np.random.default_rng(seed)
    moved = lambda box, reach: (box[0] + rng.uniform(-reach, reach) * box[2], box[1] + rng.uniform(-reach, reach) * box[3], box[2], box[3])
    rows, labels = [], []
    for frame in range(0, 12):
        image, box = gray(frame), truth[frame]
        rows.append(features(image, moved(box, 0.05)))
        labels.append(1.0)
        found = 0
        while found < 5:
            other = moved(box, 2.0)
            if overlap(box, other) < 0.5:
                rows.append(features(image, other))
                labels.append(-1.0)
                found += 1
    later = gray(20)
    return np.array(rows), np.array(labels), np.array([features(later, moved(truth[20], 0.15 if i % 4 == 0 else 1.5)) for i in range(100)])


def ours(example, machine, kernel, settings, train, labels, test, embed=False):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("train.csv", "test.csv")]
        np.savetxt(paths[0], np.c_[labels, train], delimiter=",", fmt="%.17g")
        np.savetxt(paths[1], np.c_[np.ones(len(test)), test], delimiter=",", fmt="%.17g")
        command = [example, machine, *map(str, paths), "--kernel", json.dumps(kernel), "--settings", json.dumps(settings)]
        run = subprocess.run(command + ["--embed"] * embed, check=True, capture_output=True, text=True)
    return np.array([[float(v) for v in line.split(",")] for line in run.stdout.split()])


def compare(example, folder, sigma=0.1):
    train, labels, test = windows(folder)
    gamma = 1 / (train.shape[1] * sigma**2)
    kernel = {"gaussian": {"sigma": sigma}}
    run = lambda machine, settings, embed=False: ours(example, machine, kernel, settings, train, labels, test, embed)
    worst = {}
    for name, weight in [("SVC", None), ("SVC balanced", "balanced")]:
        for c in (0.1, 1.0, 10.0, 100.0):
            svc = SVC(C=c, kernel="rbf", gamma=gamma, class_weight=weight, tol=1e-6).fit(train, labels)
            mine = run("svm", {"c": c, "balance": weight is not None, "tolerance": 1e-6})[:, 0]
            worst[name] = max(worst.get(name, 0), np.abs(mine - svc.decision_function(test)).max())
    pca = KernelPCA(8, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(train)
    mine, theirs = run("kpca", {"rank": 8}, embed=True), pca.transform(test)
    signs = np.sign((mine * theirs).sum(0))
    worst["KernelPCA"] = np.abs(mine * signs - theirs).max()
    for lam in (1e-4, 1e-2, 1.0):
        ridge = KernelRidge(alpha=lam, kernel="rbf", gamma=gamma).fit(train, labels)
        mine = run("krr", {"lambda": lam, "bias": False})[:, 0]
        worst["KernelRidge"] = max(worst.get("KernelRidge", 0), np.abs(mine - ridge.predict(test)).max())
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", default="target/release/examples/gram")
    args = parser.parse_args()
    data = Path(os.environ.get("KCF_TRACK_OTB", "../shared/otb"))
    if not data.is_dir():
        print(f"skipped: no sequences in {data} (set KCF_TRACK_OTB)")
        return 0
    print("| largest difference | " + " | ".join(LIMITS) + " |")
    print("| --- |" + " ---: |" * len(LIMITS))
    good = True
    for name in SEQUENCES:
        worst = compare(args.example, data / name)
        good &= all(worst[key] < limit for key, limit in LIMITS.items())
        print(f"| {name} | " + " | ".join(f"{worst[key]:.1e}" for key in LIMITS) + " |")
    print("| allowed | " + " | ".join(f"{limit:.0e}" for limit in LIMITS.values()) + " |")
    print("every difference is within its limit" if good else "A DIFFERENCE IS TOO LARGE")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
