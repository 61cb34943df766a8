//! Ground-truth and result files with one box a line, in these dialects:
//!
//! | dialect | a line |
//! | --- | --- |
//! | OTB, GOT-10k, LaSOT, … | `x, y, w, h` |
//! | VOT | the same, or a polygon of four corners `x1, y1, …, x4, y4` |
//! | MOT | `frame, id, x, y, w, h, conf, class, visibility`, or `…, conf, x, y, z`: several targets in a file |
//!
//! Any separator is read; any other count of numbers is an error, and so is a comma that may be the decimal point. This
//! file alone knows 1-based coordinates: a [`BBox`] is 0-based, a file has its [`Base`].

use std::path::{Path, PathBuf};

use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::has_extension;

/// Maximum rows of a file, files of a folder, and the highest frame number of MOT: nine hours of video.
pub(crate) const MAX_ROWS: usize = 1_000_000;

/// Maximum distance of a box from the frame's corner, and of its sides, in pixels.
pub(crate) const MAX_PIXELS: f64 = 1e6;

/// Maximum characters of a bad line in an error.
const SHOWN: usize = 40;

/// Coordinates of the first pixel of an image in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The first pixel is (0, 0): VOT, GOT-10k.
    Zero,
    /// The first pixel is (1, 1), as MATLAB counts: OTB and the results published for it.
    One,
}

impl Base {
    /// The base that the name of a truth file implies: 1 for `groundtruth_rect*.txt` (OTB), 0 for all others.
    pub fn of_truth_file(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.starts_with("groundtruth_rect") { Self::One } else { Self::Zero }
    }

    /// The base of a MOT file: 1, but 0 beside the `labels.txt` of CVAT and Datumaro, which count pixels from 0.
    pub(crate) fn of_mot_file(path: &Path) -> Self {
        if path.with_file_name("labels.txt").is_file() { Self::Zero } else { Self::One }
    }

    /// The coordinate of the first pixel, 0 or 1.
    pub fn offset(self) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
        }
    }

    /// The 0-based box of the numbers `x, y, w, h` in a file, valid or not.
    pub fn to_bbox(self, [x, y, w, h]: [f64; 4]) -> BBox {
        BBox::new(x - self.offset(), y - self.offset(), w, h)
    }

    /// The numbers `x, y, w, h` of a 0-based box in a file.
    pub fn to_numbers(self, bbox: &BBox) -> [f64; 4] {
        [bbox.x + self.offset(), bbox.y + self.offset(), bbox.w, bbox.h]
    }
}

impl std::fmt::Display for Base {
    /// `0-based` or `1-based`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-based", self.offset())
    }
}

/// One line of a file: its four numbers, or those of the box around its polygon. An empty line has four NaN.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    numbers: [f64; 4],
    base: Base,
}

impl Row {
    /// A row with the numbers `x, y, w, h`.
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

    /// The box, 0-based; `None` if a number is not finite or the size is not positive.
    pub fn bbox(&self) -> Option<BBox> {
        let bbox = self.base.to_bbox(self.numbers);
        bbox.is_valid().then_some(bbox)
    }
}

/// True if all numbers of a box are within a million pixels.
pub(crate) fn is_within_reach(bbox: &BBox) -> bool {
    <[f64; 4]>::from(*bbox).iter().all(|number| number.abs() <= MAX_PIXELS)
}

/// The rows of one target in a file, in the order of frames.
#[derive(Clone, Debug)]
pub struct Annotations {
    path: PathBuf,
    rows: Vec<Row>,
    /// The lines of all targets in a MOT file.
    entries: Vec<Entry>,
    target: Option<u32>,
}

impl Annotations {
    /// Reads the file at `path`, whose numbers have the given base.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, else as [`Annotations::parse`].
    pub fn read(path: impl AsRef<Path>, base: Base) -> Result<Self> {
        let path = path.as_ref();
        let bytes = crate::pipe::read(path).map_err(|source| Error::io(path, source))?;
        Self::parse(&bytes, path, base)
    }

