//! Choosing a kernel and a machine by cross-validation: σ and C of a support vector machine, or any other settings.
//!
//! The samples are cut into folds with the same share of each class; each fold is decided by a machine that learned the
//! others (Stone 1974). The folds are deterministic, in the order of
//! scikit-learn's `StratifiedKFold`.

use nalgebra::DMatrix;
use ndarray::{Array1, ArrayView2, Axis};

use super::{Machine, MachineParams, Samples, svm};
use crate::error::{Error, Result};
use crate::kernels::{Kernel, gram};

/// A kernel and a machine with their settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The kernel between samples.
    pub kernel: Kernel,
    /// The machine over its Gram matrix.
    pub machine: MachineParams,
}

/// Score of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The candidate.
    pub candidate: Candidate,
    /// Share of each fold's samples whose decision has their sign; `None` where a machine could not be fitted.
    pub accuracy: Option<Vec<f64>>,
}

impl Scored {
    /// The mean accuracy over the folds, 0 to 1; 0 where a machine could not be fitted.
    pub fn mean(&self) -> f64 {
        self.accuracy.as_ref().map_or(0.0, |folds| folds.iter().sum::<f64>() / folds.len() as f64)
    }
}

/// Support vector machines of all bandwidths σ of a Gaussian kernel with all prices C, the bandwidths in turn.
pub fn gaussian_svms(sigmas: &[f64], prices: &[f64]) -> Vec<Candidate> {
    let machine = |c: f64| MachineParams::Svm(svm::Params { c, ..svm::Params::default() });
    let of = |sigma: f64| prices.iter().map(move |&c| (sigma, c));
    let pairs = sigmas.iter().flat_map(|&sigma| of(sigma));
    pairs.map(|(sigma, c)| Candidate { kernel: Kernel::Gaussian { sigma }, machine: machine(c) }).collect()
}

/// All `candidates` on the rows of `samples` (n x D) with n `labels` of +1 and -1, cut into `folds`: the best first,
/// equal ones in the order given. Fit the first one to all samples.
///
/// # Errors
/// [`Error::Parameter`] for fewer than two folds; [`Error::Setting`] and [`Error::Parameter`] for a setting out of its
/// range; [`Error::Samples`] if there are no candidates, the sizes do not fit, a label is neither +1 nor -1, or a class
/// has fewer samples than there are folds; the error of the last machine if none could be fitted; [`Error::Cancelled`].
pub fn cross_validate(
    candidates: &[Candidate],
    samples: ArrayView2<f64>,
    labels: &[f64],
    folds: usize,
) -> Result<Vec<Scored>> {
    let folds = stratified(labels, folds)?;
    let wrong = |reason: String| Err(Error::samples(reason));
    if labels.len() != samples.nrows() {
        return wrong(format!("there are {} labels for {} samples", labels.len(), samples.nrows()));
    }
    if candidates.is_empty() {
        return wrong("there are no candidates to choose from".into());
    }
    let mut scored: Vec<Scored> = Vec::with_capacity(candidates.len());
    let (mut last, mut failure) = (None, None);
    for &candidate in candidates {
        let machine = candidate.machine.build()?;
        // Consecutive candidates usually share a kernel, so its matrix is reused.
        let (kernel, k) = match last.take() {
            Some((kernel, k)) if kernel == candidate.kernel => (kernel, k),
            _ => (candidate.kernel, gram(candidate.kernel, samples)?),
        };
        let found: Result<Vec<f64>> = folds.iter().map(|fold| accuracy(&*machine, k.view(), labels, fold)).collect();
        last = Some((kernel, k));
        crate::cancel::check()?;
        let accuracy = found.map_err(|error| failure = Some(error)).ok();
        scored.push(Scored { candidate, accuracy });
    }
    match failure {
        Some(error) if scored.iter().all(|scored| scored.accuracy.is_none()) => return Err(error),
        _ => {}
    }
    scored.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    Ok(scored)
}

