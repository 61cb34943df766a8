//! A folder of images with the truth beside it.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::atomic_file::parent;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::annotation::Row;

use super::decode::orientation;
use super::folder::{EXTENSIONS, file_name, is_image, list};
use super::images::Images;
use super::item::{Demand, Span};
use super::layout::{self, IMAGE_FOLDERS};
use super::otb::OtbSequence;
use super::truth::{self, Aligned, SequenceOptions};
use super::{Source, Stream, check_positions, end_before};

/// A folder of images in natural order and the truth of one target, aligned to them.
///
/// Positions count from 1 in the sorted folder, whatever numbers the file names have.
#[derive(Clone, Debug)]
pub struct Sequence {
    name: String,
    folder: PathBuf,
    images: Vec<PathBuf>,
    truth_path: Option<PathBuf>,
    truth_note: Option<String>,
    target: Option<u32>,
    rows: Vec<Option<Row>>,
    truth: Vec<Option<BBox>>,
    default_first: usize,
    default_last: usize,
    otb: Option<&'static OtbSequence>,
    warnings: Vec<String>,
}

impl Sequence {
    /// Opens the folder of a sequence, or the folder of its images.
    ///
    /// Images are looked for in `img/` (OTB), `color/` (VOT), `img1/` (MOT) and in the folder itself. The truth is
    /// `groundtruth_rect.txt`, `groundtruth.txt`, `gt/gt.txt` or `groundtruth_rect.N.txt` in the folder of the sequence
    /// or beside the images. A missing truth is no error.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be read, [`Error::Sequence`] when it is a file or has no images,
    /// [`Error::Parameter`] when the target has no truth, [`Error::Annotation`] for a truth
    /// file that cannot be understood.
    pub fn open(path: impl AsRef<Path>, options: &SequenceOptions) -> Result<Self> {
        Self::open_at(path.as_ref(), options)
    }

    /// The same, compiled once for all kinds of paths.
    fn open_at(given: &Path, options: &SequenceOptions) -> Result<Self> {
        let Found { folder: image_folder, images, mut warnings } = images_of(given)?;
        // A link keeps the name that it was given; only `.` and `..` have to be resolved to have one.
        let resolve =
            |path: &Path| if path.file_name().is_some() { std::path::absolute(path) } else { path.canonicalize() };
        let absolute = resolve(given).map_err(|source| Error::io(given, source))?;
        let above = absolute.parent();
        let inside = image_folder == given;
        // The folder of the images may have been given: then the truth and the name are those of the one above.
        let folder_name = file_name(&absolute);
        let is_image_folder = inside && IMAGE_FOLDERS.iter().any(|known| folder_name.eq_ignore_ascii_case(known));
        let mut folders = vec![given];
        match above {
            Some(above) if inside => folders.push(above),
            _ if !inside => folders.push(&image_folder),
            _ => {}
        }
        let found = truth::find(&folders, options)?;
        let from_above = found.as_ref().is_some_and(|found| inside && found.annotations.path().parent() == above);
        let name = match above {
            Some(above) if is_image_folder || from_above => file_name(above),
            _ => folder_name,
        };
        let (truth_path, target, aligned) = match &found {
            None => (None, options.target, Aligned::without(images.len())),
            Some(found) => {
                let annotations = &found.annotations;
                let path = annotations.path();
                if !annotations.has_boxes() {
                    warnings.push(format!("{}: no row holds a box", path.display()));
                }
                if let Some(other) = found.unread.first() {
                    let more = if found.unread.len() > 1 { ", among others," } else { "" };
                    warnings.push(format!(
                        "{}: this is read as the truth; {}{more} lies beside it and is not",
                        path.display(),
                        other.display()
                    ));
                }
                if let ([_, _, ..], Some(target)) = (&found.choice[..], found.target) {
                    warnings.push(format!(
                        "{}: there is a truth of {} targets ({}): that of {target} is read, --target N chooses another",
                        path.display(),
                        found.choice.len(),
                        truth::listed(&found.choice)
                    ));
                }
                let aligned = truth::align(&name, found.target, &images, annotations);
                (Some(path.to_path_buf()), found.target, aligned)
            }
        };
        warnings.extend(aligned.warnings);
        let truth_note = found.as_ref().map(|found| found.annotations.base_note(options.base.is_some()));
        let truth: Vec<_> = aligned.rows.iter().map(|row| row.and_then(|row| row.bbox())).collect();
        let from = aligned.first.unwrap_or(0);
        let default_first = truth.iter().skip(from).position(Option::is_some).map_or(0, |after| from + after);
        let default_last = aligned.last.unwrap_or(images.len() - 1);
        Ok(Self {
            name,
            folder: given.to_path_buf(),
            images,
            truth_path,
            truth_note,
            target,
            rows: aligned.rows,
            truth,
            default_first: default_first + 1,
            default_last: default_last + 1,
            otb: aligned.otb,
            warnings,
        })
    }

