//! The kernel machines without a tracker: figures, tables, and the tools around them.
//!
//!     cargo run --release --example machines -- decision-surfaces [FOLDER]
//!     cargo run --release --example machines -- help

mod decision_surfaces;
mod kernel_pca;
mod methods;
mod plot;

use std::path::PathBuf;

use clap::Parser;

#[derive(Parser)]
enum Command {
    /// Draw the decisions of each machine on two problems that are not linearly separable
    DecisionSurfaces {
        /// Output folder
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Draw the first eight kernel principal components of three clusters
    KernelPca {
        /// Output folder
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Print the accuracy of SVM, Mahalanobis metric, explicit map and sparse representation on one problem
    Methods,
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::DecisionSurfaces { folder } => decision_surfaces::run(&folder),
        Command::KernelPca { folder } => kernel_pca::run(&folder),
        Command::Methods => methods::run(),
    }
}
