//! Image files of every format, whole and broken.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageBuffer, ImageFormat, Luma, LumaA, Rgb, Rgba};
use kcf_track::Channels;
use kcf_track::media::{Demand, Images, decode, decode_bytes};
use kcf_track::{Error, Frame, FrameBuf, PixelFormat};
use proptest::prelude::*;

fn fixture(name: &str) -> PathBuf {
    Path::new("tests/fixtures").join(name)
}

fn jpegs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("tests/fixtures").unwrap().map(|entry| entry.unwrap().path());
    let mut jpegs: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "jpg")).collect();
    jpegs.sort();
    assert!(jpegs.len() >= 10);
    jpegs
}

/// The largest difference to the picture of the fixtures, in levels of gray.
fn worst(frame: &FrameBuf) -> u8 {
    let frame = frame.as_frame();
    assert_eq!((frame.width(), frame.height()), (44, 30));
    let pixels = (0..30u8).flat_map(|y| (0..44u8).map(move |x| (x, y)));
    pixels.map(|(x, y)| frame.gray_at(x.into(), y.into()).abs_diff(luma(60 + 3 * x, 80 + 4 * y, 120))).max().unwrap()
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn reason(result: kcf_track::Result<FrameBuf>) -> String {
    match result {
        Err(Error::Decode { path, reason }) => {
            assert!(!path.as_os_str().is_empty());
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn jpegs_of_every_kind_show_the_same_picture() {
    for path in jpegs() {
        let gray = decode(&path, Channels::Luma).unwrap();
        assert_eq!(gray.as_frame().format(), PixelFormat::Gray8);
        assert!(worst(&gray) <= 1, "{}: {}", path.display(), worst(&gray));
        let color = decode(&path, Channels::Color).unwrap();
        let is_gray = path.to_string_lossy().contains("gray");
        assert_eq!(color.as_frame().format() == PixelFormat::Gray8, is_gray, "{}", path.display());
        assert!(worst(&color) <= 1, "{}: {}", path.display(), worst(&color));
        if !is_gray {
            let middle = &color.as_frame().row(15)[22 * 3..23 * 3];
            let close = middle.iter().zip([126u8, 140, 120]).all(|(a, b)| a.abs_diff(b) <= 6);
            assert!(close, "{}: {middle:?}", path.display());
        }
    }
}

#[test]
fn a_picture_in_colour_changes_nothing_of_what_is_tracked() {
    let mut others = vec![fixture("palette.png"), fixture("bilevel.png"), fixture("lossy.webp"), fixture("lzw.tif")];
    others.extend(jpegs());
    let files: Vec<_> = (1..).zip(others).collect();
    let shown = Demand { color: true, ..Channels::Luma.into() };
    for (plain, shown) in Images::new(files.clone(), Channels::Luma, None).zip(Images::new(files.clone(), shown, None))
    {
        let name = plain.name;
        assert_eq!(plain.frame.unwrap(), *shown.frame.as_ref().unwrap(), "{name}");
        assert!(plain.color.is_none());
        let alone = decode(shown.path.as_ref().unwrap(), Channels::Color).unwrap();
        let (picture, alone) = (shown.picture().unwrap(), alone.as_frame());
        assert_eq!(picture.format(), alone.format(), "{name}");
        for y in 0..alone.height() {
            let worst = picture.row(y).iter().zip(alone.row(y)).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(worst <= Some(1), "{name}, row {y}: {worst:?}");
        }
    }
}

#[test]
fn a_jpeg_cut_anywhere_is_an_error() {
    for path in jpegs() {
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            for channels in [Channels::Luma, Channels::Color] {
                reason(decode_bytes(&bytes[..cut], &path, channels));
            }
        }
        // Bytes behind the end do no harm.
        let padded = [&bytes[..], &[0; 64]].concat();
        assert!(decode_bytes(&padded, &path, Channels::Luma).is_ok(), "{}", path.display());
    }
}

#[test]
fn other_formats_cut_anywhere_are_an_error_or_whole() {
    let picture = DynamicImage::ImageRgb8(ImageBuffer::from_fn(9, 7, |x, y| Rgb([20 * x as u8, 30 * y as u8, 5])));
    let formats = [ImageFormat::Png, ImageFormat::Bmp, ImageFormat::Tiff, ImageFormat::WebP, ImageFormat::Pnm];
    for format in formats {
        let bytes = encoded(&picture, format);
        let whole = decode_bytes(&bytes, "whole", Channels::Color).unwrap();
        assert_eq!(whole.as_frame().row(2)[9..12], [60, 60, 5], "{format:?}");
        let mut accepted = Vec::new();
        for cut in 0..bytes.len() {
            match decode_bytes(&bytes[..cut], "cut", Channels::Color) {
                Ok(frame) if frame == whole => accepted.push(cut),
                Ok(_) => panic!("{format:?} cut at {cut} of {} gives another picture", bytes.len()),
                Err(error) => assert!(error.to_string().starts_with("cut: cannot decode the image"), "{error}"),
            }
        }
        // What may be missing is a trailer that carries no pixels.
        assert!(accepted.len() <= 16, "{format:?}: {accepted:?}");
    }
}

#[test]
fn samples_of_16_bits_are_scaled_and_rounded() {
    let levels: [u16; 5] = [0, 128, 129, 32_768, 65_535];
    let wanted = levels.map(|v| (f64::from(v) / 257.0).round() as u8);
    assert_eq!(wanted, [0, 0, 1, 128, 255]);
    let gray = DynamicImage::ImageLuma16(ImageBuffer::from_fn(5, 1, |x, _| Luma([levels[x as usize]])));
    let rgb = DynamicImage::ImageRgb16(ImageBuffer::from_fn(5, 1, |x, _| Rgb([levels[x as usize]; 3])));
    for format in [ImageFormat::Png, ImageFormat::Tiff, ImageFormat::Pnm] {
        for picture in [&gray, &rgb] {
            let frame = decode_bytes(&encoded(picture, format), "deep", Channels::Luma).unwrap();
            assert_eq!(frame.as_frame().row(0), wanted, "{format:?} {:?}", picture.color());
        }
        let frame = decode_bytes(&encoded(&gray, format), "deep", Channels::Color).unwrap();
        assert_eq!(frame.as_frame().format(), PixelFormat::Gray8, "{format:?}");
    }
}

#[test]
fn samples_of_any_range_are_refused() {
    let float = ImageBuffer::from_pixel(9, 7, Rgb([0.5, 90.0, 255.0f32]));
    let bytes = encoded(&DynamicImage::ImageRgb32F(float), ImageFormat::Tiff);
    let error = reason(decode_bytes(&bytes, "float.tif", Channels::Color));
    assert!(error.contains("floating-point"), "{error}");
}

#[test]
fn gray_is_the_luma_of_the_colours_and_alpha_is_dropped() {
    let rgba = DynamicImage::ImageRgba8(ImageBuffer::from_pixel(2, 1, Rgba([200, 100, 50, 0])));
    for format in [ImageFormat::Png, ImageFormat::Tiff, ImageFormat::WebP, ImageFormat::Bmp] {
        let bytes = encoded(&rgba, format);
        let gray = decode_bytes(&bytes, "clear", Channels::Luma).unwrap();
        assert_eq!(gray.as_frame().row(0), [124, 124], "{format:?}");
        let color = decode_bytes(&bytes, "clear", Channels::Color).unwrap();
        assert_eq!(color.as_frame().row(0), [200, 100, 50, 200, 100, 50], "{format:?}");
    }
    let gray_alpha = DynamicImage::ImageLumaA8(ImageBuffer::from_pixel(1, 1, LumaA([77, 3])));
    let frame = decode_bytes(&encoded(&gray_alpha, ImageFormat::Png), "clear", Channels::Color).unwrap();
    assert_eq!((frame.as_frame().row(0), frame.as_frame().format()), (&[77][..], PixelFormat::Gray8));
}

#[test]
fn palettes_and_single_bits_are_resolved() {
    for name in ["palette.png", "palette.bmp", "palette-transparent.png"] {
        let frame = decode(fixture(name), Channels::Luma).unwrap();
        assert_eq!(frame.as_frame().row(0), [124, 0, 255], "{name}");
    }
    for name in ["bilevel.png", "bilevel.tif"] {
        assert_eq!(decode(fixture(name), Channels::Luma).unwrap().as_frame().row(0), [255, 0, 255], "{name}");
    }
    for (text, wanted) in [
        (&b"P1\n# comment\n3 1\n0 1 0\n"[..], [255, 0, 255]),
        (b"P4\n3 1\n\x40", [255, 0, 255]),
        (b"P2\n3 1\n255\n7 8 9\n", [7, 8, 9]),
        (b"P2\n3 1\n15\n0 7 15\n", [0, 119, 255]),
        (b"P5 3 1 255\n\x07\x08\x09", [7, 8, 9]),
        (b"P3 3 1 255 200 100 50 0 0 0 255 255 255\n", [124, 0, 255]),
    ] {
        let frame = decode_bytes(text, "text.pnm", Channels::Luma).unwrap();
        assert_eq!(frame.as_frame().row(0), wanted, "{}", String::from_utf8_lossy(text));
    }
    assert!(worst(&decode(fixture("lossy.webp"), Channels::Luma).unwrap()) <= 6);
    assert_eq!(worst(&decode(fixture("lzw.tif"), Channels::Luma).unwrap()), 0);
}

#[test]
fn the_content_tells_the_format_not_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let png = std::fs::read(fixture("palette.png")).unwrap();
    assert!(decode(file("0001.jpg", &png), Channels::Luma).is_ok());
    let text = decode(file("0002.jpg", b"this is not a picture"), Channels::Luma);
    assert!(text.as_ref().unwrap_err().to_string().contains("0002.jpg"), "{text:?}");
    assert!(reason(text).contains("no image format"));
    assert!(reason(decode(file("0003.jpg", b""), Channels::Luma)).contains("empty"));
    assert!(
        reason(decode(file("0004.png", b"GIF89a\x01\0\x01\0\0\0\0;"), Channels::Luma)).to_lowercase().contains("gif")
    );
    assert!(reason(decode(folder.path(), Channels::Luma)).contains("folder"));
    assert!(matches!(decode(folder.path().join("0005.jpg"), Channels::Luma), Err(Error::Io { .. })));
}

#[test]
fn a_header_that_claims_too_much_is_not_believed() {
    let side = 60_000u32;
    let mut png = std::fs::read(fixture("palette.png")).unwrap();
    png[16..20].copy_from_slice(&side.to_be_bytes());
    png[20..24].copy_from_slice(&side.to_be_bytes());
    let sum = crc32fast::hash(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let mut jpeg = std::fs::read(fixture("420.jpg")).unwrap();
    let frame_header = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    jpeg[frame_header + 5..frame_header + 9].copy_from_slice(&[0xEA, 0x60, 0xEA, 0x60]);
    let mut bmp = std::fs::read(fixture("palette.bmp")).unwrap();
    bmp[18..22].copy_from_slice(&side.to_le_bytes());
    bmp[22..26].copy_from_slice(&side.to_le_bytes());
    let pnm = b"P5 60000 60000 255\n".to_vec();
    let no_size = b"P5 0 0 255\n".to_vec();
    for (name, bytes) in [("png", png), ("jpeg", jpeg), ("bmp", bmp), ("pnm", pnm), ("zero", no_size)] {
        let said = reason(decode_bytes(&bytes, name, Channels::Luma));
        assert!(name == "zero" || said.contains("60000x60000"), "{name}: {said}");
    }
}

#[test]
fn ten_thousand_pixels_wide_is_fine() {
    let picture = DynamicImage::ImageRgb8(ImageBuffer::from_fn(10_000, 3, |x, _| Rgb([(x / 40) as u8; 3])));
    for format in [ImageFormat::Png, ImageFormat::Bmp, ImageFormat::WebP, ImageFormat::Tiff] {
        let frame = decode_bytes(&encoded(&picture, format), "wide", Channels::Luma).unwrap();
        let frame = frame.as_frame();
        assert_eq!((frame.width(), frame.height()), (10_000, 3));
        assert!(frame.gray_at(8000, 1).abs_diff(200) <= 3, "{format:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn damaged_files_end_in_a_frame_or_an_error(
        which in 0..20usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut files = jpegs();
        files.extend(["palette.png", "lossy.webp", "lzw.tif", "palette.bmp", "bilevel.tif"].map(fixture));
        let path = &files[which % files.len()];
        let mut bytes = std::fs::read(path).unwrap();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        match decode_bytes(&bytes, path, Channels::Luma) {
            Ok(frame) => prop_assert_eq!(frame.as_frame().format(), PixelFormat::Gray8),
            Err(error) => prop_assert!(matches!(error, Error::Decode { .. }), "{}", error),
        }
    }
}

fn luma(r: u8, g: u8, b: u8) -> u8 {
    Frame::new(&[r, g, b], 1, 1, 3, PixelFormat::Rgb8).unwrap().gray_at(0, 0)
}
