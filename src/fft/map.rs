//! 2-D transforms of feature maps of up to 32 channels and of single planes, and the algebra of their spectra.
//!
//! Correlation filters only need sums over channels, which are cheap in either layout:
//! - many channels ([`LanePlan`]): the 32 floats of a cell are 16 complex numbers, real parts first. One complex
//!   transform of 16 lanes carries 32 real channels, and `Re F^-1(sum_k Z_k conj X_k)` is the sum of their
//!   cross-correlations (the cross terms of a pair are purely imaginary);
//! - one channel ([`PlanePlan`]): a response map, regression labels, a kernel correlation. A real transform and its
//!   half-spectrum, over lanes too: along the rows a lane is a pair of rows (one the real, the other the imaginary part,
//!   split afterwards by symmetry), along the columns a lane is a column of the half-spectrum.
//!
//! A [`MapPlan`] takes maps of either kind.

use std::ops::{Deref, DerefMut, Range};

use rustfft::num_complex::Complex32;

use super::line::{Cell, LANES, LinePlan, Lines, split_real};
use crate::archive::Archive;
use crate::simd::leveled;

/// Floats per cell of a map that [`LanePlan`] transforms: 32 real channels.
pub const CHANNELS: usize = 2 * LANES;

/// The number of columns to transform side by side. More of them share the overhead of each small transform, as long
/// as two copies of them stay in the L1 cache.
fn column_block(rows: usize) -> usize {
    (192 / rows.max(1)).clamp(1, 4)
}

/// A planned forward transform of maps of one size.
///
/// A map is `f32`, `[row][column][32]`, channel fastest. It is read **in place as 16 complex channels**: floats
/// 0..16 of a cell are real parts, floats 16..32 imaginary parts, `z_k = channel_k + i channel_{k+16}`.
/// One 2-D complex transform of 16 lanes so carries 32 real channels, without packing or unpacking:
/// the sum of correlation filters, `F⁻¹ Σ_c X̂_c conj Ŷ_c` over the real channels, is the real part of
/// `F⁻¹ Σ_k Ẑ_k conj Ẑ'_k` over the complex ones, see [`MapPlan::cross_power`].
///
/// The transform is `Z[u][v] = Σ_rc z[r][c] exp(-2πi (ur/rows + vc/cols))`, unnormalised, in natural order.
/// Every length works; prime factors above 13 are slower. The transform is faster if the map is an
/// [`AlignedBuf`].
#[derive(Clone, Debug)]
pub struct LanePlan {
    pub rows: usize,
    pub cols: usize,
    along_rows: LinePlan,
    along_cols: LinePlan,
}

