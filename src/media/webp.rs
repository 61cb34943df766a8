//! The pictures of an animated WebP, each put together on a canvas of all that came before it, as libwebp does it.
//!
//! The crate `image-webp` decodes what a picture brings. What it makes of an animation is off by a level wherever a
//! picture is laid over another one, and what is to be cleared before the next one stays.

use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

use image_webp::WebPDecoder;

use super::decode::Encoded;

/// Bytes before the first chunk: `RIFF`, a length, `WEBP`.
const HEAD: usize = 12;

/// Bytes that a picture's place, duration and method take before its own chunks.
const PIECE_HEAD: usize = 16;

/// The header of an extended picture that says that there is transparency.
const ALPHA: u8 = 0x10;

/// What a picture brings, and how it is put on the canvas.
#[derive(Clone, Copy, Debug)]
struct Piece {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    milliseconds: u32,
    /// Laid over what is there where it is transparent; else in the place of it.
    blended: bool,
    /// Taken away before the next one.
    cleared: bool,
}

/// The canvas, and the pictures that are still to come.
#[derive(Debug)]
pub(super) struct Canvas {
    bytes: Arc<[u8]>,
    /// Where the next chunk begins.
    next: usize,
    size: (usize, usize),
    /// Red, green, blue and alpha.
    pixels: Vec<u8>,
    /// The picture that was put on it last, and whether nothing else was left there.
    last: Option<(Piece, bool)>,
}

impl Canvas {
    /// An empty one of this width and height for the pictures of a file.
    pub fn new(file: Encoded, size: (usize, usize)) -> Self {
        let pixels = vec![0; size.0 * size.1 * 4];
        Self { bytes: file.into_inner(), next: HEAD, size, pixels, last: None }
    }

    /// Puts the next picture on it, which is shown for so many milliseconds; `None` where there is no more.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn advance(&mut self) -> Result<Option<u32>, String> {
        let Some(chunk) = self.next_piece()? else { return Ok(None) };
        let bytes = Arc::clone(&self.bytes);
        let piece = Piece::read(&bytes[chunk.clone()]).ok_or("a picture in it has no place")?;
        let (width, height) = self.size;
        if piece.left + piece.width > width || piece.top + piece.height > height {
            return Err("a picture in it lies outside of the animation".into());
        }
        let (picture, transparent) = decoded(&bytes[chunk.start + PIECE_HEAD..chunk.end], &piece)?;
        let whole = (piece.width, piece.height) == self.size;
        // What nothing lies below is taken as it is.
        let alone = match self.last {
            None => true,
            Some((last, was_alone)) => {
                let was_whole = (last.width, last.height) == self.size;
                whole && !(transparent && piece.blended) || last.cleared && (was_whole || was_alone)
            }
        };
        let cleared = self.last.map(|(last, _)| last).filter(|last| last.cleared);
        if let Some(last) = cleared {
            for y in last.top..last.top + last.height {
                self.row(y, last.left, last.width).fill(0);
            }
        }
        for (y, source) in (piece.top..).zip(picture.chunks_exact(4 * piece.width)) {
            let row = self.row(y, piece.left, piece.width);
            if !piece.blended || alone {
                row.copy_from_slice(source);
                continue;
            }
            for (x, (below, above)) in (piece.left..).zip(row.as_chunks_mut().0.iter_mut().zip(source.as_chunks().0)) {
                // Where the last picture was taken away, nothing lies below either.
                let bare = cleared.is_some_and(|last| last.covers(x, y));
                *below = if bare { *above } else { laid_over(*above, *below) };
            }
        }
        self.last = Some((piece, alone));
        Ok(Some(piece.milliseconds))
    }

    /// The colours, without the transparency.
    pub fn rgb(&self) -> Vec<u8> {
        self.pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }

    fn row(&mut self, y: usize, left: usize, width: usize) -> &mut [u8] {
        let begin = 4 * (y * self.size.0 + left);
        &mut self.pixels[begin..begin + 4 * width]
    }

    /// Where the next picture's bytes lie; `None` where there is no more.
    fn next_piece(&mut self) -> Result<Option<Range<usize>>, String> {
        while self.next < self.bytes.len() {
            let (name, data) = chunk(&self.bytes, self.next).ok_or("it ends in a header")?;
            self.next = data.end.saturating_add(data.len() % 2);
            if name == *b"ANMF" {
                return match data.end <= self.bytes.len() {
                    true => Ok(Some(data)),
                    false => Err("it ends within a picture".into()),
                };
            }
        }
        Ok(None)
    }
}

