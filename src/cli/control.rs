//! Commands to a run, as JSON lines: docs/control.md.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde::Serialize;
use serde_json::Value;

use super::Failure;
use crate::bbox::BBox;
use crate::cancel::{CancelToken, spawn};
use crate::export::{Run, TargetRecord};
use crate::media::{Item, is_pipe};
use crate::run::{Command, MAX_TARGETS, Reach, Request, Session, word};
use crate::tracker::{Tracker, check_start};

/// Bytes of the longest line; a longer one is refused.
const MAX_LINE: u64 = 256 << 10;

/// Lines that wait for the next frame; more wait in the pipe.
const MAX_WAITING: usize = 1000;

/// Maximum number of refusals that are printed per frame; the rest are counted.
const MAX_REFUSALS: usize = 5;

/// Refusal of a box that a later box of the same frame replaces.
const SUPERSEDED: &str = "a later box of this frame counts";

/// The number of a line, and what it says.
type Line = (u64, Request);

/// Answer to a line: a row in the stream of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Word of the command; empty for a line that is no command.
    answer: String,
    /// The number of the line.
    line: u64,
    /// The line's own `tag`.
    #[serde(skip_serializing_if = "Value::is_null")]
    tag: Value,
    /// The frame in which the command takes effect.
    index: usize,
    accepted: bool,
    /// The target; for detections one for each box, null for a box that is not used.
    ids: Vec<Option<usize>>,
    /// Why the command is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Doubt about a box that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// Boxes that are refused, by their places from 0, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<(usize, String)>,
}

impl Answer {
    fn new(line: u64, request: &Request, index: usize, done: Result<Vec<Option<usize>>, String>) -> Self {
        let (answer, tag) = (request.word.clone(), request.tag.clone());
        let (accepted, reason) = (done.is_ok(), done.as_ref().err().cloned());
        let warning = request.command.as_ref().ok().filter(|_| accepted).and_then(Command::doubt);
        Self { answer, line, tag, index, accepted, ids: done.unwrap_or_default(), reason, warning, refused: Vec::new() }
    }
}

/// Reader of commands.
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
    let wrong = |error| Failure::of_file("--commands", path, error);
    Ok(Box::new(BufReader::new(file.map_err(wrong)?)))
}

/// Reads commands on a thread of its own and applies them between frames.
#[derive(Debug)]
pub struct Control {
    lines: Receiver<Line>,
    /// A copy follows each new target.
    tracker: Tracker,
    /// Commands that apply once the targets have seen this frame: detections and adjustments.
    later: Vec<Line>,
    /// Answers that were not taken yet.
    answers: Vec<Answer>,
    /// Number of boxes tried in this frame, which is limited because each takes time.
    tries: usize,
}

impl Control {
    /// Starts to read commands. `quit` is cancelled by the command of that name.
    ///
    /// # Errors
    /// [`Error`](crate::Error) of the system if there can be no thread.
    pub fn start(input: Input, tracker: Tracker, quit: CancelToken) -> Result<Self, Failure> {
        let (sender, lines) = sync_channel(MAX_WAITING);
        let read = move || read_lines(input, &sender, &quit);
        spawn("commands", read)?;
        Ok(Self::of(lines, tracker))
    }

    fn of(lines: Receiver<Line>, tracker: Tracker) -> Self {
        Self { lines, tracker, later: Vec::new(), answers: Vec::new(), tries: 0 }
    }

    /// Applies the commands that have come to the frame `item`, which the targets are about to see, and to the
    /// targets of the run.
    pub fn apply(&mut self, session: &mut Session<Tracker>, item: &Item, run: &mut Run) {
        // A box needs pixels: commands wait for a frame that can be read.
        if item.frame.is_err() {
            return;
        }
        let waiting: Vec<Line> = self.lines.try_iter().take(MAX_WAITING).collect();
        let mut boxes: BTreeMap<u32, Vec<(u64, Request, BBox)>> = BTreeMap::new();
        self.tries = 0;
        for (line, request) in waiting {
            let done = match &request.command {
                Ok(Command::Detect { .. } | Command::Adjust { .. }) => {
                    self.later.push((line, request));
                    continue;
                }
                Ok(Command::Give { target, position: None, bbox, polygon: None, reach: Reach::FromHere }) => {
                    match find(session, *target).and_then(|_| check_box(item, *bbox)) {
                        Ok(()) => {
                            boxes.entry(*target).or_default().push((line, request.clone(), *bbox));
                            continue;
                        }
                        Err(reason) => Err(reason),
                    }
                }
                Ok(command) => self.carry_out(session, item, run, command).map(|id| vec![Some(id)]),
                Err(reason) => Err(reason.clone()),
            };
            self.answers.push(Answer::new(line, &request, item.position, done));
        }
        // Of several boxes for a target the last one that can be learned counts.
        for (target, boxes) in boxes {
            let mut given = false;
            for (line, request, bbox) in boxes.into_iter().rev() {
                let done = match given {
                    true => Err(SUPERSEDED.into()),
                    false => find(session, target).and_then(|id| self.learn(session, id, item, bbox)),
                };
                if done.is_ok()
                    && let Some(record) = run.targets.iter_mut().find(|record| record.id == target)
                {
                    record.give(item.position, bbox);
                    given = true;
                }
                self.answers.push(Answer::new(line, &request, item.position, done.map(|id| vec![Some(id)])));
            }
        }
    }

