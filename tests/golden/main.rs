//! Boxes, states and scores that do not change: on the demo and on rendered scenes, and on the published sequences where they
//! are.

#[path = "../support/golden.rs"]
mod golden;
#[path = "../support/otb.rs"]
mod otb;
#[path = "../support/scene.rs"]
mod scene;

mod eval_anchors;
mod otb_detectors;
mod otb_golden;
mod otb_parity;
mod otb_sequences;
mod scenes;
mod states;
