//! Describes windows of a sequence by the tracker's histograms of oriented gradients, one row of a `.npy` matrix each.
//!
//! ```text
//! cargo run --release --example machines -- hog-patches OTB/Deer/img windows.csv hog.npy --size 142x97 --cell 4
//! ```
//!
//! A line of the table is a frame, counted from 0, and the centre x, y of a window in its pixels, 0-based. All windows
//! are of one size. A row of the matrix holds the `[row][column][channel]` values of `size / cell` cells of 31
//! channels, in `f32`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args as Flags;
use kcf_track::export::write_npy;
use kcf_track::features::hog::{CHANNELS, Hog, LANES};
use kcf_track::frame::patch::{PatchRect, sample};
use kcf_track::media::{Channels, Sequence, SequenceOptions, decode};
use kcf_track::profile::Stopwatch;
use ndarray::Array2;

#[derive(Flags)]
pub struct Args {
    /// The folder of a sequence
    sequence: PathBuf,
    /// Frames and centres of the windows
    windows: PathBuf,
    /// The matrix to write
    out: PathBuf,
    /// Width and height of all windows, in pixels
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: (usize, usize),
    /// Side of a cell in pixels
    #[arg(long, default_value_t = 4)]
    cell: usize,
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    sides.ok_or_else(|| "it must be a width and a height, as 64x48".into())
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let Args { sequence, windows, out, size: (width, height), cell } = args;
    let sequence = Sequence::open(&sequence, &SequenceOptions::default())?;
    ensure!(
        cell > 0 && width.min(height) >= cell && width.max(height) < 1 << 14,
        "--size does not hold a cell, or is too large"
    );
    let mut hog = Hog::new(width, height, cell);
    let (ones_down, ones_across) = (vec![1.0; hog.rows()], vec![1.0; hog.cols()]);
    let mut patch = vec![0; width * height];
    let mut map = vec![0.0; hog.rows() * hog.cols() * LANES];
    let (mut rows, mut values) = (0, Vec::<f32>::new());
    let mut last = None;
    let place = || windows.display().to_string();
    let mut table = csv::ReaderBuilder::new().has_headers(false).from_path(&windows).with_context(place)?;
    for record in table.deserialize() {
        let (index, x, y): (usize, f64, f64) = record.with_context(place)?;
        if last.as_ref().is_none_or(|(shown, _)| *shown != index) {
            let path = sequence.images().get(index).with_context(|| format!("there is no frame {index}"))?;
            last = Some((index, decode(path, Channels::Luma)?));
        }
        let (_, frame) = last.as_ref().expect("it was read above");
        let corner = |centre: f64, length: usize| (centre - length as f64 / 2.0).round() as i64;
        let rect = PatchRect { left: corner(x, width), top: corner(y, height), width, height };
        sample(&frame.as_frame(), rect, &mut patch);
        hog.extract(&patch, &ones_down, &ones_across, &mut map, &mut Stopwatch::default());
        values.extend(map.chunks_exact(LANES).flat_map(|cell| &cell[..CHANNELS]));
        rows += 1;
    }
    ensure!(rows > 0, "{}: there are no windows", place());
    let matrix = Array2::from_shape_vec((rows, values.len() / rows), values)?;
    let mut file = BufWriter::new(File::create(&out)?);
    write_npy(&mut file, matrix.view())?;
    Ok(file.flush()?)
}
