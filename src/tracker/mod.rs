//! Tracking: what is known about the target in each frame.

mod response;
mod state;

pub use response::{ResponseLayout, ResponseMap};
pub use state::State;
