//! Our boxes as files that other tools read.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::dataset::LabelledSequence;
use super::names::file_name;
use super::runner::Trace;
use super::store::write_whole;
use crate::atomic_file::temporary_beside;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::annotation::Base;

/// The folder below `--save-results`.
const GOT10K: &str = "got10k";

/// What a tool calls a sequence with several targets in one folder.
fn with_separator(name: &str, separator: &str) -> String {
    match name.rsplit_once('-') {
        Some((folder, target)) if !folder.is_empty() && (target == "1" || target == "2") => {
            format!("{folder}{separator}{target}")
        }
        _ => name.to_owned(),
    }
}

/// Makes the folders that [`save`] writes into, and checks that it can: an evaluation that takes hours would end there.
///
/// # Errors
/// [`Error::Parameter`] where a file is in the way, [`Error::Io`] where nothing can be written.
pub fn prepare(folder: &Path) -> Result<()> {
    let home = folder.join(GOT10K);
    fs::create_dir_all(&home).and_then(|()| temporary_beside(&home.join("probe")).map(drop)).map_err(
        |error| match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Error::Parameter {
                name: "save-results",
                value: folder.display().to_string(),
                expected: "it is a file: give a folder".into(),
            },
            _ => Error::io(&home, error),
        },
    )
}

/// Writes the run of `tracker` as other tools look for it below `folder`: for got10k
/// `got10k/OTB2015/<tracker>/<sequence>.txt` (with `times/`), to be given as `result_dir` to `ExperimentOTB`; for a
/// sequence that is not OTB's `got10k/GOT-10k/<tracker>/<sequence>/`.
///
/// # Errors
/// [`Error::Io`] when a file cannot be written.
pub fn save(folder: &Path, tracker: &str, sequence: &LabelledSequence, trace: &Trace) -> Result<()> {
    let tracker = file_name(tracker);
    // Three decimals are got10k's own form.
    let row = |b: &BBox| sequence.base.to_numbers(b).map(|v| format!("{v:.3}")).join(",") + "\n";
    let text: String = trace.boxes.iter().map(row).collect();
    let seconds: String = trace.micros.iter().map(|&m| format!("{:.8}\n", f64::from(m) / 1e6)).collect();
    let got10k = folder.join(GOT10K);
    let (rows, times) = if sequence.base == Base::One {
        let (name, home) = (file_name(&with_separator(&sequence.name, ".")), got10k.join("OTB2015").join(&tracker));
        (home.join(format!("{name}.txt")), home.join("times").join(format!("{name}_time.txt")))
    } else {
        let name = file_name(&sequence.name);
        let home = got10k.join("GOT-10k").join(&tracker).join(&name);
        (home.join(format!("{name}_001.txt")), home.join(format!("{name}_time.txt")))
    };
    write_whole(&rows, text.as_bytes())?;
    write_whole(&times, seconds.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::results::tests::sequence;
    use crate::eval::results::{ResultFiles, as_trace};

    #[test]
    fn what_is_saved_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let jogging = sequence("Jogging-2", 2, Base::One);
        let boxes = vec![BBox::new(0.0, 1.0, 10.0, 12.0), BBox::new(1.25, 1.5, 10.0, 12.0)];
        let trace = Trace { micros: vec![2000, 4000], ..as_trace(boxes.clone()) };
        save(dir.path(), "paper", &jogging, &trace).unwrap();
        let home = dir.path().join("got10k/OTB2015/paper");
        assert_eq!(
            fs::read_to_string(home.join("Jogging.2.txt")).unwrap(),
            "1.000,2.000,10.000,12.000\n2.250,2.500,10.000,12.000\n"
        );
        assert_eq!(fs::read_to_string(home.join("times/Jogging.2_time.txt")).unwrap(), "0.00200000\n0.00400000\n");
        assert_eq!(ResultFiles::open("us", &home).unwrap().read(&jogging).unwrap().boxes, boxes);
        let val = sequence("GOT-10k_Val_000001", 2, Base::Zero);
        save(dir.path(), "paper", &val, &trace).unwrap();
        let home = dir.path().join("got10k/GOT-10k/paper");
        assert_eq!(ResultFiles::open("us", &home).unwrap().read(&val).unwrap().boxes, boxes);
        // Two frames in six milliseconds.
        assert_eq!(ResultFiles::open("us", &home).unwrap().read(&val).unwrap().fps.map(f64::round), Some(333.0));
    }
}
