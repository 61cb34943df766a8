//! Siamese networks in ONNX files: a backbone that makes features of a picture, and a head that compares two of them.

mod check;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use rten::{Dimension, Model, ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value, ValueOrView, op_types};
use rten_onnx::onnx::{DataType, ModelProto, NodeProto, TensorProto};
use rten_onnx::protobuf::{DecodeMessage, ErrorKind, OwnedValues, ProtobufError, ReadValue};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use crate::cancel::lock;
use crate::error::{Error, Result};
use crate::settings::{Setting, choice, read_toml, settings};
use crate::simd::leveled;
use check::{Walk, WeightShapes, check_nesting};

/// Maximum bytes of a network file.
const MAX_BYTES: u64 = 256 << 20;

settings! {
    /// The inputs and the score that a network was trained for: those of NanoTrack, unless `siamese.toml` beside it
    /// says otherwise.
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

pub(super) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Features of a picture, `[1][channel][row][column]`.
pub type Map = NdTensor<f32, 4>;

/// The two networks of a folder, for pictures of 0 to 255.
pub struct Networks {
    folder: PathBuf,
    pub recipe: Recipe,
    backbone: Backbone,
    head: Network,
    /// Cells of a side of the head's answer.
    side: usize,
}

/// The network that makes features.
struct Backbone {
    path: PathBuf,
    network: Network,
    recipe: Recipe,
    /// Whether the network takes pictures of the search area's size only.
    fixed: bool,
}

/// The inputs by which a network is tried before it is run as a whole, given the model as its file has it.
type Inputs<'a> = dyn Fn(&Model) -> std::result::Result<Vec<Vec<Map>>, Problem> + Sync + 'a;

/// The head's answer for a search area.
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
        type Place = Arc<Mutex<Weak<Networks>>>;
        static LOADED: Mutex<Vec<(PathBuf, Place)>> = Mutex::new(Vec::new());
        let place = {
            let mut loaded = lock(&LOADED);
            loaded.retain(|(_, place)| Arc::strong_count(place) > 1 || lock(place).strong_count() > 0);
            match loaded.iter().find(|(known, _)| known == folder) {
                Some((_, place)) => Arc::clone(place),
                None => {
                    loaded.push((folder.to_owned(), Place::default()));
                    loaded.last().map(|(_, place)| Arc::clone(place)).unwrap_or_default()
                }
            }
        };
        // Networks of other folders can be loaded meanwhile.
        let mut place = lock(&place);
        if let Some(networks) = place.upgrade() {
            return Ok(networks);
        }
        let networks = Arc::new(Self::read(folder)?);
        *place = Arc::downgrade(&networks);
        Ok(networks)
    }

    fn read(folder: &Path) -> Result<Self> {
        let file = |name: &str, inputs: &Inputs<'_>| {
            let path = folder.join(name);
            let there = std::fs::metadata(&path).map_err(|source| Error::io(&path, source))?;
            if there.len() > MAX_BYTES || !there.is_file() {
                let reason = format!("{} MB: a tracking network is a file of at most 256 MB", there.len() >> 20);
                return Err(Error::Network { path, reason });
            }
            let pool = pool();
            let refuse = |error: Problem| Error::Network { path: path.clone(), reason: error.to_string() };
            on_own_thread(|| Network::load(&path, inputs, &pool)).map_err(refuse)
        };
        let recipe = read_recipe(&folder.join("siamese.toml"))?;
        let black = |side: usize| Map::zeros([1, 3, side, side]);
        let is_fixed = |model: &Model| {
            let height = model.input_shape(0).and_then(|shape| shape.get(2).cloned());
            matches!(height, Some(Dimension::Fixed(side)) if side == recipe.search)
        };
        let network = file("backbone.onnx", &|model| {
            let smaller = (!is_fixed(model)).then(|| vec![black(recipe.exemplar)]);
            Ok(smaller.into_iter().chain([vec![black(recipe.search)]]).collect())
        })?;
        let fixed = is_fixed(&network.model);
        let backbone = Backbone { path: folder.join("backbone.onnx"), network, recipe: recipe.clone(), fixed };
        let head = file("head.onnx", &|_| {
            let (pool, picture) = (pool(), |side: usize| vec![0.0; 3 * side * side]);
            let exemplar = backbone.exemplar(picture, &pool)?;
            Ok(vec![vec![exemplar, backbone.features(picture(recipe.search), recipe.search, &pool)?]])
        })?;
        let mut networks = Self { folder: folder.to_owned(), recipe, backbone, head, side: 0 };
        networks.side = on_own_thread(|| networks.try_out())?;
        Ok(networks)
    }

    /// Runs both networks once and returns the side of the head's answer.
    fn try_out(&self) -> Result<usize> {
        let pool = pool();
        let refuse = |name: &str, reason: String| Err(Error::Network { path: self.folder.join(name), reason });
        if self.backbone.network.arity() != (1, 1) {
            return refuse("backbone.onnx", "it must have one input and one output".into());
        }
        if self.head.arity() != (2, 2) {
            return refuse("head.onnx", "it must have two inputs and two outputs".into());
        }
        let picture = |side: usize| vec![0.0; 3 * side * side];
        let exemplar = self.backbone.exemplar(picture, &pool)?;
        let search = self.features(picture(self.recipe.search), self.recipe.search, &pool)?;
        let [scores, sides] = self.compare(&exemplar, &search, &pool)?;
        let [_, _, rows, columns] = scores.shape();
        if scores.shape() != [1, 2, rows, rows] || sides.shape() != [1, 4, rows, rows] || rows < 3 {
            let reason =
                format!("it answers in {:?} and {:?}, not in 1x2xNxN and 1x4xNxN", scores.shape(), sides.shape());
            return refuse("head.onnx", reason);
        }
        let Recipe { stride, exemplar: small, search: large, .. } = self.recipe;
        let cells = [&exemplar, &search].map(|map| map.shape()[3]);
        let (more, pixels) = (cells[1].saturating_sub(cells[0]), large - small);
        if (stride * more as f64 - pixels as f64).abs() >= stride {
            let reason = format!("stride = {stride}: {pixels} more pixels give {more} more cells");
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

    /// The features of the target, see [`Backbone::exemplar`].
    pub fn exemplar(&self, cut: impl Fn(usize) -> Vec<f32> + Send, pool: &Arc<ThreadPool>) -> Result<Map> {
        on_own_thread(|| pool.run(|| self.backbone.exemplar(cut, pool)))
    }

    /// The features of the picture of a search area, and how they compare with those of the target; `None` where the
    /// answer is not finite.
    pub fn search(&self, exemplar: &Map, picture: Vec<f32>, pool: &Arc<ThreadPool>) -> Option<(Map, Answer)> {
        // Both networks at once: a change of threads takes longer than many a node.
        let both = || {
            let features = self.features(picture, self.recipe.search, pool).ok()?;
            let answer = self.answer(exemplar, &features, pool)?;
            Some((features, answer))
        };
        on_own_thread(|| pool.run(both))
    }

    /// The features of a picture, see [`Backbone::features`].
    fn features(&self, picture: Vec<f32>, side: usize, pool: &Arc<ThreadPool>) -> Result<Map> {
        self.backbone.features(picture, side, pool)
    }

    fn compare(&self, exemplar: &Map, search: &Map, pool: &Arc<ThreadPool>) -> Result<[Map; 2]> {
        let refuse = |reason: String| Error::Network { path: self.folder.join("head.onnx"), reason };
        let values = self.head.run(&[exemplar, search], pool);
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
    fn answer(&self, exemplar: &Map, search: &Map, pool: &Arc<ThreadPool>) -> Option<Answer> {
        let [classes, sides] = self.compare(exemplar, search, pool).ok()?;
        let classes: Vec<f32> = classes.iter().copied().collect();
        let sides: Vec<f32> = sides.iter().copied().collect();
        let (background, target) = classes.split_at_checked(self.side * self.side)?;
        // Softmax over two values.
        let scores: Vec<f32> = background.iter().zip(target).map(|(b, t)| 1.0 / (1.0 + (b - t).exp())).collect();
        let whole = scores.len() == self.side * self.side && sides.len() == 4 * scores.len();
        (whole && scores.iter().chain(&sides).all(|v| v.is_finite())).then_some(Answer { scores, sides })
    }
}

impl Backbone {
    /// The features of the target in the middle of a square picture. `cut` makes the picture of the exemplar's side, or
    /// of the search area's side with more around the target. A backbone of fixed size sees the larger one, and the
    /// middle of its features counts.
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
        let refuse = |reason: String| Error::Network { path: self.path.clone(), reason };
        let picture = NdTensor::from_data([1, 3, side, side], picture);
        let values = self.network.run(&[&picture], pool).map_err(|error| refuse(error.to_string()))?;
        let value = values.into_iter().next().ok_or_else(|| refuse("it has no output".into()))?;
        value.try_into().map_err(|_| refuse("it must answer with numbers in four dimensions".into()))
    }
}

/// A network that `rten` runs but for its depthwise convolutions, also those of one picture's features with another's.
///
/// `rten` computes those one number at a time, which takes half of a small network's time. The sums here have the same
/// order, so the answers are the same.
struct Network {
    model: Model,
    cuts: Vec<Cut>,
}

/// A depthwise convolution, and what `rten` computes before it.
struct Cut {
    /// The convolution's input and other values that are needed later.
    before: Vec<NodeId>,
    input: NodeId,
    /// The node of weights that are not constant.
    weights: Option<NodeId>,
    output: NodeId,
    convolution: Depthwise,
}

impl Network {
    /// Reads a network, and tries it node by node.
    fn load(path: &Path, inputs: &Inputs<'_>, pool: &Arc<ThreadPool>) -> std::result::Result<Self, Problem> {
        let bytes = std::fs::read(path)?;
        check_nesting(&bytes)?;
        let graph = ModelProto::decode(Bounded { bytes: &bytes, at: 0 })?.graph.unwrap_or_default();
        let plain = ModelOptions::with_ops(operators()).enable_optimization(false).load(bytes.clone())?;
        let mut shapes = WeightShapes::new();
        for inputs in inputs(&plain)? {
            shapes = Walk::new(&graph, &plain).run(&inputs, pool)?;
        }
        drop(plain);
        let model = ModelOptions::with_ops(operators()).load(bytes)?;
        let constants: HashMap<_, _> = graph.initializer.iter().map(|tensor| (tensor.name.as_ref(), tensor)).collect();
        let mut cuts = Vec::new();
        let mut first = 0;
        for (i, node) in graph.node.iter().enumerate() {
            let Some(convolution) = Depthwise::of(node, &constants, &shapes) else { continue };
            let used: HashSet<&String> = graph.node[i..].iter().flat_map(|node| &node.input).collect();
            let made = graph.node[first..i].iter().flat_map(|node| &node.output).filter(|name| used.contains(name));
            let before = made.map(|name| model.node_id(name)).collect::<std::result::Result<_, _>>()?;
            let (input, output) = (model.node_id(&node.input[0])?, model.node_id(&node.output[0])?);
            let weights = convolution.weights.is_none().then(|| model.node_id(&node.input[1])).transpose()?;
            cuts.push(Cut { before, input, weights, output, convolution });
            first = i + 1;
        }
        Ok(Self { model, cuts })
    }

    /// Numbers of inputs and outputs.
    fn arity(&self) -> (usize, usize) {
        (self.model.input_ids().len(), self.model.output_ids().len())
    }

    /// The outputs for these inputs.
    fn run(&self, inputs: &[&Map], pool: &Arc<ThreadPool>) -> std::result::Result<Vec<Value>, Problem> {
        let views = inputs.iter().map(|map| ValueOrView::from(map.view()));
        let mut known: Vec<(NodeId, ValueOrView<'_>)> = self.model.input_ids().iter().copied().zip(views).collect();
        let run = |known: &[(NodeId, ValueOrView<'_>)], outputs: &[NodeId]| {
            let known = known.iter().map(|(id, value)| (*id, value.as_view().into())).collect();
            self.model.run(known, outputs, Some(RunOptions::default().with_thread_pool(Some(pool.clone()))))
        };
        pool.run(|| {
            for Cut { before, input, weights, output, convolution } in &self.cuts {
                let values = run(&known, before)?;
                known.extend(before.iter().copied().zip(values.into_iter().map(ValueOrView::Value)));
                let map = |wanted: &NodeId| -> std::result::Result<NdTensorView<'_, f32, 4>, Problem> {
                    let (_, map) = known.iter().find(|(id, _)| id == wanted).ok_or("a value is missing")?;
                    Ok(map.as_view().try_into()?)
                };
                let weights = weights.as_ref().map(map).transpose()?;
                let result = convolution.run(map(input)?, weights)?;
                known.push((*output, ValueOrView::Value(result.into())));
            }
            Ok(run(&known, self.model.output_ids())?)
        })
    }
}

/// The values of a file, none longer than what is left of it. The runtime's own reader reserves any length that a damaged
/// file claims, and does not end at ten bytes of a number that goes on.
pub(super) struct Bounded<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

type Read<T> = std::result::Result<T, ProtobufError>;

impl<'a> Bounded<'a> {
    pub fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let taken = self.bytes[self.at..].get(..length).ok_or_else(|| ProtobufError::new(ErrorKind::Eof))?;
        self.at += length;
        Ok(taken)
    }

    fn take_array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let taken = self.take(N)?;
        Ok(std::array::from_fn(|i| taken[i]))
    }
}

