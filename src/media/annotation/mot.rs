//! MOT's lines: a frame and a target each, in any order (Milan, Leal-Taixé, Reid, Roth & Schindler, *MOT16*, 2016).

use super::{Base, Row};

/// The last frame that is believed: a row is kept for each before it. Nine hours of video.
const LAST_FRAME: u32 = 1_000_000;

/// The last class that a line without a visibility may have: MOT knows 13.
const LAST_CLASS: f64 = 99.0;

/// One line: `frame, id, x, y, w, h, conf, class, visibility`, the same without a visibility, or
/// `frame, id, x, y, w, h, conf, x, y, z`. All counting begins with 1, that of frames, targets and pixels; some tools
/// count targets from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub frame: u32,
    /// The target.
    pub target: u32,
    numbers: [f64; 4],
    /// Whether the target is meant to be followed: its `conf` is not 0.
    counts: bool,
}

impl Entry {
    /// The entry that these numbers of a line are; `None` where they are of another dialect.
    ///
    /// # Errors
    /// What is wrong with an entry, for a person.
    pub fn read(numbers: &[f64]) -> Result<Option<Self>, String> {
        let Some((&[frame, target, x, y, w, h, conf], rest)) = numbers.split_first_chunk() else { return Ok(None) };
        let is_mot = match *rest {
            // Eight numbers are a polygon elsewhere: none whose last corner lies on the edge of the picture.
            [class] => class.fract() == 0.0 && (-1.0..=LAST_CLASS).contains(&class) && (-1.0..=1.0).contains(&conf),
            [class, visibility] => class.fract() == 0.0 && (-1.0..=1.0).contains(&visibility),
            [_, _, _] => true,
            _ => false,
        };
        let (Some(frame), Some(target), true) = (count(frame, 1), count(target, 0), is_mot) else { return Ok(None) };
        if frame > LAST_FRAME {
            return Err(format!("frame {frame}: a sequence has at most {LAST_FRAME}"));
        }
        Ok(Some(Self { frame, target, numbers: [x, y, w, h], counts: conf != 0.0 }))
    }
}

/// What keeps as many numbers as a line of MOT alone has from being one.
pub(super) fn fault(numbers: &[f64]) -> Option<String> {
    let (&[frame, target, .., class, visibility], 9..) = (numbers, numbers.len()) else { return None };
    Some(if count(frame, 1).is_none() {
        format!("its frame is {frame}, and frames count from 1")
    } else if count(target, 0).is_none() {
        format!("its target is {target}, and targets count from 0")
    } else if class.fract() != 0.0 {
        format!("its class is {class}")
    } else {
        format!("its visibility is {visibility}")
    })
}

/// A number that counts something from `first`.
fn count(value: f64, first: u32) -> Option<u32> {
    (value.fract() == 0.0 && (f64::from(first)..=f64::from(u32::MAX)).contains(&value)).then_some(value as u32)
}

/// The target that comes first among those that count, or else among all; of several in one frame the lowest.
pub(super) fn first(entries: &[Entry]) -> Option<u32> {
    entries.iter().min_by_key(|entry| (!entry.counts, entry.frame, entry.target)).map(|entry| entry.target)
}

/// The rows of a target, one a frame up to its last. Of two lines for one frame the last counts.
pub(super) fn rows(entries: &[Entry], target: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in entries.iter().filter(|entry| entry.target == target) {
        let place = entry.frame as usize;
        if rows.len() < place {
            rows.resize(place, Row::new([f64::NAN; 4], Base::One));
        }
        rows[place - 1] = Row::new(entry.numbers, Base::One);
    }
    rows
}

#[cfg(test)]
mod tests {
    use crate::bbox::BBox;
    use crate::media::annotation::{Annotations, Base};

    fn parse(text: &str) -> Annotations {
        Annotations::parse(text.as_bytes(), "gt/gt.txt", Base::Zero).unwrap()
    }

    const TRUTH: &str = "1,1,912,484,97,109,0,7,1\n1,3,11,21,30,40,1,1,0.9\n3,3,13,21,30,40,1,1,0.5\n\n\
                         2,2,1,2,30,40,1,1,1\n2,3,12,21,30,40,1,1,1\n";

    #[test]
    fn a_truth_in_mot_format_has_the_boxes_of_one_target() {
        let read = parse(TRUTH);
        assert_eq!((read.targets(), read.target(), read.base()), (vec![1, 2, 3], Some(3), Base::One));
        let boxes = [10.0, 11.0, 12.0].map(|x| Some(BBox::new(x, 20.0, 30.0, 40.0)));
        assert_eq!(read.boxes(), boxes);
        assert_eq!(read.clone().of_target(2).unwrap().boxes(), [None, Some(BBox::new(0.0, 1.0, 30.0, 40.0))]);
        assert_eq!(read.clone().of_target(1).unwrap().boxes(), [Some(BBox::new(911.0, 483.0, 97.0, 109.0))]);
        assert!(read.of_target(4).is_none());
        // The older form, as tools write it.
        assert_eq!(parse("1,7,11,21,30,40,-1,-1,-1,-1").boxes(), boxes[..1]);
        assert_eq!(parse("1,0,11,21,30,40,1,-1,-1,-1").target(), Some(0));
        // Where none counts, any does.
        assert_eq!(parse("1,1,912,484,97,109,0,7,1").target(), Some(1));
    }

    #[test]
    fn mot_lines_among_others_and_frames_beyond_belief_are_refused() {
        let error = |text: &str| Annotations::parse(text.as_bytes(), "gt.txt", Base::One).unwrap_err().to_string();
        assert!(error("1,1,2,3,4,5,1,1,1\n1,2,3,4").contains("line 2: `1,2,3,4` is of another form"));
        assert!(error("1,2,3,4\n1,1,2,3,4,5,1,1,1").contains("line 2"));
        assert!(error("4000000000,1,2,3,4,5,1,1,1").contains("at most 1000000"));
    }
}
