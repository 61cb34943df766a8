//! Checks whether an unknown network may be run: the runtime trusts the sizes and the nesting that a file claims.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_onnx::onnx::{GraphProto, NodeProto, TensorProto};
use rten_onnx::protobuf::ReadValue;
use rten_tensor::prelude::*;
use rten_tensor::{NdTensorView, TensorView};

use super::{Bounded, Map, Problem};

/// Numbers that a network may hold at a time, besides its weights: 256 MB.
const MAX_NUMBERS: u128 = 64 << 20;

/// Multiplications of one run: some seconds.
const MAX_PRODUCTS: u128 = 100_000_000_000;

/// Refuses graphs within graphs and types within types, which the reader of the file follows to any depth.
///
/// # Errors
/// For such graphs and types, and for a damaged file.
pub fn check_nesting(bytes: &[u8]) -> Result<(), Problem> {
    for graph in messages(bytes, &[7])? {
        for node in messages(graph, &[1])? {
            for attribute in messages(node, &[5])? {
                if !messages(attribute, &[6, 11])?.is_empty() {
                    return Err("it has a graph within its graph, which no tracking network needs".into());
                }
            }
        }
        for value in messages(graph, &[11, 12, 13])? {
            for kind in messages(value, &[2])? {
                if !messages(kind, &[4, 5, 8, 9])?.is_empty() {
                    return Err("it has a sequence or a map, which no tracking network needs".into());
                }
            }
        }
    }
    Ok(())
}

/// The messages in these fields of a message.
fn messages<'a>(bytes: &'a [u8], wanted: &[u64]) -> Result<Vec<&'a [u8]>, Problem> {
    let mut reader = Bounded { bytes, at: 0 };
    let mut found = Vec::new();
    while reader.at < bytes.len() {
        let tag = reader.read_varint()?;
        let length = match tag & 7 {
            0 => {
                reader.read_varint()?;
                continue;
            }
            1 => 8,
            2 => usize::try_from(reader.read_varint()?)?,
            5 => 4,
            _ => return Err("it is damaged: no such type of a field".into()),
        };
        let part = reader.take(length)?;
        if tag & 7 == 2 && wanted.contains(&(tag >> 3)) {
            found.push(part);
        }
    }
    Ok(found)
}

/// The shapes of convolutions' weights, by name.
pub type WeightShapes = HashMap<String, Vec<u128>>;

/// Runs a network node by node, each only after its answer is known to be small enough.
pub struct Walk<'a> {
    graph: &'a GraphProto,
    /// The model without optimisation, which would compute constants while it loads.
    model: &'a Model,
    constants: HashMap<&'a str, &'a TensorProto>,
    values: HashMap<&'a str, Value>,
    /// Values that depend on more of the input than its size.
    of_pictures: HashSet<&'a str>,
    products: u128,
}

