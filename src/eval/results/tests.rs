//! Result files: which are found, and what is read of them.

use super::*;
use crate::eval::Toolkit;
use crate::eval::metrics::score;
use crate::media::annotation::Base;

pub(crate) fn sequence(name: &str, n: usize, base: Base) -> LabelledSequence {
    LabelledSequence {
        name: name.into(),
        frames: vec![PathBuf::from("x.jpg"); n],
        skipped: 0,
        truth: vec![Some(BBox::new(0.0, 1.0, 10.0, 12.0)); n],
        attributes: vec![],
        base,
    }
}

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// Images 6 to 9 of a folder of nine, with a target that runs to the right.
#[test]
fn rows_of_images_that_are_left_out_are_passed_over() {
    let at = |x: usize| BBox::new(10.0 * x as f64, 1.0, 10.0, 12.0);
    let frames = (6..=9).map(|number| PathBuf::from(format!("{number:04}.jpg"))).collect();
    let truth = (6..=9).map(|x| Some(at(x))).collect();
    let sequence = LabelledSequence { frames, truth, ..sequence("run", 4, Base::Zero) };
    let rows = |of: std::ops::RangeInclusive<usize>| of.map(|x| format!("{},1,10,12\n", 10 * x)).collect::<String>();
    // One that is lost by now, and was near the place of the first label before.
    let lost = "55,1,10,12\n".repeat(5) + &"500,1,10,12\n".repeat(4);
    let dir = written(&[("run.txt", &lost)]);
    let read = ResultFiles::open("lost", dir.path()).unwrap().read(&sequence).unwrap();
    assert_eq!(read.boxes, [BBox::new(500.0, 1.0, 10.0, 12.0); 4]);
    let mot: String = (1..=9).map(|x| format!("{x},1,{},2,10,12,1,-1,-1,-1\n", 10 * x + 1)).collect();
    for (name, text) in [("all", rows(1..=9)), ("left", rows(6..=9)), ("from-them", rows(6..=14)), ("mot", mot)] {
        let dir = written(&[("run.txt", &text)]);
        let read = ResultFiles::open(name, dir.path()).unwrap().read(&sequence).unwrap();
        assert_eq!(read.boxes, [6, 7, 8, 9].map(at), "{name}");
    }
    // One from the middle: both ways begin with the same row.
    let kept = [6, 8, 9].map(|x| x - 5);
    let frames = kept.iter().map(|number| PathBuf::from(format!("{number:04}.jpg"))).collect();
    let truth = kept.iter().map(|&x| Some(at(x))).collect();
    let sequence = LabelledSequence { frames, truth, ..sequence };
    let dir = written(&[("run.txt", &rows(1..=4))]);
    assert_eq!(ResultFiles::open("gap", dir.path()).unwrap().read(&sequence).unwrap().boxes, kept.map(at));
}

#[test]
fn rows_of_mot_are_one_based_for_any_sequence() {
    let sequence = sequence("car", 2, Base::Zero);
    let dir = written(&[("car.txt", "1,1,1,2,10,12,1,-1,-1,-1\n2,1,1,2,10,12,1,-1,-1,-1\n")]);
    let read = ResultFiles::open("t", dir.path()).unwrap().read(&sequence).unwrap();
    assert_eq!(read.boxes, [BBox::new(0.0, 1.0, 10.0, 12.0); 2]);
    assert!(!read.moved);
    // The same without the columns that tell: it is seen that something is wrong.
    let dir = written(&[("car.txt", "1,2,10,12\n1,2,10,12\n")]);
    let read = ResultFiles::open("t", dir.path()).unwrap().read(&sequence).unwrap();
    assert!(read.warning("t", "car", Toolkit::Otb).unwrap().contains("moved by (1, 1)"));
}