/// The share of the samples `fold` that a machine fitted to the others decides rightly.
fn accuracy(machine: &dyn Machine, k: ArrayView2<f64>, labels: &[f64], fold: &[usize]) -> Result<f64> {
    let others: Vec<usize> = (0..labels.len()).filter(|i| !fold.contains(i)).collect();
    let told: Vec<f64> = others.iter().map(|&i| labels[i]).collect();
    let columns = k.select(Axis(1), &others);
    let head = machine.fit(&Samples::new(columns.select(Axis(0), &others).view(), &told)?)?;
    let own = Array1::from_iter(fold.iter().map(|&i| k[[i, i]]));
    let decisions = head.decision(columns.select(Axis(0), fold).view(), own.view())?;
    // Zero decides for neither class.
    let right = fold.iter().zip(&decisions).filter(|&(&i, &decision)| decision * labels[i] > 0.0).count();
    Ok(right as f64 / fold.len() as f64)
}

/// The samples of each fold, in ascending order. Of the labels in sorted order, every `folds`-th counts for the same
/// fold: the fold takes that many of each class, in the order of the samples.
fn stratified(labels: &[f64], folds: usize) -> Result<Vec<Vec<usize>>> {
    if folds < 2 {
        let expected = "at least two folds are needed, one to learn from and one to decide";
        return Err(Error::parameter("folds", folds, expected));
    }
    if let Some(label) = labels.iter().find(|label| label.abs() != 1.0) {
        return Err(Error::samples(format!("the label {label} is neither +1 nor -1")));
    }
    // Classes are numbered as they first occur.
    let first = labels.first().copied().unwrap_or(1.0);
    let classes = [first, -first].map(|class| (0..labels.len()).filter(|&i| labels[i] == class).collect::<Vec<_>>());
    if let Some(class) = classes.iter().find(|class| class.len() < folds) {
        return Err(Error::samples(format!("a class has {} samples for {folds} folds", class.len())));
    }
    let mut counts = DMatrix::<usize>::zeros(folds, 2);
    for place in 0..labels.len() {
        counts[(place % folds, usize::from(place >= classes[0].len()))] += 1;
    }
    let mut next = [0, 0];
    Ok((0..folds)
        .map(|fold| {
            let mut members = Vec::new();
            for (c, class) in classes.iter().enumerate() {
                members.extend(&class[next[c]..next[c] + counts[(fold, c)]]);
                next[c] += counts[(fold, c)];
            }
            members.sort_unstable();
            members
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::machines::krr;
    use crate::machines::tests::vectors::{close, load, matrix, vector};

    /// Two rings: the inner one is the target.
    fn rings() -> (Array2<f64>, Vec<f64>) {
        let radius = |i: usize| if i.is_multiple_of(3) { 0.4 } else { 1.2 };
        let angle = |i: usize| i as f64 * 2.4;
        let at = |(i, j): (usize, usize)| radius(i) * if j == 0 { angle(i).cos() } else { angle(i).sin() };
        (Array2::from_shape_fn((30, 2), at), (0..30).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect())
    }

    #[test]
    fn folds_are_those_of_the_field() {
        // StratifiedKFold(3).split(…, [1, -1, -1, 1, -1, -1, -1, 1]).
        let labels = [1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0, 1.0];
        let folds = stratified(&labels, 3).unwrap();
        assert_eq!(folds, [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
        // Each sample is in one fold.
        let (_, labels) = rings();
        let mut all = stratified(&labels, 4).unwrap().concat();
        all.sort_unstable();
        assert_eq!(all, (0..30).collect::<Vec<_>>());
    }

    /// Agrees with `GridSearchCV` of scikit-learn, fold by fold.
    #[test]
    fn accuracies_are_those_of_the_field() {
        let f = load("selection");
        let (x, y) = (matrix(&f["X"]), vector(&f["y"]));
        let mut candidates = gaussian_svms(&vector(&f["sigmas"]), &vector(&f["prices"]));
        for candidate in &mut candidates {
            let MachineParams::Svm(machine) = &mut candidate.machine else { panic!("{candidate:?}") };
            (machine.balance, machine.tolerance) = (false, 1e-9);
        }
        let found = cross_validate(&candidates, x.view(), &y, f["folds"].as_u64().unwrap() as usize).unwrap();
        let expected = matrix(&f["accuracy"]);
        assert_eq!(found.len(), candidates.len());
        for (candidate, expected) in candidates.iter().zip(expected.outer_iter()) {
            let scored = found.iter().find(|scored| scored.candidate == *candidate).unwrap();
            close(scored.accuracy.as_ref().unwrap(), expected, 1e-12);
        }
        assert!((found[0].mean() - expected.mean_axis(Axis(1)).unwrap().fold(0.0, |a, &b| b.max(a))).abs() < 1e-12);
    }

    #[test]
    fn what_fits_the_rings_comes_first() {
        let (x, labels) = rings();
        let candidates = gaussian_svms(&[0.5, 30.0], &[1e-6, 10.0]);
        assert_eq!(candidates.len(), 4);
        let found = cross_validate(&candidates, x.view(), &labels, 5).unwrap();
        let order: Vec<Candidate> = found.iter().map(|scored| scored.candidate).collect();
        assert_eq!(order, candidates, "equal ones stay in order");
        assert!(found[0].mean() > 0.99 && found[0].accuracy.as_ref().unwrap().len() == 5, "{found:?}");
        assert!(found[2].mean() < 0.8);
        assert!(found.windows(2).all(|pair| pair[0].mean() >= pair[1].mean()));
        // A linear machine cannot separate a ring from its surroundings.
        let linear = Candidate { kernel: Kernel::Linear, machine: candidates[1].machine };
        assert!(cross_validate(&[linear], x.view(), &labels, 5).unwrap()[0].mean() < 0.8);
    }

    #[test]
    fn equal_candidates_stay_in_order_and_those_that_fail_come_last() {
        let (x, labels) = rings();
        let kernel = Kernel::Gaussian { sigma: 0.5 };
        let of = |machine| Candidate { kernel, machine };
        let hopeless = MachineParams::Svm(svm::Params { c: 1e9, max_steps: 1, ..svm::Params::default() });
        let regressions = [1e-3, 1e-4].map(|lambda| of(MachineParams::Krr(krr::Params { lambda, bias: true })));
        let all = [of(hopeless), regressions[0], regressions[1]];
        let found = cross_validate(&all, x.view(), &labels, 3).unwrap();
        assert_eq!([found[0].candidate, found[1].candidate], regressions, "{found:?}");
        assert!(found[2].accuracy.is_none() && found[2].mean() == 0.0);
        let error = cross_validate(&all[..1], x.view(), &labels, 3).unwrap_err();
        assert!(error.to_string().contains("max-steps"), "{error}");
    }

    #[test]
    fn a_machine_that_decides_for_neither_class_is_never_right() {
        let zero = MachineParams::Krr(krr::Params { lambda: 1.0, bias: false });
        let candidate = Candidate { kernel: Kernel::Linear, machine: zero };
        let found = cross_validate(&[candidate], Array2::zeros((30, 2)).view(), &rings().1, 3).unwrap();
        assert_eq!(found[0].accuracy, Some(vec![0.0; 3]));
    }

    #[test]
    fn what_cannot_be_validated_is_refused() {
        let (x, labels) = rings();
        let candidates = gaussian_svms(&[0.5], &[1.0]);
        let says = |labels: &[f64], folds: usize| {
            cross_validate(&candidates, x.view(), labels, folds).unwrap_err().to_string()
        };
        assert!(says(&labels, 1).contains("two folds"));
        assert!(says(&labels, 11).contains("10 samples for 11 folds"));
        assert!(says(&labels[1..], 3).contains("29 labels for 30"));
        assert!(says(&[0.5; 30], 3).contains("0.5"));
        assert!(says(&[1.0; 30], 3).contains("0 samples"));
        assert!(cross_validate(&[], x.view(), &labels, 3).unwrap_err().to_string().contains("no candidates"));
        let bad = gaussian_svms(&[0.5], &[-1.0]);
        assert!(matches!(cross_validate(&bad, x.view(), &labels, 3), Err(Error::Setting { .. })));
        let bad = gaussian_svms(&[0.0], &[1.0]);
        assert!(matches!(cross_validate(&bad, x.view(), &labels, 3), Err(Error::Setting { .. })));
    }
}
