//! Settings that have a name.

use super::{AreaSize, BackgroundParams, FeatureKind, FilterParams, KernelKind, Params};

impl Params {
    /// The names that [`Params::preset`] knows, each with what it is.
    pub const PRESETS: [(&'static str, &'static str); 7] = [
        ("paper", "KCF as published: HOG, Gaussian kernel"),
        ("robust", "background-aware filter with colour names, colour histograms, size and angle"),
        ("fast", "KCF in search areas of bounded size, twice as fast and more"),
        ("paper-dcf", "DCF as published: HOG, linear kernel"),
        ("paper-gray", "gray values, Gaussian kernel (CSK's features)"),
        ("paper-gray-linear", "gray values, linear kernel (MOSSE's regression)"),
        ("paper-polynomial", "HOG, polynomial kernel"),
    ];

    /// The settings of that name; `None` when there are none.
    pub fn preset(name: &str) -> Option<Self> {
        use {FeatureKind::*, KernelKind::*};
        if name == "robust" {
            return Some(BackgroundParams::default().into());
        }
        let filter = match name {
            "paper" => FilterParams::paper(Hog, Gaussian),
            "fast" => fast(),
            "paper-dcf" => FilterParams::paper(Hog, Linear),
            "paper-gray" => FilterParams::paper(Gray, Gaussian),
            "paper-gray-linear" => FilterParams::paper(Gray, Linear),
            "paper-polynomial" => FilterParams::paper(Hog, Polynomial),
            _ => return None,
        };
        Some(filter.into())
    }
}

/// The paper's filter in search areas of bounded size, one feature extraction a frame. Peaks between cells make up for
/// the coarser scale. Chosen on means over all sequences of the benchmark, on which it is as good as the paper's:
/// single ones differ both ways.
fn fast() -> FilterParams {
    FilterParams {
        area: AreaSize::Bounded { max_cells: AreaSize::MAX_CELLS },
        smooth_area: true,
        sub_cell: true,
        reuse_shift: 2.0,
        ..FilterParams::paper(FeatureKind::Hog, KernelKind::Gaussian)
    }
}

impl Default for Params {
    /// The preset `paper`.
    fn default() -> Self {
        FilterParams::paper(FeatureKind::Hog, KernelKind::Gaussian).into()
    }
}
