//! How the channels of a feature map lie in memory.

use super::CHANNELS;

/// How many channels a map has, and in how many blocks of 32 lanes they stand. Lanes that hold no channel are zero.
///
/// A number is that of the channels, in as few blocks as hold them; one channel is a plane, without lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    channels: usize,
    blocks: usize,
}

impl Layout {
    /// For `channels` channels in `blocks` blocks of lanes.
    ///
    /// # Panics
    /// When there are no channels or more than lanes.
    pub fn in_blocks(channels: usize, blocks: usize) -> Self {
        assert!(channels > 0 && channels <= blocks * CHANNELS, "channels stand in lanes");
        Self { channels, blocks }
    }

    /// Channels, those that are always zero not counted.
    pub fn channels(self) -> usize {
        self.channels
    }

    /// Blocks of lanes; none for one channel.
    pub fn blocks(self) -> usize {
        self.blocks
    }

    /// Floats of a cell, of all blocks together.
    pub fn floats(self) -> usize {
        (self.blocks * CHANNELS).max(1)
    }
}

impl From<usize> for Layout {
    fn from(channels: usize) -> Self {
        Self { channels, blocks: if channels > 1 { channels.div_ceil(CHANNELS) } else { 0 } }
    }
}
