#!/usr/bin/env python3
"""Embeddings of scikit-learn's handwritten digits: the error of the nearest neighbour, and denoising by kernel PCA.

    pip install numpy scikit-learn
    cargo build --release --example machines
    python3 scripts/digits.py [--seeds 5] [--first 0] [--train 500] [--example target/release/examples/machines]

Each seed is one split of `load_digits` into training and test samples, the same share of each class in both. The
machines of this crate run in `examples/machines/digits.rs`, their neighbours from scikit-learn here; all choose their
parameters on the training samples by the same five folds. The data is written to a temporary folder and goes nowhere
else.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

DIMS = [7, 9, 12, 16, 20, 25, 32, 40, 50, 64]
NOISE = 0.3
FOLDS = 5


class Pixels:
    """No embedding at all."""

    def fit(self, x, y):
        return self

    def transform(self, x):
        return x


def grid(name):
    if name == "pixels":
        return [Pixels()]
    if name == "PCA":
        return [PCA(d) for d in DIMS if d < 64]
    if name == "LDA":
        return [LinearDiscriminantAnalysis(solver="eigen", shrinkage=s, n_components=9) for s in (1e-4, 1e-2, 0.1, 0.3)]
    return [KernelPCA(d, kernel="rbf", gamma=1 / (64 * s * s)) for s in (0.25, 0.35, 0.5, 0.7) for d in DIMS]


def error(model, x, y, tx, ty):
    model.fit(x, y)
    nearest = KNeighborsClassifier(1).fit(model.transform(x), y)
    return 100 * (nearest.predict(model.transform(tx)) != ty).mean()


def folds(n):
    """Rows to learn from and rows to validate on, as in the example."""
    return [(np.arange(n) % FOLDS != fold, np.arange(n) % FOLDS == fold) for fold in range(FOLDS)]


def validated(name, x, y, tx, ty):
    """The test error of the setting with the least mean error over the folds."""
    best = min(grid(name), key=lambda m: sum(error(m, x[a], y[a], x[b], y[b]) for a, b in folds(len(x))))
    return error(best, x, y, tx, ty)


def denoised_by_pca(x, noisy_x, tx, noisy_tx):
    """The mean squared error of linear PCA's reconstruction, components chosen as above."""

    def mse(d, clean, noisy, truth):
        pca = PCA(d).fit(clean)
        return ((pca.inverse_transform(pca.transform(noisy)) - truth) ** 2).mean()

    best = min(range(2, 50), key=lambda d: sum(mse(d, x[a], noisy_x[b], x[b]) for a, b in folds(len(x))))
    return mse(best, x, noisy_tx, tx)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--train", type=int, default=500)
    parser.add_argument("--example", default="target/release/examples/machines")
    parser.add_argument("--verbose", action="store_true", help="print the parameters chosen")
    args = parser.parse_args()

    digits = load_digits()
    pixels, classes = digits.data / 16, digits.target
    rows, denoised = {}, {"noisy": [], "PCA": [], "kpca pre-image": []}
    seeds = range(args.first, args.first + args.seeds)
    for seed in seeds:
        x, tx, y, ty = train_test_split(pixels, classes, train_size=args.train, stratify=classes, random_state=seed)
        rng = np.random.default_rng(seed)
        noisy_x, noisy_tx = x + NOISE * rng.normal(size=x.shape), tx + NOISE * rng.normal(size=tx.shape)
        for name in ("pixels", "PCA", "KernelPCA", "LDA"):
            rows.setdefault(name, []).append(validated(name, x, y, tx, ty))
        with tempfile.TemporaryDirectory() as folder:
            samples = {"train": (x, y), "test": (tx, ty), "train-noisy": (noisy_x, y), "test-noisy": (noisy_tx, ty)}
            for file, (values, labels) in samples.items():
                np.savetxt(Path(folder) / f"{file}.csv", np.c_[labels, values], delimiter=",", fmt="%.17g")
            run = subprocess.run([args.example, "digits", folder], check=True, capture_output=True, text=True)
        ours = json.loads(run.stdout)
        for name, value in ours["errors"].items():
            rows.setdefault(name, []).append(value)
        denoised["noisy"].append(((noisy_tx - tx) ** 2).mean())
        denoised["PCA"].append(denoised_by_pca(x, noisy_x, tx, noisy_tx))
        denoised["kpca pre-image"].append(ours["denoised"])
        if args.verbose:
            for name, text in ours["chosen"].items():
                print(f"seed {seed} {name}: {text}", flush=True)

    print(f"\n1-NN error in percent, {args.train} training and {len(ty)} test digits, {args.seeds} splits\n")
    print("| embedding | " + " | ".join(f"seed {s}" for s in seeds) + " | mean |")
    print("| --- |" + " ---: |" * (args.seeds + 1))
    for name, values in sorted(rows.items(), key=lambda item: np.mean(item[1])):
        print(f"| {name} | " + " | ".join(f"{v:.2f}" for v in values) + f" | {np.mean(values):.2f} |")
    print(f"\nMean squared error of digits with noise of standard deviation {NOISE} (pixels 0 to 1)\n")
    print("| denoised by | " + " | ".join(f"seed {s}" for s in seeds) + " | mean |")
    print("| --- |" + " ---: |" * (args.seeds + 1))
    for name, values in denoised.items():
        print(f"| {name} | " + " | ".join(f"{v:.4f}" for v in values) + f" | {np.mean(values):.4f} |")


if __name__ == "__main__":
    main()
