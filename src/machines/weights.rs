//! Reconstruction weights: how each sample is made of the others.
//!
//! Column j of `D` holds the weights `d_j` that reconstruct sample j from the others, with `1ᵀd_j = 1` and
//! `d_jj = 0`. They do not change when the samples are rotated, moved or scaled. Sparsity preserving projections (Qiao,
//! Chen & Tan 2010) take few samples of any class; discriminative sparsity preserving embedding (Ma, Tan & Yang 2014)
//! takes all of the sample's own class and then explains the rest by few of the others.

use nalgebra::{DMatrix, DVector};

use crate::error::Result;
use crate::kernels::factor::{cholesky, lift_diagonal};

/// How an l1 problem is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sparse {
    /// The price τ of a unit of weight, relative to kernel values.
    pub tau: f64,
    /// The largest number of ADMM iterations; none leaves the step out.
    pub iterations: usize,
}

/// The weights of discriminative sparsity preserving embedding, n x n, for the classes with the given members. Samples
/// of a class of one take no part: their rows and columns stay zero.
pub(crate) fn discriminative(
    gram: &DMatrix<f64>,
    classes: &[Vec<usize>],
    ridge: f64,
    sparse: Sparse,
) -> Result<DMatrix<f64>> {
    let n = gram.nrows();
    let mut weights = DMatrix::zeros(n, n);
    for class in classes.iter().filter(|class| class.len() > 1) {
        let within = within_class(&gram.select_rows(class).select_columns(class), ridge)?;
        for (a, &i) in class.iter().enumerate() {
            for (b, &j) in class.iter().enumerate() {
                weights[(i, j)] = within[(a, b)];
            }
        }
        let others = classes.iter().filter(|c| *c != class && c.len() > 1);
        let mut others: Vec<usize> = others.flatten().copied().collect();
        others.sort_unstable();
        if others.len() < 2 || sparse.iterations == 0 {
            continue;
        }
        // What the own class leaves unexplained, seen from the others: g_j = K_Oj - K_OI t_j.
        let across = gram.select_rows(&others).select_columns(class);
        let unexplained = &across - &across * within;
        let rest = lasso(&gram.select_rows(&others).select_columns(&others), unexplained, 0.0, false, sparse)?;
        for (a, &i) in others.iter().enumerate() {
            for (b, &j) in class.iter().enumerate() {
                weights[(i, j)] = rest[(a, b)];
            }
        }
    }
    Ok(weights)
}

/// The weights of sparsity preserving projections, n x n:
/// `min ½‖φ_j - Φs‖² + τ‖s‖₁, 1ᵀs = 1, s_j = 0`.
pub(crate) fn unsupervised(gram: &DMatrix<f64>, sparse: Sparse) -> Result<DMatrix<f64>> {
    lasso(gram, gram.clone(), 1.0, true, sparse)
}

/// Each sample from all others of its class: `min ‖φ_j - Φt‖² + ρ‖t‖², 1ᵀt = 1, t_j = 0`.
pub(super) fn within_class(gram: &DMatrix<f64>, ridge: f64) -> Result<DMatrix<f64>> {
    let n = gram.nrows();
    let mut lifted = gram.clone();
    lift_diagonal(&mut lifted, ridge);
    // One inverse Q serves all: without row and column j it is Q - q_j q_jᵀ / Q_jj.
    let inverse = cholesky(lifted)?.inverse();
    let ones = inverse.column_sum();
    let mut weights = DMatrix::zeros(n, n);
    for j in 0..n {
        let q = inverse.column(j);
        // Q_{-j} k_j = -q_j / Q_jj, but for the ridge that k_j lacks; it is in row j, which does not count.
        let mut t = q * (-1.0 / q[j]);
        let mut o = &ones - q * (ones[j] / q[j]);
        t[j] = 0.0;
        o[j] = 0.0;
        let missing = (1.0 - t.sum()) / o.sum();
        t.axpy(missing, &o, 1.0);
        weights.set_column(j, &t);
    }
    Ok(weights)
}

/// `min ½ sᵀHs - gᵀs + τ‖s‖₁, 1ᵀs = total` for each column `g`, by ADMM; with `leave_out`, `s_j = 0` in
/// column j.
fn lasso(h: &DMatrix<f64>, g: DMatrix<f64>, total: f64, leave_out: bool, sparse: Sparse) -> Result<DMatrix<f64>> {
    let (n, m) = (h.nrows(), g.ncols());
    let rho = (h.trace() / n as f64).max(f64::MIN_POSITIVE);
    let mut lifted = h.clone();
    lift_diagonal(&mut lifted, rho);
    let inverse = cholesky(lifted)?.inverse();
    let ones = inverse.column_sum();
    let mut z = DMatrix::zeros(n, m);
    let mut u = DMatrix::<f64>::zeros(n, m);
    for _ in 0..sparse.iterations {
        let mut x = &inverse * (&g + (&z - &u) * rho);
        for (j, mut column) in x.column_iter_mut().enumerate() {
            let mut share = ones.clone();
            if leave_out {
                let q = inverse.column(j);
                column.axpy(-column[j] / q[j], &q, 1.0);
                share.axpy(-ones[j] / q[j], &q, 1.0);
                column[j] = 0.0;
                share[j] = 0.0;
            }
            column.axpy((total - column.sum()) / share.sum(), &share, 1.0);
        }
        u += &x;
        let mut moved = 0.0f64;
        for (new, old) in u.iter().zip(z.iter_mut()) {
            let shrunk = new.signum() * (new.abs() - sparse.tau / rho).max(0.0);
            moved = moved.max((shrunk - *old).abs());
            *old = shrunk;
        }
        u -= &z;
        if moved < 1e-12 && (&x - &z).amax() < 1e-12 {
            break;
        }
    }
    // An iteration cut short leaves a sum that is not quite right, and with it a centre of gravity that moves.
    for (j, mut column) in z.column_iter_mut().enumerate() {
        let used = column.iter().filter(|v| **v != 0.0).count();
        let short = total - column.sum();
        let places = |i: usize, v: f64| v != 0.0 || (used == 0 && !(leave_out && i == j));
        let count = (0..n).filter(|&i| places(i, column[i])).count().max(1) as f64;
        let add = DVector::from_fn(n, |i, _| if places(i, column[i]) { short / count } else { 0.0 });
        column += add;
    }
    Ok(z)
}
