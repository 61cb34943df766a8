//! Siamese networks in ONNX files: a backbone that makes features of a picture, and a head that compares two of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use rten::{Dimension, Model, ModelOptions, OpRegistry, RunOptions, ThreadPool, op_types};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use crate::error::{Error, Result};
use crate::settings::{Setting, choice, settings};

/// No network of this kind is larger.
const MAX_BYTES: u64 = 256 << 20;

settings! {
    /// What a network was trained for: that of NanoTrack, unless `siamese.toml` beside it says otherwise.
    pub struct Recipe {
        /// Side in pixels of the picture of the target
        exemplar: usize = 127, Within(16.0, 1024.0);
        /// Side in pixels of the search area
        search: usize = 255, Within(16.0, 2048.0);
        /// Pixels of the search area from one cell to the next
        stride: f64 = 16.0, Within(1.0, 2048.0);
        /// The order of a picture's channels
        channels: Channels = Channels::Bgr;
        /// How much a change of size and shape counts against a box
        penalty: f64 = 0.138, Within(0.0, 100.0);
        /// Weight of the window in the score
        window: f64 = 0.455, Within(0.0, 1.0);
        /// How fast the size follows at a score of 1
        rate: f64 = 0.348, Within(0.0, 1.0);
        /// Part of the box's half perimeter that is cut out around it
        context: f64 = 0.5, Within(0.0, 4.0);
    }
}

choice! {
    /// The order of a picture's channels.
    #[derive(Copy)]
    pub enum Channels {
        /// Blue, green, red.
        Bgr,
        /// Red, green, blue.
        Rgb,
    }
}

/// Features of a picture, `[1][channel][row][column]`.
pub type Map = NdTensor<f32, 4>;

/// The two networks of a folder, for pictures of 0 to 255.
pub struct Networks {
    folder: PathBuf,
    pub recipe: Recipe,
    backbone: Model,
    head: Model,
    /// Whether the backbone takes pictures of the search area's size only.
    fixed: bool,
    /// Cells of a side of the head's answer.
    side: usize,
}

/// What the head says of a search area.
pub struct Answer {
    /// The probability that the target is at each cell, `[row][column]`.
    pub scores: Vec<f32>,
    /// Distances from the cell to the box's left, upper, right and lower side in pixels of the search area,
    /// `[side][row][column]`.
    pub sides: Vec<f32>,
}

impl Networks {
    /// Reads and tries the networks of a folder; targets that use the same folder share them.
    ///
    /// # Errors
    /// [`Error::Network`] for a file that is missing, damaged, too large, or no network of this kind.
    pub fn load(folder: &Path) -> Result<Arc<Self>> {
        static LOADED: Mutex<Vec<Weak<Networks>>> = Mutex::new(Vec::new());
        let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loaded.retain(|networks| networks.strong_count() > 0);
        if let Some(networks) = loaded.iter().filter_map(Weak::upgrade).find(|networks| networks.folder == folder) {
            return Ok(networks);
        }
        let networks = Arc::new(Self::read(folder)?);
        loaded.push(Arc::downgrade(&networks));
        Ok(networks)
    }

    fn read(folder: &Path) -> Result<Self> {
        let file = |name: &str| {
            let path = folder.join(name);
            let length = std::fs::metadata(&path).map_err(|source| Error::io(&path, source))?.len();
            if length > MAX_BYTES {
                let reason = format!("{} MB are too large for a tracking network", length >> 20);
                return Err(Error::Network { path, reason });
            }
            let load = || ModelOptions::with_ops(operators()).load_file(&path);
            on_own_thread(load).map_err(|error| Error::Network { path, reason: error.to_string() })
        };
        let (backbone, head) = (file("backbone.onnx")?, file("head.onnx")?);
        let recipe = read_recipe(&folder.join("siamese.toml"))?;
        let height = backbone.input_shape(0).and_then(|shape| shape.get(2).cloned());
        let fixed = matches!(height, Some(Dimension::Fixed(side)) if side == recipe.search);
        let mut networks = Self { folder: folder.to_owned(), recipe, backbone, head, fixed, side: 0 };
        networks.side = networks.try_out()?;
        Ok(networks)
    }

