"""Types of the compiled module."""

from collections.abc import Callable, Iterator, Sequence as Seq
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypedDict, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from ._names import Order, Preset, State
from ._tracks import Tracks

Box = tuple[float, float, float, float]
BoxLike = Seq[float] | NDArray[np.floating[Any]] | NDArray[np.integer[Any]]
Frame = NDArray[np.uint8]
#: OpenCV's `MatLike` fits; only uint8 is accepted.
FrameLike = NDArray[np.number[Any]]
Matrix = NDArray[np.float64]

VERSION: Final[str]

class Evidence(TypedDict):
    peak: float
    psr: float
    apce: float
    decision: float | None
    long_term: float | None
    identity: float | None
    color: float | None
    confidence: float | None
    refit_kept: bool

def presets() -> dict[Preset, str]:
    """The presets by name, and what each is."""

def install_model(name: str = "nanotrack-v3", source: str | PathLike[str] | None = None) -> Path:
    """Fetches the networks of `Tracker("expert")`, checks them, keeps them in the user's data folder, and returns their
    folder. `source` is another address, or a folder, with the published files.
    """

@final
class Estimate:
    """The state of a target in one frame."""
    def __eq__(self, other: object, /) -> bool: ...
    @property
    def ok(self) -> bool:
        """False exactly when the state is `occluded` or `lost`."""
    @property
    def box(self) -> Box:
        """The box of the target, or the last guess: left, top (0-based), width, height in pixels."""
    @property
    def polygon(self) -> Matrix | None:
        """The corners of a rotated target, an array (4, 2) of x and y, clockwise from the original upper left one; None
        for an upright target.
        """
    @property
    def state(self) -> State:
        """How reliable the box is: `initial`, `tracking`, `recovered`, `uncertain`, `occluded` or `lost`."""
    @property
    def confidence(self) -> float | None:
        """The probability that the box overlaps the target by more than half; None without a calibration, and in the
        first frame.
        """
    @property
    def evidence(self) -> Evidence:
        """The signals behind the box: `peak`, `psr`, `apce`, `decision`, `long_term`, `identity`, `color`, `confidence`
        and `refit_kept`.
        """

