//! Response maps as raw floats and as pictures, and the folder that pictures go to.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use image::{ExtendedColorType, ImageError};
use ndarray::ArrayView2;

use super::drawing::{Letters, heat_map, peak};
use super::output::{Destination, Lines};
use super::record::rounded;
use super::text::csv_text;
use super::{Export, FrameRecord, FrameView};
use crate::atomic_file::{parent, remove, replace, temporary_beside};
use crate::error::{Error, Result};
use crate::media::layout::INDEX;
use crate::png;

const GEOMETRY: &str = "geometry.csv";

const HEADER: [&str; 12] = [
    "index",
    "file",
    "map",
    "rows",
    "columns",
    "origin_x",
    "origin_y",
    "step_x",
    "step_y",
    "peak_row",
    "peak_column",
    "angle",
];

/// A folder of response maps. For a frame `NAME.jpg`:
///
/// - `NAME.npy` holds the raw scores, `f32`, `[rows, columns]`, the element of no motion in the middle, at
///   [`ResponseMap::middle`](crate::tracker::ResponseMap::middle).
/// - `NAME.png` shows them: viridis from the lowest score to the highest, the peak framed.
/// - A row of `geometry.csv` says where the map lies on the image: element `[r, c]` is the score of a target whose
///   centre is at `x = origin_x + c * step_x`, `y = origin_y + r * step_y`, in 0-based pixels (the centre of a box is
///   `x + w / 2`, `y + h / 2`). Where `angle`, in radians clockwise, is not 0, the map is turned by it around its first
///   element: `x = origin_x + cos(angle) * c * step_x - sin(angle) * r * step_y`, `y = origin_y + sin(angle) * c *
///   step_x + cos(angle) * r * step_y`. `peak_row` and `peak_column` are the highest element. A frame without a map (a
///   missing one) has a row with nothing after its name. The first frame's map is the filter's answer to what it was
///   just taught. Of several targets the names are `NAME.ID.npy` and `NAME.ID.png`.
#[derive(Debug)]
pub struct ResponseMaps {
    folder: Folder,
    geometry: Lines,
    begun: bool,
    letters: Letters,
}

impl ResponseMaps {
    /// Makes the folder, if need be, and checks that it can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub fn create(folder: &Path) -> Result<Self> {
        let letters = Letters::load(folder)?;
        let folder = Folder::create(folder)?;
        folder.refuse_foreign(GEOMETRY)?;
        let geometry = Lines::create(&Destination::File(folder.join(GEOMETRY)))?;
        Ok(Self { folder, geometry, begun: false, letters })
    }
}

impl Export for ResponseMaps {
    /// Refuses frames of its own folder, besides the usual errors.
    fn frame(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        self.folder.refuse_frames(view.path)?;
        if !self.begun {
            self.folder.claim(GEOMETRY)?;
        }
        let mut row: [String; 12] = Default::default();
        row[0] = record.index.to_string();
        row[1].clone_from(&record.file);
        if let Some(response) = &view.response {
            let map = response.centered();
            let ending = record.id.map_or("npy".into(), |id| format!("{id}.npy"));
            let name = self.folder.name_for(&record.file, &ending);
            let picture_name = Path::new(&name).with_extension("png").to_string_lossy().into_owned();
            self.folder.claim(&name)?;
            self.folder.claim(&picture_name)?;
            put(&self.folder.join(&name), |file| write_npy(file, map.view()).map_err(ImageError::IoError))?;
            let picture = heat_map(map.view(), response, &self.letters);
            put(&self.folder.join(&picture_name), |file| {
                Ok(file.write_all(&png::encode(&picture, picture.dimensions(), ExtendedColorType::Rgb8)?)?)
            })?;

            let (x, y) = response.origin();
            let number = |value: f64| if value.is_finite() { rounded(value, 6).to_string() } else { String::new() };
            row[2] = name;
            row[3] = map.nrows().to_string();
            row[4] = map.ncols().to_string();
            for (field, value) in row[5..9].iter_mut().zip([x, y, response.step.0, response.step.1]) {
                *field = number(value);
            }
            if let Some(((row_of_peak, column), _)) = peak(map.view()) {
                row[9] = row_of_peak.to_string();
                row[10] = column.to_string();
            }
            row[11] = number(response.angle);
        }
        let header = HEADER.map(String::from);
        let rows: &[[String; 12]] = if self.begun { &[row] } else { &[header, row] };
        let text = csv_text(rows).map_err(|source| Error::io(self.folder.join(GEOMETRY), source))?;
        self.geometry.write(&text)?;
        self.begun = true;
        Ok(())
    }
}