#[test]
fn rows_belong_to_the_images_that_they_are_of() {
    // Evaluated from the third image on, whose label is the box of `sequence`.
    let late = LabelledSequence { skipped: 2, ..sequence("late", 3, Base::Zero) };
    let plain = |xs: &[usize]| xs.iter().map(|x| format!("{x},1,10,12\n")).collect::<String>();
    let mot = |frames: &[usize]| {
        frames.iter().map(|frame| format!("{frame},1,{},2,10,12,1,-1,-1,-1\n", frame + 1)).collect::<String>()
    };
    let read = |text: &str| {
        let read = ResultFiles::open("t", written(&[("late.txt", text)]).path()).unwrap().read(&late);
        read.map(|read| (read.boxes.iter().map(|b| b.x).collect::<Vec<f64>>(), read.rows, read.passed_over))
    };
    for (text, xs, rows, passed_over) in [
        // A row an evaluated frame; more of them, of which the first is the label.
        (plain(&[0, 1, 2]), [0.0, 1.0, 2.0], 3, 0),
        (plain(&[0, 1, 2, 3, 4]), [0.0, 1.0, 2.0], 5, 0),
        // A row an image, with boxes before the first evaluated one and without.
        (plain(&[5, 4, 0, 1, 2]), [0.0, 1.0, 2.0], 3, 2),
        (format!("NaN,NaN,NaN,NaN\nNaN,NaN,NaN,NaN\n{}", plain(&[0, 1, 2])), [0.0, 1.0, 2.0], 3, 2),
        // These name their images.
        (mot(&[3, 4, 5]), [3.0, 4.0, 5.0], 3, 2),
        (mot(&[1, 2, 3, 4, 5]), [3.0, 4.0, 5.0], 3, 2),
    ] {
        assert_eq!(read(&text).unwrap(), (xs.to_vec(), rows, passed_over), "{text}");
    }
    let (boxes, rows, _) = read(&mot(&[3, 4])).unwrap();
    assert!(boxes[2].is_nan() && rows == 2);
    let error = read(&mot(&[1, 2])).unwrap_err().to_string();
    assert!(error.contains("ends with image 2, and late is evaluated from image 3 on"), "{error}");
}

#[test]
fn the_very_name_wins_and_two_that_may_be_meant_are_named() {
    let dir = written(&[("car-1.txt", "0,1,10,12\n"), ("car_1.txt", "5,5,10,12\n")]);
    let files = ResultFiles::open("t", dir.path()).unwrap();
    let first = |name: &str| files.read(&sequence(name, 1, Base::Zero)).map(|read| read.boxes[0].x);
    assert_eq!((first("car-1").unwrap(), first("car_1").unwrap()), (0.0, 5.0));
    assert!(first("car.1").unwrap_err().to_string().contains("may both be of car.1"));
    // The folder of several trackers; several runs of one are one.
    let dir = written(&[("a/car.txt", "0,1,10,12\n"), ("b/car.txt", "5,5,10,12\n")]);
    let several = ResultFiles::open("t", dir.path()).unwrap().read(&sequence("car", 1, Base::Zero));
    assert!(several.unwrap_err().to_string().contains("give the folder of one tracker"));
    let dir = written(&[("car/car_001.txt", "0,1,10,12\n"), ("car/car_002.txt", "5,5,10,12\n")]);
    assert_eq!(ResultFiles::open("t", dir.path()).unwrap().read(&sequence("car", 1, Base::Zero)).unwrap().rows, 1);
}

#[test]
fn every_layout_and_separator_is_read() {
    for (path, text) in [
        ("Jogging-2.txt", "1,2,10,12\n2,2,10,12\n"),
        ("Jogging.2.txt", "1\t2\t10\t12\r\n2\t2\t10\t12\r\n"),
        ("jogging_2.txt", "1 2 10 12\n2 2 10 12"),
        ("Jogging-2/Jogging-2_001.txt", "1.0000,2.0000,10.0000,12.0000\n2,2,10,12\n"),
        ("baseline/Jogging-2/Jogging-2_001.txt", "1\n2,2,10,12\n"),
    ] {
        let dir = written(&[(path, text), ("times/Jogging-2_time.txt", "0.5\n0.5")]);
        let read = ResultFiles::open("other", dir.path()).unwrap().read(&sequence("Jogging-2", 2, Base::One)).unwrap();
        assert_eq!(read.boxes[1], BBox::new(1.0, 1.0, 10.0, 12.0), "{path}");
        assert_eq!((read.rows, read.fps), (2, Some(2.0)), "{path}");
    }
}

