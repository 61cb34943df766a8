//! The image of a message: a file, raw pixels, or a JPEG or PNG in the message itself.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use image::{DynamicImage, ImageBuffer};

use super::message::shortened;
use crate::error::{Error, Result};
use crate::frame::{Channels, FrameBuf, PixelFormat};
use crate::source::decode::{MAX_PIXELS, decode, decode_bytes};

/// Base64 with its padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An image as it stands in a message, not decoded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picture<'a> {
    /// `file://PATH`, or a path alone.
    File(PathBuf),
    /// `image:WIDTH;HEIGHT;FORMAT;BASE64`: rows of pixels without gaps.
    Pixels {
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
        /// What a pixel is.
        format: Sample,
        /// The pixels in Base64.
        data: Cow<'a, [u8]>,
    },
    /// `data:image/jpeg;BASE64` or `data:image/png;BASE64`.
    Encoded {
        /// The image file in Base64.
        data: Cow<'a, [u8]>,
    },
}

/// What a pixel of raw pixels is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// `rgb`: red, green, blue, a byte each.
    Rgb8,
    /// `gray8`: one byte.
    Gray8,
    /// `gray16`: two bytes, the low one first.
    Gray16,
}

impl Sample {
    fn bytes(self) -> usize {
        match self {
            Self::Gray8 => 1,
            Self::Gray16 => 2,
            Self::Rgb8 => 3,
        }
    }
}

impl<'a> Picture<'a> {
    /// Tells what an argument is. Of raw pixels the size that is said must be that of the data, so that no header is
    /// believed.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: Cow<'a, [u8]>) -> std::result::Result<Self, String> {
        let Some(colon) = scheme(&text) else { return Ok(Self::File(path(&text))) };
        let body = colon + 1;
        match &text[..colon] {
            b"file" => Ok(Self::File(path(text[body..].strip_prefix(b"//").unwrap_or(&text[body..])))),
            b"image" => pixels(text, body),
            b"data" => encoded(text, body),
            _ => Err(format!(
                "`{}` is an address, and nothing is fetched from one: send path, memory or buffer images",
                shortened(&text)
            )),
        }
    }

    /// Decodes it to what is tracked.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Decode`], as [`decode`] has them.
    pub fn load(&self, channels: Channels) -> Result<FrameBuf> {
        let wrong = |path: &Path, reason: String| Error::Decode { path: path.into(), reason };
        let inside = Path::new("the image in the message");
        let bytes = |data| BASE64.decode(data).map_err(|error| wrong(inside, error.to_string()));
        match self {
            Self::File(path) => {
                // A pipe or a device could be waited for without an end.
                let kind = std::fs::metadata(path).map_err(|source| Error::io(path, source))?;
                if !kind.is_file() {
                    return Err(wrong(path, "this is no file".into()));
                }
                decode(path, channels)
            }
            Self::Pixels { width, height, format, data } => {
                let frame = frame(bytes(data)?, *width, *height, *format)?;
                Ok(if channels == Channels::Luma { frame.to_luma() } else { frame })
            }
            Self::Encoded { data } => decode_bytes(&bytes(data)?, inside, channels),
        }
    }
}

/// Where the name of a scheme ends. A single letter is a drive.
fn scheme(text: &[u8]) -> Option<usize> {
    const LONGEST: usize = 16;
    let colon = text.iter().take(LONGEST + 1).position(|byte| *byte == b':')?;
    let named = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'+' | b'.' | b'-');
    (colon > 1 && text[..colon].iter().all(named)).then_some(colon)
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The same bytes without the first `count`, copied only if they were copied before.
fn behind(text: Cow<'_, [u8]>, count: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[count..]),
        Cow::Owned(mut text) => Cow::Owned(text.split_off(count)),
    }
}

