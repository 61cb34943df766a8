//! Ctrl-C, and the signals by which a system ends a program: the run stops after the frame at hand and is finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody wants the run to end.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. A second signal ends the program at once.
    pub fn watch() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&asked);
        // Where a signal is ignored already (`nohup`, a job in the background) it stays so: that is the error left out
        // here.
        let _ = ctrlc::try_set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        Self(asked)
    }

    /// Whether a signal has come.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
