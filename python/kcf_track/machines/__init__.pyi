"""Types of the machines; scikit-learn has none of its own."""

from collections.abc import Sequence as Seq
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

from .._native import Embedding, Head

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

class _Machine:
    kernel: str
    sigma: float | str
    gamma: float | str | None
    #: The bandwidth of a fitted machine.
    sigma_: float
    offset: float
    degree: int
    n_features_in_: int
    #: The names of the columns, if any.
    feature_names_in_: NDArray[Any]
    #: The training samples; None for a precomputed Gram matrix.
    X_fit_: NDArray[np.float64] | None
    def get_metadata_routing(self) -> Any: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

class _Classifier(_Machine):
    classes_: NDArray[Any]
    #: One for two classes, else one per class, or per pair of classes.
    heads_: list[Head]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def set_score_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...

class _Weighted(_Classifier):
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def set_fit_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...

class _Embedding(_Machine):
    embedding_: Embedding
    @property
    def eigenvalues_(self) -> NDArray[np.float64]: ...
    def transform(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def get_feature_names_out(self, input_features: Seq[str] | None = None) -> NDArray[Any]: ...
    def set_output(self, *, transform: str | None = None) -> Self: ...

class SVM(_Weighted):
    C: float
    balance: bool
    tolerance: float
    max_steps: int
    multiclass: str
    def __init__(
        self,
        C: float = 1.0,
        *,
        balance: bool = True,
        tolerance: float = 1e-3,
        max_steps: int = 10_000_000,
        multiclass: str = "ovo",
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...

class KernelRidgeClassifier(_Weighted):
    alpha: float
    bias: bool
    def __init__(
        self,
        alpha: float = 1e-2,
        *,
        bias: bool = True,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...

class KernelPCAClassifier(_Weighted):
    n_components: int
    def __init__(
        self,
        n_components: int = 8,
        *,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...

class SLEM(_Weighted):
    theta: float
    alpha: float
    tolerance: float
    def __init__(
        self,
        theta: float = 1.0,
        *,
        alpha: float = 0.2,
        tolerance: float = 1e-10,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...

class KernelFisher(_Embedding, _Classifier):
    eps: float
    ridge: str
    balance: bool
    def __init__(
        self,
        eps: float = 1e-2,
        *,
        ridge: str = "gram",
        balance: bool = True,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]: ...

class KDSPE(_Embedding, _Classifier):
    n_components: int
    ridge: float
    tau: float
    iterations: int
    eps: float
    rule: float
    def __init__(
        self,
        n_components: int = 12,
        *,
        ridge: float = 1e-2,
        tau: float = 0.04,
        iterations: int = 8,
        eps: float = 1e-2,
        rule: float = 1e-2,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]: ...

class KernelPCA(_Embedding):
    n_components: int
    def __init__(
        self,
        n_components: int = 8,
        *,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: object = None) -> Self: ...
    def fit_transform(self, X: ArrayLike, y: object = None) -> NDArray[np.float64]: ...
    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def denoise(self, X: ArrayLike) -> NDArray[np.float64]: ...

class KernelRidge(_Machine):
    alpha: float
    bias: bool
    head_: Head
    def __init__(
        self,
        alpha: float = 1e-2,
        *,
        bias: bool = True,
        kernel: str = "gaussian",
        sigma: float | str = "scale",
        gamma: float | str | None = None,
        offset: float = 1.0,
        degree: int = 3,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def predict(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def set_fit_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...
    def set_score_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...