/// What a file begins with: the mark of the format and its version, 1.0.
const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// Length of the description after the mark and the two bytes of this length: the values then begin at byte 128, a
/// multiple of 64 as the format asks for, and the largest shape has room.
const DESCRIPTION: u16 = 118;

/// Writes a matrix as numpy's `save` does, byte for byte: `f32`, little endian, row after row.
///
/// # Errors
/// Those of `out`. Many small writes are made: a `BufWriter` helps.
pub fn write_npy(mut out: impl Write, matrix: ArrayView2<'_, f32>) -> io::Result<()> {
    let (rows, cols) = matrix.dim();
    let description = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    out.write_all(MAGIC)?;
    out.write_all(&DESCRIPTION.to_le_bytes())?;
    writeln!(out, "{description:width$}", width = usize::from(DESCRIPTION) - 1)?;
    matrix.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

#[cfg(test)]
#[path = "../../tests/support/npy.rs"]
pub(super) mod read;

/// A folder that files are put into, each whole or not at all. A run removes what an earlier one has put there, and no
/// other file.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    real_path: PathBuf,
    /// Hashes of the names given so far: eight bytes a frame.
    names: HashSet<u64>,
    /// What an earlier run has put here, until this one puts its first file.
    old: Option<HashSet<String>>,
    index: Option<File>,
}

impl Folder {
    /// Makes the folder, with those above it, and checks that it can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let wrong = |advice: &str| {
            let advice = advice.to_owned();
            move |error: io::Error| Error::Output { path: path.into(), reason: format!("{error}; {advice}") }
        };
        if fs::metadata(path).is_ok_and(|there| !there.is_dir()) {
            return Err(Error::Output {
                path: path.into(),
                reason: "it is no folder; name a folder, new or old".into(),
            });
        }
        fs::create_dir_all(path).map_err(wrong("name a folder that can be made"))?;
        let real_path = fs::canonicalize(path).map_err(wrong("name another folder"))?;
        temporary_beside(&path.join("probe")).map_err(wrong("name a folder that can be written to"))?;
        let text = fs::read_to_string(path.join(INDEX)).unwrap_or_default();
        // A name that leads out of the folder was not written by a run.
        let plain = |name: &&str| Path::new(name).file_name() == Some(name.as_ref());
        let old = text.lines().filter(plain).map(String::from).collect();
        Ok(Self { path: path.into(), real_path, names: HashSet::new(), old: Some(old), index: None })
    }

    /// Refuses a name under which a file lies that no run has put here.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn refuse_foreign(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        let ours = self.old.as_ref().is_some_and(|old| old.contains(name));
        if ours || fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        Err(Error::Output {
            path,
            reason: "a file that no run has written here is not replaced; name another folder".into(),
        })
    }

    /// Notes that this run puts a file here. The first removes all files of an earlier run.
    ///
    /// # Errors
    /// As [`Folder::refuse_foreign`]; [`Error::Io`].
    pub(super) fn claim(&mut self, name: &str) -> Result<()> {
        self.refuse_foreign(name)?;
        let at = self.path.join(INDEX);
        let io = |source| Error::io(&at, source);
        if let Some(old) = self.old.take() {
            for path in old.iter().map(|name| self.path.join(name)) {
                remove(&path).map_err(|source| Error::io(&path, source))?;
            }
            self.index = Some(File::create(&at).map_err(io)?);
        }
        let line = format!("{name}\n");
        self.index.as_mut().map_or(Ok(()), |index| index.write_all(line.as_bytes())).map_err(io)
    }

    /// A name for the result of the image file `source`: the same name, with `extension` in place of its own. Where
    /// that was given before (`a.jpg`, `a.png`), `extension` is added to the full name.
    pub(super) fn name_for(&mut self, source: &str, extension: &str) -> String {
        let source = Path::new(source);
        let of = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}.{extension}", of(source.file_stem()));
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&name);
        if self.names.insert(hash) { name } else { format!("{}.{extension}", of(source.file_name())) }
    }

    /// Refuses to write where the frames are read from: a result could take the name of a frame and replace it.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn refuse_frames(&self, frame: Option<&Path>) -> Result<()> {
        let folder = frame.and_then(|frame| fs::canonicalize(parent(frame)).ok());
        if folder.as_ref() == Some(&self.real_path) {
            let reason = "the frames are read from here, and one of them could be replaced; name another folder";
            return Err(Error::Output { path: self.path.clone(), reason: reason.into() });
        }
        Ok(())
    }

    /// The path of a file in the folder.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Puts what `write` writes into the file at `path`.