impl LanePlan {
    /// A plan for maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, along_rows: LinePlan::new(cols), along_cols: LinePlan::new(rows) }
    }

    /// Floats of a map: `rows * cols * 32`.
    pub fn map_len(&self) -> usize {
        self.rows * self.cols * CHANNELS
    }

    /// Floats of scratch that [`forward`](Self::forward) needs.
    pub fn scratch_len(&self) -> usize {
        self.along_rows.scratch_cells(1).max(self.along_cols.scratch_cells(column_block(self.rows))) * CHANNELS + SLACK
    }

    /// Transforms `map` in place.
    ///
    /// # Panics
    /// If `map` is not [`map_len`](Self::map_len) long, or `scratch` is shorter than [`scratch_len`](Self::scratch_len).
    pub fn forward(&self, map: &mut [f32], scratch: &mut [f32]) {
        self.forward_from_rows(map, 0..self.rows, scratch);
    }

    /// Transforms like [`forward`](Self::forward) a map whose rows outside `filled` are zero.
    pub fn forward_from_rows(&self, map: &mut [f32], filled: Range<usize>, scratch: &mut [f32]) {
        let (cells, scratch) = self.cells(map, scratch);
        self.transform_rows(&mut cells[filled.start * self.cols..], filled.len(), scratch);
        self.transform_cols(cells, scratch);
    }

    /// Transforms like [`forward`](Self::forward); only the rows `wanted` of the result are defined.
    pub fn forward_to_rows(&self, map: &mut [f32], wanted: Range<usize>, scratch: &mut [f32]) {
        let (cells, scratch) = self.cells(map, scratch);
        self.transform_cols(cells, scratch);
        self.transform_rows(&mut cells[wanted.start * self.cols..], wanted.len(), scratch);
    }

    fn cells<'m, 's>(&self, map: &'m mut [f32], scratch: &'s mut [f32]) -> (&'m mut [Cell], &'s mut [Cell]) {
        assert_eq!(map.len(), self.map_len(), "the map must have rows * cols * {CHANNELS} floats");
        assert!(scratch.len() >= self.scratch_len(), "the scratch must have {} floats", self.scratch_len());
        (map.as_chunks_mut().0, aligned(scratch).as_chunks_mut().0)
    }

    fn transform_rows(&self, cells: &mut [Cell], count: usize, scratch: &mut [Cell]) {
        if !cells.is_empty() && count > 0 {
            let rows = Lines { count, next: self.cols, stride: 1, block: 1 };
            self.along_rows.run(cells, rows, scratch);
        }
    }

    fn transform_cols(&self, cells: &mut [Cell], scratch: &mut [Cell]) {
        if !cells.is_empty() {
            let cols = Lines { count: self.cols, next: 1, stride: self.cols, block: column_block(self.rows) };
            self.along_cols.run(cells, cols, scratch);
        }
    }
}

/// Bytes of a cache line, and of the widest vector register.
const LINE: usize = 64;
/// Floats to skip at most to reach the next cache line.
const SLACK: usize = LINE / size_of::<f32>();

/// A fixed number of floats that starts on a cache line, used as a `[f32]`.
///
/// The cells of a map are two cache lines long. Without alignment, every vector of 16 floats straddles two lines, and a
/// transform takes up to twice as long.
#[derive(Debug, Default)]
pub struct AlignedBuf {
    /// Never grows, so its address is stable.
    floats: Vec<f32>,
    start: usize,
    len: usize,
}

/// `floats` from its first cache line on.
fn aligned(floats: &mut [f32]) -> &mut [f32] {
    let start = floats.as_ptr().align_offset(LINE).min(floats.len());
    &mut floats[start..]
}

impl AlignedBuf {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let floats = vec![0.0; len + SLACK];
        // `align_offset` may return `usize::MAX`; unaligned memory is only slower.
        let start = floats.as_ptr().align_offset(LINE).min(SLACK);
        Self { floats, start, len }
    }
}

impl Deref for AlignedBuf {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.floats[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.floats[self.start..self.start + self.len]
    }
}

impl From<&[f32]> for AlignedBuf {
    fn from(floats: &[f32]) -> Self {
        let mut buf = Self::zeroed(floats.len());
        buf.copy_from_slice(floats);
        buf
    }
}

/// The copy is aligned too.
impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

/// A planned transform of real planes of one size, to and from their half-spectra.
///
/// A plane is `f32`, `[row][column]`. Its half-spectrum is `rows x (cols/2 + 1)` complex values row by row, those with
/// `v = 0..=cols/2` of `F[u][v] = Σ_rc x[r][c] exp(-2πi (ur/rows + vc/cols))`; the others are
/// `F[-u][-v] = conj F[u][v]`. Neither direction is normalised: forward and inverse give `rows * cols` times the plane.
#[derive(Clone, Debug)]
pub struct PlanePlan {
    rows: usize,
    cols: usize,
    along_rows: LinePlan,
    along_cols: LinePlan,
}

/// One line of cells.
const ONE: Lines = Lines { count: 1, next: 0, stride: 1, block: 1 };