    /// Runs both networks once and returns the side of the head's answer.
    fn try_out(&self) -> Result<usize> {
        let pool = pool();
        let refuse = |name: &str, reason: String| Err(Error::Network { path: self.folder.join(name), reason });
        if (self.backbone.input_ids().len(), self.backbone.output_ids().len()) != (1, 1) {
            return refuse("backbone.onnx", "it must have one input and one output".into());
        }
        if (self.head.input_ids().len(), self.head.output_ids().len()) != (2, 2) {
            return refuse("head.onnx", "it must have two inputs and two outputs".into());
        }
        let picture = |side: usize| vec![0.0; 3 * side * side];
        let exemplar = self.exemplar(picture, &pool)?;
        let search = self.features(picture(self.recipe.search), self.recipe.search, &pool)?;
        let [scores, sides] = self.compare(&exemplar, &search, &pool)?;
        let [_, _, rows, columns] = scores.shape();
        if scores.shape() != [1, 2, rows, rows] || sides.shape() != [1, 4, rows, rows] || rows < 3 {
            let reason =
                format!("it answers in {:?} and {:?}, not in 1x2xNxN and 1x4xNxN", scores.shape(), sides.shape());
            return refuse("head.onnx", reason);
        }
        let Recipe { stride, search, .. } = self.recipe;
        if stride * (rows - 1) as f64 > search as f64 {
            let reason = format!("{rows} cells of {stride} pixels do not fit a search area of {search}");
            return refuse("siamese.toml", reason);
        }
        if !scores.iter().chain(sides.iter()).all(|v| v.is_finite()) {
            return refuse("head.onnx", "its answer to a black picture is not finite: the weights are damaged".into());
        }
        Ok(columns)
    }

    /// Cells of a side of the answer.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The features of the target in the middle of a square picture, which `cut` makes of the exemplar's side, or of the
    /// search area's with more around it. A backbone of fixed size sees the larger one, and the middle of its features
    /// counts.
    ///
    /// # Errors
    /// As [`Networks::features`].
    pub fn exemplar(&self, cut: impl Fn(usize) -> Vec<f32>, pool: &Arc<ThreadPool>) -> Result<Map> {
        let Recipe { exemplar, search, .. } = self.recipe;
        if !self.fixed {
            return self.features(cut(exemplar), exemplar, pool);
        }
        let map = self.features(cut(search), search, pool)?;
        let [_, channels, rows, columns] = map.shape();
        let (half, first) = ((rows / 2, columns / 2), (rows / 4, columns / 4));
        Ok(NdTensor::from_fn([1, channels, half.0, half.1], |[_, k, r, c]| map[[0, k, first.0 + r, first.1 + c]]))
    }

    /// The features of a square picture, `[channel][row][column]`.
    ///
    /// # Errors
    /// [`Error::Network`] where the runtime fails.
    pub fn features(&self, picture: Vec<f32>, side: usize, pool: &Arc<ThreadPool>) -> Result<Map> {
        let refuse = |reason: String| Error::Network { path: self.folder.join("backbone.onnx"), reason };
        let picture = NdTensor::from_data([1, 3, side, side], picture);
        let (inputs, outputs) = (self.backbone.input_ids(), self.backbone.output_ids());
        let options = RunOptions::default().with_thread_pool(Some(pool.clone()));
        let run = || self.backbone.run(vec![(inputs[0], picture.view().into())], outputs, Some(options));
        let value = on_own_thread(run).map_err(|error| refuse(error.to_string()))?.swap_remove(0);
        value.try_into().map_err(|_| refuse("it must answer with numbers in four dimensions".into()))
    }

