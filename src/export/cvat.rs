//! CVAT annotations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use roxmltree::{Document, Node, ParsingOptions};

use super::clip::{Clip, Label, Wrong};
use super::labels::{NO_IDS, ids};
use super::output::{Destination, Output};
use super::record::{BOX_DIGITS, rounded};
use super::tracks::{Shape, Track, Tracks, keyframes, upright};
use super::{Exporter, FrameResult, Layout, Run, Summary};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::has_extension;
use crate::text::escape;

/// CVAT tracks: one per target, an upright rectangle per frame, frames and corners **0-based**; if asked for, a rotated
/// target has its own rectangle and the `rotation` about the centre, in degrees clockwise. The label is the class of the target. A box has
/// the attributes `name` and `given` and those of its target; a given box has the source `manual`, others `auto`; an
/// occluded target is `occluded`, a lost one `outside`.
/// Keyframes are those from which CVAT interpolates the others within a tolerance.
///
/// The form is the XML of "CVAT for video 1.1", for "Upload annotations" in the menu of a task.
pub struct Cvat {
    output: Output,
    tracks: Tracks,
    /// Pixels by which interpolated frames may differ.
    tolerance: f64,
}

impl Cvat {
    /// Opens the output. If the run ends before the source, its tracks end with `outside`, because CVAT would draw the
    /// last box until the end of the source.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written, or has the ending of JSON.
    pub fn create(to: &Destination, layout: &Layout) -> Result<Self> {
        if has_extension(to.path(), &["json"]) {
            return Err(Error::output(to.path(), "labels for CVAT are XML: name a file that ends with .xml"));
        }
        Ok(Self { output: Output::create(to)?, tracks: Tracks::new(layout.turned), tolerance: layout.tolerance })
    }

    /// Frames of the source. CVAT refuses boxes behind its last frame, so an expected length counts only if the run was
    /// cut short.
    fn frames(&self, run: &Run, summary: &Summary) -> usize {
        let last = self.tracks.last(run);
        let is_cut = !summary.completed || run.source.end.is_some_and(|end| end <= last);
        run.source.frames.filter(|&length| is_cut && length > last).unwrap_or(last)
    }
}

fn corners(shape: &Shape) -> [f64; 4] {
    let [x, y, w, h] = <[f64; 4]>::from(shape.bbox);
    [x, y, x + w, y + h].map(|at| rounded(at, BOX_DIGITS))
}

/// Drops the shapes that CVAT interpolates.
fn thin(track: &mut Track, tolerance: f64) {
    let value = |&Shape { bbox: BBox { x, y, w, h }, turn, .. }: &Shape| [x, y, w, h, turn];
    let values: Vec<_> = track.shapes.iter().map(value).collect();
    let mut keep = keyframes(&track.shapes, &values, 0.5, tolerance).into_iter();
    track.shapes.retain(|_| keep.next().unwrap_or(true));
}

/// An attribute of a label that holds for a whole track.
const TEXT: &str = "<attribute><name>NAME</name><mutable>False</mutable><input_type>text</input_type>\
    <default_value></default_value><values></values></attribute>";

/// The attribute of a label that says which boxes were given.
const GIVEN: &str = "<attribute><name>given</name><mutable>True</mutable><input_type>checkbox</input_type>\
    <default_value>false</default_value><values>false</values></attribute>";