leveled! {
    /// Up to 32 rows of a plane as one line of cells: row `k` the real, row `16 + k` the imaginary part of lane `k`.
    fn rows_to_lanes(rows: &[f32], cols: usize, line: &mut [Cell]) {
        for (lane, row) in rows.chunks_exact(cols).enumerate().take(CHANNELS) {
            for (cell, value) in line.iter_mut().zip(row) {
                cell[lane] = *value;
            }
        }
    }
}

leveled! {
    /// Splits the transformed pairs of rows and transposes them, so the columns `v` become lanes: `columns` is
    /// `[v / 16][row]`, `rows` rows long, the first of the line at `first`.
    fn rows_to_columns(line: &[Cell], columns: &mut [Cell], rows: usize, first: usize) {
        let cols = line.len();
        let here = CHANNELS.min(rows - first);
        for v in 0..=cols / 2 {
            let (re, im) = split_real(&line[v], &line[(cols - v) % cols]);
            let group = &mut columns[v / LANES * rows + first..][..here];
            let (re, im) = (&re[..here], &im[..here]);
            let lane = v % LANES;
            for (i, cell) in group.iter_mut().enumerate() {
                cell[lane] = re[i];
                cell[LANES + lane] = im[i];
            }
        }
    }
}

leveled! {
    /// The opposite of [`rows_to_columns`]: `Z(v) = A(v) + iB(v)` for all `v`, from half-spectra of pairs of rows. Real
    /// and imaginary parts are swapped on both sides, which makes a forward transform an inverse one.
    fn columns_to_rows(columns: &[Cell], rows: usize, first: usize, line: &mut [Cell]) {
        let cols = line.len();
        let here = CHANNELS.min(rows - first);
        for v in 0..=cols / 2 {
            let mut re = [0.0; CHANNELS];
            let mut im = [0.0; CHANNELS];
            let group = &columns[v / LANES * rows + first..][..here];
            for ((cell, re), im) in group.iter().zip(&mut re).zip(&mut im) {
                *im = cell[v % LANES];
                *re = cell[LANES + v % LANES];
            }
            let mirror = (cols - v) % cols;
            if mirror == v {
                // This value is real in the spectrum of a real row; the rest is rounding.
                im = [0.0; CHANNELS];
            } else {
                let cell = &mut line[mirror];
                for l in 0..LANES {
                    cell[l] = re[LANES + l] - im[l];
                    cell[LANES + l] = re[l] + im[LANES + l];
                }
            }
            let cell = &mut line[v];
            for l in 0..LANES {
                cell[l] = im[l] + re[LANES + l];
                cell[LANES + l] = re[l] - im[LANES + l];
            }
        }
    }
}

leveled! {
    /// One line of cells as up to 32 rows of a plane, real and imaginary parts swapped.
    fn lanes_to_rows(line: &[Cell], rows: &mut [f32], cols: usize) {
        for (k, row) in rows.chunks_exact_mut(cols).enumerate() {
            let lane = (k + LANES) % CHANNELS;
            for (value, cell) in row.iter_mut().zip(line) {
                *value = cell[lane];
            }
        }
    }
}

