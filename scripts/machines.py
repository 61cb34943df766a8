#!/usr/bin/env python3
"""How long the estimators take to fit scikit-learn's handwritten digits, beside its own, in one thread.

    pip install ".[machines]"
    OPENBLAS_NUM_THREADS=1 python3 scripts/machines.py [--repeats 3]

Kernels, samples and settings are the same. Times are CPU seconds of `fit`, the least of the repeats; of both programs
in one run. KDSPE has no counterpart. The last columns are shares of test digits told right, of five folds.
"""

import argparse
import time

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as TheirPCA
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kcf_track.machines import KDSPE, SVM, KernelFisher, KernelPCA, KernelRidge

SIGMA = 0.5


def cpu_seconds(machine, x, y, repeats):
    def once():
        fresh = clone(machine)
        begun = time.process_time()
        fresh.fit(x, y)
        return time.process_time() - begun

    return min(once() for _ in range(repeats))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    x, y = load_digits(return_X_y=True)
    x /= 16
    n, gamma = len(x), 1 / (x.shape[1] * SIGMA**2)
    rows = []
    for name, ours, theirs, count in [
        ("kernel PCA, 8 components", KernelPCA(8, sigma=SIGMA), TheirPCA(8, kernel="rbf", gamma=gamma, eigen_solver="dense"), n),
        ("kernel PCA, 100 components", KernelPCA(100, sigma=SIGMA), TheirPCA(100, kernel="rbf", gamma=gamma, eigen_solver="dense"), n),
        ("kernel ridge", KernelRidge(alpha=0.01, bias=False, sigma=SIGMA), TheirRidge(alpha=0.01, kernel="rbf", gamma=gamma), n),
        ("SVM", SVM(C=10, balance=False, sigma=SIGMA), SVC(C=10, gamma=gamma), n),
        ("kernel Fisher", KernelFisher(sigma=SIGMA), None, n),
        ("KDSPE", KDSPE(sigma=SIGMA), None, 1000),
    ]:
        mine = cpu_seconds(ours, x[:count], y[:count], 1 if theirs is None else repeats)
        other = theirs and cpu_seconds(theirs, x[:count], y[:count], repeats)
        print(f"{name}: {count}, {mine:.2f} s, " + (f"{other:.2f} s, {mine / other:.2f}" if theirs else "-"), flush=True)
    for machine in (SVM(C=10, balance=False, sigma=SIGMA), SVC(C=10, gamma=gamma)):
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        print(type(machine).__name__, cross_val_score(machine, x, y, cv=folds).mean())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
