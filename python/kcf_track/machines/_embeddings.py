"""Machines that find coordinates in which samples are told apart, or described."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _native
from .._errors import SettingError
from ._base import KernelClassifier, KernelMachine, whole


class _Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Something with an `embedding_` of kernel values."""

    @property
    def eigenvalues_(self):
        """What each coordinate was chosen for, largest first: a variance, or a generalised eigenvalue."""
        return self.embedding_.values

    @property
    def _n_features_out(self):
        return len(self.embedding_.values)

    def transform(self, X):
        """The coordinates of samples (m, coordinates)."""
        cross, _ = self._cross(X)
        return self.embedding_.transform(cross)


class _EmbeddingClassifier(_Embedding, KernelClassifier):
    """The same, with decisions between classes."""

    @whole
    def fit(self, X, y):
        """Learn from samples (n, features), or their Gram matrix (n, n), and their classes."""
        gram, numbers = self._fit(X, y)
        self.embedding_ = self._made(_native.embed, self._settings(), gram, numbers.tolist())
        return self


class KernelFisher(_EmbeddingClassifier):
    """The kernel Fisher discriminant: decisions of two classes or of each against the rest, coordinates of all.

    `eps` regularises the scatter within the classes, multiplied with the `ridge`: `gram` for small weight vectors in
    feature space, `identity` for small coefficients. With `balance` all classes have the same say, instead of each
    sample.

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
        sigma=1.0,
        offset=1.0,
        degree=3,
        gamma=1.0,
    ):
        self.eps, self.ridge, self.balance = eps, ridge, balance
        self._set_kernel(kernel, sigma, offset, degree, gamma)

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
        sigma=1.0,
        offset=1.0,
        degree=3,
        gamma=1.0,
    ):
        self.n_components, self.ridge, self.tau = n_components, ridge, tau
        self.iterations, self.eps, self.rule = iterations, eps, rule
        self._set_kernel(kernel, sigma, offset, degree, gamma)

class KernelPCA(_Embedding, KernelMachine):
    """Kernel principal components, `n_components` at most, and how far samples lie from the subspace of them.

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

    def __init__(self, n_components=8, *, kernel="gaussian", sigma=1.0, offset=1.0, degree=3, gamma=1.0):
        self.n_components = n_components
        self._set_kernel(kernel, sigma, offset, degree, gamma)
    @whole
    def fit(self, X, y=None):
        """Learn from samples (n, features), or their Gram matrix (n, n)."""
        X = validate_data(self, X, dtype=np.float64, order="C")
        gram = self._gram(X)
        self.embedding_ = self._made(_native.embed, self._settings(), gram, [0] * len(X))
        return self

    def score_samples(self, X):
        """How well the components describe samples: minus the squared distance to their subspace."""
        cross, own = self._cross(X, "a distance needs")
        return -self.embedding_.novelty(cross, own.tolist())

    def denoise(self, X):
        """The samples whose images are nearest to the projections of those of `X`; for a Gaussian kernel."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if self.kernel != "gaussian":
            raise SettingError(f"pre-images are known for a gaussian kernel, not for {self.kernel}")
        self._make_kernel()
        return self.embedding_.denoise(float(self.sigma), self.X_fit_, X)