    /// Reads the text of a file; `path` names it in errors.
    ///
    /// Commas, semicolons, tabs and blanks separate numbers; LF, CR LF or CR end lines; a byte order mark is skipped.
    /// An empty line or a line of NaN is a row without a box; empty lines at the end do not count. Four numbers are a
    /// box, eight a polygon.
    ///
    /// If the first line has nine or ten numbers, the file is MOT: 1-based whatever `base` says (0-based beside the
    /// `labels.txt` of CVAT), and of several targets. The rows are those of the first target with a `conf` other than 0.
    ///
    /// # Errors
    /// [`Error::Annotation`] with the line for text that is not UTF-8, a word that is not a number, another count of
    /// numbers, a number beyond a million pixels, more than a million lines, and eight numbers that are MOT's.
    pub fn parse(text: &[u8], path: impl AsRef<Path>, base: Base) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |line: usize, reason: String| Error::Annotation { path: path.to_path_buf(), line, reason };
        let text = std::str::from_utf8(text).map_err(|error| {
            let line = 1 + text[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            wrong(line, "this is not text in UTF-8".into())
        })?;
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
        let (mut rows, mut entries, mut is_mot, mut polygons) = (Vec::new(), Vec::new(), None, Vec::new());
        for (line, text) in (1..).zip(text.trim_end().lines()) {
            let numbers = numbers(text).map_err(|reason| wrong(line, reason))?;
            if line > MAX_ROWS {
                return Err(wrong(line, format!("a file has at most {MAX_ROWS} rows")));
            }
            // A blank line tells nothing of the format: in MOT it is nothing, elsewhere a frame without a box.
            if !numbers.is_empty() {
                is_mot.get_or_insert(matches!(numbers.len(), 9 | 10));
            }
            match is_mot {
                Some(true) if numbers.is_empty() => {}
                Some(true) => entries.push(Entry::new(&numbers).map_err(|reason| wrong(line, in_line(text, &reason)))?),
                _ => {
                    let row = row(&numbers).map_err(|reason| wrong(line, in_line(text, &reason)))?;
                    rows.push(Row::new(row, base));
                    polygons.extend(<[f64; 8]>::try_from(numbers).ok().map(|numbers| (line, text, numbers)));
                }
            }
        }
        if let Some((line, text, _)) = polygons.first().filter(|_| are_mot(&polygons)) {
            let hint = "write a visibility of 1 behind, or the four numbers of one target";
            return Err(wrong(
                *line,
                in_line(text, &format!("frame,id,x,y,w,h,… of MOT has nine or ten numbers: {hint}")),
            ));
        }
        let first = entries.iter().min_by_key(|entry| (entry.confidence == 0.0, entry.frame, entry.target));
        let target = first.map(|entry| entry.target);
        if let Some(target) = target {
            rows = rows_of(&entries, target, Base::of_mot_file(path));
        }
        Ok(Self { path: path.to_path_buf(), rows, entries, target })
    }

    /// The targets of a MOT file, in ascending order; empty for other files.
    pub fn targets(&self) -> Vec<u32> {
        let targets: std::collections::BTreeSet<u32> = self.entries.iter().map(|entry| entry.target).collect();
        targets.into_iter().collect()
    }

    /// The target that the rows belong to, in a MOT file.
    pub fn target(&self) -> Option<u32> {
        self.target
    }

    /// The same MOT file with the rows of another target; `None` if it has no such target.
    pub fn of_target(self, target: u32) -> Option<Self> {
        let rows = rows_of(&self.entries, target, Base::of_mot_file(&self.path));
        (!rows.is_empty()).then_some(Self { rows, target: Some(target), ..self })
    }

