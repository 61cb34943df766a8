"""The machines by the checks of scikit-learn, and bit for bit against the library."""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import struct
import subprocess
import sys
import time

import kcf_track
import numpy as np
import pytest
from conftest import ROOT
from kcf_track import _native, machines
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

ALL = [getattr(machines, name) for name in machines.__all__]
CLASSIFIERS = [made for made in ALL if is_classifier(made())]


# Checks that a machine may fail.
EXCEPTIONS = {
    "SVM": {
        "check_sample_weight_equivalence_on_dense_data": "its iteration ends at a tolerance: two ways to the same "
        "optimum end at different places near it (a test below has a tight tolerance)",
    }
}


@parametrize_with_checks(
    [made() for made in ALL], expected_failed_checks=lambda made: EXCEPTIONS.get(type(made).__name__, {})
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x[:250] / 16.0, y[:250]


@pytest.mark.parametrize("made", CLASSIFIERS)
def test_digits_are_classified(digits, made):
    x, y = digits
    assert cross_val_score(made(sigma=0.4), x, y, cv=3).mean() > 0.85
    machine = made(sigma=0.4).fit(x[::2], y[::2])
    assert machine.decision_function(x[:5]).shape == (5, 10)


def test_pipelines_and_grids_run(digits):
    x, y = digits
    pipeline = make_pipeline(StandardScaler(), machines.SVM(sigma=1.5))
    grid = GridSearchCV(pipeline, {"svm__C": [0.01, 10.0], "svm__sigma": [0.1, 1.5]}, cv=3).fit(x, y)
    assert grid.best_score_ > 0.88 and grid.best_params_ == {"svm__C": 10.0, "svm__sigma": 1.5}
    for reduced in (machines.KernelFisher(sigma=0.4), machines.KernelPCA(30, sigma=0.4), machines.KDSPE(30, sigma=0.4)):
        assert cross_val_score(make_pipeline(reduced, machines.KernelRidgeClassifier()), x, y, cv=3).mean() > 0.85


@pytest.mark.parametrize("made", CLASSIFIERS)
def test_a_precomputed_gram_matrix_gives_the_same_decisions(digits, made):
    x, y = digits
    train, test, y = np.ascontiguousarray(x[:100]), np.ascontiguousarray(x[100:150]), y[:100] % 2
    plain = made(sigma=0.5).fit(train, y)
    kernel = _native.Kernel("gaussian", sigma=0.5)
    given = made(kernel="precomputed").fit(kernel.gram(train), y)
    cross = kernel.cross_gram(test, train)
    assert (given.decision_function(cross) == plain.decision_function(test)).all()
    assert (given.predict(cross) == plain.predict(test)).all()
    if hasattr(given, "transform"):
        assert (given.transform(cross) == plain.transform(test)).all()
    by_sklearn = pairwise.rbf_kernel(train, gamma=1 / (0.25 * train.shape[1]))
    assert np.allclose(by_sklearn, kernel.gram(train))
    with pytest.raises(ValueError, match="square"):
        made(kernel="precomputed").fit(cross, y[:50])
    assert cross_val_score(made(kernel="precomputed"), kernel.gram(train), y, cv=3).mean() > 0.8


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "linear"])
def test_every_kernel_classifies(digits, kernel):
    x, y = digits
    assert cross_val_score(machines.SVM(kernel=kernel, C=100), x, y, cv=3).mean() > 0.85


def test_a_fisher_discriminant_finds_a_class_between_two_others():
    y = np.repeat(["left", "middle", "right"], 30)
    x = np.random.default_rng(0).normal(0, 0.3, (90, 2)) + np.repeat([[-3.0, 1.0], [0.0, 1.0], [3.0, 1.0]], 30, axis=0)
    machine = machines.KernelFisher(kernel="linear").fit(x, y)
    assert machine.score(x, y) > 0.98
    gram = _native.Kernel("linear").gram(x)
    given = machines.KernelFisher(kernel="precomputed").fit(gram, y)
    assert (given.decision_function(gram) == machine.decision_function(x)).all()


def test_components_of_little_variance_are_kept():
    x = np.random.default_rng(0).normal(0, 1, (50, 2)) * [5000.0, 1.0]
    machine = machines.KernelPCA(2, kernel="linear").fit(x)
    assert machine.transform(x).shape == (50, 2)
    assert np.abs(machine.score_samples(x)).max() < 1e-6


