//! Conversations with the server, all of it in memory.

use std::io::{self, BufReader, ErrorKind, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::tracker::{Params, Tracker};

const WIDTH: usize = 64;
const HEIGHT: usize = 48;

/// A bright blob with a pattern on it, over noise, at column `x`. The tracker moves by cells of 4 pixels, and so does
/// the blob.
fn pixels(x: usize) -> Vec<u8> {
    let noise = |i: usize| (i * 7919 % 61 + i / WIDTH * 31 % 43) as u8;
    let blob = |i: usize| {
        let (column, row) = ((i % WIDTH).wrapping_sub(x), (i / WIDTH).wrapping_sub(16));
        (column < 16 && row < 16).then(|| 120 + (column * 37 % 50 + row * 53 % 60) as u8)
    };
    (0..WIDTH * HEIGHT).map(|i| blob(i).unwrap_or_else(|| noise(i))).collect()
}

fn raw(x: usize) -> String {
    format!("image:{WIDTH};{HEIGHT};gray8;{}", STANDARD.encode(pixels(x)))
}

fn png(x: usize) -> Vec<u8> {
    crate::png::encode(&pixels(x), (WIDTH as u32, HEIGHT as u32), image::ExtendedColorType::L8).unwrap()
}

fn params() -> Params {
    Params::preset("paper").unwrap()
}

/// What the server says to these lines, and how it ends.
fn told(version: u8, lines: &[String]) -> (Vec<String>, crate::Result<()>) {
    let client: String = lines.iter().map(|line| format!("@@TRAX:{line}\n")).collect();
    let mut output = Vec::new();
    let ended = serve(client.as_bytes(), &mut output, &params(), Version::new(version).unwrap());
    (String::from_utf8(output).unwrap().lines().map(String::from).collect(), ended)
}

/// The regions of the states that are said to these lines.
fn regions(version: u8, lines: &[String]) -> Vec<String> {
    let (said, ended) = told(version, lines);
    ended.unwrap();
    let region = |line: &String| Some(line.strip_prefix("@@TRAX:state \"")?.split('"').next()?.to_owned());
    said.iter().filter_map(region).collect()
}

const BOX: &str = "20,16,16,16";

#[test]
fn each_version_introduces_itself() {
    for version in 1..=4 {
        let (said, ended) = told(version, &["quit".into()]);
        assert!(ended.is_ok() && said.len() == 1);
        let body = said[0].strip_prefix("@@TRAX:").unwrap();
        let hello = Message::parse(body.as_bytes()).unwrap();
        assert_eq!((hello.kind, hello.arguments.len()), (Kind::Hello, 0));
        let get = |key: &str| {
            let found = hello.properties.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| String::from_utf8(value.to_vec()).unwrap())
        };
        assert_eq!(get("trax.version").unwrap(), version.to_string());
        assert_eq!(get("trax.image").unwrap(), "path;memory;buffer;");
        assert_eq!(get("trax.region").unwrap().contains("mask;"), version >= 3);
        assert_eq!(get("trax.channels").is_some(), version >= 2);
        assert_eq!(get("trax.multiobject").is_some(), version >= 4);
        assert_eq!(get("trax.name").unwrap(), "kcf-track");
    }
    assert!(Version::new(0).is_err() && Version::new(5).is_err());
}

#[test]
fn its_boxes_are_those_of_the_tracker() {
    let mut tracker = Tracker::new(params()).unwrap();
    let mut expected = vec![BOX.to_owned()];
    for (count, x) in [20, 24, 28, 32].into_iter().enumerate() {
        let pixels = pixels(x);
        let frame = Frame::gray(&pixels, WIDTH, HEIGHT).unwrap();
        match count {
            0 => drop(tracker.init(frame, BBox::new(20.0, 16.0, 16.0, 16.0)).unwrap()),
            _ => expected.push(tracker.update(frame).unwrap().bbox.to_string()),
        }
    }
    assert!(expected[3].starts_with("32"), "{expected:?}");
    let frames = [24, 28, 32].map(|x| format!("frame {}", raw(x)));
    for version in 1..=3 {
        let lines = [&[format!("initialize {} {BOX}", raw(20))][..], &frames].concat();
        assert_eq!(regions(version, &lines), expected, "{version}");
    }
    let lines = [&[format!("initialize \"{BOX}\""), format!("frame \"{}\"", raw(20))][..], &frames].concat();
    assert_eq!(regions(4, &lines), expected);
}

