"""The estimators."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _native
from .._errors import SettingError
from ._base import KernelClassifier, KernelMachine, atomic


class SVM(KernelClassifier):
    """The support vector machine, by sequential minimal optimisation.

    `C` is the price of a violated margin; with `balance` both classes get the same share of it. The iteration stops at
    a violation of the optimality conditions below `tolerance`; more than `max_steps` are an error. `multiclass` is `ovo`,
    a vote of all pairs of classes, or `ovr`, each class against the rest.

    Examples:
        >>> from kcf_track.machines import SVM
        >>> machine = SVM(kernel="linear", C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> machine.decision_function([[0.0], [3.0]]).round(3).tolist()
        [-3.0, 3.0]
    """

    _machine = "svm"
    _parameters = {
        "C": ("c", float),
        "balance": ("balance", bool),
        "tolerance": ("tolerance", float),
        "max_steps": ("max-steps", int),
    }

    def __init__(
        self,
        C=1.0,
        *,
        balance=True,
        tolerance=1e-3,
        max_steps=10_000_000,
        multiclass="ovo",
        kernel="gaussian",
        sigma="scale",
        gamma=None,
        offset=1.0,
        degree=3,
    ):
        self.C, self.balance, self.tolerance, self.max_steps = C, balance, tolerance, max_steps
        self.multiclass = multiclass
        self._set_kernel(kernel, sigma, gamma, offset, degree)


class KernelRidgeClassifier(KernelClassifier):
    """Kernel ridge regression on labels of +1 and -1; `alpha` is the ridge, `bias` a constant without a penalty.

    Examples:
        >>> from kcf_track.machines import KernelRidgeClassifier
        >>> machine = KernelRidgeClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
        >>> machine.predict([[0.2], [2.8]]).tolist()
        ['a', 'b']
    """

    _machine = "krr"
    _parameters = {"alpha": ("lambda", float), "bias": ("bias", bool)}

    def __init__(
        self, alpha=1e-2, *, bias=True, kernel="gaussian", sigma="scale", gamma=None, offset=1.0, degree=3
    ):
        self.alpha, self.bias = alpha, bias
        self._set_kernel(kernel, sigma, gamma, offset, degree)


class KernelPCAClassifier(KernelClassifier):
    """Distances to the subspaces of the principal components of two classes, `n_components` of each at most.

    Examples:
        >>> from kcf_track.machines import KernelPCAClassifier
        >>> machine = KernelPCAClassifier(2).fit([[0.0], [0.2], [2.0], [2.2]], [0, 0, 1, 1])
        >>> machine.predict([[0.1], [2.1]]).tolist()
        [0, 1]
    """

    _machine = "kpca"
    _parameters = {"n_components": ("rank", int)}
    _fixed = {"two-class": True}

    def __init__(self, n_components=8, *, kernel="gaussian", sigma="scale", gamma=None, offset=1.0, degree=3):
        self.n_components = n_components
        self._set_kernel(kernel, sigma, gamma, offset, degree)


class SLEM(KernelClassifier):
    """The sum of the square-loss exemplar machines of a class against the others.

    `theta` is the weight of an exemplar against all negatives together, `alpha` the ridge, `tolerance` that of the
    factorisation of the negatives.

    Examples:
        >>> from kcf_track.machines import SLEM
        >>> machine = SLEM(theta=2.0).fit([[0.0], [0.2], [2.0], [2.2]], [0, 0, 1, 1])
        >>> machine.predict([[0.1], [2.1]]).tolist()
        [0, 1]
    """

    _machine = "slem"
    _parameters = {"theta": ("theta", float), "alpha": ("lambda", float), "tolerance": ("tolerance", float)}

    def __init__(
        self,
        theta=1.0,
        *,
        alpha=0.2,
        tolerance=1e-10,
        kernel="gaussian",
        sigma="scale",
        gamma=None,
        offset=1.0,
        degree=3,
    ):
        self.theta, self.alpha, self.tolerance = theta, alpha, tolerance
        self._set_kernel(kernel, sigma, gamma, offset, degree)


class KernelRidge(RegressorMixin, KernelMachine):
    """Kernel ridge regression; `alpha` is the ridge, `bias` a constant without a penalty.

    Examples:
        >>> from kcf_track.machines import KernelRidge
        >>> machine = KernelRidge(alpha=1e-6, kernel="linear").fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> machine.predict([[4.0]]).round(3).tolist()
        [9.0]
    """

    _machine = "krr"
    _parameters = {"alpha": ("lambda", float), "bias": ("bias", bool)}

    def __init__(
        self, alpha=1e-2, *, bias=True, kernel="gaussian", sigma="scale", gamma=None, offset=1.0, degree=3
    ):
        self.alpha, self.bias = alpha, bias
        self._set_kernel(kernel, sigma, gamma, offset, degree)

    @atomic
    def fit(self, X, y, sample_weight=None):
        """Fit samples (n, features), or their Gram matrix (n, n), to the numbers `y` (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        X, y, weights = self._weighted(X, y, sample_weight)
        self.head_ = self._made(
            _native.fit_numbers,
            self._settings(),
            self._gram(X, weights),
            np.asarray(y, np.float64).tolist(),
            weights.tolist(),
        )
        return self

    def predict(self, X):
        """The number of each sample."""
        cross, own = self._cross(X)
        return self.head_.decision(cross, own)


class _Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """An estimator with an `embedding_` of kernel values."""

    @property
    def eigenvalues_(self):
        """The value that each coordinate was chosen by, largest first: a variance, or a generalised eigenvalue."""
        return self.embedding_.values

    @property
    def _n_features_out(self):
        return len(self.embedding_.values)

    def transform(self, X):
        """The coordinates of samples (m, coordinates)."""
        cross, _ = self._cross(X)
        return self.embedding_.transform(cross)


class _EmbeddingClassifier(_Embedding, KernelClassifier):
    """An embedding with decisions between classes."""

    @atomic
    def fit(self, X, y):
        """Fit samples (n, features), or their Gram matrix (n, n), to their classes."""
        X, numbers = self._fit(X, y)
        self._embed(self._gram(X), numbers)
        return self

    def _embed(self, gram, numbers):
        """Find the coordinates of the classes with these numbers."""
        self.embedding_ = self._made(_native.embed, self._settings(), gram, numbers.tolist())


class KernelFisher(_EmbeddingClassifier):
    """The kernel Fisher discriminant: decisions of two classes, coordinates of all.

    Of more than two classes the one whose mean is nearest in the coordinates is predicted; `heads_` are those of each
    class against the rest.

    `eps` regularises the scatter within the classes, multiplied with the `ridge`: `gram` for small weight vectors in
    feature space, `identity` for small coefficients. With `balance` all classes have the same weight, instead of all
    samples.

    Examples:
        >>> from kcf_track.machines import KernelFisher
        >>> x, y = [[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], [0, 0, 1, 1, 2, 2]
        >>> machine = KernelFisher(eps=1e-3, sigma=0.5).fit(x, y)
        >>> machine.predict([[0.1], [1.1], [2.1]]).tolist(), machine.transform(x).shape
        ([0, 1, 2], (6, 2))
    """

    _machine = "klda"
    _parameters = {"eps": ("eps", float), "ridge": ("ridge", str), "balance": ("balance", bool)}

    def __init__(
        self,
        eps=1e-2,
        *,
        ridge="gram",
        balance=True,
        kernel="gaussian",
        sigma="scale",
        gamma=None,
        offset=1.0,
        degree=3,
    ):
        self.eps, self.ridge, self.balance = eps, ridge, balance
        self._set_kernel(kernel, sigma, gamma, offset, degree)

    def _embed(self, gram, numbers):
        super()._embed(gram, numbers)
        places = self.embedding_.transform(gram)
        self._means = np.stack([places[numbers == number].mean(axis=0) for number in range(len(self.classes_))])

    def decision_function(self, X):
        """Decision values: (m,) for two classes, above zero for the second; else minus the squared distances to the
        class means in the coordinates, (m, classes).
        """
        if len(getattr(self, "classes_", ())) <= 2:
            return super().decision_function(X)
        return -((self.transform(X)[:, None] - self._means) ** 2).sum(axis=2)


class KDSPE(_EmbeddingClassifier):
    """Kernel discriminative sparsity-preserving embedding: few coordinates, and Fisher's rule in them.

    `n_components` coordinates keep the weights that reconstruct each sample from its own class (`ridge`) and from few
    samples of others (`tau` is the price of their weights, `iterations` those of the l1 step). `eps` regularises the
    embedding, `rule` Fisher's rule. In problems of few dimensions a dozen coordinates are needed.

    Examples:
        >>> from kcf_track.machines import KDSPE
        >>> x, y = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]], [0, 0, 0, 1, 1, 1]
        >>> machine = KDSPE(2).fit(x, y)
        >>> machine.predict([[0.1], [2.1]]).tolist(), machine.transform(x).shape
        ([0, 1], (6, 2))
    """

    _machine = "kdspe"
    _parameters = {
        "n_components": ("dims", int),
        "ridge": ("ridge", float),
        "tau": ("tau", float),
        "iterations": ("iterations", int),
        "eps": ("eps", float),
        "rule": ("rule", float),
    }

    def __init__(
        self,
        n_components=12,
        *,
        ridge=1e-2,
        tau=0.04,
        iterations=8,
        eps=1e-2,
        rule=1e-2,
        kernel="gaussian",
        sigma="scale",
        gamma=None,
        offset=1.0,
        degree=3,
    ):
        self.n_components, self.ridge, self.tau = n_components, ridge, tau
        self.iterations, self.eps, self.rule = iterations, eps, rule
        self._set_kernel(kernel, sigma, gamma, offset, degree)


class KernelPCA(_Embedding, KernelMachine):
    """Kernel principal components, at most `n_components`, and distances to their subspace.

    Examples:
        >>> from kcf_track.machines import KernelPCA
        >>> machine = KernelPCA(2).fit([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [3.0, 0.1]])
        >>> machine.transform([[1.0, 0.0]]).shape
        (1, 2)
        >>> near, far = machine.score_samples([[1.0, 0.0], [9.0, 9.0]])
        >>> bool(near > far)
        True
    """

    _machine = "kpca"
    _parameters = {"n_components": ("rank", int)}

    def __init__(self, n_components=8, *, kernel="gaussian", sigma="scale", gamma=None, offset=1.0, degree=3):
        self.n_components = n_components
        self._set_kernel(kernel, sigma, gamma, offset, degree)

    @atomic
    def fit(self, X, y=None):
        """Fit samples (n, features), or their Gram matrix (n, n)."""
        X = validate_data(self, X, dtype=np.float64, order="C")
        gram = self._gram(X)
        self.embedding_ = self._made(_native.embed, self._settings(), gram, [0] * len(X))
        return self

    def score_samples(self, X):
        """Minus the squared distance of samples to the subspace of the components."""
        cross, own = self._cross(X, "a distance needs")
        return -self.embedding_.novelty(cross, own.tolist())

    def denoise(self, X):
        """The pre-images of the projections of `X`, for a Gaussian kernel."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if self.kernel not in ("gaussian", "rbf"):
            raise SettingError(f"pre-images are known for a gaussian kernel, not for {self.kernel}")
        return self.embedding_.denoise(self.sigma_, self.X_fit_, X)
