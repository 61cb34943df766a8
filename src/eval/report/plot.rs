//! The plots of a report, as SVG for pages and papers and as PNG.
//!
//! Success and precision plots follow the field: curves over the thresholds, a legend `name [score]` sorted by score. A
//! tracker has one colour and one dash in all plots of a report. Legends stand beside the axes, where they hide no
//! curve.

use std::sync::OnceLock;

use image::ExtendedColorType;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};

use super::series::Series;
use crate::error::{Error, Result};
use crate::png;

/// Height of a plot in pixels, and the width of the part with the axes. Its legend takes what its names need.
const HEIGHT: u32 = 440;
const AXES_WIDTH: i32 = 530;
/// PNG plots are drawn this much larger, for print.
const PNG_SCALE: u32 = 2;
/// Where the text of the legend begins, from its left edge.
const LEGEND_TEXT: i32 = 54;
const FONT: &str = "sans-serif";

/// A plot, drawn for pages, and for print where it is wanted there.
pub struct Plot {
    /// A complete SVG document.
    pub svg: String,
    width: u32,
    draw: Draw,
}

impl std::fmt::Debug for Plot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plot").field("svg", &self.svg).field("width", &self.width).finish_non_exhaustive()
    }
}

/// Draws a plot in a form that is so many times as large.
type Draw = Box<dyn Fn(Root<'_>, u32) -> Result<(), String>>;

/// What stands around the curves.
#[derive(Debug)]
pub struct Axes {
    /// Above the plot.
    pub title: String,
    /// Below the plot.
    pub x_label: &'static str,
    /// Left of the plot.
    pub y_label: &'static str,
    /// The last threshold; the first is 0.
    pub x_max: f64,
    /// Decimals of the thresholds' labels.
    pub x_decimals: usize,
}

/// Draws curves over equally spaced thresholds.
///
/// # Errors
/// [`Error::Evaluation`] when drawing fails.
pub fn curves(axes: Axes, series: &[Series]) -> Result<Plot> {
    let (width, series) = (width(series), Series::sorted(series));
    let draw = move |root: Root<'_>, scale| draw_curves(root, scale, &axes, &series).map_err(|e| e.to_string());
    Plot::draw(width, Box::new(draw))
}

/// The drawing areas of the two forms.
enum Root<'a> {
    Svg(DrawingArea<SVGBackend<'a>, Shift>),
    Png(DrawingArea<BitMapBackend<'a>, Shift>),
}

/// The width that the axes and the longest line of the legend need.
fn width(series: &[Series]) -> u32 {
    let letters = series.iter().map(|s| s.label().chars().count()).max().unwrap_or(0).min(60);
    AXES_WIDTH as u32 + LEGEND_TEXT as u32 + 10 + letters as u32 * 9
}

fn wrong(reason: String) -> Error {
    Error::Evaluation { what: "drawing a plot".into(), reason }
}

impl Plot {
    fn draw(width: u32, draw: Draw) -> Result<Self> {
        fonts().map_err(|reason| wrong(reason.into()))?;
        let mut svg = String::new();
        draw(Root::Svg(SVGBackend::with_string(&mut svg, (width, HEIGHT)).into_drawing_area()), 1).map_err(wrong)?;
        Ok(Self { svg: short_font_sizes(&svg), width, draw })
    }

    /// The plot as a PNG file.
    ///
    /// # Errors
    /// [`Error::Evaluation`] when drawing fails.
    pub fn png(&self) -> Result<Vec<u8>> {
        let (width, height) = (self.width * PNG_SCALE, HEIGHT * PNG_SCALE);
        let mut pixels = vec![0u8; width as usize * height as usize * 3];
        let root = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        (self.draw)(Root::Png(root), PNG_SCALE).map_err(wrong)?;
        png::encode(&pixels, (width, height), ExtendedColorType::Rgb8).map_err(|error| wrong(error.to_string()))
    }
}

/// Sizes of letters to a tenth of a pixel: what `plotters` writes has fifteen digits of a quotient.
fn short_font_sizes(svg: &str) -> String {
    const NAME: &str = "font-size=\"";
    let mut parts = svg.split(NAME);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        short.push_str(NAME);
        match part.split_once('"').map(|(size, rest)| (size.parse::<f64>(), rest)) {
            Some((Ok(size), rest)) => short.push_str(&format!("{:.1}\"{rest}", size)),
            _ => short.push_str(part),
        }
    }
    short
}

/// The font of PNG plots. In SVG the reader's own sans-serif is used.
fn fonts() -> Result<(), &'static str> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font(FONT, FontStyle::Bold, dejavu::sans::bold()).is_ok()
    });
    if *registered { Ok(()) } else { Err("the font cannot be read") }
}

