//! The C interface. cbindgen makes `kcf_track.h` of this file, comments included, so they address users of C. All
//! functions that are `unsafe` have one contract: a pointer is null or valid, and a text ends with a zero byte.
//!
//! `scripts/c_library.sh` builds and installs the library with the header; `examples/c` uses it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use crate::error::panic_message;
use crate::frame::yuv::Packed;
use crate::{BBox, Channels, Error, FrameBuf, Params, PixelFormat, State};

/// One byte per pixel: gray.
pub const KCF_GRAY8: u32 = 0;
/// Three bytes per pixel: red, green, blue.
pub const KCF_RGB8: u32 = 1;
/// Three bytes per pixel: blue, green, red, as OpenCV has them.
pub const KCF_BGR8: u32 = 2;
/// Four bytes per pixel: red, green, blue and one that is ignored.
pub const KCF_RGBA8: u32 = 3;
/// Four bytes per pixel: blue, green, red and one that is ignored.
pub const KCF_BGRA8: u32 = 4;

/// Rows of luma, then half as many rows of pairs of Cb and Cr, with the same stride.
pub const KCF_NV12: u32 = 5;
/// Y, Cb, Y, Cr for each two pixels: YUY2.
pub const KCF_YUYV: u32 = 6;

/// Whether a call succeeded. After any status but `KCF_STATUS_OK`, `kcf_error` has the reason, and the tracker is as it was
/// before the call, unless it is `KCF_STATUS_INTERNAL`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    Ok = 0,
    /// A pointer is null or misaligned, or a text is not UTF-8.
    Argument = 1,
    /// The preset or setting is unknown, the value is out of its range, or the networks in the folder that it names cannot
    /// be used.
    Setting = 2,
    /// The size, stride or format of the frame is wrong, or its size is not that of the first frame.
    Frame = 3,
    /// No target can be learned from this box.
    Box = 4,
    /// `kcf_update` was called before `kcf_init`.
    NotInitialized = 5,
    /// A kernel machine could not be fitted.
    Fit = 6,
    /// A defect of the library. The tracker has lost its target: call `kcf_init` again, and please report it.
    Internal = 7,
}

/// How far to trust a box.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TargetState {
    /// The target was found.
    Tracking = 1,
    /// The target was found again after it was lost.
    Recovered = 2,
    /// The match is weak, or most of the box has left the frame: the box is a guess.
    Uncertain = 3,
    /// The target is not there. The box is the last guess: do not use it.
    Lost = 4,
    /// Something covers the target: the box follows on, or waits where the target was covered.
    Occluded = 5,
}

/// A box in pixels: left, top (counted from 0), width, height.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Box4 {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

/// The pixels of one frame. They are read during a call and not kept.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The first byte of the upper row. `(height - 1) * stride` and one row of bytes must be readable from here; of
    /// `KCF_NV12` `(height + (height + 1) / 2 - 1) * stride` and one row.
    pub pixels: *const u8,
    pub width: usize,
    pub height: usize,
    /// Bytes from the start of one row to the start of the next.
    pub stride: usize,
    /// `KCF_GRAY8`, `KCF_RGB8`, `KCF_BGR8`, `KCF_RGBA8`, `KCF_BGRA8`, `KCF_NV12` or `KCF_YUYV`. The last two are converted
    /// in each call.
    pub format: u32,
}

/// What a tracker says of one frame.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Where the target is, or was last seen.
    pub bbox: Box4,
    /// The corners x1, y1, ..., x4, y4 of the target, clockwise from what was the upper left one. They are those of
    /// the box, unless the target has turned.
    pub corners: [f64; 8],
    pub state: TargetState,
    /// The probability that the box overlaps the target by more than half; NaN without a calibration, and of a given box.
    pub confidence: f32,
    /// The peak-to-sidelobe ratio of the response.
    pub psr: f32,
}

/// Follows one target. Several targets take several trackers: these share nothing, so each may have its own thread.
/// One tracker belongs to one thread at a time.
#[derive(Debug)]
pub struct Tracker {
    params: Params,
    inner: Option<crate::Tracker>,
}

impl From<crate::Estimate> for Estimate {
    fn from(found: crate::Estimate) -> Self {
        let crate::Estimate { bbox: BBox { x, y, w, h }, polygon, state, evidence } = found;
        Self {
            bbox: Box4 { x, y, w, h },
            corners: polygon.unwrap_or([x, y, x + w, y, x + w, y + h, x, y + h]),
            state: match state {
                State::Initial | State::Tracking => TargetState::Tracking,
                State::Recovered => TargetState::Recovered,
                State::Uncertain => TargetState::Uncertain,
                State::Occluded => TargetState::Occluded,
                State::Lost | State::Missing => TargetState::Lost,
            },
            confidence: evidence.confidence.unwrap_or(f32::NAN),
            psr: evidence.psr,
        }
    }
}

