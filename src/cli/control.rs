//! Commands to a run, as JSON lines: docs/control.md.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Failure;
use crate::bbox::BBox;
use crate::cancel::{CancelToken, spawn};
use crate::export::TargetRecord;
use crate::frame::Frame;
use crate::media::{Item, is_pipe};
use crate::run::{Command, Follower, MAX_TARGETS, Pilot, Reach, Session, word};
use crate::tracker::check_start;

/// Bytes of the longest line; a longer one is refused.
const MAX_LINE: u64 = 4096;

/// Lines that wait for the next frame; more wait in the pipe.
const MAX_WAITING: usize = 10_000;

/// Maximum number of refusals that are printed per frame; the rest are counted.
const MAX_REFUSALS: usize = 5;

/// The number of a line, and its command or why it is refused.
type Line = (u64, Result<Command, String>);

/// Where commands come from.
pub type Input = Box<dyn BufRead + Send>;

/// Opens `path`, or the standard input for `-`.
///
/// # Errors
/// Wrong usage for a missing file.
pub fn open(path: &Path) -> Result<Input, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    // Without a writer of its own, a pipe would end with its first one.
    let file = OpenOptions::new().read(true).write(is_pipe(path)).open(path);
    let wrong = |error| Failure::usage(format!("--commands {}: {error}", path.display()));
    Ok(Box::new(BufReader::new(file.map_err(wrong)?)))
}

/// Reads commands on a thread of its own and applies them between frames.
#[derive(Debug)]
pub struct Control {
    lines: Receiver<Line>,
    /// What follows a new target.
    pilot: Pilot,
    /// What was refused since it was told, and how much more.
    refusals: Vec<String>,
    more: u64,
    /// Boxes that were tried in this frame, which takes time.
    tries: usize,
}

impl Control {
    /// Starts to read commands. `quit` is cancelled by the command of that name.
    ///
    /// # Errors
    /// [`Error`](crate::Error) of the system if there can be no thread.
    pub fn start(input: Input, pilot: Pilot, quit: CancelToken) -> Result<Self, Failure> {
        let (sender, lines) = sync_channel(MAX_WAITING);
        let read = move || read_lines(input, &sender, &quit);
        spawn("commands", read)?;
        Ok(Self { lines, pilot, refusals: Vec::new(), more: 0, tries: 0 })
    }

    /// Applies the commands that have come to the frame `item`, which the targets are about to see. `targets` are all
    /// targets of the session, in its order.
    pub fn apply(&mut self, session: &mut Session<Pilot>, item: &Item, targets: &mut Vec<TargetRecord>) {
        // A box needs pixels: commands wait for a frame that can be read.
        let Ok(frame) = &item.frame else { return };
        let size = frame.as_frame().size();
        let waiting: Vec<Line> = self.lines.try_iter().take(MAX_WAITING).collect();
        let mut boxes: BTreeMap<u32, Vec<(u64, BBox)>> = BTreeMap::new();
        self.tries = 0;
        for (number, command) in waiting {
            let done = command.and_then(|command| {
                let checked = command.bbox().map_or(Ok(()), |bbox| check_start(size, bbox));
                checked.map_err(|error| error.to_string()).and(Ok(command))
            });
            let done = done.and_then(|command| match command {
                Command::Add { id, position: None, bbox, name, class } => {
                    self.add(session, targets, id, item.position, &frame.as_frame(), bbox)?;
                    if let Some(added) = targets.last_mut() {
                        (added.name, added.class) = (word(name), word(class));
                    }
                    Ok(())
                }
                Command::Give { target, position: None, bbox, polygon: None, reach: Reach::FromHere } => {
                    find(session, targets, target).map(|_| {
                        boxes.entry(target).or_default().push((number, bbox));
                    })
                }
                Command::End { target, position: None } => find(session, targets, target).map(|at| {
                    session.drop_target(at);
                    targets[at].end(item.position);
                }),
                Command::Give { position: None, .. } => {
                    Err("a run knows no \"polygon\" and no \"reach\": it tracks on from an upright box".into())
                }
                Command::Add { .. } | Command::Give { .. } | Command::End { .. } => {
                    Err("a run has no \"position\": its commands hold for the next frame".into())
                }
                _ => Err("this is a command of the page, not of a run".into()),
            });
            self.refuse(number, done.err());
        }
        // Of several boxes for a target the last one that can be learned counts.
        for (target, boxes) in boxes {
            let Ok(at) = find(session, targets, target) else { continue };
            for (number, bbox) in boxes.into_iter().rev() {
                if let Err(reason) = self.try_box(&frame.as_frame(), bbox) {
                    self.refuse(number, Some(reason));
                    continue;
                }
                session.give(at, item.position, Some(bbox));
                targets[at].give(item.position, bbox);
                break;
            }
        }
    }

