//! The kernel machines without a tracker: pictures of what they decide, tables that other programs compare with theirs.
//!
//!     cargo run --release --example machines -- decision-surfaces [FOLDER]
//!     cargo run --release --example machines -- help

mod decision_surfaces;
mod digits;
mod gram;
mod kernel_pca;
mod plot;

use std::path::PathBuf;

use clap::Parser;

#[derive(Parser)]
enum Command {
    /// Draw what each machine makes of two problems that no straight line solves
    DecisionSurfaces {
        /// Where the pictures go
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Draw the first eight kernel principal components of three clusters
    KernelPca {
        /// Where the picture goes
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Embed and denoise handwritten digits (scripts/digits.py makes the data)
    Digits {
        /// The folder of the tables
        folder: PathBuf,
    },
    /// Fit a machine to the rows of one table and say what it makes of the rows of another
    Gram(gram::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::DecisionSurfaces { folder } => decision_surfaces::run(&folder),
        Command::KernelPca { folder } => kernel_pca::run(&folder),
        Command::Digits { folder } => digits::run(&folder),
        Command::Gram(args) => gram::run(&args),
    }
}
