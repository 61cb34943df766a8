"""The base of all machines: a kernel, Gram matrices, and heads of one class against the rest."""

from __future__ import annotations

import functools
import json
import math
import numbers
import operator
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _native
from .._errors import FitError, SettingError


def atomic(fit):
    """Make a `fit` that fails leave the machine unchanged."""

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


KERNELS = """
    `kernel` is `gaussian` (or `rbf`; bandwidth `sigma`), `polynomial` (`offset`, `degree`), `linear` or `precomputed`.
    Squared distances and inner products are divided by the number of features: scikit-learn's `gamma`, which may be given
    in place of `sigma`, is `1 / (sigma**2 * n_features)`. `sigma="scale"` is the standard deviation of all numbers of the
    samples, which is `gamma="scale"`; a fitted machine has it as `sigma_`.
    """


class KernelMachine(BaseEstimator):
    """An estimator that is fitted to a Gram matrix."""

    #: The name of the machine in the library.
    _machine = ""
    #: Its parameters: the name in the library and the type of each.
    _parameters = {}
    #: Constant settings.
    _fixed = {}
    #: The indices of samples with a weight, where some have none.
    _kept = None

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        cls.__doc__ = f"{cls.__doc__ or ''}\n{KERNELS}"

    def _set_kernel(self, kernel, sigma, gamma, offset, degree):
        """Store the parameters of a kernel."""
        self.kernel, self.sigma, self.gamma, self.offset, self.degree = kernel, sigma, gamma, offset, degree

    def _bandwidth(self, x, weights):
        """The bandwidth for these training samples with these weights."""
        sigma, gamma = self.sigma, self.gamma
        if gamma is not None:
            if sigma != "scale":
                raise SettingError(f"sigma = {sigma!r} and gamma = {gamma!r}: one of them is enough")
            if gamma == "auto":
                return 1.0
            if gamma != "scale":
                number = plain("gamma", gamma, float)
                if number <= 0:
                    raise SettingError(f"gamma = {gamma!r}: must be above 0")
                return 1 / math.sqrt(number * x.shape[1])
        if isinstance(sigma, str) and sigma == "scale":
            mean = np.average(x.mean(axis=1), weights=weights)
            return math.sqrt(np.average(((x - mean) ** 2).mean(axis=1), weights=weights)) or 1.0
        return plain("sigma", sigma, float)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _make_kernel(self):
        """The kernel; None for precomputed Gram matrices."""
        name = plain("kernel", self.kernel, str)
        if name == "precomputed":
            return None
        given = {key: plain(key, getattr(self, key), kind) for key, kind in KERNEL.items()}
        return _native.Kernel("gaussian" if name == "rbf" else name, sigma=self.sigma_, **given)

    def _check_square(self, x):
        """Raise an error for a Gram matrix that is not square."""
        if self.kernel == "precomputed" and x.shape[0] != x.shape[1]:
            raise FitError(f"a precomputed Gram matrix must be square, not {x.shape[0]} x {x.shape[1]}")

    def _weighted(self, x, y, sample_weight):
        """Drop the samples of no weight."""
        self._check_square(x)
        self._kept, weights = None, np.ones(len(x))
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, x, dtype=np.float64)
            wrong = np.flatnonzero((weights != 0) & ~((weights >= LEAST) & (weights <= MOST)))
            if len(wrong):
                which = f"sample_weight {weights[wrong[0]]:g} of sample {wrong[0]}"
                raise FitError(f"{which}: must be 0, or from {LEAST:g} to {MOST:g}")
            kept = np.flatnonzero(weights)
            if len(kept) < len(weights):
                self._kept, y, weights = kept, y[kept], weights[kept]
                x = x[np.ix_(kept, kept)] if self.kernel == "precomputed" else np.ascontiguousarray(x[kept])
        return x, y, weights

    def _trained(self, x, weights=None):
        """The kernel of the training samples, which are stored; None for their Gram matrix."""
        self.sigma_ = self._bandwidth(x, weights)
        kernel = self._make_kernel()
        self._check_square(x)
        # The caller may change its array.
        self.X_fit_ = None if kernel is None else x.copy()
        return kernel

    def _gram(self, x, weights=None):
        """The Gram matrix of the training samples, which are stored."""
        kernel = self._trained(x, weights)
        return x if kernel is None else kernel.gram(x)

    def _cross(self, x, asks_own=None):
        """Kernel values of new samples with the training samples, and with themselves.

        The latter are computed only for a caller that names itself in `asks_own`, as they alone may overflow.
        """
        check_is_fitted(self)
        x = validate_data(self, x, dtype=np.float64, order="C", reset=False)
        kernel = self._make_kernel()
        if (kernel is None) != (self.X_fit_ is None):
            was = "a Gram matrix" if self.X_fit_ is None else "samples"
            raise SettingError(f"kernel {self.kernel}: the machine was fitted to {was}; fit it again")
        if kernel is None:
            if asks_own is not None:
                raise SettingError(f"{asks_own} the kernel values of samples with themselves: give the samples")
            # The matrix also has columns for samples of no weight.
            return x if self._kept is None else np.ascontiguousarray(x[:, self._kept]), np.zeros(len(x))
        return kernel.cross_gram(x, self.X_fit_), np.zeros(len(x)) if asks_own is None else kernel.own(x)

    def _parameter(self, name):
        """A parameter of the machine as a built-in value."""
        return plain(name, getattr(self, name), self._parameters[name][1])

    def _settings(self):
        """The settings of the machine by their names in the library."""
        given = {path: self._parameter(name) for name, (path, _) in self._parameters.items()}
        return {**given, **self._fixed}

    def _made(self, make, settings, *arguments, **keywords):
        """Call `make` of the compiled module; an error names the parameter as it is called here."""
        try:
            return make(self._machine, json.dumps(settings), *arguments, **keywords)
        except SettingError as error:
            message = str(error)
            for name, (path, _) in self._parameters.items():
                begin = f"{self._machine}.{path} = "
                if message.startswith(begin):
                    raise SettingError(f"{name} = {message[len(begin) :]}") from None
            raise


