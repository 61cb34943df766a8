//! Facts about the 100 sequences of OTB (Wu, Lim & Yang, *Object Tracking Benchmark*, TPAMI 2015): which images of a
//! folder belong to the sequence, which truth file, which challenges it has.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::bbox::BBox;
use crate::media::annotation::Base;

/// One of the 100 sequences; two of one folder (Jogging, Skating2) differ by their target.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtbSequence {
    /// Name of the folder.
    pub name: String,
    /// The `N` of `groundtruth_rect.N.txt` where the folder has several targets.
    pub target: Option<u32>,
    /// How many frames are evaluated: `last - first + 1`.
    pub frames: usize,
    /// Number, in its file name, of the image where evaluation starts.
    pub first: usize,
    /// Number of the image where it ends.
    pub last: usize,
    /// Number of the image of the first row of the truth file, if not `first`: the truth of Tiger1 covers five frames
    /// that are not evaluated.
    rows_from: Option<usize>,
    /// The first evaluated box, 1-based as in the truth file.
    init: [f64; 4],
    /// Abbreviations of its challenges: IV SV OCC DEF MB FM IPR OPR OV BC LR.
    pub attributes: Vec<String>,
}

impl OtbSequence {
    /// The box of the first evaluated frame, 0-based.
    pub fn init(&self) -> BBox {
        Base::One.to_bbox(self.init)
    }

    /// Number of the image that the first row of a truth file with so many rows belongs to: the published file, or one of
    /// the evaluated frames only.
    pub fn rows_from(&self, rows: usize) -> Option<usize> {
        let published = self.rows_from.unwrap_or(self.first);
        [published, self.first].into_iter().find(|from| self.last + 1 - from == rows)
    }

    /// The name with the target's number if [`OtbSequence::result_name`] has none: some tools write `Human4-2`, because
    /// its truth is in the second of two files.
    pub fn numbered_name(&self) -> Option<String> {
        let target = self.target.filter(|_| self.result_name() == self.name)?;
        Some(format!("{}-{target}", self.name))
    }

    /// The name of result files: `Jogging-2` in a folder of two sequences, `Human4` in a folder of one.
    pub fn result_name(&self) -> String {
        let siblings = all().iter().filter(|other| other.name == self.name).count();
        match self.target {
            Some(target) if siblings > 1 => format!("{}-{target}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// All 100 sequences, by name.
pub fn all() -> &'static [OtbSequence] {
    static ALL: OnceLock<Vec<OtbSequence>> = OnceLock::new();
    ALL.get_or_init(|| {
        // A test parses this text.
        serde_json::from_str(include_str!("../../assets/otb.json")).unwrap_or_default()
    })
}

/// The sequence of a folder of this name, in any case. Without a target, the folder's first sequence.
pub fn find(folder: &str, target: Option<u32>) -> Option<&'static OtbSequence> {
    all().iter().find(|sequence| {
        sequence.name.eq_ignore_ascii_case(folder)
            && (target.is_none() || sequence.target.is_none() || sequence.target == target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete() {
        assert_eq!(all().len(), 100);
        let folders: std::collections::BTreeSet<_> = all().iter().map(|s| s.name.to_lowercase()).collect();
        assert_eq!(folders.len(), 98);
        for sequence in all() {
            assert_eq!(sequence.frames, sequence.last + 1 - sequence.first, "{}", sequence.name);
            assert_eq!(sequence.rows_from(sequence.frames), Some(sequence.first), "{}", sequence.name);
            assert!(sequence.init().is_valid(), "{}", sequence.name);
            assert!(!sequence.attributes.is_empty(), "{}", sequence.name);
        }
        assert_eq!(all().iter().map(|s| s.frames).sum::<usize>(), 59_035);
    }

    #[test]
    fn special_sequences_have_their_frames() {
        let range = |name, target| find(name, target).map(|s| (s.first, s.last));
        assert_eq!(range("david", None), Some((300, 770)));
        assert_eq!(range("Football1", None), Some((1, 74)));
        assert_eq!(range("Freeman3", None), Some((1, 460)));
        assert_eq!(range("Freeman4", None), Some((1, 283)));
        assert_eq!(range("DIVING", None), Some((1, 215)));
        assert_eq!(range("BlurCar1", None), Some((247, 988)));
        assert_eq!(range("BlurCar3", None), Some((3, 359)));
        assert_eq!(range("BlurCar4", None), Some((18, 397)));
        assert_eq!(range("Tiger1", None), Some((6, 354)));
        assert_eq!(range("no such", None), None);
        let tiger = find("Tiger1", None).unwrap();
        assert_eq!([354, 349, 300].map(|rows| tiger.rows_from(rows)), [Some(1), Some(6), None]);
        assert_eq!(find("Jogging", Some(2)).unwrap().init(), BBox::new(179.0, 78.0, 37.0, 114.0));
        assert_eq!(find("jogging", None).unwrap().target, Some(1));
        assert!(find("Jogging", Some(3)).is_none());
        let names: Vec<_> = all().iter().map(OtbSequence::result_name).filter(|name| name.contains('-')).collect();
        assert_eq!(names, ["Jogging-1", "Jogging-2", "Skating2-1", "Skating2-2"]);
        assert_eq!(find("Human4", None).unwrap().result_name(), "Human4");
        let numbered: Vec<_> = all().iter().filter_map(OtbSequence::numbered_name).collect();
        assert_eq!(numbered, ["Human4-2"]);
    }
}