    /// Whether a target can be learned in this box: one that the session cannot learn would end the run.
    fn try_box(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<(), String> {
        self.tries += 1;
        if self.tries > MAX_TARGETS {
            return Err(format!("{MAX_TARGETS} boxes were tried in this frame: give it to the next one"));
        }
        self.pilot.clone().init(frame, bbox).map(drop).map_err(|error| error.to_string())
    }

    fn refuse(&mut self, number: u64, reason: Option<String>) {
        match reason {
            Some(reason) if self.refusals.len() < MAX_REFUSALS => {
                self.refusals.push(format!("command {number}: {reason}"));
            }
            Some(_) => self.more += 1,
            None => {}
        }
    }

    /// Refusals since the last call.
    pub fn refusals(&mut self) -> Vec<String> {
        let mut refusals = std::mem::take(&mut self.refusals);
        if self.more > 0 {
            refusals.push(format!("{} more commands were refused", std::mem::take(&mut self.more)));
        }
        refusals
    }

    fn add(
        &mut self,
        session: &mut Session<Pilot>,
        targets: &mut Vec<TargetRecord>,
        id: Option<u32>,
        start: usize,
        frame: &Frame<'_>,
        bbox: BBox,
    ) -> Result<(), String> {
        let alive = (0..targets.len()).filter(|&target| session.follower(target).is_some()).count();
        if alive >= MAX_TARGETS {
            return Err(format!("there are {alive} targets, of at most {MAX_TARGETS}: end one first"));
        }
        let highest = targets.iter().map(|target| target.id).max().unwrap_or(0);
        let id = id.or(highest.checked_add(1)).ok_or("there is no higher id: give one")?;
        if targets.iter().any(|target| target.id == id) {
            return Err(format!("there is or was a target {id} already"));
        }
        self.try_box(frame, bbox)?;
        session.add(self.pilot.clone(), start, bbox);
        targets.push(TargetRecord::new(id, start, bbox));
        Ok(())
    }
}

/// The number of a target that has not ended.
fn find(session: &Session<Pilot>, targets: &[TargetRecord], id: u32) -> Result<usize, String> {
    let place = targets.iter().position(|target| target.id == id);
    place.filter(|&at| session.follower(at).is_some()).ok_or_else(|| format!("there is no target {id}"))
}

/// Reads lines until the end, `quit`, or the end of the run.
fn read_lines(mut input: impl BufRead, lines: &SyncSender<Line>, quit: &CancelToken) {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let command = if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
            drop(input.skip_until(b'\n'));
            Err(format!("it is longer than {MAX_LINE} bytes"))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            Command::parse(&line)
        };
        if command == Ok(Command::Quit) {
            return quit.cancel();
        }
        if lines.send((number, command)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameBuf, PixelFormat};
    use crate::tracker::{Params, Tracker};

    /// What is refused of these commands, before a frame that is uniform on the right.
    fn refused(session: &mut Session<Pilot>, targets: &mut Vec<TargetRecord>, commands: &[String]) -> Vec<String> {
        let pixels = (0..160 * 80).map(|i| if i % 160 < 80 { (i * 7919 % 251) as u8 } else { 128 }).collect();
        let frame = FrameBuf::new(pixels, 160, 80, PixelFormat::Gray8).unwrap();
        let item = Item::numbered(1, None, Ok((frame, None)), 0.0);
        let (sender, lines) = sync_channel(MAX_WAITING);
        for (number, command) in (1..).zip(commands) {
            sender.send((number, Command::parse(command.as_bytes()))).unwrap();
        }
        let pilot = Pilot::Live(Tracker::new(Params::preset("paper").unwrap()).unwrap(), None);
        let mut control = Control { lines, pilot, refusals: Vec::new(), more: 0, tries: 0 };
        control.apply(session, &item, targets);
        session.feed(1, item.frame.as_ref().unwrap()).unwrap();
        control.refusals()
    }

    #[test]
    fn a_command_that_cannot_be_carried_out_leaves_the_others() {
        let (mut session, mut targets) = (Session::default(), Vec::new());
        let add = |id: &str, x: usize| format!("{{\"do\":\"add\"{id},\"bbox\":[{x},20,16,16]}}");
        let give = |id: usize, x: usize| format!("{{\"target\":{id},\"box\":[{x},20,16,16]}}");
        let commands = [
            add(",\"id\":7", 20),
            add(",\"id\":7", 20),
            add("", 30),
            add("", 130),
            give(7, 130),
            give(7, 40),
            give(8, 50),
            give(8, 130),
            r#"{"do":"end","target":9}"#.into(),
        ];
        let told = refused(&mut session, &mut targets, &commands).join("\n");
        for (line, reason) in [(2, "a target 7 already"), (4, "uniform"), (8, "uniform"), (9, "no target 9")] {
            assert!(
                told.lines().any(|told| told.starts_with(&format!("command {line}: ")) && told.contains(reason)),
                "{told}"
            );
        }
        assert_eq!(told.lines().count(), 4);
        let boxes = |target: &TargetRecord| (target.id, target.boxes().next().unwrap().1.x);
        assert_eq!(targets.iter().map(boxes).collect::<Vec<_>>(), [(7, 40.0), (8, 50.0)]);
        let more: Vec<_> = (0..MAX_TARGETS).map(|_| add("", 20)).collect();
        let told = refused(&mut session, &mut targets, &more);
        assert!(told.len() == 2 && told[0].contains("100 targets"), "{told:?}");
        // Trying a box takes time.
        let wrong: Vec<_> = (0..200).map(|_| give(7, 130)).collect();
        let told = refused(&mut session, &mut targets, &wrong).join("\n");
        assert!(told.contains("command 200: ") && told.contains("195 more"), "{told}");
    }

    #[test]
    fn lines_are_commands_or_refused() {
        let long = format!("{{\"target\":1,\"box\":[{}1,2,3,4]}}\n", " ".repeat(10_000));
        let text = format!("\nnonsense\n{long}{{\"do\":\"end\",\"target\":1}}\n{{\"do\":\"quit\"}}\nlate\n");
        let (sender, lines) = sync_channel(9);
        let quit = CancelToken::default();
        read_lines(text.as_bytes(), &sender, &quit);
        let mut lines: Vec<_> = lines.try_iter().collect();
        assert_eq!(lines.remove(1), (3, Err("it is longer than 4096 bytes".into())));
        let end = Command::End { target: 1, position: None };
        assert_eq!(lines.remove(1), (4, Ok(end)));
        assert!(lines[0].0 == 2 && lines[0].1.is_err());
        assert!(quit.is_cancelled());
    }
}
