//! What ffmpeg is told to read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long ffmpeg and ffprobe look at a stream at most before they tell what it is, each of them: 5 s of it, or 7.
const PROBING: Duration = Duration::from_secs(8);

/// What a process opens of its own: to another one these names are something else.
const OF_THIS_PROCESS: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self"];

/// A file, a camera or an address.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// As it was given, but for the `file:` of a file.
    given: PathBuf,
    /// As ffmpeg finds it; `None` for a file that has no name.
    found: Option<PathBuf>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Camera,
    Address,
}

impl Input {
    /// Tells what `given` is by its form alone.
    pub fn new(given: &Path) -> Self {
        let given = local(given);
        let kind = match given.to_str() {
            Some(text) if is_address(text) => Kind::Address,
            _ if is_camera(given) => Kind::Camera,
            _ => Kind::File,
        };
        let own = kind == Kind::File && OF_THIS_PROCESS.iter().any(|own| given.starts_with(own));
        let found = if own { given.canonicalize().ok() } else { Some(given.into()) };
        Self { given: given.into(), found, kind }
    }

    /// As it was given, but for the `file:` of a file.
    pub fn path(&self) -> &Path {
        &self.given
    }

    /// Whether it goes on while it is read, and has no beginning that one could go back to.
    pub fn is_live(&self) -> bool {
        self.kind != Kind::File
    }

    /// Whether it has no end of its own: where frames end, something has happened to it. (A stream of a network ends as
    /// its server says; that a server has gone looks the same.)
    pub fn is_endless(&self) -> bool {
        self.kind == Kind::Camera
    }

    /// Whether another program can find it.
    pub fn has_name(&self) -> bool {
        self.found.is_some()
    }

    /// Whether it is opened over a network.
    pub fn is_address(&self) -> bool {
        self.kind == Kind::Address
    }

    /// How much longer than a frame it may take until it is known what it is.
    pub fn probing(&self) -> Duration {
        if self.is_address() { PROBING } else { Duration::ZERO }
    }

    /// As ffmpeg has it: a file is called one, so that no name of it means something else.
    pub fn argument(&self) -> OsString {
        let given = self.found.as_ref().unwrap_or(&self.given).clone().into_os_string();
        match self.kind {
            Kind::File => [OsString::from("file:"), given].into_iter().collect(),
            Kind::Camera | Kind::Address => given,
        }
    }

    /// The arguments that open it.
    pub fn arguments(&self) -> Vec<OsString> {
        let before: &[&str] = match self.kind {
            Kind::File => &[],
            Kind::Camera => &["-f", "v4l2"],
            // Over UDP, which is the default, packets are lost and pictures are torn.
            Kind::Address if self.given.to_string_lossy().starts_with("rtsp") => &["-rtsp_transport", "tcp"],
            Kind::Address => &[],
        };
        before.iter().chain(&["-i"]).map(OsString::from).chain([self.argument()]).collect()
    }
}

/// The path of a file that is named as an address, `file:NAME` or `file:///PATH`. As ffmpeg has it, no letter of it
/// stands for another one. One that is really called so goes first.
pub fn local(given: &Path) -> &Path {
    let rest = given.to_str().and_then(|text| text.strip_prefix("file:")).filter(|rest| !rest.is_empty());
    match rest {
        Some(rest) if !given.exists() => {
            Path::new(rest.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(rest))
        }
        _ => given,
    }
}

/// Whether a word is the address of a stream, as `rtsp://…`.
fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Whether a path is that of a video device, there or not.
fn is_camera(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("/dev/video") || text.starts_with("/dev/v4l/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_cameras_and_addresses() {
        let told = |given: &str| Input::new(Path::new(given)).arguments().join(" ".as_ref()).into_string().unwrap();
        assert_eq!(told("clip.mp4"), "-i file:clip.mp4");
        // Names that ffmpeg would take for a flag, a protocol or a pattern.
        assert_eq!(told("-y.mp4"), "-i file:-y.mp4");
        assert_eq!(told("concat:a|b"), "-i file:concat:a|b");
        assert_eq!(told("/dev/video0"), "-f v4l2 -i /dev/video0");
        assert_eq!(told("rtsp://10.0.0.7/live"), "-rtsp_transport tcp -i rtsp://10.0.0.7/live");
        assert_eq!(told("http://host/clip.mp4"), "-i http://host/clip.mp4");
        assert_eq!(told("a b://c"), "-i file:a b://c");
        // A file by its address, and one that another program has to find.
        assert_eq!(told("file:clip.mp4"), "-i file:clip.mp4");
        assert_eq!(told("file:///a/b%20c.mp4"), "-i file:/a/b%20c.mp4");
        assert_eq!(told("file:/a/b.mp4"), "-i file:/a/b.mp4");
        assert_eq!(told("file:"), "-i file:file:");
        let live = |given: &str| Input::new(Path::new(given)).is_live();
        assert!(live("/dev/video0") && live("udp://@:1234") && !live("clip.mp4"));
        let endless = |given: &str| Input::new(Path::new(given)).is_endless();
        assert!(endless("/dev/video0") && !endless("rtsp://10.0.0.7/live") && !endless("clip.mp4"));
    }
}
