//! Labels as other tools write them: read for certain, or refused.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::ffmpeg::ffmpeg;
use crate::helper::{Place, place, run};

const FRAMES: usize = 20;

/// The numbers of a box on the frames of 160x120 pixels: of a target that moves, and of one that stands.
fn car(frame: usize) -> [f64; 4] {
    [30.0 + 2.0 * frame as f64, 40.0, 24.0, 32.0]
}
const SIGN: [f64; 4] = [100.0, 60.0, 30.0, 24.0];

/// A frame and the box in it, the id of a target and its boxes, and all targets.
type At = (usize, [f64; 4]);
type Track = (u64, Vec<At>);
type Tracks = Vec<Track>;

/// The id of a target, its frames, and its box where it is not that of [`car`].
type Given<'a> = (u64, &'a [usize], Option<[f64; 4]>);

/// What becomes of a file.
enum Right<'a> {
    /// The ids with their frames and boxes.
    Boxes(Tracks),
    /// The same, and a warning.
    Said(Tracks, &'a str),
    Refused(&'a str),
}

fn boxes(given: &[Given<'_>]) -> Tracks {
    let of = |(id, frames, bbox): &Given<'_>| {
        (*id, frames.iter().map(|&frame| (frame, bbox.unwrap_or_else(|| car(frame)))).collect())
    };
    given.iter().map(of).collect()
}

/// The car in these frames, with the id 1.
fn cars(frames: &[usize]) -> Tracks {
    boxes(&[(1, frames, None)])
}

fn all_frames() -> Vec<usize> {
    (1..=FRAMES).collect()
}

/// Files of labels, and what becomes of them.
struct Table {
    place: Place,
    has_video: bool,
    wrong: Vec<String>,
    count: usize,
}

impl Table {
    fn new() -> Self {
        let place = place(FRAMES);
        let encode = "-framerate 25 -i seq/img/%04d.png -c:v mpeg4 -q:v 2 -g 10 clip.mp4";
        let has_video = ffmpeg(place.path("").as_path(), encode);
        Self { place, has_video, wrong: Vec::new(), count: 0 }
    }

    fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.place.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Tracks the folder from a file that was written; `flags` may follow the name.
    fn folder(&mut self, what: &str, file: &str, right: Right<'_>) {
        let seq = self.place.seq();
        self.check(what, &seq, file, right);
    }

    fn video(&mut self, what: &str, file: &str, right: Right<'_>) {
        if self.has_video {
            let clip = self.place.path("clip.mp4");
            self.check(what, &clip, file, right);
        }
    }

    fn text(&mut self, what: &str, text: &str, right: Right<'_>) {
        self.write("file.txt", text);
        self.folder(what, "file.txt", right);
    }

    fn check(&mut self, what: &str, source: &Path, file: &str, right: Right<'_>) {
        let mut command = run([source]);
        command.args(self.place.words(&format!("--init-file @{file} --preset paper --json @again.json -q")));
        let _ = fs::remove_file(self.place.path("again.json"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_one_line = said.lines().count() <= 1;
        let found = match output.status.code() {
            Some(0) => Ok(given(&self.place.json("again.json"))),
            Some(2) => Err(()),
            code => panic!("{what}: exit code {code:?}: {said}"),
        };
        let (is_right, wanted) = match &right {
            Right::Boxes(boxes) => (found.as_ref().is_ok_and(|found| are_near(found, boxes)), format!("{boxes:?}")),
            Right::Said(boxes, text) => {
                let is_right = found.as_ref().is_ok_and(|found| are_near(found, boxes)) && said.contains(text);
                (is_right, format!("{boxes:?} and {text}"))
            }
            Right::Refused(text) => (found.is_err() && is_one_line && said.contains(text), format!("refused: {text}")),
        };
        self.count += 1;
        let shown: String = format!("{found:?}").chars().take(400).collect();
        println!("{} | {what} | {shown} | {}", if is_right { "right" } else { "WRONG" }, said.trim_end());
        if !is_right {
            self.wrong.push(format!("{what}\n  found {shown}\n  said {said}\n  right: {wanted}"));
        }
    }

    /// Checks that the only target of a file has this number of ends.
    fn check_ends(&mut self, what: &str, file: &str, ends: usize) {
        if self.has_video {
            let line = format!("@clip.mp4 --init-file @{file} --preset paper --json @again.json -q --force");
            let status = run(self.place.words(&line)).output().unwrap().status;
            let document = self.place.json("again.json");
            let given = document["targets"][0]["given"].as_array().unwrap();
            let found = given.iter().filter(|given| given["bbox"].is_null()).count();
            if !status.success() || found != ends {
                self.wrong.push(format!("{what}: {found} ends of {ends}"));
            }
        }
    }

    fn end(self, least: usize) {
        assert!(self.wrong.is_empty(), "{} of {}:\n{}", self.wrong.len(), self.count, self.wrong.join("\n"));
        assert!(self.count >= least || !self.has_video, "{} inputs", self.count);
    }
}

fn given(document: &Value) -> Tracks {
    let of = |target: &Value| {
        let given = target["given"].as_array().unwrap().iter();
        let boxes = given.filter_map(|given| {
            let bbox = serde_json::from_value(given["bbox"].clone()).ok()?;
            Some((given["frame"].as_u64().unwrap() as usize, bbox))
        });
        (target["id"].as_u64().unwrap(), boxes.collect())
    };
    document["targets"].as_array().unwrap().iter().map(of).collect()
}

/// Rounded numbers of a file may differ by a hundredth of a pixel.
fn are_near(a: &[Track], b: &[Track]) -> bool {
    let is_near =
        |((frame, a), (other, b)): (&At, &At)| frame == other && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.02);
    let is_same =
        |((id, a), (other, b)): (&Track, &Track)| id == other && a.len() == b.len() && a.iter().zip(b).all(is_near);
    a.len() == b.len() && a.iter().zip(b).all(is_same)
}

fn joined(numbers: [f64; 4], separator: &str) -> String {
    numbers.map(|number| number.to_string()).join(separator)
}

/// MOT counts pixels from 1.
fn one_based([x, y, w, h]: [f64; 4]) -> [f64; 4] {
    [x + 1.0, y + 1.0, w, h]
}

/// Rows of a car in these frames, `tail` after each.
fn mot(id: i64, frames: impl IntoIterator<Item = usize>, tail: impl Fn(usize) -> String) -> String {
    let row = |frame| format!("{frame},{id},{}{}\n", joined(one_based(car(frame)), ","), tail(frame));
    frames.into_iter().map(row).collect()
}

#[test]
fn lists_of_trackers_and_people() {
    use Right::{Boxes, Refused, Said};
    let mut table = Table::new();
    let full = |score: &'static str| move |_: usize| format!(",{score},-1,-1,-1");
    let score = |frame: usize| if [4, 9].contains(&frame) { ",1.00,-1,-1,-1" } else { ",0.90,-1,-1,-1" }.to_string();
    table.text("scores, some 1.00", &mot(1, 1..=FRAMES, score), Boxes(cars(&all_frames())));
    let first = |frame: usize| if frame == 1 { ",1.00,-1,-1,-1" } else { ",0.85,-1,-1,-1" }.to_string();
    table.text("scores, the first 1.00", &mot(1, 1..=5, first), Boxes(cars(&[1, 2, 3, 4, 5])));
    let own = |frame: usize| if frame == 1 || frame == 4 { ",1,-1,-1,-1" } else { ",0.85,-1,-1,-1" }.to_string();
    table.text("our own", &mot(1, 1..=5, own), Boxes(cars(&[1, 4])));
    table.text("ground truth of 9 columns", &mot(1, 1..=3, |_| ",1,1,0.8".into()), Boxes(cars(&[1, 2, 3])));
    let ignored = mot(1, 1..=3, |_| ",1,1,0.8".into()) + &mot(2, 1..=3, |_| ",0,7,0.1".into());
    table.text("rows that do not count", &ignored, Boxes(cars(&[1, 2, 3])));
    table.text("detections", &mot(-1, 1..=3, full("0.7")), Refused("--detections"));
    table.text("detections of 6 columns", &mot(-1, 1..=3, |_| String::new()), Refused("--detections"));
    let mixed = mot(1, 1..=3, full("0.7")) + &mot(-1, 1..=2, full("0.7"));
    table.text("tracks and detections", &mixed, Boxes(cars(&[1, 2, 3])));
    table.text("6 columns", &mot(1, 1..=FRAMES, |_| String::new()), Boxes(cars(&all_frames())));
    let sign: String = (1..=5).map(|frame| format!("{frame},60,{}\n", joined(one_based(SIGN), ","))).collect();
    let both = mot(1, 1..=5, |_| String::new()) + &sign;
    let two = boxes(&[(1, &[1, 2, 3, 4, 5], None), (60, &[1, 2, 3, 4, 5], Some(SIGN))]);
    table.text("6 columns, two targets", &both, Boxes(two.clone()));
    let mut sorted: Vec<&str> = both.lines().collect();
    sorted.sort_unstable();
    table.text("6 columns, by frame", &sorted.join("\n"), Boxes(two));
    table.text("7 columns with scores", &mot(1, [1, 2], |_| ",0.9".into()), Boxes(cars(&[1, 2])));
    table.text("7 columns that may be either", &mot(1, [1, 2], |_| ",1".into()), Refused("frame,id,x,y,w,h of MOT"));
    table.text("8 columns", &mot(3, 1..=4, |_| ",0.9,0".into()), Boxes(boxes(&[(3, &[1, 2, 3, 4], None)])));
    let zero = mot(1, 0..=4, |_| String::new());
    table.text("6 columns, frames from 0", &zero, Refused("--labels-base 0"));
    let moved: Vec<_> = (0..=4).map(|frame| (frame + 1, car(frame))).collect();
    table.folder("6 columns, frames from 0, said", "file.txt --labels-base 0", Boxes(vec![(1, moved)]));
    let sparse = mot(1, [1, 6, 11], |_| String::new());
    table.text("6 columns, some frames", &sparse, Refused("write the right one"));
    let headed = |header: &str, rows: &str| format!("{header}\n{rows}");
    let one = mot(1, [1, 2], |_| String::new());
    table.text("a header of MOT", &headed("frame,id,x,y,w,h", &one), Boxes(cars(&[1, 2])));
    let long = "frame,id,bb_left,bb_top,bb_width,bb_height,conf";
    table.text("a long header", &headed(long, &mot(1, [1, 2], |_| ",1".into())), Boxes(cars(&[1, 2])));
    table.text("another header", &headed("x,y,w,h,frame,id", &one), Refused("the columns must be"));
    for (what, separator) in [("blanks", " "), ("semicolons", ";"), ("tabs", "\t")] {
        let rows = mot(1, 1..=4, full("0.5")).replace(',', separator);
        table.text(what, &rows, Boxes(cars(&[1, 2, 3, 4])));
    }
    table.text(
        "no end of the last line, CR LF",
        &mot(1, 1..=4, full("0.5")).replace('\n', "\r\n"),
        Boxes(cars(&[1, 2, 3, 4])),
    );
    let decimal = "1;1;33,0;41,0;24,0;32,0;0,90;-1;-1;-1\n2;1;35,0;41,0;24,0;32,0;0,80;-1;-1;-1\n";
    table.text("decimal commas", decimal, Boxes(cars(&[1, 2])));
    table.text(
        "decimal commas in our line",
        "1;1;32,0;40,0;24,0;32,0\n",
        Boxes(vec![(1, vec![(1, [32.0, 40.0, 24.0, 32.0])])]),
    );
    let ended = mot(1, 1..=5, full("0.5")) + &mot(2, 3..=9, full("0.5"));
    let two = boxes(&[(1, &[1, 2, 3, 4, 5], None), (2, &[3, 4, 5, 6, 7, 8, 9], None)]);
    table.text("a target that ends before another", &ended, Said(two, "1 targets have no box up to"));
    let commas = "1,1,33,00,41,00,24,00,32,00\n2,1,35,00,41,00,24,00,32,00\n";
    table.text("decimal commas between commas", commas, Refused("may be the decimal point"));
    table.text("the same with blanks", &commas.replace("00,", "00, "), Refused("may be the decimal point"));
    table.text("a thousands point", "1;1;1.032,0;40,0;24,0;32,0\n", Refused("`1.032,0` is not a number"));
    let zero = mot(1, 0..=3, full("0.5"));
    table.text("frames from 0", &zero, Refused("--labels-base 0"));
    let moved: Vec<_> = (0..=3).map(|frame| (frame + 1, car(frame))).collect();
    table.folder("frames from 0, by a flag", "file.txt --labels-base 0", Boxes(vec![(1, moved)]));
    table.text("beyond the last frame", &mot(1, 18..=23, full("0.5")), Refused("frame 23"));
    table.video("beyond the last frame of a video", "file.txt", Right::Refused("frame 23"));
    table.text("a frame of 2^64", "18446744073709551615,1,3,4,5,6,1,-1,-1,-1\n", Refused("frame"));
    table.text("a box beyond all bounds", "1,1,1e308,4,5,6,1,-1,-1,-1\n", Refused("million"));
    table.text("a wide box", "1,1,3,4,2e6,6,1,-1,-1,-1\n", Refused("million"));
    table.text("a wrong row", &(mot(1, [1], full("1")) + "2,1,3\n"), Refused("line 2"));
    table.text(
        "two boxes of a target",
        &(mot(1, [1, 2], full("0.4")) + &mot(1, [2], full("0.4"))),
        Refused("two boxes"),
    );

    let line = |id: u64, frame: usize, bbox: [f64; 4]| format!("{id},{frame},{}\n", joined(bbox, ","));
    let two = line(1, 1, car(1)) + &line(2, 1, SIGN);
    table.text("our lines, two in a frame", &two, Boxes(boxes(&[(1, &[1], None), (2, &[1], Some(SIGN))])));
    let one = line(1, 3, car(3)) + &line(1, 9, car(9)) + &line(1, 15, car(15));
    table.text("our lines, one corrected", &one, Boxes(cars(&[3, 9, 15])));
    table.text("one of our lines", &line(7, 3, car(3)), Boxes(boxes(&[(7, &[3], None)])));
    let all: String = (1..=FRAMES).map(|frame| line(1, frame, car(frame))).collect();
    table.text("our lines, each frame", &all, Boxes(cars(&all_frames())));
    table.text(
        "either order",
        &(line(1, 1, car(1)) + &line(2, 1, car(2))),
        Refused("id,frame,x,y,w,h or frame,id,x,y,w,h"),
    );
    table.text(
        "our header",
        &("id,frame,x,y,w,h\n".to_owned() + &line(1, 1, car(1)) + &line(2, 1, car(1))),
        Boxes(boxes(&[(1, &[1], None), (2, &[1], Some(car(1)))])),
    );
    table.text("blanks in our lines", &line(7, 3, car(3)).replace(',', " "), Boxes(boxes(&[(7, &[3], None)])));
    let many: String = (1..=101).map(|id| line(id, 1, car(1))).collect();
    table.text("a hundred and one targets", &format!("id,frame,x,y,w,h,class,name\n{many}"), Refused("100 targets"));
    let rows: String = (1..=101).map(|id| format!("1,{id},{},0.5,-1,-1,-1\n", joined(SIGN, ","))).collect();
    table.text("as many in MOT", &rows, Refused("of at most 100"));
    let crowd: String = (1..=10_000).map(|frame| line(1, frame, car(1))).collect();
    let still: Vec<_> = (1..=FRAMES).map(|frame| (frame, car(1))).collect();
    table.text("ten thousand rows of one", &crowd, Boxes(vec![(1, still)]));
    table.text("OTB", &"30,40,24,32\n".repeat(20), Refused("line 1"));
    table.text("our table", "index,file,x,y,w,h\n1,0001.png,1,2,3,4\n", Refused("the columns must be"));
    table.text("nothing", "", Refused("no target"));
    let all = 1..=FRAMES;
    table.text("MOT with classes in words", &mot(3, all.clone(), |_| ",car".into()), Refused("not for certain"));
    table.text("scores and classes in words", &mot(3, all.clone(), |_| ",0.9,car".into()), Refused("not for certain"));
    table.text("some frames from 0", &mot(3, [0, 5, 10], |_| String::new()), Refused("--labels-base 0"));
    table.text("milliseconds", &mot(3, [40, 80, 120], |_| String::new()), Refused("not for certain"));
    table.text("6 columns, neither end", &mot(3, 5..=12, |_| String::new()), Refused("give --labels-base"));
    table.folder(
        "6 columns, neither end, said",
        "file.txt --labels-base 1",
        Boxes(boxes(&[(3, &[5, 6, 7, 8, 9, 10, 11, 12], None)])),
    );
    table.text("eleven columns", &mot(1, all.clone(), |_| ",1,0,-1,-1,-1".into()), Refused("it has 11 cells"));
    table.text("an empty id", &mot(1, [1, 2], full("0.9")).replace("2,1,", "2,,"), Refused("line 2: `2,,"));
    let index: String =
        mot(1, all.clone(), |_| String::new()).lines().zip(0..).map(|(line, at)| format!("{at},{line}\n")).collect();
    table.text("an index of pandas", &index, Refused("not for certain"));
    let id_last: String = all.clone().map(|at| format!("{at},{},7\n", joined(car(at / 4), ","))).collect();
    table.text("the id behind the box", &id_last, Refused("frame,id,x,y,w,h of MOT"));
    let corners: String =
        all.clone().map(|at| format!("1 {at} {} 40 {} 72\n", car(at)[0], car(at)[0] + 24.0)).collect();
    table.text("a header of numpy", &format!("# id frame x1 y1 x2 y2\n{corners}"), Boxes(cars(&all_frames())));
    table.text("another header of numpy", &format!("# id frame cx cy w h\n{corners}"), Refused("the columns must be"));
    table.text("centres", "id,frame,center_x,center_y,w,h\n1,1,42,56,24,32\n", Refused("the columns must be"));
    table.text(
        "more cells than names",
        "id,frame,x,y,w,h\n1,1,32,40,24,32,car\n",
        Refused("7 cells, and the header 6"),
    );
    table.text("lines that end in CR", &mot(1, 1..=4, full("0.5")).replace('\n', "\r"), Boxes(cars(&[1, 2, 3, 4])));
    table.text("frames of ours from 0", &(line(1, 0, car(1)) + &line(1, 4, car(5))), Refused("--labels-base 0"));
    table.folder("frames of ours from 0, said", "file.txt --labels-base 0", Boxes(cars(&[1, 5])));
    let fast: String = all.clone().map(|at| format!("{at},1,{},50,6,8\n", 7 * at)).collect();
    table.text("a small target that leaps", &fast, Refused("of MOT: write the right"));
    let walking: String = [1, 6, 11, 16]
        .iter()
        .flat_map(|at| (1..3).map(move |id| format!("{at},{id},{},{},24,40\n", 20 + 4 * at, 45 * id - 40)))
        .collect();
    table.text("people in some frames", &walking, Refused("of MOT: write the right"));
    let apart: String =
        [(3, SIGN), (7, car(1))].iter().map(|(id, bbox)| line(*id, 1, *bbox).replace('\n', ",car\n")).collect();
    let two = boxes(&[(3, &[1], Some(SIGN)), (7, &[1], None)]);
    table.text("our lines, ids with gaps", &apart, Boxes(two.clone()));
    table.text("a comment that is a sentence", &format!("# x, y, w, h in pixels\n{apart}"), Boxes(two.clone()));
    table.text("a comment with a title", &format!("# lines: id,frame,x,y,w,h,class\n{apart}"), Boxes(two.clone()));
    table.text(
        "a header with commas, rows without",
        &format!("id,frame,x,y,w,h,class\n{}", apart.replace(',', ";")),
        Boxes(two.clone()),
    );
    table.text(
        "quotes after blanks",
        &apart.replace(",car", ", \"a, \"\"b\"\"\", c;d").replace(',', ", "),
        Boxes(two.clone()),
    );
    table.text(
        "a quote without its end",
        &apart.replacen(",car", ",\"car", 1),
        Refused("line 1: `3,1,100,60,30,24,\"car`: a quote"),
    );
    table.text("empty rows of a spreadsheet", &format!("{apart},,,,,,\n,,,,,,\n"), Boxes(two.clone()));
    table.text(
        "an empty cell before tabs",
        &apart.replacen("3,1,", ",1,1,", 1).replace(',', "\t"),
        Refused("cell 1 is empty"),
    );
    let kinds: String = all.clone().map(|at| format!("{at},1,0,{},0.9,1\n", joined(car(at), ","))).collect();
    table.text("nine columns of another kind", &kinds, Refused("frame,id,x,y,w,h"));
    let none = mot(1, 1..=3, full("0")) + &mot(1, [4], full("1"));
    table.text("confidences that count and others", &none, Said(cars(&[4]), "3 boxes with the confidence 0"));
    table.text("none that counts", &mot(1, 1..=3, full("0")), Refused("all its boxes have the confidence 0"));
    table.write("file.txt", b"PK\x03\x04\xff\xfe");
    table.folder("a zip file", "file.txt", Refused("unpack"));
    symlink("/dev/zero", table.place.path("zero.txt")).unwrap();
    table.folder("a file without an end", "zero.txt", Refused("64 MB"));
    table.end(45);
}

/// A shape of CVAT in a frame from 0: its box, and more attributes.
fn shape(frame: usize, more: &str, bbox: [f64; 4]) -> String {
    let [x, y, w, h] = bbox;
    let more = if more.contains("keyframe") { more.to_owned() } else { format!("keyframe=\"1\" {more}") };
    format!(
        "<box frame=\"{frame}\" {more} xtl=\"{x}\" ytl=\"{y}\" xbr=\"{}\" ybr=\"{}\" z_order=\"0\"></box>\n",
        x + w,
        y + h
    )
}

fn track(more: &str, shapes: &str) -> String {
    format!("<track label=\"car\" source=\"manual\" {more}>{shapes}</track>\n")
}

/// A task of CVAT of 20 frames with 160x120 pixels.
fn task(name: &str, more: &str) -> String {
    let more = if more.contains("<size>") { more.to_owned() } else { format!("<size>20</size>{more}") };
    let size = "<original_size><width>160</width><height>120</height></original_size>";
    let size = if more.contains("original_size") { "" } else { size };
    format!("<task><id>{}</id><name>{name}</name>{more}{size}<source>{name}</source></task>", name.len())
}

fn dumped(meta: &str, tracks: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<annotations><version>1.1</version><meta>{meta}\
         <dumped>2026-01-01 00:00:00</dumped></meta>{tracks}</annotations>"
    )
}

#[test]
fn tracks_of_cvat() {
    use Right::{Boxes, Refused, Said};
    let mut table = Table::new();
    let own = task("clip.mp4", "");
    let car_from = |frames: &[usize]| frames.iter().map(|&frame| shape(frame - 1, "", car(frame))).collect::<String>();
    let sign = shape(0, "", SIGN);
    let two = boxes(&[(1, &[1], None), (2, &[1], Some(SIGN))]);
    for group in ["", "group_id=\"3\""] {
        let tracks = track(group, &car_from(&[1])) + &track(group, &sign);
        table.text(&format!("two tracks {group}"), &dumped(&own, &tracks), Boxes(two.clone()));
    }
    let later = track("group_id=\"3\"", &car_from(&[1])) + &track("group_id=\"3\"", &shape(5, "", SIGN));
    let apart = boxes(&[(1, &[1], None), (2, &[6], Some(SIGN))]);
    table.text("one group, later", &dumped(&own, &later), Boxes(apart));
    let groups = track("group_id=\"7\"", &car_from(&[1])) + &track("group_id=\"60\"", &sign);
    table.text("a group each", &dumped(&own, &groups), Boxes(boxes(&[(7, &[1], None), (60, &[1], Some(SIGN))])));

    let flag = track("", &(car_from(&[1]) + &shape(5, "outside=\"True\"", SIGN)));
    table.text("a flag in words", &dumped(&own, &flag), Refused("must be 0 or 1"));
    let pictures = task("clip.mp4", "<mode>annotation</mode>");
    table.text("pictures in the order of text", &dumped(&pictures, &track("", &car_from(&[1]))), Boxes(cars(&[1])));
    let of = |name: &str, shapes: &str| track(&format!("task_id=\"{}\"", name.len()), shapes);
    let tasks = |a: &str, b: &str| format!("<project><id>9</id><tasks>{a}{b}</tasks></project>");
    let tracks = of("other.mp4", &sign) + &of("clip.mp4", &car_from(&[1, 4]));
    let project = dumped(&tasks(&task("other.mp4", ""), &own), &tracks);
    table.text("a project, none of its tasks", &project, Refused("other.mp4, clip.mp4"));
    table.video("a project, by name", "file.txt", Said(cars(&[1, 4]), "1 other clips"));
    table.folder("a project, said", "file.txt --labels-clip clip.mp4", Boxes(cars(&[1, 4])));
    table.folder("a project, a wrong name", "file.txt --labels-clip no.mp4", Refused("other.mp4, clip.mp4"));
    let long = task("other.mp4", "<size>300</size>");
    table.text("a project, by length", &dumped(&tasks(&long, &own), &tracks), Boxes(cars(&[1, 4])));
    table.text("a track of no task", &dumped(&tasks(&long, &own), &track("", &sign)), Refused("to which of the tasks"));
    let one = track("", &car_from(&[1]));
    let meta = |more: &str| dumped(&task("clip.mp4", more), &one);
    table.text(
        "frames of another size",
        &meta("<original_size><width>320</width><height>240</height></original_size>"),
        Refused("320x240"),
    );
    table.text("another number of frames", &meta("<size>300</size>"), Refused("300 frames"));
    table.text("fewer frames", &meta("<size>9</size>"), Refused("9 frames"));
    table.folder("fewer frames, said", "file.txt --labels-clip clip.mp4", Refused("9 frames"));
    table.video("fewer frames of the same name", "file.txt", Refused("--labels-clip NAME"));
    table.video("the same, said", "file.txt --labels-clip clip.mp4", Said(cars(&[1]), "9 frames"));
    let halves = task("clip.mp4", "<name>one</name>") + &task("clip.mp4", "<name>two</name>");
    table.text("two tasks of a video", &dumped(&format!("<project>{halves}</project>"), &one), Refused("of the tasks"));
    let part = "<size>10</size><start_frame>5</start_frame><stop_frame>14</stop_frame>";
    table.text("a task of a part", &dumped(&task("clip.mp4", part), &track("", &car_from(&[7]))), Boxes(cars(&[7])));
    table.text("another name", &dumped(&task("other.mp4", ""), &one), Said(cars(&[1]), "other.mp4"));
    let polygon = "<polygon frame=\"0\" keyframe=\"1\" outside=\"0\" points=\"1,1;9,1;9,9\"></polygon>";
    let mask = "<mask frame=\"0\" keyframe=\"1\" outside=\"0\" rle=\"1, 2\" left=\"1\" top=\"1\" width=\"3\" height=\"3\"></mask>";
    let others = one.clone() + &track("", polygon) + &track("", mask);
    table.text("polygons and masks", &dumped(&own, &others), Said(cars(&[1]), "2 polygons or masks"));
    table.text("polygons alone", &dumped(&own, &track("", polygon)), Refused("there is no box"));
    let images =
        "<image id=\"0\" name=\"0001.png\"><box label=\"car\" xtl=\"1\" ytl=\"1\" xbr=\"9\" ybr=\"9\"/></image>";
    table.text("images", &dumped(&own, images), Refused("CVAT for video"));
    let life = car_from(&[1])
        + &shape(3, "keyframe=\"0\"", SIGN)
        + &shape(5, "outside=\"1\"", SIGN)
        + &shape(8, "occluded=\"1\"", car(9));
    table.text("interpolated, outside, occluded", &dumped(&own, &track("", &life)), Boxes(cars(&[1, 9])));
    let end = car_from(&[1]) + &shape(20, "outside=\"1\"", SIGN);
    table.text("outside after the last frame", &dumped(&own, &track("", &end)), Boxes(cars(&[1])));
    table.text("beyond the last frame", &dumped(&own, &track("", &shape(20, "", SIGN))), Refused("frame 21"));
    let far = shape(0, "", SIGN).replace("frame=\"0\"", "frame=\"18446744073709551615\"");
    table.text("a frame of 2^64", &dumped(&own, &track("", &far)), Refused("frame 18446744073709551615"));
    table.text("a box without a side", &dumped(&own, &track("", &sign.replace("xbr", "xb"))), Refused("without xbr"));
    table.text(
        "a box without a size",
        &dumped(&own, &track("", &shape(0, "", [9.0, 9.0, 0.0, 9.0]))),
        Refused("a width and a height"),
    );
    let many: String = (0..40_000).map(|number| format!(" a{number}=\"\"")).collect();
    table.text("many attributes", &dumped(&own, &track(&many, &sign)), Refused("200 of one element"));
    let extra = |given: bool| format!("<attribute name=\"given\">{given}</attribute></box>");
    let marked = car_from(&[1]).replace("</box>", &extra(true)) + &car_from(&[4]).replace("</box>", &extra(false));
    let own_file = dumped("", &track("", &marked)).replace("<dumped>2026-01-01 00:00:00</dumped>", "");
    table.text("our marks", &own_file, Boxes(cars(&[1])));
    table.text("our marks, saved by CVAT", &dumped("", &track("", &marked)), Boxes(cars(&[1, 4])));
    let foreign = car_from(&[1]).replace("</box>", &extra(false)) + &car_from(&[4]).replace("</box>", &extra(true));
    let foreign = dumped("", &track("", &foreign)).replace("<dumped>2026-01-01 00:00:00</dumped>", "");
    table.text("marks of others", &foreign, Boxes(cars(&[1, 4])));
    table.text("cut off", &project[..project.len() - 30], Refused("not XML of CVAT"));
    table.end(26);
}

/// Percent of the frame.
fn percent([x, y, w, h]: [f64; 4]) -> Value {
    json!({ "x": x / 1.6, "y": y / 1.2, "width": w / 1.6, "height": h / 1.2, "enabled": true, "rotation": 0 })
}

/// A region of Label Studio with the car of each frame of the source at a rate of its own, whose time begins at `from`.
fn region(frames: &[(usize, usize)], count: usize, rate: f64, from: f64) -> Value {
    let sequence: Vec<Value> = frames
        .iter()
        .map(|&(frame, of)| {
            let mut shape = percent(car(of));
            shape["frame"] = frame.into();
            shape["time"] = ((frame as f64 - 1.0 + from) / rate).into();
            shape
        })
        .collect();
    let value = json!({ "framesCount": count, "duration": 0.8, "sequence": sequence, "labels": ["car"] });
    json!({ "id": "x", "type": "videorectangle", "from_name": "box", "to_name": "video", "origin": "manual", "value": value })
}

fn annotation(region: &Value) -> Value {
    json!({ "id": 1, "was_cancelled": false, "result": [region] })
}

fn studio(video: &str, annotations: &[Value]) -> Value {
    json!({ "id": 1, "annotations": annotations, "predictions": [], "data": { "video": video } })
}

#[test]
fn tasks_of_label_studio() {
    use Right::{Boxes, Refused, Said};
    let mut table = Table::new();
    let name = "/data/upload/1/0a1b2c3d-clip.mp4";
    let plain = region(&[(1, 1), (4, 4)], 20, 25.0, 1.0);
    let other = region(&[(2, 2)], 20, 25.0, 1.0);
    let file = |table: &mut Table, value: Value| table.write("ls.json", value.to_string());
    file(&mut table, json!([studio(name, &[annotation(&plain)])]));
    table.video("a task", "ls.json", Boxes(cars(&[1, 4])));
    table.folder("a task for pictures", "ls.json", Said(cars(&[1, 4]), "clip.mp4"));
    file(&mut table, studio(name, &[annotation(&plain)]));
    table.video("a single task", "ls.json", Boxes(cars(&[1, 4])));
    let mut cancelled = annotation(&other);
    cancelled["was_cancelled"] = true.into();
    file(&mut table, json!([studio(name, &[cancelled.clone(), annotation(&plain)])]));
    table.video("a cancelled annotation", "ls.json", Boxes(cars(&[1, 4])));
    file(&mut table, json!([studio(name, &[cancelled])]));
    table.video("cancelled alone", "ls.json", Refused("cancelled"));
    file(&mut table, json!([studio(name, &[annotation(&other), annotation(&plain)])]));
    table.video("two annotations", "ls.json", Refused("2 annotations"));
    let mut truth = annotation(&plain);
    truth["ground_truth"] = true.into();
    file(&mut table, json!([studio(name, &[annotation(&other), truth])]));
    table.video("two annotations, one the truth", "ls.json", Boxes(cars(&[1, 4])));
    let two = json!([studio("/data/upload/1/other.mp4", &[annotation(&other)]), studio(name, &[annotation(&plain)])]);
    file(&mut table, two);
    table.video("two tasks", "ls.json", Said(cars(&[1, 4]), "1 other clips"));
    table.folder("two tasks for pictures", "ls.json", Refused("other.mp4"));
    table.folder("two tasks, said", "ls.json --labels-clip clip.mp4", Boxes(cars(&[1, 4])));
    for (what, rate, from, frames) in [
        ("half the rate", 12.5, 0.0, [(1, 1), (2, 3), (8, 15)]),
        ("half the rate, times from the end", 12.5, 1.0, [(1, 1), (2, 3), (8, 15)]),
        ("twice the rate", 50.0, 1.0, [(1, 1), (5, 3), (29, 15)]),
        // The browser shows the frame that has begun: that of .583 s is the 15th.
        ("the usual 24 frames", 24.0, 1.0, [(1, 1), (7, 7), (15, 15)]),
    ] {
        let count = (0.8 * rate) as usize;
        file(&mut table, json!([studio(name, &[annotation(&region(&frames, count, rate, from))])]));
        table.video(what, "ls.json", Said(cars(&frames.map(|(_, of)| of)), "by time"));
        if count != FRAMES {
            table.folder(&format!("{what}, for pictures"), "ls.json", Refused("and the source has 20"));
            table.folder(what, "ls.json --labels-clip clip.mp4", Refused("and the source has 20"));
        }
    }
    file(&mut table, json!([studio(name, &[annotation(&region(&[(6, 11)], 10, 12.5, 1.0))])]));
    table.video("one box at half the rate", "ls.json", Said(cars(&[11]), "by time"));
    let mut untimed = region(&[(1, 1), (7, 7)], 19, 24.0, 1.0);
    for shape in untimed["value"]["sequence"].as_array_mut().unwrap() {
        shape.as_object_mut().unwrap().remove("time");
    }
    file(&mut table, json!([studio(name, &[annotation(&untimed)])]));
    table.video("another rate without times", "ls.json", Refused("19 frames"));
    file(&mut table, json!([studio(name, &[annotation(&region(&[(6, 6)], 21, 25.0, 1.0))])]));
    table.video("one box, a longer sound", "ls.json", Boxes(cars(&[6])));
    let both = region(&[(1, 1), (2, 1), (3, 2)], 40, 50.0, 1.0);
    file(&mut table, json!([studio(name, &[annotation(&both)])]));
    table.video("two boxes in one frame", "ls.json", Said(cars(&[1, 2]), "by time"));
    let minimal = json!([{ "video": name, "id": 1, "box": [plain["value"]], "annotator": 1, "annotation_id": 4 }]);
    file(&mut table, minimal);
    table.video("JSON_MIN", "ls.json", Boxes(cars(&[1, 4])));
    let twice = json!([
        { "video": name, "id": 1, "box": [plain["value"]], "annotator": 1 },
        { "video": name, "id": 1, "box": [other["value"]], "annotator": 2 },
    ]);
    file(&mut table, twice);
    table.video("JSON_MIN of two people", "ls.json", Refused("leave out all but one"));
    let link = "https://bucket/a/clip.mp4?X-Amz-Signature=ab/cd";
    let linked = json!([studio("/x/other.mp4", &[annotation(&other)]), studio(link, &[annotation(&plain)])]);
    file(&mut table, linked);
    table.video("a link with a signature", "ls.json", Said(cars(&[1, 4]), "1 other clips"));
    let mut remark = plain.clone();
    (remark["id"], remark["type"]) = ("a".into(), "choices".into());
    let mut remarked = annotation(&plain);
    remarked["result"][0]["id"] = "a".into();
    remarked["result"].as_array_mut().unwrap().push(remark);
    file(&mut table, json!([studio(name, &[remarked])]));
    table.video("a remark on a region", "ls.json", Boxes(cars(&[1, 4])));
    let mut predicted = studio(name, &[]);
    predicted["predictions"] = json!([{ "model_version": "yolo", "result": [plain] }]);
    file(&mut table, json!([predicted.clone()]));
    table.video("a prediction", "ls.json", Boxes(cars(&[1, 4])));
    let again = predicted["predictions"][0].clone();
    predicted["predictions"].as_array_mut().unwrap().push(again);
    file(&mut table, json!([predicted]));
    table.video("two predictions", "ls.json", Refused("2 annotations"));
    let mut marked = plain.clone();
    marked["value"]["sequence"][0]["given"] = true.into();
    file(&mut table, json!([studio(name, &[annotation(&marked)])]));
    table.video("marks of others", "ls.json", Boxes(cars(&[1, 4])));
    let mut rear = annotation(&plain);
    let mut second = other.clone();
    second["to_name"] = "rear".into();
    rear["result"].as_array_mut().unwrap().push(second);
    file(&mut table, json!([studio(name, &[rear])]));
    table.video("regions of two videos", "ls.json", Refused("several videos, rear, video"));
    let mut ended = plain.clone();
    ended["value"]["sequence"][0]["enabled"] = false.into();
    ended["value"].as_object_mut().unwrap().remove("framesCount");
    file(&mut table, json!([studio(name, &[annotation(&ended)])]));
    table.check_ends("an end without a number of frames", "ls.json", 1);
    let mut far = plain.clone();
    far["value"]["sequence"][1]["frame"] = u64::MAX.into();
    file(&mut table, json!([studio(name, &[annotation(&far)])]));
    table.video("a frame of 2^64", "ls.json", Refused("frame"));
    let mut mixed = annotation(&plain);
    mixed["result"].as_array_mut().unwrap().push(json!({ "type": "brushlabels", "value": { "rle": [1, 2] } }));
    file(&mut table, json!([studio(name, &[mixed])]));
    table.video("a mask beside", "ls.json", Said(cars(&[1, 4]), "1 polygons or masks"));
    file(&mut table, json!([studio(name, &[annotation(&region(&[(1, 1)], 500, 25.0, 1.0))])]));
    table.video("another number of frames", "ls.json", Refused("500 frames"));
    table.end(28);
}

/// COCO with the car in these pictures.
fn coco(images: &[Value], of: &[(u64, usize, u64)]) -> Value {
    let annotation = |(number, &(image, frame, id)): (u64, &(u64, usize, u64))| json!({ "id": number, "image_id": image, "category_id": 1, "bbox": car(frame), "attributes": { "track_id": id } });
    json!({
        "images": images,
        "annotations": (1..).zip(of).map(annotation).collect::<Vec<_>>(),
        "categories": [{ "id": 1, "name": "car" }],
    })
}

fn image(id: u64, name: &str) -> Value {
    json!({ "id": id, "file_name": name, "width": 160, "height": 120 })
}

#[test]
fn pictures_of_coco() {
    use Right::{Boxes, Refused, Said};
    let mut table = Table::new();
    let file = |table: &mut Table, value: &Value| table.write("coco.json", value.to_string());
    let named = |name: &dyn Fn(usize) -> String| (1..=FRAMES).map(|at| image(at as u64, &name(at))).collect::<Vec<_>>();
    let plain = named(&|at| format!("{at:04}.png"));
    file(&mut table, &coco(&plain, &[(1, 1, 1), (5, 5, 1)]));
    table.folder("names", "coco.json", Boxes(cars(&[1, 5])));
    file(&mut table, &coco(&named(&|at| format!("{at:04}.JPG")), &[(1, 1, 1), (5, 5, 1)]));
    table.folder("names of another format", "coco.json", Boxes(cars(&[1, 5])));
    file(&mut table, &coco(&named(&|at| format!("train/images/{at:04}.png")), &[(1, 1, 1), (5, 5, 1)]));
    table.folder("names in folders", "coco.json", Boxes(cars(&[1, 5])));
    file(&mut table, &coco(&named(&|at| format!("train\\{at:04}.png")), &[(1, 1, 1), (5, 5, 1)]));
    table.folder("names in folders of Windows", "coco.json", Boxes(cars(&[1, 5])));
    let shuffled: Vec<_> = (1..=FRAMES).map(|at| image(((7 * at) % 23) as u64 + 50, &format!("{at:04}.png"))).collect();
    file(&mut table, &coco(&shuffled, &[(57, 1, 1), (62, 5, 1)]));
    table.folder("image ids in no order", "coco.json", Boxes(cars(&[1, 5])));
    let split = named(&|at| format!("{}/{at:04}.png", if at % 2 == 0 { "train" } else { "val" }));
    file(&mut table, &coco(&split, &[(1, 1, 1), (4, 4, 1)]));
    table.folder("training and validation", "coco.json", Boxes(cars(&[1, 4])));
    let folders: Vec<_> = ["camA", "camB"]
        .iter()
        .enumerate()
        .flat_map(|(cam, name)| {
            (1..=FRAMES).map(move |at| image((100 * cam + at) as u64, &format!("{name}/{at:04}.png")))
        })
        .collect();
    file(&mut table, &coco(&folders, &[(3, 3, 2), (101, 1, 1)]));
    table.folder("two folders", "coco.json", Refused("--labels-clip"));
    table.folder("two folders, said", "coco.json --labels-clip camB", Boxes(cars(&[1])));
    let own: Vec<_> = folders
        .iter()
        .map(|image| {
            let name = image["file_name"].as_str().unwrap().replace("camB", "seq/img");
            self::image(image["id"].as_u64().unwrap(), &name)
        })
        .collect();
    file(&mut table, &coco(&own, &[(3, 3, 2), (101, 1, 1)]));
    table.folder("two folders, one the source's", "coco.json", Boxes(cars(&[1])));
    let prefixed: Vec<_> = (1..=FRAMES)
        .flat_map(|at| {
            [image(at as u64, &format!("camA_{at:04}.png")), image(100 + at as u64, &format!("{at:04}.png"))]
        })
        .collect();
    file(&mut table, &coco(&prefixed, &[(3, 3, 2), (101, 1, 1)]));
    table.folder("names of two clips", "coco.json", Said(cars(&[1]), "1 boxes of 1 pictures"));
    table.folder("names of two clips, the other said", "coco.json --labels-clip camA", Refused("names no picture"));
    file(&mut table, &coco(&named(&|at| format!("camA_{at:04}.png")), &[(3, 3, 1)]));
    table.folder("names of other pictures", "coco.json", Refused("names no picture of the source"));
    let twice: Vec<_> = plain.iter().cloned().chain([image(99, "0003.png")]).collect();
    file(&mut table, &coco(&twice, &[(3, 3, 1)]));
    table.folder("a picture twice", "coco.json", Refused("both frame 3"));
    file(&mut table, &coco(&named(&|at| format!("frame_{:06}.PNG", at - 1)), &[(6, 6, 1)]));
    table.video("frames of a video, from 0", "coco.json", Said(cars(&[6]), "from 0 on"));
    file(&mut table, &coco(&named(&|at| format!("frame_{at:06}.jpg")), &[(6, 6, 1)]));
    table.video("frames of a video, from 1", "coco.json", Said(cars(&[6]), "from 1 on"));
    let middle: Vec<_> = (5..=12).map(|at| image(at as u64, &format!("frame_{at:06}.jpg"))).collect();
    file(&mut table, &coco(&middle, &[(6, 6, 1)]));
    table.video("a part of a video", "coco.json", Refused("--labels-base"));
    table.video("a part of a video, from 1", "coco.json --labels-base 1", Boxes(cars(&[6])));
    let frame_ids: Vec<_> = (1..=FRAMES).map(|at| json!({ "id": at, "video_id": 1, "frame_id": at - 1 })).collect();
    let mut video = coco(&frame_ids, &[(6, 6, 1)]);
    video["videos"] = json!([{ "id": 1, "name": "clip" }]);
    file(&mut table, &video);
    table.video("frame_id", "coco.json", Boxes(cars(&[6])));
    table.folder("frame_id for pictures", "coco.json", Boxes(cars(&[6])));
    for (what, name, right) in [
        ("frame_id and names that count alike", 1, Boxes(cars(&[6]))),
        ("frame_id and names that do not", 3, Refused("differs from the numbers in names")),
    ] {
        let image = |at: usize| json!({ "id": at, "frame_id": at - 1, "file_name": format!("x/{:06}.jpg", name * at) });
        file(&mut table, &coco(&(1..=FRAMES).map(image).collect::<Vec<_>>(), &[(6, 6, 1)]));
        table.video(what, "coco.json", right);
    }
    let apart: Vec<_> = (1..=FRAMES).map(|at| image(at as u64, &format!("{}/frames/{at:04}.png", at % 2))).collect();
    file(&mut table, &coco(&apart, &[(1, 1, 1), (4, 4, 1)]));
    table.folder("folders that share no frame", "coco.json", Refused("several folders, 0/frames, 1/frames"));
    file(&mut table, &coco(&named(&|at| format!("camB/{at:04}.png")), &[(1, 1, 1)]));
    table.folder("one other folder", "coco.json", Said(cars(&[1]), "its pictures are of camB"));
    table.folder("corners", "coco.json --init-format xyxy", Refused("--init-format is for lines"));
    let both: Vec<_> = [1, 2]
        .iter()
        .flat_map(|video| {
            (1..=FRAMES).map(move |at| json!({ "id": 100 * video + at, "video_id": video, "frame_id": at - 1 }))
        })
        .collect();
    let mut videos = coco(&both, &[(103, 3, 9), (206, 6, 1)]);
    videos["videos"] = json!([{ "id": 1, "name": "other" }, { "id": 2, "name": "clip" }]);
    file(&mut table, &videos);
    table.video("two videos", "coco.json", Said(cars(&[6]), "1 other clips"));
    table.folder("two videos for pictures", "coco.json", Refused("other, clip"));
    for image in videos["images"].as_array_mut().unwrap() {
        image["video_id"] = if image["video_id"] == 1 { "other" } else { "clip" }.into();
    }
    file(&mut table, &videos);
    table.video("a video that is not there", "coco.json", Refused("it has no video"));
    videos["videos"] = json!([{ "id": "other", "name": "other" }, { "id": "clip", "name": "clip" }]);
    file(&mut table, &videos);
    table.video("two videos with words for ids", "coco.json", Said(cars(&[6]), "1 other clips"));
    let mut nobody = coco(&plain, &[(1, 1, 1)]);
    nobody["annotations"][0]["attributes"] = json!({});
    file(&mut table, &nobody);
    table.folder("no track_id", "coco.json", Refused("track_id"));
    let mut shape = coco(&plain, &[(1, 1, 1), (5, 5, 1)]);
    shape["annotations"][1]["attributes"] = json!({});
    file(&mut table, &shape);
    table.folder("a shape beside a track", "coco.json", Said(cars(&[1]), "1 boxes without an id"));
    nobody["annotations"][0]["instance_id"] = 1.into();
    file(&mut table, &nobody);
    table.folder("instance_id", "coco.json", Boxes(cars(&[1])));
    let mut marked = coco(&plain, &[(1, 1, 1), (5, 5, 1), (9, 9, 1)]);
    marked["annotations"][1]["attributes"]["given"] = true.into();
    file(&mut table, &marked);
    table.folder("marks of others", "coco.json", Boxes(cars(&[1, 5, 9])));
    marked["info"] = json!({ "description": "kcf-track 0.1.0" });
    file(&mut table, &marked);
    table.folder("our marks", "coco.json", Boxes(cars(&[5])));
    let large: Vec<_> = (1..=3)
        .map(|at| json!({ "id": at, "file_name": format!("{at:04}.png"), "width": 320, "height": 240 }))
        .collect();
    file(&mut table, &coco(&large, &[(1, 1, 1)]));
    table.folder("frames of another size", "coco.json", Refused("320x240"));
    let mut wide = coco(&plain, &[(1, 1, 1)]);
    wide["annotations"][0]["bbox"][0] = 1e308.into();
    file(&mut table, &wide);
    table.folder("a box beyond all bounds", "coco.json", Refused("million"));
    file(&mut table, &coco(&[json!({ "id": 1 })], &[(1, 1, 1)]));
    table.folder("an image without a name", "coco.json", Refused("the number of a frame"));
    table.end(25);
}

fn yolo_line(class: u32, [x, y, w, h]: [f64; 4], more: &str) -> String {
    format!("{class} {} {} {} {}{more}\n", (x + w / 2.0) / 160.0, (y + h / 2.0) / 120.0, w / 160.0, h / 120.0)
}

#[test]
fn folders_of_yolo() {
    use Right::{Boxes, Refused, Said};
    let mut table = Table::new();
    let dataset = |table: &Table, name: &dyn Fn(usize) -> String, line: &dyn Fn(usize) -> String| {
        let _ = fs::remove_dir_all(table.place.path("yolo"));
        table.write("yolo/data.yaml", "names:\n  0: car\n  1: sign\n");
        (1..=FRAMES).for_each(|at| table.write(&format!("yolo/{}.txt", name(at)), line(at)));
    };
    let some = |at: usize| if [2, 7].contains(&at) { yolo_line(0, car(at), "") } else { String::new() };
    let numbered = |at: usize| format!("labels/train/{at:04}");
    dataset(&table, &numbered, &some);
    table.folder("a class", "yolo", Boxes(cars(&[2, 7])));
    let with = |more: &'static str| {
        move |at: usize| yolo_line(0, car(at), more) + &yolo_line(0, SIGN, &more.replace('3', "9"))
    };
    let both = boxes(&[(3, &all_frames(), None), (9, &all_frames(), Some(SIGN))]);
    dataset(&table, &numbered, &with(" 3"));
    table.folder("ids", "yolo", Boxes(both.clone()));
    dataset(&table, &numbered, &with(" 0.87 3"));
    table.folder("confidence and id", "yolo", Boxes(both));
    dataset(&table, &numbered, &with(""));
    table.folder("two boxes of a class", "yolo", Refused("class x y w h id"));
    dataset(&table, &numbered, &|at| yolo_line(0, car(at), " 0.87") + &yolo_line(1, SIGN, " 0.9"));
    let classes = boxes(&[(1, &all_frames(), None), (2, &all_frames(), Some(SIGN))]);
    table.folder("confidences", "yolo", Boxes(classes));
    dataset(&table, &numbered, &|at| yolo_line(0, car(at), " 1"));
    table.folder("the id 1", "yolo", Boxes(cars(&all_frames())));
    let untracked = |at: usize| yolo_line(0, car(at), if at == 3 { " 0.4" } else { " 0.4 1" });
    dataset(&table, &numbered, &untracked);
    let others: Vec<_> = all_frames().into_iter().filter(|&at| at != 3).collect();
    table.folder("a box that is not tracked", "yolo", Said(cars(&others), "1 boxes without an id"));

    let shapes =
        |at: usize| yolo_line(0, car(at), " 1") + &if at == 3 { yolo_line(0, SIGN, "") } else { String::new() };
    dataset(&table, &numbered, &shapes);
    table.folder("a track with the id 1 and a shape", "yolo", Said(cars(&all_frames()), "1 boxes without an id"));
    dataset(&table, &numbered, &|at| yolo_line(0, car(at), "").replacen("0 ", "0 1 ", 1));
    table.folder("the id before the box", "yolo", Refused("beyond the picture"));

    let late = |at: usize| if at > 5 { yolo_line(0, car(at), "") } else { String::new() };
    dataset(&table, &|at| format!("labels/train/frame_{:06}", at - 1), &late);
    let from_six: Vec<_> = (6..=FRAMES).collect();
    table.video("a video of CVAT", "yolo", Said(cars(&from_six), "from 0 on"));
    table.folder("a video of CVAT for pictures", "yolo", Refused("names no picture"));
    table.folder("a video of CVAT for pictures, said", "yolo --labels-base 0", Boxes(cars(&from_six)));
    (1..=5).for_each(|at| {
        fs::remove_file(table.place.path(&format!("yolo/labels/train/frame_{:06}.txt", at - 1))).unwrap()
    });
    table.video("without the files before", "yolo", Refused("--labels-base"));
    dataset(&table, &|at| format!("labels/frame_{at:06}"), &late);
    table.video("from 1", "yolo", Said(cars(&from_six), "from 1 on"));
    dataset(&table, &|at| format!("labels/clip_{at}"), &late);
    (1..=5).for_each(|at| fs::remove_file(table.place.path(&format!("yolo/labels/clip_{at}.txt"))).unwrap());
    table.video("Ultralytics", "yolo", Said(cars(&from_six), "from 1 on"));
    fs::remove_file(table.place.path(&format!("yolo/labels/clip_{FRAMES}.txt"))).unwrap();
    table.video("a part of it", "yolo", Refused("--labels-base"));
    table.video("a part of it, said", "yolo --labels-base 1", Boxes(cars(&from_six[..from_six.len() - 1])));
    let two = |table: &Table, one: &str, other: &str| {
        dataset(table, &|at| format!("labels/train/{one}{at:04}"), &some);
        (1..=FRAMES)
            .for_each(|at| table.write(&format!("yolo/labels/train/{other}{at:04}.txt"), yolo_line(1, SIGN, "")));
    };
    two(&table, "", "camA_");
    table.folder("two clips", "yolo", Said(cars(&[2, 7]), "20 boxes of 20 pictures"));
    two(&table, "camB_", "camA_");
    table.video("two clips of a video", "yolo", Refused("camA_, camB_"));
    table.video("two clips of a video, said", "yolo --labels-clip camB", Said(cars(&[2, 7]), "from 1 on"));
    two(&table, "clip_", "camA_");
    table.video("two clips, one the source's", "yolo", Said(cars(&[2, 7]), "20 boxes of 20 pictures"));
    two(&table, "x/", "y/");
    table.video("two folders", "yolo", Refused("--labels-clip"));
    table.video("two folders, said", "yolo --labels-clip x", Said(cars(&[2, 7]), "from 1 on"));
    dataset(&table, &|at| format!("{at:04}"), &some);
    table.write("yolo/classes.txt", "car\n");
    table.folder("files without a folder", "yolo", Boxes(cars(&[2, 7])));
    dataset(&table, &|at| format!("obj_train_data/{at:04}"), &some);
    table.folder("Darknet", "yolo", Boxes(cars(&[2, 7])));
    let subset = |at| format!("obj_{}_data/{at:04}", if at > 5 { "Validation" } else { "train" });
    dataset(&table, &subset, &some);
    table.folder("subsets of Darknet", "yolo", Boxes(cars(&[2, 7])));
    dataset(&table, &|at| format!("labels/a/b/c/{at:04}"), &some);
    table.write("yolo/0002.txt", yolo_line(0, car(2), ""));
    table.folder("below and beside", "yolo", Said(cars(&[2, 7]), "1 files of labels outside"));
    let polygon = |at: usize| some(at) + "0 0.1 0.1 0.2 0.1 0.2 0.2 0.1 0.2\n";
    dataset(&table, &numbered, &polygon);
    table.folder("polygons", "yolo", Said(cars(&[2, 7]), "20 polygons or masks"));
    let triangle = |at: usize| some(at) + if at == 3 { "0 0.1 0.2 0.3 0.4 0.25 1\n" } else { "" };
    dataset(&table, &numbered, &triangle);
    table.folder("a triangle at the border", "yolo", Said(cars(&[2, 7]), "1 polygons or masks"));
    dataset(&table, &numbered, &|_| "0 0.1 0.7 0.3 0.9 0.25 1\n".into());
    table.folder("triangles", "yolo", Refused("20 polygons or masks"));
    dataset(&table, &numbered, &with(" 8589934592"));
    table.folder("a high id", "yolo", Refused("0001.txt: the id 8589934592 is above"));
    dataset(&table, &numbered, &|_| "0 40 40 24 32\n".into());
    table.folder("pixels", "yolo", Refused("shares"));
    dataset(&table, &numbered, &|_| "0 0.4 0.4\n".into());
    table.folder("a short line", "yolo", Refused("is not class x y w h"));
    let roboflow = |at: usize| format!("train/labels/{at:04}_png.rf.0a1b{at:04}");
    dataset(&table, &roboflow, &some);
    table.write("yolo/README.roboflow.txt", "an export\n");
    table.folder("Roboflow", "yolo", Boxes(cars(&[2, 7])));
    table.folder("a part of Roboflow", "yolo/train", Boxes(cars(&[2, 7])));
    table.video("Roboflow for a video", "yolo", Refused("not its frames"));
    table.write("yolo/valid/labels/0009_png.rf.0a.txt", yolo_line(0, car(9), ""));
    table.folder("two parts of Roboflow", "yolo", Refused("several folders"));
    dataset(&table, &|at| format!("labels/other_{at:04}"), &some);
    table.video("another clip", "yolo", Said(cars(&[2, 7]), "are named other_"));
    dataset(&table, &|at| format!("labels/cat{at}_x"), &some);
    table.video("names without numbers", "yolo", Refused("number of a frame"));

    for (folder, file, text) in [
        ("labelme", "json", json!({ "shapes": [], "imagePath": "0001.png" }).to_string()),
        ("voc", "xml", "<annotation><filename>0001.png</filename></annotation>".into()),
    ] {
        (1..=2).for_each(|at| table.write(&format!("{folder}/{at:04}.{file}"), &text));
        table.folder(folder, folder, Refused("export CVAT for video"));
        table.folder(
            &format!("a file of {folder}"),
            &format!("{folder}/0001.{file}"),
            Refused("export CVAT for video"),
        );
    }
    table.write("cvat/annotations.xml", "<annotations/>");
    table.folder("the folder of a file", "cvat", Refused("annotations.xml"));
    fs::create_dir(table.place.path("empty")).unwrap();
    table.folder("an empty folder", "empty", Refused("labels: "));
    table.end(30);
}

