//! One sequence with its labels.

use std::path::{Path, PathBuf};

use super::names::of_otb;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::annotation::{Base, Row};
use crate::media::{Sequence, SequenceOptions, layout, otb};
use crate::tracker::is_too_small;

/// A sequence to be evaluated: its frames and a label for each.
#[derive(Clone, Debug)]
pub struct LabelledSequence {
    /// Its name; the target's number is part of it where a folder has several: `Jogging-2`.
    pub name: String,
    /// The frames that count, in order.
    pub frames: Vec<PathBuf>,
    /// How many images of its folder lie before the first of them.
    pub skipped: usize,
    /// The label of each frame, 0-based, as it stands in the file: it may be of no size. `None` where there is no
    /// number.
    pub truth: Vec<Option<BBox>>,
    /// Its attributes, abbreviated.
    pub attributes: Vec<String>,
    /// The base of the truth file, which results for the sequence share.
    pub base: Base,
}

/// Opens a sequence. What a person should know about it is added to `warnings`.
///
/// # Errors
/// When it cannot be read, or has no labels to compare with.
pub(super) fn open(
    folder: &Path,
    name: &str,
    target: Option<u32>,
    warnings: &mut Vec<String>,
) -> Result<LabelledSequence> {
    // A folder with one plain truth file has no target to ask for.
    let numbered = layout::numbered_truths(folder);
    let numbered = target.filter(|target| numbered.iter().any(|(number, _)| number == target));
    let sequence = Sequence::open(folder, &SequenceOptions { target: numbered, ..Default::default() })?;
    let wrong = |reason: &str| Error::Sequence { path: folder.to_path_buf(), reason: reason.into() };
    if !sequence.has_truth() {
        return Err(wrong("there is no truth file with a box in it"));
    }
    let range = sequence.range(None, None)?;
    let (first, last) = (*range.start() - 1, *range.end());
    let rows = &sequence.rows()[first..last];
    let truth: Vec<Option<BBox>> = rows
        .iter()
        .map(|row| {
            let row = row.as_ref()?;
            let numbers = row.numbers();
            numbers.iter().all(|v| v.is_finite()).then(|| row.base().to_bbox(numbers))
        })
        .collect();
    if !truth.iter().skip(1).flatten().any(BBox::is_valid) {
        return Err(wrong("there is no truth beyond its first frame: nothing to compare with"));
    }
    // Where a sequence of OTB begins its benchmark says; of another one images are lost that somebody may have meant.
    if first > 0 && sequence.otb().is_none() {
        warnings.push(format!("{name}: the first {first} images have no label and are not evaluated"));
    }
    // Frames after the last row cannot be scored; those of Football1 and Diving the benchmark leaves out by itself.
    let end = rows.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
    if end < truth.len() {
        warnings.push(format!("{name}: the last {} images have no label and are not evaluated", truth.len() - end));
    }
    if let Some(BBox { w, h, .. }) = truth.iter().flatten().next().filter(|start| is_too_small(start)) {
        warnings.push(format!("{name}: the first box is {w}x{h} pixels, too little of a target to follow it"));
    }
    let plain = |said: &String| format!("{name}: {}", said.replace(", --target N chooses another", ""));
    warnings.extend(sequence.warnings().iter().map(plain));
    let base = rows.iter().flatten().next().map_or(Base::Zero, Row::base);
    // A part of an OTB sequence has its attributes, but other benchmarks have sequences called david and girl as well:
    // those have truth files of another name.
    let folder_name = layout::folder_name(folder);
    let name_of_otb = || otb::find(&folder_name, target).or_else(|| of_otb(&folder_name)).filter(|_| base == Base::One);
    let attributes = sequence
        .otb()
        .or_else(name_of_otb)
        .map(|s| s.attributes.iter().filter(|a| !a.is_empty()).cloned().collect())
        .unwrap_or_default();
    Ok(LabelledSequence {
        name: name.to_owned(),
        frames: sequence.images()[first..first + end].to_vec(),
        skipped: first,
        truth: truth[..end].to_vec(),
        attributes,
        base,
    })
}