    /// Adds or ends a target; returns its id.
    fn carry_out(
        &mut self,
        session: &mut Session<Tracker>,
        item: &Item,
        run: &mut Run,
        command: &Command,
    ) -> Result<usize, String> {
        match command {
            Command::Add { id, position: None, bbox, name, class } => {
                check_box(item, *bbox)?;
                let alive = session.ids().count();
                if alive >= MAX_TARGETS {
                    return Err(format!("there are {alive} targets, of at most {MAX_TARGETS}: end one first"));
                }
                let id = id.or(u32::try_from(session.next_id()).ok()).ok_or("there is no higher id: give one")?;
                if run.is_used(id) || find(session, id).is_ok() {
                    return Err(match run.forgotten {
                        _ if id == 0 => "ids count from 1".into(),
                        last if id <= last => format!("the ids up to {last} are used up: give a higher one, or none"),
                        _ => format!("there is or was a target {id} already"),
                    });
                }
                self.learn(session, id as usize, item, *bbox)?;
                let record = TargetRecord::new(id, item.position, *bbox);
                run.targets.push(TargetRecord { name: word(name.clone()), class: word(class.clone()), ..record });
                Ok(id as usize)
            }
            Command::End { target, position: None } => {
                let id = find(session, *target)?;
                session.drop_target(id);
                if let Some(record) = run.targets.iter_mut().find(|record| record.id == *target) {
                    record.end(item.position);
                }
                Ok(id)
            }
            Command::Give { position: None, .. } => {
                Err("a run knows no \"polygon\" and no \"reach\": it tracks on from an upright box".into())
            }
            Command::Add { .. } | Command::Give { .. } | Command::End { .. } => {
                Err("a run has no \"position\": its commands hold for the next frame".into())
            }
            _ => Err("this is a command of the page, not of a run".into()),
        }
    }

    /// Learns a target in a box, if there is time; returns its id.
    fn learn(&mut self, session: &mut Session<Tracker>, id: usize, item: &Item, bbox: BBox) -> Result<usize, String> {
        self.tries += 1;
        if self.tries > MAX_TARGETS {
            return Err(format!("{MAX_TARGETS} boxes were tried in this frame: give the box in the next frame"));
        }
        let frame = item.frame.as_ref().map_err(ToString::to_string)?;
        let learned = session.learn(id, self.tracker.clone(), item.position, frame, bbox);
        learned.map(|_| id).map_err(|error| error.to_string())
    }

    /// Applies detections and adjustments, once the targets have seen the frame `item`.
    pub fn apply_later(&mut self, session: &mut Session<Tracker>, item: &Item) {
        for (line, request) in std::mem::take(&mut self.later) {
            let mut refused = Vec::new();
            let done = match &request.command {
                Ok(Command::Detect { frame, boxes }) => {
                    session.detect(frame.unwrap_or(item.position), boxes).map(|detected| {
                        refused = detected.refused;
                        detected.ids
                    })
                }
                Ok(Command::Adjust { target, frame, bbox, noise }) => {
                    let adjusted = session.adjust(*target as usize, *frame, *bbox, *noise);
                    adjusted.map(|_| vec![Some(*target as usize)])
                }
                _ => continue,
            };
            let done = done.map_err(|error| error.to_string());
            self.answers.push(Answer { refused, ..Answer::new(line, &request, item.position, done) });
        }
    }

    /// The answers since the last call.
    pub fn answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.answers)
    }
}

/// Warnings for a person about these answers.
pub fn warnings(answers: &[Answer]) -> Vec<String> {
    let refused = |answer: &Answer| {
        let reason = answer.reason.as_ref().filter(|reason| *reason != SUPERSEDED).or(answer.warning.as_ref())?;
        Some(format!("command {}: {reason}", answer.line))
    };
    let mut all: Vec<_> = answers.iter().filter_map(refused).collect();
    let more = all.len().saturating_sub(MAX_REFUSALS);
    all.truncate(MAX_REFUSALS);
    all.extend((more > 0).then(|| format!("{more} more commands were refused")));
    all
}

