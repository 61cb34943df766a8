"""Machines that decide between classes."""

from __future__ import annotations

from ._base import KernelClassifier


class SVM(KernelClassifier):
    """The support vector machine, by sequential minimal optimisation.

    `C` is the price of a violated margin; with `balance` both classes get the same share of it. `tolerance` is the
    violation of the optimality conditions at which the iteration stops, `max_steps` when it is given up.

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
        max_steps=100_000,
        kernel="gaussian",
        sigma=1.0,
        offset=1.0,
        degree=3,
        gamma=1.0,
    ):
        self.C, self.balance, self.tolerance, self.max_steps = C, balance, tolerance, max_steps
        self._set_kernel(kernel, sigma, offset, degree, gamma)

    def _weighted_settings(self, weights):
        if weights is None or not self._parameter("balance"):
            return self._settings()
        # The balanced price goes by the number of samples: a weight of two is to count as two samples.
        return self._settings(c=self._parameter("C") * float(weights.mean()))


class KernelRidgeClassifier(KernelClassifier):
    """Kernel ridge regression on labels of +1 and -1; `alpha` is the ridge, `bias` a constant that costs nothing.

    Examples:
        >>> from kcf_track.machines import KernelRidgeClassifier
        >>> machine = KernelRidgeClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
        >>> machine.predict([[0.2], [2.8]]).tolist()
        ['a', 'b']
    """

    _machine = "krr"
    _parameters = {"alpha": ("lambda", float), "bias": ("bias", bool)}

    def __init__(
        self, alpha=1e-2, *, bias=True, kernel="gaussian", sigma=1.0, offset=1.0, degree=3, gamma=1.0
    ):
        self.alpha, self.bias = alpha, bias
        self._set_kernel(kernel, sigma, offset, degree, gamma)

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

    def __init__(self, n_components=8, *, kernel="gaussian", sigma=1.0, offset=1.0, degree=3, gamma=1.0):
        self.n_components = n_components
        self._set_kernel(kernel, sigma, offset, degree, gamma)

class SLEM(KernelClassifier):
    """The sum of the square-loss exemplar machines of a class against the others.

    `theta` is the weight of an exemplar against all negatives together, `alpha` the ridge, `tolerance` where the
    factorisation of the negatives stops.

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
        sigma=1.0,
        offset=1.0,
        degree=3,
        gamma=1.0,
    ):
        self.theta, self.alpha, self.tolerance = theta, alpha, tolerance
        self._set_kernel(kernel, sigma, offset, degree, gamma)
