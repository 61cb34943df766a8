//! An animated WebP picture: a short clip that ffmpeg does not read.

use std::path::{Path, PathBuf};
use std::time::Instant;

use image::ImageFormat;
use image_webp::{DecodingError, WebPDecoder};

use super::decode::{Encoded, MAX_PIXELS, demanded, encoded, guarded};
use super::folder::file_name;
use super::{Demand, Item, Source, Span, Stream, header, is_same_file};
use crate::error::{Error, Result};
use crate::frame::{FrameBuf, PixelFormat};

/// The pictures of an animated WebP, one after the other, each with its time; what is transparent keeps the colour that
/// is stored.
#[derive(Debug)]
pub struct Animation {
    name: String,
    path: PathBuf,
    size: (usize, usize),
    count: usize,
}

impl Animation {
    /// Opens it; `None` for a picture that stands still, or is no WebP.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read; [`Error::Decode`] for one that is too large.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        if header::format_of(path)? != Some(ImageFormat::WebP) {
            return Ok(None);
        }
        let encoded = encoded(path)?;
        let decoder = guarded(|| Ok(WebPDecoder::new(encoded).ok()));
        let Ok(Some(decoder)) = decoder else { return Ok(None) };
        if !decoder.is_animated() {
            return Ok(None);
        }
        let (width, height) = decoder.dimensions();
        let size = (width as usize, height as usize);
        if size.0 * size.1 > MAX_PIXELS {
            let reason = format!("its header says {width}x{height} pixels, more than {MAX_PIXELS} in all");
            return Err(Error::Decode { path: path.into(), reason });
        }
        Ok(Some(Self { name: file_name(path), path: path.into(), size, count: decoder.num_frames() as usize }))
    }

    fn pictures(&self) -> Result<Pictures> {
        let encoded = encoded(&self.path)?;
        let wrong = |reason| Error::Decode { path: self.path.clone(), reason };
        let decoder = guarded(|| WebPDecoder::new(encoded).map_err(|error| error.to_string()));
        let decoder = Some(decoder.map_err(wrong)?);
        Ok(Pictures { path: self.path.clone(), size: self.size, decoder, milliseconds: 0 })
    }
}

impl Source for Animation {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> Option<usize> {
        Some(self.count)
    }

    fn size(&self) -> Option<(usize, usize)> {
        Some(self.size)
    }

    fn frames_before(&self, seconds: f64) -> Result<usize> {
        Ok(self.pictures()?.take_while(|(time, _)| *time < seconds).count())
    }

    fn occupies(&self, path: &Path) -> Option<&'static str> {
        is_same_file(path, &self.path).then_some("is the animation that is read")
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let mut pictures = self.pictures()?;
        let mut position = 0;
        let items = std::iter::from_fn(move || {
            loop {
                let begun = Instant::now();
                if span.last.is_some_and(|last| position >= last) {
                    return None;
                }
                let (time, picture) = pictures.next()?;
                position += 1;
                if position < span.first && picture.is_ok() {
                    continue;
                }
                let decoded = picture.map(|picture| demanded(picture, demand));
                let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
                return Some(Item::numbered(position, Some(time), decoded, decode_ms));
            }
        });
        Ok(Box::new(items))
    }
}

/// Pictures and the seconds at which each is shown; the first that cannot be decoded is the last.
struct Pictures {
    path: PathBuf,
    size: (usize, usize),
    decoder: Option<WebPDecoder<Encoded>>,
    milliseconds: u64,
}

impl Iterator for Pictures {
    type Item = (f64, Result<FrameBuf>);

    fn next(&mut self) -> Option<Self::Item> {
        let decoder = self.decoder.as_mut()?;
        let mut pixels = vec![0; decoder.output_buffer_size()?];
        let read = guarded(|| match decoder.read_frame(&mut pixels) {
            Ok(milliseconds) => Ok(Some(milliseconds)),
            Err(DecodingError::NoMoreFrames) => Ok(None),
            Err(error) => Err(error.to_string()),
        });
        let read = read.transpose()?;
        let time = self.milliseconds as f64 / 1e3;
        let alpha = decoder.has_alpha();
        let picture = read.and_then(|milliseconds| {
            self.milliseconds += u64::from(milliseconds);
            if alpha {
                pixels = pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
            }
            let (width, height) = self.size;
            FrameBuf::new(pixels, width, height, PixelFormat::Rgb8).map_err(|error| error.to_string())
        });
        if picture.is_err() {
            self.decoder = None;
        }
        Some((time, picture.map_err(|reason| Error::Decode { path: self.path.clone(), reason })))
    }
}
