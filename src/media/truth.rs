//! The truth beside a folder of images: which file it is, and which of its rows belongs to which image.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::media::annotation::{Annotations, Base, Row};

use super::folder::{file_name, number};
use super::layout::{numbered_truths, plain_truths, target_of};
use super::otb::{self, OtbSequence};

/// Where the truth comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Truth {
    /// The file that lies beside the images, if there is one.
    #[default]
    Beside,
    /// This file; its name tells the base ([`Base::of_truth_file`](crate::media::annotation::Base::of_truth_file)).
    File(PathBuf),
    /// Nowhere: whatever lies beside the images is not read.
    Ignore,
}

/// How to open a [`Sequence`](super::Sequence).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// Which target's truth: the `N` of `groundtruth_rect.N.txt`, or a target of MOT's file. Without it, the first file
    /// that holds a box, or the first target.
    pub target: Option<u32>,
    /// Where the truth comes from.
    pub truth: Truth,
    /// The base of the truth file; without it, the name of the file tells ([`Base::of_truth_file`]).
    pub base: Option<Base>,
}

/// A truth file that was found, and the target it is of where its name has a number.
pub(super) struct Found {
    pub annotations: Annotations,
    pub target: Option<u32>,
    /// All targets that there is a truth of, where nobody said which one is meant.
    pub choice: Vec<u32>,
    /// Truth files beside it that are not read.
    pub unread: Vec<PathBuf>,
}

impl Found {
    /// The rows that `target` has in the file at `path`, or those of its first target.
    fn read(path: &Path, target: Option<u32>, base: Option<Base>) -> Result<Self> {
        let annotations = Annotations::read(path, base.unwrap_or_else(|| Base::of_truth_file(path)))?;
        let choice = annotations.targets();
        match target {
            Some(target) if !choice.is_empty() => match annotations.of_target(target) {
                Some(annotations) => {
                    Ok(Self { annotations, target: Some(target), choice: Vec::new(), unread: Vec::new() })
                }
                None => Err(no_target(path, target, &choice)),
            },
            _ => Ok(Self { target: target.or(annotations.target()), annotations, choice, unread: Vec::new() }),
        }
    }
}

fn no_target(path: &Path, target: u32, there: &[u32]) -> Error {
    let path = path.display();
    let expected = match there {
        [] => format!("{path}: its truth is of one target"),
        there => format!("{path}: there is a truth of the targets {}", listed(there)),
    };
    Error::Parameter { name: "target", value: target.to_string(), expected }
}

/// The first of many numbers.
pub(super) fn listed(numbers: &[u32]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<_> = numbers.iter().take(SHOWN).map(u32::to_string).collect();
    format!("{}{}", shown.join(", "), if numbers.len() > SHOWN { ", …" } else { "" })
}

/// Reads the truth that `options` ask for, looking into `folders` one after the other.
///
/// # Errors
/// As [`Annotations::read`]; [`Error::Parameter`] for a target without truth.
pub(super) fn find(folders: &[&Path], options: &SequenceOptions) -> Result<Option<Found>> {
    match &options.truth {
        Truth::Ignore => return Ok(None),
        Truth::File(path) => {
            return Found::read(path, options.target.or_else(|| target_of(&file_name(path))), options.base).map(Some);
        }
        Truth::Beside => {}
    }
    for folder in folders {
        let numbered = numbered_truths(folder);
        if let Some(target) = options.target
            && let Some((_, path)) = numbered.iter().find(|(number, _)| *number == target)
        {
            return Found::read(path, Some(target), options.base).map(Some);
        }
        let mut plain = plain_truths(folder);
        if let Some(target) = options.target
            && !numbered.is_empty()
        {
            let there: Vec<_> = numbered.iter().map(|(number, _)| *number).collect();
            return Err(no_target(folder, target, &there));
        }
        if let Some(path) = plain.next() {
            let unread = plain.chain(numbered.into_iter().map(|(_, path)| path)).collect();
            let found = Found { unread, ..Found::read(&path, options.target, options.base)? };
            return match options.target {
                // A file of one target has no others, but its one may be called the first.
                Some(target) if found.annotations.targets().is_empty() && target != 1 => {
                    Err(no_target(folder, target, &[]))
                }
                Some(_) if found.annotations.targets().is_empty() => Ok(Some(Found { target: None, ..found })),
                _ => Ok(Some(found)),
            };
        }
        // Human4's first file is empty, its second has the target.
        let mut empty = None;
        for (target, path) in &numbered {
            let found = Found::read(path, Some(*target), options.base)?;
            if found.annotations.has_boxes() {
                let has_boxes = |path: &PathBuf| Annotations::read_truth(path).is_ok_and(|truth| truth.has_boxes());
                let choice = numbered.iter().filter(|(_, path)| has_boxes(path)).map(|(number, _)| *number);
                return Ok(Some(Found { choice: choice.collect(), ..found }));
            }
            empty.get_or_insert(found);
        }
        if empty.is_some() {
            return Ok(empty);
        }
    }
    match options.target {
        Some(target) => Err(Error::Parameter {
            name: "target",
            value: target.to_string(),
            expected: format!(
                "{}: there is no groundtruth_rect.{target}.txt",
                folders.first().map(|folder| folder.display().to_string()).unwrap_or_default()
            ),
        }),
        None => Ok(None),
    }
}

