//! The server: a message in, its answer out, until the client quits.

use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind, Write};

use super::lines::{Lines, Next};
use super::message::{Kind, Message};
use super::picture::Picture;
use super::region::{Form, Region};
use super::version::Version;
use crate::error::{Error, Result};
use crate::export::rounded;
use crate::frame::Channels;
use crate::run::{Cause, Halt, Outcome, Session};
use crate::tracker::{Params, State, Tracker};

/// Most objects at a time.
pub const MAX_OBJECTS: usize = 1024;

/// Decimals of a confidence, as in all results.
const CONFIDENCE_DIGITS: i32 = 4;

/// Follows what a client asks for, by trackers with the settings `params`: says `hello`, answers each image with the
/// state of each object, until the client quits or closes its end. Nothing else is written to `output`, and each
/// answer is flushed.
///
/// A state has the properties `confidence`, from 0 to 1 where the tracker is calibrated (and else the peak-to-sidelobe
/// ratio, which orders frames as well), and `state` ([`State`]). The region has the form in which the object was given;
/// of a mask the box is followed, and answered, or its four corners once it has turned.
///
/// # Errors
/// [`Error::Parameter`] for settings that are out of range, before anything is written. [`Error::Trax`], which the
/// client has been told by a `quit` with the reason: a message that is none or comes at the wrong time, an image that
/// cannot be read, an object that cannot be followed. [`Error::Io`] when reading or writing fails otherwise than by a
/// client that went away.
pub fn serve(mut input: impl BufRead, mut output: impl Write, params: &Params, version: Version) -> Result<()> {
    params.check()?;
    // By reference, so that the server is compiled once whatever it reads and writes.
    let (input, output): (&mut dyn BufRead, &mut dyn Write) = (&mut input, &mut output);
    let mut server = Server { output, params, version, channels: params.channels(), objects: Objects::none() };
    let ended = server.run(input);
    match ended {
        Err(Stop::Io(error)) if is_gone(&error) => Ok(()),
        Err(Stop::Io(error)) => Err(Error::io("the client of TraX", error)),
        Err(Stop::Refused { message, reason }) => {
            // The client may have gone; then there is nobody to tell.
            let _ = server.say(&[Message::new(Kind::Quit).set("trax.reason", &reason)]);
            Err(Error::Trax { message, reason })
        }
        Ok(()) => Ok(()),
    }
}

/// Whether the other end was closed.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

/// Why the server ends before the client wants it to.
enum Stop {
    Io(io::Error),
    Refused { message: usize, reason: String },
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

struct Server<'p> {
    output: &'p mut dyn Write,
    params: &'p Params,
    version: Version,
    channels: Channels,
    objects: Objects,
}

/// What is followed, and how each was given.
struct Objects {
    session: Session<Tracker>,
    forms: Vec<Form>,
    /// How many images there were since the last beginning.
    images: usize,
}

impl Objects {
    fn none() -> Self {
        let mut session = Session::default();
        session.parallel(true);
        Self { session, forms: Vec::new(), images: 0 }
    }
}

/// What a message brings about.
enum Answer {
    /// Nothing is said yet.
    Wait,
    States(Vec<Message<'static>>),
    End,
}

impl Server<'_> {
    fn run(&mut self, input: &mut dyn BufRead) -> std::result::Result<(), Stop> {
        self.say(&[self.hello()])?;
        let mut lines = Lines::new(input);
        for count in 1.. {
            let answer = match lines.next()? {
                Next::Message(line) => Message::parse(line).and_then(|message| self.answer(message)),
                Next::End => return Ok(()),
                Next::Cut => Err("the stream ends in the middle of a message".into()),
                Next::TooLong => Err(format!("the line is longer than {} bytes", super::MAX_LINE)),
            };
            match answer.map_err(|reason| Stop::Refused { message: count, reason })? {
                Answer::Wait => {}
                Answer::States(states) => self.say(&states)?,
                Answer::End => return Ok(()),
            }
        }
        Ok(())
    }