    fn compare(&self, exemplar: &Map, search: &Map, pool: &Arc<ThreadPool>) -> Result<[Map; 2]> {
        let refuse = |reason: String| Error::Network { path: self.folder.join("head.onnx"), reason };
        let (inputs, outputs) = (self.head.input_ids(), self.head.output_ids());
        let options = RunOptions::default().with_thread_pool(Some(pool.clone()));
        let both = vec![(inputs[0], exemplar.view().into()), (inputs[1], search.view().into())];
        let values = on_own_thread(|| self.head.run(both, outputs, Some(options)));
        let values = values.map_err(|error| refuse(error.to_string()))?;
        let mut maps = values
            .into_iter()
            .map(|value| value.try_into().map_err(|_| refuse("it must answer with numbers in four dimensions".into())));
        match (maps.next(), maps.next()) {
            (Some(first), Some(second)) => Ok([first?, second?]),
            _ => Err(refuse("it must have two outputs".into())),
        }
    }

    /// Compares the features of the target with those of a search area; `None` where the answer is not finite.
    pub fn answer(&self, exemplar: &Map, search: &Map, pool: &Arc<ThreadPool>) -> Option<Answer> {
        let [classes, sides] = self.compare(exemplar, search, pool).ok()?;
        let classes: Vec<f32> = classes.iter().copied().collect();
        let sides: Vec<f32> = sides.iter().copied().collect();
        let (background, target) = classes.split_at_checked(self.side * self.side)?;
        // The softmax of two.
        let scores: Vec<f32> = background.iter().zip(target).map(|(b, t)| 1.0 / (1.0 + (b - t).exp())).collect();
        let whole = scores.len() == self.side * self.side && sides.len() == 4 * scores.len();
        (whole && scores.iter().chain(&sides).all(|v| v.is_finite())).then_some(Answer { scores, sides })
    }
}

fn read_recipe(path: &Path) -> Result<Recipe> {
    let refuse = |reason: String| Error::Network { path: path.to_owned(), reason };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Recipe::default()),
        text => text.map_err(|source| Error::io(path, source))?,
    };
    let recipe: Recipe = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    recipe.check_ranges("").map_err(|error| refuse(error.to_string()))?;
    if recipe.search < recipe.exemplar {
        return Err(refuse(format!("search = {}: must be at least exemplar, {}", recipe.search, recipe.exemplar)));
    }
    Ok(recipe)
}

/// The operators that such networks use; the linker leaves out the runtime's others.
fn operators() -> OpRegistry {
    macro_rules! registry {
        ($($name:ident)*) => { OpRegistry::with_ops(&[$(&op_types::$name),*]) };
    }
    registry! {
        Add AveragePool BatchNormalization Cast Clip Concat ConstantOfShape Conv Div Exp Expand Flatten Gather Gemm
        GlobalAveragePool HardSigmoid HardSwish Identity LeakyRelu MatMul Max MaxPool Min Mul Neg Pad Pow PRelu
        ReduceMean ReduceSum Relu Reshape Resize Shape Sigmoid Slice Softmax Split Sqrt Squeeze Sub Tanh Transpose
        Unsqueeze
    }
}

/// The runtime's threads for one tracker: one is enough.
pub fn pool() -> Arc<ThreadPool> {
    Arc::new(ThreadPool::with_num_threads(1))
}

