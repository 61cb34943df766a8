//! Commands to a run, as JSON lines: docs/control.md.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Failure;
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::export::TargetRecord;
use crate::media::Item;
use crate::run::{Command, MAX_TARGETS, Pilot, Session};
use crate::tracker::check_start;

/// Longest line, in bytes.
const MAX_LINE: u64 = 4096;

/// Commands that wait for the next frame; more wait in the pipe.
const MAX_WAITING: usize = 1000;

/// Refusals that are told apart until the next frame; of more there is a count.
const MAX_REFUSALS: usize = 5;

/// Maximum targets of a run, with those that have ended.
const MAX_TARGETS_IN_ALL: usize = 100_000;

/// Commands that have come since the last frame, and lines that were refused.
#[derive(Debug, Default)]
struct Inbox {
    commands: Vec<(u64, Command)>,
    /// Where the latest box of a target stands among them.
    given: HashMap<u32, usize>,
    refusals: Vec<String>,
    /// Refusals that are not among them.
    more: u64,
}

impl Inbox {
    fn refuse(&mut self, number: u64, reason: &str) {
        match self.refusals.len() < MAX_REFUSALS {
            true => self.refusals.push(format!("command {number}: {reason}")),
            false => self.more += 1,
        }
    }

    /// Adds a command. A box of a target replaces one that no frame has seen.
    fn add(&mut self, number: u64, command: Command) {
        match command {
            Command::Give { target, .. } => match self.given.get(&target) {
                Some(&place) => self.commands[place] = (number, command),
                None => {
                    self.given.insert(target, self.commands.len());
                    self.commands.push((number, command));
                }
            },
            command => {
                // What is given after it must not replace what was given before it.
                self.given.clear();
                self.commands.push((number, command));
            }
        }
    }
}

type Shared = Arc<(Mutex<Inbox>, Condvar)>;

fn lock(shared: &Shared) -> MutexGuard<'_, Inbox> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads commands on a thread of its own and applies them between frames.
#[derive(Debug)]
pub struct Control {
    shared: Shared,
    /// What follows a new target.
    pilot: Pilot,
    /// All targets, in the order of the session.
    targets: Vec<TargetRecord>,
}

impl Control {
    /// Starts to read `path`, or the standard input for `-`. `quit` is cancelled by the command of that name.
    ///
    /// # Errors
    /// Wrong usage for a missing file.
    pub fn start(path: &Path, pilot: Pilot, targets: &[TargetRecord], quit: CancelToken) -> Result<Self, Failure> {
        let is_stdin = path == Path::new("-");
        if !is_stdin && !path.exists() {
            return Err(Failure::usage(format!("--commands {}: no such file or pipe", path.display())));
        }
        let (shared, path) = (Shared::default(), path.to_path_buf());
        let inbox = Arc::clone(&shared);
        let read = move || match is_stdin {
            true => read_lines(std::io::stdin().lock(), &inbox, &quit),
            // A named pipe opens when its writer comes.
            false => match File::open(&path) {
                Ok(file) => read_lines(BufReader::new(file), &inbox, &quit),
                Err(error) => lock(&inbox).refuse(0, &format!("{}: {error}", path.display())),
            },
        };
        let thread = std::thread::Builder::new().name("commands".into()).spawn(read);
        thread.map_err(|error| Failure::failed(format!("a thread for commands: {error}")))?;
        Ok(Self { shared, pilot, targets: targets.to_vec() })
    }

    /// Applies the commands that have come to the frame `item`, which the targets are about to see. `added` gets each
    /// new target.
    pub fn apply(&mut self, session: &mut Session<Pilot>, item: &Item, mut added: impl FnMut(TargetRecord)) {
        // A box needs pixels: commands wait for a frame that can be read.
        let Ok(frame) = &item.frame else { return };
        let commands = {
            let mut inbox = lock(&self.shared);
            inbox.given.clear();
            self.shared.1.notify_one();
            std::mem::take(&mut inbox.commands)
        };
        for (number, command) in commands {
            let checked = command.bbox().map_or(Ok(()), |bbox| check_start(&frame.into(), bbox));
            let done = checked.map_err(|error| error.to_string()).and_then(|()| match command {
                Command::Add { id, position: None, bbox } => self.add(session, id, item.position, bbox).map(&mut added),
                Command::Give { target, position: None, bbox } => {
                    self.find(session, target).map(|at| session.plan(at, item.position, Some(bbox)))
                }
                Command::End { target, position: None } => {
                    self.find(session, target).map(|at| _ = session.drop_target(at))
                }
                Command::Add { .. } | Command::Give { .. } | Command::End { .. } => {
                    Err("a run has no \"position\": its commands hold for the next frame".into())
                }
                _ => Err("this is a command of the page, not of a run".into()),
            });
            if let Err(reason) = done {
                lock(&self.shared).refuse(number, &reason);
            }
        }
    }