impl<'a> Walk<'a> {
    pub fn new(graph: &'a GraphProto, model: &'a Model) -> Self {
        let constant = |node: &'a NodeProto| {
            let is_constant = node.op_type.as_deref() == Some("Constant");
            let tensor = node.attribute.iter().find_map(|attribute| attribute.t.as_ref()).filter(|_| is_constant)?;
            Some((node.output.first()?.as_str(), tensor))
        };
        let named = |tensor: &'a TensorProto| Some((tensor.name.as_deref()?, tensor));
        let constants =
            graph.initializer.iter().filter_map(named).chain(graph.node.iter().filter_map(constant)).collect();
        let (values, of_pictures) = (HashMap::new(), HashSet::new());
        Self { graph, model, constants, values, of_pictures, products: 0 }
    }

    /// Tries the network for inputs of these sizes, and returns the shapes of the weights of its convolutions.
    ///
    /// # Errors
    /// The first node that would need too much memory or time, or a size that depends on a picture; the runtime's errors.
    pub fn run(mut self, inputs: &[Map], pool: &Arc<ThreadPool>) -> Result<WeightShapes, Problem> {
        let names = self.graph.input.iter().filter_map(|input| input.name.as_deref());
        let names: Vec<_> = names.filter(|name| !self.constants.contains_key(name)).collect();
        for (name, input) in names.into_iter().zip(inputs) {
            self.values.insert(name, input.clone().into());
            self.of_pictures.insert(name);
        }
        let mut last_use: HashMap<&str, usize> = HashMap::new();
        for (i, node) in self.graph.node.iter().enumerate() {
            last_use.extend(node.input.iter().map(|name| (name.as_str(), i)));
        }
        let mut shapes = WeightShapes::new();
        for (i, node) in self.graph.node.iter().enumerate() {
            let kind = node.op_type.as_deref().unwrap_or_default();
            if kind == "Constant" {
                continue;
            }
            if kind == "Conv"
                && let Some(weights) = node.input.get(1)
            {
                shapes.insert(weights.clone(), self.shape(weights)?);
            }
            let name = node.name.as_deref().unwrap_or(kind);
            self.step(node, kind, pool).map_err(|problem| format!("its node {name}: {problem}"))?;
            self.values.retain(|name, _| last_use.get(name).is_some_and(|last| *last > i));
        }
        Ok(shapes)
    }

    fn step(&mut self, node: &'a NodeProto, kind: &str, pool: &Arc<ThreadPool>) -> Result<(), Problem> {
        let inputs: Vec<&str> = node.input.iter().map(String::as_str).collect();
        let sizes: &[usize] = match kind {
            "ConstantOfShape" => &[0],
            "Expand" | "Pad" | "Reshape" => &[1],
            "Resize" => &[1, 2, 3],
            _ => &[],
        };
        if sizes.iter().filter_map(|&i| inputs.get(i)).any(|name| self.of_pictures.contains(name)) {
            return Err("a size depends on the content of a picture".into());
        }
        let (numbers, products) = self.needs(node, kind, &inputs)?;
        let held: u128 = self.values.values().map(|value| value.len() as u128).sum();
        self.products += products;
        if held + numbers > MAX_NUMBERS || self.products > MAX_PRODUCTS {
            return Err(format!("{numbers} numbers, {products} products: more than a tracking network needs").into());
        }
        let distinct: HashSet<&str> = inputs.iter().copied().collect();
        let known = distinct.into_iter().filter_map(|name| Some((name, self.values.get(name)?)));
        let known = known.map(|(name, value)| Ok((self.model.node_id(name)?, ValueOrView::from(value.as_view()))));
        let known = known.collect::<Result<Vec<_>, rten::RunError>>()?;
        let names: Vec<&str> = node.output.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let outputs = names.iter().map(|name| self.model.node_id(name)).collect::<Result<Vec<NodeId>, _>>()?;
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let answers = self.model.run(known, &outputs, Some(options))?;
        let shows = kind != "Shape" && inputs.iter().any(|name| self.of_pictures.contains(name));
        for (name, value) in names.into_iter().zip(answers) {
            self.values.insert(name, value);
            if shows {
                self.of_pictures.insert(name);
            }
        }
        Ok(())
    }

    /// Upper bounds of the numbers in the answer of a node, and of the products for it.
    fn needs(&self, node: &NodeProto, kind: &str, inputs: &[&str]) -> Result<(u128, u128), Problem> {
        let shapes = inputs.iter().filter(|name| !name.is_empty()).map(|name| self.shape(name));
        let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
        let all = shapes.iter().fold(0, |all: u128, shape| all.saturating_add(count(shape)));
        let sizes = |i: usize| inputs.get(i).filter(|name| !name.is_empty()).map(|name| self.ints(name)).transpose();
        let (first, second) = (shapes.first().map_or(&[][..], |s| s), shapes.get(1).map_or(&[][..], |s| s));
        Ok(match kind {
            "ConstantOfShape" => (volume(&sizes(0)?.unwrap_or_default()), 0),
            "Expand" => (volume(&sizes(1)?.unwrap_or_default()).saturating_mul(count(first)), 0),
            "Pad" => (padded(first, &sizes(1)?.unwrap_or_default()), 0),
            "Resize" => match (sizes(3)?, inputs.get(2)) {
                (Some(sizes), _) => (volume(&sizes), 0),
                (None, Some(scales)) => {
                    let scale = self.floats(scales)?.iter().map(|scale| f64::from(*scale).abs()).product::<f64>();
                    ((count(first) as f64 * scale) as u128, 0)
                }
                (None, None) => (all, 0),
            },
            "Conv" => needs_of_filters(node, first, second.first().copied().unwrap_or(1), count(second)),
            "AveragePool" | "MaxPool" => {
                let channels = side(first, 2);
                needs_of_filters(node, first, channels, volume(list(node, "kernel_shape")).saturating_mul(channels))
            }
            "MatMul" | "Gemm" => needs_of_product(node, first, second),
            "Gather" => {
                (count(second).saturating_mul(count(first)) / first.iter().copied().min().unwrap_or(1).max(1), 0)
            }
            "Add" | "Sub" | "Mul" | "Div" | "Pow" | "PRelu" | "Max" | "Min" => {
                let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
                let longest = |i| shapes.iter().map(|shape| side(shape, i)).max().unwrap_or(1);
                let answer = count(&(0..rank).map(longest).collect::<Vec<_>>());
                (answer, answer)
            }
            _ => (all, all),
        })
    }

    /// The shape of a value.
    fn shape(&self, name: &str) -> Result<Vec<u128>, Problem> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.shape().iter().map(|&side| side as u128).collect());
        }
        let constant = self.constants.get(name).ok_or_else(|| format!("no earlier node gives the value {name}"))?;
        Ok(constant.dims.iter().map(|side| u128::from(side.unsigned_abs())).collect())
    }

    /// The numbers of a list of sizes.
    fn ints(&self, name: &str) -> Result<Vec<i64>, Problem> {
        if let Some(value) = self.values.get(name) {
            let sizes: TensorView<'_, i32> = value.as_view().try_into()?;
            return Ok(sizes.iter().map(|&size| size.into()).collect());
        }
        let constant = self.constants.get(name).ok_or("no node gives a size")?;
        Ok(match &constant.raw_data {
            Some(bytes) => bytes.borrow().as_chunks().0.iter().map(|&eight| i64::from_le_bytes(eight)).collect(),
            None => constant.int64_data.clone(),
        })
    }

    fn floats(&self, name: &str) -> Result<Vec<f32>, Problem> {
        if let Some(value) = self.values.get(name) {
            let scales: NdTensorView<'_, f32, 1> = value.as_view().try_into()?;
            return Ok(scales.iter().copied().collect());
        }
        let constant = self.constants.get(name).ok_or("no node gives a scale")?;
        Ok(match &constant.raw_data {
            Some(bytes) => bytes.borrow().as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect(),
            None => constant.float_data.clone(),
        })
    }
}

