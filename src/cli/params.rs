//! The tracker's settings on the command line: a preset, and a flag for each value.

use clap::Args;
use clap::builder::PossibleValue;
use kcf_track::kernel::Kernel;
use kcf_track::tracker::{AreaSize, FeatureKind, FeatureParams, FilterParams, KernelKind, SearchParams};
use kcf_track::{Params, Result};

use super::Failure;
use super::bank::BankArgs;
use super::detector::DetectorArgs;

/// What a preset is changed by.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tracker")]
pub struct ParamArgs {
    /// Settings to start from; the flags below change them
    #[arg(long, value_name = "NAME", default_value = "paper", value_parser = preset_names())]
    pub preset: String,
    /// What the filter sees [default: the preset's]
    #[arg(long, value_enum)]
    feature: Option<FeatureArg>,
    /// How two patches are compared [default: the preset's]
    #[arg(long, value_enum)]
    kernel: Option<KernelArg>,
    /// Bandwidth of the Gaussian kernel [paper: 0.5 for hog, 0.2 for gray]
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    kernel_sigma: Option<f64>,
    /// Constant added in the polynomial kernel [paper: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    kernel_a: Option<f64>,
    /// Degree of the polynomial kernel, 1 to 32 [paper: 9 for hog, 7 for gray]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    kernel_b: Option<u32>,
    /// Area around the target that is searched, as a multiple of its size [paper: 1.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    padding: Option<f64>,
    /// Regularisation of the filter [paper: 0.0001]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lambda: Option<f64>,
    /// Width of the response that the filter is taught, relative to the target's size [paper: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    output_sigma: Option<f64>,
    /// How fast the model follows the target's looks, 0 to 1 a frame [paper: 0.02 for hog, 0.075 for gray]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// Side of a hog cell in pixels, 1 to 64 [paper: 4]
    #[arg(long, value_name = "PIXELS", allow_negative_numbers = true)]
    cell_size: Option<usize>,
    /// Track at half size from this size on, the root of width times height in pixels; `inf` for never [paper: 100]
    #[arg(long, value_name = "PIXELS", allow_negative_numbers = true)]
    half_size_from: Option<f64>,
    /// Cells of a search window at most, about: a larger one is looked at at a coarser scale; `inf` for any number [paper: inf]
    #[arg(long, value_name = "CELLS", allow_negative_numbers = true)]
    max_cells: Option<f64>,
    /// Round the search area up to numbers of cells that transform cheaply [paper: false]
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    smooth_area: Option<bool>,
    /// Look for the peak between cells [paper: false]
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    sub_cell: Option<bool>,
    /// Learn from the window that the target was found in, up to so many cells of motion [paper: 0]
    #[arg(long, value_name = "CELLS", allow_negative_numbers = true)]
    reuse_shift: Option<f64>,
    /// Peak-to-sidelobe ratio below which a frame's state is `uncertain` [paper: 8 for hog, 7 or 3 for gray]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    uncertain_psr: Option<f64>,
    /// Peak-to-sidelobe ratio below which a frame's state is `lost` [paper: 5 for hog, 5 or 2 for gray]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lost_psr: Option<f64>,
    #[command(flatten)]
    detector: DetectorArgs,
    #[command(flatten)]
    bank: BankArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FeatureArg {
    /// Histograms of oriented gradients, 31 channels
    Hog,
    /// Gray values
    Gray,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KernelArg {
    Gaussian,
    Polynomial,
    Linear,
}

impl KernelArg {
    fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Polynomial => "polynomial",
            Self::Linear => "linear",
        }
    }
}

impl ParamArgs {
    /// The settings as a whole, checked.
    pub fn params(&self) -> Result<Params, Failure> {
        let mut params = Params::preset(&self.preset).expect("clap knows the presets");
        self.detector.changes().apply(&mut params)?;
        match &mut params.search {
            SearchParams::Filter(filter) => self.change_filter(filter)?,
            SearchParams::Windows(windows) => {
                if let Some(kernel) = self.kernel {
                    windows.kernel = Kernel::from_name(kernel.name())?;
                }
                self.change_kernel(&mut windows.kernel)?;
            }
        }
        self.bank.apply(&mut params)?;
        params.check()?;
        Ok(params)
    }