#[test]
fn human4_is_read_under_the_names_of_each_tool() {
    let human = sequence("Human4", 2, Base::One);
    for file in ["Human4.txt", "Human4-2.txt", "human4_2.txt", "Human4.2.txt"] {
        let dir = written(&[(file, "1,2,10,12\n1,2,10,12\n"), ("times/Human4_time.txt", "0.5\n0.5")]);
        let read = ResultFiles::open("t", dir.path()).unwrap().read(&human).unwrap();
        assert_eq!((read.rows, read.fps), (2, Some(2.0)), "{file}");
    }
    // Other benchmarks may number what they like.
    let dir = written(&[("Human4-2.txt", "1,2,10,12\n")]);
    let files = ResultFiles::open("t", dir.path()).unwrap();
    assert!(files.read(&sequence("Human4", 1, Base::Zero)).is_err());
    assert!(files.read(&sequence("Human3", 1, Base::One)).is_err());
}

#[test]
fn other_lengths_are_scored_with_a_warning() {
    let dir = written(&[("Deer.txt", "1,2,10,12\n1,2,10,12\n1,2,10,12\n"), ("Toy.txt", "1,2,10,12\n")]);
    let files = ResultFiles::open("other", dir.path()).unwrap();
    let longer = files.read(&sequence("Deer", 2, Base::One)).unwrap();
    assert_eq!(longer.boxes.len(), 2);
    let said = |read: &ReadResult, toolkit: Toolkit| read.warning("other", "Deer", toolkit).unwrap();
    assert!(said(&longer, Toolkit::Otb).contains("3 rows for 2 frames: the last ones are left out"));
    let shorter = files.read(&sequence("Toy", 3, Base::One)).unwrap();
    assert_eq!(shorter.boxes.len(), 3);
    assert!(shorter.boxes[1].x.is_nan() && said(&shorter, Toolkit::Otb).contains("1 rows for 3"));
}

#[test]
fn a_file_that_is_too_short_is_warned_about_in_words_of_what_the_toolkit_does() {
    let dir = written(&[("Toy.txt", "1,2,10,12\n")]);
    let toy = sequence("Toy", 3, Base::One);
    let read = ResultFiles::open("other", dir.path()).unwrap().read(&toy).unwrap();
    for toolkit in Toolkit::ALL {
        let said = read.warning("other", "Toy", toolkit).unwrap();
        // The one box is the label, so what stands in for the others decides.
        let success = score(&toy.truth, &read.boxes, toolkit).unwrap().success[10];
        let repeated = said.contains("the last box stands for those that are missing");
        assert_eq!((repeated, said.contains("count as misses")), (success == 1.0, success < 0.5), "{toolkit}: {said}");
    }
}

#[test]
fn unreadable_results_are_said() {
    let dir = written(&[("Deer.txt", ""), ("Toy.txt", "1,2,three,4"), ("nan.txt", "1,2,10,12\nNaN,NaN,NaN,NaN\n")]);
    let files = ResultFiles::open("other", dir.path()).unwrap();
    assert!(files.read(&sequence("Deer", 2, Base::One)).unwrap_err().to_string().contains("empty"));
    assert!(files.read(&sequence("Toy", 2, Base::One)).unwrap_err().to_string().contains("line 1"));
    assert!(files.read(&sequence("Girl", 2, Base::One)).unwrap_err().to_string().contains("no file for Girl"));
    assert!(files.read(&sequence("nan", 2, Base::One)).unwrap().boxes[1].x.is_nan());
    assert!(ResultFiles::open("none", tempfile::tempdir().unwrap().path()).is_err());
    assert!(ResultFiles::open("none", Path::new("/nowhere")).is_err());
}