/// The XML document.
fn xml(tracks: &Tracks, run: &Run, frames: usize) -> String {
    let (width, height) = (run.source.width, run.source.height);
    let names: BTreeSet<&String> = run.targets.iter().flat_map(|target| target.attributes.keys()).collect();
    let own: String = names.iter().map(|name| TEXT.replace("NAME", &escape(name))).collect();
    let attributes = format!("<attributes>{}{own}{GIVEN}</attributes>", TEXT.replace("NAME", "name"));
    let label = |class: &str| format!("<label><name>{}</name>{attributes}</label>", escape(class));
    let labels: String = run.classes().into_iter().map(label).collect();
    let file = run.source.path.rsplit(['/', '\\']).next().filter(|file| file.contains(char::is_alphanumeric));
    let name = file.map_or(String::new(), |file| format!("<name>{}</name>", escape(file)));
    let mut text = format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<!-- kcf-track {} -->
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      {name}<size>{frames}</size>
      <mode>interpolation</mode>
      <labels>{labels}</labels>
      <original_size><width>{width}</width><height>{height}</height></original_size>
    </task>
  </meta>
"#,
        env!("CARGO_PKG_VERSION")
    );
    for Track { id, shapes } in &tracks.all {
        // CVAT renumbers tracks; the group keeps the id. Ids beyond its 32 bits have none.
        let group = i32::try_from(*id).unwrap_or(0);
        let class = escape(run.class(Some(*id)));
        let name = escape(run.name(Some(*id)).unwrap_or_default());
        let of_target = run.targets.iter().find(|target| target.id == *id).into_iter();
        let attribute = |(name, value): (&String, &String)| {
            format!(r#"<attribute name="{}">{}</attribute>"#, escape(name), escape(value))
        };
        let own: String = of_target.flat_map(|target| &target.attributes).map(attribute).collect();
        let _ = writeln!(text, r#"  <track id="{id}" label="{class}" source="auto" group_id="{group}">"#);
        for shape in shapes {
            let [left, top, right, bottom] = corners(shape);
            let (frame, [outside, occluded]) = (shape.index - 1, [!shape.visible, shape.occluded].map(u8::from));
            let _ = write!(text, r#"    <box frame="{frame}" outside="{outside}" occluded="{occluded}" keyframe="1""#);
            let _ = write!(text, r#" xtl="{left}" ytl="{top}" xbr="{right}" ybr="{bottom}""#);
            if shape.turn != 0.0 {
                let _ = write!(text, r#" rotation="{}""#, shape.turn);
            }
            let _ = writeln!(
                text,
                r#" z_order="0"><attribute name="name">{name}</attribute><attribute name="given">{}</attribute>{own}</box>"#,
                shape.given
            );
        }
        text.push_str("  </track>\n");
    }
    text + "</annotations>\n"
}

/// Maximum nodes of a document and attributes of one: enough for 400,000 boxes.
const MAX_NODES: u32 = 1_500_000;
const MAX_ATTRIBUTES: usize = 4_000_000;

/// Maximum attributes of an element, which are compared with each other.
const MAX_OF_ELEMENT: usize = 200;

/// Maximum tasks of a project.
const MAX_TASKS: usize = 1000;

/// Maximum namespaces, each of which costs every element below it. CVAT has none.
const MAX_NAMESPACES: usize = 10;

/// Reads a clip for each task of "CVAT for video".
pub(super) fn read(text: &str) -> Wrong<Vec<Clip>> {
    let counts = || text.split('<').map(|element| element.matches('=').count());
    if counts().sum::<usize>() > MAX_ATTRIBUTES || counts().any(|count| count > MAX_OF_ELEMENT) {
        return Err(format!("it has more than {MAX_ATTRIBUTES} attributes, or {MAX_OF_ELEMENT} of one element"));
    }
    if text.matches("xmlns").count() > MAX_NAMESPACES {
        return Err(format!("it has more than {MAX_NAMESPACES} namespaces, and files of CVAT have none"));
    }
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options);
    let document = document.map_err(|error| format!("it is not XML of CVAT: {error}"))?;
    let all = |name| document.descendants().filter(move |node: &Node<'_, '_>| node.has_tag_name(name));
    let tracks: Vec<_> = all("track").collect();
    if tracks.is_empty() {
        let is_of_images = all("image").next().is_some() || document.root_element().has_tag_name("annotation");
        return Err(if is_of_images { NO_IDS } else { "there is no track in it, as CVAT for video has them" }.into());
    }
    // In a file that CVAT has written, a person may have changed any keyframe.
    let by_cvat = all("dumped").next().is_some();
    let tasks: Vec<_> = all("task").chain(all("job")).filter(|task| child(*task, "size").is_some()).collect();
    if tasks.len() > MAX_TASKS {
        return Err(format!("it has more than {MAX_TASKS} tasks"));
    }
    let mut clips: Vec<Clip> = tasks.iter().map(|task| clip(*task, by_cvat)).collect();
    if clips.is_empty() {
        let size = all("original_size").next().and_then(size);
        clips.push(Clip { size, has_ends: true, ..Clip::default() });
    }
    let task_ids: Vec<_> = tasks.iter().map(|task| child(*task, "id")).collect();
    let place = |track: &Node<'_, '_>| match track.attribute("task_id") {
        _ if clips.len() == 1 => Ok(0),
        task @ Some(_) => task_ids.iter().position(|id| *id == task).ok_or("a track belongs to none of the tasks"),
        None => Err("a track does not say to which of the tasks it belongs"),
    };
    let places = tracks.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let group = |track: &Node<'_, '_>| track.attribute("group_id")?.parse().ok().filter(|&group| group > 0);
    let offsets = offsets(&tasks);
    for (place, clip) in clips.iter_mut().enumerate() {
        let own: Vec<_> = tracks.iter().zip(&places).filter(|(_, of)| **of == place).map(|(track, _)| track).collect();
        for (track, id) in own.iter().zip(ids(&own.iter().map(|track| group(track)).collect::<Vec<_>>())) {
            let boxes = boxes(track, id)?;
            let is_other = |node: Node<'_, '_>| node.is_element() && !node.has_tag_name("box");
            clip.polygons += usize::from(boxes.is_empty() && track.children().any(is_other));
            clip.boxes.extend(boxes);
        }
        if let Some((task, &offset)) = tasks.get(place).zip(offsets.get(place)).filter(|(_, offset)| **offset > 0) {
            clip.wrong = count_from_task(&mut clip.boxes, *task, offset).err();
        }
        // Each of our tracks begins in a given box.
        let mut begun = BTreeMap::new();
        let begins = |label: &Label| *begun.entry(label.id).or_insert(label.given) || !label.given;
        clip.marked = !by_cvat && clip.boxes.iter().all(begins);
    }
    Ok(clips)
}

fn child<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.children().find(|child| child.has_tag_name(name))?.text().map(str::trim)
}

fn size(node: Node<'_, '_>) -> Option<(usize, usize)> {
    Some((child(node, "width")?.parse().ok()?, child(node, "height")?.parse().ok()?))
}

/// A number of a task or job.
fn number(task: Node<'_, '_>, name: &str) -> Option<usize> {
    child(task, name)?.parse().ok()
}

/// Number of a task's first frame from 0, and of the frame behind its last one.
fn range(task: Node<'_, '_>) -> (usize, usize) {
    let step = child(task, "frame_filter").and_then(|filter| filter.strip_prefix("step=")?.trim().parse().ok());
    let start = number(task, "start_frame").unwrap_or(0);
    (start, start.saturating_add(number(task, "size").unwrap_or(0).saturating_mul(step.unwrap_or(1))))
}

/// The frames that CVAT counts before each task of a project: those of the earlier tasks of its subset.
fn offsets(tasks: &[Node<'_, '_>]) -> Vec<usize> {
    let (mut subset, mut offset) = (None, 0_usize);
    let mut offsets = Vec::new();
    for &task in tasks {
        let own = child(task, "subset");
        offset = if own == subset { offset } else { 0 };
        offsets.push(offset);
        (subset, offset) = (own, offset.saturating_add(range(task).1));
    }
    offsets
}

/// Counts the frames of boxes from the beginning of their task on, if they are counted from that of the project.
fn count_from_task(boxes: &mut [Label], task: Node<'_, '_>, offset: usize) -> Wrong<()> {
    let (start, end) = range(task);
    // Frames of labels count from 1.
    let own = |offset: usize| start.saturating_add(offset)..end.saturating_add(offset);
    let fit = |offset: usize| boxes.iter().all(|label| own(offset).contains(&(label.frame - 1)));
    match (fit(offset), fit(0)) {
        (true, false) => boxes.iter_mut().for_each(|label| label.frame -= offset),
        (false, true) => {}
        _ if boxes.is_empty() => {}
        _ => {
            return Err(
                "its frames may count from the first of the project or of the task: export the task alone".into()
            );
        }
    }
    Ok(())
}

/// The clip of a task.
fn clip(task: Node<'_, '_>, by_cvat: bool) -> Clip {
    // A task may be a part of its video, as a job is of its task; its frames keep their numbers.
    let is_whole = task.has_tag_name("task")
        && number(task, "start_frame").unwrap_or(0) == 0
        && child(task, "frame_filter").is_none_or(str::is_empty)
        && (!by_cvat
            || number(task, "stop_frame").is_none_or(|stop| Some(stop.saturating_add(1)) == number(task, "size")));
    let original = task.children().find(|node| node.has_tag_name("original_size"));
    Clip {
        names: ["source", "name"].iter().filter_map(|name| Some(child(task, name)?.to_owned())).collect(),
        size: original.and_then(size),
        frames: number(task, "size").filter(|_| is_whole),
        has_ends: true,
        by_text: by_cvat && child(task, "mode") == Some("annotation"),
        last: number(task, "stop_frame").filter(|_| !is_whole).map(|stop| stop.saturating_add(1)),
        ..Clip::default()
    }
}

/// The keyframes of a track.
fn boxes(track: &Node<'_, '_>, id: u32) -> Wrong<Vec<Label>> {
    let class: Option<Rc<str>> = track.attribute("label").map(Rc::from);
    let mut boxes = Vec::new();
    for shape in track.children().filter(|node| node.has_tag_name("box")) {
        let is = |name: &str| match shape.attribute(name) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => Err(format!("track {id}: {name}=\"{other}\", which must be 0 or 1")),
        };
        if shape.has_attribute("keyframe") && !is("keyframe")? {
            continue;
        }
        let (outside, occluded) = (is("outside")?, is("occluded")?);
        let number = |name: &str| {
            let number = shape.attribute(name).and_then(|text| text.parse::<f64>().ok());
            number.ok_or_else(|| format!("track {id}: a box without {name}"))
        };
        let frame = shape.attribute("frame").and_then(|text| text.parse::<usize>().ok());
        let frame = frame.ok_or_else(|| format!("track {id}: a box without a frame from 0"))?;
        let (left, top) = (number("xtl")?, number("ytl")?);
        let bbox = BBox::new(left, top, number("xbr")? - left, number("ybr")? - top);
        let turn = shape.attribute("rotation").map_or(Ok(0.0), |_| number("rotation"))?;
        let bbox = upright(bbox, turn);
        let mut label = Label {
            id,
            frame: frame.saturating_add(1),
            bbox: (!outside).then_some(bbox),
            occluded: occluded && !outside,
            class: class.clone(),
            ..Label::default()
        };
        for extra in shape.children().filter(|node| node.has_tag_name("attribute")) {
            match extra.attribute("name") {
                Some("name") => label.name = Some(extra.text().unwrap_or_default().into()),
                Some("given") => label.given = extra.text() == Some("true"),
                _ => {}
            }
        }
        boxes.push(label);
    }
    Ok(boxes)
}

impl Exporter for Cvat {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        frame.records.iter().for_each(|record| self.tracks.add(record));
        Ok(())
    }

    fn finish(mut self: Box<Self>, run: &Run, summary: &Summary) -> Result<()> {
        let frames = self.frames(run, summary);
        for track in &mut self.tracks.all {
            let target = run.targets.iter().find(|target| target.id == track.id);
            for given in target.into_iter().flat_map(|target| &target.given) {
                let shape = track.shapes.iter_mut().find(|shape| shape.index == given.frame);
                shape.into_iter().for_each(|shape| shape.occluded |= given.occluded == Some(true));
            }
            let last = track.shapes.last().filter(|last| last.index < frames).map(Shape::gone);
            track.shapes.extend(last);
            thin(track, self.tolerance);
        }
        self.output.append(xml(&self.tracks, run, frames).as_bytes())?;
        self.output.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::export::FrameRecord;
    use crate::export::tests::{run, written};
    use crate::tracker::State;

    /// Every frame, turned boxes.
    const LAYOUT: Layout = Layout { tolerance: 0.0, turned: true, with_frames: false };

    /// A run of two targets, the second lost at once, from a source of `length` frames.
    fn text(length: Option<usize>, end: Option<usize>, completed: bool) -> String {
        let (mut run, mut records) = run();
        (run.source.frames, run.source.end) = (length, end);
        records.push(FrameRecord { state: State::Lost, id: Some(9), ..records[1].clone() });
        let summary = Summary { completed, ..Summary::default() };
        written("run.xml", |to| Cvat::create(to, &LAYOUT), (&run, &records), &summary)
    }

    #[test]
    fn a_track_per_target() {
        let text = text(Some(2), Some(2), true);
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let track = lines.iter().position(|line| line.starts_with("<track")).unwrap();
        assert_eq!(lines[3], "<version>1.1</version>");
        assert!(text.contains("<size>2</size>") && text.contains("<width>64</width><height>48</height>"), "{text}");
        assert_eq!(lines[track], r#"<track id="1" label="target" source="auto" group_id="1">"#);
        let expected = concat!(
            r#"<box frame="1" outside="0" occluded="0" keyframe="1" xtl="-0.5" ytl="21" xbr="29.5" ybr="61.25""#,
            r#" z_order="0"><attribute name="name"></attribute><attribute name="given">false</attribute></box>"#
        );
        assert_eq!(lines[track + 2], expected);
        assert!(lines[track + 5].starts_with(r#"<box frame="1" outside="1""#), "{text}");
        assert_eq!(lines[track + 6..], ["</track>", "</annotations>"]);
        for (id, group) in [(2_147_483_647, 2_147_483_647), (2_147_483_648_u32, 0)] {
            let mut tracks = Tracks::new(false);
            tracks.add(&FrameRecord { id: Some(id), ..run().1[1].clone() });
            assert!(xml(&tracks, &run().0, 2).contains(&format!(r#" group_id="{group}""#)));
        }
        assert!(Cvat::create(&Path::new("backup.json").into(), &LAYOUT).is_err());
    }

    #[test]
    fn attributes_and_covered_boxes_are_those_of_their_target() {
        let (mut run, records) = run();
        run.targets[0].attributes = [("colour".to_owned(), "red & blue".to_owned())].into();
        run.targets[0].given[0].occluded = Some(true);
        let xml = written("run.xml", |to| Cvat::create(to, &LAYOUT), (&run, &records), &Summary::default());
        let document = roxmltree::Document::parse(&xml).unwrap();
        let boxes: Vec<_> = document.descendants().filter(|node| node.has_tag_name("box")).collect();
        assert_eq!([0, 1].map(|at| boxes[at].attribute("occluded")), [Some("1"), Some("0")]);
        let colour = boxes[0].children().find(|node| node.attribute("name") == Some("colour"));
        assert_eq!(colour.and_then(|node| node.text()), Some("red & blue"));
        let labels = document.descendants().filter(|node| node.has_tag_name("label"));
        assert!(labels.flat_map(|label| label.descendants()).any(|node| node.text() == Some("colour")));
    }

    #[test]
    fn tracks_of_a_run_that_was_cut_short_end_outside() {
        for (length, end, completed, frames) in [
            (Some(2), Some(2), true, 2),
            (Some(9), Some(2), true, 9),
            (Some(9), None, false, 9),
            // The run reached the end of a source whose expected length was wrong.
            (Some(9), None, true, 2),
            (None, Some(2), true, 2),
        ] {
            let text = text(length, end, completed);
            assert!(text.contains(&format!("<size>{frames}</size>")), "{text}");
            assert_eq!(text.contains(r#"<box frame="2" outside="1""#), frames > 2, "{text}");
        }
    }

    #[test]
    fn a_target_that_was_ended_is_outside_from_there_on() {
        let (mut run, records) = run();
        (run.source.frames, run.source.end) = (Some(9), None);
        for (end, frames) in [(3, 3), (5, 2)] {
            run.targets[0].end(end);
            let create = |to: &Destination| Cvat::create(to, &LAYOUT);
            let xml = written("run.xml", create, (&run, &records), &Summary { completed: true, ..Summary::default() });
            assert!(xml.contains(&format!("<size>{frames}</size>")), "{xml}");
            assert_eq!(xml.contains(r#"<box frame="2" outside="1""#), frames > 2, "{xml}");
            run.targets[0].given.pop();
        }
    }

    #[test]
    fn a_rotated_target_is_an_upright_box_and_an_angle() {
        let (run, mut records) = run();
        // 20 x 10 pixels around (30, 20), rotated by 30 degrees.
        records[1].polygon = Some([23.8397, 10.6699, 41.1603, 20.6699, 36.1603, 29.3301, 18.8397, 19.3301]);
        let xml = written("run.xml", |to| Cvat::create(to, &LAYOUT), (&run, &records), &Summary::default());
        let lines: Vec<_> = xml.lines().filter(|line| line.contains("<box")).collect();
        assert!(!lines[0].contains("rotation"), "{xml}");
        let numbers = ["xtl", "ytl", "xbr", "ybr", "rotation"].map(|name| {
            let (_, rest) = lines[1].split_once(&format!(" {name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse::<f64>().unwrap()
        });
        let expected = [20.0, 15.0, 40.0, 25.0, 30.0];
        assert!(numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{numbers:?}");
    }
}
