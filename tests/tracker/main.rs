//! What the tracker owes its user, whatever the frames: boxes, bounds, the same bits everywhere, and no memory taken.

#[path = "../support/otb.rs"]
#[allow(dead_code)] // one test of many tracks real sequences
mod otb;
#[path = "../support/scene.rs"]
mod scene;

mod allocation;
mod bounded;
mod detectors;
mod guards;
mod memory;
mod recovery;
mod robustness;
mod sizes;