    /// Writes whole messages at once.
    fn say(&mut self, messages: &[Message<'_>]) -> io::Result<()> {
        let lines: Vec<u8> = messages.iter().flat_map(Message::to_line).collect();
        self.output.write_all(&lines)?;
        self.output.flush()
    }

    fn hello(&self) -> Message<'static> {
        let regions = if self.version.has_masks() { "rectangle;polygon;mask;" } else { "rectangle;polygon;" };
        let mut hello = Message::new(Kind::Hello)
            .set("trax.version", self.version.number())
            .set("trax.name", env!("CARGO_PKG_NAME"))
            .set("trax.identifier", concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")))
            .set("trax.description", env!("CARGO_PKG_DESCRIPTION"))
            .set("trax.family", "correlation filter")
            .set("trax.image", "path;memory;buffer;")
            .set("trax.region", regions);
        if self.version.names_channels() {
            hello = hello.set("trax.channels", "color;");
        }
        if self.version.has_many_objects() {
            hello = hello.set("trax.multiobject", 1);
        }
        hello
    }

    fn answer(&mut self, message: Message<'_>) -> std::result::Result<Answer, String> {
        let count = message.arguments.len();
        let mut arguments = message.arguments.into_iter();
        match (message.kind, arguments.next(), arguments.next()) {
            (Kind::Quit, None, _) => Ok(Answer::End),
            // The one message that begins anew and says nothing else.
            (Kind::Initialize, None, _) if self.version.has_many_objects() => {
                self.objects = Objects::none();
                Ok(Answer::Wait)
            }
            (Kind::Initialize, Some(region), None) if self.version.has_many_objects() => {
                self.add(&region)?;
                Ok(Answer::Wait)
            }
            (Kind::Initialize, Some(image), Some(region)) if count == 2 && !self.version.has_many_objects() => {
                self.objects = Objects::none();
                self.add(&region)?;
                self.look(image)
            }
            (Kind::Frame, Some(image), None) if self.objects.forms.is_empty() => {
                let _ = image;
                Err("`frame` comes before any object: `initialize` has to come first".into())
            }
            (Kind::Frame, Some(image), None) => self.look(image),
            (Kind::Hello | Kind::State, ..) => Err(format!("`{}` is the server's to say", message.kind)),
            (kind, ..) => {
                let expected = match kind {
                    Kind::Quit => "none",
                    Kind::Frame => "an image",
                    _ if self.version.has_many_objects() => "a region, or none to begin anew",
                    _ => "an image and a region",
                };
                let version = self.version.number();
                Err(format!("`{kind}` has {count} arguments, and in version {version} it has {expected}"))
            }
        }
    }

    /// Takes an object that begins in the next image.
    fn add(&mut self, region: &[u8]) -> std::result::Result<(), String> {
        let Region { form, bbox } = Region::parse(region)?;
        if form == Form::Mask && !self.version.has_masks() {
            return Err(format!("masks are regions of version 3, and this is {}", self.version.number()));
        }
        if self.objects.forms.len() == MAX_OBJECTS {
            return Err(format!("there are more than {MAX_OBJECTS} objects"));
        }
        let tracker = Tracker::new(self.params.clone()).map_err(|error| error.to_string())?;
        self.objects.session.add(tracker, self.objects.images + 1, bbox);
        self.objects.forms.push(form);
        Ok(())
    }

    /// Follows all objects into an image.
    fn look(&mut self, image: Cow<'_, [u8]>) -> std::result::Result<Answer, String> {
        let Objects { session, forms, images } = &mut self.objects;
        *images += 1;
        let picture = Picture::parse(image).map_err(|reason| format!("frame {images}: {reason}"))?;
        let path = if let Picture::File(path) = &picture { Some(path.clone()) } else { None };
        let halt = |cause| Halt { position: *images, path: path.clone(), cause }.to_string();
        let frame = picture.load(self.channels).map_err(|error| halt(Cause::Frame(error)))?;
        let outcomes = session.feed(*images, &frame).map_err(|cause| match cause {
            Cause::Target { target, .. } => format!("object {}: {}", target + 1, halt(cause)),
            cause => halt(cause),
        })?;
        Ok(Answer::States(
            outcomes.iter().filter_map(|outcome| Some(state(*forms.get(outcome.target)?, outcome))).collect(),
        ))
    }
}

/// What is said of an object.
fn state(form: Form, outcome: &Outcome) -> Message<'static> {
    let estimate = outcome.estimate.as_ref();
    let state = estimate.map_or(State::Missing, |estimate| estimate.state);
    // The box that was given is the object's.
    let confidence = match estimate {
        Some(estimate) if state != State::Initial => estimate.evidence.confidence.unwrap_or(estimate.evidence.psr),
        _ => 1.0,
    };
    let corners = estimate.and_then(|estimate| estimate.polygon);
    Message::new(Kind::State)
        .with(form.write(outcome.bbox, corners))
        .set("confidence", rounded(f64::from(confidence), CONFIDENCE_DIGITS))
        .set("state", state)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::geometry::BBox;
    use crate::tracker::{Estimate, Evidence};

    #[test]
    fn a_state_says_how_sure_it_is_and_how_the_target_has_turned() {
        let corners = [5.0, 1.0, 9.0, 4.0, 6.0, 8.0, 2.0, 5.0];
        let line = |form, state, confidence| {
            let evidence = Evidence { psr: 7.5, confidence, ..Evidence::default() };
            let estimate = Estimate { bbox: BBox::new(9.0, 9.0, 9.0, 9.0), polygon: Some(corners), state, evidence };
            let bbox = BBox::new(1.0, 2.0, 3.00004, 4.00006);
            let outcome = Outcome { target: 0, bbox, estimate: Some(estimate), took: Duration::ZERO };
            String::from_utf8(super::state(form, &outcome).to_line()).unwrap()
        };
        assert_eq!(
            line(Form::Rectangle, State::Lost, Some(0.25)),
            "@@TRAX:state \"1,2,3,4.0001\" \"confidence=0.25\" \"state=lost\"\n"
        );
        let turned = "@@TRAX:state \"5,1,9,4,6,8,2,5\" \"confidence=7.5\" \"state=tracking\"\n";
        assert_eq!(line(Form::Polygon, State::Tracking, None), turned);
        assert_eq!(line(Form::Mask, State::Tracking, None), turned);
        assert!(line(Form::Rectangle, State::Initial, Some(0.25)).contains("confidence=1\""));
    }
}
