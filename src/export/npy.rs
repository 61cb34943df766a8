//! Matrices in numpy's own format: `numpy.load` reads them, and so do many other programs.

use std::io::{self, Write};

use ndarray::ArrayView2;

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

#[cfg(test)]
mod tests {
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
