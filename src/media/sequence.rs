//! A folder of images with the truth of one target: which file holds it, and which of its rows belongs to which image.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::annotation::{Annotations, Base, Row};
use super::images::{
    EXTENSIONS, Listing, file_name, first_levels, is_turned, levels_in_use, list, number, number_of_another,
};
use super::order;
use super::otb::{self, OtbSequence};
use super::{Demand, Images, Info, OpenOptions, Source, Span, Stream, Truth};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};

/// Levels of 256 below which a warning says that most pixels have no others.
const FEW_LEVELS: u8 = 12;

/// Names of truth files that hold all targets of a folder: of OTB, of VOT and GOT-10k, of MOT.
pub(crate) const TRUTH_FILES: [&str; 3] = ["groundtruth_rect.txt", "groundtruth.txt", "gt/gt.txt"];

/// Folders of images in that of a sequence: of OTB, VOT and MOT.
pub(crate) const IMAGE_FOLDERS: [&str; 3] = ["img", "color", "img1"];

/// A folder of images in natural order and the truth of one target, aligned to them.
///
/// Positions count from 1 in the sorted folder, whatever the numbers in the file names.
#[derive(Clone, Debug)]
pub struct Sequence {
    info: Info,
    rows: Vec<Option<Row>>,
    otb: Option<&'static OtbSequence>,
}

impl Sequence {
    /// Opens the folder of a sequence, or the folder of its images.
    ///
    /// Images are those in `img/` (OTB), `color/` (VOT), `img1/` (MOT) or in the folder itself. The truth is
    /// `groundtruth_rect.txt`, `groundtruth.txt`, `gt/gt.txt` or `groundtruth_rect.N.txt` in the folder of the sequence
    /// or beside the images. A missing truth is not an error.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be read, [`Error::Sequence`] when it is a file or has no images,
    /// [`Error::Parameter`] when the target has no truth, [`Error::Annotation`] for a truth file that cannot be parsed.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::open_at(path.as_ref(), options)
    }

    fn open_at(given: &Path, options: &OpenOptions) -> Result<Self> {
        let (image_folder, Listing { images, pictures, .. }) = images_of(given)?;
        order::check(&images).map_err(|reason| Error::sequence(&image_folder, reason))?;
        // A link keeps its own name; only `.` and `..` are resolved.
        let absolute = if given.file_name().is_some() { std::path::absolute(given) } else { given.canonicalize() };
        let absolute = absolute.map_err(|source| Error::io(given, source))?;
        // The folder of the images may be given: then the truth and the name are those of the folder above.
        let above = absolute.parent().filter(|_| image_folder == given);
        let beside = above.or((image_folder != given).then_some(&*image_folder));
        let truth_folders: Vec<&Path> = [given].into_iter().chain(beside).collect();
        let found = TruthFile::find(&truth_folders, options)?;
        let own_name = file_name(&absolute);
        let is_image_folder = IMAGE_FOLDERS.iter().any(|known| own_name.eq_ignore_ascii_case(known));
        let truth_is_in =
            |folder: &Path| found.as_ref().is_some_and(|found| found.rows.path().parent() == Some(folder));
        let name = above.filter(|above| is_image_folder || truth_is_in(above)).map_or(own_name, file_name);
        let first_levels = first_levels(&images);
        let levels = first_levels.map(|first| options.levels.unwrap_or(first));
        let stretched = first_levels.filter(|_| options.levels.is_none());
        let notes = notes_on(&images, &pictures, stretched).into_iter();
        let mut warnings: Vec<_> = notes.map(|note| format!("{}: {note}", image_folder.display())).collect();
        let Aligned { rows, first, last, otb, unused } = match &found {
            None => Aligned { rows: vec![None; images.len()], ..Aligned::default() },
            Some(found) => {
                warnings.extend(found.warnings());
                Aligned::new(&name, found, &images, &mut warnings)
            }
        };
        let truth_base = rows.iter().flatten().next().map(Row::base);
        let truth: Vec<Option<BBox>> = rows.iter().map(|row| row.and_then(|row| row.bbox())).collect();
        let first = truth.iter().skip(first).position(Option::is_some).map_or(0, |after| first + after);
        let truth_path = found.map(|found| found.rows.path().to_path_buf());
        let of_truths = truth_folders.iter().flat_map(|folder| {
            let numbered = numbered_truths(folder).into_iter().map(|(_, path)| path);
            TRUTH_FILES.iter().map(|name| folder.join(name)).chain(numbered)
        });
        let of_images = IMAGE_FOLDERS.iter().map(|name| given.join(name)).chain([image_folder.clone()]);
        let info = Info {
            name,
            length: Some(images.len()),
            default_span: Span { first: first + 1, last },
            truth,
            inputs: of_images.chain(of_truths).chain(truth_path.clone()).collect(),
            truth_path,
            truth_base,
            unused_truth: unused,
            levels,
            images,
            warnings,
            ..Info::default()
        };
        Ok(Self { info, rows, otb })
    }

    /// The row of the truth file for each image. A row may hold no box.
    pub fn rows(&self) -> &[Option<Row>] {
        &self.rows
    }

    /// The sequence of OTB with this name, these image numbers and this number of rows.
    pub fn otb(&self) -> Option<&'static OtbSequence> {
        self.otb
    }
}