impl PlanePlan {
    /// A plan for planes of `rows` x `cols`.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, along_rows: LinePlan::new(cols), along_cols: LinePlan::new(rows) }
    }

    /// Values of a plane: `rows * cols`.
    pub fn plane_len(&self) -> usize {
        self.rows * self.cols
    }

    /// Columns of a half-spectrum: `cols/2 + 1`.
    pub fn half_cols(&self) -> usize {
        self.cols / 2 + 1
    }

    /// Values of a half-spectrum: `rows * (cols/2 + 1)`.
    pub fn half_len(&self) -> usize {
        self.rows * self.half_cols()
    }

    /// Floats of scratch that either direction needs.
    pub fn scratch_len(&self) -> usize {
        let inner = self.along_rows.scratch_cells(1).max(self.along_cols.scratch_cells(1));
        (self.cols + self.columns_cells() + inner) * CHANNELS + SLACK
    }

    fn columns_cells(&self) -> usize {
        self.half_cols().div_ceil(LANES) * self.rows
    }

    fn check(&self, plane: usize, half: usize, scratch: usize) {
        assert_eq!(plane, self.plane_len(), "the plane must have rows * cols values");
        assert_eq!(half, self.half_len(), "the half-spectrum must have rows * (cols/2 + 1) values");
        assert!(scratch >= self.scratch_len(), "the scratch must have {} floats", self.scratch_len());
    }

    /// The line of cells, the columns of cells, and the scratch of the line transforms.
    fn split<'a>(&self, scratch: &'a mut [f32]) -> (&'a mut [Cell], &'a mut [Cell], &'a mut [Cell]) {
        let (cells, _) = aligned(scratch).as_chunks_mut();
        let (line, cells) = cells.split_at_mut(self.cols);
        let (columns, inner) = cells.split_at_mut(self.columns_cells());
        (line, columns, inner)
    }

    fn run_columns(&self, columns: &mut [Cell], inner: &mut [Cell]) {
        let lines = Lines { count: self.half_cols().div_ceil(LANES), next: self.rows, stride: 1, block: 1 };
        self.along_cols.run(columns, lines, inner);
    }

    /// The half-spectrum of `plane`.
    pub fn forward(&self, plane: &[f32], half: &mut [Complex32], scratch: &mut [f32]) {
        self.check(plane.len(), half.len(), scratch.len());
        if plane.is_empty() {
            return;
        }
        let (line, columns, inner) = self.split(scratch);
        // Unused lanes are transformed too and must hold numbers.
        columns.fill([0.0; CHANNELS]);
        line.fill([0.0; CHANNELS]);
        for (group, rows) in plane.chunks(CHANNELS * self.cols).enumerate() {
            rows_to_lanes(rows, self.cols, line);
            self.along_rows.run(line, ONE, inner);
            rows_to_columns(line, columns, self.rows, group * CHANNELS);
        }
        self.run_columns(columns, inner);
        for (u, row) in half.chunks_exact_mut(self.half_cols()).enumerate() {
            for (group, values) in row.chunks_mut(LANES).enumerate() {
                let (re, im) = columns[group * self.rows + u].split_at(LANES);
                for ((value, &re), &im) in values.iter_mut().zip(re).zip(im) {
                    *value = Complex32 { re, im };
                }
            }
        }
    }

    /// The plane whose half-spectrum is `half`, times `rows * cols`. The
    /// part of a half-spectrum that no real plane has is dropped.
    pub fn inverse(&self, half: &[Complex32], plane: &mut [f32], scratch: &mut [f32]) {
        self.check(plane.len(), half.len(), scratch.len());
        if plane.is_empty() {
            return;
        }
        let (line, columns, inner) = self.split(scratch);
        columns.fill([0.0; CHANNELS]);
        for (u, row) in half.chunks_exact(self.half_cols()).enumerate() {
            for (group, values) in row.chunks(LANES).enumerate() {
                // Real and imaginary parts are swapped, as in `columns_to_rows`.
                let (im, re) = columns[group * self.rows + u].split_at_mut(LANES);
                for ((value, re), im) in values.iter().zip(re).zip(im) {
                    *re = value.re;
                    *im = value.im;
                }
            }
        }
        self.run_columns(columns, inner);
        for (group, rows) in plane.chunks_mut(CHANNELS * self.cols).enumerate() {
            columns_to_rows(columns, self.rows, group * CHANNELS, line);
            self.along_rows.run(line, ONE, inner);
            lanes_to_rows(line, rows, self.cols);
        }
    }
}

