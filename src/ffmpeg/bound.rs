//! Programs that end when this one does, however that ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// A program to start, and where the outcome goes.
type Order = (Command, SyncSender<io::Result<Child>>);

/// The system ends a program with the *thread* that started it. The one behind this sender lives as long as the
/// process that began it: a fork of that has no such thread, and begins its own.
static STARTER: Mutex<Option<(Pid, Sender<Order>)>> = Mutex::new(None);

/// Starts `command`; the system kills it when this process ends, be it by a SIGKILL.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    let (outcome, started) = sync_channel(1);
    let gone = || io::Error::other("the thread that starts programs has ended");
    starter()?.send((command, outcome)).map_err(|_| gone())?;
    started.recv().map_err(|_| gone())?
}

fn starter() -> io::Result<Sender<Order>> {
    let mut known = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = getpid();
    if let Some((_, starter)) = known.as_ref().filter(|(pid, _)| *pid == ours) {
        return Ok(starter.clone());
    }
    let (starter, orders) = channel::<Order>();
    let work = move || {
        for (command, outcome) in orders {
            // Whoever asked for it has gone, and so does it.
            if let Err(unwanted) = outcome.send(start(command, ours))
                && let Ok(mut child) = unwanted.0
            {
                let _ = child.kill().and_then(|()| child.wait());
            }
        }
    };
    std::thread::Builder::new().name("starts programs".into()).spawn(work)?;
    *known = Some((ours, starter.clone()));
    Ok(starter)
}

fn start(mut command: Command, ours: Pid) -> io::Result<Child> {
    let bind = move || {
        // Where the system does not allow it, a program ends when it next reads or writes, as elsewhere.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        // This process may have ended before that was said. In a namespace of its own the new one does not see it.
        match getppid() {
            Some(parent) if parent != ours => Err(io::Error::from(rustix::io::Errno::SRCH)),
            _ => Ok(()),
        }
    };
    // SAFETY: between fork and exec the new process makes two system calls, by no lock and without memory of its own.
    unsafe { command.pre_exec(bind) };
    command.spawn()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_program_outlives_the_thread_that_asked_for_it() {
        let mut sleep = Command::new("sleep");
        sleep.arg("60");
        let mut child = std::thread::spawn(|| spawn(sleep)).join().unwrap().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().and_then(|()| child.wait()).unwrap();
        let missing = spawn(Command::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
