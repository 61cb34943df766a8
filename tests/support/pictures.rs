//! Picture files, read and written by functions that are compiled once: the generic ones of the crate `image` bring
//! all its decoders and encoders into each crate that calls them.
#![allow(dead_code)]

use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{DynamicImage, ImageEncoder};

/// The picture in a file that is not a JPEG.
pub fn open(path: &Path) -> DynamicImage {
    image::load_from_memory(&std::fs::read(path).unwrap()).unwrap()
}

/// Writes a picture as PNG.
pub fn save(picture: impl Into<DynamicImage>, path: &Path) {
    let picture = picture.into();
    let mut png = Vec::new();
    let encoder = PngEncoder::new(&mut png);
    encoder.write_image(picture.as_bytes(), picture.width(), picture.height(), picture.color().into()).unwrap();
    std::fs::write(path, png).unwrap();
}
