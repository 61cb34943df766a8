//! From the text of a results file to the rows of a sequence: VOT's without its codes, of MOT's those of one target.

use std::path::Path;

use super::dataset::LabelledSequence;
use crate::error::{Error, Result};
use crate::media::annotation::Annotations;

/// Reads the text of the results file at `path`. Of a file of several targets the one is taken that overlaps the first
/// label best, whatever its number: a tracker of many targets may have others before it.
///
/// # Errors
/// As [`Annotations::parse`]; [`Error::Evaluation`] when none of several targets overlaps the first label.
pub(super) fn parse(text: &[u8], path: &Path, sequence: &LabelledSequence) -> Result<Annotations> {
    let annotations = Annotations::parse(&without_codes(text), path, sequence.base)?;
    let targets = annotations.targets();
    let (Some(&Some(label)), [_, _, ..]) = (sequence.truth.first(), &targets[..]) else { return Ok(annotations) };
    let overlap = |target: u32| {
        let target = annotations.clone().of_target(target)?;
        let overlap = target.rows().get(sequence.skipped)?.bbox()?.overlap(&label);
        (overlap > 0.0).then_some((overlap, target))
    };
    // The first of those that are as good.
    targets
        .into_iter()
        .rev()
        .filter_map(overlap)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, target)| target)
        .ok_or_else(|| Error::Evaluation {
            what: path.display().to_string(),
            reason: format!("it has several targets, none of which is where {} begins", sequence.name),
        })
}

/// VOT's files have a single number where a run is started (1), has failed (2) or waits to start again (0): rows
/// without a box.
fn without_codes(text: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(text) else { return text.to_vec() };
    let is_code = |line: &str| line.trim().parse().is_ok_and(|number: f64| [0.0, 1.0, 2.0].contains(&number));
    let lines: Vec<&str> = text.lines().map(|line| if is_code(line) { "NaN" } else { line }).collect();
    lines.join("\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;
    use crate::eval::results::tests::sequence;
    use crate::media::annotation::Base;

    fn read(text: &str, sequence: &LabelledSequence) -> Result<Vec<Option<BBox>>, String> {
        let read = parse(text.as_bytes(), Path::new("car.txt"), sequence);
        read.map(|read| read.boxes()).map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_numbers_of_vot_are_codes() {
        let car = sequence("car", 2, Base::Zero);
        let label = car.truth[0];
        for code in ["0", "1", "2", "1.0000", " 2. ", "0.000"] {
            assert_eq!(read(&format!("{code}\n0,1,10,12"), &car).unwrap(), [None, label], "{code}");
        }
        for number in ["10", "20", "100", "200.0", "1.01", "-1", "3", ".5"] {
            let error = read(&format!("0,1,10,12\n{number}"), &car).unwrap_err();
            assert!(error.contains("line 2"), "{number}: {error}");
        }
    }

    #[test]
    fn of_several_targets_the_one_at_the_first_label_is_scored() {
        let rows = |target: usize, x: usize, images: &[usize]| {
            images.iter().map(|image| format!("{image},{target},{x},2,10,12,1,-1,-1,-1\n")).collect::<String>()
        };
        let car = sequence("car", 2, Base::Zero);
        // 1-based: 5 is at the label, 3 beside it, 7 between the two.
        let text = rows(3, 60, &[1, 2]) + &rows(5, 1, &[1, 2]) + &rows(7, 5, &[1, 2]);
        assert_eq!(read(&text, &car).unwrap(), car.truth);
        // Where evaluation begins with the third image, it is the third row that counts.
        let late = LabelledSequence { skipped: 2, ..sequence("late", 2, Base::Zero) };
        let text = rows(3, 1, &[1, 2]) + &rows(3, 60, &[3, 4]) + &rows(5, 1, &[3, 4]);
        assert_eq!(read(&text, &late).unwrap(), [None, None, late.truth[0], late.truth[1]]);
        let error = read(&(rows(3, 60, &[1, 2]) + &rows(5, 90, &[1, 2])), &car).unwrap_err();
        assert!(error.contains("car.txt: it has several targets, none of which is where car begins"), "{error}");
        // Of one target there is nothing to choose, wherever it is.
        assert_eq!(read(&rows(3, 60, &[1]), &car).unwrap(), [Some(BBox::new(59.0, 1.0, 10.0, 12.0))]);
    }
}