#[derive(Debug)]
struct Failure(Status, String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Setting { .. } | Error::Parameter { .. } | Error::Io { .. } | Error::Network { .. } => {
                Status::Setting
            }
            Error::FrameLayout { .. } | Error::FrameSize { .. } => Status::Frame,
            Error::Box { .. } => Status::Box,
            Error::NotInitialized => Status::NotInitialized,
            Error::Gram { .. } | Error::Samples { .. } => Status::Fit,
            _ => Status::Internal,
        };
        Self(status, error.to_string())
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Runs `action` and keeps its message for this thread. Panics end here.
fn status_of(action: impl FnOnce() -> Result<(), Failure>) -> Status {
    let done = catch_unwind(AssertUnwindSafe(action));
    let Failure(status, message) = match done {
        Ok(Ok(())) => Failure(Status::Ok, String::new()),
        Ok(Err(failure)) => failure,
        Err(panic) => Failure(Status::Internal, format!("a defect of kcf-track: {}", panic_message(&*panic))),
    };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    // A thread that ends may have no message any more.
    let _ = MESSAGE.try_with(|held| held.replace(message));
    status
}

fn refused(name: &str, reason: &str) -> Failure {
    Failure(Status::Argument, format!("{name}: {reason}"))
}

/// The pointer, if it is neither null nor misaligned.
fn checked<T>(pointer: *mut T, name: &str) -> Result<*mut T, Failure> {
    if pointer.is_null() {
        return Err(refused(name, "the pointer is null"));
    }
    if !pointer.is_aligned() {
        return Err(refused(name, "the pointer is misaligned"));
    }
    Ok(pointer)
}

/// # Safety
/// A pointer that is not null must point to a text that ends with a zero byte and does not change during `'a`.
unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    let pointer = checked(pointer.cast_mut(), name)?;
    // SAFETY: the pointer is not null, and the caller vouches for the rest.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| refused(name, "the text is not UTF-8"))
}

/// # Safety
/// A pointer that is not null must point to a frame that nobody changes meanwhile; its pixels must be readable during
/// `'a`, as [`Frame::pixels`] says.
unsafe fn pixels<'a>(frame: *const Frame, channels: Channels) -> Result<Picture<'a>, Failure> {
    // SAFETY: as the caller vouches. Other threads may read it too.
    let Frame { pixels, width, height, stride, format } = unsafe { *checked(frame.cast_mut(), "frame")? };
    let (format, packed) = match format {
        KCF_GRAY8 => (PixelFormat::Gray8, None),
        KCF_RGB8 => (PixelFormat::Rgb8, None),
        KCF_BGR8 => (PixelFormat::Bgr8, None),
        KCF_RGBA8 => (PixelFormat::Rgba8, None),
        KCF_BGRA8 => (PixelFormat::Bgra8, None),
        KCF_NV12 => (PixelFormat::Gray8, Some(Packed::Nv12)),
        KCF_YUYV => (PixelFormat::Gray8, Some(Packed::Yuyv)),
        other => return Err(Failure(Status::Frame, format!("frame.format {other}: it is KCF_GRAY8 to KCF_YUYV"))),
    };
    if pixels.is_null() {
        return Err(refused("frame.pixels", "the pointer is null"));
    }
    let size =
        packed.map_or(Some((width, height)), |packed| packed.rows(width, height).filter(|_| width > 0 && height > 0));
    // No byte is read for a size that is refused below.
    let row = size.and_then(|(width, _)| width.checked_mul(format.bytes())).filter(|row| (1..=stride).contains(row));
    let above = size.and_then(|(_, rows)| rows.checked_sub(1)).and_then(|rows| rows.checked_mul(stride));
    let len =
        row.zip(above).and_then(|(row, above)| row.checked_add(above)).filter(|&len| isize::try_from(len).is_ok());
    // SAFETY: the caller vouches for so many bytes.
    let data = unsafe { slice::from_raw_parts(pixels, len.unwrap_or(0)) };
    Ok(match packed {
        None => Picture::View(crate::Frame::new(data, width, height, stride, format)?),
        Some(packed) => Picture::Owned(FrameBuf::from_packed(packed, data, width, height, stride, channels)?),
    })
}

/// The caller's pixels, or pixels that were converted from them.
enum Picture<'a> {
    View(crate::Frame<'a>),
    Owned(FrameBuf),
}

impl Picture<'_> {
    fn as_frame(&self) -> crate::Frame<'_> {
        match self {
            Self::View(frame) => *frame,
            Self::Owned(frame) => frame.as_frame(),
        }
    }
}

/// A new tracker with the settings of a preset, such as "robust", "fast" or "paper". Null on failure: `kcf_error` says
/// why. Free it with `kcf_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcf_create(preset: *const c_char) -> *mut Tracker {
    let mut made = ptr::null_mut();
    status_of(|| {
        // SAFETY: as the caller vouches.
        let params = Params::preset(unsafe { text(preset, "preset") }?)?;
        // With networks, the model is set later.
        if params.search.model().is_some() && !cfg!(feature = "neural") {
            params.check()?;
        }
        made = Box::into_raw(Box::new(Tracker { params, inner: None }));
        Ok(())
    });
    made
}