def test_the_parts_of_a_head_must_fit():
    alpha, directions, two = np.ones(3), np.ones((3, 2)), np.ones(2)
    assert _native.Head(alpha, 0.0, (0.0, directions, two, two)).decision(np.ones((1, 3)), np.ones(1)).shape == (1,)
    for parts in ((directions[:2], two, two), (directions, alpha, two), (directions, two, alpha)):
        with pytest.raises(kcf_track.FitError, match="sizes differ"):
            _native.Head(alpha, 0.0, (0.0, *parts))


@pytest.mark.parametrize("made", ALL)
def test_a_pickled_machine_decides_the_same(digits, made):
    x, y = digits
    machine = made(sigma=0.5).fit(x[:80], y[:80])
    copied = pickle.loads(pickle.dumps(machine))
    if hasattr(machine, "embedding_"):
        assert len(pickle.dumps(machine.embedding_)) < 8 * 80 * 40, "it holds no Gram matrix of 80 x 80"
    for method in ("decision_function", "predict", "transform", "score_samples"):
        if hasattr(machine, method):
            assert (getattr(machine, method)(x[80:]) == getattr(copied, method)(x[80:])).all()
    assert clone(machine).get_params() == machine.get_params()


def test_samples_of_no_weight_are_ignored(digits):
    x, y = digits
    x, y = x[:90], y[:90] % 2
    weights = np.where(np.arange(90) % 3 == 0, 0.0, 2.0)
    for made in (machines.SVM, machines.SLEM, machines.KernelRidgeClassifier, machines.KernelPCAClassifier):
        half = made(sigma=0.5).fit(x[weights > 0], y[weights > 0], weights[weights > 0])
        whole = made(sigma=0.5).fit(x, y, weights)
        assert (half.decision_function(x) == whole.decision_function(x)).all()
        gram = _native.Kernel("gaussian", sigma=0.5).gram(x)
        given = made(kernel="precomputed").fit(gram, y, weights)
        assert (given.decision_function(gram) == whole.decision_function(x)).all()


@pytest.mark.parametrize("balance", [True, False])
def test_a_weight_of_two_is_two_samples(digits, balance):
    x, y = digits
    x, y = x[:60], y[:60] % 3
    counts = np.random.default_rng(0).integers(0, 4, 60)
    machine = machines.SVM(2.0, balance=balance, sigma=0.5, tolerance=1e-11)
    weighted = clone(machine).fit(x, y, counts)
    repeated = clone(machine).fit(x.repeat(counts, axis=0), y.repeat(counts))
    assert np.abs(weighted.decision_function(x) - repeated.decision_function(x)).max() < 1e-8


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_pairs_of_classes_vote_as_those_of_scikit_learn(digits, shape):
    x, y = digits
    mine = machines.SVM(2.0, balance=False, sigma=0.5, tolerance=1e-9, multiclass=shape).fit(x, y)
    theirs = SVC(C=2.0, gamma=1 / (64 * 0.5**2), tol=1e-9).fit(x, y)
    apart = np.abs(mine.decision_function(x) - theirs.decision_function(x)).max()
    assert (len(mine.heads_), bool(apart < 1e-6)) == ((45, True) if shape == "ovo" else (10, False))


