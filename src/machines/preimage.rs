//! From feature space back to feature values: the sample whose image is nearest to a point of a subspace.
//!
//! For a Gaussian kernel and the projection `P φ(x) = Σ γᵢ φ(xᵢ)` onto kernel principal components, the
//! pre-image is a fixed point of `z ← Σ γᵢ k(z, xᵢ) xᵢ / Σ γᵢ k(z, xᵢ)` (Mika et al., NIPS 1998), a
//! mean shift with signs. It removes what the components do not explain: denoising.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use super::Novelty;
use crate::cancel;
use crate::error::Result;
use crate::kernels::{Kernel, cross_gram};

/// Most steps of the iteration.
const MAX_STEPS: usize = 200;

/// A step shorter than this share of the sample's length ends the iteration.
const STILL: f64 = 1e-9;

/// The pre-images of the projections of the rows of `noisy` (m x D) onto the components of `subspace`, which was learnt
/// from the Gram matrix of the rows of `train` (n x D) under a Gaussian kernel of bandwidth `sigma`: m x D.
///
/// The iteration starts from the noisy sample. If the weights cancel out, it restarts from the nearest training sample, and
/// returns that sample if they cancel again.
///
/// # Errors
/// [`Error::Setting`](crate::Error::Setting) for the bandwidth, [`Error::Samples`](crate::Error::Samples) when sizes
/// do not fit or a value is not finite.
pub fn denoise(subspace: &Novelty, sigma: f64, train: ArrayView2<f64>, noisy: ArrayView2<f64>) -> Result<Array2<f64>> {
    let kernel = Kernel::Gaussian { sigma };
    let cross = cross_gram(kernel, noisy, train)?;
    let projections = subspace.embedding.transform(cross.view())?;
    let mut clean = noisy.to_owned();
    for (i, mut row) in clean.outer_iter_mut().enumerate() {
        cancel::check()?;
        // P φ(x) = mean + Σ βₖ vₖ, in coefficients over the training samples.
        let mut gamma = subspace.embedding.coefficients.dot(&projections.row(i));
        gamma += 1.0 / train.nrows() as f64;
        let nearest = cross.row(i).iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| at);
        let found = fixed_point(sigma, gamma.view(), train, noisy.row(i))
            .or_else(|| fixed_point(sigma, gamma.view(), train, train.row(nearest)))
            .unwrap_or_else(|| train.row(nearest).to_owned());
        row.assign(&found);
    }
    Ok(clean)
}