    /// Name of the sequence's folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder as it was given.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The images in natural order; there is at least one. Position `p` is element `p - 1`.
    pub fn images(&self) -> &[PathBuf] {
        &self.images
    }

    /// The truth file, if there is one.
    pub fn truth_path(&self) -> Option<&Path> {
        self.truth_path.as_deref()
    }

    /// The base of the truth file and how it was chosen, such as "groundtruth_rect.txt is 1-based by its name".
    pub fn truth_note(&self) -> Option<&str> {
        self.truth_note.as_deref()
    }

    /// The number of the target, in the truth file's name or in MOT's file.
    pub fn target(&self) -> Option<u32> {
        self.target
    }

    /// The box of each image, 0-based; as many as there are images.
    pub fn truth(&self) -> &[Option<BBox>] {
        &self.truth
    }

    /// The row of the truth file for each image, as the evaluation needs it: rows without a box are there as well.
    pub fn rows(&self) -> &[Option<Row>] {
        &self.rows
    }

    /// Whether any image has a box.
    pub fn has_truth(&self) -> bool {
        self.truth.iter().any(Option::is_some)
    }

    /// Position of the first image that has a box.
    pub fn first_with_truth(&self) -> Option<usize> {
        self.truth.iter().position(Option::is_some).map(|place| place + 1)
    }

    /// The sequence of OTB that the folder was recognised as, by its name, its images' numbers and its rows.
    pub fn otb(&self) -> Option<&'static OtbSequence> {
        self.otb
    }

    /// What a person should know: rows that do not match the images, and the like.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The positions from `start` to `end`, both included and counted from 1.
    ///
    /// Without a start it is the first image with a box (in a sequence of OTB, where the benchmark starts), else the
    /// first one. Without an end it is the last image; in a sequence of OTB the last one that the benchmark uses,
    /// unless `start` lies behind it.
    ///
    /// # Errors
    /// [`Error::Parameter`], naming `start` or `end`, for 0, a position beyond the last image, or an end before the
    /// start.
    pub fn range(&self, start: Option<usize>, end: Option<usize>) -> Result<RangeInclusive<usize>> {
        let count = self.images.len();
        check_positions(Some(count), start, end)?;
        let first = start.unwrap_or(self.default_first);
        let last = end.unwrap_or(if first <= self.default_last { self.default_last } else { count });
        if last < first {
            if start.is_some() {
                return Err(end_before(first, last));
            }
            let expected = format!("the sequence starts at image {first}, its first with truth: give a start as well");
            return Err(Error::Parameter { name: "end", value: last.to_string(), expected });
        }
        Ok(first..=last)
    }

    /// The true box of the image at `position`, from which tracking can start.
    ///
    /// # Errors
    /// [`Error::Sequence`] when that image has none.
    pub fn initial_box(&self, position: usize) -> Result<BBox> {
        let bbox = position.checked_sub(1).and_then(|place| self.truth.get(place).copied().flatten());
        bbox.ok_or_else(|| {
            let reason = match &self.truth_path {
                None => "there is no ground truth beside the images".to_string(),
                Some(path) => {
                    format!("{} has no box for image {position}", path.display())
                }
            };
            Error::Sequence { path: self.folder.clone(), reason }
        })
    }
}

impl Sequence {
    fn files(&self, span: Span, demand: Demand) -> Images {
        let files = (1..).zip(self.images.iter().cloned()).filter(|(position, _)| span.contains(*position));
        Images::new(files.collect(), demand)
    }

    /// The folders that the frames lie in.
    fn frame_folders(&self) -> impl Iterator<Item = &Path> {
        let same = |one: &PathBuf, other: &PathBuf| one.parent() == other.parent();
        self.images.chunk_by(same).filter_map(|images| images.first()?.parent())
    }

    /// The folders in which a truth may lie: the one that was given, that of the frames, and the one above that where
    /// it has a name for such folders.
    fn truth_folders(&self) -> impl Iterator<Item = &Path> {
        let frames = self.images.first().and_then(|image| image.parent());
        let known = |folder: &&Path| IMAGE_FOLDERS.iter().any(|known| folder.ends_with(known));
        let above = frames.filter(known).and_then(Path::parent);
        [Some(self.folder.as_path()), frames, above].into_iter().flatten()
    }

