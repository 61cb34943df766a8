#!/usr/bin/env python3
"""Makes tests/data/kernels/*.json: what the kernel machines must reproduce.

Nothing here is taken from the Rust code. Each number comes from scikit-learn, cvxpy, or the plainest dense NumPy form
of the definition, and where there are two ways to it, both are taken and compared before the number is written.

    pip install numpy scipy scikit-learn cvxpy
    python3 scripts/kernel_fixtures.py
"""
import json
import math
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.linalg, scipy.optimize, scipy.spatial
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import KernelCenterer, PolynomialFeatures
from sklearn.svm import SVC

OUT = Path(__file__).resolve().parent.parent / "tests" / "data" / "kernels"
TIGHT = dict(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)


def numbers(value):
    """Arrays as nested lists of 15 significant digits."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(v) for v in value]
    if isinstance(value, np.ndarray):
        return numbers(value.tolist())
    return float(f"{value:.15g}") if isinstance(value, (float, np.floating)) else value


def save(name, **fields):
    (OUT / f"{name}.json").write_text(json.dumps(numbers(fields)) + "\n")


def same(a, b, tolerance):
    error = np.abs(np.asarray(a) - np.asarray(b)).max()
    assert error < tolerance, error

rng = np.random.default_rng(20)

# Two classes of points in 4 dimensions, the background in two clumps with the target between; some test points.
DIM, SIGMA = 4, 0.8
X = np.round(
    np.vstack([rng.normal(0.5, 0.4, (6, DIM)), rng.normal(-0.4, 0.6, (7, DIM)), rng.normal(1.4, 0.3, (3, DIM))]), 2
)
y = np.r_[np.ones(6), -np.ones(10)]
T = np.round(rng.normal(0.3, 0.8, (5, DIM)), 2)
n = len(X)
GAMMA = 1 / (DIM * SIGMA**2)
K, KT = pairwise.rbf_kernel(X, gamma=GAMMA), pairwise.rbf_kernel(T, X, gamma=GAMMA)
A, B = np.abs(X), np.abs(T)
save(
    "kernels",
    X=X,
    T=T,
    y=y,
    sigma=SIGMA,
    dim=DIM,
    gauss_train=K,
    gauss_test=KT,
    gauss_2s2=dict(sigma=1.2, test=pairwise.rbf_kernel(T, X, gamma=1 / (2 * 1.2**2))),
    linear_test=T @ X.T,
    poly=dict(degree=3, gamma=1 / DIM, coef0=1.0, test=pairwise.polynomial_kernel(T, X, 3, gamma=1 / DIM, coef0=1)),
    poly_cov=dict(degree=2, gamma=1.0, coef0=1.0, train=pairwise.polynomial_kernel(X, X, 2, gamma=1, coef0=1)),
)

# Centring with a plain and a weighted mean.
centerer = KernelCenterer().fit(K)
p = np.linspace(1, 3, n) / np.linspace(1, 3, n).sum()
centre = np.eye(n) - np.outer(np.ones(n), p)
save(
    "centering",
    Kc=centerer.transform(K),
    Kt_c=centerer.transform(KT),
    weights=p,
    Kc_weighted=centre @ K @ centre.T,
    Kt_c_weighted=(KT - p @ K) @ centre.T,
)

# Kernel PCA.
r = 5
pca = KernelPCA(r, kernel="precomputed", eigen_solver="dense").fit(K)
projections = pca.transform(KT)
x1 = np.round(rng.normal(size=9), 2)
shifts = np.stack([np.roll(x1, i) for i in range(9)])
spectrum = np.sort(np.fft.fft(pairwise.rbf_kernel(shifts[:1], shifts, gamma=1 / 9)[0]).real)[::-1]
same(spectrum, np.linalg.eigvalsh(pairwise.rbf_kernel(shifts, gamma=1 / 9))[::-1], 1e-12)
save(
    "kpca",
    r=r,
    eigenvalues=pca.eigenvalues_,
    abs_projections_train=np.abs(pca.transform(K)),
    abs_projections_test=np.abs(projections),
    novelty_test=1 - 2 * KT.mean(1) + K.mean() - (projections**2).sum(1),
    circulant=dict(x=x1, sigma=1.0, eigenvalues=spectrum),
)

# Support vector machines.
problems = {}
for name, train, test, c, weights in [
    ("linear", X @ X.T, T @ X.T, 1.0, np.ones(n)),
    ("poly2", *(pairwise.polynomial_kernel(a, X, 2, gamma=0.2, coef0=1) for a in (X, T)), 1.0, np.ones(n)),
    ("gauss", K, KT, 10.0, np.ones(n)),
    ("gauss_weighted", K, KT, 2.0, np.where(y > 0, 1.5, 1.0)),
]:
    svc = SVC(kernel="precomputed", C=c, tol=1e-11).fit(train, y, sample_weight=weights)
    alpha = np.zeros(n)
    alpha[svc.support_] = svc.dual_coef_[0]
    objective = 0.5 * alpha @ train @ alpha - np.abs(alpha).sum()
    problems[name] = dict(
        C=c * weights,
        dual_coef=alpha,
        bias=float(svc.intercept_[0]),
        decision_test=test @ alpha + svc.intercept_[0],
        dual_objective=float(objective),
        n_sv=int((np.abs(alpha) > 1e-9).sum()),
    )
save("svm", problems=problems)

# Kernel ridge regression; with weights and a constant, from the stationarity of the primal objective in (alpha, b).
lam = 0.05
ridge = KernelRidge(alpha=lam, kernel="precomputed").fit(K, y)
w = np.linspace(0.5, 2, n)
primal = np.block([[K @ np.diag(w) @ K + lam * K, (K @ w)[:, None]], [(w @ K)[None], np.array([[w.sum()]])]])
solution = np.linalg.solve(primal, np.r_[K @ (w * y), w @ y])
save(
    "krr",
    lambda_=lam,
    alpha=ridge.dual_coef_,
    pred_test=KT @ ridge.dual_coef_,
    weighted=dict(w=w, alpha=solution[:-1], bias=float(solution[-1]), pred_test=KT @ solution[:-1] + solution[-1]),
)

# Kernel Fisher discriminant, each sample with the same say.
def fisher(k, eps, regular):
    means = [k[:, y == s].mean(1) for s in (1, -1)]
    scatter = k @ k - sum((y == s).sum() * np.outer(m, m) for s, m in zip((1, -1), means))
    alpha = np.linalg.solve(scatter + eps * regular, means[0] - means[1])
    at = [alpha @ m for m in means]
    scale = 2 / (at[0] - at[1])
    return alpha * scale, -scale * sum(at) / 2

eps = 0.1
a_i, b_i = fisher(K, eps, np.eye(n))
a_k, b_k = fisher(K, eps, K)
# The second is linear discriminant analysis with S_w + eps I on the explicit features that a Cholesky factor of K is.
features = np.linalg.cholesky(K)
target, background = features[y > 0], features[y < 0]
within = sum((c - c.mean(0)).T @ (c - c.mean(0)) for c in (target, background))
direction = np.linalg.solve(within + eps * np.eye(n), target.mean(0) - background.mean(0))
gap = direction @ (target.mean(0) - background.mean(0))
middle = direction @ (target.mean(0) + background.mean(0)) / 2
same(2 / gap * (features @ direction - middle), K @ a_k + b_k, 1e-8)
lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
along = [(X[y == s] @ lda).mean() for s in (1, -1)]
save(
    "klda",
    eps=eps,
    reg_I=dict(alpha=a_i, bias=b_i, scores_test=KT @ a_i + b_i),
    reg_K=dict(alpha=a_k, bias=b_k, scores_test=KT @ a_k + b_k),
    linear_sklearn=dict(scores_test=2 / (along[0] - along[1]) * (T @ lda - sum(along) / 2)),
)

# Square-loss exemplar machines: the dense stationarity equations in (alpha, nu), exemplar first.
lam, theta = 0.02, 0.5

def exemplar(full):
    m = len(full) - 1
    loss = np.diag(np.r_[theta, np.full(m, 1 / m)])
    one, code = np.ones(m + 1), np.r_[1, -np.ones(m)]
    system = np.block(
        [[loss @ full + lam * np.eye(m + 1), (loss @ one)[:, None]], [one @ loss @ full, one @ loss @ one]]
    )
    solution = np.linalg.solve(system, np.r_[loss @ code, one @ loss @ code])
    return solution[:-1], solution[-1]

def rbf(a, b):
    return pairwise.rbf_kernel(a, b, gamma=GAMMA)

def poly(a, b):
    return pairwise.polynomial_kernel(a, b, 2, gamma=0.3, coef0=1)

cases = {}
crowd = np.round(rng.normal(size=(14, 3)), 2)
for name, negatives, exemplars, kernel in [("gauss", X[y < 0], X[:2], rbf), ("poly2_lowrank", crowd, X[:2, :3], poly)]:
    k_neg = kernel(negatives, negatives)
    found, machines = [], []
    for x0 in exemplars[:, None]:
        k0, k00 = kernel(negatives, x0)[:, 0], kernel(x0, x0).item()
        alpha, nu = exemplar(np.block([[np.array([[k00]]), k0[None]], [k0[:, None], k_neg]]))
        u2 = k00 - k0 @ np.linalg.pinv(k_neg, rcond=1e-10) @ k0
        values = np.block([[np.array([[k00]]), k0[None]], [k0[:, None], k_neg]]) @ alpha + nu
        found.append(
            dict(
                x0=x0[0],
                k0=k0,
                k00=k00,
                u=float(np.sqrt(max(u2, 0))) if u2 > 1e-8 * k00 else 0.0,
                nu=float(nu),
                f_train=values,
            )
        )
        machines.append((x0, k0, k00, alpha))
    score = None
    if name == "gauss":
        (p0, p1, _, a), (q0, q1, _, b) = machines
        k12 = kernel(p0, q0).item()
        product = a[1:] @ k_neg @ b[1:] + a[0] * (p1 @ b[1:]) + b[0] * (q1 @ a[1:]) + a[0] * b[0] * k12
        score = dict(k12=k12, formula1=float(product))
    cases[name] = dict(
        X_neg=negatives, rank=int(np.linalg.matrix_rank(k_neg, tol=1e-9)), exemplars=found, matching_score=score
    )
save("slem", lambda_=lam, theta=theta, poly=dict(degree=2, gamma=0.3, coef0=1.0), cases=cases)

# Reconstruction weights and the embedding that preserves them.
spe = {}
for name, k, kt in [("linear", X @ X.T, T @ X.T), ("gauss", K, KT)]:
    ridge, tau, eps = 1e-2, 0.02, 1e-2
    weights = np.zeros((n, n))
    for j in range(n):
        own = [i for i in range(n) if y[i] == y[j] and i != j]
        other = [i for i in range(n) if y[i] != y[j]]
        # Least squares with the sum one, by its KKT system.
        kkt = np.block(
            [
                [k[np.ix_(own, own)] + ridge * np.eye(len(own)), np.ones((len(own), 1))],
                [np.ones((1, len(own))), np.zeros((1, 1))],
            ]
        )
        weights[own, j] = np.linalg.solve(kkt, np.r_[k[own, j], 1])[:-1]
        root = np.linalg.cholesky(k[np.ix_(other, other)] + 1e-12 * np.eye(len(other)))
        left = k[other, j] - k[np.ix_(other, own)] @ weights[own, j]
        s = cp.Variable(len(other))
        cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(root.T @ s) - left @ s + tau * cp.norm1(s)), [cp.sum(s) == 0]
        ).solve(**TIGHT)
        weights[other, j] = np.where(np.abs(s.value) < 1e-8, 0, s.value)
    m = weights + weights.T - weights @ weights.T
    h = np.eye(n) - 1 / n
    kc = h @ k @ h
    right = kc @ kc + eps * kc + 1e-9 * np.trace(kc) * np.eye(n)
    values, vectors = scipy.linalg.eigh(kc @ m @ kc, right)
    embedded = KernelCenterer().fit(k).transform(kt) @ vectors[:, ::-1][:, :3]
    spe[name] = dict(
        ridge=ridge,
        l1=tau,
        eps=eps,
        D_columns=weights,
        M=m,
        eigenvalues=values[::-1][:3],
        abs_embedding_test=np.abs(embedded),
    )
# The sparse step as first published, in feature values: the fewest weights that leave at most `limit` of the residual,
# both by their sums
# of magnitudes. A linear programme over s = s+ - s- and the magnitudes of what is left.
own, other = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
left, limit = X[own[0]] - X[own].T @ spe["linear"]["D_columns"][own, own[0]], 0.05
m = len(other)
program = scipy.optimize.linprog(
    np.r_[np.ones(2 * m), np.zeros(DIM)],
    np.block(
        [
            [-X[other].T, X[other].T, -np.eye(DIM)],
            [X[other].T, -X[other].T, -np.eye(DIM)],
            [np.zeros((1, 2 * m)), np.ones((1, DIM))],
        ]
    ),
    np.r_[-left, left, limit],
    np.r_[np.ones(m), -np.ones(m), np.zeros(DIM)][None],
    [0],
)
assert np.abs(left).sum() > limit and program.fun > 1e-3
# Least squares with the sum one is not least squares after both sides are multiplied by the Gram matrix.
rest, at = own[1:], own[0]
inner, values = K[np.ix_(rest, rest)], K[rest, at]
constrained = lambda q, g: np.linalg.solve(
    np.block([[q, np.ones((len(g), 1))], [np.ones((1, len(g))), np.zeros((1, 1))]]), np.r_[g, 1]
)[:-1]
exact, multiplied = constrained(inner, values), constrained(inner @ inner, inner @ values)
remains = lambda t: float(K[at, at] - 2 * values @ t + t @ inner @ t)
assert np.abs(exact - multiplied).max() > 1e-3
save(
    "dspe",
    lp=dict(er=left, X_other=X[other], eps=limit, norm="l1 residual", objective=float(program.fun)),
    counterexample=dict(t_exact=exact, t_gram=multiplied, res_exact=remains(exact), res_gram=remains(multiplied)),
    **spe,
)

# All cyclic shifts of one patch, as a dense problem.
rows, cols, channels = 4, 3, 2
x = np.round(rng.normal(size=(rows, cols, channels)), 2)
sigma, lam = 0.6, 1e-2
places = [(i, j) for i in range(rows) for j in range(cols)]
shifted = np.stack([np.roll(x, s, (0, 1)).ravel() for s in places])
gram = pairwise.rbf_kernel(shifted, gamma=1 / (x.size * sigma**2))
labels = np.array([np.exp(-0.5 * (min(i, rows - i) ** 2 + min(j, cols - j) ** 2) / 0.8**2) for i, j in places])
alpha = np.linalg.solve(gram + lam * np.eye(len(places)), labels)
fast = np.fft.ifft2(np.fft.fft2(labels.reshape(rows, cols)) / (np.fft.fft2(gram[0].reshape(rows, cols)) + lam)).real
same(fast.ravel(), alpha, 1e-9)
a_ex, nu = exemplar(gram)
# Another patch, most of it the first one moved, from a stream of its own.
noise = np.random.default_rng(21).normal(size=x.shape)
z = np.round(np.roll(x, (2, 1), (0, 1)) + 0.3 * noise, 2)
kernel = lambda a, b: np.exp(-((a - b) ** 2).sum() / (x.size * sigma**2))
k_xx = np.array([kernel(x, np.roll(x, s, (0, 1))) for s in places])
k_xz = np.array([kernel(z, np.roll(x, s, (0, 1))) for s in places])
response = np.array(
    [
        sum(a * kernel(np.roll(z, (-i, -j), (0, 1)), np.roll(x, s, (0, 1))) for a, s in zip(alpha, places))
        for i, j in places
    ]
)
# A support vector machine with squared hinge loss on all shifts, as a quadratic programme.
code, cost = np.where(labels > 0.4, 1.0, -1.0), 20.0
a, b = cp.Variable(len(places)), cp.Variable()
root = np.linalg.cholesky(gram + 1e-12 * np.eye(len(places)))
slack = cp.pos(1 - cp.multiply(code, gram @ a + b))
hinge = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root.T @ a) + cost / 2 * cp.sum_squares(slack)))
hinge.solve(**TIGHT)
plane = lambda v: np.asarray(v).reshape(rows, cols)
save(
    "circulant",
    shape=[rows, cols, channels],
    x=x,
    z=z,
    sigma=sigma,
    lambda_=lam,
    labels=plane(labels),
    alpha=plane(alpha),
    k_xx=plane(k_xx),
    k_xz=plane(k_xz),
    response=plane(response),
    squared_hinge=dict(y=plane(code), C=cost, objective=float(hinge.value), alpha=plane(a.value), bias=float(b.value)),
    slem=dict(theta=theta, alpha=plane(a_ex), nu=float(nu)),
)

# All windows of a map against supports of their size under a soft mask, from a stream of its own.
stream = np.random.default_rng(22)
big, supports, mask, sigma = (
    stream.uniform(0, 0.6, (7, 9, 3)),
    stream.uniform(0, 0.6, (4, 3, 4, 3)),
    stream.uniform(0.2, 1, (3, 4)),
    0.3,
)
big, supports, mask = (np.round(v, 3) for v in (big, supports, mask))
supports[3] = big[2:5, 4:8]
norm = supports.shape[3] * (mask**2).sum()
windows = np.lib.stride_tricks.sliding_window_view(big, mask.shape, (0, 1)).transpose(0, 1, 3, 4, 2)
apart = ((supports[:, None, None] - windows[None]) ** 2 * mask[:, :, None] ** 2).sum((3, 4, 5))
# The same by the inner products and norms of the masked windows.
masked, flat = [(v * mask[:, :, None]).reshape(*v.shape[:-3], -1) for v in (supports, windows)]
same(apart, (masked**2).sum(1)[:, None, None] + (flat**2).sum(2) - 2 * np.einsum("nd,ijd->nij", masked, flat), 1e-12)
assert apart[3, 2, 4] == 0
save(
    "dense", Z=big, supports=supports, mask=mask, sigma=sigma, norm=norm, kernel_maps=np.exp(-apart / (norm * sigma**2))
)

# Pivoted Cholesky, column by column.
residual, columns, pivots = np.diag(K).copy(), [], []
while residual.max() > 1e-3 * K.max():
    j = int(residual.argmax())
    column = (K[:, j] - sum((c * c[j] for c in columns), np.zeros(n))) / np.sqrt(residual[j])
    columns.append(column)
    pivots.append(j)
    residual = np.where(np.isin(np.arange(n), pivots), 0, residual - column**2)
factor = np.stack(columns, 1)
save("pchol", tol=1e-3, rank=len(pivots), pivots=pivots, B=factor, max_err=float(np.abs(factor @ factor.T - K).max()))

# A metric: scipy's distances under the inverse of the covariance, with and without a ridge.
covariance = np.cov(X.T, bias=True)
metrics = {}
for name, ridge in [("plain", 1e-12), ("ridged", 0.1)]:
    precision = np.linalg.inv(covariance + ridge * np.trace(covariance) / DIM * np.eye(DIM))
    squared = scipy.spatial.distance.cdist(T, X, "mahalanobis", VI=precision) ** 2
    metrics[name] = dict(
        ridge=ridge, precision=precision, linear_test=T @ precision @ X.T / DIM, gauss_test=np.exp(-squared * GAMMA)
    )
save("mahalanobis", **metrics)

# The polynomial feature map: the monomials of scikit-learn, of squared scales as the coefficients of (a·b / D + c)^p.
constant, degree = 0.5, 3
monomials = PolynomialFeatures(degree).fit(X)
orders = [
    math.factorial(degree) / math.prod(map(math.factorial, [*powers, degree - sum(powers)]))
    for powers in monomials.powers_
]
scales = [
    np.sqrt(o * constant ** (degree - sum(powers)) / DIM ** sum(powers)) for o, powers in zip(orders, monomials.powers_)
]
mapped = monomials.transform(T) * scales
same(
    mapped @ (monomials.transform(X) * scales).T,
    pairwise.polynomial_kernel(T, X, degree, gamma=1 / DIM, coef0=constant),
    1e-12,
)
save("polynomial_map", a=constant, b=degree, sorted_test=np.sort(mapped, axis=1))

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