#: The parameters of kernels, and their types.
KERNEL = {"offset": float, "degree": int}
#: The range of weights.
LEAST, MOST = 1e-12, 1e12


def plain(name, value, kind):
    """A parameter as a built-in value, without a change of its value or kind."""

    def wrong(wanted):
        return SettingError(f"{name} = {value!r}: must be {wanted}")

    if kind is str:
        if not isinstance(value, str):
            raise wrong("a name")
        return value
    switch = isinstance(value, (bool, np.bool_))
    if kind is bool:
        if not switch:
            raise wrong("True or False")
        return bool(value)
    if kind is int:
        try:
            number = operator.index(value)
        except TypeError:
            raise wrong("a non-negative integer") from None
        if switch or not 0 <= number < 2**63:
            raise wrong("a non-negative integer")
        return number
    if switch or not isinstance(value, numbers.Real):
        raise wrong("a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise wrong("a finite number")
    return number


class KernelClassifier(ClassifierMixin, KernelMachine):
    """A classifier with one head for two classes, or one per class against the rest, or per pair of classes."""

    @atomic
    def fit(self, X, y, sample_weight=None):
        """Fit samples (n, features), or their Gram matrix (n, n), to their classes."""
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight=None):
        """Fit, and return the samples and the numbers of their classes."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        X, y, weights = self._weighted(X, y, sample_weight)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise FitError(f"only one class ({self.classes_}): at least two are needed")
        kernel = self._trained(X, weights)
        multiclass = plain("multiclass", getattr(self, "multiclass", "ovr"), str)
        if multiclass not in ("ovo", "ovr"):
            raise SettingError(f"multiclass = {multiclass!r}: must be ovo or ovr")
        self._pairs = multiclass == "ovo"
        self.heads_ = self._made(
            _native.fit, self._settings(), kernel, X, numbers.tolist(), weights.tolist(), pairs=self._pairs
        )
        if not all(head.needs_own or head.alpha.any() for head in self.heads_):
            message = "this kernel does not tell the classes apart: scale the features, or take another kernel"
            warnings.warn(message, UserWarning, stacklevel=4)
        return X, numbers

    def decision_function(self, X):
        """Decision values: (m,) for two classes, above zero for the second; else (m, classes)."""
        check_is_fitted(self)
        asks_own = "these decisions need" if any(head.needs_own for head in self.heads_) else None
        cross, own = self._cross(X, asks_own)
        values = [head.decision(cross, own) for head in self.heads_]
        if len(values) == 1:
            return values[0]
        values = np.stack(values, axis=1)
        return _ovr_decision_function(values > 0, values, len(self.classes_)) if self._pairs else values

    def predict(self, X):
        """The class of each sample."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
