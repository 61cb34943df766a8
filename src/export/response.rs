//! Response maps as raw floats and as pictures.

use std::path::Path;

use image::ExtendedColorType;
use ndarray::ArrayView2;

use super::drawing::{heat_map, peak};
use super::output::{Destination, Folder, Output};
use super::record::rounded;
use super::{Exporter, FrameRecord, FrameResult, Run, Summary};
use crate::encode;
use crate::error::{Error, Result};
use crate::text::csv_line;
use crate::tracker::ResponseMap;

const GEOMETRY: &str = "geometry.csv";

const COLUMNS: &str = "index,file,map,rows,columns,origin_x,origin_y,step_x,step_y,peak_row,peak_column,angle";

/// A folder of response maps. For a frame `NAME.jpg`:
///
/// - `NAME.npy` holds the raw scores, `f32`, `[rows, columns]`, zero motion in the middle, at
///   [`ResponseMap::middle`](crate::tracker::ResponseMap::middle).
/// - `NAME.png` is a heat map: viridis from the lowest score to the highest, the peak framed.
/// - A row of `geometry.csv` places the map on the image: element `[r, c]` is the score of a target with its centre at
///   `x = origin_x + c * step_x`, `y = origin_y + r * step_y`, in 0-based pixels (the centre of a box is `x + w / 2`, `y +
///   h / 2`). If `angle`, in radians clockwise, is not 0, the map is rotated about its first element: `x = origin_x +
///   cos(angle) * c * step_x - sin(angle) * r * step_y`, `y = origin_y + sin(angle) * c * step_x + cos(angle) * r *
///   step_y`. `peak_row` and `peak_column` are the highest element. A frame without a map has empty cells. The first
///   frame's map is the response to the training frame. With several targets the names are `NAME.ID.npy` and
///   `NAME.ID.png`.
pub struct ResponseMaps {
    folder: Folder,
    geometry: Output,
}

impl ResponseMaps {
    /// Opens the folder.
    ///
    /// # Errors
    /// [`Error::Output`] when it cannot be written.
    pub fn create(to: &Destination) -> Result<Self> {
        let folder = Folder::create(to)?;
        folder.check(GEOMETRY)?;
        let mut geometry = Output::create(&to.join(GEOMETRY).forced(true))?;
        geometry.append(format!("{COLUMNS}\n").as_bytes())?;
        Ok(Self { folder, geometry })
    }

    /// Writes the map of a record and returns its row of the geometry.
    fn map(&mut self, record: &FrameRecord, response: Option<&ResponseMap<'_>>) -> Result<[String; 12]> {
        let mut row: [String; 12] = Default::default();
        row[0] = record.index.to_string();
        row[1].clone_from(&record.file);
        let Some(response) = response else { return Ok(row) };
        let map = response.centered();
        let ending = record.id.map_or("npy".into(), |id| format!("{id}.npy"));
        row[2] = self.folder.name_for(&record.file, &ending);
        self.folder.claim(&row[2])?.finish(&npy(map.view()))?;
        let name = Path::new(&row[2]).with_extension("png").to_string_lossy().into_owned();
        let picture = heat_map(map.view());
        let picture = encode::png(&picture, picture.dimensions(), ExtendedColorType::Rgb8);
        self.folder.claim(&name)?.finish(&picture.map_err(|source| Error::io(&name, source))?)?;

        let (x, y) = response.origin();
        let number = |value: f64| if value.is_finite() { rounded(value, 6).to_string() } else { String::new() };
        (row[3], row[4]) = (map.nrows().to_string(), map.ncols().to_string());
        for (field, value) in row[5..9].iter_mut().zip([x, y, response.step.0, response.step.1]) {
            *field = number(value);
        }
        if let Some(((peak_row, column), _)) = peak(map.view()) {
            (row[9], row[10]) = (peak_row.to_string(), column.to_string());
        }
        row[11] = number(response.angle);
        Ok(row)
    }
}