#[test]
fn a_client_may_begin_anew() {
    let begin = |x: usize| format!("initialize {} {x},16,16,16", raw(x));
    let lines = [begin(20), format!("frame {}", raw(24)), begin(32), format!("frame {}", raw(28))];
    let said = regions(1, &lines);
    assert!(said[1].starts_with("24") && said[2].starts_with("32") && said[3].starts_with("28"), "{said:?}");
}

#[test]
fn objects_come_and_are_forgotten_together() {
    let frame = |x: usize| format!("frame {}", raw(x));
    let add = |text: &str| format!("initialize {text}");
    let begin: [String; 3] = [add("20,16,16,16"), add("18,14,20,20"), frame(20)];
    let said = regions(4, &[&begin[..], &[frame(24), add("24,16,8,8"), frame(24), frame(28)]].concat());
    assert_eq!(said.len(), 2 + 2 + 3 + 3);
    // In the order in which they came; a new one first answers the box that it was given.
    assert!(said[2].starts_with("24") && said[3].starts_with("22") && said[6] == "24,16,8,8", "{said:?}");
    assert!(said[7].starts_with("28") && said[8].starts_with("26"), "{said:?}");
    // Others of other images after a beginning.
    let other = format!("frame image:32;32;gray8;{}", STANDARD.encode(&pixels(20)[..32 * 32]));
    let said = regions(4, &[&begin[..], &[add(""), add("8,8,12,12"), other]].concat());
    assert_eq!((said.len(), said[2].as_str()), (3, "8,8,12,12"));
}

#[test]
fn images_come_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b.png");
    std::fs::write(&path, png(23)).unwrap();
    let first = format!("initialize {} {BOX}", raw(20));
    let expected = regions(3, &[first.clone(), format!("frame {}", raw(23))]);
    let rgb = STANDARD.encode(pixels(23).iter().flat_map(|v| [*v; 3]).collect::<Vec<_>>());
    let words = STANDARD.encode(pixels(23).iter().flat_map(|v| [*v; 2]).collect::<Vec<_>>());
    for image in [
        format!("\"file://{}\"", path.display()),
        format!("\"{}\"", path.display()),
        format!("\"data:image/png;{}\"", STANDARD.encode(png(23))),
        format!("image:{WIDTH};{HEIGHT};rgb;{rgb}"),
        format!("image:{WIDTH};{HEIGHT};gray16;{words}"),
    ] {
        assert_eq!(regions(3, &[first.clone(), format!("frame {image}")]), expected, "{image}");
    }
}

#[test]
fn regions_are_answered_in_their_form() {
    let with = |region: &str| regions(3, &[format!("initialize {} {region}", raw(20)), format!("frame {}", raw(24))]);
    assert_eq!(with(BOX), ["20,16,16,16", "24,16,16,16"]);
    let polygon = ["20,16,36,16,36,32,20,32", "24,16,40,16,40,32,24,32"];
    assert_eq!(with("20,16,36,16,36,32,20,32"), polygon);
    // Its upright box.
    assert_eq!(with("28,16,36,24,28,32,20,24"), polygon);
    let mask = format!("mask:20,16,16,16{}", ",0,16".repeat(16));
    assert_eq!(with(&mask), ["20,16,16,16", "24,16,16,16"]);
}

