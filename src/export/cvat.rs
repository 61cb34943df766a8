//! Boxes as CVAT has them, for tools that annotate videos.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::output::{Destination, Document};
use super::record::{BOX_DIGITS, Shape, Track, Tracks, rounded};
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::error::Result;

/// The label of every track.
const LABEL: &str = "target";

/// Tracks as CVAT has them: a track a target, a rectangle from its left upper to its right lower corner a frame, frames
/// and corners **0-based**; of a target that has turned the upright rectangle and the `rotation` about its centre, in
/// degrees clockwise. What a person drew is `manual`, all else `auto`; a target that is lost is `outside`. Every frame
/// is a keyframe: nothing is interpolated. Every track has the label `target`.
///
/// In a file with the ending `.xml` they are "CVAT for video 1.1", which "Upload annotations" in the menu of a task
/// takes; else the JSON list of `annotations.json` in the backup of a task of one job.
///
/// The document appears when the run is over; it is kept in memory until then.
#[derive(Debug)]
pub struct Cvat {
    document: Document,
    tracks: Tracks,
    xml: bool,
    size: (usize, usize),
    /// Frames of the source, where that is known.
    frames: Option<usize>,
    /// About how many there are.
    expected: Option<usize>,
}

impl Cvat {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        let xml = destination.path().extension().is_some_and(|ending| ending.eq_ignore_ascii_case("xml"));
        Ok(Self {
            document: Document::create(destination)?,
            tracks: Tracks::default(),
            xml,
            size: (0, 0),
            frames: None,
            expected: None,
        })
    }

    /// Of a source of so many frames, or about so many: where a track ends before the last of them, it is `outside`
    /// from then on. CVAT would draw its last box until the end.
    pub fn of_frames(self, frames: Option<usize>, expected: Option<usize>) -> Self {
        Self { frames, expected, ..self }
    }

    /// How many frames there are. CVAT refuses a box in a frame that it does not have: a number that is only likely
    /// counts where a frame was seen behind the last one that was followed.
    fn count(&self, summary: &Summary) -> usize {
        let last = self.tracks.last();
        let beyond = summary.seen.filter(|seen| *seen > last);
        let likely = beyond.map_or(last, |seen| self.expected.map_or(seen, |expected| expected.max(seen)));
        self.frames.unwrap_or(likely)
    }
}

fn source(given: bool) -> &'static str {
    if given { "manual" } else { "auto" }
}

/// The group of a target; those that CVAT's database has no room for are in none.
fn group(id: u32) -> i32 {
    i32::try_from(id).unwrap_or(0)
}

fn corners(shape: &Shape) -> [f64; 4] {
    let [x, y, w, h] = <[f64; 4]>::from(shape.bbox);
    [x, y, x + w, y + h]
}

fn json_track(track: &Track) -> Value {
    let shape = |shape: &Shape| {
        json!({
            "type": "rectangle",
            "frame": shape.index - 1,
            "points": corners(shape),
            "rotation": shape.turn,
            "occluded": false,
            "outside": !shape.seen,
            "z_order": 0,
            "attributes": [],
            "source": source(shape.given),
        })
    };
    let shapes: Vec<Value> = track.shapes.iter().map(shape).collect();
    let frame = track.shapes.first().map_or(0, |shape| shape.index - 1);
    json!({
        "frame": frame,
        "label": LABEL,
        "group": group(track.id),
        "source": source(false),
        "attributes": [],
        "shapes": shapes,
    })
}