/// `WIDTH;HEIGHT;FORMAT;BASE64` from `at` on.
fn pixels(text: Cow<'_, [u8]>, at: usize) -> std::result::Result<Picture<'_>, String> {
    let wrong = |reason: &str| format!("`{}` {reason}", shortened(&text));
    let form = "is not image:WIDTH;HEIGHT;FORMAT;BASE64";
    let [width, height, format, data] = text[at..].splitn(4, |byte| *byte == b';').collect::<Vec<_>>()[..] else {
        return Err(wrong(form));
    };
    let size = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<usize>().ok().filter(|size| *size > 0);
    let (width, height) = size(width).zip(size(height)).ok_or_else(|| wrong(form))?;
    let format = match format.to_ascii_lowercase().as_slice() {
        b"rgb" => Sample::Rgb8,
        b"gray8" => Sample::Gray8,
        b"gray16" => Sample::Gray16,
        _ => return Err(wrong("has a format that is none of rgb, gray8 and gray16")),
    };
    let Some(pixels) = width.checked_mul(height).filter(|pixels| *pixels <= MAX_PIXELS) else {
        return Err(wrong(&format!("has more than {MAX_PIXELS} pixels")));
    };
    let letters = data.len() - data.iter().rev().take(2).filter(|byte| **byte == b'=').count();
    // Three bytes in four letters; of one byte more there are two letters, of two bytes three.
    let bytes = pixels * format.bytes();
    if letters != bytes / 3 * 4 + [0, 2, 3][bytes % 3] {
        return Err(wrong(&format!("holds another number of bytes than the {bytes} of its size")));
    }
    let before = text.len() - data.len();
    Ok(Picture::Pixels { width, height, format, data: behind(text, before) })
}

/// `image/jpeg;BASE64` or `image/png;BASE64` from `at` on, with the word `base64` before the data or without.
fn encoded(text: Cow<'_, [u8]>, at: usize) -> std::result::Result<Picture<'_>, String> {
    let wrong = |reason: &str| format!("`{}` {reason}", shortened(&text));
    let rest = &text[at..];
    let end = rest.iter().position(|byte| *byte == b';').ok_or_else(|| wrong("is not data:image/jpeg;BASE64"))?;
    let kind = rest[..end].to_ascii_lowercase();
    if !matches!(kind.as_slice(), b"image/jpeg" | b"image/png") {
        return Err(wrong("is neither of image/jpeg nor of image/png"));
    }
    let data = &rest[end + 1..];
    let named = data.strip_prefix(b"base64").and_then(|data| data.strip_prefix(b",").or(data.strip_prefix(b";")));
    let before = text.len() - named.unwrap_or(data).len();
    Ok(Picture::Encoded { data: behind(text, before) })
}

fn frame(bytes: Vec<u8>, width: usize, height: usize, format: Sample) -> Result<FrameBuf> {
    match format {
        Sample::Rgb8 => FrameBuf::new(bytes, width, height, PixelFormat::Rgb8),
        Sample::Gray8 => FrameBuf::new(bytes, width, height, PixelFormat::Gray8),
        Sample::Gray16 => {
            let samples = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            // Scaled to 8 bits as the samples of a file are.
            let sides = u32::try_from(width).ok().zip(u32::try_from(height).ok());
            let buffer = sides.and_then(|(width, height)| ImageBuffer::from_raw(width, height, samples));
            let reason = || Error::FrameLayout { width, height, reason: "its data are of another size".into() };
            FrameBuf::try_from(DynamicImage::ImageLuma16(buffer.ok_or_else(reason)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn parse(text: &str) -> std::result::Result<Picture<'_>, String> {
        Picture::parse(Cow::Borrowed(text.as_bytes()))
    }

    fn luma(text: &str) -> Vec<u8> {
        let frame = parse(text).unwrap().load(Channels::Luma).unwrap();
        let frame = frame.as_frame();
        (0..frame.height()).flat_map(|y| frame.row(y).to_vec()).collect()
    }

    #[test]
    fn files_are_named_in_three_ways() {
        for text in ["file:///a b/1.jpg", "file:/a b/1.jpg", "/a b/1.jpg"] {
            assert_eq!(parse(text).unwrap(), Picture::File("/a b/1.jpg".into()));
        }
        assert_eq!(parse("1.jpg").unwrap(), Picture::File("1.jpg".into()));
        assert_eq!(parse("c:/1.jpg").unwrap(), Picture::File("c:/1.jpg".into()));
    }

    #[test]
    fn pixels_come_as_bytes_words_and_colours() {
        assert_eq!(luma(&format!("image:3;1;gray8;{}", STANDARD.encode([7, 8, 9]))), [7, 8, 9]);
        // 65,535, 255 and 65,280, the low byte first, in steps of 257.
        let words = STANDARD.encode([0xFF, 0xFF, 0xFF, 0x00, 0x00, 0xFF]);
        assert_eq!(luma(&format!("image:3;1;gray16;{words}")), [255, 1, 254]);
        assert_eq!(luma(&format!("image:1;1;RGB;{}", STANDARD.encode([200, 100, 50]))), [124]);
        let rgb = parse("image:1;1;rgb;yGQy").unwrap().load(Channels::Color).unwrap();
        assert_eq!((rgb.as_frame().format(), rgb.as_frame().row(0)), (PixelFormat::Rgb8, &[200, 100, 50][..]));
        // Without its padding.
        assert_eq!(luma("image:1;1;gray8;Bw"), [7]);
    }

    #[test]
    fn encoded_images_come_with_the_word_base64_or_without() {
        let png = crate::png::encode(&[3, 4], (2, 1), image::ExtendedColorType::L8).unwrap();
        for before in ["data:image/png;", "data:image/png;base64;", "data:image/PNG;base64,"] {
            assert_eq!(luma(&format!("{before}{}", STANDARD.encode(&png))), [3, 4], "{before}");
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for (text, said) in [
            ("http://example.com/1.jpg", "nothing is fetched"),
            ("image:3;1;gray8", "is not image:WIDTH"),
            ("image:0;1;gray8;AAAA", "is not image:WIDTH"),
            ("image:-3;1;gray8;AAAA", "is not image:WIDTH"),
            ("image:3;1;bgr;AAAA", "none of rgb"),
            ("image:4;1;gray8;AAAA", "another number of bytes than the 4"),
            ("image:2;1;gray8;AAAA", "another number of bytes than the 2"),
            ("image:99999999999;99999999999;rgb;AAAA", "more than 134217728 pixels"),
            ("image:16384;8192;rgb;AAAA", "another number of bytes"),
            ("data:image/gif;AAAA", "neither of image/jpeg"),
            ("data:image/png", "is not data:"),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(said), "{text}: {reason}");
        }
        for (text, said) in [
            ("image:3;1;gray8;A!AA", "Invalid"),
            ("data:image/png;AAAA", "no image format"),
            ("data:image/png;A", "Invalid"),
            ("file:///none", "/none"),
            ("file:///dev/null", "this is no file"),
        ] {
            let reason = parse(text).unwrap().load(Channels::Luma).unwrap_err().to_string();
            assert!(reason.contains(said), "{text}: {reason}");
        }
    }
}
