//! An animated WebP picture: a short clip that ffmpeg does not read.

use std::path::{Path, PathBuf};
use std::time::Instant;

use image::ImageFormat;
use image_webp::WebPDecoder;

use super::decode::{MAX_PIXELS, demanded, encoded, guarded};
use super::folder::file_name;
use super::webp::Canvas;
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
        let canvas = Some(Canvas::new(encoded(&self.path)?, self.size));
        Ok(Pictures { path: self.path.clone(), size: self.size, left: self.count, canvas, milliseconds: 0 })
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
    /// How many are still to come.
    left: usize,
    canvas: Option<Canvas>,
    milliseconds: u64,
}

impl Iterator for Pictures {
    type Item = (f64, Result<FrameBuf>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let canvas = self.canvas.as_mut()?;
        let time = self.milliseconds as f64 / 1e3;
        let (width, height) = self.size;
        let picture = guarded(|| {
            let milliseconds = canvas.advance()?.ok_or("it ends before its last picture")?;
            let picture = FrameBuf::new(canvas.rgb(), width, height, PixelFormat::Rgb8);
            Ok((milliseconds, picture.map_err(|error| error.to_string())?))
        });
        let picture = match picture {
            Ok((milliseconds, picture)) => {
                self.milliseconds += u64::from(milliseconds);
                Ok(picture)
            }
            Err(reason) => {
                self.canvas = None;
                Err(Error::Decode { path: self.path.clone(), reason })
            }
        };
        Some((time, picture))
    }
}