impl Source for Sequence {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, span: Span, demand: Demand, _: &CancelToken) -> Result<Stream> {
        Ok(Box::new(Images::new(self.info.image_files(span), demand, self.info.levels)))
    }
}

/// Notes on the first of `images`, whose samples are stretched between these levels, and on the `pictures` that are left out.
fn notes_on(images: &[PathBuf], pictures: &[String], stretched: Option<(u16, u16)>) -> Vec<String> {
    let (mut notes, first) = (Vec::new(), file_name(&images[0]));
    if let Some(example) = pictures.iter().min() {
        notes.push(format!("{} pictures of other formats are left out, such as {example}", pictures.len()));
    }
    let few = stretched.and_then(|levels| Some((levels, levels_in_use(&images[0], levels)?)));
    if let Some(((low, high), used)) = few.filter(|(_, used)| *used < FEW_LEVELS) {
        let used = used + 1;
        notes.push(format!(
            "the pixels of {first} have about {used} of 256 levels between {low} and {high}: --levels LOW,HIGH stretches others"
        ));
    }
    if is_turned(images) {
        notes.push(format!(
            "{first} is to be shown turned, by its EXIF data, and is read as stored: boxes must be those of stored pixels"
        ));
    }
    notes
}

/// The folder of the images, and its content.
fn images_of(given: &Path) -> Result<(PathBuf, Listing)> {
    let listing = list(given)?;
    for folder in IMAGE_FOLDERS.map(|name| given.join(name)).into_iter().filter(|folder| folder.is_dir()) {
        let listing = list(&folder)?;
        if !listing.images.is_empty() {
            return Ok((folder, listing));
        }
    }
    if !listing.images.is_empty() {
        return Ok((given.to_path_buf(), listing));
    }
    let found = match (listing.files, listing.folders) {
        (0, 0) => "it is empty".to_string(),
        (0, folders) => format!("it holds {folders} folders: give the one of a sequence"),
        (files, folders) => format!("it holds {files} other files and {folders} folders"),
    };
    let known = EXTENSIONS.join(", ");
    Err(Error::sequence(given, format!("no images ({known}) here, nor in img/, color/ or img1/: {found}")))
}

/// The truth files of a folder that hold all its targets; the first is the one to read.
pub(crate) fn plain_truths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    TRUTH_FILES.iter().map(|name| folder.join(name)).filter(|path| path.is_file())
}

/// The truth files `groundtruth_rect.N.txt` of a folder, by `N`; none if the folder cannot be listed.
pub(crate) fn numbered_truths(folder: &Path) -> Vec<(u32, PathBuf)> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter_map(|path| Some((target_of(&file_name(&path))?, path)))
        .filter(|(_, path)| path.is_file())
        .collect();
    found.sort();
    found
}

/// The `N` of `groundtruth_rect.N.txt`.
fn target_of(file_name: &str) -> Option<u32> {
    file_name.strip_prefix("groundtruth_rect.")?.strip_suffix(".txt")?.parse().ok()
}

/// The truth of one target.
struct TruthFile {
    rows: Annotations,
    /// The number of the target, if its file name has one or the file holds several.
    target: Option<u32>,
    /// All targets with a truth, if `target` was not asked for.
    choice: Vec<u32>,
}