    /// The lines of a MOT file.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The last frame with a line of any target, in a MOT file.
    pub(crate) fn last_frame(&self) -> Option<usize> {
        self.entries.iter().map(|entry| entry.frame as usize).max()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A row for each line; in a MOT file a row for each frame up to the last of the target.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The 0-based box of each row, if there is one.
    pub fn boxes(&self) -> Vec<Option<BBox>> {
        self.rows.iter().map(Row::bbox).collect()
    }

    /// True if any row holds a box.
    pub fn has_boxes(&self) -> bool {
        self.rows.iter().any(|row| row.bbox().is_some())
    }
}

/// The text files in a folder, and in the folders of so many levels below it, sorted.
pub(crate) fn text_files(folder: &Path, levels: usize) -> std::io::Result<Vec<PathBuf>> {
    files_in(folder, levels, &|path| has_extension(path, &["txt"]))
}

/// The `wanted` files in a folder, and in the folders of so many levels below it, sorted.
pub(crate) fn files_in(folder: &Path, levels: usize, wanted: &dyn Fn(&Path) -> bool) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true if levels > 0 => files.extend(files_in(&path, levels - 1, wanted)?),
            false if wanted(&path) => files.push(path),
            _ => {}
        }
    }
    if files.len() > MAX_ROWS {
        return Err(std::io::Error::other(format!("it has more than {MAX_ROWS} files, the most that are read")));
    }
    files.sort();
    Ok(files)
}

/// The numbers of a line. A comma within the words between blanks or semicolons may be the decimal point: the count of
/// numbers decides.
fn numbers(line: &str) -> Result<Vec<f64>, String> {
    let fits = |count: usize| matches!(count, 4 | 8..=10);
    let parsed = |word: &str| word.parse().map_err(|_| format!("`{}` is not a number", shortened(word)));
    let split = || line.split(|c: char| c.is_whitespace() || c == ';');
    let words = || split().map(|word| word.trim_end_matches(',')).filter(|word| !word.is_empty());
    let plain = words().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    let unclear = || Err(in_line(line, UNCLEAR_COMMA));
    if words().any(|word| word.contains(',')) && words().count() > 1 && !words().any(|word| word.starts_with(',')) {
        let decimal: Result<Vec<f64>, _> = words().map(|word| parsed(&word.replacen(',', ".", 1))).collect();
        match decimal.map(|numbers| (fits(numbers.len()), numbers)) {
            Ok((true, _)) if fits(plain.clone().count()) => return unclear(),
            Ok((true, numbers)) => return Ok(numbers),
            _ => {}
        }
    }
    if line.contains(',')
        && matches!(plain.clone().count(), 8 | 10)
        && may_be_decimals(&plain.clone().collect::<Vec<_>>())
    {
        return unclear();
    }
    plain.map(parsed).collect()
}

pub(crate) const UNCLEAR_COMMA: &str = "a comma may be the decimal point or separate numbers: write decimal points";

/// Whether the last eight of the cells between commas may be four numbers with decimal commas: all are digits, and of
/// each second cell one begins with a zero (`38,00`), or all have one digit and are no corners.
pub(crate) fn may_be_decimals(cells: &[&str]) -> bool {
    let Some(last) = cells.last_chunk::<8>().filter(|_| matches!(cells.len(), 8 | 10)) else { return false };
    let decimals = || last.iter().skip(1).step_by(2);
    let numbers = last.map(|cell| cell.parse::<u32>().map_or(f64::NAN, f64::from));
    let side = |at: usize| [0, 1].map(|axis| numbers[(2 * at + 2 + axis) % 8] - numbers[(2 * at + axis) % 8]);
    let turn = |at: usize| side(at)[0] * side(at + 1)[1] - side(at)[1] * side(at + 1)[0];
    let is_convex = (0..4).all(|at| turn(at) >= 0.0) || (0..4).all(|at| turn(at) <= 0.0);
    let has_zero = decimals().any(|cell| cell.len() > 1 && cell.starts_with('0'));
    numbers.iter().all(|number| !number.is_nan())
        && (has_zero || decimals().all(|cell| cell.len() == 1) && (cells.len() == 10 || !is_convex))
}

const TOO_FAR: &str = "a number is beyond a million pixels";

/// The box of a line that is not MOT.
fn row(numbers: &[f64]) -> Result<[f64; 4], String> {
    match *numbers {
        _ if numbers.iter().any(|number| number.is_finite() && number.abs() > MAX_PIXELS) => Err(TOO_FAR.into()),
        [x, y, w, h] => Ok([x, y, w, h]),
        _ if numbers.iter().all(|number| number.is_nan()) => Ok([f64::NAN; 4]),
        [_, _, _, _, _, _, _, _] => Ok(BBox::around_polygon(numbers).map_or([f64::NAN; 4], Into::into)),
        _ => Err(format!("{} numbers, not 4 (x,y,w,h) or 8 (a polygon x1,y1,…,x4,y4)", numbers.len())),
    }
}