@final
class Tracker:
    """Follows one target: takes a box in the first frame, gives a box and its reliability in every later one."""
    def __new__(cls, preset: Preset = "robust", *, order: Order = "bgr", integer: bool = False, **settings: Any) -> Self: ...
    def to_bytes(self) -> bytes:
        """The tracker with all that it has learned, as bytes for `from_bytes`."""
    @staticmethod
    def from_bytes(data: bytes) -> Tracker:
        """The tracker of `to_bytes`, which continues with equal results."""
    def getTrackingScore(self) -> float:
        """OpenCV's name for `confidence`: 1 for the box that was given, NaN where there is none."""
    def init(self, frame: FrameLike, box: BoxLike, *, format: Literal["xywh", "xyxy"] = "xywh") -> None:
        """Learns the target in `box` (left, top, width, height, or two corners with `format="xyxy"`; it may reach over
        the border), in place of an earlier one.
        """
    def adjust(self, box: BoxLike, noise: float, *, format: Literal["xywh", "xyxy"] = "xywh") -> Box:
        """Corrects the place and the size in the last frame by a box from elsewhere, as a detector's, without learning anew, and
        gives the new box. `noise` is the standard deviation of its sides in pixels. The box counts the more, the less noise
        it has, the less sure the tracker is, and the longer ago the last correction is.
        """
    def update(self, frame: FrameLike) -> tuple[bool, Box]:
        """Finds the target in the next frame and updates the model: `ok, (left, top, width, height)`."""
    def copy(self) -> Tracker:
        """An independent tracker with the same model."""
    def __copy__(self) -> Tracker: ...
    def __deepcopy__(self, _memo: Any) -> Tracker: ...
    @property
    def estimate(self) -> Estimate | None:
        """The estimate of the last frame; None before `init`."""
    @property
    def box(self) -> Box | None:
        """The box of the target, or the last guess: left, top, width, height; None before `init`."""
    @property
    def state(self) -> State | None:
        """`initial`, `tracking`, `recovered`, `uncertain`, `occluded` or `lost`; None before `init`."""
    @property
    def confidence(self) -> float | None:
        """The probability that the box overlaps the target by more than half; None without a calibration, and in the
        first frame.
        """
    @property
    def evidence(self) -> Evidence | None:
        """The signals behind the box, a dict; None before `init`."""
    @property
    def response(self) -> NDArray[np.float32] | None:
        """The score of every translation in the last search area: a new array (rows, columns) of float32, no motion in
        the middle; None before `init`.
        """
    @property
    def response_grid(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The grid of `response` on the image: the centre of element `[0, 0]`, and the steps between columns and rows;
        None before `init`.
        """
    @property
    def response_angle(self) -> float | None:
        """The rotation of `response` on the image in radians, clockwise; None before `init`."""
    @property
    def preset(self) -> str:
        """The preset that the settings come from."""
    @property
    def order(self) -> Order:
        """The order of the colours: `bgr` or `rgb`."""
    @property
    def uses_color(self) -> bool:
        """Whether the tracker uses colours; otherwise it uses gray values alone."""
    @property
    def settings(self) -> dict[str, float | int | bool | str]:
        """All settings by path."""

@final
class MultiTracker:
    """Follows several targets through the same frames, on several threads (one per processor by default)."""
    def __new__(
        cls,
        preset: Preset = "robust",
        *,
        order: Order = "bgr",
        threads: int | None = None,
        detections: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Self: ...
    @overload
    def add(
        self,
        frame: FrameLike,
        box: BoxLike,
        *,
        id: int | None = None,
        format: Literal["xywh", "xyxy"] = "xywh",
        preset: Preset | None = None,
        **settings: Any,
    ) -> int: ...
    @overload
    def add(
        self,
        frame: FrameLike,
        box: Seq[BoxLike],
        *,
        id: None = None,
        format: Literal["xywh", "xyxy"] = "xywh",
        preset: Preset | None = None,
        **settings: Any,
    ) -> list[int]:
        """Learns a target in `box` of `frame` and gives its id: `id`, or the next number that no target has had. It
        replaces a target with that id. Keywords and `preset` are settings of this target alone. `format` says whether
        the numbers are left, top, width, height (`xywh`), or left, top, right, bottom (`xyxy`).
        """
    def update(
        self,
        frame: FrameLike,
        detections: Any = None,
        at: int | None = None,
        *,
        format: Literal["xywh", "xyxy"] = "xywh",
    ) -> dict[int, tuple[bool, Box]]:
        """Finds all targets in the next frame: a dict of `ok, (left, top, width, height)` by id."""
    def adjust(
        self,
        id: int,
        box: BoxLike,
        *,
        noise: float | None = None,
        at: int | None = None,
        format: Literal["xywh", "xyxy"] = "xywh",
    ) -> Box:
        """Corrects the place and the size of a target by a box of the last frame, or of the one `at` a `position`, without
        learning anew. `noise` is the standard deviation of its sides in pixels. The box counts the more, the less noise it
        has and the less sure the tracker is.
        """
    def to_bytes(self) -> bytes:
        """All targets with what they have learned, and the frames that are kept for late detections, as bytes for
        `from_bytes`.
        """
    @staticmethod
    def from_bytes(data: bytes) -> MultiTracker:
        """The targets of `to_bytes`, which continue with equal results."""
    def copy(self) -> MultiTracker:
        """An independent copy with the same models."""
    def __copy__(self) -> MultiTracker: ...
    def __deepcopy__(self, memo: Any, /) -> MultiTracker: ...
    def items(self) -> list[tuple[int, Estimate]]:
        """The ids and the last estimates, by ascending id."""
    @property
    def tracks(self) -> Tracks:
        """The targets in the last frame, with `ids`, `xyxy`, `states`, `confidence`, `classes` and
        `to_supervision()`.
        """
    @property
    def position(self) -> int:
        """The number of the last frame, from 1; 0 before the first."""
    @property
    def detected(self) -> list[int | None]:
        """The target of each of the last detections; None for one that is not used. It may not be confirmed yet."""
    @property
    def refused(self) -> dict[int, str]:
        """Why some of the last detections are not understood, by their places."""
    def remove(self, id: int) -> None:
        """Removes a target. Raises KeyError for an unknown id."""
    @property
    def uses_color(self) -> bool:
        """Whether targets without settings of their own use colours; otherwise they use gray values alone."""
    @property
    def _parameters(self) -> str:
        """All settings of targets without settings of their own, as a JSON document has them."""
    @property
    def ids(self) -> list[int]:
        """The ids of the targets, ascending."""
    def __getitem__(self, id: int, /) -> Estimate: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

@final
class Source:
    """A folder of images in natural order and the truth beside it (OTB, VOT, GOT-10k, MOT, or any folder), or a video,
    an animated picture, a camera (`/dev/video0`, or its number), an address (`rtsp://…`), `-` for the standard
    input, image files by a pattern (`frames/%04d.jpg`), or a list of image files.
    """
    def __new__(
        cls,
        path: int | str | PathLike[str] | Seq[str | PathLike[str]],
        *,
        target: int | None = None,
        truth: str | PathLike[str] | None = None,
        lenient: bool = False,
        stream: int | None = None,
        levels: tuple[int, int] | None = None,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the folder or file."""
    @property
    def length(self) -> int | None:
        """The number of frames; None where it is unknown."""
    @property
    def rate(self) -> float | None:
        """Frames per second; None where the rate is unknown."""
    @property
    def files(self) -> list[str]:
        """The image files of a folder, in order; empty for other sources."""
    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height of the frames; None where only decoding tells."""
    @property
    def warnings(self) -> list[str]:
        """Warnings, such as rows of the truth that do not match the images."""
    def true_box(self, position: int) -> Box | None:
        """The true box of the frame at `position`; None where there is none."""
    def box(self, position: int) -> Box:
        """The true box of the frame at `position`. Raises FormatError where there is none."""
    def span(self, start: int | None = None, end: int | None = None) -> tuple[int, int | None]:
        """The first and the last position from `start` to `end`, by default those of the source. The last is None where
        it is unknown.
        """
    def frames(
        self, start: int | None = None, end: int | None = None, *, color: bool = True, order: Order = "bgr"
    ) -> Frames:
        """The frames of a span, decoded ahead on another thread: `(position, name, array, seconds from the first frame,
        milliseconds of decoding)`. Arrays are gray, or colours in `order`, blue first as in OpenCV or `"rgb"`. A
        frame that cannot be read has its exception in place of the array.
        """

@final
class Frames:
    """An iterator over the frames of a source."""
    def __iter__(self) -> Iterator[tuple[int, str, Frame | Exception, float | None, float]]: ...
    def __next__(self) -> tuple[int, str, Frame | Exception, float | None, float]: ...

def main(arguments: Seq[str]) -> int:
    """Runs the program `kcf-track` with `arguments`, the first of which is its name, and gives the exit code."""
def read_image(path: str | PathLike[str], color: bool, order: Order) -> Frame:
    """The image in a file as an array: gray, or colours in `order`."""
def read_document(
    path: str | PathLike[str],
    source: Source | None,
    size: tuple[int, int] | None,
    clip: str | None,
    base: int | None,
) -> tuple[str, list[str]]:
    """Reads the JSON document of a run, or labels in any format, of a `source`, or of frames with this width and height.

    `clip` names the labels that count, `base` is the number of the first frame. Returns the document as text, and notes
    on what was left out or decided.
    """
def save_document(text: str, path: str | PathLike[str], format: str | None) -> None:
    """Writes the document `text` to `path` in a format, by default that of the ending."""
def draw_document(text: str, frame: FrameLike, order: Order, style: str) -> Frame:
    """Draws the boxes of the document `text` on a copy of `frame` with colours in `order`."""
def frame_record(
    position: int,
    name: str,
    time: float | None,
    id: int | None,
    box: Box,
    estimate: Estimate | None,
    decode_ms: float,
    track_ms: float,
) -> str:
    """The record of a target in a frame, as JSON text: an element of `frames` in a document. Without an estimate the frame
    could not be read.
    """
@final
class Kernel:
    """A kernel between the rows of arrays of float64."""
    def __new__(
        cls, name: str, *, sigma: float = 0.5, offset: float = 1.0, degree: int = 9
    ) -> Self: ...
    def gram(self, samples: Matrix) -> Matrix:
        """The kernel values of all pairs of rows: (n, n)."""
    def cross_gram(self, test: Matrix, train: Matrix) -> Matrix:
        """The kernel values of each row of `test` with each row of `train`: (m, n)."""
    def own(self, samples: Matrix) -> Matrix:
        """The kernel value of each row with itself: (m,); infinite where it overflows."""

@final
class Head:
    """A fitted machine: a function of the kernel values with the training samples."""
    def __new__(
        cls, alpha: Matrix, bias: float, subspace: tuple[float, Matrix, Matrix, Matrix] | None = None
    ) -> Self: ...
    @property
    def alpha(self) -> Matrix:
        """The coefficients of the kernel values, (n,)."""
    @property
    def bias(self) -> float:
        """The constant."""
    @property
    def support(self) -> list[int]:
        """The indices of the training samples that decisions depend on."""
    @property
    def needs_own(self) -> bool:
        """Whether decisions need the kernel values of samples with themselves."""
    def decision(self, cross: Matrix, own: Matrix) -> Matrix:
        """The decisions of m samples: `cross` (m, n) holds their kernel values with the training samples, `own` (m,)
        those with themselves.
        """

def fit(
    name: str,
    options: str,
    kernel: Kernel | None,
    samples: Matrix,
    classes: Seq[int],
    weights: Seq[float],
    *,
    pairs: bool = False,
) -> list[Head]:
    """Fits the machine of that name, with settings in JSON, to samples (n, features), or without a `kernel` to their
    Gram matrix (n, n), and the numbers of classes (n,): a head per class against the rest, one for two classes, or,
    with `pairs`, one per pair of classes.
    """
def fit_numbers(
    name: str, options: str, gram: Matrix, numbers: Seq[float], weights: Seq[float]
) -> Head:
    """Fits the machine of that name, with settings in JSON, to a Gram matrix (n, n) and numbers (n,)."""
@final
class Embedding:
    """A map from kernel values to a few coordinates."""
    def __new__(cls, values: Matrix, coefficients: Matrix, constant: Matrix, norm: float | None = None) -> Self: ...
    @property
    def values(self) -> Matrix:
        """The value that each coordinate was chosen by, largest first: a variance, or a generalised eigenvalue."""
    @property
    def coefficients(self) -> Matrix:
        """The coefficients of the kernel values, (n, d)."""
    @property
    def constant(self) -> Matrix:
        """The constant of each coordinate, (d,)."""
    def transform(self, cross: Matrix) -> Matrix:
        """The coordinates (m, d) of m samples from their kernel values with the training samples (m, n)."""
    def novelty(self, cross: Matrix, own: Seq[float]) -> Matrix:
        """The squared distances (m,) of m samples to the subspace of the components."""
    def denoise(self, sigma: float, train: Matrix, noisy: Matrix) -> Matrix:
        """The samples whose images under a Gaussian kernel are nearest to the projections of the rows of `noisy`."""

def embed(name: str, options: str, gram: Matrix, classes: Seq[int]) -> Embedding:
    """Fits the embedding of that name (`kpca`, `klda` or `kdspe`), with settings in JSON, to a Gram matrix (n, n) and
    the numbers of classes (n,).
    """
def evaluate(
    data: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    presets: Seq[tuple[str, dict[str, Any]]],
    others: Seq[tuple[str, Callable[[], Any]]],
    results: Seq[tuple[str, str | PathLike[str]]],
    sequences: Seq[str],
    protocol: str,
    toolkit: str,
    jobs: int,
    baseline: str | None,
    allow_short: bool,
    command: str,
    progress: Callable[[int, int], object] | None,
) -> str:
    """Runs trackers over the sequences in `data` and gives the report and the timings as JSON."""
