//! A page that shows one step of the paper's tracker: each part with its equation and its place in the code.
//!
//! The page runs the search of the tracker a step at a time, and shows what lies between.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::ExtendedColorType;

use super::drawing::viridis;
use crate::bbox::BBox;
use crate::encode::{self, in_color};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::kernels::Kernel;
use crate::text::{escape, fill};
use crate::tracker::{FilterLocalizer, FilterParams, FilterSnapshot, Params, ScaleParams, SearchParams, check_start};

/// The line of `needle` in `text`, from 1. The line is found when the program is built, so no page names a line of
/// older code.
const fn line_of(text: &str, needle: &str) -> usize {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    let (mut line, mut at) = (1, 0);
    while at + needle.len() <= text.len() {
        let mut same = 0;
        while same < needle.len() && text[at + same] == needle[same] {
            same += 1;
        }
        if same == needle.len() {
            return line;
        }
        if text[at] == b'\n' {
            line += 1;
        }
        at += 1;
    }
    panic!("the code that a page explains has another name")
}

/// A place in the code as file and line, with a link if the build knows the address of its sources (`KCF_TRACK_SOURCES`).
macro_rules! place {
    ($file:literal, $needle:literal) => {{
        #[allow(long_running_const_eval, reason = "a search through one file")]
        const LINE: usize = line_of(include_str!(concat!("../", $file)), $needle);
        place(concat!("src/", $file), LINE)
    }};
}

fn place(file: &str, line: usize) -> String {
    let text = format!("<code>{file}:{line}</code>");
    match option_env!("KCF_TRACK_SOURCES") {
        Some(base) => format!("<a href=\"{}/{file}#L{line}\">{text}</a>", escape(base.trim_end_matches('/'))),
        None => text,
    }
}

