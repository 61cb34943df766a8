//! The plots of a report, as SVG for pages and papers.
//!
//! Success and precision plots follow the field: curves over the thresholds, a legend `name [score]` sorted by score. A
//! tracker has one colour and one dash in all plots of a report. Legends stand beside the axes, where they hide no
//! curve.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Error, Result};

/// Height of a plot in pixels, and the width of the part with the axes. Its legend takes what its names need.
const HEIGHT: u32 = 440;
const AXES_WIDTH: i32 = 530;
/// Left edge of the text in the legend, in pixels from the legend's own.
const LEGEND_TEXT: i32 = 54;
const FONT: &str = "sans-serif";

/// Colours that differ on white. Dashes differ as well, for prints in gray.
const COLORS: [u32; 13] = [
    0xd62728, 0x1f77b4, 0x2c962c, 0xff7f0e, 0x8250b4, 0x17b4c8, 0x8c564b, 0xe36eb9, 0x6e6e6e, 0xafaf14, 0x141e82,
    0x006e64, 0x000000,
];

/// One tracker in a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The score; the legend shows it and is sorted by it.
    pub score: f64,
    /// Index of its colour and dash in all plots of the report.
    pub style: usize,
    /// Whether it is drawn thicker.
    pub emphasis: bool,
    /// The curve.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Its colour.
    fn color(&self) -> RGBColor {
        let [_, r, g, b] = COLORS[self.style % COLORS.len()].to_be_bytes();
        RGBColor(r, g, b)
    }

    /// Dash and gap in pixels; `None` for a solid line.
    fn dash(&self) -> Option<(u32, u32)> {
        // A colour that is used again gets another dash, as 13 is not a multiple of 3.
        match self.style % 3 {
            0 => None,
            1 => Some((10, 4)),
            _ => Some((3, 3)),
        }
    }

    /// The line's colour and width.
    fn stroke(&self) -> ShapeStyle {
        self.color().stroke_width(if self.emphasis { 4 } else { 2 })
    }

    /// Its line of the legend.
    fn label(&self) -> String {
        format!("{} [{:.3}]", self.name, self.score)
    }
}

/// The colour of a [`Series::style`] as `#rrggbb`.
pub fn color_of(style: usize) -> String {
    format!("#{:06x}", COLORS[style % COLORS.len()])
}

/// The axes.
#[derive(Debug)]
pub struct Axes {
    /// Label below the plot.
    pub x_label: &'static str,
    /// Label left of the plot.
    pub y_label: &'static str,
    /// The last threshold; the first is 0.
    pub x_max: f64,
    /// Decimals of the thresholds' labels.
    pub x_decimals: usize,
}

/// The points of a curve over equally spaced thresholds from 0 to `x_max`.
pub fn points(values: &[f64], x_max: f64) -> Vec<(f64, f64)> {
    let step = x_max / (values.len().max(2) - 1) as f64;
    values.iter().enumerate().map(|(i, &v)| (i as f64 * step, v)).collect()
}

/// Draws `series` as an SVG document, the best first; ties keep the order of the report.
///
/// # Errors
/// [`Error::Evaluation`] when drawing fails.
pub fn plot(title: &str, axes: &Axes, diagonal: bool, mut series: Vec<Series>) -> Result<String> {
    series.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.style.cmp(&b.style)));
    if diagonal {
        series.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.style.cmp(&b.style)));
    }
    let letters = series.iter().map(|s| s.label().chars().count()).max().unwrap_or(0).min(60);
    // Width of the axes and of the longest line of the legend.
    let width = AXES_WIDTH as u32 + LEGEND_TEXT as u32 + 10 + letters as u32 * 9;
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (width, HEIGHT)).into_drawing_area();
    let drawn = draw_curves(&area, title, axes, diagonal, &series);
    drop(area);
    let wrong = |reason| Error::evaluation("drawing a plot", reason);
    drawn.map_err(|error| wrong(error.to_string())).map(|()| svg)
}

