//! Rows of settings that several searches have, each written once.

use super::rows::Flagged;
use crate::machines::MachineKind;
use crate::setting::{Kind, Row};

const SCALES: Kind = Kind::Choice(&[
    ("none", "the box keeps its size"),
    ("filter", "a filter along the scales"),
    ("pyramid", "the search itself, in areas of three sizes"),
]);

const VERIFICATIONS: Kind = Kind::Choice(&[
    ("none", "the search alone"),
    ("decision", "the decision of a kernel machine over real windows"),
    ("matching", "the matching score of square-loss exemplar machines"),
]);
const MACHINES: Kind = Kind::Choice(MachineKind::NAMES);

/// Below `search.background` and `search.filter.states`.
pub(super) const BELIEF: &[Flagged] = &[
    (
        "tracking-from",
        Row::new(
            "belief.tracking-from",
            Kind::Number(0.0, 1.0),
            "Confidence from which a doubtful target is `tracking` again",
        ),
    ),
    (
        "tracking-until",
        Row::new(
            "belief.tracking-until",
            Kind::Number(0.0, 1.0),
            "Confidence below which a tracked target is `uncertain`",
        ),
    ),
    (
        "lost-below",
        Row::new("belief.lost-below", Kind::Number(0.0, 1.0), "Confidence below which a frame is without the target"),
    ),
    (
        "lost-after",
        Row::new(
            "belief.lost-after",
            Kind::Whole(1, 1_000_000),
            "Frames in a row without the target that make it `lost`",
        ),
    ),
    (
        "faint-below",
        Row::new(
            "belief.faint-below",
            Kind::Number(0.0, 1.0),
            "Share of its usual long-term answer below which the target is faint; 0 for none",
        ),
    ),
    (
        "faint-after",
        Row::new("belief.faint-after", Kind::Whole(1, 1_000_000), "Faint frames in a row that make it `lost`"),
    ),
    (
        "lost-tiles",
        Row::new(
            "belief.tiles",
            Kind::Whole(0, 1000),
            "Search areas a frame over all of the frame while it is lost; 0 for none",
        ),
    ),
    (
        "verify",
        Row::new("belief.verify", VERIFICATIONS, "What else must know a lost target that the search has found again"),
    ),
    (
        "verify-machine",
        Row::new("belief.verify.decision.machine", MACHINES, "Machine whose decision that is, with its defaults"),
    ),
    (
        "verify-score",
        Row::new("belief.verify.decision.least", Kind::Number(-100.0, 100.0), "The decision that it must have"),
    ),
    (
        "verify-every",
        Row::new(
            "belief.verify.decision.every",
            Kind::Whole(1, 1_000_000),
            "Learn for it from one of so many frames in which the target is tracked for sure",
        ),
    ),
    (
        "verify-score",
        Row::new("belief.verify.matching.least", Kind::Number(-1.0, 1.0), "The matching score that it must have"),
    ),
    (
        "verify-every",
        Row::new(
            "belief.verify.matching.every",
            Kind::Whole(1, 1_000_000),
            "Learn for it from one of so many frames in which the target is tracked for sure",
        ),
    ),
];

/// Below every search: what follows the size. A choice stands before the settings that need it.
pub(super) const SCALE: &[Flagged] = &[
    ("scale", Row::new("scale", SCALES, "How the target's size is followed")),
    ("scales", Row::new("scale.filter.count", Kind::Odd(3, 23), "Scales that are compared")),
    ("scale-step", Row::new("scale.filter.step", Kind::Number(1.001, 1.2), "From one scale to the next")),
    ("scale-rate", Row::new("scale.filter.rate", Kind::Number(0.0, 1.0), "How fast the filter for the scale follows")),
    ("", Row::new("scale.filter.lambda", Kind::Above(0.0, 1e6), "Regularisation of the filter for the scale")),
    ("", Row::new("scale.filter.area", Kind::Number(64.0, 16384.0), "Pixels of a patch for the scale, at most")),
    (
        "scale-step",
        Row::new("scale.pyramid.step", Kind::Number(1.001, 1.2), "From one size of the pyramid to the next"),
    ),
    (
        "scale-margin",
        Row::new(
            "scale.pyramid.margin",
            Kind::Number(0.0, 1.0),
            "By what share the answer at another size is lowered before it is compared; 1 believes none",
        ),
    ),
    (
        "scale-every",
        Row::new("scale.pyramid.every", Kind::Whole(1, 1_000_000), "Look at other sizes in one of so many frames"),
    ),
];
