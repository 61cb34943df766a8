//! The rows of the background-aware filter and of the search with it, each written once.

use super::rows::Flagged;
use crate::setting::{Kind, Row};

const COLOR_WEIGHTINGS: Kind = Kind::Choice(&[
    ("fixed", "nothing"),
    ("separation", "how well colour tells the target from the whole search area"),
]);
const ASPECTS: Kind =
    Kind::Choice(&[("none", "the box keeps its shape"), ("filter", "a filter along the shapes, at the same area")]);
const ROTATIONS: Kind =
    Kind::Choice(&[("none", "the search area stays upright"), ("filter", "a filter along the angles")]);

/// Below `search.background`. A choice stands before the settings that need it.
pub(super) const BACKGROUND: &[Flagged] = &[
    (
        "color-weighting",
        Row::new("color-weighting", COLOR_WEIGHTINGS, "What the weight of the colour histograms depends on"),
    ),
    ("aspect", Row::new("aspect", ASPECTS, "How the target's shape is followed, its width over its height")),
    ("rotation", Row::new("rotation", ROTATIONS, "How the target's angle is followed")),
    (
        "padding",
        Row::new(
            "padding",
            Kind::Number(0.0, 20.0),
            "Area around the target that is searched, as a multiple of its size",
        ),
    ),
    (
        "max-cells",
        Row::new(
            "max-cells",
            Kind::Number(1296.0, 6400.0),
            "Cells of the search area at most: a larger one is seen at a coarser scale",
        ),
    ),
    (
        "output-sigma",
        Row::new(
            "output-sigma",
            Kind::Above(0.0, 10.0),
            "Width of the response that the filter is taught, relative to the target's size",
        ),
    ),
    ("mask", Row::new("mask", Kind::Switch, "Allow the filter values on the target only")),
    ("weight", Row::new("weight", Kind::Number(1e-6, 1e6), "Weight of the filter's values in its objective")),
    (
        "weight-growth",
        Row::new(
            "weight-growth",
            Kind::Number(0.0, 1e6),
            "Added to the weight at a distance of the target's size from its middle, growing with the square",
        ),
    ),
    ("temporal", Row::new("temporal", Kind::Number(0.0, 1e6), "How strongly the filter is held near the one before")),
    (
        "learning-rate",
        Row::new(
            "learning-rate",
            Kind::Number(0.0, 1.0),
            "How far the sample that is learned moves towards the newest; 1 learns that alone",
        ),
    ),
    ("solver-steps", Row::new("steps", Kind::Whole(1, 1000), "Steps of the filter's solver a frame")),
    ("penalty", Row::new("penalty", Kind::Number(1e-6, 1e6), "Penalty of the filter's solver in its first step")),
    (
        "penalty-growth",
        Row::new("penalty-growth", Kind::Number(1e-3, 1e3), "By what that penalty is multiplied from step to step"),
    ),
    (
        "penalty-limit",
        Row::new("penalty-limit", Kind::Number(1e-6, 1e6), "What the penalty is at most from the second step on"),
    ),
    (
        "color-weight",
        Row::new("color", Kind::Number(0.0, 1.0), "Weight of the colour histograms in the response; 0 for none"),
    ),
    (
        "color-rate",
        Row::new(
            "color-rate",
            Kind::Number(0.0, 0.999),
            "How fast the colour histograms follow, a frame that is learned",
        ),
    ),
    (
        "separation-from",
        Row::new(
            "color-weighting.separation.from",
            Kind::Number(0.0, 1.0),
            "Share of the search area that colour tells from the target, up to which it has no weight",
        ),
    ),
    (
        "separation-to",
        Row::new(
            "color-weighting.separation.to",
            Kind::Number(0.0, 1.0),
            "Share of the search area that colour tells from the target, from which on it has its full weight",
        ),
    ),
    (
        "separation-rate",
        Row::new(
            "color-weighting.separation.rate",
            Kind::Number(0.0, 1.0),
            "How fast the separation that counts follows, a frame that is learned",
        ),
    ),
    ("settle", Row::new("settle", Kind::Whole(0, 1_000_000), "Learn from each of so many frames after the first one")),
    ("learn-every", Row::new("every", Kind::Whole(1, 1_000_000), "After them, learn from one of so many frames")),
    (
        "reuse-shift",
        Row::new(
            "reuse-shift",
            Kind::Number(0.0, 1e6),
            "Learn from the area that the target was found in, up to so many cells of motion",
        ),
    ),
    ("aspects", Row::new("aspect.filter.count", Kind::Odd(3, 23), "Shapes that are compared")),
    (
        "aspect-step",
        Row::new("aspect.filter.step", Kind::Number(1.001, 1.2), "From the aspect of a shape to the next's"),
    ),
    (
        "aspect-prior",
        Row::new(
            "aspect.filter.prior",
            Kind::Number(1e-4, 10.0),
            "Width of the changes that are expected, of the logarithm of the aspect a frame",
        ),
    ),
    (
        "aspect-pull",
        Row::new(
            "aspect.filter.pull",
            Kind::Number(0.0, 1.0),
            "By what share of its logarithm the aspect is drawn back to the first one, a frame",
        ),
    ),
    (
        "aspect-most",
        Row::new(
            "aspect.filter.most",
            Kind::Number(1.0, 4.0),
            "The aspect is at most so many times the first one, and at least the reciprocal of it",
        ),
    ),
    (
        "aspect-rate",
        Row::new("aspect.filter.rate", Kind::Number(0.0, 1.0), "How fast the filter for the aspect follows"),
    ),
    ("", Row::new("aspect.filter.lambda", Kind::Above(0.0, 1e6), "Regularisation of the filter for the aspect")),
    ("", Row::new("aspect.filter.area", Kind::Number(64.0, 16384.0), "Pixels of a patch for the aspect, at most")),
    (
        "turn-prior",
        Row::new(
            "rotation.filter.prior",
            Kind::Number(0.1, 1e6),
            "Width of the turns that are expected, in degrees a frame",
        ),
    ),
    (
        "turn-rate",
        Row::new("rotation.filter.rate", Kind::Number(0.0, 1.0), "How fast the filter for the angle follows"),
    ),
    ("", Row::new("rotation.filter.lambda", Kind::Above(0.0, 1e6), "Regularisation of the filter for the angle")),
    (
        "",
        Row::new(
            "rotation.filter.around",
            Kind::Number(0.5, 3.0),
            "Side of a patch for the angle, over that of the target",
        ),
    ),
    ("", Row::new("rotation.filter.area", Kind::Number(64.0, 16384.0), "Pixels of a patch for the angle, at most")),
    ("least-turn", Row::new("rotation.filter.least", Kind::Number(0.0, 180.0), "Degrees below which a turn is none")),
    (
        "turn-margin",
        Row::new(
            "rotation.filter.margin",
            Kind::Number(0.0, 1.0),
            "By what share the answer at another angle is lowered before it is compared; 1 believes none",
        ),
    ),
];
