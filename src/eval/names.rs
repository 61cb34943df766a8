//! Names of sequences, as people and other tools write them, and names of files.

use super::dataset::LabelledSequence;
use crate::media::annotation::Base;
use crate::media::otb::{self, OtbSequence};

/// Whether a sequence is meant by a name that a person wrote.
pub(super) fn is_called(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (key(name), key(wanted));
    if other_name(&name).is_some_and(|other| key(&other) == wanted) {
        return true;
    }
    let folder = name.rsplit_once('-').filter(|(_, target)| is_number(target)).map(|(folder, _)| folder);
    name == wanted || folder == Some(wanted.as_str())
}

/// A sequence's name without what writers disagree on: `jogging-2` for `Jogging.2`, `Jogging_2` and `jogging-2`.
pub(super) fn key(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let digits = lower.len() - lower.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (head, tail) = lower.split_at(lower.len() - digits);
    match head.strip_suffix(['.', '_', '-']) {
        Some(head) if !tail.is_empty() => format!("{head}-{tail}"),
        _ => lower,
    }
}

/// The name that other tools have for a sequence, where it is another one than ours.
pub(super) fn other_name_of(sequence: &LabelledSequence) -> Option<String> {
    other_name(&sequence.name).filter(|_| sequence.base == Base::One)
}

/// What other tools call a sequence of OTB that others know by its folder's name alone: `Human4-2`.
fn other_name(name: &str) -> Option<String> {
    otb::all().iter().find(|sequence| key(&sequence.name) == key(name))?.numbered_name()
}

/// The sequence of OTB that a name means, as anybody writes it: `Jogging_1`, `Human4-2`.
pub(super) fn of_otb(name: &str) -> Option<&'static OtbSequence> {
    let name = key(name);
    let is = |other: &str| key(other) == name;
    otb::all().iter().find(|s| is(&s.result_name()) || s.numbered_name().is_some_and(|other| is(&other)))
}

/// Whether a part of a name is a number, of a target or of a run.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Longest part of a name that a file name repeats, in bytes: with what is added to it a part of a path is at most 143
/// bytes long on an encrypted disk, and 255 elsewhere.
const LONGEST: usize = 100;

/// A name that is one part of a path on any system. What is not the name itself ends with a number of it: two names
/// that differ in what a path cannot hold, or behind what it can, have two files.
pub(super) fn file_name(name: &str) -> String {
    let safe: String = name.chars().map(|c| if c.is_alphanumeric() || "-_.+ ".contains(c) { c } else { '_' }).collect();
    let safe = safe.trim_matches(['.', ' ']);
    let ends = safe.char_indices().map(|(at, c)| at + c.len_utf8());
    let safe = &safe[..ends.take_while(|&end| end <= LONGEST).last().unwrap_or(0)];
    if safe == name {
        return name.into();
    }
    format!("{safe}-{:08x}", crc32fast::hash(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_that_of_numbered_targets_alone() {
        for (name, wanted, is) in [
            ("dog-agility", "dog", false),
            ("dog", "dog", true),
            ("Jogging-1", "jogging", true),
            ("Jogging-1", "Jogging.1", true),
            ("dog-agility", "dog-agility", true),
            ("Human4", "human4_2", true),
            ("Human4", "Human4", true),
            ("Human4", "Human4-1", false),
            ("Human3", "Human3-2", false),
        ] {
            assert_eq!(is_called(name, wanted), is, "{name}, {wanted}");
        }
    }

    #[test]
    fn sequences_of_otb_are_known_by_the_names_of_their_targets() {
        let of = |name: &str| of_otb(name).map(|s| (s.name.as_str(), s.target));
        assert_eq!(of("jogging_1"), Some(("Jogging", Some(1))));
        assert_eq!((of("Human4"), of("human4_2")), (Some(("Human4", Some(2))), Some(("Human4", Some(2)))));
        assert_eq!((of("Jogging"), of("Human4-1"), of("Deer-1"), of("Freeman-1")), (None, None, None, None));
    }

    #[test]
    fn names_are_compared_without_their_separators() {
        assert_eq!(key("Jogging.2"), key("jogging_2"));
        assert_eq!(key("Jogging-2"), "jogging-2");
        assert_eq!(key("Freeman1"), "freeman1");
        assert_eq!(key("GOT-10k_Val_000001"), "got-10k_val-000001");
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        assert_eq!(file_name("../../etc"), "_.._etc-13c1bb1e");
        assert_eq!(file_name(".."), "-9608161c");
        assert_ne!(file_name("a:b"), file_name("a?b"));
        assert_ne!(file_name("a:b"), file_name("a_b"));
        assert_eq!(file_name("Jogging-1"), "Jogging-1");
    }

    #[test]
    fn names_of_any_length_are_names_of_files() {
        for long in ["paper+".to_owned() + &"padding=2.125+".repeat(40), "é".repeat(300), "點".repeat(300)] {
            assert!((LONGEST..LONGEST + 10).contains(&file_name(&long).len()), "{}", file_name(&long));
            assert_ne!(file_name(&long), file_name(&format!("{long}+")));
        }
        assert_eq!(file_name(&"a".repeat(LONGEST)), "a".repeat(LONGEST));
    }
}