/// A part of the page, by its name in the template.
type Part = (&'static str, String);

/// The paper's tracker (Henriques et al., TPAMI 2015, algorithm 1) over one target.
pub struct Replay {
    params: FilterParams,
    /// The number of the frame with the given box.
    first: usize,
    /// Width and height of the first box.
    size: (f64, f64),
    search: FilterLocalizer,
}

impl Replay {
    /// Learns the target in `bbox` of `frame`, the one at `first` of its sequence.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings that are not the paper's; [`Error::Box`] for a box that cannot be tracked.
    pub fn new(params: &Params, frame: &Frame<'_>, first: usize, bbox: BBox) -> Result<Self> {
        match &params.search {
            SearchParams::Filter(filter) if filter.scale == ScaleParams::None && params.guard.is_none() => {
                check_start(frame.size(), bbox)?;
                let search = FilterLocalizer::new(filter, frame, bbox)?;
                Ok(Self { params: filter.clone(), first, size: (bbox.w, bbox.h), search })
            }
            other => {
                let expected = "the tracker of the paper: take --preset paper, paper-dcf or paper-gray";
                Err(Error::setting("search", other.detector(), expected))
            }
        }
    }

    /// Finds the target in the next frame and learns it there.
    pub fn update(&mut self, frame: &Frame<'_>) {
        if self.search.find(frame) {
            self.search.learn_here(frame);
        }
    }

    /// The box of the target.
    pub fn bbox(&self) -> BBox {
        self.search.pose().bbox(self.size)
    }

    /// Detects in `frame`, the one at `number` of the sequence `name`, and returns the page about it. In the first frame
    /// the model answers to what it has just learned. `other` is a tracker to compare with, and what differs there.
    ///
    /// # Errors
    /// When a picture cannot be encoded.
    pub fn page(
        &mut self,
        name: &str,
        number: usize,
        frame: &Frame<'_>,
        shown: &Frame<'_>,
        other: Option<(&mut Self, &str)>,
    ) -> Result<String> {
        let before = (self.bbox(), self.search.place_on_frame());
        self.search.find(frame);
        let compared = other.map(|(other, change)| self.compared(frame, other, change)).transpose()?;
        let (around, first) = match number == self.first {
            true => (
                "the given box".into(),
                "<p>The model was learned in this frame: the response shows what it has learned.</p>",
            ),
            false => (format!("the box of frame {}", number - 1), ""),
        };
        let mut parts = vec![
            ("name", escape(name)),
            ("number", number.to_string()),
            ("frame", self.frame(shown, before)?),
            ("around", around),
            ("first", first.into()),
            ("compared", compared.unwrap_or_default()),
            ("commit", option_env!("KCF_TRACK_COMMIT").unwrap_or("not recorded").into()),
        ];
        parts.extend(self.settings());
        parts.extend(pictures(&self.search.snapshot())?);
        parts.extend(places());
        Ok(fill(include_str!("../../assets/explain.html"), &parts))
    }

    /// The settings, and the equation of the kernel.
    fn settings(&self) -> [Part; 5] {
        let kernel_equation = match self.params.kernel {
            Kernel::Gaussian { sigma } => format!(
                "k<sup>xz</sup> = exp(−(‖z‖² + ‖x‖² − 2 F⁻¹(Σ<sub>d</sub> ẑ<sub>d</sub> ⊙ x̂<sub>d</sub>*)) / (D σ²)), σ = {sigma} \
                 (eq. 31)"
            ),
            Kernel::Polynomial { a, b } => format!(
                "k<sup>xz</sup> = (F⁻¹(Σ<sub>d</sub> ẑ<sub>d</sub> ⊙ x̂<sub>d</sub>*) / D + {a})<sup>{b}</sup> (section 6.1)"
            ),
            _ => "k<sup>xz</sup> = F⁻¹(Σ<sub>d</sub> ẑ<sub>d</sub> ⊙ x̂<sub>d</sub>*) / D (section 6.1)".into(),
        };
        [
            ("area", (1.0 + self.params.padding).to_string()),
            ("rate", self.params.learning_rate.to_string()),
            ("output sigma", self.params.output_sigma.to_string()),
            ("lambda", self.params.lambda.to_string()),
            ("kernel equation", kernel_equation),
        ]
    }

    /// The planes of this tracker beside those of `other`, where `change` holds, and their differences.
    fn compared(&mut self, frame: &Frame<'_>, other: &mut Self, change: &str) -> Result<String> {
        other.search.find(frame);
        let (own, changed) = (self.search.snapshot(), other.search.snapshot());
        let planes = |of: FilterSnapshot| {
            let [kernel, alpha, _] = of.planes;
            [("Labels", of.labels), ("Kernel correlation", kernel), ("Coefficients", alpha), ("Response", of.response)]
        };
        let cells = [own.cells, changed.cells];
        let mut rows = String::new();
        for ((name, own), (_, changed)) in planes(own).into_iter().zip(planes(changed)) {
            let range = range(own.iter().chain(&changed));
            let difference = if cells[0] == cells[1] {
                let difference: Vec<f32> = changed.iter().zip(&own).map(|(b, a)| b - a).collect();
                let most = farthest(&difference);
                format!("{}<p>−{most:.4} to {most:.4}</p>", centred(&difference, cells[0], [-most, most])?)
            } else {
                let [(a, b), (c, d)] = cells;
                format!("<p>{b} × {a} and {d} × {c} cells</p>")
            };
            let (first, second) = (centred(&own, cells[0], range)?, centred(&changed, cells[1], range)?);
            let [low, high] = range;
            rows += &format!(
                "<tr><th>{name}<p>{low:.3} to {high:.3}</p></th><td>{first}</td><td>{second}</td><td>{difference}</td></tr>\n"
            );
        }
        let (change, here, there) = (escape(change), self.bbox(), other.bbox());
        Ok(format!(
            "<h2>With {change}</h2>\n<p>Box: {here}; with {change}: {there}.</p>\n<table class=\"compared\"><tr><th></th>\
             <th>as above</th><th>{change}</th><th>difference</th></tr>\n{rows}</table>\n"
        ))
    }

    /// The frame with the box and the area before (dashed), and the box now.
    fn frame(&self, shown: &Frame<'_>, (bbox, area): (BBox, BBox)) -> Result<String> {
        let rects: String = [("area", area), ("before", bbox), ("now", self.bbox())]
            .map(|(class, b)| {
                format!("<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", b.x, b.y, b.w, b.h)
            })
            .concat();
        let picture = in_color(shown)?;
        let (width, height) = picture.dimensions();
        let data = data(&picture, (width, height), ExtendedColorType::Rgb8)?;
        // Whatever leaves the frame is shown too, as far as it goes.
        let whole = BBox::new(0.0, 0.0, f64::from(width), f64::from(height));
        let shown = [whole, area, bbox, self.bbox()];
        let left = shown.iter().fold(0.0, |least: f64, b| least.min(b.x));
        let top = shown.iter().fold(0.0, |least: f64, b| least.min(b.y));
        let w = shown.iter().fold(0.0, |most: f64, b| most.max(b.x + b.w)) - left;
        let h = shown.iter().fold(0.0, |most: f64, b| most.max(b.y + b.h)) - top;
        Ok(format!(
            "<svg viewBox=\"{left} {top} {w} {h}\" role=\"img\" aria-label=\"the frame\"><image href=\"{data}\" \
             width=\"{width}\" height=\"{height}\"/>{rects}</svg>"
        ))
    }
}

/// The pictures of a step, and the numbers beside them.
fn pictures(step: &FilterSnapshot) -> Result<Vec<Part>> {
    let FilterSnapshot { cells, shift, .. } = *step;
    let ([kernel, alpha, power], (rows, cols), unit) = (&step.planes, cells, [0.0, 1.0]);
    let scale: Vec<f32> = (0..256).map(|i| i as f32 / 255.0).collect();
    let spectrum: Vec<f32> = power.iter().map(|power| power.abs().max(1e-12).log10()).collect();
    let ([_, peak], [low, high], [_, best]) = (range(&spectrum), range(kernel), range(&step.response));
    let largest = farthest(alpha);
    let patch_size = (step.size.0 as u32, step.size.1 as u32);
    Ok(vec![
        ("cells", format!("{cols} × {rows} cells of {} pixels", step.step)),
        ("scale", heat_map(&scale, (1, 256), (0, 0), unit)?),
        ("patch", image(&step.patch, patch_size, ExtendedColorType::L8)?),
        ("window", heat_map(&step.window, cells, (0, 0), unit)?),
        ("features", channels(&step.features, cells)?),
        ("spectrum", heat_map(&spectrum, cells, (rows / 2, cols / 2), [peak - 6.0, peak])?),
        ("low power", format!("{:.1}", peak - 6.0)),
        ("high power", format!("{peak:.1}")),
        ("labels", centred(&step.labels, cells, unit)?),
        ("kernel", centred(kernel, cells, [low, high])?),
        ("low kernel", format!("{low:.3}")),
        ("high kernel", format!("{high:.3}")),
        ("alpha", centred(alpha, cells, [-largest, largest])?),
        ("largest", format!("{largest:.3}")),
        ("response", centred(&step.response, cells, unit)?),
        ("peak", format!("{best:.3}")),
        ("columns", format!("{:+}", shift.1)),
        ("rows", format!("{:+}", shift.0)),
        ("right", format!("{:+}", shift.1 * step.step)),
        ("down", format!("{:+}", shift.0 * step.step)),
    ])
}

/// The places of the steps in the code.
fn places() -> [Part; 8] {
    [
        ("cut", place!("tracker/filter_localizer.rs", "pub fn cut(")),
        ("hann", place!("features/mod.rs", "pub fn hann(rows")),
        ("hog", place!("features/hog.rs", "pub fn extract(")),
        ("learn", place!("filters/kcf.rs", "pub fn learn_again(")),
        ("gaussian", place!("features/mod.rs", "pub fn gaussian_labels(")),
        ("correlate", place!("kernels/function.rs", "pub fn correlate(")),
        ("respond", place!("filters/kcf.rs", "pub fn respond(")),
        ("locate", place!("tracker/filter_localizer.rs", "fn locate(")),
    ]
}

/// The lowest and the highest value.
fn range<'a>(values: impl IntoIterator<Item = &'a f32>) -> [f32; 2] {
    values.into_iter().fold([f32::MAX, f32::MIN], |[low, high], value| [low.min(*value), high.max(*value)])
}

