//! What is to be followed: boxes in words and in a file, each from a frame of its own on.

use std::path::Path;

use super::Failure;
use super::box_text::{self, BoxFormat, Given};
use crate::bbox::BBox;
use crate::export::TargetRecord;
use crate::media::{Source, Span};

/// A target as it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    id: u32,
    /// Its first frame; none for the first of the run.
    start: Option<usize>,
    bbox: BBox,
}

/// All targets of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    wanted: Vec<Wanted>,
    /// Whether they are told apart by their ids.
    pub named: bool,
}

impl Targets {
    /// Those of `--init`, which are numbered from 1, and those of the file `--init-file`, a line `id,frame,x,y,w,h`
    /// each. None where the truth shall say it.
    ///
    /// # Errors
    /// Boxes of no size, two targets of one id, a file or a line that cannot be read.
    pub fn read(init: &[Given], format: Option<BoxFormat>, file: Option<&Path>) -> Result<Self, Failure> {
        if format.is_some() && init.is_empty() && file.is_none() {
            return Err(Failure::usage("--init-format says what numbers are, and there are none: add --init X,Y,W,H"));
        }
        let format = format.unwrap_or_default();
        let mut wanted = Vec::new();
        for (given, id) in init.iter().zip(1..) {
            let bbox = format.to_bbox(given.numbers).map_err(|said| Failure::usage(format!("--init: {said}")))?;
            wanted.push(Wanted { id, start: given.frame, bbox });
        }
        if let Some(path) = file {
            wanted.extend(read_file(path, format)?);
        }
        for (place, target) in wanted.iter().enumerate() {
            if wanted[..place].iter().any(|other| other.id == target.id) {
                let id = target.id;
                let hint = if init.is_empty() { "" } else { " (those of --init are 1, 2, …)" };
                return Err(Failure::usage(format!("two targets have the id {id}{hint}: give each its own")));
            }
        }
        let named = wanted.len() > 1 || file.is_some();
        Ok(Self { wanted, named })
    }
}

fn read_file(path: &Path, format: BoxFormat) -> Result<Vec<Wanted>, Failure> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("--init-file {shown}: {error}")))?;
    let (mut wanted, mut begun) = (Vec::new(), false);
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |said| Failure::usage(format!("--init-file {shown}, line {number}: {said}"));
        if !std::mem::replace(&mut begun, true) && is_header(line) {
            header(line, format).map_err(wrong)?;
            continue;
        }
        let target = row(line)
            .and_then(|(id, start, numbers)| Ok(Wanted { id, start: Some(start), bbox: format.to_bbox(numbers)? }));
        wanted.push(target.map_err(wrong)?);
    }
    if wanted.is_empty() {
        return Err(Failure::usage(format!("--init-file {shown}: it names no target: a line is id,frame,x,y,w,h")));
    }
    Ok(wanted)
}

fn is_header(line: &str) -> bool {
    line.trim_start_matches(['"', '\'']).starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Checks that columns are named in the order in which they are read: in another one, ids would be taken for frames.
fn header(line: &str, format: BoxFormat) -> Result<(), String> {
    let names: Vec<_> =
        line.split(',').map(|name| name.trim().trim_matches(['"', '\'']).to_ascii_lowercase()).collect();
    let named = |place: usize, known: &[&str]| names.get(place).is_none_or(|name| known.contains(&name.as_str()));
    let (sizes, corners) = ([Side::Width, Side::Height], [Side::Right, Side::Bottom]);
    let (sides, last, others, advice) = match format {
        BoxFormat::Xywh => (sizes, "w,h", corners, "right and bottom are read with xyxy"),
        BoxFormat::Xyxy => (corners, "x2,y2", sizes, "width and height are read with xywh"),
    };
    let fits = |ends: [Side; 2]| {
        let sides = [Side::Left, Side::Top].into_iter().chain(ends);
        names.iter().skip(2).zip(sides).all(|(name, side)| side.may_be_called(name))
    };
    let begins =
        named(0, &["id", "target", "target_id", "track", "track_id"]) && named(1, &["frame", "start", "index"]);
    match (begins && fits(sides), begins && fits(others)) {
        (true, _) => Ok(()),
        (false, true) => Err(format!("the columns are `{line}`: {advice}, by --init-format")),
        (false, false) => Err(format!("the columns are `{line}`: they must be id,frame,x,y,{last}, in this order")),
    }
}

/// What a column says of a box.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Top,
    Width,
    Height,
    Right,
    Bottom,
    Centre,
}

