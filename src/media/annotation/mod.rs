//! Ground-truth and result files: one box a line, in every dialect that the field writes.
//!
//! | dialect | a line |
//! | --- | --- |
//! | OTB, GOT-10k, LaSOT, … | `x, y, w, h` |
//! | VOT | the same, or a polygon of four corners `x1, y1, …, x4, y4` |
//! | MOT | `frame, id, x, y, w, h, conf, class, visibility`, or `…, conf, x, y, z`: several targets in a file |
//!
//! What stands between the numbers is free, and any other count of them is refused.
//! This is the one room that knows about 1-based files: what leaves it as a [`BBox`] is 0-based, what it writes is in
//! the [`Base`] it is asked for.

mod mot;
mod parse;
mod write;

use std::path::{Path, PathBuf};

pub use write::{format_row, write_rows};

use crate::bbox::BBox;
use crate::error::{Error, Result};
use mot::Entry;
use parse::Content;

/// Which coordinates the first pixel of an image has in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The first pixel is (0, 0): VOT, GOT-10k.
    Zero,
    /// The first pixel is (1, 1), as MATLAB counts: OTB and the results published for it.
    One,
}

impl Base {
    /// The base that a truth file's name stands for: `groundtruth_rect*.txt` is OTB's and 1-based, all others are
    /// 0-based.
    pub fn of_truth_file(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.starts_with("groundtruth_rect") { Self::One } else { Self::Zero }
    }

    /// What the first pixel is called, 0 or 1.
    pub fn offset(self) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
        }
    }

    /// The 0-based box of the numbers `x, y, w, h` of a file, whether it can be tracked or not.
    pub fn to_bbox(self, [x, y, w, h]: [f64; 4]) -> BBox {
        BBox::new(x - self.offset(), y - self.offset(), w, h)
    }

    /// The numbers `x, y, w, h` that stand for a 0-based box in a file.
    pub fn to_numbers(self, bbox: &BBox) -> [f64; 4] {
        [bbox.x + self.offset(), bbox.y + self.offset(), bbox.w, bbox.h]
    }
}

/// One line of a file: four numbers as they stand there (for a polygon those of the box around it), in the file's base.
///
/// A line that is empty or holds NaN only has four NaN.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    numbers: [f64; 4],
    base: Base,
}

impl Row {
    /// A row of the numbers `x, y, w, h`.
    pub const fn new(numbers: [f64; 4], base: Base) -> Self {
        Self { numbers, base }
    }

    /// The numbers `x, y, w, h` in the file's base; they may be NaN, infinite, zero or negative.
    pub fn numbers(&self) -> [f64; 4] {
        self.numbers
    }

    /// The base of [`Row::numbers`].
    pub fn base(&self) -> Base {
        self.base
    }

    /// The box, 0-based; `None` when a number is not finite or the size is not positive.
    pub fn bbox(&self) -> Option<BBox> {
        let bbox = self.base.to_bbox(self.numbers);
        bbox.is_valid().then_some(bbox)
    }

    /// Whether the OTB toolkit counts the row: all four numbers, 1-based, are above 0.
    ///
    /// A target that leaves the image by its left or upper border has a box here, but does not count there.
    pub fn counts_in_otb(&self) -> bool {
        let [x, y, w, h] = self.numbers;
        let shift = Base::One.offset() - self.base.offset();
        // Comparisons with NaN are false, as in MATLAB.
        [x + shift, y + shift, w, h].iter().all(|&v| v > 0.0)
    }
}

/// All rows of one target in a file, in the order of the frames.
#[derive(Clone, Debug)]
pub struct Annotations {
    path: PathBuf,
    base: Base,
    rows: Vec<Row>,
    /// The lines of all targets, of a file that has several.
    entries: Vec<Entry>,
    target: Option<u32>,
}

