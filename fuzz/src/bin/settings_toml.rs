//! A file of settings, as `--config` reads it.

/// The program's own reader. The rest of the command line is not needed for it.
#[allow(dead_code, reason = "files are read from memory here, and nobody prints a failure")]
#[path = "../../../src/cli"]
mod cli {
    pub mod config;

    /// Why the program would end.
    #[derive(Debug)]
    pub struct Failure(pub String);

    impl Failure {
        pub fn usage(message: impl std::fmt::Display) -> Self {
            Self(message.to_string())
        }
    }
}

use std::path::Path;

use cli::config::{Config, write};
use kcf_track::Params;

fn main() {
    afl::fuzz!(|data: &[u8]| {
        let Ok(text) = std::str::from_utf8(data) else { return };
        let file = Path::new("settings.toml");
        let Ok(config) = Config::parse(text, file) else { return };
        let preset = config.preset.clone().unwrap_or(Params::DEFAULT_PRESET.into());
        let mut params = Params::preset(&preset).expect("a preset that was checked");
        if config.apply(&mut params).is_err() || params.check().is_err() {
            return;
        }
        // What the program would print stands for the same settings.
        let printed = write(&preset, &params);
        let again = Config::parse(&printed, file).expect("what was printed");
        let mut same = Params::preset(&preset).expect("a preset");
        again.apply(&mut same).expect("what was printed");
        assert_eq!(same, params, "{printed}");
    });
}
