//! What ffmpeg says while it decodes: of every frame, and of trouble.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use super::timeline::Ticks;

/// Lines of complaint that are kept.
const MOST_LINES: usize = 8;

/// What ffmpeg says of a frame before it writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shown {
    /// When it is shown, from wherever the file counts.
    pub time: Option<Ticks>,
    /// Width and height.
    pub size: Option<(usize, usize)>,
}

/// What a program complained of.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    /// Before it had a frame.
    pub early: Vec<String>,
    /// Since then.
    pub late: Vec<String>,
    /// The last one since then.
    pub last: Option<String>,
    /// Whether it has had one.
    pub begun: bool,
}

impl Complaints {
    /// Why the input has ended, as far as that can be told: that it was cut, or else what came last while there were
    /// frames.
    pub fn of_the_end(&self) -> Option<&String> {
        let cut = self.early.iter().chain(&self.late).find(|said| said.contains("prematurely"));
        cut.or(self.last.as_ref())
    }
}

/// Reads what ffmpeg says: of frames, to `sender`; of trouble, to `complaints`.
pub(super) fn listen(err: impl Read, sender: &Sender<Shown>, complaints: &Mutex<Complaints>) {
    let mut lines = BufReader::new(err);
    let mut line = Vec::new();
    let mut tick = None;
    // A line of bytes that are no text is a line all the same.
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        if let Some(base) = time_base(&text) {
            tick = Some(base);
        } else if let Some(shown) = shown(&text, tick) {
            complaints.lock().unwrap_or_else(PoisonError::into_inner).begun = true;
            let _ = sender.send(shown);
        } else if let Some(complaint) = complaint(&text) {
            let mut kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.begun {
                kept.last = Some(complaint.clone());
            }
            let kept = if kept.begun { &mut kept.late } else { &mut kept.early };
            if kept.len() < MOST_LINES && !kept.contains(&complaint) {
                kept.push(complaint);
            }
        }
        line.clear();
    }
}

/// Seconds of a tick, of the line of the filter `showinfo` on what comes. It may stand behind a warning that has no end
/// of its own ("Odd rotation angle"), and then does not say whose it is.
fn time_base(line: &str) -> Option<(u32, u32)> {
    let rest = line.split_once("config in time_base: ")?.1;
    let (above, below) = rest.split([',', ' ']).next()?.trim().split_once('/')?;
    Some((above.parse().ok()?, below.parse().ok().filter(|&below| below > 0)?))
}

/// A line of the filter `showinfo` on a frame, which counts ticks. (Its seconds have six digits in all: no hundredths
/// after three hours.)
fn shown(line: &str, tick: Option<(u32, u32)>) -> Option<Shown> {
    let rest = line.strip_prefix("[Parsed_showinfo_")?.split_once("] [info] n:")?.1;
    let after = |key: &str| rest.split_once(key).map(|(_, rest)| rest.trim_start());
    let word = |key: &str| after(key).and_then(|rest| rest.split_whitespace().next());
    let size = word(" s:").and_then(|text| text.split_once('x'));
    let count = word(" pts:").and_then(|text| text.parse().ok());
    Some(Shown {
        time: count.zip(tick).map(|(count, tick)| Ticks { count, tick }),
        size: size.and_then(|(width, height)| width.parse().ok().zip(height.parse().ok())),
    })
}

/// A line that says what went wrong, without where in ffmpeg that was.
fn complaint(line: &str) -> Option<String> {
    let (at, level) = ["[error] ", "[fatal] ", "[panic] "].iter().find_map(|level| Some((line.find(level)?, level)))?;
    let said = line.get(at + level.len()..)?.trim();
    // That its reader has gone is what happens when a run ends before the video does.
    let ours = said.contains("Broken pipe") || said.is_empty();
    (!ours).then(|| said.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "[Parsed_showinfo_0 @ 0x555a35e5cfc0] [info] n:   1 pts:   1024 pts_time:0.1     pos:     1786 \
                        fmt:yuv420p sar:1/1 s:64x48 i:P iskey:0 type:P \n";

    #[test]
    fn lines_of_ffmpeg() {
        let base = "[Parsed_showinfo_0 @ 0x555a35e5cfc0] [info] config in time_base: 1/10240, frame_rate: 10/1\n";
        let tick = time_base(base);
        assert_eq!(tick, Some((1, 10240)));
        let behind =
            "visit the ffmpeg-devel mailing list. (ffmpeg-devel@ffmpeg.org)config in time_base: 1/10240, ...\n";
        assert_eq!(time_base(behind), tick);
        let time = Ticks { count: 1024, tick: (1, 10240) };
        assert_eq!(shown(LINE, tick), Some(Shown { time: Some(time), size: Some((64, 48)) }));
        assert_eq!(time.since(Ticks { count: 512, ..time }), Some(0.05));
        assert_eq!(time.since(Ticks { tick: (1, 1000), ..time }), None);
        let unknown = LINE.replace("pts:   1024", "pts:  NOPTS");
        assert_eq!(shown(&unknown, tick), Some(Shown { time: None, size: Some((64, 48)) }));
        assert_eq!(time_base(&base.replace("10240", "0")), None);
        for other in ["[info] Output #0", "[Parsed_showinfo_0 @ 0x5] [info] color_range:unknown", ""] {
            assert_eq!((shown(other, tick), time_base(other), complaint(other)), (None, None, None));
        }
        let said = complaint("[h264 @ 0x55] [error] error while decoding MB 3 4\n");
        assert_eq!(said.as_deref(), Some("error while decoding MB 3 4"));
        assert_eq!(complaint("[fatal] file:x: No such file\n").as_deref(), Some("file:x: No such file"));
        assert_eq!(complaint("[error] av_interleaved_write_frame(): Broken pipe\n"), None);
    }
}
