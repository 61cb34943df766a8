//! What the pixels of a frame hold.

/// What a frame or a patch of it shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Gray only. Of a JPEG it is the luma plane as it is stored, the cheapest way to decode one; of other images and
    /// of colour frames the [`luma`](super::luma) of the colours. The two ways agree but for rounding, and for strongly
    /// coloured pixels, which are clipped when they become RGB: on the sequences of OTB 0 to 5 % of the pixels differ,
    /// most of them by one or two levels, single ones by up to 23.
    Luma,
    /// RGB. A gray image stays gray; a patch of a gray frame has three equal values a pixel.
    Color,
}

impl Channels {
    /// Bytes of a pixel of a patch.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Luma => 1,
            Self::Color => 3,
        }
    }
}