    /// Whether a folder at `path` has a name under which images are looked for in this sequence, but is not the one
    /// that the frames lie in.
    fn hides_frames(&self, path: &Path) -> bool {
        let known = |name: &Path| IMAGE_FOLDERS.iter().any(|known| name == Path::new(known));
        let name = |path: &Path| path.file_name().map(PathBuf::from).unwrap_or_default();
        let above = parent(path);
        let (Some(frames), Ok(above)) = (self.images.first().and_then(|image| image.parent()), above.canonicalize())
        else {
            return false;
        };
        let is = |folder: &Path| folder.canonicalize().is_ok_and(|folder| folder == above);
        let of_sequence = is(&self.folder) || known(&name(frames)) && frames.parent().is_some_and(is);
        known(&name(path)) && of_sequence && frames.canonicalize().ok() != path.canonicalize().ok()
    }
}

impl Source for Sequence {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> Option<usize> {
        Some(self.images.len())
    }

    fn true_box(&self, position: usize) -> Option<BBox> {
        self.truth.get(position.checked_sub(1)?).copied().flatten()
    }

    fn initial_box(&self, position: usize) -> Result<BBox> {
        Self::initial_box(self, position)
    }

    fn truth_note(&self) -> Option<&str> {
        Self::truth_note(self)
    }

    fn span(&self, start: Option<usize>, end: Option<usize>) -> Result<Span> {
        self.range(start, end).map(Span::from)
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A frame, the truth, the folder of the frames, where a file could take one's
    /// name, or one that would be taken for that folder if there were images in it.
    fn occupies(&self, path: &Path) -> Option<&'static str> {
        if self.hides_frames(path) {
            return Some("would be taken for the folder of the frames by the next run");
        }
        let above = parent(path);
        let beside_frames = || {
            let above = above.canonicalize().ok()?;
            self.frame_folders().any(|folder| folder.canonicalize().is_ok_and(|folder| folder == above)).then_some(())
        };
        // What is not there yet can replace nothing, but it may become one.
        let Ok(real) = path.canonicalize() else {
            return beside_frames().filter(|()| is_image(path)).map(|()| "would be taken for a frame by the next run");
        };
        let is = |other: &Path| other.canonicalize().is_ok_and(|other| other == real);
        let name = real.file_name();
        // A frame of another name can only be the file that is there if it is a link.
        let may_be = |frame: &Path| frame.file_name() == name || frame.is_symlink();
        let truths = || self.truth_folders().flat_map(layout::truths).any(|truth| is(&truth));
        let leads_here =
            |frame: &PathBuf| frame.is_symlink() && frame.canonicalize().is_ok_and(|to| to.parent() == Some(&real));
        if self.truth_path().is_some_and(is) || truths() {
            Some("is the ground truth of this sequence")
        } else if real.is_dir() && (self.frame_folders().any(is) || self.images.iter().any(leads_here)) {
            Some("is the folder of the frames, and one of them could be replaced")
        } else if self.images.iter().any(|image| may_be(image) && is(image)) {
            Some("is a frame of this sequence")
        } else {
            None
        }
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        Ok(Box::new(self.files(span, demand)))
    }

    fn image_files(&self, span: Span, demand: Demand) -> Option<Images> {
        Some(self.files(span, demand))
    }
}

/// The folder of the images of a sequence, and what is odd about them.
struct Found {
    folder: PathBuf,
    images: Vec<PathBuf>,
    warnings: Vec<String>,
}

/// A warning about an Exif orientation, which is not applied.
fn image_warnings(images: &[PathBuf]) -> Vec<String> {
    let turned = images.first().and_then(|image| Some((image, orientation(image)?)));
    let warning = |(image, orientation): (&PathBuf, u8)| {
        format!(
            "{}: its Exif orientation ({orientation}) is not applied: boxes count pixels as they are stored",
            file_name(image)
        )
    };
    turned.map(warning).into_iter().collect()
}

fn images_of(given: &Path) -> Result<Found> {
    let listing = list(given)?;
    for known in IMAGE_FOLDERS {
        let folder = given.join(known);
        if folder.is_dir() {
            let inside = list(&folder)?;
            if !inside.images.is_empty() {
                let warnings = image_warnings(&inside.images);
                return Ok(Found { folder, images: inside.images, warnings });
            }
        }
    }
    if !listing.images.is_empty() {
        let warnings = image_warnings(&listing.images);
        return Ok(Found { folder: given.to_path_buf(), images: listing.images, warnings });
    }
    let found = match (listing.files, listing.folders) {
        (0, 0) => "it is empty".to_string(),
        (0, folders) => format!("it holds {folders} folders: give the one of a sequence"),
        (files, folders) => format!("it holds {files} other files and {folders} folders"),
    };
    let known = EXTENSIONS.join(", ");
    let reason = format!("no images ({known}) here, nor in img/, color/ or img1/: {found}");
    Err(Error::Sequence { path: given.to_path_buf(), reason })
}
