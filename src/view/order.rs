//! What a page asks for.

use std::fmt;

use serde::Deserialize;

use crate::bbox::BBox;

/// One wish, as JSON: `{"do": "give", "target": 1, "position": 20, "bbox": [10, 20, 30, 40]}`.
///
/// A box belongs to the frame that the person saw when it was drawn, which need not be the one at hand.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// A new target, in this box of this frame. Where frames come once, one that has not come yet may be meant: the
    /// target begins when it comes.
    Add {
        /// Its number, where it is not to be the next one.
        #[serde(default)]
        id: Option<u32>,
        /// The frame.
        position: usize,
        /// The box, 0-based.
        bbox: BBox,
    },
    /// A new box for a target.
    Give {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
        /// The box, 0-based.
        bbox: BBox,
    },
    /// The target is gone from this frame on.
    End {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
    },
    /// The box that was given in this frame, or the end that was put there, is taken back.
    TakeBack {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
    },
    /// The target and all that was found of it is forgotten.
    Remove {
        /// The target.
        target: u32,
    },
    /// On from the frame at hand, tracking.
    Play,
    /// No further.
    Pause,
    /// So many frames on, tracking, or back.
    Step {
        /// How many; back below zero.
        by: i64,
    },
    /// To a frame, without tracking.
    Seek {
        /// The frame.
        position: usize,
    },
    /// How fast to play.
    Speed {
        /// As a multiple of the source's rate; null for as fast as it goes.
        times: Option<f64>,
    },
    /// The first box that somebody was asked for: the page is done.
    Pick {
        /// The box, 0-based.
        bbox: BBox,
    },
}

/// Why an order was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot be done: a sentence that says why not.
    No(String),
    /// The frame that it is about is still on its way: asked for again, it goes on from there.
    NotYet {
        /// The frame.
        position: usize,
    },
    /// Tracking has ended: why, [`View::close`](super::View::close) says.
    Ended,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::No(said) => f.write_str(said),
            Self::NotYet { position } => write!(f, "frame {position} has not come yet: try again"),
            Self::Ended => f.write_str("tracking has ended: start the program again"),
        }
    }
}

impl<S: Into<String>> From<S> for Refusal {
    fn from(said: S) -> Self {
        Self::No(said.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_nonsense_is_not() {
        let read = |text: &str| serde_json::from_str::<Order>(text);
        let bbox = BBox::new(1.0, 2.0, 3.0, 4.0);
        assert_eq!(
            read(r#"{"do":"give","target":2,"position":7,"bbox":[1,2,3,4]}"#).unwrap(),
            Order::Give { target: 2, position: 7, bbox }
        );
        assert_eq!(read(r#"{"do":"speed","times":null}"#).unwrap(), Order::Speed { times: None });
        assert_eq!(
            read(r#"{"do":"take-back","target":1,"position":3}"#).unwrap(),
            Order::TakeBack { target: 1, position: 3 }
        );
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"do":"dance"}"#,
            r#"{"do":"seek"}"#,
            r#"{"do":"seek","position":-1}"#,
            r#"{"do":"seek","position":1,"more":2}"#,
            r#"{"do":"add","position":1,"bbox":[1,2,3]}"#,
            r#"{"do":"add","position":1,"bbox":[1,2,3,1e999]}"#,
            r#"{"do":"add","position":1,"bbox":[1,2,3,null]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