/// Nothing in it needs to be escaped: all but the label is numbers.
fn xml(tracks: &Tracks, (width, height): (usize, usize), frames: usize) -> String {
    let mut text = format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      <size>{frames}</size>
      <mode>interpolation</mode>
      <labels><label><name>{LABEL}</name><attributes></attributes></label></labels>
      <original_size><width>{width}</width><height>{height}</height></original_size>
    </task>
  </meta>
"#
    );
    for Track { id, shapes } in &tracks.0 {
        // CVAT counts tracks from 0 and keeps ids of its own: the group tells ours.
        let group = group(*id);
        let _ = writeln!(text, r#"  <track id="{id}" label="{LABEL}" source="auto" group_id="{group}">"#);
        for shape in shapes {
            let [left, top, right, bottom] = corners(shape).map(|at| rounded(at, BOX_DIGITS));
            let (frame, outside) = (shape.index - 1, u8::from(!shape.seen));
            let _ = write!(text, r#"    <box frame="{frame}" outside="{outside}" occluded="0" keyframe="1""#);
            let _ = write!(text, r#" xtl="{left}" ytl="{top}" xbr="{right}" ybr="{bottom}""#);
            if shape.turn != 0.0 {
                let _ = write!(text, r#" rotation="{}""#, shape.turn);
            }
            let _ = writeln!(text, r#" z_order="0"></box>"#);
        }
        text.push_str("  </track>\n");
    }
    text + "</annotations>\n"
}

impl Export for Cvat {
    fn begin(&mut self, run: &Run) -> Result<()> {
        self.size = (run.source.width, run.source.height);
        Ok(())
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        self.tracks.add(record);
        Ok(())
    }

    fn finish(mut self: Box<Self>, summary: &Summary) -> Result<()> {
        let frames = self.count(summary);
        for track in &mut self.tracks.0 {
            let last = track.shapes.last().filter(|last| last.index < frames);
            let end = last.map(|last| Shape { index: last.index + 1, seen: false, given: false, ..*last });
            track.shapes.extend(end);
        }
        if self.xml {
            self.document.write(xml(&self.tracks, self.size, frames).as_bytes())?;
            return self.document.commit();
        }
        let tracks: Vec<Value> = self.tracks.0.iter().map(json_track).collect();
        self.document.commit_json(&json!([{ "version": 0, "tags": [], "shapes": [], "tracks": tracks }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::{self, run};
    use crate::tracker::State;

    /// What is written of two targets, the second lost at once, in so many frames.
    fn written(name: &str, frames: impl Into<Option<usize>>) -> String {
        written_where(name, frames.into(), None)
    }

    /// The same where the last frame that was seen is this one.
    fn written_where(name: &str, frames: Option<usize>, seen: Option<usize>) -> String {
        let (run, mut records) = run();
        records.push(FrameRecord { state: State::Lost, id: Some(9), ..records[1].clone() });
        let create = |to: &Destination| Ok(Cvat::create(to)?.of_frames(frames, Some(9)));
        tests::written(name, create, (&run, &records), &Summary { seen, ..Tally::default().completed(None) })
    }

    #[test]
    fn a_track_a_target() {
        let document: Value = serde_json::from_str(&written("run.json", 2)).unwrap();
        assert_eq!(document.as_array().unwrap().len(), 1, "an element a job");
        let tracks = document[0]["tracks"].as_array().unwrap();
        assert_eq!((tracks.len(), &tracks[1]["frame"], &tracks[1]["group"]), (2, &json!(1), &json!(9)));
        let shapes = tracks[0]["shapes"].as_array().unwrap();
        assert_eq!(shapes.len(), 2);
        assert_eq!((&shapes[0]["source"], &shapes[1]["source"]), (&json!("manual"), &json!("auto")));
        assert_eq!(shapes[1]["points"], json!([-0.5, 21.0, 29.5, 61.25]));
        assert_eq!((&shapes[1]["outside"], &tracks[1]["shapes"][0]["outside"]), (&json!(false), &json!(true)));
    }

    #[test]
    fn by_its_ending_it_is_what_a_task_uploads() {
        let text = written("run.XML", 2);
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let track = lines.iter().position(|line| line.starts_with("<track")).unwrap();
        assert_eq!(lines[2], "<version>1.1</version>");
        assert!(text.contains("<size>2</size>") && text.contains("<width>64</width><height>48</height>"), "{text}");
        assert_eq!(lines[track], r#"<track id="1" label="target" source="auto" group_id="1">"#);
        assert_eq!(
            lines[track + 2],
            concat!(
                r#"<box frame="1" outside="0" occluded="0" keyframe="1" xtl="-0.5" ytl="21" xbr="29.5" ybr="61.25""#,
                r#" z_order="0"></box>"#
            )
        );
        assert!(lines[track + 5].starts_with(r#"<box frame="1" outside="1""#), "{text}");
        assert_eq!(lines[track + 6..], ["</track>", "</annotations>"]);
    }

    #[test]
    fn a_track_that_ends_early_is_outside_from_then_on() {
        let document: Value = serde_json::from_str(&written("run.json", 3)).unwrap();
        let shapes = document[0]["tracks"][0]["shapes"].as_array().unwrap();
        assert_eq!((shapes.len(), &shapes[2]["frame"], &shapes[2]["outside"]), (3, &json!(2), &json!(true)));
        let text = written("run.xml", 3);
        assert!(text.contains("<size>3</size>") && text.contains(r#"<box frame="2" outside="1""#), "{text}");
        assert!(!written("run.xml", 2).contains(r#"<box frame="2""#));
        // Where it is not known how many there are, those that were followed are all.
        let text = written("run.xml", None);
        assert!(text.contains("<size>2</size>") && !text.contains(r#"<box frame="2""#), "{text}");
    }

    #[test]
    fn a_number_of_frames_that_is_only_likely_puts_no_box_where_none_was_seen() {
        // Two frames were followed up to `--end 2`, of about nine.
        let text = written_where("run.xml", None, Some(2));
        assert!(text.contains("<size>2</size>") && !text.contains(r#"<box frame="2""#), "{text}");
        let text = written_where("run.xml", None, Some(3));
        assert!(text.contains("<size>9</size>") && text.contains(r#"<box frame="2" outside="1""#), "{text}");
    }

    #[test]
    fn a_target_that_has_turned_is_turned_about_the_centre_of_its_box() {
        let (run, mut records) = run();
        // The corners of a box of 20 x 10 pixels around (30, 20), turned by 30 degrees.
        let polygon = [23.8397, 10.6699, 41.1603, 20.6699, 36.1603, 29.3301, 18.8397, 19.3301];
        records[1].polygon = Some(polygon);
        let [xml, json] = ["run.xml", "run.json"]
            .map(|name| tests::written(name, Cvat::create, (&run, &records), &Tally::default().completed(None)));
        let lines: Vec<_> = xml.lines().filter(|line| line.contains("<box")).collect();
        assert!(!lines[0].contains("rotation"), "{xml}");
        let number = |name: &str| -> f64 {
            let (_, rest) = lines[1].split_once(&format!(r#" {name}=""#)).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let document: Value = serde_json::from_str(&json).unwrap();
        let shape = &document[0]["tracks"][0]["shapes"][1];
        let points = serde_json::from_value::<[f64; 4]>(shape["points"].clone()).unwrap();
        for ([left, top, right, bottom], rotation) in [
            (["xtl", "ytl", "xbr", "ybr"].map(number), number("rotation")),
            (points, shape["rotation"].as_f64().unwrap()),
        ] {
            let (x, y) = ((left + right) / 2.0, (top + bottom) / 2.0);
            let (sin, cos) = rotation.to_radians().sin_cos();
            let turned = |(a, b): (f64, f64)| {
                let (a, b) = (a - x, b - y);
                [x + cos * a - sin * b, y + sin * a + cos * b]
            };
            let corners = [(left, top), (right, top), (right, bottom), (left, bottom)].map(turned).concat();
            assert!(corners.iter().zip(polygon).all(|(found, at)| (found - at).abs() < 0.01), "{corners:?}");
        }
    }

    #[test]
    fn groups_have_room_in_the_database() {
        assert_eq!([0, 7, 2_147_483_647, 2_147_483_648].map(group), [0, 7, 2_147_483_647, 0]);
    }
}