/// Sets what `kcf-track --print-config` lists: a path such as "search.background.padding", and the value as text. The
/// setting counts from the next `kcf_init` on, which checks that all settings fit each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcf_set(tracker: *mut Tracker, path: *const c_char, value: *const c_char) -> Status {
    status_of(|| {
        // SAFETY: as the caller vouches.
        let (tracker, path, value) =
            unsafe { (&mut *checked(tracker, "tracker")?, text(path, "path")?, text(value, "value")?) };
        let mut params = tracker.params.clone();
        params.set(path, value)?;
        tracker.params = params;
        Ok(())
    })
}

/// Learns the target at `bbox` in `frame`, in place of an earlier one. The box may reach over the border. `estimate` may be
/// null; else it gets the box as `KCF_STATE_TRACKING`, and the `psr` says how distinct the target is in this frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcf_init(
    tracker: *mut Tracker,
    frame: *const Frame,
    bbox: Box4,
    estimate: *mut Estimate,
) -> Status {
    status_of(|| {
        // SAFETY: as the caller vouches.
        let tracker = unsafe { &mut *checked(tracker, "tracker")? };
        // SAFETY: as the caller vouches.
        let frame = unsafe { pixels(frame, tracker.params.channels()) }?;
        let wanted = if estimate.is_null() { None } else { Some(checked(estimate, "estimate")?) };
        let mut inner = crate::Tracker::new(tracker.params.clone())?;
        let learned = inner.init(frame.as_frame(), BBox::new(bbox.x, bbox.y, bbox.w, bbox.h))?;
        tracker.inner = Some(inner);
        if let Some(estimate) = wanted {
            // SAFETY: as the caller vouches.
            unsafe { estimate.write(learned.into()) };
        }
        Ok(())
    })
}

/// Finds the target in the next frame, of the same size, and learns how it looks there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcf_update(tracker: *mut Tracker, frame: *const Frame, estimate: *mut Estimate) -> Status {
    status_of(|| {
        // SAFETY: as the caller vouches.
        let (tracker, estimate) = unsafe { (&mut *checked(tracker, "tracker")?, checked(estimate, "estimate")?) };
        // SAFETY: as the caller vouches.
        let frame = unsafe { pixels(frame, tracker.params.channels()) }?;
        // A panic in between loses the target, so that nothing half learned is used.
        let mut inner = tracker.inner.take().ok_or(Error::NotInitialized)?;
        let found = inner.update(frame.as_frame());
        tracker.inner = Some(inner);
        let found = found?.into();
        // SAFETY: as the caller vouches.
        unsafe { estimate.write(found) };
        Ok(())
    })
}

/// Corrects the place and the size of the target in the last frame by a box from elsewhere, as a detector's, without
/// learning anew. `noise` is the standard deviation of its sides in pixels: the box counts the more, the less noise it has
/// and the less sure the tracker is. `estimate` may be null; else it gets the corrected box.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcf_adjust(tracker: *mut Tracker, bbox: Box4, noise: f64, estimate: *mut Estimate) -> Status {
    status_of(|| {
        // SAFETY: as the caller vouches.
        let tracker = unsafe { &mut *checked(tracker, "tracker")? };
        let wanted = if estimate.is_null() { None } else { Some(checked(estimate, "estimate")?) };
        let inner = tracker.inner.as_mut().ok_or(Error::NotInitialized)?;
        let adjusted = inner.adjust(BBox::new(bbox.x, bbox.y, bbox.w, bbox.h), noise)?;
        if let Some(estimate) = wanted {
            // SAFETY: as the caller vouches.
            unsafe { estimate.write(adjusted.into()) };
        }
        Ok(())
    })
}

/// Frees a tracker and sets the pointer to null, so that a second call does nothing and other calls refuse it. Copies
/// of the pointer must not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcf_free(tracker: *mut *mut Tracker) {
    status_of(|| {
        // SAFETY: as the caller vouches.
        let held = unsafe { &mut *checked(tracker, "tracker")? };
        if !held.is_null() {
            // SAFETY: the pointer comes from `kcf_create`, and is set to null below, so it is freed once.
            drop(unsafe { Box::from_raw(std::mem::replace(held, ptr::null_mut())) });
        }
        Ok(())
    });
}

/// Why the last call on this thread failed, one line of UTF-8; empty after success. It is valid until the next call on
/// this thread.
#[unsafe(no_mangle)]
pub extern "C" fn kcf_error() -> *const c_char {
    MESSAGE.try_with(|held| held.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, such as "1.2.3".
#[unsafe(no_mangle)]
pub extern "C" fn kcf_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_networks_are_a_wrong_setting() {
        let failure = Failure::from(Error::io("nets", std::io::ErrorKind::NotFound.into()));
        assert_eq!(failure.0, Status::Setting, "{failure:?}");
    }
}
