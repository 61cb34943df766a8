//! A conversation with the server of TraX. The first byte is the version of the protocol and the preset, the rest what a
//! client sends.

use kcf_track::serve::trax::{Kind, Message, Version, serve};
use kcf_track::{Error, Params};

fn main() {
    // The cost of their search areas is bounded, whatever box is asked for.
    let presets = ["fast", "robust"].map(|name| Params::preset(name).expect("a preset"));
    afl::fuzz!(|data: &[u8]| {
        let Some((number, stream)) = data.split_first() else { return };
        let version = Version::new(number % 4 + 1).expect("a version");
        let params = &presets[usize::from(number / 4 % 2)];
        let mut output = Vec::new();
        let ended = serve(stream, &mut output, params, version);
        assert!(matches!(ended, Ok(()) | Err(Error::Trax { .. })), "{ended:?}");
        // Whole messages come out, the first being `hello`, and `quit` is the last one or not there.
        let lines = output.strip_suffix(b"\n").expect("a whole line").split(|byte| *byte == b'\n');
        let kind = |line: &[u8]| Message::parse(line.strip_prefix(b"@@TRAX:").expect("a message")).expect("one").kind;
        let kinds: Vec<Kind> = lines.map(kind).collect();
        assert_eq!(kinds[0], Kind::Hello);
        let quits = kinds.iter().filter(|kind| **kind == Kind::Quit).count();
        assert_eq!(quits, usize::from(ended.is_err()));
        assert!(quits == 0 || kinds.last() == Some(&Kind::Quit));
    });
}
