"""Kernel machines with scikit-learn's conventions, over arrays or precomputed Gram matrices.

They need scikit-learn 1.6 or newer: `pip install "kcf-track[machines]"`, or `".[machines]"` in a clone.

| class | machine | methods |
| --- | --- | --- |
| `SVM` | support vector machine | `decision_function`, `predict` |
| `KernelRidge` | kernel ridge regression | `predict` |
| `KernelRidgeClassifier` | the same on labels of +1 and -1 | `decision_function`, `predict` |
| `KernelFisher` | kernel Fisher discriminant | `decision_function`, `predict`, `transform` |
| `KernelPCA` | kernel principal components | `transform`, `score_samples`, `denoise` |
| `KernelPCAClassifier` | distances to the subspaces of two classes | `decision_function`, `predict` |
| `SLEM` | square-loss exemplar machines | `decision_function`, `predict` |
| `KDSPE` | discriminative sparsity-preserving embedding | `decision_function`, `predict`, `transform` |

Each takes a `kernel`: `gaussian` or `rbf` (bandwidth `sigma`, or `gamma`), `polynomial` (`offset`, `degree`), `linear`, or
`precomputed`. Distances and inner products are divided by the number of features, so that a bandwidth means the same for
any number of them; by default it is that of scikit-learn's `gamma="scale"`. Decisions are no probabilities:
`sklearn.calibration.CalibratedClassifierCV` makes a `predict_proba` of them. More than two classes are separated one against the
rest, on one Gram matrix; by `SVM` in pairs. Ctrl-C ends a fit.

Examples:
    >>> import numpy
    >>> from kcf_track.machines import SVM
    >>> x = numpy.array([[0.0, 0.1], [0.1, 0.0], [1.0, 0.9], [0.9, 1.0]])
    >>> machine = SVM(C=10.0).fit(x, ["near", "near", "far", "far"])
    >>> machine.predict([[0.0, 0.0], [1.0, 1.0]]).tolist()
    ['near', 'far']
"""

try:
    from sklearn.utils.validation import validate_data  # noqa: F401
except ImportError as error:
    message = "kcf_track.machines needs scikit-learn 1.6 or newer: pip install 'scikit-learn>=1.6'"
    raise ImportError(message) from error

from ._estimators import (
    KDSPE,
    SLEM,
    SVM,
    KernelFisher,
    KernelPCA,
    KernelPCAClassifier,
    KernelRidge,
    KernelRidgeClassifier,
)

__all__ = [
    "KDSPE",
    "SLEM",
    "SVM",
    "KernelFisher",
    "KernelPCA",
    "KernelPCAClassifier",
    "KernelRidge",
    "KernelRidgeClassifier",
]
