//! How time and memory grow with the window's area and with the length of a sequence: a table, and a picture in
//! `target/growth`.

use std::path::Path;
use std::process::Command;

use kcf_track::Params;
use kcf_track::tracker::SearchParams;
use plotters::prelude::*;

use super::Still;

/// The argument by which this program calls itself, for the memory of a process of its own.
pub const CHILD: &str = "growth-memory-of";
const PRESETS: [&str; 4] = ["paper", "paper-dcf", "paper-gray", "fast"];
const SIDES: [usize; 6] = [16, 32, 64, 128, 256, 400];
/// Updates of the long sequence, in blocks.
const BLOCK: usize = 2000;
const BLOCKS: usize = 20;

struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The published presets without the step down to half size, which would bend the curve.
fn params(preset: &str) -> Params {
    let mut params = Params::preset(preset).unwrap();
    if let SearchParams::Filter(filter) = &mut params.search {
        filter.half_size_from = 1e9;
    }
    params
}

fn area(side: usize) -> f64 {
    (2.5 * side as f64).floor().powi(2)
}

/// A line of `/proc/self/status` in MiB; 0 where the system has no such file.
fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim_start_matches(':').split_whitespace().next()?.parse().ok())
        .map_or(0.0, |kib: f64| kib / 1024.0)
}

/// Tracks for a while and prints the most memory that this process ever had.
pub fn child(preset: &str, side: &str) {
    let side = side.parse().unwrap();
    let mut still = Still::with(params(preset), side, side);
    (0..3).for_each(|_| still.update());
    println!("{}", status("VmHWM"));
}

