#!/usr/bin/env python3
"""How long the estimators take to fit scikit-learn's handwritten digits, beside its own, in one thread.

    pip install ".[machines]"
    python3 scripts/machines.py [--repeats 5]

Samples, kernels and settings are the same, both in one run. A time is the CPU time of `fit`, the least of the repeats.
The second table is the accuracy of support vector machines, the mean of five folds.
"""

import argparse
import time

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as TheirPCA
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kcf_track.machines import KDSPE, SVM, KernelFisher, KernelPCA, KernelRidge

SIGMA = 0.5


def seconds(machine, x, y, repeats):
    def once():
        fresh, begun = clone(machine), time.process_time()
        fresh.fit(x, y)
        return time.process_time() - begun

    return min(once() for _ in range(repeats))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    x, y = load_digits(return_X_y=True)
    x, gamma = x / 16, 1 / (x.shape[1] * SIGMA**2)
    pairs = {
        f"kernel PCA, {count or 'all'} components": [
            KernelPCA(count or len(x)),
            TheirPCA(count, kernel="rbf", gamma=gamma, eigen_solver="dense"),
        ]
        for count in (8, 100, None)
    } | {
        "kernel ridge": [KernelRidge(0.01, bias=False), TheirRidge(alpha=0.01, kernel="rbf", gamma=gamma)],
        "SVM": [SVM(10, balance=False), SVC(C=10, gamma=gamma)],
    }
    print("| fit of 1,797 digits | ours, s | scikit-learn, s | ratio |\n| --- | ---: | ---: | ---: |")
    for name, (ours, theirs) in pairs.items():
        mine, other = (seconds(machine, x, y, repeats) for machine in (ours.set_params(sigma=SIGMA), theirs))
        print(f"| {name} | {mine:.3f} | {other:.3f} | {mine / other:.2f} |", flush=True)
    print(f"| kernel Fisher | {seconds(KernelFisher(sigma=SIGMA), x, y, 1):.1f} | | |", flush=True)
    print(f"| KDSPE, 1,000 digits | {seconds(KDSPE(sigma=SIGMA), x[:1000], y[:1000], 1):.1f} | | |", flush=True)
    print("\n| accuracy | mean of five folds |\n| --- | ---: |")
    for name, machine in [
        ("SVM, pairs", SVM(10, balance=False, sigma=SIGMA)),
        ("SVM, pairs, balanced", SVM(10, sigma=SIGMA)),
        ("SVM, one against the rest", SVM(10, balance=False, sigma=SIGMA, multiclass="ovr")),
        ("SVC", SVC(C=10, gamma=gamma)),
    ]:
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        print(f"| {name} | {cross_val_score(machine, x, y, cv=folds).mean():.4f} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