pub(super) fn put(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), ImageError>) -> Result<()> {
    let written = replace(path, |file| {
        write(file).map_err(|error| match error {
            ImageError::IoError(error) => error,
            other => io::Error::other(other),
        })
    });
    written.map_err(|source| Error::io(path, source))
}

#[cfg(test)]
mod response_maps_tests {
    use std::fs;

    use ndarray::{Array2, array};

    use super::*;
    use crate::export::record::tests::run;
    use crate::export::response::read::read_npy;
    use crate::tracker::{ResponseLayout, ResponseMap};

    fn response(values: &Array2<f32>) -> Option<ResponseMap<'_>> {
        let layout = ResponseLayout::Wrapped;
        Some(ResponseMap { values: values.view(), layout, center: (100.0, 50.5), step: (4.0, 4.0), angle: 0.0 })
    }

    #[test]
    fn numbers_read_back_and_lie_where_the_geometry_says() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("maps");
        let mut maps = ResponseMaps::create(&path).unwrap();
        let (_, records) = run();
        maps.frame(&records[0], &FrameView::default()).unwrap();
        // Best one row down and, wrapped around, one column to the left.
        let mut values = Array2::from_shape_fn((4, 5), |(row, column)| (row * 5 + column) as f32 / 100.0);
        values[[1, 4]] = 0.75;
        values[[2, 2]] = f32::NAN;
        maps.frame(&records[1], &FrameView { response: response(&values), ..FrameView::default() }).unwrap();

        let stored: Array2<f32> = read_npy(path.join("0002.npy"));
        assert_eq!(stored.dim(), (4, 5));
        for ((row, column), value) in values.indexed_iter() {
            assert_eq!(stored[[(row + 2) % 4, (column + 3) % 5]].to_bits(), value.to_bits());
        }
        let geometry = fs::read_to_string(path.join("geometry.csv")).unwrap();
        let expected = "index,file,map,rows,columns,origin_x,origin_y,step_x,step_y,peak_row,peak_column,angle\n\
            1,0001.jpg,,,,,,,,,,\n\
            2,0002.jpg,0002.npy,4,5,88,42.5,4,4,3,2,0\n";
        assert_eq!(geometry, expected);
        // The peak's centre: one step down, one to the left.
        assert_eq!((88.0 + 2.0 * 4.0, 42.5 + 3.0 * 4.0), (100.0 - 4.0, 50.5 + 4.0));
        assert!(image::load_from_memory(&std::fs::read(path.join("0002.png")).unwrap()).unwrap().width() > 200);
        // The two files of the second frame, the geometry, and the list of the three.
        assert_eq!(fs::read_dir(path).unwrap().count(), 4);
    }

    #[test]
    fn odd_maps_are_written() {
        let parent = tempfile::tempdir().unwrap();
        let mut maps = ResponseMaps::create(parent.path()).unwrap();
        let (_, records) = run();
        let odd = [array![[1.0]], array![[f32::NAN, f32::NAN]], Array2::zeros((3, 3)), Array2::zeros((0, 0))];
        for (position, values) in odd.iter().enumerate() {
            let record = FrameRecord { file: format!("{position}.png"), ..records[1].clone() };
            maps.frame(&record, &FrameView { response: response(values), ..FrameView::default() }).unwrap();
            let stored: Array2<f32> = read_npy(parent.path().join(format!("{position}.npy")));
            assert_eq!(stored.dim(), values.dim());
        }
    }

    #[test]
    fn frames_are_not_written_over() {
        let parent = tempfile::tempdir().unwrap();
        let frame = parent.path().join("0002.png");
        fs::write(&frame, "a frame").unwrap();
        let mut maps = ResponseMaps::create(parent.path()).unwrap();
        let values = array![[1.0]];
        let view = FrameView { path: Some(&frame), response: response(&values), ..FrameView::default() };
        assert!(matches!(maps.frame(&run().1[1], &view), Err(Error::Output { .. })));
        assert_eq!(fs::read_to_string(frame).unwrap(), "a frame");
    }
}