/// `None` if the weights of the mean cancel out.
fn fixed_point(
    sigma: f64,
    gamma: ArrayView1<f64>,
    train: ArrayView2<f64>,
    from: ArrayView1<f64>,
) -> Option<Array1<f64>> {
    let scale = -1.0 / (sigma * sigma * train.ncols() as f64);
    let mut z = from.to_owned();
    for _ in 0..MAX_STEPS {
        let (mut sum, mut total, mut mass) = (Array1::zeros(z.len()), 0.0, 0.0);
        for (row, g) in train.outer_iter().zip(gamma) {
            let distance: f64 = row.iter().zip(&z).map(|(a, b)| (a - b) * (a - b)).sum();
            let weight = g * (scale * distance).exp();
            sum.scaled_add(weight, &row);
            total += weight;
            mass += weight.abs();
        }
        // Weights that nearly cancel would throw the next point far away from all samples.
        if total.is_nan() || total <= 1e-3 * mass {
            return None;
        }
        let next = sum / total;
        let moved: f64 = next.iter().zip(&z).map(|(a, b)| (a - b) * (a - b)).sum();
        let length: f64 = next.dot(&next);
        z = next;
        if moved <= STILL * STILL * length {
            break;
        }
    }
    Some(z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::gram;
    use crate::machines::kpca;

    #[test]
    fn noise_across_an_arc_is_removed() {
        let angle = |i: usize| i as f64 * 0.05;
        let arc = Array2::from_shape_fn((63, 2), |(i, j)| if j == 0 { angle(i).cos() } else { angle(i).sin() });
        let sigma = 0.3;
        let k = gram(Kernel::Gaussian { sigma }, arc.view()).unwrap();
        let machine = kpca::Kpca::new(kpca::Params { rank: 6, two_class: false }).unwrap();
        let subspace = machine.embed(k.view()).unwrap();
        let noisy = Array2::from_shape_fn((8, 2), |(i, j)| arc[[7 * i + 4, j]] * if i % 2 == 0 { 1.15 } else { 0.85 });
        let clean = denoise(&subspace, sigma, arc.view(), noisy.view()).unwrap();
        for row in clean.outer_iter() {
            assert!((row.dot(&row).sqrt() - 1.0).abs() < 0.05, "{row}");
        }
    }

    #[test]
    fn a_sample_far_from_everything_comes_back_to_the_nearest() {
        let x = ndarray::array![[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]];
        let k = gram(Kernel::Gaussian { sigma: 0.1 }, x.view()).unwrap();
        let subspace = kpca::Kpca::new(kpca::Params::default()).unwrap().embed(k.view()).unwrap();
        let clean = denoise(&subspace, 0.1, x.view(), ndarray::array![[1e3, -1e3]].view()).unwrap();
        assert!(clean.iter().all(|v| v.is_finite() && v.abs() < 0.2), "{clean}");
        assert!(denoise(&subspace, 0.0, x.view(), x.view()).is_err());
    }

    /// The image of a pre-image is nearer to the projection than that of any point around it. All of the distance but
    /// `-2 Σ γᵢ k(z, xᵢ)` is constant, with γ from the definition: the mean, and the components from there.
    #[test]
    fn a_pre_image_is_nearest_to_the_projection() {
        let x = Array2::from_shape_fn((12, 2), |(i, j)| ((i * 2 + j) as f64 * 2.3).sin() + 0.1 * i as f64);
        let (n, sigma) = (12, 0.7);
        let k = gram(Kernel::Gaussian { sigma }, x.view()).unwrap();
        let noisy = ndarray::array![[0.5, 0.7], [1.1, -0.2], [0.0, 0.4]];
        let value =
            |a: ArrayView1<f64>, b: ArrayView1<f64>| (-(&a - &b).mapv(|v| v * v).sum() / (2.0 * sigma * sigma)).exp();
        for rank in [1, 3] {
            let machine = kpca::Kpca::new(kpca::Params { rank, two_class: false }).unwrap();
            let clean = denoise(&machine.embed(k.view()).unwrap(), sigma, x.view(), noisy.view()).unwrap();
            // The components by an eigenproblem of the centred matrix.
            let centre = nalgebra::DMatrix::<f64>::identity(n, n).add_scalar(-1.0 / n as f64);
            let dense = nalgebra::DMatrix::from_fn(n, n, |i, j| k[[i, j]]);
            let eigen = (&centre * &dense * &centre).symmetric_eigen();
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
            for (i, z) in clean.outer_iter().enumerate() {
                let own = nalgebra::DVector::from_fn(n, |j, _| value(noisy.row(i), x.row(j)));
                let centred = &centre * (own - dense.column_mean());
                let mut gamma = nalgebra::DVector::from_element(n, 1.0 / n as f64);
                for &c in &order[..rank] {
                    let direction = &centre * eigen.eigenvectors.column(c);
                    gamma.axpy(direction.dot(&centred) / eigen.eigenvalues[c], &direction, 1.0);
                }
                let near = |z: ArrayView1<f64>| -> f64 { (0..n).map(|j| gamma[j] * value(z, x.row(j))).sum() };
                for step in [[1e-3, 0.0], [-1e-3, 0.0], [0.0, 1e-3], [0.0, -1e-3]] {
                    let beside = &z + &ndarray::arr1(&step);
                    assert!(near(z) > near(beside.view()), "rank {rank}, sample {i}: {z}, {step:?}");
                }
            }
        }
    }
}