/// What `work` returns. The runtime waits for its own pool of rayon; a caller on another pool would start on the next
/// target meanwhile, in the middle of this one. A plain thread only waits.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl std::fmt::Debug for Networks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Networks").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The networks that `scripts/tiny_networks.py` writes.
    pub fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/networks").join(name)
    }

    /// A part of 255 x 255 pixels of the script's picture, from (x, y) on.
    fn picture(side: usize, (left, top): (usize, usize)) -> Vec<f32> {
        let value = |c: usize, x: f64, y: f64| {
            let wave = (0.05 * (c + 1) as f64 * x + 0.002 * x * y + c as f64).sin();
            (127.0 + 120.0 * wave).floor() as f32
        };
        let pixels = side * side;
        (0..3 * pixels).map(|i| value(i / pixels, (left + i % side) as f64, (top + i % pixels / side) as f64)).collect()
    }

    #[test]
    fn the_arithmetic_is_that_of_numpy() {
        let networks = Networks::load(&folder("")).unwrap();
        let expected: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder("numpy.json")).unwrap()).unwrap();
        let pool = pool();
        let exemplar = networks.features(picture(127, (48, 80)), 127, &pool).unwrap();
        for (k, value) in expected["features"].as_array().unwrap().iter().enumerate() {
            let found = f64::from(exemplar[[0, k, 3, 5]]);
            assert!((found - value.as_f64().unwrap()).abs() < 1e-3, "{k}: {found} for {value}");
        }
        let search = networks.features(picture(255, (0, 0)), 255, &pool).unwrap();
        let answer = networks.answer(&exemplar, &search, &pool).unwrap();
        for (i, (found, value)) in answer.scores.iter().zip(expected["scores"].as_array().unwrap()).enumerate() {
            assert!((f64::from(*found) - value.as_f64().unwrap()).abs() < 1e-4, "{i}: {found} for {value}");
        }
        assert!(answer.sides.iter().all(|&side| side == 32.0));
    }

    #[test]
    fn a_worker_of_rayon_finishes_one_target_before_the_next() {
        use rayon::prelude::*;
        use std::sync::atomic::{AtomicUsize, Ordering};

        let (good, folders) = (folder(""), [(); 4].map(|()| tempfile::tempdir().unwrap()));
        for name in ["backbone.onnx", "head.onnx"] {
            for to in &folders {
                std::fs::copy(good.join(name), to.path().join(name)).unwrap();
            }
        }
        let (at_once, workers) = (AtomicUsize::new(0), rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        workers.install(|| {
            folders.par_iter().with_max_len(1).for_each(|folder| {
                assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0, "another target was begun");
                Networks::load(folder.path()).unwrap();
                at_once.fetch_sub(1, Ordering::SeqCst);
            });
        });
    }

    #[test]
    fn a_network_that_cannot_be_used_is_an_error_that_names_its_file() {
        let (good, bad) = (folder(""), tempfile::tempdir().unwrap());
        let read = |name: &str| std::fs::read(good.join(name)).unwrap();
        let (backbone, head) = (read("backbone.onnx"), read("head.onnx"));
        let damaged: Vec<u8> = {
            // The half of a box's side, 32, is in the file once for each side.
            let (from, to) = (32f32.to_le_bytes().repeat(4), f32::NAN.to_le_bytes().repeat(4));
            let at = head.windows(16).position(|bytes| bytes == from).unwrap();
            [&head[..at], &to, &head[at + 16..]].concat()
        };
        for (backbone, head, file) in [
            (&backbone[..], &backbone[..], "head.onnx"),
            (&head[..], &head[..], "backbone.onnx"),
            (&backbone[..backbone.len() / 2], &head[..], "backbone.onnx"),
            (&b"no network"[..], &head[..], "backbone.onnx"),
            (&backbone[..], &damaged[..], "head.onnx"),
        ] {
            std::fs::write(bad.path().join("backbone.onnx"), backbone).unwrap();
            std::fs::write(bad.path().join("head.onnx"), head).unwrap();
            match Networks::load(bad.path()) {
                Err(Error::Network { path, .. }) => assert!(path.ends_with(file), "{}", path.display()),
                other => panic!("{other:?}"),
            }
        }
        std::fs::write(bad.path().join("head.onnx"), &head).unwrap();
        for (recipe, part) in [
            ("stride = 60", "do not fit"),
            ("search = 100", "search = 100"),
            ("window = nan", "window"),
            ("colour = 3", "colour"),
            ("channels = \"hsv\"", "hsv"),
        ] {
            std::fs::write(bad.path().join("siamese.toml"), recipe).unwrap();
            let error = Networks::load(bad.path()).unwrap_err().to_string();
            assert!(error.contains("siamese.toml") && error.contains(part), "{error}");
        }
        // The head's size is fixed.
        std::fs::write(bad.path().join("siamese.toml"), "search = 271").unwrap();
        assert!(Networks::load(bad.path()).unwrap_err().to_string().contains("head.onnx"));
        std::fs::write(bad.path().join("siamese.toml"), "channels = \"rgb\"\nrate = 0.5").unwrap();
        assert_eq!(Networks::load(bad.path()).unwrap().recipe.rate, 0.5);
        assert!(matches!(Networks::load(&folder("none")), Err(Error::Io { .. })));
    }
}
