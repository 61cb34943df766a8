//! One switch that ends all waiting, and the threads that wait.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

thread_local! {
    /// The tokens of the scopes that this thread is in, the outermost first.
    static SCOPES: RefCell<Vec<CancelToken>> = const { RefCell::new(Vec::new()) };
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

    /// Returns [`Error::Cancelled`] once the token is cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// A token that is cancelled alone or with this one.
    #[cfg(feature = "files")]
    pub(crate) fn child(&self) -> Self {
        Self { flag: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }

    /// Runs `work` on this thread. A long fit of a kernel machine in it ends with [`Error::Cancelled`] once this token or
    /// that of an outer scope is set; a short one may end first.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Ends the scope, also when `work` panics.
        struct Scope;
        impl Drop for Scope {
            fn drop(&mut self) {
                SCOPES.with_borrow_mut(Vec::pop);
            }
        }
        SCOPES.with_borrow_mut(|scopes| scopes.push(self.clone()));
        let _scope = Scope;
        work()
    }
}

/// The [scopes](CancelToken::scope) of a thread, for others that work for it.
#[cfg(feature = "parallel")]
#[derive(Clone, Debug)]
pub(crate) struct Scopes(Vec<CancelToken>);

#[cfg(feature = "parallel")]
impl Scopes {
    /// The scopes of this thread.
    pub(crate) fn here() -> Self {
        Self(SCOPES.with_borrow(Vec::clone))
    }

    /// Runs `work` in these scopes alone.
    pub(crate) fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the thread's own scopes, also when `work` panics.
        struct Former(Vec<CancelToken>);
        impl Drop for Former {
            fn drop(&mut self) {
                SCOPES.set(std::mem::take(&mut self.0));
            }
        }
        let _former = Former(SCOPES.replace(self.0.clone()));
        work()
    }
}

/// Starts a thread in the scopes of this one.
///
/// # Errors
/// [`Error::Io`] with its name when the system has no more threads.
#[cfg(feature = "files")]
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>> {
    let scopes = Scopes::here();
    let thread = std::thread::Builder::new().name(name.into()).spawn(move || scopes.enter(work));
    thread.map_err(|source| Error::io(format!("the thread {name}"), source))
}

/// Locks a mutex, also if a thread has panicked that held it.
#[cfg(any(feature = "files", feature = "neural"))]
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns [`Error::Cancelled`] if a token of the [scopes](CancelToken::scope) is set.
pub(crate) fn check() -> Result<()> {
    SCOPES.with_borrow(|scopes| scopes.iter().try_for_each(CancelToken::check))
}

/// The flag that a signal handler sets.
impl From<Arc<AtomicBool>> for CancelToken {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self { flag, parent: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_ends_by_a_panic_too_and_an_outer_one_counts() {
        let (set, unset) = (CancelToken::default(), CancelToken::default());
        set.cancel();
        let panicked = std::panic::catch_unwind(|| set.scope(|| -> () { panic!("a fit") }));
        assert!(panicked.is_err() && check().is_ok());
        assert!(set.scope(|| unset.scope(check)).is_err() && unset.scope(check).is_ok() && check().is_ok());
    }

    #[cfg(feature = "files")]
    #[test]
    fn threads_and_workers_are_in_the_scopes_of_those_who_ask_them() {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        let token = CancelToken::default();
        token.cancel();
        assert!(token.scope(|| spawn("test", check)).unwrap().join().unwrap().is_err());
        let scopes = token.scope(Scopes::here);
        assert!((0..64).into_par_iter().all(|_| scopes.enter(check).is_err()));
        assert!((0..64).into_par_iter().all(|_| check().is_ok()), "a scope has ended");
    }
}