impl Side {
    /// Names, without what stands between their words. `x1` is the left of x1,y1,x2,y2 and the right of x0,y0,x1,y1.
    const NAMES: [(Self, &[&str]); 7] = [
        (Self::Left, &["x", "left", "x0", "x1", "xmin", "minx", "xtl", "xleft"]),
        (Self::Top, &["y", "top", "y0", "y1", "ymin", "miny", "ytl", "ytop"]),
        (Self::Width, &["w", "width"]),
        (Self::Height, &["h", "height"]),
        (Self::Right, &["x1", "x2", "right", "xmax", "maxx", "xbr", "xright"]),
        (Self::Bottom, &["y1", "y2", "bottom", "ymax", "maxy", "ybr", "ybottom"]),
        (Self::Centre, &["cx", "cy", "xc", "yc", "xcenter", "ycenter", "centerx", "centery", "xcentre", "ycentre"]),
    ];

    /// Whether a column of this name may be this one: it may unless it is known to be another. Some say of which box a
    /// side is (`bb_left`, `bbox.x`), or the unit (`x (px)`).
    fn may_be_called(self, name: &str) -> bool {
        let words = name.split('(').next().unwrap_or_default().trim();
        let of_box = ["bbox", "box", "bb"].iter().find_map(|of| words.strip_prefix(of));
        let plain: String = of_box.unwrap_or(words).chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let known = || Self::NAMES.iter().filter(|(_, names)| names.contains(&plain.as_str()));
        known().next().is_none() || known().any(|(side, _)| *side == self)
    }
}

/// A line `id,frame,x,y,w,h`.
fn row(line: &str) -> Result<(u32, usize, [f64; 4]), String> {
    let mut words = line.splitn(3, ',');
    let (Some(id), Some(frame), Some(rest)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("`{line}` is no row of id,frame,x,y,w,h"));
    };
    let id = id.trim().parse().map_err(|_| format!("the id `{}` is no whole number from 0", id.trim()))?;
    let frame = box_text::frame(frame.trim())?;
    Ok((id, frame, box_text::numbers(rest)?))
}

impl Targets {
    /// Whether the truth shall say what is followed.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The first frame that any of them needs; none where that is the first of the run.
    pub fn first(&self) -> Option<usize> {
        self.wanted.iter().map(|target| target.start).min().flatten()
    }

    /// Each with its frame, for a run of these frames. Of none that is the truth's.
    ///
    /// # Errors
    /// A target that begins in none of the frames; no truth where one is needed.
    pub fn within(&self, span: Span, source: &dyn Source) -> Result<Vec<TargetRecord>, Failure> {
        if self.is_empty() {
            let bbox = source.initial_box(span.first);
            let bbox =
                bbox.map_err(|error| Failure::usage(format!("{error}: give the first box by --init x,y,w,h")))?;
            return Ok(vec![TargetRecord { id: 1, start: span.first, bbox }]);
        }
        let placed = self.wanted.iter().map(|target| {
            let start = target.start.unwrap_or(span.first);
            if !span.contains(start) {
                let last = span.last.map_or("its end".into(), |last| last.to_string());
                return Err(Failure::usage(format!(
                    "target {} begins in frame {start}, and the run goes from frame {} to {last}",
                    target.id, span.first
                )));
            }
            Ok(TargetRecord { id: target.id, start, bbox: target.bbox })
        });
        placed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(init: &[&str], file: Option<&str>) -> Result<Targets, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("targets.csv");
        let file = file.map(|text| std::fs::write(&path, text).map(|()| path).unwrap());
        let init: Vec<Given> = init.iter().map(|text| text.parse().unwrap()).collect();
        Targets::read(&init, None, file.as_deref())
    }

