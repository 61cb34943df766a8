//! A frame as a page gets it.

use std::sync::{Arc, OnceLock};

use image::imageops::thumbnail;
use image::{ImageBuffer, Pixel};

use crate::frame::{Frame, FrameBuf, PixelFormat};
use crate::jpeg;
use crate::media::Item;

/// Longest side in pixels of what is sent.
pub const LONGEST_SIDE: usize = 1920;

/// Quality of the JPEG, 1 to 100.
const QUALITY: u8 = 80;

/// A frame that is shown; encoded when the first page asks for it, on that page's thread.
#[derive(Debug)]
pub struct Picture {
    /// Another number for every picture.
    pub id: u64,
    item: Arc<Item>,
    jpeg: OnceLock<Vec<u8>>,
}

impl Picture {
    /// The picture of a frame.
    pub fn new(id: u64, item: Arc<Item>) -> Self {
        Self { id, item, jpeg: OnceLock::new() }
    }

    /// Width and height of the frame itself; `None` of one that could not be read.
    pub fn size(&self) -> Option<(usize, usize)> {
        self.item.picture().map(|frame| (frame.width(), frame.height()))
    }

    /// The frame as JPEG, at most [`LONGEST_SIDE`] wide and high; empty of one that could not be read.
    pub fn jpeg(&self) -> &[u8] {
        self.jpeg.get_or_init(|| self.item.picture().and_then(|frame| encode(&frame)).unwrap_or_default())
    }
}

fn encode(frame: &Frame<'_>) -> Option<Vec<u8>> {
    let (width, height, longest) = (frame.width(), frame.height(), frame.width().max(frame.height()));
    if longest <= LONGEST_SIDE {
        return jpeg::encode(frame, QUALITY, true);
    }
    let fits = |side: usize| (side * LONGEST_SIDE / longest).max(1);
    let (from, to) = ((width, height), (fits(width), fits(height)));
    let rows: Vec<u8> = (0..height).flat_map(|y| frame.row(y)).copied().collect();
    let bytes = match frame.format() {
        PixelFormat::Gray8 => scaled::<image::Luma<u8>>(rows, from, to)?,
        PixelFormat::Rgb8 | PixelFormat::Bgr8 => scaled::<image::Rgb<u8>>(rows, from, to)?,
        PixelFormat::Rgba8 | PixelFormat::Bgra8 => scaled::<image::Rgba<u8>>(rows, from, to)?,
    };
    jpeg::encode(&FrameBuf::new(bytes, to.0, to.1, frame.format()).ok()?.as_frame(), QUALITY, true)
}

/// The pixels of a picture of size `from` at size `to`, neither empty.
fn scaled<P: Pixel<Subpixel = u8> + 'static>(
    bytes: Vec<u8>,
    from: (usize, usize),
    to: (usize, usize),
) -> Option<Vec<u8>> {
    let [width, height, to_width, to_height] = [from.0, from.1, to.0, to.1].map(|side| u32::try_from(side).ok());
    let picture: ImageBuffer<P, Vec<u8>> = ImageBuffer::from_raw(width?, height?, bytes)?;
    Some(thumbnail(&picture, to_width?, to_height?).into_raw())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::item_of;
    use super::*;
    use crate::media::{Channels, decode_bytes};

    fn decoded(width: usize, height: usize, format: PixelFormat) -> FrameBuf {
        let frame = FrameBuf::new(vec![90; width * height * format.bytes()], width, height, format).unwrap();
        let picture = Picture::new(1, Arc::new(item_of(1, Ok(frame))));
        assert_eq!(picture.size(), Some((width, height)));
        decode_bytes(picture.jpeg(), "sent", Channels::Luma).unwrap()
    }

    #[test]
    fn a_frame_is_sent_at_its_own_size_unless_it_is_large() {
        for format in [PixelFormat::Gray8, PixelFormat::Rgb8] {
            for ((width, height), sent) in [((65, 33), (65, 33)), ((3840, 21), (1920, 10)), ((1, 4000), (1, 1920))] {
                let picture = decoded(width, height, format);
                let frame = picture.as_frame();
                assert_eq!((frame.width(), frame.height()), sent);
                assert!((0..sent.1).all(|y| frame.row(y).iter().all(|level| level.abs_diff(90) < 4)));
            }
        }
    }

    #[test]
    fn of_a_frame_that_could_not_be_read_there_is_none() {
        let picture = Picture::new(1, Arc::new(item_of(1, Err(crate::Error::NotInitialized))));
        assert!(picture.jpeg().is_empty() && picture.size().is_none());
    }
}