#[cfg(test)]
mod npy_tests {
    use ndarray::{Array2, array, s};

    use super::*;

    fn written(matrix: ArrayView2<'_, f32>) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_npy(&mut bytes, matrix).unwrap();
        bytes
    }

    #[test]
    fn the_bytes_are_those_that_numpy_writes() {
        // numpy.save(file, numpy.array([[1.5, -2, nan], [0, inf, -inf]], "f4")), of numpy 2.4.
        let mut expected =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".to_vec();
        expected.extend([b' '; 58]);
        expected.push(b'\n');
        let values =
            b"\x00\x00\xc0\x3f\x00\x00\x00\xc0\x00\x00\xc0\x7f\x00\x00\x00\x00\x00\x00\x80\x7f\x00\x00\x80\xff";
        expected.extend(values);
        let matrix = array![[1.5, -2.0, f32::NAN], [0.0, f32::INFINITY, f32::NEG_INFINITY]];
        assert_eq!(written(matrix.view()), expected);
        // The same values in memory column by column, or as a part of more.
        let turned = matrix.t().as_standard_layout().into_owned();
        assert_eq!(written(turned.t()), expected);
        let mut more = Array2::zeros((5, 9));
        more.slice_mut(s![1..3, 2..8;2]).assign(&matrix);
        assert_eq!(written(more.slice(s![1..3, 2..8;2])), expected);
    }

    #[test]
    fn values_begin_at_byte_128_whatever_the_shape() {
        for shape in [(0, 0), (1, 1), (1000, 70), (usize::MAX / 4, 0), (0, usize::MAX / 4)] {
            let bytes = written(Array2::zeros(shape).view());
            assert_eq!(bytes.len(), 128 + 4 * shape.0 * shape.1, "{shape:?}");
            assert_eq!(bytes[127], b'\n', "{shape:?}");
        }
    }
}

#[cfg(test)]
mod folder_tests {
    use super::*;

    fn visible(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    #[test]
    fn a_rerun_leaves_no_file_of_the_run_before_and_replaces_none_of_others() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path();
        let run = |names: &[&str]| -> Result<()> {
            let mut folder = Folder::create(at)?;
            for name in names {
                folder.claim(name)?;
                put(&folder.join(name), |file| Ok(file.write_all(b"ours")?))?;
            }
            Ok(())
        };
        fs::write(at.join("mine.png"), "mine").unwrap();
        run(&["1.png", "2.png", "3.png"]).unwrap();
        run(&["2.png"]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"]);
        assert!(run(&["2.png", "mine.png"]).unwrap_err().to_string().contains("no run has written here"));
        assert_eq!(fs::read_to_string(at.join("mine.png")).unwrap(), "mine");
        // A run that wrote nothing removes nothing.
        run(&[]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"]);
        // An index that was tampered with leads nowhere else.
        fs::create_dir(at.join("out")).unwrap();
        fs::write(at.join("out").join(INDEX), "../mine.png\n/mine.png\n..\n").unwrap();
        let mut folder = Folder::create(&at.join("out")).unwrap();
        folder.claim("1.png").unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png", "out"]);
    }

    #[test]
    fn names_do_not_collide() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&parent.path().join("new/and/deep")).unwrap();
        assert_eq!(folder.name_for("0001.jpg", "npy"), "0001.npy");
        assert_eq!(folder.name_for("0002.jpg", "npy"), "0002.npy");
        assert_eq!(folder.name_for("0001.png", "npy"), "0001.png.npy");
        assert_eq!(folder.name_for("../up/0003.png", "npy"), "0003.npy");
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        for wrong in [file.as_path(), &file.join("below"), Path::new("")] {
            assert!(matches!(Folder::create(wrong), Err(Error::Output { path, .. }) if path == wrong));
        }
        #[cfg(target_os = "linux")]
        assert!(matches!(Folder::create(Path::new("/proc/maps")), Err(Error::Output { .. })));
        #[cfg(target_os = "linux")]
        assert!(matches!(Folder::create(Path::new("/proc")), Err(Error::Output { .. })));
    }

    #[test]
    fn the_folder_of_the_frames_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::create(&parent.path().join("out")).unwrap();
        folder.refuse_frames(Some(&parent.path().join("0001.jpg"))).unwrap();
        folder.refuse_frames(None).unwrap();
        assert!(folder.refuse_frames(Some(&parent.path().join("out/../out/0001.jpg"))).is_err());
    }
}