/// The largest distance from 0.
fn farthest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most: f32, value| most.max(value.abs()))
}

/// Some channels of the features.
fn channels(features: &[f32], cells: (usize, usize)) -> Result<String> {
    let lanes = features.len() / (cells.0 * cells.1);
    let (channels, range) = if lanes == 1 { (0..1, [-0.5, 0.5]) } else { (18..31, [0.0, 0.4]) };
    let pictures = channels.map(|channel| {
        let values: Vec<f32> = features.iter().skip(channel).step_by(lanes).copied().collect();
        heat_map(&values, cells, (0, 0), range)
    });
    Ok(format!("<div class=\"channels\">{}</div>", pictures.collect::<Result<String>>()?))
}

/// A picture of a plane whose first element is that of no shift, which is moved into the middle.
fn centred(values: &[f32], cells: (usize, usize), range: [f32; 2]) -> Result<String> {
    heat_map(values, cells, (cells.0.div_ceil(2), cells.1.div_ceil(2)), range)
}

/// A picture of a plane, from `low` to `high`, moved around by `turn`.
fn heat_map(
    values: &[f32],
    (rows, cols): (usize, usize),
    turn: (usize, usize),
    [low, high]: [f32; 2],
) -> Result<String> {
    let mut pixels = Vec::with_capacity(3 * values.len());
    for i in 0..rows * cols {
        let (row, col) = ((i / cols + rows - turn.0) % rows, (i % cols + cols - turn.1) % cols);
        pixels.extend(viridis((values[row * cols + col] - low) / (high - low).max(f32::MIN_POSITIVE)).0);
    }
    image(&pixels, (cols as u32, rows as u32), ExtendedColorType::Rgb8)
}

