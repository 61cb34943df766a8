//! Settings of machines over real windows and of guards, refused by name.

use kcf_track::kernels::Kernel;
use kcf_track::machines::{MachineKind, MachineParams, svm};
use kcf_track::tracker::{GuardParams, SearchParams, WindowParams, WindowSearchParams};
use kcf_track::{Error, Params, Tracker};

use crate::detectors::{detector, guarded, windows};

fn refused(params: Params) -> (&'static str, String) {
    match Tracker::new(params) {
        Err(error @ Error::Parameter { name, .. }) => (name, error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_bad_value_is_named() {
    let bad = |change: fn(&mut WindowParams)| {
        let mut params = detector(MachineKind::Svm);
        change(windows(&mut params));
        refused(params).0
    };
    assert_eq!(bad(|p| p.kernel = Kernel::Gaussian { sigma: 0.0 }), "search.windows.kernel.gaussian.sigma");
    assert_eq!(bad(|p| p.kernel = Kernel::Polynomial { a: -1.0, b: 2 }), "search.windows.kernel.polynomial.a");
    assert_eq!(bad(|p| p.template_size = 7.9), "search.windows.template-size");
    assert_eq!(bad(|p| p.context = -0.1), "search.windows.context");
    assert_eq!(bad(|p| p.reach = f64::NAN), "search.windows.reach");
    assert_eq!(bad(|p| p.prior = 1.1), "search.windows.prior");
    assert_eq!(bad(|p| p.sample_share = 1.0), "search.windows.sample-share");
    assert_eq!(bad(|p| p.gate = f64::INFINITY), "search.windows.gate");
    assert_eq!(bad(|p| p.every = 0), "search.windows.every");
    assert_eq!(bad(|p| p.positives = 0), "search.windows.positives");
    assert_eq!(bad(|p| p.negatives = 257), "search.windows.negatives");
    assert_eq!(bad(|p| p.hard_negatives = 33), "search.windows.hard-negatives");
    let unbalanced = svm::Params { balance: false, ..svm::Params::default() };
    for params in [detector(MachineKind::Svm), guarded(MachineKind::Svm)] {
        let mut params = params;
        windows(&mut params).machine = MachineParams::Svm(unbalanced);
        assert!(refused(params).0.ends_with(".windows.machine.svm.balance"));
    }
    let lost = WindowSearchParams { lost: f64::NAN, ..WindowParams::of(MachineKind::Svm).into() };
    assert_eq!(refused(Params { search: SearchParams::Windows(lost), guard: None }).0, "search.windows.lost");
    for channels in [0, 16, 30, 32] {
        let windows = WindowParams { channels, ..WindowParams::of(MachineKind::Svm) };
        assert_eq!(refused(windows.into()).0, "search.windows.channels");
    }
    let guard = |change: fn(&mut GuardParams)| {
        let mut guard = GuardParams::of(MachineKind::Krr);
        change(&mut guard);
        refused(Params::paper().guarded(guard)).0
    };
    assert_eq!(guard(|p| p.doubt = f64::NAN), "guard.doubt");
    assert_eq!(guard(|p| p.belief = 101.0), "guard.belief");
    assert_eq!(guard(|p| p.margin = -0.1), "guard.margin");
    assert_eq!(guard(|p| p.far = f64::NAN), "guard.far");
    assert_eq!(guard(|p| p.patience = 0), "guard.patience");
    assert_eq!(guard(|p| p.tiles = 1001), "guard.tiles");
    assert_eq!(guard(|p| p.relearn = 1.5), "guard.relearn");

    for kind in [MachineKind::Kpca, MachineKind::Kdspe] {
        assert_eq!(refused(guarded(kind)).0, "guard");
    }
}

#[test]
fn settings_of_a_machine_are_named() {
    let mut params = detector(MachineKind::Svm);
    windows(&mut params).machine = MachineParams::Svm(svm::Params { c: -1.0, ..svm::Params::default() });
    let (name, text) = refused(params);
    assert!(name == "search.windows.machine.svm.c" && text.contains("from 1e-9"), "{text}");
}