/// Writes the factors `exp(2πi k shift / n)` for the frequencies `k` nearest zero, which move a signal of `n` cells from
/// `shift` to 0. The highest frequency of an even length keeps the real part only, so maps stay real. `out` holds all
/// frequencies or the first half.
pub(crate) fn phase_shift(shift: f64, n: usize, out: &mut [Complex32]) {
    for (k, factor) in out.iter_mut().enumerate() {
        let frequency = if 2 * k > n { k as f64 - n as f64 } else { k as f64 };
        // libm gives the same bits on every system.
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * frequency * shift / n as f64);
        *factor = Complex32::new(cos as f32, if 2 * k == n { 0.0 } else { sin as f32 });
    }
}

/// Cells whose lanes are summed together.
const BLOCK: usize = 64;

#[inline(always)]
fn pair_up<const FROM: usize, const TO: usize>(terms: &[f32; FROM], sums: &mut [f32; TO]) {
    for i in 0..TO {
        sums[i] = terms[2 * i] + terms[2 * i + 1];
    }
}

/// The sums of 16 numbers for each of 64 cells, as a tree of neighbours: a fixed order that is fast at any register
/// width.
#[inline(always)]
fn sum_lanes(terms: &[f32; LANES * BLOCK], sums: &mut [f32; BLOCK]) {
    let (mut eights, mut fours, mut twos) = ([0.0; 8 * BLOCK], [0.0; 4 * BLOCK], [0.0; 2 * BLOCK]);
    pair_up(terms, &mut eights);
    pair_up(&eights, &mut fours);
    pair_up(&fours, &mut twos);
    pair_up(&twos, sums);
}

/// The products of one cell, lane by lane, and its energy added to `energy`.
#[inline(always)]
fn products(x: &Cell, y: &Cell, re: &mut [f32; LANES], im: &mut [f32; LANES], energy: &mut [f32; LANES]) {
    for l in 0..LANES {
        let (xr, xi, yr, yi) = (x[l], x[LANES + l], y[l], y[LANES + l]);
        re[l] = xr * yr + xi * yi;
        im[l] = xi * yr - xr * yi;
        energy[l] += xr * xr + xi * xi;
    }
}

