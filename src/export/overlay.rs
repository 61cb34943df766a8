//! What is drawn on one frame: the box, the true one, and a line of words.

use image::{Rgb, RgbImage};

use super::FrameRecord;
use super::drawing::{Letters, darken, fill, outline};
use crate::geometry::BBox;
use crate::tracker::State;

pub(super) const TRUTH: Rgb<u8> = Rgb([86, 180, 233]);
const WORDS: Rgb<u8> = Rgb([245, 245, 245]);
const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

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

/// Draws boxes and words; lines and letters grow with the picture. Of the upper right corner so many columns are taken.
pub(super) fn draw(picture: &mut RgbImage, record: &FrameRecord, truth: Option<&BBox>, taken: u32, letters: &Letters) {
    let short_side = picture.width().min(picture.height());
    let line = (short_side / 200 + 1).min(24) as i32;
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
    caption(picture, record, [bbox.as_ref(), truth], taken, letters);
}

/// Draws the box of one of several targets, with its name, state and confidence above it.
pub(super) fn label(picture: &mut RgbImage, record: &FrameRecord, letters: &Letters) {
    let Some(bbox) = record.finite_box() else { return };
    let short_side = picture.width().min(picture.height());
    let line = (short_side / 200 + 1).min(24) as i32;
    outline(picture, &bbox, line, line + 1, BLACK);
    outline(picture, &bbox, 0, line, ink(record.state));
    let size = (short_side as f32 / 28.0).clamp(11.0, 90.0);
    let sure = record.confidence.filter(|_| record.state != State::Initial);
    let sure = sure.map_or(String::new(), |confidence| format!(" {confidence:.2}"));
    let words = format!("{} {}{sure}", record.id.unwrap_or(1), record.state);
    let (width, height) = letters.extent(&words, size);
    let [width, height] = [width + 6, height + 6].map(|side| i32::try_from(side).unwrap_or(i32::MAX / 2));
    // Above the box, or in it where there is no room above.
    let far = i32::MAX as f64 / 4.0;
    let (left, top) = (bbox.x.clamp(-far, far) as i32, bbox.y.clamp(-far, far) as i32 - line - 1);
    let top = if top >= height { top - height } else { top + 2 * line + 2 };
    // All of the words are seen where they fit, beside what of the box lies outside.
    let most = |side: u32, length: i32| i32::try_from(side).unwrap_or(i32::MAX).saturating_sub(length).max(0);
    let (left, top) = (left.clamp(0, most(picture.width(), width)), top.clamp(0, most(picture.height(), height)));
    darken(picture, [left, top, left + width, top + height]);
    letters.write(picture, &words, (left + 3, top + 2), size, ink(record.state));
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

/// Writes the longest line of words that fits: at the top or, where the box or what is taken is in its way, at the
/// bottom; where the box is there, the longest at the top that ends before what is taken.
fn caption(
    picture: &mut RgbImage,
    record: &FrameRecord,
    [bbox, truth]: [Option<&BBox>; 2],
    taken: u32,
    letters: &Letters,
) {
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
    let fitting = |most: u32| {
        lines.iter().filter(|words| !words.is_empty()).find_map(|words| {
            let (width, height) = letters.extent(words, size);
            let (width, height) = (width + square + 3 * padding, height + 2 * padding);
            (width <= most && height.saturating_mul(3) <= picture.height()).then_some((words, width, height))
        })
    };
    let hidden = |top: u32, width: u32, height: u32| {
        let strip = BBox::new(0.0, f64::from(top), f64::from(width), f64::from(height));
        [bbox, truth].into_iter().flatten().any(|target| target.intersection(&strip) > 0.0)
    };
    let beside = picture.width().saturating_sub(taken);
    let above = |(_, width, height): &(&String, u32, u32)| *width <= beside && !hidden(0, *width, *height);
    let Some(longest) = fitting(picture.width()) else { return };
    let bottom = picture.height() - longest.2;
    let shorter = || fitting(beside).filter(|line| hidden(bottom, longest.1, longest.2) && above(line));
    let line = Some(longest).filter(above).or_else(shorter);
    let top = line.map_or(bottom, |_| 0);
    let (words, width, height) = line.unwrap_or(longest);
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
