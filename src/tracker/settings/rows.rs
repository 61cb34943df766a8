//! The table's rows, each written once.
//!
//! A setting that stands at several places of the tree, as those of a machine over real windows do, is one row here and
//! one setting of the table at each of them.

use crate::features::hog;
use crate::filters::Loss;
use crate::kernels::Kernel;
use crate::machines::MachineKind;
use crate::setting::{Kind, Row};
use crate::tracker::params::FeatureKind;

/// Rows with their flags, none where that is empty.
pub(super) type Flagged = (&'static str, Row);

const FEATURES: Kind = Kind::Choice(&FeatureKind::NAMES);
/// What can be in the place of a machine.
pub(super) const FILTERS: [(&str, &str); 2] = [
    ("kcf", "kernelized correlation filter: learns all cyclic shifts of one area"),
    ("background-aware", "linear filter that keeps to the target, with colour, scale and rotation"),
];

const STATES: Kind = Kind::Choice(&[
    ("psr", "limits of the peak-to-sidelobe ratio"),
    ("belief", "the confidence, with a memory; a target that is lost is searched for in all of the frame"),
]);
const KERNELS: Kind = Kind::Choice(&[
    ("gaussian", "falls off with the distance"),
    ("polynomial", "a power of the inner product"),
    ("linear", "the inner product"),
]);
const LOSSES: Kind = Kind::Choice(&Loss::NAMES);
const AREAS: Kind = Kind::Choice(&[
    ("published", "large targets at half size, others at the frame's own"),
    ("bounded", "so coarsely that the area has no more than so many cells"),
]);

/// Below `search.filter`.
pub(super) const FILTER: &[Flagged] = &[
    ("feature", Row::new("feature", FEATURES, "What the filter sees")),
    ("kernel", Row::new("kernel", KERNELS, "How two patches are compared")),
    ("loss", Row::new("loss", LOSSES, "What a wrong answer of the filter costs")),
    ("", Row::new("area", AREAS, "At which scale the search area is seen")),
    ("cell-size", Row::new("feature.hog.cell-size", Kind::Whole(1, 64), "Side of a hog cell in pixels")),
    (
        "half-size-from",
        Row::new(
            "area.published.half-size-from",
            Kind::Limit(0.0),
            "Track at half size from this size on, the root of width times height in pixels",
        ),
    ),
    (
        "max-cells",
        Row::new(
            "area.bounded.max-cells",
            Kind::Number(16.0, 1e12),
            "Cells of the search area at most, about: a larger one is seen at a coarser scale; inf for the published \
             ways",
        ),
    ),
    (
        "smooth-area",
        Row::new("smooth-area", Kind::Switch, "Round the search area up to numbers of cells that transform cheaply"),
    ),
    (
        "padding",
        Row::new(
            "padding",
            Kind::Number(0.0, 20.0),
            "Area around the target that is searched, as a multiple of its size",
        ),
    ),
    ("lambda", Row::new("lambda", Kind::Above(0.0, 1e6), "Regularisation of the filter")),
    (
        "output-sigma",
        Row::new(
            "output-sigma",
            Kind::Above(0.0, 10.0),
            "Width of the response that the filter is taught, relative to the target's size",
        ),
    ),
    (
        "learning-rate",
        Row::new(
            "learning-rate",
            Kind::Number(0.0, 1.0),
            "How fast the model follows the target's appearance, a frame",
        ),
    ),
    ("sub-cell", Row::new("sub-cell", Kind::Switch, "Search for the peak between cells")),
    (
        "reuse-shift",
        Row::new(
            "reuse-shift",
            Kind::Number(0.0, 1e6),
            "Learn from the area that the target was found in, up to so many cells of motion",
        ),
    ),
    ("states", Row::new("states", STATES, "What makes the state of a frame")),
    (
        "uncertain-psr",
        Row::new(
            "states.psr.uncertain",
            Kind::Number(0.0, 1e6),
            "Peak-to-sidelobe ratio below which a frame's state is `uncertain`",
        ),
    ),
    (
        "lost-psr",
        Row::new(
            "states.psr.lost",
            Kind::Number(0.0, 1e6),
            "Peak-to-sidelobe ratio below which a frame's state is `lost`",
        ),
    ),
];

/// Below `search.windows` and `guard.windows`.
pub(super) const WINDOWS: &[Flagged] = &[
    (
        "template-size",
        Row::new(
            "template-size",
            Kind::Number(8.0, 1000.0),
            "Target size above which the picture is seen more coarsely, root of width times height in pixels",
        ),
    ),
    (
        "context",
        Row::new("context", Kind::Number(0.0, 5.0), "Area around the target in a template, as a multiple of its size"),
    ),
    (
        "reach",
        Row::new(
            "reach",
            Kind::Number(0.0, 20.0),
            "Reach of the search: the target may move by half of this, times its size, a frame",
        ),
    ),
    ("prior", Row::new("prior", Kind::Number(0.0, 1.0), "How much nearness to the last place counts")),
    (
        "sample-share",
        Row::new(
            "sample-share",
            Kind::Number(0.0, 0.999),
            "Share of the newest sample of the target among all its samples",
        ),
    ),
    ("gate", Row::new("gate", Kind::Number(-100.0, 100.0), "Score above which a frame is learned from")),
    ("learn-every", Row::new("every", Kind::Whole(1, 1_000_000), "Learn from one of so many frames that are believed")),
    ("positives", Row::new("positives", Kind::Whole(1, 256), "Samples of the target that are remembered")),
    ("negatives", Row::new("negatives", Kind::Whole(1, 256), "Samples of the background that are remembered")),
    ("hard-negatives", Row::new("hard-negatives", Kind::Whole(0, 32), "Samples of the background that a frame adds")),
    (
        "channels",
        Row::new(
            "channels",
            Kind::WholeOr(1, 15, hog::CHANNELS as u64),
            "Principal components that the 31 channels of HOG are projected onto; 31 for none",
        ),
    ),
];

/// Below `search.windows` alone: a guard judges by its own thresholds.
pub(super) const SEARCH_WINDOWS: &[Flagged] = &[(
    "lost-score",
    Row::new(
        "lost",
        Kind::Number(-100.0, 100.0),
        "Score below which a frame's state is `lost`, or below the gate where that is lower",
    ),
)];

/// Below `guard`.
pub(super) const GUARD: &[Flagged] = &[
    (
        "guard-doubt",
        Row::new("doubt", Kind::Number(-100.0, 100.0), "Score at the search's place below which the guard doubts it"),
    ),
    (
        "guard-belief",
        Row::new(
            "belief",
            Kind::Number(-100.0, 100.0),
            "Score above which a doubtful guard believes a window elsewhere",
        ),
    ),
    (
        "guard-margin",
        Row::new(
            "margin",
            Kind::Number(0.0, 100.0),
            "By how much that score must exceed the one at the search's place",
        ),
    ),
    (
        "guard-far",
        Row::new("far", Kind::Number(0.0, 100.0), "How much more is asked of a window anywhere in the frame"),
    ),
    (
        "guard-patience",
        Row::new(
            "patience",
            Kind::Whole(1, 1_000_000),
            "Doubtful frames in a row after which the target is lost and the whole frame is searched",
        ),
    ),
    (
        "guard-tiles",
        Row::new("tiles", Kind::Whole(0, 1000), "Search areas a frame of that search; 0 for no such search"),
    ),
    (
        "guard-relearn",
        Row::new(
            "relearn",
            Kind::Number(0.0, 1.0),
            "Weight of the new sample when the search is put to another place: 1 forgets what it knew, 0 keeps it",
        ),
    ),
];

/// A kernel's, below wherever it stands, with the end of their flags.
pub(super) fn kernel() -> impl Iterator<Item = (&'static str, Row)> {
    Kernel::SETTINGS.iter().map(|row| (row.path.rsplit('.').next().unwrap_or_default(), *row))
}

/// The choice of a kernel.
pub(super) const KERNEL: Row = Row::new("kernel", KERNELS, "How two windows are compared");

/// Every machine with what it is.
pub(super) fn machines(guards: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    MachineKind::ALL.iter().filter(move |kind| !guards || kind.guards()).map(|kind| (kind.name(), kind.description()))
}
