//! What a connection sends to the page.

fn main() {
    afl::fuzz!(|data: &[u8]| {
        let count = kcf_track::fuzzed::requests(data);
        // The shortest one has a line and a host.
        assert!(count <= data.len() / b"GET / HTTP/1.0\r\n\r\n".len());
    });
}