impl ReadValue for Bounded<'_> {
    type Types = OwnedValues;

    fn read_i32(&mut self) -> Read<i32> {
        self.take_array().map(i32::from_le_bytes)
    }

    fn read_i64(&mut self) -> Read<i64> {
        self.take_array().map(i64::from_le_bytes)
    }

    fn read_varint(&mut self) -> Read<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take_array()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(ProtobufError::new(ErrorKind::InvalidVarint))
    }

    fn read_bytes(&mut self, length: usize) -> Read<Vec<u8>> {
        self.take(length).map(<[u8]>::to_vec)
    }

    fn read_string(&mut self, length: usize) -> Read<String> {
        String::from_utf8(self.read_bytes(length)?).map_err(|_| ProtobufError::new(ErrorKind::InvalidUtf8))
    }

    fn skip(&mut self, length: usize) -> Read<()> {
        self.take(length).map(|_| ())
    }

    fn position(&self) -> u64 {
        self.at as u64
    }
}

/// A convolution of each channel with its own weights.
struct Depthwise {
    /// `[channel][1][row][column]`; `None` of weights that are computed.
    weights: Option<Map>,
    bias: Vec<f32>,
    stride: usize,
    /// Zeros beyond each border.
    padding: usize,
}

impl Depthwise {
    /// The convolution of a node that is one, with the same stride and padding on all sides. `shapes` are those of weights
    /// that are computed.
    fn of(node: &NodeProto, constants: &HashMap<Option<&String>, &TensorProto>, shapes: &WeightShapes) -> Option<Self> {
        if node.op_type.as_deref() != Some("Conv") {
            return None;
        }
        let attribute = |name: &str| node.attribute.iter().find(|attribute| attribute.name.as_deref() == Some(name));
        let same = |name: &str, default: usize| {
            let values = attribute(name).map_or(&[][..], |attribute| &attribute.ints);
            let value = values.first().map_or(Some(default), |&value| value.try_into().ok())?;
            values.iter().all(|&other| other == value as i64).then_some(value)
        };
        let constant = |i: usize| {
            let tensor = constants.get(&Some(node.input.get(i)?))?;
            let floats = match &tensor.raw_data {
                Some(bytes) => bytes.borrow().as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect(),
                None => tensor.float_data.clone(),
            };
            (tensor.data_type == Some(DataType::FLOAT)).then_some((&tensor.dims[..], floats))
        };
        let &[channels, 1, rows, columns] = &shapes.get(node.input.get(1)?)?[..] else { return None };
        let shape @ [count, _, rows, columns] = [channels, 1, rows, columns].map(|length| length as usize);
        let (stride, padding) = (same("strides", 1)?, same("pads", 0)?);
        let depthwise = attribute("group")?.i == i64::try_from(count).ok() && count > 1;
        let plain = attribute("auto_pad").is_none() && same("dilations", 1)? == 1;
        // These bounds make each number of the channel count.
        let dense = (1..=rows.min(columns)).contains(&stride) && padding < rows.min(columns);
        if !(depthwise && plain && dense) {
            return None;
        }
        let weights = match constants.contains_key(&node.input.get(1)) {
            true => Some(Map::try_from_data(shape, constant(1)?.1).ok()?),
            false => None,
        };
        let bias = if node.input.len() > 2 { constant(2)?.1 } else { vec![0.0; count] };
        (bias.len() == count).then_some(Self { weights, bias, stride, padding })
    }

