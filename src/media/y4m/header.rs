//! The first line of a YUV4MPEG2 stream: size, rate and form of the frames.

use crate::media::decode::MAX_PIXELS;
use crate::media::yuv::{Chroma, Levels, Planes};

/// Most bytes of a header or of the line before a frame; real ones have about a hundred.
pub(super) const MAX_LINE: usize = 1024;

/// What every stream begins with.
pub(super) const MAGIC: &str = "YUV4MPEG2";

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub planes: Planes,
    /// Frames per second, where it is known.
    pub rate: Option<f64>,
}

impl Header {
    /// Reads the line, without its end; `gray` are the levels of gray that says nothing of them. The reason why it
    /// cannot be used otherwise.
    pub fn parse(line: &str, gray: Levels) -> Result<Self, String> {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        if words.next() != Some(MAGIC) {
            return Err(format!(
                "it does not begin with {MAGIC}: only Y4M is read here, as `ffmpeg -f yuv4mpegpipe` \
                                writes it"
            ));
        }
        let (mut width, mut height, mut rate, mut levels) = (None, None, None, None);
        let mut chroma = "420jpeg";
        for word in words {
            let mut rest = word.chars();
            let tag = rest.next();
            let value = rest.as_str();
            match tag {
                Some('W') => width = Some(side("width", value)?),
                Some('H') => height = Some(side("height", value)?),
                Some('F') => rate = ratio(value),
                Some('C') => chroma = value,
                Some('X') => levels = levels.or(self::levels(value)),
                // Interlacing, aspect of the pixels, and what is still to be invented.
                _ => {}
            }
        }
        let (Some(width), Some(height)) = (width, height) else {
            return Err(format!("its header `{line}` names no width and height"));
        };
        if width.checked_mul(height).is_none_or(|pixels| pixels > MAX_PIXELS) {
            return Err(format!("its header says {width}x{height} pixels, more than {MAX_PIXELS} in all"));
        }
        let chroma = match chroma {
            "420" | "420jpeg" | "420mpeg2" | "420paldv" => Chroma::C420,
            "422" => Chroma::C422,
            "444" => Chroma::C444,
            "mono" => Chroma::Mono,
            other => {
                return Err(format!(
                    "its frames are of the form C{other}: 8 bits of C420, C422, C444 or Cmono are read; convert it, as \
                     by `ffmpeg … -pix_fmt yuv420p -f yuv4mpegpipe -`"
                ));
            }
        };
        let usual = if chroma == Chroma::Mono { gray } else { Levels::Limited };
        let planes = Planes { width, height, chroma, levels: levels.unwrap_or(usual) };
        Ok(Self { planes, rate })
    }
}

fn side(name: &str, value: &str) -> Result<usize, String> {
    let wrong = || format!("its header says the {name} {value}");
    value.parse::<usize>().ok().filter(|&side| side > 0).ok_or_else(wrong)
}

/// A fraction such as 30000:1001; 0:0 stands for an unknown one.
fn ratio(value: &str) -> Option<f64> {
    let (above, below) = value.split_once(':')?;
    let rate = f64::from(above.parse::<u32>().ok()?) / f64::from(below.parse::<u32>().ok()?);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

fn levels(value: &str) -> Option<Levels> {
    match value {
        "COLORRANGE=FULL" => Some(Levels::Full),
        "COLORRANGE=LIMITED" => Some(Levels::Limited),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_real_programs() {
        let read = |line| Header::parse(line, Levels::Full).unwrap();
        let ffmpeg = read("YUV4MPEG2 W64 H48 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG");
        let planes = Planes { width: 64, height: 48, chroma: Chroma::C420, levels: Levels::Limited };
        assert_eq!((ffmpeg.planes, ffmpeg.rate.map(|rate| (rate * 1e3) as u32)), (planes, Some(29_970)));
        let gray = read("YUV4MPEG2 W65 H1 F0:0 Ip A1:1 Cmono");
        assert_eq!((gray.planes.chroma, gray.planes.levels, gray.rate), (Chroma::Mono, Levels::Full, None));
        let said = |line| read(line).planes.levels;
        assert_eq!(said("YUV4MPEG2 W2 H2 C444 XYSCSS=444 XCOLORRANGE=FULL"), Levels::Full);
        assert_eq!(said("YUV4MPEG2 W2 H2 Cmono XCOLORRANGE=LIMITED"), Levels::Limited);
        // mplayer writes no chroma at all for 4:2:0.
        assert_eq!(read("YUV4MPEG2 H2 W2").planes.chroma, Chroma::C420);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (line, said) in [
            ("", "does not begin with YUV4MPEG2"),
            ("YUV4MPEG W2 H2", "does not begin with YUV4MPEG2"),
            ("YUV4MPEG2 W2", "no width and height"),
            ("YUV4MPEG2 W0 H2", "the width 0"),
            ("YUV4MPEG2 W-3 H2", "the width -3"),
            ("YUV4MPEG2 W2 H99999999999999999999999", "the height 9999"),
            ("YUV4MPEG2 W60000 H60000", "60000x60000 pixels"),
            ("YUV4MPEG2 W18446744073709551615 H18446744073709551615", "pixels, more than"),
            ("YUV4MPEG2 W2 H2 C420p10", "C420p10"),
            ("YUV4MPEG2 W2 H2 C444alpha", "-pix_fmt yuv420p"),
            ("YUV4MPEG2 W2 H2 C411", "C411"),
            ("YUV4MPEG2 W2 H2 Cmono16", "Cmono16"),
        ] {
            let error = Header::parse(line, Levels::Full).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
