//! Reads what is written for numpy, by the letter of its format.

use std::path::Path;

use ndarray::Array2;

/// The matrix in a file of version 1.0: `f32`, little endian, row after row.
pub fn read_npy(path: impl AsRef<Path>) -> Array2<f32> {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let values = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(values.is_multiple_of(64) && bytes[values - 1] == b'\n');
    let header = std::str::from_utf8(&bytes[10..values]).unwrap();
    let shape = header.strip_prefix("{'descr': '<f4', 'fortran_order': False, 'shape': (").unwrap();
    let (rows, cols) = shape.trim_end().strip_suffix("), }").unwrap().split_once(", ").unwrap();
    let shape = (rows.parse().unwrap(), cols.parse().unwrap());
    let (values, rest) = bytes[values..].as_chunks();
    assert!(rest.is_empty());
    Array2::from_shape_vec(shape, values.iter().map(|value| f32::from_le_bytes(*value)).collect()).unwrap()
}
