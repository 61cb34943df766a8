//! A line of commands.

fn main() {
    afl::fuzz!(|data: &[u8]| kcf_track::fuzzed::command(data));
}
