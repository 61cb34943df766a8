//! Where the filter may have values, and what they cost there.

use crate::tracker::BackgroundParams;

/// `w` of each cell: the squared distance from the middle counts in sizes of the target, and the mask keeps the filter
/// to the target.
pub(super) fn weights(params: &BackgroundParams, cells: usize, (height, width): (f64, f64)) -> Vec<f32> {
    let middle = cells as f64 / 2.0;
    let weight = |i: usize| {
        let (r, c) = ((i / cells) as f64 + 0.5 - middle, (i % cells) as f64 + 0.5 - middle);
        let inside = |d: f64, length: f64| d.abs() <= (length / 2.0).max(1.0);
        if params.mask && !(inside(r, height) && inside(c, width)) {
            return f32::INFINITY;
        }
        let (r, c) = (r / height, c / width);
        (params.weight + params.weight_growth * (r * r + c * c)) as f32
    };
    (0..cells * cells).map(weight).collect()
}