impl Piece {
    fn covers(&self, x: usize, y: usize) -> bool {
        (self.left..self.left + self.width).contains(&x) && (self.top..self.top + self.height).contains(&y)
    }

    fn read(data: &[u8]) -> Option<Self> {
        let head: &[u8; PIECE_HEAD] = data.first_chunk()?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], 0]);
        let pixels = |at: usize| number(at) as usize;
        let how = head[15];
        Some(Self {
            left: 2 * pixels(0),
            top: 2 * pixels(3),
            width: pixels(6) + 1,
            height: pixels(9) + 1,
            milliseconds: number(12),
            blended: how & 2 == 0,
            cleared: how & 1 != 0,
        })
    }
}

/// The chunk that begins at a place, which may be longer than what is there: its name, and where its data lie.
fn chunk(bytes: &[u8], at: usize) -> Option<([u8; 4], Range<usize>)> {
    let name = *bytes.get(at..)?.first_chunk()?;
    let begin = at + 8;
    let length = u32::from_le_bytes(*bytes.get(at + 4..)?.first_chunk()?);
    Some((name, begin..begin.saturating_add(length as usize)))
}

/// A picture's pixels with their alpha, and whether it has any. Its chunks are those of a still one, which is made of
/// them.
fn decoded(chunks: &[u8], piece: &Piece) -> Result<(Vec<u8>, bool), String> {
    // How long it is stands in its head.
    let mut still = b"RIFF\0\0\0\0WEBP".to_vec();
    if chunks.starts_with(b"ALPH") {
        let sides = [piece.width, piece.height].map(|side| (side as u32 - 1).to_le_bytes());
        still.extend_from_slice(b"VP8X\x0a\0\0\0");
        still.extend_from_slice(&[ALPHA, 0, 0, 0]);
        sides.iter().for_each(|side| still.extend_from_slice(&side[..3]));
    }
    still.extend_from_slice(chunks);
    let length = u32::try_from(still.len() - 8).map_err(|error| error.to_string())?;
    still[4..8].copy_from_slice(&length.to_le_bytes());
    let said = |error: image_webp::DecodingError| error.to_string();
    let mut decoder = WebPDecoder::new(Cursor::new(Arc::from(still))).map_err(said)?;
    if decoder.is_animated() || decoder.dimensions() != (piece.width as u32, piece.height as u32) {
        return Err("a picture in it has another size than it says".into());
    }
    let mut pixels = vec![0; decoder.output_buffer_size().ok_or("a picture in it is too large")?];
    decoder.read_image(&mut pixels).map_err(said)?;
    if decoder.has_alpha() {
        return Ok((pixels, true));
    }
    Ok((pixels.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX]).collect(), false))
}

/// A pixel over another one, in the whole numbers of libwebp. What is opaque stays what it is.
fn laid_over(above: [u8; 4], below: [u8; 4]) -> [u8; 4] {
    let alpha = u32::from(above[3]);
    match alpha {
        0 => return below,
        0xFF => return above,
        _ => {}
    }
    let rest = (u32::from(below[3]) * (256 - alpha)) >> 8;
    let sum = alpha + rest;
    let scale = (1 << 24) / sum;
    let mixed = |at: usize| (((u32::from(above[at]) * alpha + u32::from(below[at]) * rest) * scale) >> 24) as u8;
    [mixed(0), mixed(1), mixed(2), sum as u8]
}

#[cfg(test)]
mod tests {
    use image::ImageEncoder;
    use image::codecs::webp::WebPEncoder;

    use super::*;

    const WIDTH: usize = 4;

    fn named(name: &[u8], data: &[u8]) -> Vec<u8> {
        let mut chunk = [name, &(data.len() as u32).to_le_bytes(), data].concat();
        chunk.resize(chunk.len().next_multiple_of(2), 0);
        chunk
    }

