"""What all machines share: a kernel, its Gram matrices, and heads of one class against the rest."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _native
from .._errors import SettingError


def whole(fit):
    """A `fit` that leaves the machine as it was where it fails."""

    @functools.wraps(fit)
    def fitted(self, *arguments, **keywords):
        before = dict(vars(self))
        try:
            return fit(self, *arguments, **keywords)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fitted


class KernelMachine(BaseEstimator):
    """Something that is fitted to a Gram matrix."""

    #: The machine's name in the library.
    _machine = ""
    #: The samples that count, where some have no weight.
    _kept = None

    def _set_kernel(self, kernel, sigma, offset, degree, gamma):
        """Keeps the five parameters of a kernel."""
        self.kernel, self.sigma, self.offset, self.degree, self.gamma = kernel, sigma, offset, degree, gamma

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("intersection", "chi-squared")
        return tags

    def _make_kernel(self):
        """The kernel; None where Gram matrices are given."""
        if self.kernel == "precomputed":
            return None
        return _native.Kernel(
            self.kernel,
            sigma=float(self.sigma),
            offset=float(self.offset),
            degree=int(self.degree),
            gamma=float(self.gamma),
        )

    def _weighted(self, x, y, sample_weight):
        """The samples that count, with their labels and weights: those of no weight are as if they were not there."""
        self._kept, weights = None, None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, x, dtype=np.float64)
            kept = np.flatnonzero(weights)
            if len(kept) < len(weights):
                self._kept, y, weights = kept, y[kept], weights[kept]
                x = x[np.ix_(kept, kept)] if self.kernel == "precomputed" else np.ascontiguousarray(x[kept])
        return x, y, weights

    def _gram(self, x):
        """The Gram matrix of the samples to learn from; they are kept, as new ones are compared with them."""
        kernel = self._make_kernel()
        if kernel is None:
            if x.shape[0] != x.shape[1]:
                raise ValueError(f"a precomputed Gram matrix must be square, not {x.shape[0]} x {x.shape[1]}")
            self.X_fit_ = None
            return x
        # A copy: whoever fills the array anew does not change what was learned.
        self.X_fit_ = x.copy()
        return kernel.gram(x)

    def _cross(self, x):
        """Kernel values of new samples with those learned from, and with themselves (zero where they are unknown)."""
        check_is_fitted(self)
        x = validate_data(self, x, dtype=np.float64, order="C", reset=False)
        kernel = self._make_kernel()
        if kernel is None:
            # The matrix has columns for samples of no weight, too.
            return x if self._kept is None else np.ascontiguousarray(x[:, self._kept]), np.zeros(len(x))
        return kernel.cross_gram(x, self.X_fit_), kernel.own(x)

    def _check_own(self, what):
        """That samples are there, for whoever needs their kernel values with themselves."""
        if self.kernel == "precomputed":
            raise ValueError(f"{what} the kernel values of samples with themselves: give the samples")

    def _options(self):
        """The settings of the machine as the library has them."""
        return {}

    def _settings(self, **others):
        given = {name: plain(value) for name, value in {**self._options(), **others}.items()}
        for name, value in given.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise SettingError(f"{self._machine}.{name} {value}: must be a finite number")
        return json.dumps(given)


def plain(value):
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


class KernelClassifier(ClassifierMixin, KernelMachine):
    """Tells classes apart by a head for two of them, or one for each against the rest."""

    @whole
    def fit(self, X, y, sample_weight=None):
        """Learn from samples (n, features), or their Gram matrix (n, n), and their classes."""
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight=None):
        """As `fit`; gives the Gram matrix and the numbers of the classes, for whoever wants more of them."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        X, y, weights = self._weighted(X, y, sample_weight)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"there is one class only ({self.classes_}): two classes are needed to tell them apart")
        gram = self._gram(X)
        ones = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        settings = self._weighted_settings(weights)
        self.heads_ = [
            _native.fit(
                self._machine,
                settings,
                gram,
                np.where(numbers == one, 1.0, -1.0).tolist(),
                weights=None if weights is None else weights.tolist(),
            )
            for one in ones
        ]
        return gram, numbers

    def _weighted_settings(self, weights):
        """The settings for samples of these weights, None where all have the weight one."""
        return self._settings()

    def decision_function(self, X):
        """How far samples lie on the side of a class: (m,) for two classes, above zero for the second; (m, classes)."""
        cross, own = self._cross(X)
        if any(head.needs_own for head in self.heads_):
            self._check_own("these decisions need")
        values = [head.decision(cross, own) for head in self.heads_]
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def predict(self, X):
        """The class of each sample."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
