//! The published boxes score what the literature and an independent scorer say.

use kcf_track::cancel::CancelToken;
use kcf_track::eval::{Dataset, Evaluation, Protocol, ResultFiles, Toolkit};

use crate::otb;

fn evaluation(names: &[&str], toolkit: Toolkit) -> Evaluation {
    let results = otb::results();
    let results = names.iter().map(|name| ResultFiles::open(name, &results.join(name)).unwrap()).collect();
    let dataset = Dataset::open(&otb::root(), &[], None).unwrap();
    Evaluation { dataset, runners: vec![], results, protocol: Protocol::Ope, toolkit, baseline: None }
}

#[test]
#[ignore = "needs the published sequences: KCF_TRACK_OTB=DIR cargo test --test golden -- --ignored"]
fn published_trackers_score_what_is_known() {
    // Mean over the 24 sequences, as scored by another toolkit.
    let known = [("KCF", 0.370, 0.537), ("SRDCF", 0.535, 0.737), ("MUSTER", 0.537, 0.748)];
    let evaluation = evaluation(&known.map(|(name, ..)| name), Toolkit::Otb);
    let names: Vec<_> = evaluation.dataset.sequences.iter().map(|s| s.name.clone()).collect();
    assert_eq!(names.len(), 24, "{names:?}, left out {:?}", evaluation.dataset.left_out);
    let none = tempfile::tempdir().unwrap();
    let report = evaluation.run(none.path(), 1, &CancelToken::default(), &|_| ()).unwrap().report;
    assert!(report.left_out.is_empty() && report.warnings.is_empty(), "{:?} {:?}", report.left_out, report.warnings);
    for (name, auc, precision) in known {
        let overall = &report.trackers.iter().find(|t| t.name == name).unwrap().overall;
        assert!((overall.mean.auc - auc).abs() < 5e-4, "{name}: AUC {}", overall.mean.auc);
        let precision_20 = overall.mean.precision_20;
        assert!((precision_20 - precision).abs() < 5e-4, "{name}: P@20 {precision_20}");
        assert!(overall.auc_interval.unwrap().low < auc && auc < overall.auc_interval.unwrap().high);
    }
    assert_eq!(report.trackers[2].name, "KCF");
    assert_eq!(report.sequences.iter().map(|s| s.frames).sum::<usize>(), 7040);
}