@pytest.mark.parametrize(
    "work",
    [
        "KDSPE().fit(x, np.arange(3000) % 10)",
        "KernelPCA(8).fit(np.tile(x, (5, 40)))",
        "KernelPCA(8).fit(x[:500]).denoise(np.tile(x, (40, 1)))",
    ],
)
def test_control_c_ends_long_work(work):
    program = f"""
import os, signal, threading, time
import numpy as np
from kcf_track.machines import KDSPE, KernelPCA
signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.random.default_rng(0).normal(size=(3000, 20))
sent = []
threading.Timer(3.0, lambda: (sent.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    {work}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0], flush=True)
    os._exit(0)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert float(run.stdout) < 5, run


def test_classes_that_a_kernel_cannot_tell_apart_are_warned_of():
    x = np.array([[1e6, 0.0], [1e6, 1e-9], [1e6, 2e-9], [1e6, 3e-9]])
    with pytest.warns(UserWarning, match="scale the features") as warned:
        machines.SLEM(kernel="polynomial").fit(x, [0, 0, 1, 1])
    assert warned[0].filename == __file__


def test_principal_components_remove_noise(digits):
    x, _ = digits
    noisy = x + np.random.default_rng(0).normal(0, 0.3, x.shape)
    machine = machines.KernelPCA(32, sigma=0.5).fit(x)
    assert ((machine.denoise(noisy) - x) ** 2).mean() < 0.5 * ((noisy - x) ** 2).mean()
    assert machine.score_samples(x).mean() > machine.score_samples(noisy).mean()
    with pytest.raises(kcf_track.SettingError, match="gaussian"):
        machines.KernelPCA(kernel="linear").fit(x).denoise(x)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (machines.SVM(C=-1.0), "^C = -1.0: must be"),
        (machines.SVM(C="3"), "^C = '3': must be a number"),
        (machines.SVM(C=10**400), "^C = 1.*: must be a finite number"),
        (machines.SVM(max_steps=1e5), "^max_steps = 100000.0: must be a non-negative integer"),
        (machines.SVM(max_steps=-1), "^max_steps = -1: must be a non-negative integer"),
        (machines.SVM(max_steps=0), "^max_steps = 0: must be 1 to"),
        (machines.SVM(balance=1), "^balance = 1: must be True or False"),
        (machines.SVM(multiclass="pairs"), "^multiclass = 'pairs': must be ovo or ovr"),
        (machines.SVM(kernel="cubic"), "gaussian, polynomial"),
        (machines.SVM(kernel=5), "^kernel = 5: must be a name"),
        (machines.SVM(sigma=0.0), "^sigma = 0.0: must be"),
        (machines.SVM(sigma=True), "^sigma = True: must be a number"),
        (machines.SVM(sigma=None), "^sigma = None: must be a number"),
        (machines.SVM(kernel="polynomial", degree=2.99), "^degree = 2.99: must be a non-negative integer"),
        (machines.SVM(kernel="polynomial", degree=10**10), "^degree = .*: must be 1 to 32"),
        (machines.SVM(kernel="polynomial", degree=10**30), "^degree = 1000.*: must be a non-negative integer"),
        (machines.SVM(kernel="polynomial", offset=-1), "^offset = -1.0: must be"),
        (machines.KernelFisher(ridge="none"), "klda: .*`none`.*`gram`"),
        (machines.KDSPE(0), "^n_components = 0: must be 1 to"),
        (machines.KernelPCA(None), "^n_components = None: must be a non-negative integer"),
        (machines.KernelRidge(alpha=float("nan")), "^alpha = nan: must be a finite number"),
        (machines.KernelRidge(alpha=-1.0), "^alpha = -1.0: must be"),
    ],
)
def test_settings_out_of_range_are_named(digits, estimator, message):
    x, y = digits
    with pytest.raises(kcf_track.SettingError, match=message) as raised:
        estimator.fit(x[:50], y[:50])
    assert isinstance(raised.value, ValueError)


def test_numpy_numbers_are_numbers(digits):
    x, y = digits
    x, y = x[:50], y[:50] % 2
    mine = machines.SVM(2.0, balance=True, max_steps=10_000, kernel="polynomial", offset=0.5, degree=2).fit(x, y)
    theirs = machines.SVM(
        np.int64(2), balance=np.True_, max_steps=np.int32(10_000), kernel="polynomial", offset=np.float32(0.5),
        degree=np.uint8(2),
    ).fit(x, y)  # fmt: skip
    assert (mine.decision_function(x) == theirs.decision_function(x)).all()


def test_wrong_weights_are_refused(digits):
    x, y = digits
    x, y = x[:50], y[:50] % 2
    for made in (machines.SVM, machines.SLEM, machines.KernelRidgeClassifier, machines.KernelRidge):
        for wrong, message in ((-1.0, "-1"), (1e-13, "1e-13"), (1e13, r"1e\+13")):
            with pytest.raises(kcf_track.FitError, match=f"sample_weight {message} of sample 3: must be 0, or from"):
                made().fit(x, y, np.where(np.arange(50) == 3, wrong, 1.0))
        with pytest.raises(ValueError):
            made().fit(x, y, np.zeros(50))
    with pytest.raises(kcf_track.FitError, match="sample_weight -1 of sample 0"):
        machines.SVM(C=1.0).fit(x, y, -np.ones(50))


@pytest.mark.parametrize("made", [machines.SVM, machines.KernelRidge, machines.KernelRidgeClassifier, machines.SLEM])
def test_decisions_do_not_need_own_kernel_values(made):
    """The squared norm of a sample overflows, its products with training samples do not."""
    x, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), [0, 0, 1, 1]
    machine = made(kernel="linear").fit(x, y)
    found = getattr(machine, "decision_function", machine.predict)([[1e200], [-1e200]])
    assert np.isfinite(found).all() and found[0] > 1e100 > -1e100 > found[1]


def test_coordinates_do_not_need_own_kernel_values():
    machine = machines.KernelPCA(1, kernel="linear").fit([[-1.0], [-2.0], [1.0], [2.5]])
    assert np.isfinite(machine.transform([[1e200]])).all()
    with pytest.raises(ValueError):
        machine.score_samples([[1e200]])


def test_impossible_fits_raise_errors_of_the_library(digits):
    x, y = digits
    with pytest.raises(kcf_track.FitError, match="only one class"):
        machines.SVM().fit(x[:50], np.zeros(50))
    with pytest.raises(kcf_track.FitError, match="square"):
        machines.KernelPCA(kernel="precomputed").fit(x[:50])
    with pytest.raises(kcf_track.FitError, match="square, not 5 x 3"):
        machines.KernelRidge(kernel="precomputed").fit(np.ones((5, 3)), range(5), [1, 1, 1, 1, 0])
    gram = machines.KernelPCA(kernel="precomputed").fit(x[:50] @ x[:50].T)
    with pytest.raises(kcf_track.SettingError, match="give the samples"):
        gram.score_samples(x[:5] @ x[:50].T)
    with pytest.raises(kcf_track.SettingError, match="gaussian"):
        gram.denoise(x[:5] @ x[:50].T)


def test_wrong_gram_matrices_are_refused(digits):
    x, y = digits
    gram = np.random.default_rng(0).normal(size=(50, 50)) + 9 * np.eye(50)
    with pytest.raises(kcf_track.FitError, match="symmetric"):
        machines.SVM(kernel="precomputed").fit(gram, y[:50])
    with pytest.raises(ValueError, match="NaN"):
        machines.SVM().fit(np.where(x > 0.5, np.nan, x), y)


@pytest.mark.parametrize("made", ALL)
def test_a_kernel_must_not_change_after_the_fit(digits, made):
    x, y = digits
    x, y = x[:50], y[:50] % 2
    for before, after, given in (("linear", "precomputed", x), ("precomputed", "linear", x @ x.T)):
        machine = made(kernel=before).fit(given, y).set_params(kernel=after)
        with pytest.raises(kcf_track.SettingError, match=f"kernel {after}: .* fit it again"):
            getattr(machine, "predict", getattr(machine, "transform", None))(given)


def declared(tree: dict[str, ast.ClassDef], name: str) -> set[str]:
    """The names of a class in the stubs."""
    here = tree[name]
    names = {part.name for part in here.body if isinstance(part, ast.FunctionDef)}
    names |= {part.target.id for part in here.body if isinstance(part, ast.AnnAssign)}
    return names.union(*(declared(tree, base.id) for base in here.bases))


@pytest.mark.parametrize("made", ALL)
def test_the_stubs_have_all_public_names(digits, made):
    x, y = digits
    text = (ROOT / "python/kcf_track/machines/__init__.pyi").read_text()
    tree = {part.name: part for part in ast.parse(text).body if isinstance(part, ast.ClassDef)}
    public = {name for name in dir(made().fit(x[:50], y[:50])) if not name.startswith("_")}
    if "sample_weight" not in inspect.signature(made.fit).parameters:
        # scikit-learn adds it for a parameter of another method.
        public.discard("set_fit_request")
    assert not public - declared(tree, made.__name__)


def bits(values) -> list[str]:
    """The bits of numbers."""
    return [struct.pack(">d", value).hex() for value in np.asarray(values).ravel()]


CASES = json.loads((ROOT / "tests/data/machines.json").read_text())


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_every_bit_is_that_of_the_library(case):
    """A test of the library writes and checks the numbers."""
    train, test = np.array(CASES["train"]), np.array(CASES["test"])
    y = np.array(CASES["labels"])
    made, options = {
        "krr": (machines.KernelRidgeClassifier, {"alpha": 0.05}),
        "svm": (machines.SVM, {"C": 2.0, "balance": False}),
        "klda": (machines.KernelFisher, {"eps": 1e-3}),
        "kpca": (machines.KernelPCAClassifier, {"n_components": 3}),
        "slem": (machines.SLEM, {"theta": 2.0}),
        "kdspe": (machines.KDSPE, {"n_components": 3}),
    }[case["name"]]
    machine = made(**options, sigma=CASES["sigma"]).fit(train, y)
    assert bits(machine.decision_function(test)) == case["decision"]
    if "embedding" in case:
        if case["name"] == "kpca":
            machine = machines.KernelPCA(3, sigma=CASES["sigma"]).fit(train)
        assert bits(machine.transform(test)) == case["embedding"]


@pytest.mark.parametrize("made", ALL)
def test_a_fit_that_fails_changes_nothing(made):
    x = np.r_[np.zeros((10, 2)), np.ones((10, 2))] + np.random.default_rng(0).normal(0, 0.1, (20, 2))
    machine = made().fit(x, np.arange(20) // 10)
    ask = machine.predict if hasattr(machine, "predict") else machine.transform
    before = ask(x)
    machine.sigma = -1.0
    state = dict(vars(machine))
    with pytest.raises(kcf_track.Error):
        machine.fit(x[:14] + 5, np.arange(14) // 7 + 5)
    assert vars(machine) == state
    machine.sigma = 1.0
    # The machine has copies of the samples.
    asked = x.copy()
    x[:] = 0
    assert np.array_equal(ask(asked), before)


@pytest.mark.parametrize("load", [load_digits, load_wine])
def test_the_defaults_are_as_accurate_as_those_of_scikit_learn(load):
    x, y = load(return_X_y=True)
    for scale in (False, True):
        given = StandardScaler().fit_transform(x) if scale else x
        score = lambda machine: cross_val_score(machine, given, y, cv=5).mean()
        ours, theirs = score(machines.SVM()), score(SVC())
        assert ours > theirs - 0.02, (scale, ours, theirs)


def test_gamma_is_the_bandwidth_of_scikit_learn(digits):
    x, y = digits
    x, y = x[:200], y[:200]
    for gamma in ("scale", "auto", 0.3):
        mine = machines.SVM(2.0, balance=False, kernel="rbf", gamma=gamma, tolerance=1e-9, multiclass="ovr").fit(x, y == 3)
        theirs = SVC(C=2.0, gamma=gamma, tol=1e-9).fit(x, y == 3)
        assert np.allclose(mine.decision_function(x), theirs.decision_function(x), atol=1e-6), gamma
    fitted = machines.SVM().fit(x, y)
    assert fitted.sigma_ == pytest.approx(x.std()) and fitted.get_params()["sigma"] == "scale"
    assert machines.SVM().fit(np.ones((4, 2)), [0, 0, 1, 1]).sigma_ == 1.0
    for wrong, message in (
        ({"sigma": 0.5, "gamma": 1.0}, "one of them is enough"),
        ({"sigma": "auto"}, "^sigma = 'auto': must be a number"),
        ({"gamma": 0.0}, "^gamma = 0.0: must be above 0"),
        ({"gamma": "wide"}, "^gamma = 'wide': must be a number"),
    ):
        with pytest.raises(kcf_track.SettingError, match=message):
            machines.SVM(**wrong).fit(x, y)
    with pytest.raises(TypeError, match="probability"):
        machines.SVM(probability=True)


def test_scikit_learn_makes_probabilities_of_decisions(digits):
    x, y = digits
    sure = CalibratedClassifierCV(machines.SVM(), cv=3).fit(x[::2], y[::2]).predict_proba(x[1::2])
    assert np.allclose(sure.sum(axis=1), 1) and (sure.argmax(axis=1) == y[1::2]).mean() > 0.7
