"""Kernel ridge regression of real numbers."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from .. import _native
from ._base import KernelMachine, whole


class KernelRidge(RegressorMixin, KernelMachine):
    """Kernel ridge regression; `alpha` is the ridge, `bias` a constant that is not penalised.

    Examples:
        >>> from kcf_track.machines import KernelRidge
        >>> machine = KernelRidge(alpha=1e-6, kernel="linear").fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> machine.predict([[4.0]]).round(3).tolist()
        [9.0]
    """

    _machine = "krr"
    _parameters = {"alpha": ("lambda", float), "bias": ("bias", bool)}

    def __init__(
        self, alpha=1e-2, *, bias=True, kernel="gaussian", sigma=1.0, offset=1.0, degree=3, gamma=1.0
    ):
        self.alpha, self.bias = alpha, bias
        self._set_kernel(kernel, sigma, offset, degree, gamma)
    @whole
    def fit(self, X, y, sample_weight=None):
        """Learn the numbers `y` (n,) of samples (n, features), or of their Gram matrix (n, n)."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        X, y, weights = self._weighted(X, y, sample_weight)
        self.head_ = self._made(
            _native.fit,
            self._settings(),
            self._gram(X),
            # No classes: any label will do.
            [1.0] * len(y),
            weights=None if weights is None else weights.tolist(),
            soft_labels=np.asarray(y, np.float64).tolist(),
        )
        return self

    def predict(self, X):
        """The number of each sample."""
        cross, own = self._cross(X)
        return self.head_.decision(cross, own)
