//! Commands, as JSON: docs/control.md.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::detections::{Detection, MAX_DETECTIONS};
use crate::bbox::BBox;
use crate::tracker::too_small;

/// The version of the commands.
const VERSION: u64 = 1;

/// The highest frame that a command may name: more than a year of video.
const MAX_FRAME: u64 = 1_000_000_000;

/// Maximum targets at a time, for every door: flags, labels, sessions, commands and pages.
pub const MAX_TARGETS: usize = 100;

/// Maximum characters of a name and of a class.
const MAX_NAME: usize = 100;

/// A name or a class as it is kept: without spaces around it, and none if nothing is left.
pub fn word(text: Option<String>) -> Option<String> {
    let text: String = text?.trim().chars().take(MAX_NAME).collect();
    (!text.is_empty()).then_some(text)
}

/// Free attributes of a target, by their names.
pub type Attributes = BTreeMap<String, String>;

/// How far a given box reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The target is learned in the box and tracked from there on.
    #[default]
    FromHere,
    /// The box holds in its own frame only: the path leads on as if it were not there.
    ThisFrame,
    /// The target is tracked from both this box and the next given one.
    BothSides,
    /// The boxes up to the next given box are interpolated linearly.
    Interpolated,
}

/// A command to a run, or to the controller of a page: `{"do": "give", "target": 1, "bbox": [10, 20, 30, 40]}`.
///
/// The box of a page belongs to the frame on which it was drawn, which may not be the current one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Adds a target in this box. The frame of a live source may be one that has not come yet; the target begins when it
    /// comes.
    Add {
        /// Its id; the next one if it is missing.
        #[serde(alias = "target")]
        id: Option<u32>,
        /// The frame; the current one if it is missing.
        position: Option<usize>,
        /// The box, 0-based.
        #[serde(alias = "box")]
        bbox: BBox,
        /// Its name.
        name: Option<String>,
        /// Its class.
        class: Option<String>,
    },
    /// Gives a target a new box.
    Give {
        /// The target.
        #[serde(alias = "id")]
        target: u32,
        /// The frame.
        position: Option<usize>,
        /// The box, 0-based.
        #[serde(alias = "box")]
        bbox: BBox,
        /// The corners of a turned box; `bbox` is then the upright box around the ellipse in them.
        polygon: Option<[f64; 8]>,
        /// How far the box reaches.
        #[serde(default)]
        reach: Reach,
    },
    /// Says that something covers a target from this frame up to its next given box, or that nothing does.
    Occluded {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
        /// Whether the target is covered.
        on: bool,
    },
    /// Corrects the place and the size of a target, without learning anew.
    Adjust {
        /// The target.
        #[serde(alias = "id")]
        target: u32,
        /// The frame of the box; the current one if it is missing.
        frame: Option<usize>,
        /// The box, 0-based.
        #[serde(alias = "box")]
        bbox: BBox,
        /// Standard deviation of its sides, in pixels.
        noise: Option<f64>,
    },
    /// The boxes of a detector.
    Detect {
        /// The frame of the boxes; the current one if it is missing.
        frame: Option<usize>,
        /// All that were found in it.
        boxes: Vec<Detection>,
    },
    /// Ends a target at this frame.
    #[serde(alias = "drop")]
    End {
        /// The target.
        #[serde(alias = "id")]
        target: u32,
        /// The frame.
        position: Option<usize>,
    },
    /// Ends a run.
    Quit,
    /// Takes back the box or the end that was given in this frame.
    TakeBack {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
    },
    /// Removes a target with all its records.
    Remove {
        /// The target.
        target: u32,
    },
    /// Sets the name and the class of a target; without them it has none.
    Name {
        /// The target.
        target: u32,
        /// Its name.
        name: Option<String>,
        /// Its class.
        class: Option<String>,
        /// Its attributes; the former ones if they are missing.
        attributes: Option<Attributes>,
    },
    /// Undoes the last change of a target.
    Undo,
    /// Makes the last undone change again.
    Redo,
    /// Ends this clip and goes on with another one of the folder.
    Clip {
        /// Clips on; negative for back.
        by: isize,
    },
    /// Plays and tracks from the current frame on.
    Play,
    /// Stops at the current frame.
    Pause,
    /// Moves by some frames; tracks on the way forward.
    Step {
        /// Frames; negative for back.
        by: isize,
    },
    /// Shows a frame.
    Seek {
        /// The frame.
        position: usize,
        /// Whether targets are tracked on the way.
        #[serde(default)]
        track: bool,
    },
    /// Sets the speed of playing.
    Speed {
        /// A multiple of the source's rate; null for as fast as possible.
        times: Option<f64>,
    },
}