    /// A picture of one colour at a place, `how` being its method.
    fn piece([left, top, width, height]: [u8; 4], color: [u8; 4], how: u8) -> Vec<u8> {
        let mut file = Vec::new();
        let pixels = color.repeat(usize::from(width) * usize::from(height));
        let rgba = image::ExtendedColorType::Rgba8;
        WebPEncoder::new_lossless(&mut file).write_image(&pixels, width.into(), height.into(), rgba).unwrap();
        let head = [left / 2, 0, 0, top / 2, 0, 0, width - 1, 0, 0, height - 1, 0, 0, 40, 0, 0, how];
        named(b"ANMF", &[&head, &file[HEAD..]].concat())
    }

    fn canvas(pieces: &[Vec<u8>]) -> Canvas {
        let bytes = [&b"RIFF\0\0\0\0WEBP"[..], &named(b"XMP ", b"odd"), &pieces.concat()].concat();
        Canvas::new(Encoded::new(bytes.into()), (WIDTH, 2))
    }

    fn pixel(canvas: &Canvas, x: usize, y: usize) -> [u8; 4] {
        *canvas.pixels[4 * (y * WIDTH + x)..].first_chunk().unwrap()
    }

    #[test]
    fn what_is_opaque_is_laid_over_another_picture_to_the_bit() {
        let (ground, above) = ([200, 101, 7, 255], [31, 250, 99, 255]);
        let mut canvas = canvas(&[piece([0, 0, 4, 2], ground, 0), piece([2, 0, 2, 2], above, 0)]);
        assert_eq!(canvas.advance(), Ok(Some(40)));
        assert_eq!(pixel(&canvas, 3, 1), ground);
        assert_eq!(canvas.advance(), Ok(Some(40)));
        assert_eq!((pixel(&canvas, 1, 1), pixel(&canvas, 3, 1)), (ground, above));
        assert_eq!(canvas.advance(), Ok(None));
        assert_eq!(canvas.rgb().len(), WIDTH * 2 * 3);
    }

    #[test]
    fn what_is_to_be_cleared_before_the_next_picture_is_cleared() {
        let (ground, spot) = ([200, 101, 7, 255], [31, 250, 99, 255]);
        let nothing = piece([0, 0, 2, 2], [0; 4], 0);
        let mut canvas = canvas(&[piece([0, 0, 4, 2], ground, 0), piece([2, 0, 2, 2], spot, 1), nothing]);
        while canvas.advance().unwrap().is_some() {}
        assert_eq!((pixel(&canvas, 1, 1), pixel(&canvas, 3, 1)), (ground, [0; 4]));
    }

    #[test]
    fn where_a_picture_was_cleared_the_next_one_stands_as_it_is() {
        let (ground, spot, glass) = ([200, 101, 7, 255], [31, 250, 99, 255], [255, 9, 100, 100]);
        let pieces = [piece([0, 0, 4, 2], ground, 0), piece([2, 0, 2, 2], spot, 1), piece([0, 0, 4, 2], glass, 0)];
        let mut canvas = canvas(&pieces);
        while canvas.advance().unwrap().is_some() {}
        assert_eq!((pixel(&canvas, 1, 1), pixel(&canvas, 3, 1)), (laid_over(glass, ground), glass));
    }

    #[test]
    fn a_method_says_whether_what_is_transparent_keeps_what_is_below() {
        let (ground, glass) = ([200, 100, 0, 255], [0, 0, 100, 128]);
        let over = |how| {
            let mut canvas = canvas(&[piece([0, 0, 4, 2], ground, 0), piece([0, 0, 2, 2], glass, how)]);
            while canvas.advance().unwrap().is_some() {}
            pixel(&canvas, 0, 0)
        };
        assert_eq!((over(2), over(0)), (glass, [99, 49, 50, 255]));
    }

    #[test]
    fn pictures_that_make_no_sense_are_said_and_no_panic() {
        let whole = piece([0, 0, 4, 2], [9; 4], 0);
        let mut outside = whole.clone();
        outside[8] = 1;
        let mut larger = whole.clone();
        larger[8 + 6] = 1;
        let cut = whole[..whole.len() - 9].to_vec();
        let short = named(b"ANMF", &[0; 7]);
        let inner = named(b"ANMF", &[&whole[8..24], b"ALPH\xff\xff\xff\xffVP8 "].concat());
        for (name, bytes) in [("outside", outside), ("larger", larger), ("cut", cut), ("short", short), ("in", inner)] {
            assert!(canvas(&[bytes]).advance().is_err(), "{name}");
        }
        for end in 0..whole.len() {
            let _ = canvas(&[whole[..end].to_vec()]).advance();
        }
    }
}
