//! One run as a person asks for it, in words: what is followed, in which frames, into which files, and what is said of
//! it. The command line is made of this, and so is `python -m kcf_track`; nothing here prints.

mod aside;
mod box_text;
mod failure;
mod frames;
mod opening;
mod outputs;
mod plan;
mod position;
mod targets;
mod words;

pub use aside::aside;
pub use box_text::{BoxFormat, Given, joined};
pub use failure::Failure;
pub use frames::Frames;
pub use opening::{MOST_THREADS, Opening, seconds, start_threads};
pub use outputs::{Drawing, Form, Opened, Outputs};
pub use plan::{Done, Plan, Watcher, no_frame};
pub use position::{Position, expected, span};
pub use targets::Targets;
pub use words::{NEXT, last_words, left_out, oddities};