type Drawn<E> = std::result::Result<(), DrawingAreaErrorKind<E>>;

fn draw_curves<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    title: &str,
    axes: &Axes,
    diagonal: bool,
    series: &[Series],
) -> Drawn<DB::ErrorType> {
    root.fill(&WHITE)?;
    let (plot, legend) = root.split_horizontally(AXES_WIDTH);
    let mut chart = ChartBuilder::on(&plot)
        .caption(title, (FONT, 19).into_font().style(FontStyle::Bold))
        .margin(10)
        .x_label_area_size(48)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..axes.x_max, 0.0..1.0)?;
    let decimals = axes.x_decimals;
    chart
        .configure_mesh()
        .x_desc(axes.x_label)
        .y_desc(axes.y_label)
        .axis_desc_style((FONT, 16))
        .label_style((FONT, 14))
        .x_labels(11)
        .y_labels(11)
        .x_label_formatter(&|x| format!("{x:.decimals$}"))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(222, 222, 222).stroke_width(1))
        .axis_style(RGBColor(70, 70, 70).stroke_width(1))
        .draw()?;
    if diagonal {
        let ends = [(0.0, 0.0), (axes.x_max, 1.0)];
        chart.draw_series(LineSeries::new(ends, RGBColor(150, 150, 150).stroke_width(1)))?;
    }
    // The best curve is drawn last, on top.
    for one in series.iter().rev() {
        let points = one.points.iter().copied();
        match one.dash() {
            None => chart.draw_series(LineSeries::new(points, one.stroke()))?,
            Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(points, dash, gap, one.stroke()))?,
        };
    }
    legend_on(&legend, series, 44)?;
    root.present()
}

/// One line a tracker: a piece of its curve and `name [score]`.
fn legend_on<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, series: &[Series], top: i32) -> Drawn<DB::ErrorType> {
    let room = HEIGHT as i32 - top - 14;
    let line = (room / series.len().max(1) as i32).clamp(11, 23);
    let size = (line - 6).clamp(8, 15) as u32;
    for (i, one) in series.iter().enumerate() {
        let y = top + line * i as i32 + line / 2;
        let ends = [(6, y), (46, y)];
        match one.dash() {
            None => area.draw(&PathElement::new(ends, one.stroke()))?,
            Some((dash, gap)) => area.draw(&DashedPathElement::new(ends, dash, gap, one.stroke()))?,
        }
        let mut font = (FONT, size).into_font();
        if one.emphasis {
            font = font.style(FontStyle::Bold);
        }
        let text = TextStyle::from(font).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(one.label(), (LEGEND_TEXT, y), text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Vec<Series> {
        (0..12)
            .map(|i| Series {
                name: format!("tracker <{i}> & co"),
                score: 0.5 - i as f64 / 100.0,
                style: i,
                emphasis: i == 3,
                points: points(
                    &(0..21).map(|t| (1.0 - t as f64 / 20.0).powf(1.0 + i as f64 / 4.0)).collect::<Vec<_>>(),
                    1.0,
                ),
            })
            .collect()
    }

    fn axes() -> Axes {
        Axes { x_label: "Overlap threshold", y_label: "Success rate", x_max: 1.0, x_decimals: 1 }
    }

    #[test]
    fn legends_are_sorted_and_escaped() {
        let mut unsorted = series();
        unsorted.reverse();
        let svg = plot("Success", &axes(), false, unsorted).unwrap();
        let places: Vec<usize> =
            (0..12).map(|i| svg.find(&format!("tracker &lt;{i}&gt; &amp; co [0.")).unwrap()).collect();
        assert!(places.is_sorted());
        assert!(svg.contains("[0.500]") && svg.contains("Overlap threshold"));
    }

    #[test]
    fn all_curves_are_drawn() {
        let svg = plot("Success", &axes(), false, series()).unwrap();
        for color in &COLORS[..12] {
            assert!(svg.contains(&format!("#{color:06X}")), "{color:06X} is missing");
        }
    }
}