    fn said(failure: Failure) -> String {
        match failure {
            Failure::Usage(said) => said,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_header_names_the_columns_that_are_read() {
        for fine in [
            "id,frame,x,y,w,h\n7,3,1,2,3,4\n",
            "# by hand\n\"id\",\"frame\",\"x\",\"y\",\"w\",\"h\"\n7,3,1,2,3,4\n",
            "Target, Start, left, top, width, height\n7,3,1,2,3,4\n",
            "track_id,frame,bb_left,bb_top,bb_width,bb_height\n7,3,1,2,3,4\n",
            "id,frame,bbox.x,bbox.y,bbox.w,bbox.h\n7,3,1,2,3,4\n",
            "id,frame,x (px),y (px),w (px),h (px)\n7,3,1,2,3,4\n",
            "id,frame,bx,by,bw,bh\n7,3,1,2,3,4\n",
        ] {
            let wanted = read(&[], Some(fine)).unwrap().wanted;
            assert_eq!((wanted[0].id, wanted[0].start), (7, Some(3)), "{fine}");
        }
        for (wrong, what) in [
            ("frame,id,x,y,w,h\n3,7,1,2,3,4\n", "line 1: the columns are `frame,id,x,y,w,h`"),
            ("# MOT\nframe,id,x,y,w,h\n3,7,1,2,3,4\n", "line 2: "),
            ("id,frame,x1,y1,x2,y2\n7,3,1,2,3,4\n", "read with xyxy"),
            ("id,frame,cx,cy,w,h\n7,3,1,2,3,4\n", "id,frame,x,y,w,h, in this order"),
            ("id,frame,y,x,h,w\n7,3,1,2,3,4\n", "id,frame,x,y,w,h, in this order"),
            ("id,frame,x0,y0,x1,y1\n7,3,1,2,3,4\n", "read with xyxy, by --init-format"),
            ("id,frame,Center_X,center_y,w,h\n7,3,1,2,3,4\n", "in this order"),
            // A second one is no header.
            ("id,frame,x,y,w,h\nid,frame,x,y,w,h\n", "line 2: the id `id`"),
        ] {
            let said = said(read(&[], Some(wrong)).unwrap_err());
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn targets_of_flags_and_of_a_file() {
        let text = "\u{feff}id,frame,x,y,w,h\n7,3,10,20,30,40\r\n\n# a comment\n9,1, 1.5, 2,3,4\n";
        let targets = read(&["5:1,2,3,4", "6,7,8,9"], Some(text)).unwrap();
        assert!(targets.named && targets.first().is_none());
        let ids: Vec<_> = targets.wanted.iter().map(|target| (target.id, target.start)).collect();
        assert_eq!(ids, [(1, Some(5)), (2, None), (7, Some(3)), (9, Some(1))]);
        assert_eq!(targets.wanted[3].bbox, BBox::new(1.5, 2.0, 3.0, 4.0));
    }

    #[test]
    fn one_box_needs_no_name_and_begins_the_run() {
        assert!(!read(&["1,2,3,4"], None).unwrap().named);
        assert_eq!(read(&["120:1,2,3,4"], None).unwrap().first(), Some(120));
        assert!(read(&[], None).unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_with_targets_is_said() {
        for (init, file, words) in [
            (&["1,2,3,4"][..], Some("1,1,1,2,3,4"), "two targets have the id 1"),
            (&[], Some("3,1,1,2,3,4\n3,2,1,2,3,4"), "two targets have the id 3"),
            (&[], Some("3,1,1,2,3"), "line 1: four numbers are needed"),
            (&[], Some("id,frame,x,y,w,h\n-3,1,1,2,3,4"), "line 2: the id `-3`"),
            (&[], Some("3,0,1,2,3,4"), "line 1: the frame `0`"),
            (&[], Some("3,1,1,2,0,4"), "width and height must be above zero"),
            (&[], Some("id,frame\n"), "names no target"),
            (&[], Some("3;1"), "is no row of id,frame,x,y,w,h"),
        ] {
            let error = said(read(init, file).unwrap_err());
            assert!(error.contains(words), "{file:?}: {error}");
        }
    }
}