impl Annotations {
    /// Reads the file at `path`, whose numbers are in the given base.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, else as [`Annotations::parse`].
    pub fn read(path: impl AsRef<Path>, base: Base) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
        Self::parse(&bytes, path, base)
    }

    /// Reads a truth file whose name tells its base: see [`Base::of_truth_file`].
    ///
    /// # Errors
    /// As [`Annotations::read`].
    pub fn read_truth(path: impl AsRef<Path>) -> Result<Self> {
        let base = Base::of_truth_file(path.as_ref());
        Self::read(path, base)
    }

    /// Reads the text of a file; `path` only names it in errors.
    ///
    /// Numbers are separated by commas, semicolons, tabs or blanks in any mixture, lines by LF, CR LF or CR; a byte
    /// order mark is skipped. Empty lines at the end do not count, an empty line between others is a row without a
    /// box. So is a line of NaN. Four numbers are a box, eight a polygon.
    ///
    /// Lines of nine or ten numbers that begin with a frame and a target are MOT's, and so are lines of eight that all
    /// have frames in order, targets and classes: 1-based whatever `base` says, and of several targets, of which the
    /// first is taken that the file wants to be followed (`conf` is not 0).
    ///
    /// # Errors
    /// [`Error::Annotation`] with the line for text that is not UTF-8, a word that is no number, another count of
    /// numbers, or MOT's lines among others.
    pub fn parse(text: &[u8], path: impl AsRef<Path>, base: Base) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        match parse::content(text, base) {
            Ok(Content::Rows(rows)) => Ok(Self { path, base, rows, entries: Vec::new(), target: None }),
            Ok(Content::Mot(entries)) => {
                let target = mot::first(&entries);
                let rows = target.map_or_else(Vec::new, |target| mot::rows(&entries, target));
                Ok(Self { path, base: Base::One, rows, entries, target })
            }
            Err((line, reason)) => Err(Error::Annotation { path, line, reason }),
        }
    }

    /// The targets of a file that can have several, in ascending order; none of any other file.
    pub fn targets(&self) -> Vec<u32> {
        let mut targets: Vec<u32> = self.entries.iter().map(|entry| entry.target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Which of [`Annotations::targets`] the rows are of.
    pub fn target(&self) -> Option<u32> {
        self.target
    }

    /// The same file with the rows of another of its [`Annotations::targets`]; `None` where it has no such target.
    pub fn of_target(self, target: u32) -> Option<Self> {
        let rows = mot::rows(&self.entries, target);
        (!rows.is_empty()).then_some(Self { rows, target: Some(target), ..self })
    }

    /// The last frame that any line names, be it of another target; `None` of a file whose lines name none.
    #[cfg(feature = "files")]
    pub(crate) fn last_frame(&self) -> Option<usize> {
        self.entries.iter().map(|entry| entry.frame as usize).max()
    }

    /// The file they came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The base of the file's numbers.
    pub fn base(&self) -> Base {
        self.base
    }

    /// The base and how it was chosen: by the caller (`given`), the dialect or the name.
    #[cfg(feature = "files")]
    pub(crate) fn base_note(&self, given: bool) -> String {
        let reason = match (self.entries.is_empty(), given) {
            (false, _) => "as all MOT files",
            (true, true) => "as given",
            (true, false) => "by its name",
        };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} is {}-based {reason}", self.base.offset())
    }

    /// One row a line; of MOT's lines one row a frame up to the target's last, without a box where it is not there.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The 0-based box of every row, `None` where there is none.
    pub fn boxes(&self) -> Vec<Option<BBox>> {
        self.rows.iter().map(Row::bbox).collect()
    }

    /// Whether any row holds a box.
    pub fn has_boxes(&self) -> bool {
        self.rows.iter().any(|row| row.bbox().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_base() {
        assert_eq!(Base::of_truth_file(Path::new("a/groundtruth_rect.txt")), Base::One);
        assert_eq!(Base::of_truth_file(Path::new("a/groundtruth_rect.2.txt")), Base::One);
        assert_eq!(Base::of_truth_file(Path::new("groundtruth_rect/groundtruth.txt")), Base::Zero);
        assert_eq!(Base::of_truth_file(Path::new("")), Base::Zero);
    }

    #[test]
    fn otb_counts_positive_numbers_of_a_1_based_file() {
        let counts = |numbers, base| Row::new(numbers, base).counts_in_otb();
        assert!(counts([1.0, 1.0, 5.0, 5.0], Base::One));
        // Biker leaves the image by its upper border: a box, but not for the toolkit.
        let biker = Row::new([262.0, -10.0, 16.0, 26.0], Base::One);
        assert!(biker.bbox().is_some() && !biker.counts_in_otb());
        assert!(!counts([0.0, 1.0, 5.0, 5.0], Base::One));
        assert!(counts([0.0, 0.0, 5.0, 5.0], Base::Zero));
        assert!(!counts([f64::NAN; 4], Base::One));
        assert!(!counts([0.0; 4], Base::One));
    }

    #[test]
    fn a_missing_file_is_an_error_with_its_path() {
        let error = Annotations::read("/nowhere/groundtruth.txt", Base::Zero).unwrap_err();
        assert!(error.to_string().contains("/nowhere/groundtruth.txt"), "{error}");
    }
}