fn image(pixels: &[u8], size: (u32, u32), color: ExtendedColorType) -> Result<String> {
    Ok(format!("<img alt=\"\" src=\"{}\">", data(pixels, size, color)?))
}

fn data(pixels: &[u8], size: (u32, u32), color: ExtendedColorType) -> Result<String> {
    let bytes = encode::png(pixels, size, color).map_err(|error| Error::io("a picture", error))?;
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tracker;
    use crate::frame::Channels;
    use crate::media::Source;
    use crate::synth::{Scene, SceneParams};

    #[test]
    fn settings_are_compared_side_by_side() {
        let scene = Scene::new(SceneParams { frames: 2, ..SceneParams::default() }).unwrap();
        let frames = scene.stream(Default::default(), Channels::Luma.into(), &Default::default()).unwrap();
        let frames: Vec<_> = frames.map(|item| item.frame.unwrap()).collect();
        let bbox = scene.info().initial_box(1).unwrap();
        let replay = |changes: &[(&str, &str)]| {
            let mut params = Params::preset("paper").unwrap();
            changes.iter().for_each(|(path, value)| params.set(path, value).unwrap());
            Replay::new(&params, &frames[0].as_frame(), 1, bbox).unwrap()
        };
        let second = frames[1].as_frame();
        let page = |changes: &[(&str, &str)]| {
            replay(&[]).page("a", 2, &second, &second, Some((&mut replay(changes), "x=<1>"))).unwrap()
        };
        let same = page(&[]);
        assert_eq!((same.matches("−0.0000 to 0.0000").count(), same.matches("x=&lt;1&gt;").count()), (4, 3));
        let lambda = page(&[("search.filter.lambda", "0.1")]);
        assert_eq!(lambda.matches("−0.0000 to 0.0000").count(), 2, "labels and kernel do not depend on lambda");
        assert!(page(&[("search.filter.padding", "2")]).contains(" cells</p>"), "other areas have no difference");
    }

    #[test]
    fn the_first_frame_and_boxes_beyond_the_frame_are_shown() {
        let scene = Scene::new(SceneParams { frames: 1, ..SceneParams::default() }).unwrap();
        let frames = scene.stream(Default::default(), Channels::Luma.into(), &Default::default()).unwrap();
        let frame = frames.map(|item| item.frame.unwrap()).next().unwrap();
        let (frame, bbox) = (frame.as_frame(), BBox::new(-40.0, 20.0, 60.0, 50.0));
        let mut replay = Replay::new(&Params::preset("paper").unwrap(), &frame, 7, bbox).unwrap();
        let page = replay.page("a", 7, &frame, &frame, None).unwrap();
        assert!(page.contains("cut around the given box") && page.contains("what it has learned"));
        assert!(page.contains("Its peak") && page.contains("+0 columns and +0 rows"), "a model knows its own sample");
        // Two and a half times the box, in whole pixels of the published code.
        assert!(page.contains("<svg viewBox=\"-84 -16 "), "the area goes beyond the frame");
        let mut later = Replay::new(&Params::preset("paper").unwrap(), &frame, 1, bbox).unwrap();
        let page = later.page("a", 7, &frame, &frame, None).unwrap();
        assert!(page.contains("cut around the box of frame 6") && !page.contains("what it has learned"));
    }

    #[test]
    fn the_replay_gives_the_boxes_of_the_tracker_and_a_page() {
        for (preset, target) in [("paper", 40), ("paper-gray", 24), ("paper-dcf", 150)] {
            let scene = Scene::new(SceneParams {
                frames: 6,
                target_width: target,
                target_height: target,
                ..SceneParams::default()
            })
            .unwrap();
            let params = Params::preset(preset).unwrap();
            let frames = scene.stream(Default::default(), Channels::Luma.into(), &Default::default()).unwrap();
            let (mut tracker, mut replay) = (Tracker::new(params.clone()).unwrap(), None::<Replay>);
            for (item, number) in frames.zip(1..) {
                let frame = item.frame.unwrap();
                let frame = frame.as_frame();
                let Some(replay) = &mut replay else {
                    let bbox = scene.info().initial_box(1).unwrap();
                    tracker.init(frame, bbox).unwrap();
                    replay = Some(Replay::new(&params, &frame, 1, bbox).unwrap());
                    continue;
                };
                let estimate = tracker.update(frame).unwrap();
                let page = replay.page("<a>", number, &frame, &frame, None).unwrap();
                assert_eq!(replay.bbox(), estimate.bbox, "{preset}, frame {number}");
                assert!(page.contains("&lt;a&gt;") && page.matches("data:image/png").count() >= 9);
                assert!(!page.contains("http"), "the page needs no network");
                assert!(!page.contains("{{") && page.matches("<section>").count() == 8);
                assert!(page.contains("src/kernels/function.rs:"));
                // The response is the sum over all shifts of x, as the representer theorem has it.
                let FilterSnapshot { planes: [kernel, alpha, _], response, cells: (rows, cols), .. } =
                    replay.search.snapshot();
                let turned = |r: usize, c: usize, i: usize| {
                    kernel[(r + rows - i / cols) % rows * cols + (c + cols - i % cols) % cols]
                };
                let sum: f32 = (0..rows * cols).map(|i| alpha[i] * turned(1, 2, i)).sum();
                assert!((sum - response[cols + 2]).abs() < 1e-3, "{preset}: {sum}, {}", response[cols + 2]);
                replay.search.learn_here(&frame);
            }
        }
        // The line is that of the function.
        let code = include_str!("../filters/kcf.rs");
        assert!(code.lines().nth(line_of(code, "pub fn respond(") - 1).unwrap().contains("pub fn respond("));
        let frame = vec![0; 64 * 64];
        let robust =
            Replay::new(&Params::default(), &Frame::gray(&frame, 64, 64).unwrap(), 1, BBox::new(9.0, 9.0, 20.0, 20.0));
        assert!(robust.err().unwrap().to_string().contains("--preset paper"));
    }
}
