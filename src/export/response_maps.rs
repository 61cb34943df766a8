//! The response map of every frame: numbers for programs, a heat map for people.

use std::io::Write;
use std::path::Path;

use image::{ExtendedColorType, ImageError};

use super::csv::table;
use super::drawing::Letters;
use super::folder::{Folder, put};
use super::heat_map::{heat_map, peak};
use super::lines::Lines;
use super::npy::write_npy;
use super::record::rounded;
use super::{Destination, Export, FrameRecord, FrameView};
use crate::error::{Error, Result};
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
        let text = table(rows).map_err(|source| Error::io(self.folder.join(GEOMETRY), source))?;
        self.geometry.write(&text)?;
        self.begun = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ndarray::{Array2, array};

    use super::*;
    use crate::export::npy::read::read_npy;
    use crate::export::record::tests::run;
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