fn peak_memory(preset: &str, side: usize) -> f64 {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).args([CHILD, preset, &side.to_string()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

pub fn run() {
    println!("one update of a square target, never at half size; n = pixels of the window (gray: cells)");
    let head = ["preset", "target", "n", "fastest us", "median us", "ns/(n log2 n)", "peak MiB"];
    println!(
        "{:>12} {:>8} {:>10} {:>12} {:>12} {:>14} {:>10}",
        head[0], head[1], head[2], head[3], head[4], head[5], head[6]
    );
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for preset in PRESETS {
        let (mut time, mut most) = (Vec::new(), Vec::new());
        for side in SIDES {
            let n = area(side);
            let count = (20_000_000.0 / n).clamp(9.0, 501.0) as usize;
            let (fastest, median) = Still::with(params(preset), side, side).times(count);
            let peak = peak_memory(preset, side);
            let relative = fastest * 1e3 / (n * n.log2());
            println!("{preset:>12} {side:>8} {n:>10} {fastest:>12.1} {median:>12.1} {relative:>14.3} {peak:>10.1}");
            time.push((n, fastest));
            most.push((n, peak));
        }
        times.push(Curve { name: preset.into(), points: time });
        memory.push(Curve { name: preset.into(), points: most });
    }
    // n log n through the middle of the first curve.
    let (n0, t0) = times[0].points[SIDES.len() / 2];
    let reference = SIDES.map(|side| (area(side), t0 * area(side) * area(side).ln() / (n0 * n0.ln())));
    times.push(Curve { name: "n log n".into(), points: reference.to_vec() });

    println!("\none update at a position in a long sequence, 40x60");
    println!("{:>12} {:>10} {:>12} {:>12} {:>10}", "preset", "position", "fastest us", "median us", "MiB");
    let (mut long_times, mut long_memory) = (Vec::new(), Vec::new());
    for preset in ["paper", "fast"] {
        let mut still = Still::new(preset, 40, 60);
        let (mut time, mut now) = (Vec::new(), Vec::new());
        for block in 1..=BLOCKS {
            let (fastest, median) = still.times(BLOCK);
            let (position, resident) = ((block * BLOCK) as f64, status("VmRSS"));
            println!("{preset:>12} {position:>10} {fastest:>12.1} {median:>12.1} {resident:>10.1}");
            time.push((position, median));
            now.push((position, resident));
        }
        long_times.push(Curve { name: preset.into(), points: time });
        long_memory.push(Curve { name: preset.into(), points: now });
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/growth");
    std::fs::create_dir_all(&folder).unwrap();
    let svg = folder.join("growth.svg");
    let panels = [&times, &long_times, &memory, &long_memory];
    draw(SVGBackend::new(&svg, SIZE).into_drawing_area(), panels);
    println!("\n{}", svg.display());
}

const SIZE: (u32, u32) = (1240, 900);

fn draw<DB: DrawingBackend>(root: DrawingArea<DB, plotters::coord::Shift>, panels: [&Vec<Curve>; 4]) {
    root.fill(&WHITE).ok().unwrap();
    let areas = root.split_evenly((2, 2));
    loglog(&areas[0], "time of an update", "pixels of the window", "microseconds", panels[0]);
    flat(&areas[1], "time of an update, median of 2000", "frame", "microseconds", panels[1]);
    loglog(&areas[2], "peak memory of the process", "pixels of the window", "MiB", panels[2]);
    flat(&areas[3], "memory of the process", "frame", "MiB", panels[3]);
    root.present().ok().unwrap();
}

fn ends(curves: &[Curve], of: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
    let all = || curves.iter().flat_map(|curve| &curve.points).map(&of);
    (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
}

/// Both axes logarithmic.
fn loglog<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    title: &str,
    x: &str,
    y: &str,
    curves: &[Curve],
) {
    let (xs, ys) = (ends(curves, |p| p.0), ends(curves, |p| p.1));
    let mut chart = builder(area, title)
        .build_cartesian_2d((xs.0 * 0.8..xs.1 * 1.2).log_scale(), (ys.0 * 0.7..ys.1 * 1.4).log_scale())
        .ok()
        .unwrap();
    fill(&mut chart, x, y, curves, |i| i);
}

/// From zero, so that what is flat looks flat.
fn flat<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    title: &str,
    x: &str,
    y: &str,
    curves: &[Curve],
) {
    let (xs, ys) = (ends(curves, |p| p.0), ends(curves, |p| p.1));
    let mut chart = builder(area, title).build_cartesian_2d(0.0..xs.1, 0.0..(ys.1 * 1.4).max(1.0)).ok().unwrap();
    // The same colours as in the other panels.
    fill(&mut chart, x, y, curves, |i| if i == 0 { 0 } else { 3 });
}

/// Axes, curves in the colours `color`, legend.
fn fill<'a, DB: DrawingBackend + 'a, X, Y>(
    chart: &mut ChartContext<'a, DB, Cartesian2d<X, Y>>,
    x: &str,
    y: &str,
    curves: &[Curve],
    color: impl Fn(usize) -> usize,
) where
    X: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .label_style(("sans-serif", 15))
        .draw()
        .ok()
        .unwrap();
    for (i, curve) in curves.iter().enumerate() {
        let style = style(color(i), &curve.name);
        let drawn = chart.draw_series(LineSeries::new(curve.points.iter().copied(), style).point_size(3));
        drawn.ok().unwrap().label(&curve.name).legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
    }
    legend(chart);
}

fn whole(value: &f64) -> String {
    format!("{value:.0}")
}

fn builder<'a, 'b, DB: DrawingBackend>(
    area: &'a DrawingArea<DB, plotters::coord::Shift>,
    title: &str,
) -> ChartBuilder<'a, 'b, DB> {
    let mut builder = ChartBuilder::on(area);
    builder.caption(title, ("sans-serif", 20)).margin(14).margin_right(34).x_label_area_size(44).y_label_area_size(70);
    builder
}

fn legend<'a, DB: DrawingBackend + 'a, C: CoordTranslate>(chart: &mut ChartContext<'a, DB, C>) {
    let mut labels = chart.configure_series_labels();
    let labels = labels.position(SeriesLabelPosition::UpperLeft).label_font(("sans-serif", 15));
    labels.background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw().ok().unwrap();
}

fn style(index: usize, name: &str) -> ShapeStyle {
    const COLORS: [RGBColor; 4] =
        [RGBColor(214, 39, 40), RGBColor(31, 119, 180), RGBColor(44, 150, 44), RGBColor(130, 80, 180)];
    match name {
        "n log n" => BLACK.mix(0.5).stroke_width(1),
        _ => COLORS[index % COLORS.len()].stroke_width(2),
    }
}
