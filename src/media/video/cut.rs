//! Whether a file ends within what it holds, where ffmpeg says nothing of that.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

/// Most bytes of a line of Y4M.
const MAX_LINE: usize = 1024;

/// Whether the file at `path` ends within a picture, a page or a frame: ffmpeg passes over such a rest of a GIF, of Ogg
/// and of Y4M as if it were not there. Of other forms it complains, and nothing is known here.
pub(super) fn ends_within(path: &Path) -> bool {
    let walked = Bytes::of(path).and_then(|mut bytes| {
        let mut magic = [0; 4];
        bytes.fill(&mut magic)?;
        match &magic {
            b"GIF8" => gif(&mut bytes),
            b"OggS" => ogg(&mut bytes),
            b"YUV4" => y4m(&mut bytes),
            _ => Ok(()),
        }
    });
    walked.is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof)
}

/// Blocks until the one that ends it, which some programs leave out.
fn gif(bytes: &mut Bytes) -> io::Result<()> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 6 << (flags & 7) };
    bytes.skip(6)?;
    let flags = bytes.byte()?;
    bytes.skip(2 + table(flags))?;
    // What is said of the next picture stands before it.
    let mut announced = false;
    while bytes.left > 0 || announced {
        match bytes.byte()? {
            0x21 => announced |= bytes.byte()? == 0xf9,
            0x2c => {
                bytes.skip(8)?;
                let flags = bytes.byte()?;
                bytes.skip(table(flags) + 1)?;
                announced = false;
            }
            _ => break,
        }
        while let piece @ 1.. = bytes.byte()? {
            bytes.skip(piece.into())?;
        }
    }
    Ok(())
}

/// Pages, behind the first four bytes of the first one.
fn ogg(bytes: &mut Bytes) -> io::Result<()> {
    loop {
        bytes.skip(22)?;
        let mut body = 0;
        for _ in 0..bytes.byte()? {
            body += u64::from(bytes.byte()?);
        }
        bytes.skip(body)?;
        let mut magic = [0; 4];
        if bytes.left == 0 || bytes.fill(&mut magic).map(|()| magic != *b"OggS")? {
            return Ok(());
        }
    }
}

/// Frames of one size, each behind a line of its own.
fn y4m(bytes: &mut Bytes) -> io::Result<()> {
    let header = bytes.line()?;
    let Some(frame) = frame_bytes(&header) else { return Ok(()) };
    while bytes.left > 0 {
        if !bytes.line()?.starts_with("FRAME") {
            break;
        }
        bytes.skip(frame)?;
    }
    Ok(())
}

/// Bytes of a frame of a Y4M stream with this header, where that is known.
fn frame_bytes(header: &str) -> Option<u64> {
    let said = |tag: char| header.split(' ').skip(1).find_map(|word| word.strip_prefix(tag));
    let (width, height): (u64, u64) = (said('W')?.parse().ok()?, said('H')?.parse().ok()?);
    let form = said('C').unwrap_or("420");
    let (chroma, rest) = match form.strip_prefix("mono") {
        Some(rest) => ("mono", rest),
        None => form.split_at_checked(3)?,
    };
    let (width_of, height_of, planes) = match (chroma, rest) {
        ("mono", _) => (1, 1, 0),
        ("444", "alpha") => (1, 1, 3),
        ("420", _) => (2, 2, 2),
        ("411", _) => (4, 1, 2),
        ("422", _) => (2, 1, 2),
        ("440", _) => (1, 2, 2),
        ("444", _) => (1, 1, 2),
        _ => return None,
    };
    let deep = rest.trim_start_matches('p').parse::<u64>().is_ok_and(|bits| bits > 8);
    let chroma = width.div_ceil(width_of).checked_mul(height.div_ceil(height_of))?;
    chroma.checked_mul(planes)?.checked_add(width.checked_mul(height)?)?.checked_mul(if deep { 2 } else { 1 })
}

/// A file from its beginning on, of which it is known how much is left.
struct Bytes {
    file: BufReader<File>,
    left: u64,
}

impl Bytes {
    fn of(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let known = file.metadata()?;
        let left = if known.is_file() { known.len() } else { return Err(ErrorKind::InvalidInput.into()) };
        Ok(Self { file: BufReader::with_capacity(1 << 16, file), left })
    }