impl TruthFile {
    /// Reads the truth that `options` ask for; looks into `folders` one after the other.
    fn find(folders: &[&Path], options: &OpenOptions) -> Result<Option<Self>> {
        match &options.truth {
            Truth::Ignore => return Ok(None),
            Truth::File(path) => {
                return Self::read(path, options.target.or_else(|| target_of(&file_name(path)))).map(Some);
            }
            Truth::Beside => {}
        }
        for folder in folders {
            let numbered = numbered_truths(folder);
            if let (Some(target), [_, ..]) = (options.target, &numbered[..]) {
                let path = numbered.iter().find(|(number, _)| *number == target);
                let numbers: Vec<_> = numbered.iter().map(|(number, _)| *number).collect();
                let (_, path) = path.ok_or_else(|| no_target(folder, target, &numbers))?;
                return Self::read(path, Some(target)).map(Some);
            }
            if let Some(path) = plain_truths(folder).next() {
                let found = Self::read(&path, options.target)?;
                return match options.target {
                    // The only target may be called the first.
                    Some(1) if found.rows.targets().is_empty() => Ok(Some(Self { target: None, ..found })),
                    Some(target) if found.rows.targets().is_empty() => Err(no_target(folder, target, &[])),
                    _ => Ok(Some(found)),
                };
            }
            // The first file of Human4 is empty; its second has the target.
            let all = numbered.iter().map(|(target, path)| Self::read(path, Some(*target)));
            let (with_boxes, empty): (Vec<_>, Vec<_>) =
                all.collect::<Result<Vec<_>>>()?.into_iter().partition(|found| found.rows.has_boxes());
            let choice = with_boxes.iter().filter_map(|found| found.target).collect();
            if let Some(found) = with_boxes.into_iter().next() {
                return Ok(Some(Self { choice, ..found }));
            }
            if let Some(found) = empty.into_iter().next() {
                return Ok(Some(found));
            }
        }
        match (options.target, folders) {
            (Some(target), [folder, ..]) => Err(Error::parameter(
                "target",
                target,
                format!("{}: there is no groundtruth_rect.{target}.txt", folder.display()),
            )),
            _ => Ok(None),
        }
    }

    /// Reads the rows of `target` from a file, or those of its first target.
    fn read(path: &Path, target: Option<u32>) -> Result<Self> {
        let rows = Annotations::read(path, Base::of_truth_file(path))?;
        let choice = rows.targets();
        match target {
            Some(target) if !choice.is_empty() => {
                let rows = rows.of_target(target).ok_or_else(|| no_target(path, target, &choice))?;
                Ok(Self { rows, target: Some(target), choice: Vec::new() })
            }
            _ => Ok(Self { target: target.or(rows.target()), rows, choice }),
        }
    }

    fn warnings(&self) -> Vec<String> {
        let (path, mut warnings) = (self.rows.path().display(), Vec::new());
        if !self.rows.has_boxes() {
            warnings.push(format!("{path}: no row holds a box"));
        }
        if let ([_, _, ..], Some(target)) = (&self.choice[..], self.target) {
            warnings.push(format!(
                "{path}: its truth has {} targets ({}): target {target} is read",
                self.choice.len(),
                numbers(&self.choice)
            ));
        }
        warnings
    }
}

fn no_target(path: &Path, target: u32, there: &[u32]) -> Error {
    let path = path.display();
    let expected = match there {
        [] => format!("{path}: its truth has one target"),
        there => format!("{path}: its truth has the targets {}", numbers(there)),
    };
    Error::parameter("target", target, expected)
}

/// The first dozen of `all`, as text.
fn numbers(all: &[u32]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<_> = all.iter().take(SHOWN).map(u32::to_string).collect();
    format!("{}{}", shown.join(", "), if all.len() > SHOWN { ", …" } else { "" })
}

/// Rows of a truth file, aligned to images.
#[derive(Default)]
struct Aligned {
    /// The row of each image.
    rows: Vec<Option<Row>>,
    /// Index of the first image that the benchmark evaluates.
    first: usize,
    /// Position of the last image that the benchmark evaluates.
    last: Option<usize>,
    otb: Option<&'static OtbSequence>,
    /// Why no row is used.
    unused: Option<String>,
}

