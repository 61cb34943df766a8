//! The tracker on any input: sound boxes, bounded sizes, recovery, no allocation.

#[path = "../support/scene.rs"]
mod scene;

mod allocation;
mod detectors;
mod guards;
mod recovery;
mod robustness;
mod sizes;
