#!/usr/bin/env python3
"""Compares the kernel machines with scikit-learn on gradient histograms of real video patches.

    pip install numpy scikit-learn
    cargo build --release --example machines
    KCF_TRACK_OTB=DIR python3 scripts/check_against_sklearn.py [--example target/release/examples/machines]

Samples are the gray values of windows 1.5
times the target. Per sequence: 12 windows on the target and 60 beside it from its first frames to learn from, 100
windows of a later frame to decide on. It must hold that decisions of SVC differ by less than 1e-3, projections of
KernelPCA (up to sign) by less than 1e-6 and predictions of KernelRidge by less than 1e-8. Where SVC has all its
coefficients at their bounds its bias may be any of an interval: there it is put into the middle first, where that of
`svm` is. The exit code says whether all holds. Without the sequences nothing is compared.
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
SIDE, CONTEXT = 16, 1.5
# A bandwidth that sets windows apart, and the wide one that trackers use.
SIGMAS = [0.1, 0.3]
LIMITS = {"SVC": 1e-3, "SVC balanced": 1e-3, "KernelPCA": 1e-6, "KernelRidge": 1e-8}


def features(folder, places, size):
    """Gray values, 16 x 16, of windows of `size` (width, height), given as (frame, x, y) with 0-based frames and centres."""
    images = sorted((folder / "img").glob("*.jpg"))
    rows = []
    for frame, x, y in places:
        box = (x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)
        patch = Image.open(images[frame]).convert("L").transform((SIDE, SIDE), Image.EXTENT, box, Image.BILINEAR)
        rows.append(np.asarray(patch, dtype=float).ravel() / 255)
    return np.array(rows)


def overlap(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(w, 0) * max(h, 0)
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def windows(folder, seed=0):
    """Feature values and labels to learn from, and feature values to decide on."""
    lines = (folder / "groundtruth_rect.txt").read_text().split("\n")
    truth = [[float(v) for v in re.split(r"[,\s]+", line.strip())] for line in lines if line.strip()]
    truth = [(x - 1, y - 1, w, h) for x, y, w, h in truth]
    rng = np.random.default_rng(seed)
    moved = lambda box, reach: (
        box[0] + rng.uniform(-reach, reach) * box[2],
        box[1] + rng.uniform(-reach, reach) * box[3],
        box[2],
        box[3],
    )
    place = lambda frame, box: (frame, float(box[0] + box[2] / 2), float(box[1] + box[3] / 2))
    places, labels = [], []
    for frame in range(0, 12):
        box = truth[frame]
        places.append(place(frame, moved(box, 0.05)))
        labels.append(1.0)
        found = 0
        while found < 5:
            other = moved(box, 2.0)
            if overlap(box, other) < 0.5:
                places.append(place(frame, other))
                labels.append(-1.0)
                found += 1
    later = [place(20, moved(truth[20], 0.15 if i % 4 == 0 else 1.5)) for i in range(100)]
    size = np.floor(np.array(truth[0][2:]) * CONTEXT)
    rows = features(folder, places + later, size)
    return rows[: len(places)], np.array(labels), rows[len(places) :]


def ours(example, paths, machine, kernel, settings, embed=False):
    command = [example, "gram", machine, *paths, "--kernel", json.dumps(kernel), "--settings", json.dumps(settings)]
    run = subprocess.run(command + ["--embed"] * embed, check=True, capture_output=True, text=True)
    return np.array([[float(v) for v in line.split(",")] for line in run.stdout.split()])


def to_the_middle(svc, train, labels):
    """What SVC's bias is less than the middle of those that are as good; 0 where there is but one."""
    coefficients = np.zeros(len(labels))
    coefficients[svc.support_] = np.abs(svc.dual_coef_[0])
    bounds = svc.C * svc.class_weight_[(labels > 0).astype(int)]
    zero, full = coefficients < 1e-9 * bounds, coefficients > (1 - 1e-9) * bounds
    if not (zero | full).all():
        return 0.0
    # A margin is at least 1 where a coefficient is zero, and at most 1 where it is at its bound.
    moves = labels - svc.decision_function(train)
    at_least = (labels > 0) == zero
    return (moves[at_least].max() + moves[~at_least].min()) / 2


def compare(example, folder, scratch):
    train, labels, test = windows(folder)
    paths = [Path(scratch) / name for name in ("train.csv", "test.csv")]
    np.savetxt(paths[0], np.c_[labels, train], delimiter=",", fmt="%.17g")
    np.savetxt(paths[1], np.c_[np.ones(len(test)), test], delimiter=",", fmt="%.17g")
    worst = {}
    for sigma in SIGMAS:
        gamma = 1 / (train.shape[1] * sigma**2)
        kernel = {"gaussian": {"sigma": sigma}}
        run = lambda machine, settings, embed=False: ours(example, paths, machine, kernel, settings, embed)
        for name, weight in [("SVC", None), ("SVC balanced", "balanced")]:
            for c in (0.1, 1.0, 10.0, 100.0):
                svc = SVC(C=c, kernel="rbf", gamma=gamma, class_weight=weight, tol=1e-6).fit(train, labels)
                mine = run("svm", {"c": c, "balance": weight is not None, "tolerance": 1e-6})[:, 0]
                theirs = svc.decision_function(test) + to_the_middle(svc, train, labels)
                worst[name] = max(worst.get(name, 0), np.abs(mine - theirs).max())
        pca = KernelPCA(8, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(train)
        mine, theirs = run("kpca", {"rank": 8}, embed=True), pca.transform(test)
        signs = np.sign((mine * theirs).sum(0))
        worst["KernelPCA"] = max(worst.get("KernelPCA", 0), np.abs(mine * signs - theirs).max())
        for lam in (1e-4, 1e-2, 1.0):
            ridge = KernelRidge(alpha=lam, kernel="rbf", gamma=gamma).fit(train, labels)
            mine = run("krr", {"lambda": lam, "bias": False})[:, 0]
            worst["KernelRidge"] = max(worst.get("KernelRidge", 0), np.abs(mine - ridge.predict(test)).max())
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", type=Path, default=Path("target/release/examples/machines"))
    args = parser.parse_args()
    data = Path(os.environ.get("KCF_TRACK_OTB", "OTB"))
    if not data.is_dir():
        print(f"skipped: no sequences in {data} (set KCF_TRACK_OTB)")
        return 0
    print("| largest difference | " + " | ".join(LIMITS) + " |")
    print("| --- |" + " ---: |" * len(LIMITS))
    good = True
    for name in SEQUENCES:
        with tempfile.TemporaryDirectory() as scratch:
            worst = compare(args.example.resolve(), data / name, scratch)
        good &= all(worst[key] < limit for key, limit in LIMITS.items())
        print(f"| {name} | " + " | ".join(f"{worst[key]:.1e}" for key in LIMITS) + " |")
    print("| allowed | " + " | ".join(f"{limit:.0e}" for limit in LIMITS.values()) + " |")
    print("every difference is within its limit" if good else "A DIFFERENCE IS TOO LARGE")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