#[test]
fn documents_of_other_clips_are_refused() {
    use Right::{Boxes, Refused};
    let mut table = Table::new();
    let mut text = String::new();
    table.write("file.txt", format!("1,1,{}\n1,4,{}\n", joined(car(1), ","), joined(car(4), ",")));
    table.place.run("--init-file @file.txt --preset paper --json @o.json --jsonl @o.jsonl -q").assert().success();
    table.folder("our document", "o.json", Boxes(cars(&[1, 4])));
    table.folder("our lines of JSON", "o.jsonl", Boxes(cars(&[1, 4])));
    table.video("our document for a video", "o.json", Boxes(cars(&[1, 4])));
    let document = table.place.json("o.json");
    for (name, value) in [("frames", json!(300)), ("width", json!(320))] {
        let mut other = document.clone();
        other["source"][name] = value;
        table.write("other.json", other.to_string());
        table.folder(&format!("another {name}"), "other.json", Refused("another video"));
    }
    for (what, index, bbox) in
        [("a row of frame 0", json!(0), json!([1, 2, 3, 4])), ("a box of 1e308", json!(2), json!([1e308, 2, 3, 4]))]
    {
        let mut other = document.clone();
        (other["frames"][1]["index"], other["frames"][1]["bbox"]) = (index, bbox);
        table.write("other.json", other.to_string());
        table.folder(what, "other.json", Refused("frame"));
    }
    let mut many = document.clone();
    let target = |id: usize| json!({ "id": id, "given": [{ "frame": 1, "bbox": car(1) }] });
    many["targets"] = (1..=101).map(target).collect();
    table.write("other.json", many.to_string());
    table.folder("a hundred and one targets", "other.json", Refused("101 targets at a time"));
    // Those that have ended do not count.
    for (place, target) in many["targets"].as_array_mut().unwrap().iter_mut().enumerate() {
        target["given"][0]["frame"] = (1 + place % 2).into();
        if place % 2 == 0 {
            target["given"].as_array_mut().unwrap().push(json!({ "frame": 2, "bbox": null }));
        }
    }
    many["frames"] = json!([]);
    table.write("other.json", many.to_string());
    table.place.run("--init-file @other.json --preset paper -q --end 2").assert().success();
    (0..450_000).for_each(|_| text.push_str("{},"));
    let _ = write!(text, "{{}}");
    table.write("other.json", format!("[{text}]"));
    table.folder("too many objects", "other.json", Refused("300000 objects"));
    table.end(8);
}
