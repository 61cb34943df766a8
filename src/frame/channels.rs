//! What the pixels of a frame hold.

/// What a frame shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Gray only. Of a JPEG it is the luma plane as it is stored, the cheapest way to decode one; of other images the
    /// [`luma`](super::luma) of the colours. The two ways agree but for rounding, and for strongly coloured pixels, which
    /// are clipped when they become RGB: on the sequences of OTB 0 to 5 % of the pixels differ, most of them by one or
    /// two levels, single ones by up to 23.
    Luma,
    /// RGB; a gray image stays gray.
    Color,
}
