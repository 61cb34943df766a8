//! What is drawn on one frame: the box, the true one, and a line of words.

use image::{Rgb, RgbImage};

use super::FrameRecord;
use super::drawing::{Letters, darken, fill, outline, stroke};
use crate::bbox::BBox;
use crate::tracker::State;

pub(super) const TRUTH: Rgb<u8> = Rgb([86, 180, 233]);
const WORDS: Rgb<u8> = Rgb([245, 245, 245]);
pub(super) const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

/// Colours that also the colour-blind tell apart.
pub(super) fn ink(state: State) -> Rgb<u8> {
    match state {
        State::Initial => Rgb([255, 255, 255]),
        State::Tracking => Rgb([60, 220, 90]),
        State::Recovered => Rgb([80, 190, 250]),
        State::Uncertain => Rgb([250, 220, 50]),
        State::Lost => Rgb([235, 50, 35]),
        State::Missing => Rgb([150, 150, 150]),
    }
}

/// Draws boxes and words, these beside the `inset` where they can be; lines and letters grow with the picture.
pub(super) fn draw(
    picture: &mut RgbImage,
    record: &FrameRecord,
    (truth, inset): (Option<&BBox>, Option<&BBox>),
    letters: &Letters,
) {
    let line = stroke(picture);
    let bbox = record.finite_box();
    let truth = truth.filter(|truth| truth.is_valid());
    if let Some(bbox) = &bbox {
        outline(picture, bbox, line, line + 1, BLACK);
        outline(picture, bbox, 0, line, ink(record.state));
    }
    // The truth lies within its edge and the box around its own: both are seen even when they are the same.
    if let Some(truth) = truth {
        outline(picture, truth, -line, 0, TRUTH);
    }
    caption(picture, record, [bbox.as_ref(), truth, inset], letters);
}

/// Says how many targets are in which state.
pub(super) fn caption_of_many<'a>(
    picture: &mut RgbImage,
    records: impl Iterator<Item = &'a FrameRecord>,
    letters: &Letters,
) {
    let records: Vec<_> = records.collect();
    let Some(first) = records.first() else { return };
    let count = |state| records.iter().filter(|record| record.state == state).count();
    let states = State::ALL.iter().map(|&state| (state, count(state))).filter(|(_, count)| *count > 0);
    let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
    let words = format!("#{}   {}", first.index, states.join(", "));
    let size = (picture.width().min(picture.height()) as f32 / 22.0).clamp(12.0, 120.0);
    let padding = (size / 3.0) as u32;
    let (width, height) = letters.extent(&words, size);
    let (width, height) = (width + 2 * padding, height + 2 * padding);
    if width > picture.width() || height.saturating_mul(3) > picture.height() {
        return;
    }
    let top = picture.height() - height;
    let [padding, top, width, height] = [padding, top, width, height].map(|v| v as i32);
    darken(picture, [0, top, width, top + height]);
    letters.write(picture, &words, (padding, top + padding), size, WORDS);
}

/// Writes the longest line of words that fits, at the top or, where a box or the inset is there, at the bottom.
fn caption(picture: &mut RgbImage, record: &FrameRecord, [bbox, truth, inset]: [Option<&BBox>; 3], letters: &Letters) {
    let short_side = picture.width().min(picture.height());
    let size = (short_side as f32 / 22.0).clamp(12.0, 120.0);
    let mut parts = parts(record, bbox, truth);
    if bbox.is_some_and(|bbox| bbox.visible_share(picture.width() as usize, picture.height() as usize) == 0.0) {
        parts.push("off the image".into());
    }
    let padding = (size / 3.0) as u32;
    let square = (size * 0.7) as u32;
    // The last parts are left out first, but the state is also in the colour: the numbers matter more.
    let lines = [parts.join("   "), parts[2..].join("   "), parts[2..].iter().take(1).cloned().collect()];
    let fitting = lines.iter().filter(|words| !words.is_empty()).find_map(|words| {
        let (width, height) = letters.extent(words, size);
        let (width, height) = (width + square + 3 * padding, height + 2 * padding);
        (width <= picture.width() && height.saturating_mul(3) <= picture.height()).then_some((words, width, height))
    });
    let Some((words, width, height)) = fitting else { return };
    let bottom = picture.height() - height;
    let hides = |top: u32, what: &[Option<&BBox>]| {
        let strip = BBox::new(0.0, f64::from(top), f64::from(width), f64::from(height));
        what.iter().flatten().any(|what| what.intersection(&strip) > 0.0)
    };
    let boxes = [bbox, truth];
    let down = hides(0, &boxes) || hides(0, &[inset]) && !hides(bottom, &[bbox, truth, inset]);
    let top = if down { bottom } else { 0 };
    let [padding, square, top, width, height] = [padding, square, top, width, height].map(|v| v as i32);
    darken(picture, [0, top, width, top + height]);
    let middle = top + (height - square) / 2;
    fill(picture, [padding, middle, padding + square, middle + square], ink(record.state));
    letters.write(picture, words, (2 * padding + square, top + padding), size, WORDS);
}

/// Position and state, then the numbers that there are.
fn parts(record: &FrameRecord, bbox: Option<&BBox>, truth: Option<&BBox>) -> Vec<String> {
    let mut parts = vec![format!("#{}", record.index), record.state.to_string()];
    // What a filter answers to the frame that it was taught says nothing of how well it follows.
    let found = Some(record).filter(|record| record.state != State::Initial);
    parts.extend(found.and_then(|record| record.confidence).map(|confidence| format!("confidence {confidence:.2}")));
    parts.extend(found.and_then(|record| record.peak).map(|peak| format!("peak {peak:.2}")));
    parts.extend(found.and_then(|record| record.psr).map(|psr| format!("PSR {psr:.1}")));
    parts.extend(record.decision.map(|decision| format!("decision {decision:.2}")));
    parts.extend(bbox.zip(truth).map(|(bbox, truth)| format!("IoU {:.2}", bbox.overlap(truth))));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn the_initial_frame_shows_no_psr() {
        let (_, mut records) = run();
        records[1].state = State::Tracking;
        assert_eq!(
            parts(&records[1], None, None),
            ["#2", "tracking", "confidence 0.75", "peak 0.50", "PSR 9.1", "decision 0.25"]
        );
        records[1].state = State::Initial;
        assert_eq!(parts(&records[1], None, None), ["#2", "initial", "decision 0.25"]);
    }
}
