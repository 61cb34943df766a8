//! Each equation of the tracker against a dense, slow version in double precision (`tests/reference`).

#[path = "../reference/mod.rs"]
mod reference;
#[path = "../support/scene.rs"]
mod scene;

mod confidence;
mod correlation;
mod features;
mod fhog;
mod machine;
mod machine_bits;
mod properties;
mod ridge;
mod samples;
mod steps;
mod transform;