type Drawn<E> = std::result::Result<(), DrawingAreaErrorKind<E>>;

fn draw_curves(root: Root<'_>, scale: u32, axes: &Axes, series: &[Series]) -> Result<(), Box<dyn std::error::Error>> {
    match root {
        Root::Svg(area) => Ok(curves_on(&area, scale, axes, series).map_err(|e| e.to_string())?),
        Root::Png(area) => Ok(curves_on(&area, scale, axes, series).map_err(|e| e.to_string())?),
    }
}

fn curves_on<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    scale: u32,
    axes: &Axes,
    series: &[Series],
) -> Drawn<DB::ErrorType> {
    let px = |v: u32| v * scale;
    root.fill(&WHITE)?;
    let (plot, legend) = root.split_horizontally(AXES_WIDTH * scale as i32);
    let mut chart = ChartBuilder::on(&plot)
        .caption(&axes.title, (FONT, px(19)).into_font().style(FontStyle::Bold))
        .margin(px(10))
        .x_label_area_size(px(48))
        .y_label_area_size(px(58))
        .build_cartesian_2d(0.0..axes.x_max, 0.0..1.0)?;
    let decimals = axes.x_decimals;
    chart
        .configure_mesh()
        .x_desc(axes.x_label)
        .y_desc(axes.y_label)
        .axis_desc_style((FONT, px(16)))
        .label_style((FONT, px(14)))
        .x_labels(11)
        .y_labels(11)
        .x_label_formatter(&|x| format!("{x:.decimals$}"))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(222, 222, 222).stroke_width(scale))
        .axis_style(RGBColor(70, 70, 70).stroke_width(scale))
        .draw()?;
    // The best curve is drawn last, on top.
    for one in series.iter().rev() {
        let step = axes.x_max / (one.values.len().max(2) - 1) as f64;
        let points = one.values.iter().enumerate().map(|(i, &v)| (i as f64 * step, v));
        match one.dash(scale) {
            None => chart.draw_series(LineSeries::new(points, one.stroke(scale)))?,
            Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(points, dash, gap, one.stroke(scale)))?,
        };
    }
    legend_on(&legend, scale, series, 44)?;
    root.present()
}

/// One line a tracker: a piece of its curve and `name [score]`.
fn legend_on<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scale: u32,
    series: &[Series],
    top: i32,
) -> Drawn<DB::ErrorType> {
    let s = scale as i32;
    let room = HEIGHT as i32 - top - 14;
    let line = (room / series.len().max(1) as i32).clamp(11, 23);
    let size = (line - 6).clamp(8, 15) as u32;
    for (i, one) in series.iter().enumerate() {
        let y = (top + line * i as i32 + line / 2) * s;
        let ends = [(6 * s, y), (46 * s, y)];
        path_on(area, scale, one, ends.to_vec())?;
        let mut font = (FONT, size * scale).into_font();
        if one.emphasis {
            font = font.style(FontStyle::Bold);
        }
        let text = TextStyle::from(font).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(one.label(), (LEGEND_TEXT * s, y), text))?;
    }
    Ok(())
}

/// A line in a tracker's colour and dash.
fn path_on<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scale: u32,
    one: &Series,
    points: Vec<(i32, i32)>,
) -> Drawn<DB::ErrorType> {
    match one.dash(scale) {
        None => area.draw(&PathElement::new(points, one.stroke(scale))),
        Some((dash, gap)) => area.draw(&DashedPathElement::new(points, dash, gap, one.stroke(scale))),
    }
}

#[cfg(test)]
mod tests;