/// Lines of which the last is refused, and why.
fn misuse() -> Vec<(u8, Vec<String>, &'static str)> {
    let image = raw(20);
    let begin = format!("initialize {image} {BOX}");
    let of = |version, lines: &[&str], said| (version, lines.iter().map(|line| (*line).into()).collect(), said);
    vec![
        of(1, &["jump"], "`jump` is no message"),
        of(1, &[&format!("frame {image}")], "before any object"),
        of(4, &[&format!("frame {image}")], "before any object"),
        of(4, &["initialize", &format!("frame {image}")], "before any object"),
        of(4, &["initialize 20,16,16,16", "initialize", &format!("frame {image}")], "before any object"),
        of(1, &["initialize"], "has 0 arguments, and in version 1 it has an image and a region"),
        of(1, &["initialize 20,16,16,16"], "has 1 arguments"),
        of(4, &[&begin], "has 2 arguments, and in version 4 it has a region"),
        of(1, &[&begin, "frame"], "it has an image"),
        of(1, &[&begin, &format!("frame {image} {image}")], "has 2 arguments"),
        of(1, &["quit now"], "it has none"),
        of(1, &["hello"], "the server's to say"),
        of(1, &[&begin, "state 1,2,3,4"], "the server's to say"),
        of(1, &["frame \"a"], "do not end"),
        of(2, &[&format!("initialize {image} mask:20,16,16,16,0,256")], "masks are regions of version 3"),
        of(4, &["initialize 1,2,3"], "neither left,top"),
        of(1, &[&format!("initialize {image} 0")], "is a code"),
        of(1, &[&format!("initialize {image} nan,1,2,3")], "object 1: frame 1: box NaN"),
        of(1, &[&format!("initialize {image} 99,1,20,20")], "outside the frame"),
        of(1, &[&format!("initialize {image} 1,1,1e9,1e9")], "larger than the frame"),
        of(1, &[&format!("initialize {image} 1,1,0,5")], "above zero"),
        of(
            4,
            &["initialize 20,16,16,16", "initialize 99,1,20,20", &format!("frame {image}")],
            "object 2: frame 1: box",
        ),
        of(1, &[&begin, "frame file:///none/1.png"], "frame 2: /none/1.png: "),
        of(1, &[&begin, "frame image:9999999;9999999;rgb;AAAA"], "frame 2: `image:9999999;"),
        of(1, &[&begin, "frame image:2;2;gray8;AAAAAA=="], "a sequence must keep one size"),
        of(1, &[&begin, "frame http://example.com/a.jpg"], "nothing is fetched"),
        of(1, &[&begin, "frame data:image/jpeg;AAAA"], "frame 2: the image in the message: cannot decode"),
    ]
}

#[test]
fn what_breaks_the_rules_is_answered_by_one_quit_with_the_reason() {
    for (version, lines, reason) in misuse() {
        let (said, ended) = told(version, &lines);
        let Err(Error::Trax { message, reason: given }) = ended else { panic!("{lines:?}: {ended:?}") };
        assert!(given.contains(reason), "{lines:?}: {given}");
        assert_eq!(message, lines.len(), "{lines:?}");
        let quits: Vec<_> = said.iter().filter(|line| line.starts_with("@@TRAX:quit")).collect();
        assert_eq!(quits, [said.last().unwrap()]);
        let quit = Message::parse(&quits[0].as_bytes()["@@TRAX:".len()..]).unwrap();
        assert!(quit.arguments.is_empty() && quit.properties[0].0 == "trax.reason");
        assert_eq!(quit.properties[0].1, given.as_bytes());
    }
}

#[test]
fn objects_are_counted() {
    let many = vec!["initialize 20,16,16,16".to_owned(); MAX_OBJECTS + 1];
    let (said, ended) = told(4, &many);
    assert!(said.len() == 2 && said[1].contains("more than 1024 objects"), "{said:?}");
    assert!(matches!(ended, Err(Error::Trax { message, .. }) if message == MAX_OBJECTS + 1));
}

