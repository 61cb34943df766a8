//! One switch that ends all waiting, and the threads that wait.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

thread_local! {
    static CURRENT: RefCell<CancelToken> = RefCell::default();
}

/// A switch that ends waits and fits: all code that can take long polls it. Clones share the switch.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    parent: Option<Arc<Self>>,
}

impl CancelToken {
    /// Asks everything that holds this token or a child of it to end.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called on this token or its parent.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.parent.as_ref().is_some_and(|parent| parent.is_cancelled())
    }

    /// [`Error::Cancelled`] once it is cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// A token that is cancelled alone or with this one.
    #[cfg(feature = "files")]
    pub(crate) fn child(&self) -> Self {
        Self { flag: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }

    /// Runs `work` on this thread; a fit of a kernel machine in it ends with [`Error::Cancelled`] once the token is set.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let outer = CURRENT.replace(self.clone());
        let done = work();
        CURRENT.set(outer);
        done
    }
}

/// Starts a thread.
///
/// # Errors
/// [`Error::Io`] with its name when the system has no more threads.
#[cfg(feature = "files")]
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work);
    thread.map_err(|source| Error::io(format!("the thread {name}"), source))
}

/// Locks a mutex, also if a thread has panicked that held it.
#[cfg(any(feature = "files", feature = "neural"))]
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// [`Error::Cancelled`] if the token of the [scope](CancelToken::scope) is set.
pub(crate) fn check() -> Result<()> {
    CURRENT.with_borrow(CancelToken::check)
}

/// The flag that a signal handler sets.
impl From<Arc<AtomicBool>> for CancelToken {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self { flag, parent: None }
    }
}