/// Whether a target can be in this box of a frame.
fn check_box(item: &Item, bbox: BBox) -> Result<(), String> {
    let frame = item.frame.as_ref().map_err(ToString::to_string)?;
    check_start(frame.as_frame().size(), bbox).map_err(|error| error.to_string())
}

/// The id of a target that has not ended.
fn find(session: &Session<Tracker>, id: u32) -> Result<usize, String> {
    let known = session.ids().find(|known| *known == id as usize);
    known.ok_or_else(|| format!("there is no target {id}"))
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
        let request = if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
            drop(input.skip_until(b'\n'));
            Request::refused(format!("it is longer than {MAX_LINE} bytes"))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            Request::parse(&line)
        };
        if request.command == Ok(Command::Quit) {
            return quit.cancel();
        }
        if lines.send((number, request)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::SourceRecord;
    use crate::frame::{FrameBuf, PixelFormat};
    use crate::media::{Info, Span};
    use crate::tracker::Params;

    /// Refusals of these commands, before a frame that is uniform on the right.
    fn refused(session: &mut Session<Tracker>, run: &mut Run, commands: &[String]) -> Vec<String> {
        let pixels = (0..160 * 80).map(|i| if i % 160 < 80 { (i * 7919 % 251) as u8 } else { 128 }).collect();
        let frame = FrameBuf::new(pixels, 160, 80, PixelFormat::Gray8).unwrap();
        let item = Item::numbered(1, None, Ok((frame, None)), 0.0);
        let (sender, lines) = sync_channel(MAX_WAITING);
        for (number, command) in (1..).zip(commands) {
            sender.send((number, Request::parse(command.as_bytes()))).unwrap();
        }
        let mut control = Control::of(lines, Tracker::new(Params::preset("paper").unwrap()).unwrap());
        control.apply(session, &item, run);
        session.feed(1, item.frame.as_ref().unwrap()).unwrap();
        control.apply_later(session, &item);
        warnings(&control.answers())
    }

    #[test]
    fn a_command_that_cannot_be_carried_out_leaves_the_others() {
        let source = SourceRecord::new("clip".into(), &Info::default(), Span::default());
        let (mut session, mut run) = (Session::default(), Run::new(source, Value::Null, Vec::new(), true));
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
        let told = refused(&mut session, &mut run, &commands).join("\n");
        for (line, reason) in [(2, "a target 7 already"), (4, "uniform"), (8, "uniform"), (9, "no target 9")] {
            assert!(
                told.lines().any(|told| told.starts_with(&format!("command {line}: ")) && told.contains(reason)),
                "{told}"
            );
        }
        assert_eq!(told.lines().count(), 4);
        let boxes = |target: &TargetRecord| (target.id, target.boxes().next().unwrap().1.x);
        assert_eq!(run.targets.iter().map(boxes).collect::<Vec<_>>(), [(7, 40.0), (8, 50.0)]);
        let tiny = refused(&mut session, &mut run, &[r#"{"do":"add","bbox":[30,30,1,1]}"#.into()]);
        assert!(tiny.len() == 1 && tiny[0].starts_with("command 1: the box is 1x1 pixels"), "{tiny:?}");
        assert_eq!(run.targets.len(), 3, "it is followed all the same");
        run.forgotten = 50;
        let told = refused(&mut session, &mut run, &[add(",\"id\":30", 20)]);
        assert!(told.len() == 1 && told[0].contains("the ids up to 50 are used up"), "no id returns: {told:?}");
        run.forgotten = 0;
        let more: Vec<_> = (0..MAX_TARGETS).map(|_| add("", 20)).collect();
        let told = refused(&mut session, &mut run, &more);
        assert!(told.len() == 3 && told[0].contains("100 targets"), "{told:?}");
        // Trying a box takes time.
        let wrong: Vec<_> = (0..200).map(|_| give(7, 130)).collect();
        let told = refused(&mut session, &mut run, &wrong).join("\n");
        assert!(told.contains("command 200: ") && told.contains("195 more"), "{told}");
    }

    #[test]
    fn lines_are_commands_or_refused() {
        let long = format!("{{\"target\":1,\"box\":[{}1,2,3,4]}}\n", " ".repeat(MAX_LINE as usize));
        let text = format!("\nnonsense\n{long}{{\"do\":\"end\",\"target\":1}}\n{{\"do\":\"quit\"}}\nlate\n");
        let (sender, lines) = sync_channel(9);
        let quit = CancelToken::default();
        read_lines(text.as_bytes(), &sender, &quit);
        let mut lines: Vec<_> = lines.try_iter().collect();
        assert_eq!(lines.remove(1), (3, Request::refused("it is longer than 262144 bytes".into())));
        let end = Command::End { target: 1, position: None };
        assert_eq!(lines.remove(1).1.command, Ok(end));
        assert!(lines[0].0 == 2 && lines[0].1.command.is_err());
        assert!(quit.is_cancelled());
    }
}