/// The numbers of a value of this shape.
fn count(shape: &[u128]) -> u128 {
    shape.iter().fold(1, |all: u128, side| all.saturating_mul(*side))
}

/// The numbers of a value of these sizes.
fn volume(sizes: &[i64]) -> u128 {
    sizes.iter().fold(1, |all: u128, size| all.saturating_mul(size.unsigned_abs().into()))
}

/// A side of a shape, counted from the last.
fn side(shape: &[u128], from_end: usize) -> u128 {
    shape.iter().nth_back(from_end).copied().unwrap_or(1)
}

/// The numbers of a value whose sides are longer by zeros before and after.
fn padded(shape: &[u128], pads: &[i64]) -> u128 {
    let more = |i: usize| [i, i + pads.len() / 2].iter().map(|&at| u128::from(pads[at].unsigned_abs())).sum::<u128>();
    let first = shape.len().saturating_sub(pads.len() / 2);
    let side = |(i, side): (usize, &u128)| side + i.checked_sub(first).map_or(0, more);
    count(&shape.iter().enumerate().map(side).collect::<Vec<_>>())
}

/// An attribute of a node that is a list of numbers; empty without it.
fn list<'n>(node: &'n NodeProto, name: &str) -> &'n [i64] {
    node.attribute.iter().find(|it| it.name.as_deref() == Some(name)).map_or(&[], |it| &it.ints)
}

/// The [needs](Walk::needs) of filters with so many weights in all, each at every place of a map.
fn needs_of_filters(node: &NodeProto, map: &[u128], filters: u128, weights: u128) -> (u128, u128) {
    // The area counts each channel.
    let places = padded(map, list(node, "pads")) / map.get(1).copied().unwrap_or(1).max(1);
    let places = places / volume(list(node, "strides")).max(1);
    let places = places.saturating_add(side(map, 0) + side(map, 1) + 1);
    (places.saturating_mul(filters), places.saturating_mul(weights))
}

/// The [needs](Walk::needs) of a product of matrices.
fn needs_of_product(node: &NodeProto, first: &[u128], second: &[u128]) -> (u128, u128) {
    let is_turned = |name: Option<&str>| name.is_some_and(|name| name.starts_with("trans"));
    let outer = match node.attribute.iter().any(|it| is_turned(it.name.as_deref()) && it.i == Some(1)) {
        true => count(first).saturating_mul(count(second)) / side(second, 0).max(1),
        // Each batch of one matrix is multiplied with each batch of the other.
        false => (count(first) / side(first, 0).max(1)).saturating_mul(count(second) / side(second, 1).max(1)),
    };
    (outer, outer.saturating_mul(side(first, 0).max(side(first, 1))))
}