impl Aligned {
    /// Decides which row belongs to which image.
    ///
    /// By default row `i` belongs to the `i`-th image of the sorted folder. There are two exceptions:
    /// - a sequence of OTB. The folder has its name, the truth has as many rows as the published file or the evaluated
    ///   part, and each row has an image of its number. The sequence then starts and ends where the benchmark says: David
    ///   with 770 images and 471 rows starts at image 300.
    /// - a folder with gaps. There are more rows than images, and the number of each image is that of a row.
    ///
    /// Rows for at most half of the images may be those of every second or tenth one, and are not used.
    fn new(name: &str, truth: &TruthFile, images: &[PathBuf], warnings: &mut Vec<String>) -> Self {
        let (file, rows) = (&truth.rows, truth.rows.rows());
        let mut aligned = Self { rows: vec![None; images.len()], ..Self::default() };
        let known = otb::find(name, truth.target).and_then(|facts| {
            let from = facts.rows_from(rows.len())?;
            Some((facts, from, places(images, from, rows.len())?))
        });
        if let Some((facts, from, places)) = known {
            for (row, &place) in rows.iter().zip(&places) {
                aligned.rows[place] = Some(*row);
            }
            aligned.first = places.get(facts.first - from).copied().unwrap_or_default();
            aligned.last = places.last().map(|last| last + 1);
            aligned.otb = Some(facts);
            return aligned;
        }
        // A MOT file has rows up to the last frame of its target only.
        let count = file.last_frame().unwrap_or(rows.len());
        let path = file.path().display();
        if let Some(by_number) = rows_by_number(images, count, file.target().is_some()) {
            aligned.rows = by_number.iter().map(|&row| rows.get(row).copied()).collect();
            warnings.push(format!(
                "{path}: {count} rows for {} images: each image has the row of its number",
                images.len()
            ));
            return aligned;
        }
        let is_sparse = file.target().is_none() && 2 * rows.len() <= images.len() && rows.len() > 1;
        // Frames of MOT that are numbers in names of other images.
        let numbers: Vec<_> = images.iter().map(|image| number(image)).collect();
        let frames = file.entries().iter().map(|entry| entry.frame as usize);
        let is_unclear = number_of_another(&numbers, frames).is_some();
        // An empty line within is a frame without a box, or none.
        let is_shifted = rows.len() > images.len() && rows.iter().any(|row| row.numbers().iter().all(|n| n.is_nan()));
        let used = if is_sparse || is_unclear || is_shifted { &[] } else { rows };
        for (image, row) in aligned.rows.iter_mut().zip(used) {
            *image = Some(*row);
        }
        let consequence = match rows.len().cmp(&images.len()) {
            _ if is_unclear => {
                "its frames may be the numbers in names, and it is not used: number the images from 1 on"
            }
            _ if is_shifted => "it is not used: remove its empty lines, or as many rows of NaN",
            _ if is_sparse => "it is not used: write a row for each, NaN for no label",
            std::cmp::Ordering::Less if file.target().is_none() => "the last images have no truth",
            std::cmp::Ordering::Greater => "the last rows are not used",
            _ => return aligned,
        };
        let warning = format!("{path}: {} rows for {} images: {consequence}", rows.len(), images.len());
        aligned.unused = used.is_empty().then(|| warning.clone());
        warnings.push(warning);
        aligned
    }
}

/// The row of each image by the number in its name, from 1, or from 0 if an image has that number; `None` unless some
/// of the `rows` have no image and all images have a row. In a MOT file, one image with a row is enough.
fn rows_by_number(images: &[PathBuf], rows: usize, is_mot: bool) -> Option<Vec<usize>> {
    let numbers: Vec<usize> = images.iter().map(|image| number(image)).collect::<Option<_>>()?;
    let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
    let (&first, &last) = (distinct.first()?, distinct.last()?);
    let base = first.min(1);
    let has_gaps = distinct.len() == images.len() && last - base >= images.len();
    let has_row = if is_mot { first } else { last } - base < rows;
    (has_gaps && has_row && rows > images.len()).then(|| numbers.iter().map(|number| number - base).collect())
}

/// The index of each row's image, if each row has an image whose number is the row's, counted from `first`.
fn places(images: &[PathBuf], first: usize, rows: usize) -> Option<Vec<usize>> {
    let mut places = vec![None; rows];
    for (place, image) in images.iter().enumerate() {
        let row = number(image).and_then(|number| number.checked_sub(first));
        if let Some(slot) = row.and_then(|row| places.get_mut(row)) {
            // Two images with one number: the numbers are not those of OTB.
            if slot.replace(place).is_some() {
                return None;
            }
        }
    }
    places.into_iter().collect()
}
