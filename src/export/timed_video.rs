//! Raw pictures with the time that each is shown at, as ffmpeg reads them from a pipe: Matroska (RFC 9559) with one
//! uncompressed track and a cluster a picture.

/// Nanoseconds of a tick: times are in microseconds.
const TICK: u64 = 1000;

/// The shortest time that a picture is said to be shown, in seconds: mp4 counts the length of a video in such steps,
/// and would leave out a last picture that is shorter.
const SHORTEST_GAP: f64 = 1e-3;

/// What all pictures of a video are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pictures {
    pub width: u32,
    pub height: u32,
    /// Width to height of a pixel as it is shown.
    pub pixel_aspect: (u32, u32),
}

/// What stands before the first picture, in RGB; one comes about every `gap` seconds, which is how long the last one is
/// shown.
pub(super) fn head(pictures: Pictures, gap: f64) -> Vec<u8> {
    let Pictures { width, height, pixel_aspect: (wide, high) } = pictures;
    let video = [
        number(0xB0, width.into()),
        number(0xBA, height.into()),
        number(0x54B0, u64::from(width) * u64::from(wide)),
        number(0x54BA, u64::from(height) * u64::from(high)),
        element(0x2E_B524, b"RGB\x18"),
    ]
    .concat();
    let track = [
        number(0xD7, 1),
        number(0x73_C5, 1),
        number(0x83, 1),
        number(0x23_E383, (1e9 * gap.max(SHORTEST_GAP)) as u64),
        element(0x86, b"V_UNCOMPRESSED"),
        element(0xE0, &video),
    ];
    [
        element(0x1A45_DFA3, &element(0x4282, b"matroska")),
        // A segment that goes on until the pipe ends.
        [&id(0x1853_8067)[..], &[0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]].concat(),
        element(0x1549_A966, &number(0x2A_D7B1, TICK)),
        element(0x1654_AE6B, &element(0xAE, &track.concat())),
    ]
    .concat()
}

/// What stands before a picture of so many bytes that is shown `at` so many seconds.
pub(super) fn before_picture(at: f64, bytes: usize) -> Vec<u8> {
    let time = number(0xE7, (at * 1e6).round() as u64);
    // The track, no time behind that of the cluster, and that it needs no other picture.
    let block = [0x81, 0, 0, 0x80];
    let length = block.len() + bytes;
    let head = [&id(0xA3)[..], &size(length), &block].concat();
    [&id(0x1F43_B675)[..], &size(time.len() + head.len() - block.len() + length), &time, &head].concat()
}

fn element(name: u32, contents: &[u8]) -> Vec<u8> {
    [&id(name)[..], &size(contents.len()), contents].concat()
}

fn number(name: u32, value: u64) -> Vec<u8> {
    element(name, &value.to_be_bytes())
}

/// An element's name, which says itself how many bytes it has.
fn id(name: u32) -> Vec<u8> {
    name.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).collect()
}

/// A size in eight bytes, of which the first says that.
fn size(bytes: usize) -> [u8; 8] {
    (bytes as u64 | 1 << 56).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_are_those_of_the_standard() {
        assert_eq!((id(0xA3), id(0x4282)), (vec![0xA3], vec![0x42, 0x82]));
        assert_eq!(size(300), [1, 0, 0, 0, 0, 0, 1, 44]);
        assert_eq!(number(0xE7, 5), [0xE7, 1, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 5]);
        let cluster = before_picture(0.25, 12);
        // 4 + 8 of the cluster, 17 of its time, 1 + 8 of the block, 4 of that before the picture.
        assert_eq!(cluster.len(), 42);
        assert_eq!(cluster[4..12], size(17 + 9 + 4 + 12));
        assert_eq!(cluster[21..29], 250_000u64.to_be_bytes());
    }
}
