//! Numbers as colours whose steps look even.

use image::Rgb;

/// Coefficients of red, green and blue in rising powers.
///
/// Matt Zucker's fit of matplotlib's viridis (<https://www.shadertoy.com/view/WlfXRN>, public domain); viridis is by
/// Stéfan van der Walt and Nathaniel Smith, 2015.
const VIRIDIS: [[f32; 3]; 7] = [
    [0.277_727_33, 0.005_407_344_7, 0.334_099_8],
    [0.105_093_04, 1.404_613_5, 1.384_590_1],
    [-0.330_861_83, 0.214_847_56, 0.095_095_165],
    [-4.634_230_6, -5.799_101, -19.332_441],
    [6.228_27, 14.179_933, 56.690_55],
    [4.776_385, -13.745_145, -65.353_03],
    [-5.435_456, 4.645_852_6, 26.312_435],
];

/// Viridis: from dark blue at 0 over green to yellow at 1; evenly perceived, also by the colour-blind and in gray.
pub(super) fn viridis(share: f32) -> Rgb<u8> {
    let share = share.clamp(0.0, 1.0);
    Rgb([0, 1, 2].map(|channel| {
        let value = VIRIDIS.iter().rev().fold(0.0, |sum, powers| sum * share + powers[channel]);
        (value.clamp(0.0, 1.0) * 255.0).round() as u8
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_matplotlibs_viridis() {
        // matplotlib.colormaps["viridis"] at 0, 1/4, 1/2, 3/4 and 1.
        let table = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
        for (step, expected) in table.into_iter().enumerate() {
            let Rgb(got) = viridis(step as f32 / 4.0);
            let distance = got.iter().zip(expected).map(|(&a, b): (_, u8)| a.abs_diff(b)).max();
            assert!(distance <= Some(6), "step {step}: {got:?}, not {expected:?}");
        }
    }

    #[test]
    fn brightness_rises_all_the_way() {
        let brightness = (0..=255).map(|step| {
            let Rgb([r, g, b]) = viridis(step as f32 / 255.0);
            0.2126 * f32::from(r) + 0.7152 * f32::from(g) + 0.0722 * f32::from(b)
        });
        let brightness: Vec<f32> = brightness.collect();
        assert!(brightness.windows(2).all(|pair| pair[1] > pair[0] - 0.5));
        assert!(brightness[255] - brightness[0] > 150.0);
    }
}