/// A command, with the word and the tag that its answer repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The command's word; empty where there is none.
    pub word: String,
    /// The caller's own mark.
    pub tag: Value,
    /// The command, or why the text is no command.
    pub command: Result<Command, String>,
}

impl Request {
    /// A text that is no command, for this reason.
    pub fn refused(reason: String) -> Self {
        Self { word: String::new(), tag: Value::Null, command: Err(reason) }
    }

    /// Parses a command; without `do` it gives a box.
    pub fn parse(text: &[u8]) -> Self {
        let wrong = |error: serde_json::Error| format!("this is not a command: {error}");
        let mut fields: serde_json::Map<String, Value> = match serde_json::from_slice(text) {
            Ok(fields) => fields,
            Err(error) => return Self::refused(wrong(error)),
        };
        let tag = fields.remove("tag").unwrap_or_default();
        let word = fields.entry("do").or_insert("give".into()).as_str().unwrap_or_default().to_owned();
        let count = fields.get("boxes").and_then(Value::as_array).map_or(0, Vec::len);
        let far = fields.get("position").filter(|it| it.as_u64().is_some_and(|it| it > MAX_FRAME)).cloned();
        let command = match fields.remove("version").filter(|version| *version != VERSION) {
            Some(version) => {
                Err(format!("commands of version {version} are not known, only those of version {VERSION}"))
            }
            None if count > MAX_DETECTIONS => {
                Err(format!("{count} boxes are more than {MAX_DETECTIONS}, the most of a frame"))
            }
            None => match far {
                Some(position) => Err(format!("no source has a frame {position}: at most {MAX_FRAME}")),
                None => serde_json::from_value(fields.into()).map_err(wrong),
            },
        };
        Self { word, tag, command }
    }
}

impl Command {
    /// Parses a command; without `do` it gives a box.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        Request::parse(text).command
    }

    /// Doubt about the box that the command gives.
    pub fn doubt(&self) -> Option<String> {
        match self {
            Self::Add { bbox, .. } | Self::Give { bbox, .. } => too_small(bbox).map(|said| format!("the box {said}")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parsed_or_refused() {
        let (bbox, position) = (BBox::new(1.0, 2.0, 3.0, 4.0), None);
        let add = |id, class| Command::Add { id, position, bbox, name: None, class };
        let give = |position, reach| Command::Give { target: 1, position, bbox, polygon: None, reach };
        for (text, command) in [
            (r#"{"target":1,"box":[1,2,3,4]}"#, give(None, Reach::FromHere)),
            (r#"{"target":1,"box":[1,2,3,4],"position":3,"reach":"both-sides"}"#, give(Some(3), Reach::BothSides)),
            (r#"{"do":"give","target":1,"bbox":[1,2,3,4],"version":1}"#, give(None, Reach::FromHere)),
            (r#"{"do":"add","bbox":[1,2,3,4]}"#, add(None, None)),
            (r#"{"do":"add","id":7,"bbox":[1,2,3,4]}"#, add(Some(7), None)),
            (r#"{"do":"add","id":7,"box":[1,2,3,4],"class":"person"}"#, add(Some(7), Some("person".into()))),
            (r#"{"do":"drop","target":2}"#, Command::End { target: 2, position }),
            (r#"{"do":"end","target":2}"#, Command::End { target: 2, position }),
            (r#"{"do":"quit"}"#, Command::Quit),
            (r#"{"do":"take-back","target":2,"position":3}"#, Command::TakeBack { target: 2, position: 3 }),
            (r#"{"do":"speed","times":null}"#, Command::Speed { times: None }),
        ] {
            assert_eq!(Command::parse(text.as_bytes()), Ok(command), "{text}");
        }
        for (wrong, reason) in [
            ("", "not a command"),
            ("x", "not a command"),
            ("{}", "missing field `target`"),
            ("[1]", "not a command"),
            (r#"{"do":"dance"}"#, "unknown variant `dance`"),
            (r#"{"target":1}"#, "missing field `bbox`"),
            (r#"{"do":"add"}"#, "missing field `bbox`"),
            (r#"{"do":"end"}"#, "missing field `target`"),
            (r#"{"do":"quit","version":2}"#, "version 2"),
            (r#"{"do":"end","target":1,"position":18446744073709551615}"#, "frame 18446744073709551615"),
            (r#"{"target":-1,"box":[1,2,3,4]}"#, "`-1`"),
            (r#"{"target":1,"box":[1,2,3]}"#, "invalid length"),
            (r#"{"target":1,"box":[1,2,3,4],"color":3}"#, "unknown field `color`"),
        ] {
            let error = Command::parse(wrong.as_bytes()).expect_err(wrong);
            assert!(error.contains(reason), "{wrong}: {error}");
        }
    }
}
