//! Light, lens and sensor: what happens to a picture after the scene is painted.

use super::canvas::{Canvas, each};
use super::motion::Swing;
use super::noise::{normal, stream};
use super::params::SceneParams;

/// Lighting, focus and noise of one scene.
#[derive(Clone, Debug)]
pub(super) struct Optics {
    seed: u64,
    illumination: f64,
    blur: f64,
    noise: f64,
    gain: Swing,
    offset: Swing,
    gamma: Swing,
    lamp: [Swing; 2],
    focus: Swing,
}

impl Optics {
    pub(super) fn new(params: &SceneParams) -> Self {
        let swing = |tag, lo, hi| Swing::new(params.seed, tag, lo, hi);
        Self {
            seed: params.seed,
            illumination: params.illumination,
            blur: params.blur,
            noise: params.noise,
            gain: swing("gain", 80.0, 130.0),
            offset: swing("offset", 60.0, 100.0),
            gamma: swing("gamma", 90.0, 140.0),
            lamp: [swing("lamp across", 50.0, 90.0), swing("lamp down", 70.0, 120.0)],
            focus: swing("focus", 100.0, 160.0),
        }
    }

    /// All of it, in the order of nature: light on the scene, defocus in the lens, noise on the sensor.
    pub(super) fn apply(&self, canvas: &mut Canvas, index: usize) {
        let t = index as f64;
        if self.illumination > 0.0 {
            self.light(canvas, t);
        }
        // From sharp to blurred and back, sharp in frame 0.
        let swing = self.focus.at(t);
        let sigma = self.blur * swing * swing;
        if sigma > 0.05 {
            defocus(canvas, sigma);
        }
        if self.noise > 0.0 {
            let mut rng = stream(self.seed, "sensor", index as u64);
            let strength = self.noise as f32;
            for pixel in &mut canvas.pixels {
                *pixel = each(|c| pixel[c] + strength * normal(&mut rng));
            }
        }
    }

    /// Value -> 255 (gain (value / 255)^gamma) + offset, the gain tilted by a light that wanders; no change in frame 0.
    fn light(&self, canvas: &mut Canvas, t: f64) {
        let strength = self.illumination;
        let gain = 1.0 + 0.35 * strength * self.gain.at(t);
        let offset = 24.0 * strength * self.offset.at(t);
        let gamma = libm::exp(0.5 * strength * self.gamma.at(t));
        let (tilt_x, tilt_y) = (0.7 * strength * self.lamp[0].at(t), 0.5 * strength * self.lamp[1].at(t));
        // The power of a byte's value, tabulated finely enough for the steps between.
        const STEPS: usize = 1024;
        let curve: Vec<f32> =
            (0..=STEPS + 1).map(|i| (255.0 * libm::pow(i as f64 / STEPS as f64, gamma)) as f32).collect();
        let bent = |value: f32| {
            let place = value.clamp(0.0, 255.0) / 255.0 * STEPS as f32;
            let step = place as usize;
            curve[step] + (curve[step + 1] - curve[step]) * (place - step as f32)
        };
        let (width, height) = (canvas.width as f64, canvas.height as f64);
        for (row, line) in canvas.pixels.chunks_mut(canvas.width).enumerate() {
            for (column, pixel) in line.iter_mut().enumerate() {
                let tilt =
                    tilt_x * ((column as f64 + 0.5) / width - 0.5) + tilt_y * ((row as f64 + 0.5) / height - 0.5);
                let gain = (gain * (1.0 + tilt)) as f32;
                *pixel = each(|c| (gain * bent(pixel[c]) + offset as f32).clamp(0.0, 255.0));
            }
        }
    }
}

/// Gaussian blur of standard deviation `sigma` (positive) in pixels, the border repeated.
fn defocus(canvas: &mut Canvas, sigma: f64) {
    let radius = (3.0 * sigma).ceil() as usize;
    let bell = |d: usize| libm::exp(-((d * d) as f64) / (2.0 * sigma * sigma));
    let total = bell(0) + 2.0 * (1..=radius).map(bell).sum::<f64>();
    let weights: Vec<f32> = (0..=radius).map(|d| (bell(d) / total) as f32).collect();
    let (width, height) = (canvas.width, canvas.height);
    let smooth = |from: &[[f32; 3]], at: usize, step: usize, place: usize, count: usize| {
        let mut sum = each(|c| from[at][c] * weights[0]);
        for (d, weight) in weights.iter().enumerate().skip(1) {
            let (back, ahead) = (from[at - d.min(place) * step], from[at + d.min(count - 1 - place) * step]);
            sum = each(|c| sum[c] + (back[c] + ahead[c]) * weight);
        }
        sum
    };
    let mut across = vec![[0.0; 3]; width * height];
    for (at, pixel) in across.iter_mut().enumerate() {
        *pixel = smooth(&canvas.pixels, at, 1, at % width, width);
    }
    for (at, pixel) in canvas.pixels.iter_mut().enumerate() {
        *pixel = smooth(&across, at, width, at / width, height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defocus_keeps_the_light_and_has_its_width() {
        let mut canvas = Canvas::new(41, 41);
        canvas.pixels[20 * 41 + 20] = [1000.0; 3];
        defocus(&mut canvas, 2.0);
        let (mut sum, mut second) = (0.0, 0.0);
        for (at, pixel) in canvas.pixels.iter().enumerate() {
            sum += f64::from(pixel[0]);
            second += f64::from(pixel[0]) * ((at % 41) as f64 - 20.0) * ((at % 41) as f64 - 20.0);
        }
        // The bell ends at three standard deviations.
        assert!((sum - 1000.0).abs() < 0.1 && (second / sum - 4.0).abs() < 0.15, "{sum} {}", second / sum);
        let mut plain = Canvas::new(20, 3);
        plain.pixels.fill([77.0; 3]);
        defocus(&mut plain, 9.0);
        assert!(plain.pixels.iter().all(|p| (p[0] - 77.0).abs() < 1e-3));
    }

    #[test]
    fn noise_has_its_strength() {
        let optics = Optics::new(&SceneParams { noise: 5.0, ..SceneParams::default() });
        let mut canvas = Canvas::new(200, 100);
        canvas.pixels.fill([128.0; 3]);
        optics.apply(&mut canvas, 3);
        let squares: f64 = canvas.pixels.iter().map(|p| f64::from(p[1] - 128.0) * f64::from(p[1] - 128.0)).sum();
        assert!(((squares / 20_000.0).sqrt() - 5.0).abs() < 0.1);
    }
}