/// Whether lines of eight numbers are those of MOT without its last: no corners of boxes, but a frame, an id and a
/// confidence, or frames that count on.
fn are_mot(lines: &[(usize, &str, [f64; 8])]) -> bool {
    let all = || lines.iter().map(|(.., numbers)| numbers).filter(|numbers| numbers.iter().any(|n| !n.is_nan()));
    let is_one = |number: f64| (-1.0..=1.0).contains(&number);
    let is_box = |[ax, ay, bx, by, cx, cy, dx, dy]: &[f64; 8]| is_one(ax + cx - bx - dx) && is_one(ay + cy - by - dy);
    let steps = all().zip(all().skip(1)).all(|(before, row)| row[0] == before[0] || row[0] == before[0] + 1.0);
    let counts = all().nth(1).is_some() && all().next().is_some_and(|row| matches!(row[0], 0.0 | 1.0)) && steps;
    all().all(|row| row[0].fract() == 0.0 && row[0] >= 0.0 && row[1].fract() == 0.0 && row[1] >= -1.0)
        && !all().all(is_box)
        && (counts || [6, 7].iter().any(|&at| all().all(|row| is_one(row[at]))))
}

/// One line of MOT (Milan, Leal-Taixé, Reid, Roth & Schindler, *MOT16*, 2016).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub frame: u32,
    pub target: u32,
    pub numbers: [f64; 4],
    /// 0 for a target that is not to be tracked.
    pub confidence: f64,
}

impl Entry {
    fn new(numbers: &[f64]) -> Result<Self, String> {
        match numbers {
            [_, _, _, _, _, _, _, _, -1.0..=1.0] | [_, _, _, _, _, _, _, _, _, _] => Self::of(numbers),
            _ => Err("not frame,id,x,y,w,h,conf,class,visibility or frame,id,x,y,w,h,conf,x,y,z".into()),
        }
    }

    /// The first six or seven numbers of a line.
    pub fn of(numbers: &[f64]) -> Result<Self, String> {
        let &[frame, target, x, y, w, h, ..] = numbers else {
            return Err("not frame,id,x,y,w,h,conf".into());
        };
        let whole = |value: f64, first: u32| {
            (value.fract() == 0.0 && (f64::from(first)..=f64::from(u32::MAX)).contains(&value)).then_some(value as u32)
        };
        let frame = whole(frame, 1).ok_or_else(|| format!("frame {frame}, and frames count from 1"))?;
        let target = whole(target, 0).ok_or_else(|| format!("target {target}, and targets count from 0"))?;
        if frame as usize > MAX_ROWS {
            return Err(format!("frame {frame}: a sequence has at most {MAX_ROWS}"));
        }
        if [x, y, w, h].iter().any(|number| number.is_finite() && number.abs() > MAX_PIXELS) {
            return Err(TOO_FAR.into());
        }
        Ok(Self { frame, target, numbers: [x, y, w, h], confidence: numbers.get(6).copied().unwrap_or(1.0) })
    }
}

/// The rows of a target, one for each frame up to its last. Of two lines for one frame the last counts.
fn rows_of(entries: &[Entry], target: u32, base: Base) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in entries.iter().filter(|entry| entry.target == target) {
        let place = entry.frame as usize;
        if rows.len() < place {
            rows.resize(place, Row::new([f64::NAN; 4], base));
        }
        rows[place - 1] = Row::new(entry.numbers, base);
    }
    rows
}