/// `Σ_k X_k conj Y_k` of at most 64 cells, written to `out`, and `Σ |X|²` of all of them.
#[inline(always)]
fn block(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f32 {
    let (mut re, mut im, mut energy) = ([0.0; LANES * BLOCK], [0.0; LANES * BLOCK], [0.0; LANES]);
    let parts = re.as_chunks_mut().0.iter_mut().zip(im.as_chunks_mut().0);
    for ((x, y), (re, im)) in x.iter().zip(y).zip(parts) {
        products(x, y, re, im, &mut energy);
    }
    let mut sums = [[0.0; BLOCK]; 2];
    sum_lanes(&re, &mut sums[0]);
    sum_lanes(&im, &mut sums[1]);
    for (out, (&re, &im)) in out.iter_mut().zip(sums[0].iter().zip(&sums[1])) {
        *out = Complex32 { re, im };
    }
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    pair_up(&energy, &mut eight);
    pair_up(&eight, &mut four);
    (four[0] + four[1]) + (four[2] + four[3])
}

leveled! {
    fn cross_cells(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f64 {
        let mut energy = 0.0;
        for ((x, y), out) in x.chunks(BLOCK).zip(y.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
            energy += f64::from(block(x, y, out));
        }
        energy
    }
}

/// The cross-power spectrum summed over the lanes, `S = Σ_k X_k conj Y_k`, cell by cell, of two
/// [`LanePlan`] spectra.
///
/// The real part of the inverse transform of `S` is the cyclic cross-correlation of the maps, summed over all 32 real
/// channels; [`fold`] gives the half-spectrum of that real part.
///
/// Returns the energy `Σ |X|²` of `x`. By Parseval it is `rows * cols` times the sum of the squares of the map.
fn cross_power(x: &[f32], y: &[f32], out: &mut [Complex32]) -> f64 {
    assert_eq!(x.len(), y.len(), "the spectra must have one size");
    assert_eq!(x.len(), out.len() * CHANNELS, "the plane must have a value for each cell");
    cross_cells(x.as_chunks().0, y.as_chunks().0, out)
}

/// The half-spectrum of the real part of the signal whose full spectrum is `full`:
/// `H(u, v) = (S(u, v) + conj S(-u, -v)) / 2` for `v = 0..=cols/2`.
fn fold(rows: usize, cols: usize, full: &[Complex32], half: &mut [Complex32]) {
    assert_eq!(full.len(), rows * cols, "the full spectrum must have rows * cols values");
    if full.is_empty() {
        return;
    }
    let width = cols / 2 + 1;
    assert_eq!(half.len(), rows * width, "the half-spectrum must have rows * (cols/2 + 1) values");
    for (u, to) in half.chunks_exact_mut(width).enumerate() {
        let row = &full[u * cols..][..cols];
        let mirror = &full[(rows - u) % rows * cols..][..cols];
        to[0] = (row[0] + mirror[0].conj()) * 0.5;
        for ((to, s), m) in to[1..].iter_mut().zip(&row[1..]).zip(mirror.iter().rev()) {
            *to = (*s + m.conj()) * 0.5;
        }
    }
}

/// Working memory of the transforms; see [`MapPlan::scratch`].
#[derive(Clone, Debug)]
pub struct Scratch {
    work: AlignedBuf,
    full: Vec<Complex32>,
}

/// A feature map, or its spectrum after [`MapPlan::transform`].
#[derive(Clone, Debug)]
pub enum FeatureMap {
    /// `[row][column][32]`, transformed in place as 16 complex lanes.
    Lanes(AlignedBuf),
    /// One channel `[row][column]` and its half-spectrum `[row][column / 2 + 1]`.
    Plane {
        /// The map itself.
        map: AlignedBuf,
        /// Its half-spectrum.
        spectrum: Vec<Complex32>,
    },
}

impl FeatureMap {
    /// The values to write before a transform.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Lanes(map) | Self::Plane { map, .. } => map,
        }
    }

    /// Writes or reads the spectrum.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        match self {
            Self::Lanes(map) => archive.floats(map.iter_mut()),
            Self::Plane { spectrum, .. } => archive.complex(spectrum),
        }
    }
}

/// Transforms of maps of one size, and of single planes of that size.
#[derive(Clone, Debug)]
pub struct MapPlan {
    rows: usize,
    cols: usize,
    lanes: Option<LanePlan>,
    plane: PlanePlan,
}

impl MapPlan {
    /// Creates the transforms for maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize, channels: usize) -> Self {
        assert!((1..=CHANNELS).contains(&channels), "a map has 1 to {CHANNELS} channels");
        let lanes = (channels > 1).then(|| LanePlan::new(rows, cols));
        Self { rows, cols, lanes, plane: PlanePlan::new(rows, cols) }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Length of a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn half_len(&self) -> usize {
        self.plane.half_len()
    }

    /// An empty map.
    pub fn map(&self) -> FeatureMap {
        let cells = self.rows * self.cols;
        match self.lanes {
            Some(_) => FeatureMap::Lanes(AlignedBuf::zeroed(cells * CHANNELS)),
            None => FeatureMap::Plane {
                map: AlignedBuf::zeroed(cells),
                spectrum: vec![Complex32::default(); self.half_len()],
            },
        }
    }

    /// The memory that this plan's transforms need.
    pub fn scratch(&self) -> Scratch {
        let lanes = self.lanes.as_ref().map_or(0, LanePlan::scratch_len);
        let full = if self.lanes.is_some() { self.rows * self.cols } else { 0 };
        Scratch {
            work: AlignedBuf::zeroed(lanes.max(self.plane.scratch_len())),
            full: vec![Complex32::default(); full],
        }
    }

    /// Replaces a map by its unnormalised spectrum.
    pub fn transform(&self, map: &mut FeatureMap, scratch: &mut Scratch) {
        match (map, &self.lanes) {
            (FeatureMap::Lanes(map), Some(plan)) => {
                plan.forward(map, &mut scratch.work[..plan.scratch_len()]);
            }
            (FeatureMap::Plane { map, spectrum }, _) => self.forward(map, spectrum, scratch),
            _ => unreachable!("a map of this plan"),
        }
    }

