//! `kcf-track eval --results`: which row of a file is of which image.

use std::fs;
use std::path::Path;

use super::eval_data::{eval, report, sequence, text};
use crate::helper::run;

/// AUC of the results in `folder` on the sequences of `data`, and what was said.
fn auc(data: &Path, folder: &Path, out: &Path) -> (f64, String) {
    let given = format!("theirs={}", text(folder));
    let outcome = eval(&["--data", text(data), "--results", &given, "--out", text(out), "--quiet"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let auc = report(out)["trackers"][0]["overall"]["auc"].as_f64().unwrap();
    (auc, outcome.stderr)
}

/// The truth of the first five of 14 images is NaN, so evaluation begins with the sixth.
#[test]
fn results_of_all_images_and_of_the_evaluated_ones_score_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (data, theirs) = (dir.path().join("data"), dir.path().join("theirs"));
    sequence(&data.join("late"), 14, 6.0);
    let truth = data.join("late/groundtruth_rect.txt");
    let rows = fs::read_to_string(&truth).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let none = ["NaN,NaN,NaN,NaN"; 5];
    fs::write(&truth, [&none[..], &rows[5..]].concat().join("\n")).unwrap();

    fs::create_dir(&theirs).unwrap();
    let perfect = 20.0 / 21.0;
    let mot: Vec<String> = (6..).zip(&rows[5..]).map(|(frame, row)| format!("{frame},1,{row},1,-1,-1,-1")).collect();
    let mot: Vec<&str> = mot.iter().map(String::as_str).collect();
    let published = [&rows[5..], &[rows[13]; 5]].concat();
    for (i, (what, lines)) in [
        ("evaluated frames", rows[5..].to_vec()),
        ("all images", rows.clone()),
        ("all images, none in the first", [&none[..], &rows[5..]].concat()),
        ("as many rows as images that begin with the label", published),
        ("MOT", mot),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(theirs.join("late.txt"), lines.join("\n")).unwrap();
        let (auc, said) = auc(&data, &theirs, &dir.path().join(format!("out{i}")));
        assert!((auc - perfect).abs() < 1e-9, "{what}: {auc}, {said}");
    }
}

#[test]
fn our_own_boxes_as_mot_score_as_those_in_the_layout_of_otb() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    sequence(&data.join("late"), 24, 4.0);
    let truth = data.join("late/groundtruth_rect.txt");
    let rows = fs::read_to_string(&truth).unwrap();
    let late: Vec<&str> = ["NaN,NaN,NaN,NaN"; 9].into_iter().chain(rows.lines().skip(9)).collect();
    fs::write(&truth, late.join("\n")).unwrap();
    let layouts = ["otb", "mot"].map(|layout| {
        let folder = dir.path().join(layout);
        fs::create_dir(&folder).unwrap();
        let (flag, file) = (format!("--{layout}"), folder.join("late.txt"));
        run(["--seq", text(&data.join("late")), "--preset", "paper", "--quiet", &flag, text(&file)]).assert().success();
        auc(&data, &folder, &dir.path().join(format!("{layout}-out"))).0
    });
    assert!(layouts[0] > 0.6 && (layouts[0] - layouts[1]).abs() < 1e-3, "{layouts:?}");
}