    /// Refusals since the last call.
    pub fn refusals(&self) -> Vec<String> {
        let mut inbox = lock(&self.shared);
        let mut refusals = std::mem::take(&mut inbox.refusals);
        if inbox.more > 0 {
            refusals.push(format!("{} more commands were refused", std::mem::take(&mut inbox.more)));
        }
        refusals
    }

    fn add(
        &mut self,
        session: &mut Session<Pilot>,
        id: Option<u32>,
        start: usize,
        bbox: BBox,
    ) -> Result<TargetRecord, String> {
        let alive = (0..self.targets.len()).filter(|&target| session.follower(target).is_some()).count();
        if alive >= MAX_TARGETS || self.targets.len() >= MAX_TARGETS_IN_ALL {
            return Err(format!("there are {alive} targets, of at most {MAX_TARGETS}: end one first"));
        }
        let highest = self.targets.iter().map(|target| target.id).max().unwrap_or(0);
        let id = id.or(highest.checked_add(1)).ok_or("there is no higher id: give one")?;
        if self.targets.iter().any(|target| target.id == id) {
            return Err(format!("there is or was a target {id} already"));
        }
        session.add(self.pilot.clone(), start, bbox);
        let target = TargetRecord::new(id, start, bbox);
        self.targets.push(target.clone());
        Ok(target)
    }

    /// The number of a target that has not ended.
    fn find(&self, session: &Session<Pilot>, id: u32) -> Result<usize, String> {
        let place = self.targets.iter().position(|target| target.id == id);
        place.filter(|&at| session.follower(at).is_some()).ok_or_else(|| format!("there is no target {id}"))
    }
}

/// Reads lines until the end or `quit`.
fn read_lines(mut input: impl BufRead, shared: &Shared, quit: &CancelToken) {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut is_long = false;
        // The rest of a line that is too long is skipped.
        while line.len() as u64 == MAX_LINE && line.last() != Some(&b'\n') {
            is_long = true;
            line.clear();
            if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).unwrap_or(0) == 0 {
                break;
            }
        }
        if line.trim_ascii().is_empty() && !is_long {
            continue;
        }
        let command = if is_long { Err(format!("it is longer than {MAX_LINE} bytes")) } else { Command::parse(&line) };
        let mut inbox = lock(shared);
        match command {
            Ok(Command::Quit) => return quit.cancel(),
            Ok(command) => inbox.add(number, command),
            Err(reason) => inbox.refuse(number, &reason),
        }
        while inbox.commands.len() >= MAX_WAITING && !quit.is_cancelled() {
            inbox = shared.1.wait_timeout(inbox, super::run::POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_become_few_commands() {
        let shared = Shared::default();
        let long = format!("{{\"target\":1,\"box\":[{}1,2,3,4]}}\n", " ".repeat(10_000));
        let lines = (0..10_000).map(|n| format!("{{\"target\":{},\"box\":[{n},2,3,4]}}\nnonsense\n", n % 3));
        let text: String = lines.chain([long, "{\"do\":\"end\",\"target\":1}\n".into()]).collect();
        read_lines(text.as_bytes(), &shared, &CancelToken::default());
        let inbox = lock(&shared);
        let last = |target: u32, n: f64| Command::Give { target, position: None, bbox: BBox::new(n, 2.0, 3.0, 4.0) };
        let commands: Vec<_> = inbox.commands.iter().map(|(_, command)| command.clone()).collect();
        assert_eq!(
            commands,
            [last(0, 9999.0), last(1, 9997.0), last(2, 9998.0), Command::End { target: 1, position: None }]
        );
        assert_eq!((inbox.refusals.len(), inbox.more), (MAX_REFUSALS, 10_001 - MAX_REFUSALS as u64));
    }
}