    fn run(
        &self,
        map: NdTensorView<'_, f32, 4>,
        computed: Option<NdTensorView<'_, f32, 4>>,
    ) -> std::result::Result<Map, &'static str> {
        let weights = self.weights.as_ref().map(Map::view).or(computed).ok_or("a value is missing")?.to_contiguous();
        let ([1, channels, height, width], [of, 1, rows, columns]) = (map.shape(), weights.shape()) else {
            return Err("a depthwise convolution does not fit its input");
        };
        let Self { stride, padding, .. } = *self;
        let padded = (height + 2 * padding, width + 2 * padding);
        if channels != of || height * width == 0 || padded.0 < rows || padded.1 < columns {
            return Err("a depthwise convolution does not fit its input");
        }
        let (down, across) = ((padded.0 - rows) / stride + 1, (padded.1 - columns) / stride + 1);
        // The padded channel as one plane for each remainder of row and column divided by the stride: a step in the output
        // is a step in each plane, and all rows are summed at once, with the columns beyond their ends.
        let (lines, line) = (padded.0.div_ceil(stride), padded.1.div_ceil(stride));
        let place = |row: usize, column: usize| {
            let plane = row % stride * stride + column % stride;
            (plane * lines + row / stride) * line + column / stride
        };
        let offsets: Vec<usize> = (0..rows * columns).map(|i| place(i / columns, i % columns)).collect();
        let mut area = vec![0.0; stride * stride * lines * line];
        let mut sums = vec![0.0; down * line];
        let map = map.to_contiguous();
        let planes = map.data().chunks_exact(height * width);
        let mut output = Vec::with_capacity(channels * down * across);
        let weights = weights.data().chunks_exact(rows * columns);
        for ((plane, weights), &bias) in planes.zip(weights).zip(&self.bias) {
            for (row, values) in plane.chunks_exact(width).enumerate() {
                for first in 0..stride.min(width) {
                    let to = &mut area[place(row + padding, first + padding)..];
                    match stride {
                        1 => to[..width].copy_from_slice(values),
                        _ => to.iter_mut().zip(values[first..].iter().step_by(stride)).for_each(|(to, v)| *to = *v),
                    }
                }
            }
            sums.fill(bias);
            add_shifted(&mut sums, &area, &offsets, weights);
            sums.chunks_exact(line).for_each(|sums| output.extend_from_slice(&sums[..across]));
        }
        Ok(Map::from_data([1, channels, down, across], output))
    }
}

