#!/usr/bin/env python3
"""Makes selection.json and sparse.json of tests/data/kernels: what the choice of settings by cross-validation and the
classification by sparse representation must reproduce. As scripts/kernel_fixtures.py, beside which it stands:

    pip install numpy scipy scikit-learn cvxpy
    python3 scripts/choice_fixtures.py
"""

import cvxpy as cp
import numpy as np
from sklearn.linear_model import Lasso
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from fixture_files import OUT, TIGHT, same, save

# Cross-validation of σ and C.
stream = np.random.default_rng(23)
centres = np.repeat([[0.6, 0.2, 0], [-0.5, 0.4, 0.3], [0.2, -0.9, 0.1]], [17, 14, 11], 0)
many = np.round(centres + stream.normal(0, 0.5, centres.shape), 3)
truth = np.repeat([1.0, -1.0, -1.0], [17, 14, 11])
mixed = stream.permutation(len(many))
many, truth = many[mixed], truth[mixed]
sigmas, prices, parts = [0.1, 0.4, 1.5], [0.1, 1.0, 30.0], 4
search = GridSearchCV(
    SVC(tol=1e-9),
    dict(gamma=[1 / (3 * s * s) for s in sigmas], C=prices),
    cv=StratifiedKFold(parts),
    scoring="accuracy",
).fit(many, truth)
scored = {
    (p["gamma"], p["C"]): [float(search.cv_results_[f"split{i}_test_score"][at]) for i in range(parts)]
    for at, p in enumerate(search.cv_results_["params"])
}
save(
    "selection",
    X=many,
    y=truth,
    sigmas=sigmas,
    prices=prices,
    folds=parts,
    accuracy=[scored[1 / (3 * s * s), c] for s in sigmas for c in prices],
)

# Sparse representation: codes by scikit-learn's lasso on the samples themselves, or on a factor of their Gram matrix.
stream = np.random.default_rng(24)
faces = np.repeat(np.eye(3, 6), 5, 0) + stream.normal(0, 0.35, (15, 6))
probes = np.repeat(np.eye(3, 6), 2, 0) + stream.normal(0, 0.35, (6, 6))
faces, probes = (np.round(v / np.linalg.norm(v, axis=1, keepdims=True), 3) for v in (faces, probes))
classes, tau, sigma = np.repeat([4, 1, 7], 5), 0.02, 0.6
cases = {}
for name, k, cross in [
    ("linear", faces @ faces.T / 6, probes @ faces.T / 6),
    (
        "gauss",
        pairwise.rbf_kernel(faces, gamma=1 / (6 * sigma**2)),
        pairwise.rbf_kernel(probes, faces, gamma=1 / (6 * sigma**2)),
    ),
]:
    own = (probes**2).sum(1) / 6 if name == "linear" else np.ones(len(probes))
    # Rows of a root of K are the samples' images, in as many dimensions as there are samples.
    values, axes = np.linalg.eigh(k)
    kept = values > 1e-12
    root = axes[:, kept] * np.sqrt(values[kept])
    images = cross @ axes[:, kept] / np.sqrt(values[kept])
    lasso = lambda z, root=root: (
        Lasso(tau / root.shape[1], fit_intercept=False, tol=1e-14, max_iter=10**6).fit(root.T, z).coef_
    )
    codes = np.stack([lasso(z) for z in images])
    weights = cp.Variable(15)
    programme = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(images[0] - root.T @ weights) + tau * cp.norm1(weights)))
    programme.solve(**TIGHT)
    same(programme.value, 0.5 * ((images[0] - root.T @ codes[0]) ** 2).sum() + tau * np.abs(codes[0]).sum(), 1e-9)
    left = np.stack(
        [
            [o - 2 * (s * m) @ c + (s * m) @ k @ (s * m) for m in (classes == v for v in (1, 4, 7))]
            for s, c, o in zip(codes, cross, own)
        ]
    )
    share = np.stack([np.abs(codes) @ (classes == v) for v in (1, 4, 7)], 1).max(1) / np.abs(codes).sum(1)
    cases[name] = dict(
        codes=codes, residuals=left, concentration=(3 * share - 1) / 2, classes=np.array([1, 4, 7])[left.argmin(1)]
    )
save("sparse", X=faces, T=probes, classes=classes, tau=tau, sigma=sigma, cases=cases)
print("written to", OUT)