    fn change_filter(&self, filter: &mut FilterParams) -> Result<(), Failure> {
        if self.feature.is_some() || self.kernel.is_some() {
            let feature = self.feature.map_or(filter.feature.kind(), |feature| match feature {
                FeatureArg::Hog => FeatureKind::Hog,
                FeatureArg::Gray => FeatureKind::Gray,
            });
            let kernel = self.kernel.map_or(filter.kernel_kind(), |kernel| match kernel {
                KernelArg::Gaussian => KernelKind::Gaussian,
                KernelArg::Polynomial => KernelKind::Polynomial,
                KernelArg::Linear => KernelKind::Linear,
            });
            if (feature, kernel) != (filter.feature.kind(), filter.kernel_kind()) {
                *filter = FilterParams { loss: filter.loss, ..FilterParams::paper(feature, kernel) };
            }
        }
        self.change_kernel(&mut filter.kernel)?;
        let set = |field: &mut f64, given: Option<f64>| *field = given.unwrap_or(*field);
        set(&mut filter.padding, self.padding);
        set(&mut filter.lambda, self.lambda);
        set(&mut filter.output_sigma, self.output_sigma);
        set(&mut filter.learning_rate, self.learning_rate);
        set(&mut filter.reuse_shift, self.reuse_shift);
        set(&mut filter.uncertain_psr, self.uncertain_psr);
        set(&mut filter.lost_psr, self.lost_psr);
        filter.smooth_area = self.smooth_area.unwrap_or(filter.smooth_area);
        filter.sub_cell = self.sub_cell.unwrap_or(filter.sub_cell);
        match self.max_cells {
            Some(f64::INFINITY) => filter.area = AreaSize::default(),
            Some(max_cells) => filter.area = AreaSize::Bounded { max_cells },
            None => {}
        }
        match (&mut filter.area, self.half_size_from) {
            (AreaSize::Published { half_size_from }, Some(given)) => *half_size_from = given,
            (AreaSize::Bounded { .. }, Some(_)) => {
                return Err(Failure::usage("--half-size-from needs --max-cells inf"));
            }
            _ => {}
        }
        match (&mut filter.feature, self.cell_size) {
            (FeatureParams::Hog { cell_size }, Some(given)) => *cell_size = given,
            (FeatureParams::Gray, Some(given)) => {
                return Err(Failure::usage(format!("--cell-size {given}: must be 1 with gray features")));
            }
            _ => {}
        }
        Ok(())
    }

    /// A flag for another kernel than the one in use is a mistake, not something to ignore.
    fn change_kernel(&self, kernel: &mut Kernel) -> Result<(), Failure> {
        let needs = |flag, needed| Failure::usage(format!("{flag} needs --kernel {needed}"));
        match kernel {
            Kernel::Gaussian { sigma } => *sigma = self.kernel_sigma.unwrap_or(*sigma),
            _ if self.kernel_sigma.is_some() => return Err(needs("--kernel-sigma", "gaussian")),
            _ => {}
        }
        match kernel {
            Kernel::Polynomial { a, b } => {
                *a = self.kernel_a.unwrap_or(*a);
                *b = self.kernel_b.unwrap_or(*b);
            }
            _ if self.kernel_a.is_some() => return Err(needs("--kernel-a", "polynomial")),
            _ if self.kernel_b.is_some() => return Err(needs("--kernel-b", "polynomial")),
            _ => {}
        }
        Ok(())
    }
}

fn preset_names() -> clap::builder::PossibleValuesParser {
    Params::PRESETS.map(|(name, what)| PossibleValue::new(name).help(what)).into()
}