fn in_line(line: &str, reason: &str) -> String {
    format!("`{}`: {reason}", shortened(line))
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Annotations {
        Annotations::parse(text.as_bytes(), "truth.txt", Base::One).unwrap()
    }

    fn boxes(text: &str) -> Vec<Option<[f64; 4]>> {
        parse(text).boxes().into_iter().map(|bbox| bbox.map(Into::into)).collect()
    }

    fn error(text: impl AsRef<[u8]>) -> String {
        Annotations::parse(text.as_ref(), "a/truth.txt", Base::One).unwrap_err().to_string()
    }

    const BOX: Option<[f64; 4]> = Some([197.0, 213.0, 34.0, 81.0]);

    #[test]
    fn the_name_implies_the_base() {
        assert_eq!(Base::of_truth_file(Path::new("a/groundtruth_rect.txt")), Base::One);
        assert_eq!(Base::of_truth_file(Path::new("a/groundtruth_rect.2.txt")), Base::One);
        assert_eq!(Base::of_truth_file(Path::new("groundtruth_rect/groundtruth.txt")), Base::Zero);
        assert_eq!(Base::of_truth_file(Path::new("")), Base::Zero);
    }

    #[test]
    fn reads_any_separator_and_line_end() {
        for line in ["198\t214\t34\t81", "198;214;34;81", "  198.0 ,\t214 ;34   81,  ", "1.98e2,+214.,34.000,81"] {
            assert_eq!(boxes(line), [BOX], "{line}");
        }
        let text = "\u{feff}198,214,34,81\n198\t214\t34\t81\r\n198 214 34 81\r198;214;34;81\n\n  \r\n";
        assert_eq!(boxes(text), [BOX; 4]);
    }

    #[test]
    fn rows_without_a_box_keep_their_place() {
        let without = ["", "NaN,NaN,NaN,NaN", "0,0,0,0", "nan", ",,,", "10,10,-3,4", "10,NaN,3,4", "inf,1,2,3"];
        let read = boxes(&format!("198,214,34,81\n{}\n198,214,34,81\n\n\n", without.join("\n")));
        assert_eq!(read.len(), 10);
        assert_eq!((read[0], read[9]), (BOX, BOX));
        assert!(read[1..9].iter().all(Option::is_none), "{read:?}");
        assert_eq!(boxes("\r\r198,214,34,81"), [None, None, BOX]);
        assert!(boxes("").is_empty() && boxes("\n\n \n").is_empty() && boxes("\u{feff}").is_empty());
    }

    #[test]
    fn polygons_become_boxes() {
        assert_eq!(boxes("6,2,10,5,7,9,3,6"), [Some([2.0, 1.0, 7.0, 7.0])]);
        assert_eq!(boxes("NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN\n6,2,10,5,7,NaN,3,6\n1,1,5,1,9,1,2,1"), [None, None, None]);
    }

    #[test]
    fn a_comma_is_no_guess() {
        for text in [
            "13,80,45,40,38,00,60,00",
            "13,80, 45,40, 38,00, 60,00",
            "13,80 45,40 38,00 60,00",
            "13,80;45,40;38,00;60,00",
            "13,8,45,4,38,0,60,0",
            "1,1,13,80,45,40,38,00,60,00",
            "1,1,13,8,45,4,38,0,60,0",
        ] {
            assert!(error(text).contains("a comma may be the decimal point"), "{text}: {}", error(text));
        }
        for text in
            ["13, 80, 45, 40", "6,2,10,5,7,9,3,6", "100,120,140,121,139,190,99,189", "1,1,13,80,45,40,1,-1,-1,-1"]
        {
            assert!(parse(text).has_boxes(), "{text}");
        }
    }

    #[test]
    fn eight_numbers_of_mot_are_no_polygon() {
        for text in [
            "1,1,13.8,45.4,38,60,1,1",
            "7,3,13.8,45.4,38,60,2,0.5\n8,3,13,45,38,60,2,0.5",
            "5,1,13,45,38,60,-1,-1",
            "0,4,13,45,38,60,87,2\n1,4,14,45,38,60,86,2",
            "1,3,13,45,38,60,87,2\n1,4,99,45,38,60,86,2\n\n2,4,14,45,38,60,86,2",
        ] {
            assert!(error(text).contains("line 1: ") && error(text).contains("of MOT has nine"), "{text}");
        }
        for text in [
            "6,2,10,5,7,9,3,6",
            // At the border of the frame, with whole numbers that count on.
            "1,10,20,10,20,30,1,30\n2,10,21,10,21,30,1,30",
            "100,50,140,52,141,90,99,91\n101,50,141,52,142,90,100,91",
            "0.5,50,140,52,141,90,0.5,91",
        ] {
            assert!(parse(text).has_boxes(), "{text}");
        }
    }

    #[test]
    fn a_mot_file_has_the_boxes_of_one_target() {
        let read = parse(
            "\n1,1,912,484,97,109,0,7,1\n1,3,11,21,30,40,1,1,0.9\n3,3,13,21,30,40,1,1,0.5\n\n2,2,1,2,30,40,1,1,1\n\
             2,3,12,21,30,40,1,1,1\n",
        );
        assert_eq!((read.targets(), read.target(), read.rows()[0].base()), (vec![1, 2, 3], Some(3), Base::One));
        let boxes = [10.0, 11.0, 12.0].map(|x| Some(BBox::new(x, 20.0, 30.0, 40.0)));
        assert_eq!(read.boxes(), boxes);
        assert_eq!(read.clone().of_target(2).unwrap().boxes(), [None, Some(BBox::new(0.0, 1.0, 30.0, 40.0))]);
        assert!(read.of_target(4).is_none());
        // The form with a point in space.
        assert_eq!(parse("1,7,11,21,30,40,-1,-1,-1,-1").boxes(), boxes[..1]);
        // If no target counts, the first is read.
        assert_eq!(parse("1,1,912,484,97,109,0,7,1").target(), Some(1));
    }

    #[test]
    fn errors_name_file_line_and_reason() {
        assert_eq!(error("1,2,3,4\r\n\r\n1,2,x3,4"), "a/truth.txt, line 3: `x3` is not a number");
        assert!(error("1,2,3,4\n1,2,3").starts_with("a/truth.txt, line 2: `1,2,3`: 3 numbers, not 4 (x,y,w,h)"));
        assert_eq!(error(b"1,2,3,4\n1,2\xff,3,4\n"), "a/truth.txt, line 2: this is not text in UTF-8");
        for (text, reason) in [
            ("1,1,2,3,4,5,1,1,1\n1,2,3,4", "line 2: `1,2,3,4`: not frame,id,"),
            ("1,2,3,4\n1,1,2,3,4,5,1,1,1", "line 2: `1,1,2,3,4,5,1,1,1`: 9 numbers"),
            ("0,3,13,45,38,60,1,1,0.9", "frame 0, and frames count from 1"),
            ("1,-1,794,247,71,174,4.5,-1,-1,-1", "target -1, and targets count from 0"),
            ("4000000000,1,2,3,4,5,1,1,1", "at most 1000000"),
            // A frame and a polygon, as in ALOV.
            ("1,10,20,30,20,30,40,10,40", "not frame,id,"),
        ] {
            assert!(error(text).contains(reason), "{text}: {}", error(text));
        }
        assert!(error("é".repeat(100)).len() < 200 && error("1,2,".repeat(100_000)).len() < 400);
        let missing = Annotations::read("/nowhere/groundtruth.txt", Base::Zero).unwrap_err().to_string();
        assert!(missing.contains("/nowhere/groundtruth.txt"), "{missing}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9eE+\\-.,;\t nNaAiIfF\r\n\u{feff}é]{0,120}") {
            let _ = Annotations::parse(text.as_bytes(), "t", Base::Zero);
        }

        #[test]
        fn reads_what_was_written(
            quarters in prop::collection::vec(
                (-40_000..40_000i32, -40_000..40_000i32, 1..40_000i32, 1..40_000i32, any::<bool>()), 1..40,
            ),
            one in any::<bool>(),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        ) {
            let base = if one { Base::One } else { Base::Zero };
            let boxes: Vec<_> = quarters.iter().map(|&(x, y, w, h, there)| {
                let quarter = |v: i32| f64::from(v) / 4.0;
                there.then(|| BBox::new(quarter(x), quarter(y), quarter(w), quarter(h)))
            }).collect();
            let row = |bbox: &Option<BBox>| bbox.map_or([f64::NAN; 4], |bbox| base.to_numbers(&bbox));
            let text: String = boxes.iter().map(|bbox| row(bbox).map(|v| v.to_string()).join(",") + end).collect();
            prop_assert_eq!(Annotations::parse(text.as_bytes(), "t", base).unwrap().boxes(), boxes);
        }
    }
}
