//! NumPy arrays as frames, copied only where a frame cannot have their layout.

use std::str::FromStr;

use kcf_track::{Frame, FrameBuf, PixelFormat};
use numpy::{
    IntoPyArray, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods, dtype,
};
use pyo3::prelude::*;

use crate::error::{Raise, exception, wrong_type};

/// The order of the colours in arrays of three or four channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Blue, green, red: OpenCV's.
    Bgr,
    /// Red, green, blue: Pillow's, imageio's.
    Rgb,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "bgr" => Ok(Self::Bgr),
            "rgb" => Ok(Self::Rgb),
            _ => Err(format!("order {name:?}: must be \"bgr\" (as in OpenCV) or \"rgb\"")),
        }
    }
}

impl Order {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bgr => "bgr",
            Self::Rgb => "rgb",
        }
    }

    fn format(self, channels: usize) -> Option<PixelFormat> {
        Some(match (channels, self) {
            (1, _) => PixelFormat::Gray8,
            (3, Self::Bgr) => PixelFormat::Bgr8,
            (3, Self::Rgb) => PixelFormat::Rgb8,
            (4, Self::Bgr) => PixelFormat::Bgra8,
            (4, Self::Rgb) => PixelFormat::Rgba8,
            _ => return None,
        })
    }

    fn reversed(self) -> Self {
        match self {
            Self::Bgr => Self::Rgb,
            Self::Rgb => Self::Bgr,
        }
    }
}

/// The pixels of an array, or a copy of them in another layout.
pub struct Pixels<'py> {
    array: Bound<'py, PyArrayDyn<u8>>,
    /// Bytes from the array's first element to the first byte of the frame; not above zero.
    first: isize,
    width: usize,
    height: usize,
    stride: usize,
    format: PixelFormat,
}

impl<'py> Pixels<'py> {
    /// The pixels of an array of `uint8`, `(height, width)` or `(height, width, channels)` with 1, 3 or 4 channels.
    ///
    /// # Errors
    /// `TypeError` for something else than an array of `uint8`; `FrameError` for another shape, or no pixels.
    pub fn of(given: &Bound<'py, PyAny>, order: Order) -> PyResult<Self> {
        let py = given.py();
        let Ok(untyped) = given.cast::<PyUntypedArray>() else {
            let kind = given.get_type().name()?;
            return Err(wrong_type(format!("a frame must be a numpy array of uint8, not {kind}")));
        };
        if !untyped.dtype().is_equiv_to(&dtype::<u8>(py)) {
            let dtype = untyped.dtype();
            return Err(wrong_type(format!("a frame must be an array of uint8 (0 to 255), not of {dtype}")));
        }
        let mut array = given.cast::<PyArrayDyn<u8>>()?.clone();
        let (height, width, channels) = match *array.shape() {
            [height, width] => (height, width, 1),
            [height, width, channels] => (height, width, channels),
            ref shape => return Err(wrong_shape(py, shape)),
        };
        let Some(format) = order.format(channels) else { return Err(wrong_shape(py, array.shape())) };
        if width == 0 || height == 0 {
            return Err(exception(py, "FrameError", format!("a frame of {width}x{height} pixels has no pixels")));
        }
        let strides = array.strides();
        let pixel = strides[1];
        let (stride, step) = (strides[0], strides.get(2).copied().unwrap_or(1));
        let near = width == 1 || usize::try_from(pixel) == Ok(channels);
        let rows = usize::try_from(stride).ok().filter(|stride| *stride >= width * channels);
        let rows = if height == 1 { Some(width * channels) } else { rows };
        match (near, rows, step) {
            (true, Some(stride), step) if step == 1 || channels == 1 => {
                Ok(Self { array, first: 0, width, height, stride, format })
            }
            // Three colours backwards are three colours in the other order: `frame[..., ::-1]`.
            (true, Some(stride), -1) if channels == 3 => {
                let format = order.reversed().format(channels).unwrap_or(format);
                Ok(Self { array, first: -2, width, height, stride, format })
            }
            _ => {
                let copied = py.import("numpy")?.call_method1("ascontiguousarray", (&array,))?;
                array = copied.cast_into::<PyArrayDyn<u8>>()?;
                Ok(Self { array, first: 0, width, height, stride: width * channels, format })
            }
        }
    }

    /// The frame over these pixels.
    ///
    /// # Errors
    /// `FrameError` for a size beyond the address space.
    pub fn frame(&self) -> PyResult<Frame<'_>> {
        let length = self.stride * (self.height - 1) + self.width * self.format.bytes();
        // SAFETY: `of` checks that the array has `height` rows of `width` pixels, `stride` bytes apart, and that the
        // bytes of a pixel are adjacent (in reverse where `first` is -2, hence two before the first element). They
        // belong to the array, gaps between rows to the array that it is a view of, and `self` keeps it alive. Another
        // thread that writes to it meanwhile causes a torn frame, as in all NumPy extensions that release the GIL.
        #[expect(unsafe_code, reason = "NumPy gives no slice of a view with gaps between rows")]
        let bytes = unsafe { std::slice::from_raw_parts(self.array.data().offset(self.first).cast_const(), length) };
        Frame::new(bytes, self.width, self.height, self.stride, self.format).or_raise(self.array.py())
    }
}

/// The pixels, gray or red, green, blue, as an array (height, width) or (height, width, 3) with colours in `order`.
pub fn array(py: Python<'_>, frame: FrameBuf, order: Order) -> PyResult<Bound<'_, PyAny>> {
    let view = frame.as_frame();
    let (width, height, format) = (view.width(), view.height(), view.format());
    let mut bytes = frame.into_bytes();
    if format == PixelFormat::Gray8 {
        return Ok(bytes.into_pyarray(py).reshape([height, width])?.into_any());
    }
    if order == Order::Bgr {
        py.detach(|| bytes.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| pixel.swap(0, 2)));
    }
    Ok(bytes.into_pyarray(py).reshape([height, width, 3])?.into_any())
}

fn wrong_shape(py: Python<'_>, shape: &[usize]) -> PyErr {
    let message = format!(
        "a frame must have the shape (height, width) or (height, width, channels) with 1, 3 or 4 channels, not \
         {shape:?}"
    );
    exception(py, "FrameError", message)
}
