//! Work that may wait for long, while somebody may want the run to end.

use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::error::{Error, Result};

/// How often somebody is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How long work may take to give up what it has begun.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// What `work` gives, done on a thread of its own, or `None` where `asked`, which is called on this one again and again
/// meanwhile, says that nobody waits for it any more. `stop` is set then, and the work has a second to end what it has
/// begun; if it does not heed that, it goes on alone, and what it gives is dropped.
///
/// # Errors
/// [`Error::Io`] where no thread can be started.
pub fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    stop: &CancelToken,
    mut asked: impl FnMut() -> bool,
) -> Result<Option<T>> {
    let (sender, done) = channel();
    // Whoever does not wait any more needs no answer.
    let work = move || drop(sender.send(work()));
    let worker = std::thread::Builder::new().name("aside".into()).spawn(work);
    let worker = worker.map_err(|source| Error::io("a thread to open the source on", source))?;
    loop {
        match done.recv_timeout(ASK_EVERY) {
            Ok(given) => return Ok(Some(given)),
            Err(RecvTimeoutError::Timeout) if asked() => {
                stop.cancel();
                let _ = done.recv_timeout(LAST_BREATH);
                return Ok(None);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(Error::io("a thread to open the source on", ErrorKind::BrokenPipe.into())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn what_the_work_gives_is_handed_on() {
        assert_eq!(aside(|| 7, &CancelToken::default(), || false).unwrap(), Some(7));
    }

    #[test]
    fn work_that_heeds_the_switch_has_ended_and_other_work_is_left_alone() {
        let stop = CancelToken::default();
        let (theirs, (sender, ended)) = (stop.clone(), channel());
        let work = move || {
            while !theirs.is_cancelled() {
                std::thread::sleep(Duration::from_millis(5));
            }
            sender.send(()).unwrap();
        };
        assert_eq!(aside(work, &stop, || true).unwrap(), None);
        assert_eq!(ended.try_recv(), Ok(()));
        let begun = Instant::now();
        let deaf = || std::thread::sleep(Duration::from_secs(20));
        assert_eq!(aside(deaf, &CancelToken::default(), || begun.elapsed() > 2 * ASK_EVERY).unwrap(), None);
        assert!(begun.elapsed() < 5 * LAST_BREATH);
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn a_panic_of_the_work_is_one_here() {
        let _ = aside(|| panic!("of the work"), &CancelToken::default(), || false);
    }
}
