//! A word to whoever waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that whoever waits for a program or for data looks at now and then: once it is set, they give up. Copies
/// are the same switch.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Tells all that they shall give up.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they shall.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The switch that a signal's handler sets.
impl From<Arc<AtomicBool>> for Stop {
    fn from(switch: Arc<AtomicBool>) -> Self {
        Self(switch)
    }
}