leveled! {
    /// Adds the part of `area` from each offset on, times its weight.
    fn add_shifted(sums: &mut [f32], area: &[f32], offsets: &[usize], weights: &[f32]) {
        for (&offset, &weight) in offsets.iter().zip(weights) {
            for (sum, &value) in sums.iter_mut().zip(&area[offset..]) {
                *sum += value * weight;
            }
        }
    }
}

fn read_recipe(path: &Path) -> Result<Recipe> {
    let refuse = |reason: String| Error::Network { path: path.to_owned(), reason };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Recipe::default()),
        text => text.map_err(|source| Error::io(path, source))?,
    };
    let recipe: Recipe = read_toml(&text).map_err(refuse)?;
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

/// Runs `work` on a plain thread and returns its result. The runtime waits for its own pool of rayon; a caller on
/// another pool would start on the next target meanwhile, in the middle of this one. A plain thread only waits.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_none() {
        return work();
    }
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
    fn a_network_without_outputs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(self::folder("head.onnx"), folder.path().join("head.onnx")).unwrap();
        // A version, and a graph without anything.
        std::fs::write(folder.path().join("backbone.onnx"), b"\x08\x08\x3a\x00").unwrap();
        let error = Networks::load(folder.path()).err().unwrap().to_string();
        assert!(error.contains("backbone.onnx: it has no output"), "{error}");
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

    /// A message of protobuf in the field of another.
    fn field(number: u8, message: &[u8]) -> Vec<u8> {
        let mut length = message.len();
        let mut bytes = vec![number << 3 | 2];
        while length > 127 {
            bytes.push(length as u8 | 128);
            length >>= 7;
        }
        bytes.push(length as u8);
        [&bytes, message].concat()
    }

    /// A network with graphs within the graph.
    fn nested(network: &[u8], depth: usize) -> Vec<u8> {
        let deepest = field(1, &field(5, &field(6, b"")));
        let graph = (0..depth).fold(deepest, |graph, _| field(1, &field(5, &field(6, &graph))));
        [network, &field(7, &graph)].concat()
    }

    /// A network that makes zeros of this shape, and a product of matrices of them for more nodes than one.
    fn with_constant(shape: &[i64], nodes: usize) -> Vec<u8> {
        let node = |inputs: &[&str], output: &str, kind: &str| {
            let inputs: Vec<u8> = inputs.iter().flat_map(|name| field(1, name.as_bytes())).collect();
            field(1, &[inputs, field(2, output.as_bytes()), field(4, kind.as_bytes())].concat())
        };
        let numbers: Vec<u8> = shape.iter().flat_map(|side| side.to_le_bytes()).collect();
        // The tensor's dimension, type (int64), name and numbers.
        let tensor = [vec![8, shape.len() as u8, 16, 7], field(8, b"size"), field(9, &numbers)].concat();
        let mut graph = [field(5, &tensor), node(&["size"], "zeros", "ConstantOfShape")].concat();
        if nodes > 1 {
            graph.extend(node(&["zeros", "zeros"], "product", "MatMul"));
        }
        // One input of numbers, and one output.
        let kind = field(2, &field(1, &[8, 1]));
        let value = |name: &str| [field(1, name.as_bytes()), kind.clone()].concat();
        let last = if nodes > 1 { "product" } else { "zeros" };
        graph.extend([field(11, &value("picture")), field(12, &value(last))].concat());
        [vec![8, 8], field(7, &graph), field(8, &[16, 13])].concat()
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
        // The name of a producer, of 2⁵⁶ bytes; a number without an end.
        let (claims_much, endless) = (b"\x12\x80\x80\x80\x80\x80\x80\x80\x80\x01", [255; 20]);
        for (backbone, head, file) in [
            (&backbone[..], &backbone[..], "head.onnx"),
            (&head[..], &head[..], "backbone.onnx"),
            (&backbone[..backbone.len() / 2], &head[..], "backbone.onnx"),
            (&b"no network"[..], &head[..], "backbone.onnx"),
            (&claims_much[..], &head[..], "backbone.onnx"),
            (&endless[..], &head[..], "backbone.onnx"),
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
        for (backbone, part) in [
            (nested(&backbone, 700), "graph within"),
            (with_constant(&[1_000_000_000_000], 1), "more than"),
            (with_constant(&[20_000, 20_000], 3), "more than"),
        ] {
            std::fs::write(bad.path().join("backbone.onnx"), backbone).unwrap();
            let error = Networks::load(bad.path()).unwrap_err().to_string();
            assert!(error.contains("backbone.onnx") && error.contains(part), "{error}");
        }
        std::fs::write(bad.path().join("backbone.onnx"), &backbone).unwrap();
        for (recipe, part) in [
            ("stride = 8", "stride = 8"),
            ("stride = 30", "stride = 30"),
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
