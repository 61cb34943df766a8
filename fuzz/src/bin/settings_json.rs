//! Settings in JSON, as results and evaluations hold them.

use kcf_track::Params;

fn main() {
    afl::fuzz!(|data: &[u8]| {
        let Ok(params) = serde_json::from_slice::<Params>(data) else { return };
        if params.check().is_err() {
            return;
        }
        let text = serde_json::to_string(&params).expect("settings that were read");
        assert_eq!(serde_json::from_str::<Params>(&text).expect("what was written"), params);
    });
}