    fn spend(&mut self, count: u64) -> io::Result<()> {
        self.left = self.left.checked_sub(count).ok_or(ErrorKind::UnexpectedEof)?;
        Ok(())
    }

    fn fill(&mut self, to: &mut [u8]) -> io::Result<()> {
        self.spend(to.len() as u64)?;
        self.file.read_exact(to)
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.fill(&mut byte).map(|()| byte[0])
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        self.spend(count)?;
        self.file.seek_relative(i64::try_from(count).map_err(io::Error::other)?)
    }

    /// A line without its end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
                _ if line.len() == MAX_LINE => return Err(ErrorKind::InvalidData.into()),
                byte => line.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which lengths its beginning ends within something.
    fn cuts(whole: &[u8]) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let ends_at = |&length: &usize| {
            std::fs::write(&path, &whole[..length]).unwrap();
            ends_within(&path)
        };
        (4..=whole.len()).filter(ends_at).collect()
    }

    #[test]
    fn a_gif_ends_with_a_block() {
        let head = b"GIF89a\x02\x00\x02\x00\x80\x00\x00123456";
        let picture =
            b"\x21\xf9\x04\x00\x05\x00\x00\x00\x2c\x00\x00\x00\x00\x02\x00\x02\x00\x80123456\x02\x02\x44\x01\x00";
        let comment = b"\x21\xfe\x02hi\x00";
        let whole = [&head[..], comment, picture, picture, b"\x3b", b"and what nobody reads"].concat();
        let (first, second) = (head.len() + comment.len(), head.len() + comment.len() + picture.len());
        let end = second + picture.len();
        let fine = |length: &usize| ![head.len(), first, second].contains(length) && *length < end;
        assert_eq!(cuts(&whole), (4..end).filter(fine).collect::<Vec<_>>());
    }

    #[test]
    fn ogg_ends_with_a_page() {
        let page = [&b"OggS"[..], &[0; 22], &[2, 3, 255], &[7; 258]].concat();
        let fine = |length: &usize| !length.is_multiple_of(page.len());
        assert_eq!(cuts(&page.repeat(3)), (4..3 * page.len()).filter(fine).collect::<Vec<_>>());
        assert_eq!(cuts(&[&page[..], b"else"].concat()).last(), Some(&(page.len() + 3)));
    }

    #[test]
    fn y4m_ends_with_a_frame() {
        for (form, frame) in [
            ("C420p10", 2 * (15 + 6 + 6)),
            ("C420jpeg", 15 + 6 + 6),
            ("C411", 15 + 6 + 6),
            ("C422p12", 2 * (15 + 9 + 9)),
            ("C440", 15 + 10 + 10),
            ("C444alpha", 4 * 15),
            ("C444", 3 * 15),
            ("Cmono16", 2 * 15),
            ("Cmono", 15),
        ] {
            let header = format!("YUV4MPEG2 W5 H3 F25:1 {form}\n").into_bytes();
            let frame = [&b"FRAME Ip\n"[..], &vec![9; frame]].concat();
            let whole = [&header[..], &frame, &frame].concat();
            let fine = |length: &usize| *length < header.len() || !(length - header.len()).is_multiple_of(frame.len());
            assert_eq!(cuts(&whole), (4..whole.len()).filter(fine).collect::<Vec<_>>(), "{form}");
        }
        for unknown in ["YUV4MPEG2 W5 H3 C4\nFRAME\n", "YUV4MPEG2 W5\nFRAME\n", "YUV4MPEG2 W5 H3 C410\nFRAME\nab"] {
            let known = cuts(unknown.as_bytes()).last().copied();
            assert!(known < unknown.find('\n').map(|line| line + 1), "{unknown}: {known:?}");
        }
    }

    #[test]
    fn of_other_forms_nothing_is_known() {
        for other in [&b"\x1a\x45\xdf\xa3"[..], b"RIFF\xff\xff\xff\xff"] {
            assert_eq!(cuts(other), [0; 0]);
        }
        assert!(!ends_within(Path::new("/nowhere/at/all")));
    }
}