/// Rows put beside images.
pub(super) struct Aligned {
    /// The row of each image.
    pub rows: Vec<Option<Row>>,
    /// The first image to track by the dataset's rules, counted from 0; `None` where the rules say nothing.
    pub first: Option<usize>,
    /// The last one.
    pub last: Option<usize>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The sequence of OTB that the folder was recognised as.
    pub otb: Option<&'static OtbSequence>,
}

/// Decides which row belongs to which image.
///
/// Row `i` belongs to the `i`-th image of the sorted folder, unless the folder is recognised as a sequence of OTB: it
/// bears that name, its truth has exactly as many rows as the published file, and there is an image for every row's
/// number. Then row `i` belongs to the image whose file name has the number `rows_from + i`, and the sequence begins
/// and ends where the benchmark says. So David with 770 images and 471 rows starts at image 300, while any other
/// folder called David, with a row for each of its images, starts at its first.
///
/// Of a file in which each line names its frame, the first rows belong to the first images, and an image after the last
/// one has no target.
///
/// Where there are more rows than images, as of a folder from which images were taken, a row belongs to the image of
/// its number, so far as the numbers say so: see [`row_of_each`].
pub(super) fn align(name: &str, target: Option<u32>, images: &[PathBuf], truth: &Annotations) -> Aligned {
    let (rows, path, by_frame) = (truth.rows(), truth.path(), truth.target().is_some());
    let known = otb::find(name, target).and_then(|facts| Some((facts, places(facts, images, rows.len())?)));
    let mut aligned = vec![None; images.len()];
    if let Some((facts, places)) = known {
        for (row, &place) in rows.iter().zip(&places) {
            aligned[place] = Some(*row);
        }
        let skipped = facts.first - facts.rows_from();
        let (first, last) = (places.get(skipped).copied(), places.last().copied());
        return Aligned { rows: aligned, first, last, warnings: Vec::new(), otb: Some(facts) };
    }
    let mut warnings = Vec::new();
    if let Some(of_each) = row_of_each(images, rows.len(), truth.last_frame()) {
        for (image, row) in aligned.iter_mut().zip(of_each) {
            *image = rows.get(row).copied();
        }
        let (path, count) = (path.display(), truth.last_frame().unwrap_or(rows.len()));
        warnings
            .push(format!("{path}: {count} rows for {} images: each image has the row of its number", images.len()));
        return Aligned { rows: aligned, first: None, last: None, warnings, otb: None };
    }
    for (image, row) in aligned.iter_mut().zip(rows) {
        *image = Some(*row);
    }
    // A target of MOT's ends where it is seen last.
    if rows.len() != images.len() && (rows.len() > images.len() || !by_frame) {
        let first = images.first().filter(|first| number(first).is_some_and(|number| number > 1));
        let consequence = match (rows.len() < images.len(), first) {
            (true, _) => "the last images have no truth".into(),
            (false, Some(first)) => {
                format!("the last rows are not used, and the first is that of {}", file_name(first))
            }
            (false, None) => "the last rows are not used".into(),
        };
        warnings.push(format!("{}: {} rows for {} images: {consequence}", path.display(), rows.len(), images.len()));
    }
    Aligned { rows: aligned, first: None, last: None, warnings, otb: None }
}

/// The row of each image by the number in its name, counted from 1, or from 0 where an image has that; `None` where
/// rows are counted by the images that there are. That leaves no row over as a rule: where it does, `rows` that go
/// exactly as far as the numbers are of those numbers, and so are lines that name their frames, up to `last_frame`, if
/// any of them is of an image.
pub fn row_of_each(images: &[PathBuf], rows: usize, last_frame: Option<usize>) -> Option<Vec<usize>> {
    let numbers: Vec<usize> = images.iter().map(|image| number(image)).collect::<Option<_>>()?;
    let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
    let (&first, &last) = (distinct.first()?, distinct.last()?);
    let from = first.min(1);
    let counted = match last_frame {
        Some(frames) => first - from < frames,
        None => rows.checked_sub(1) == Some(last - from),
    };
    let left_out = last - from >= images.len() && distinct.len() == numbers.len();
    let wanted = counted && left_out && last_frame.unwrap_or(rows) > images.len();
    wanted.then(|| numbers.iter().map(|number| number - from).collect())
}

/// The place in the folder of each row's image, when the folder can be the sequence.
fn places(facts: &OtbSequence, images: &[PathBuf], rows: usize) -> Option<Vec<usize>> {
    if rows != facts.rows() {
        return None;
    }
    let mut places = vec![None; rows];
    for (place, image) in images.iter().enumerate() {
        let row = number(image).and_then(|number| number.checked_sub(facts.rows_from()));
        if let Some(slot) = row.and_then(|row| places.get_mut(row)) {
            // Two images of one number: the names count something else.
            if slot.replace(place).is_some() {
                return None;
            }
        }
    }
    places.into_iter().collect()
}

impl Aligned {
    /// No truth at all for `images` images.
    pub fn without(images: usize) -> Self {
        Self { rows: vec![None; images], first: None, last: None, warnings: Vec::new(), otb: None }
    }
}