    /// The half-spectrum of the sum over channels of the cross-correlations of two maps,
    /// `sum_c z_c ⊙ conj(x_c)`, to `out`; both maps transformed. Returns the energy of `z`: the sum of the squares of
    /// its values before the transform (Parseval).
    pub fn cross_power(&self, z: &FeatureMap, x: &FeatureMap, out: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        match (z, x) {
            (FeatureMap::Lanes(z), FeatureMap::Lanes(x)) => {
                let energy = cross_power(z, x, &mut scratch.full);
                fold(self.rows, self.cols, &scratch.full, out);
                self.per_cell(energy)
            }
            (FeatureMap::Plane { spectrum: z, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                z.iter().zip(x).zip(out).for_each(|((z, x), out)| *out = z * x.conj());
                self.half_energy(z)
            }
            _ => unreachable!("maps of this plan"),
        }
    }

    /// Moves the spectrum `model` towards `x`, `(1 - rate) model + rate x`, and returns its new energy as
    /// [`MapPlan::cross_power`] does.
    pub fn interpolate(&self, model: &mut FeatureMap, x: &FeatureMap, rate: f32) -> f32 {
        match (model, x) {
            (FeatureMap::Lanes(model), FeatureMap::Lanes(x)) => self.per_cell(interpolate_lanes(model, x, rate)),
            (FeatureMap::Plane { spectrum: model, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                model.iter_mut().zip(x).for_each(|(model, x)| *model = *model * (1.0 - rate) + x * rate);
                self.half_energy(model)
            }
            _ => unreachable!("maps of this plan"),
        }
    }

    /// The half-spectrum of a real plane `[row][column]`.
    pub fn forward(&self, plane: &[f32], out: &mut [Complex32], scratch: &mut Scratch) {
        self.plane.forward(plane, out, &mut scratch.work[..self.plane.scratch_len()]);
    }

    /// The real plane of a half-spectrum; `inverse(forward(x)) = rows * cols * x`.
    pub fn inverse(&self, spectrum: &[Complex32], out: &mut [f32], scratch: &mut Scratch) {
        self.plane.inverse(spectrum, out, &mut scratch.work[..self.plane.scratch_len()]);
    }

    fn per_cell(&self, energy: f64) -> f32 {
        (energy / (self.rows * self.cols) as f64) as f32
    }

    /// The energy of a map from its half-spectrum.
    fn half_energy(&self, spectrum: &[Complex32]) -> f32 {
        let half = self.plane.half_cols();
        let single = |c: usize| c == 0 || 2 * c == self.cols;
        let row_energy = |row: &[Complex32]| -> f64 {
            let weighed =
                row.iter().enumerate().map(|(c, v)| if single(c) { v.norm_sqr() } else { 2.0 * v.norm_sqr() });
            f64::from(weighed.sum::<f32>())
        };
        self.per_cell(spectrum.chunks(half).map(row_energy).sum())
    }
}

leveled! {
    fn interpolate_lanes(model: &mut [f32], x: &[f32], rate: f32) -> f64 {
        let keep = 1.0 - rate;
        let mut energy = 0.0;
        // Single precision is exact enough for a few thousand squares; the total is double.
        for (model, x) in model.chunks_mut(64 * CHANNELS).zip(x.chunks(64 * CHANNELS)) {
            let mut sums = [0.0f32; CHANNELS];
            for (model, x) in model.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(x.as_chunks::<CHANNELS>().0) {
                for k in 0..CHANNELS {
                    model[k] = keep * model[k] + rate * x[k];
                    sums[k] += model[k] * model[k];
                }
            }
            energy += f64::from(sums.iter().sum::<f32>());
        }
        energy
    }
}