impl Exporter for ResponseMaps {
    fn lists_ended(&self) -> bool {
        false
    }

    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        for (i, record) in frame.records.iter().enumerate() {
            let row = self.map(record, frame.responses.get(i).and_then(Option::as_ref))?;
            self.geometry.append(csv_line(&row).as_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.folder.adopt(GEOMETRY, &self.geometry)?;
        self.geometry.finish()?;
        self.folder.settle(GEOMETRY)
    }
}

/// The start of a `.npy` file: magic string and version 1.0.
const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// Length of the header text. The values begin at byte 128, a multiple of 64 as the format requires.
const HEADER_LENGTH: u16 = 118;

/// A matrix as numpy's `save` writes it: `f32`, little endian, row by row.
fn npy(matrix: ArrayView2<'_, f32>) -> Vec<u8> {
    let (rows, cols) = matrix.dim();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    let header = format!("{header:width$}\n", width = usize::from(HEADER_LENGTH) - 1);
    let mut bytes = [&MAGIC[..], &HEADER_LENGTH.to_le_bytes(), header.as_bytes()].concat();
    bytes.extend(matrix.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[cfg(test)]
#[path = "../../tests/support/npy.rs"]
mod read;

#[cfg(test)]
mod tests {
    use std::fs;

    use ndarray::{Array2, array, s};

    use super::read::read_npy;
    use super::*;
    use crate::export::tests::run;
    use crate::tracker::ResponseLayout;

    fn response(values: &Array2<f32>) -> Option<ResponseMap<'_>> {
        let layout = ResponseLayout::Wrapped;
        Some(ResponseMap { values: values.view(), layout, center: (100.0, 50.5), step: (4.0, 4.0), angle: 0.0 })
    }

    #[test]
    fn values_and_geometry_are_written() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("maps");
        let mut maps = Box::new(ResponseMaps::create(&path.as_path().into()).unwrap());
        let (run, records) = run();
        maps.write(&FrameResult::new(&run, &records[..1])).unwrap();
        // The peak is one row down and, wrapped around, one column to the left.
        let mut values = Array2::from_shape_fn((4, 5), |(row, column)| (row * 5 + column) as f32 / 100.0);
        values[[1, 4]] = 0.75;
        values[[2, 2]] = f32::NAN;
        let responses = [response(&values)];
        maps.write(&FrameResult { responses: &responses, ..FrameResult::new(&run, &records[1..]) }).unwrap();
        maps.finish(&run, &Summary::default()).unwrap();

        let stored: Array2<f32> = read_npy(path.join("0002.npy"));
        assert_eq!(stored.dim(), (4, 5));
        for ((row, column), value) in values.indexed_iter() {
            assert_eq!(stored[[(row + 2) % 4, (column + 3) % 5]].to_bits(), value.to_bits());
        }
        let expected = format!("{COLUMNS}\n1,0001.jpg,,,,,,,,,,\n2,0002.jpg,0002.npy,4,5,88,42.5,4,4,3,2,0\n");
        assert_eq!(fs::read_to_string(path.join("geometry.csv")).unwrap(), expected);
        assert_eq!((88.0 + 2.0 * 4.0, 42.5 + 3.0 * 4.0), (100.0 - 4.0, 50.5 + 4.0), "centre of the peak");
        assert!(image::load_from_memory(&fs::read(path.join("0002.png")).unwrap()).unwrap().width() > 200);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 4, "two files of a frame, the geometry and the index");
        assert!(ResponseMaps::create(&path.as_path().into()).is_ok(), "a rerun is fine");
    }

    #[test]
    fn unusual_maps_are_written() {
        let parent = tempfile::tempdir().unwrap();
        let mut maps = ResponseMaps::create(&parent.path().into()).unwrap();
        let (run, records) = run();
        let unusual = [array![[1.0]], array![[f32::NAN, f32::NAN]], Array2::zeros((3, 3)), Array2::zeros((0, 0))];
        for (position, values) in unusual.iter().enumerate() {
            let records = [FrameRecord { file: format!("{position}.png"), ..records[1].clone() }];
            let responses = [response(values)];
            maps.write(&FrameResult { responses: &responses, ..FrameResult::new(&run, &records) }).unwrap();
            let stored: Array2<f32> = read_npy(parent.path().join(format!("{position}.npy")));
            assert_eq!(stored.dim(), values.dim());
        }
    }

    #[test]
    fn npy_files_are_those_of_numpy() {
        // numpy.save(file, numpy.array([[1.5, -2, nan], [0, inf, -inf]], "f4")), of numpy 2.4.
        let mut expected =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".to_vec();
        expected.extend([b' '; 58]);
        expected.push(b'\n');
        expected.extend(
            b"\x00\x00\xc0\x3f\x00\x00\x00\xc0\x00\x00\xc0\x7f\x00\x00\x00\x00\x00\x00\x80\x7f\x00\x00\x80\xff",
        );
        let matrix = array![[1.5, -2.0, f32::NAN], [0.0, f32::INFINITY, f32::NEG_INFINITY]];
        assert_eq!(npy(matrix.view()), expected);
        let mut larger = Array2::zeros((5, 9));
        larger.slice_mut(s![1..3, 2..8;2]).assign(&matrix);
        assert_eq!(npy(larger.slice(s![1..3, 2..8;2])), expected);
        for shape in [(0, 0), (1000, 70), (usize::MAX / 4, 0)] {
            assert_eq!(npy(Array2::zeros(shape).view()).len(), 128 + 4 * shape.0 * shape.1, "{shape:?}");
        }
    }
}
