//! One tracker in the plots of a report: its values, its colour and its dash.

use plotters::style::{Color, RGBColor, ShapeStyle};

/// Colours that are told apart on white. Every third is solid, dashed, dotted, so that print in gray helps as well.
pub(super) const COLORS: [RGBColor; 13] = [
    RGBColor(214, 39, 40),
    RGBColor(31, 119, 180),
    RGBColor(44, 150, 44),
    RGBColor(255, 127, 14),
    RGBColor(130, 80, 180),
    RGBColor(23, 180, 200),
    RGBColor(140, 86, 75),
    RGBColor(227, 110, 185),
    RGBColor(110, 110, 110),
    RGBColor(175, 175, 20),
    RGBColor(20, 30, 130),
    RGBColor(0, 110, 100),
    RGBColor(0, 0, 0),
];

/// One tracker in a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// What it is ranked by and what the legend says.
    pub score: f64,
    /// Which colour and dash it has in all plots of the report.
    pub style: usize,
    /// Whether it is drawn thicker.
    pub emphasis: bool,
    /// The curve's values at the thresholds.
    pub values: Vec<f64>,
}

impl Series {
    /// The best first; ties in the order of the report.
    pub(super) fn sorted(series: &[Self]) -> Vec<Self> {
        let mut sorted = series.to_vec();
        sorted.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.style.cmp(&b.style)));
        sorted
    }

    /// Its colour.
    pub(super) fn color(&self) -> RGBColor {
        COLORS[self.style % COLORS.len()]
    }

    /// Dash and gap in pixels of a plot of this scale; `None` for a solid line.
    pub(super) fn dash(&self, scale: u32) -> Option<(u32, u32)> {
        // A colour that is used again gets another dash, as 13 is not a multiple of 3.
        match self.style % 3 {
            0 => None,
            1 => Some((10 * scale, 4 * scale)),
            _ => Some((3 * scale, 3 * scale)),
        }
    }

    /// The line's colour and width in a plot of this scale.
    pub(super) fn stroke(&self, scale: u32) -> ShapeStyle {
        // In half pixels, which PNG plots have.
        let halves = if self.emphasis { 7 } else { 4 };
        self.color().stroke_width((halves * scale).div_ceil(2))
    }

    /// Its line of the legend.
    pub(super) fn label(&self) -> String {
        format!("{} [{:.3}]", self.name, self.score)
    }
}

/// The colour of a [`Series::style`] as `#rrggbb`.
pub fn color_of(style: usize) -> String {
    let RGBColor(r, g, b) = COLORS[style % COLORS.len()];
    format!("#{r:02x}{g:02x}{b:02x}")
}