#[test]
fn settings_out_of_range_are_refused_before_a_word() {
    let mut params = params();
    params.set("search.filter.padding", "1.5").unwrap();
    if let crate::tracker::SearchParams::Filter(filter) = &mut params.search {
        filter.padding = -1.0;
    }
    let mut output = Vec::new();
    let ended = serve(&b""[..], &mut output, &params, Version::LATEST);
    assert!(matches!(ended, Err(Error::Parameter { .. })) && output.is_empty());
}

/// A client that goes away after it has read so many bytes.
struct Gone(usize);

impl Write for Gone {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_client_that_goes_away_ends_it_at_any_moment() {
    let client = format!("@@TRAX:initialize {} {BOX}\n@@TRAX:frame {}\n@@TRAX:frame nothing\n", raw(20), raw(23));
    let mut whole = Vec::new();
    assert!(serve(client.as_bytes(), &mut whole, &params(), Version::new(1).unwrap()).is_err());
    for bytes in (0..whole.len()).step_by(7) {
        let ended = serve(client.as_bytes(), Gone(bytes), &params(), Version::new(1).unwrap());
        // It is no failure, unless the failure came before.
        assert!(matches!(ended, Ok(()) | Err(Error::Trax { message: 3, .. })), "{bytes}: {ended:?}");
    }
    // The other end of a socket.
    struct Reset;
    impl Read for Reset {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::ConnectionReset.into())
        }
    }
    assert!(serve(BufReader::new(Reset), io::sink(), &params(), Version::LATEST).is_ok());
}

#[test]
fn a_stream_that_ends_between_messages_is_no_failure_and_one_that_is_cut_is() {
    let client = format!("remark\n@@TRAX:initialize {BOX}\n@@TRAX:frame {}\n", raw(20));
    for end in (0..client.len()).step_by(11).chain([client.len() - 1, client.len()]) {
        let ended = serve(&client.as_bytes()[..end], io::sink(), &params(), Version::LATEST);
        let whole = end == 0 || client.as_bytes()[end - 1] == b'\n' || end < "remark\n".len();
        assert_eq!(ended.is_ok(), whole, "{end}: {ended:?}");
    }
}

/// Pieces that messages are made of, sense and nonsense.
fn piece() -> impl Strategy<Value = String> {
    let image = raw(20);
    prop_oneof![
        Just("\n@@TRAX:".to_owned()),
        prop::sample::select(vec!["initialize ", "frame ", "quit", "hello ", "state ", "\n", "\"", "\\", " "])
            .prop_map(String::from),
        Just(format!("\"{image}\" ")),
        Just(format!("{BOX} ")),
        prop::sample::select(vec!["mask:1,1,9,9,0,81 ", "1,1,9,1,9,9 ", "file:///dev/zero ", "k=v "])
            .prop_map(String::from),
        "[ -~]{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_comes_the_answer_is_protocol(pieces in prop::collection::vec(piece(), 0..24), version in 1..=4u8) {
        let mut output = Vec::new();
        let version = Version::new(version).unwrap();
        let ended = serve(pieces.concat().as_bytes(), &mut output, &params(), version);
        let output = String::from_utf8(output).unwrap();
        prop_assert!(output.ends_with('\n'));
        let mut kinds = Vec::new();
        for line in output.lines() {
            let body = line.strip_prefix("@@TRAX:");
            kinds.push(Message::parse(body.unwrap().as_bytes()).unwrap().kind);
        }
        prop_assert_eq!(kinds[0], Kind::Hello);
        let quits = kinds.iter().filter(|kind| **kind == Kind::Quit).count();
        prop_assert_eq!(quits, usize::from(ended.is_err()));
        prop_assert!(ended.is_ok() || kinds.last() == Some(&Kind::Quit));
        prop_assert!(kinds[1..].iter().all(|kind| matches!(kind, Kind::State | Kind::Quit)));
    }
}
