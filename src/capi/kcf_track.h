/* kcf-track: follows any object through the frames of a video.
 *
 * kcf_create makes a tracker, kcf_init gives it a box in one frame, kcf_update finds the box in each later one.
 * Null, a wrong size or a wrong order of calls is an error: a status says so, and kcf_error has the reason. Other
 * pointers must be valid, and texts end with a zero byte.
 *
 * Made by cbindgen from src/capi/mod.rs: do not edit. */

#pragma once

#include <stddef.h>
#include <stdint.h>

// One byte per pixel: gray.
#define KCF_GRAY8 0

// Three bytes per pixel: red, green, blue.
#define KCF_RGB8 1

// Three bytes per pixel: blue, green, red, as OpenCV has them.
#define KCF_BGR8 2

// Four bytes per pixel: red, green, blue and one that is ignored.
#define KCF_RGBA8 3

// Four bytes per pixel: blue, green, red and one that is ignored.
#define KCF_BGRA8 4

// Rows of luma, then half as many rows of pairs of Cb and Cr, with the same stride.
#define KCF_NV12 5

// Y, Cb, Y, Cr for each two pixels: YUY2.
#define KCF_YUYV 6

// Whether a call succeeded. After any status but `KCF_STATUS_OK`, `kcf_error` has the reason, and the tracker is as it was
// before the call, unless it is `KCF_STATUS_INTERNAL`.
typedef enum kcf_status {
  KCF_STATUS_OK = 0,
  // A pointer is null or misaligned, or a text is not UTF-8.
  KCF_STATUS_ARGUMENT = 1,
  // The preset or setting is unknown, the value is out of its range, or the networks in the folder that it names cannot
  // be used.
  KCF_STATUS_SETTING = 2,
  // The size, stride or format of the frame is wrong, or its size is not that of the first frame.
  KCF_STATUS_FRAME = 3,
  // No target can be learned from this box.
  KCF_STATUS_BOX = 4,
  // `kcf_update` was called before `kcf_init`.
  KCF_STATUS_NOT_INITIALIZED = 5,
  // A kernel machine could not be fitted.
  KCF_STATUS_FIT = 6,
  // A defect of the library. The tracker has lost its target: call `kcf_init` again, and please report it.
  KCF_STATUS_INTERNAL = 7,
} kcf_status;

// How far to trust a box.
typedef enum kcf_state {
  // The target was found.
  KCF_STATE_TRACKING = 1,
  // The target was found again after it was lost.
  KCF_STATE_RECOVERED = 2,
  // The match is weak, or most of the box has left the frame: the box is a guess.
  KCF_STATE_UNCERTAIN = 3,
  // The target is not there. The box is the last guess: do not use it.
  KCF_STATE_LOST = 4,
  // Something covers the target: the box follows on, or waits where the target was covered.
  KCF_STATE_OCCLUDED = 5,
} kcf_state;

// Follows one target. Several targets take several trackers: these share nothing, so each may have its own thread.
// One tracker belongs to one thread at a time.
typedef struct kcf_tracker kcf_tracker;

// The pixels of one frame. They are read during a call and not kept.
typedef struct kcf_frame {
  // The first byte of the upper row. `(height - 1) * stride` and one row of bytes must be readable from here; of
  // `KCF_NV12` `(height + (height + 1) / 2 - 1) * stride` and one row.
  const uint8_t *pixels;
  size_t width;
  size_t height;
  // Bytes from the start of one row to the start of the next.
  size_t stride;
  // `KCF_GRAY8`, `KCF_RGB8`, `KCF_BGR8`, `KCF_RGBA8`, `KCF_BGRA8`, `KCF_NV12` or `KCF_YUYV`. The last two are converted
  // in each call.
  uint32_t format;
} kcf_frame;

// A box in pixels: left, top (counted from 0), width, height.
typedef struct kcf_box {
  double x;
  double y;
  double w;
  double h;
} kcf_box;

// What a tracker says of one frame.
typedef struct kcf_estimate {
  // Where the target is, or was last seen.
  struct kcf_box bbox;
  // The corners x1, y1, ..., x4, y4 of the target, clockwise from what was the upper left one. They are those of
  // the box, unless the target has turned.
  double corners[8];
  enum kcf_state state;
  // The probability that the box overlaps the target by more than half; NaN without a calibration, and of a given box.
  float confidence;
  // The peak-to-sidelobe ratio of the response.
  float psr;
} kcf_estimate;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A new tracker with the settings of a preset, such as "robust", "fast" or "paper". Null on failure: `kcf_error` says
// why. Free it with `kcf_free`.
struct kcf_tracker *kcf_create(const char *preset);

// Sets what `kcf-track --print-config` lists: a path such as "search.background.padding", and the value as text. The
// setting counts from the next `kcf_init` on, which checks that all settings fit each other.
enum kcf_status kcf_set(struct kcf_tracker *tracker, const char *path, const char *value);

// Learns the target at `bbox` in `frame`, in place of an earlier one. The box may reach over the border. `estimate` may be
// null; else it gets the box as `KCF_STATE_TRACKING`, and the `psr` says how distinct the target is in this frame.
enum kcf_status kcf_init(struct kcf_tracker *tracker,
                         const struct kcf_frame *frame,
                         struct kcf_box bbox,
                         struct kcf_estimate *estimate);

// Finds the target in the next frame, of the same size, and learns how it looks there.
enum kcf_status kcf_update(struct kcf_tracker *tracker, const struct kcf_frame *frame, struct kcf_estimate *estimate);

// Corrects the place and the size of the target in the last frame by a box from elsewhere, as a detector's, without
// learning anew. `noise` is the standard deviation of its sides in pixels: the box counts the more, the less noise it has
// and the less sure the tracker is. `estimate` may be null; else it gets the corrected box.
enum kcf_status kcf_adjust(struct kcf_tracker *tracker,
                           struct kcf_box bbox,
                           double noise,
                           struct kcf_estimate *estimate);

// Frees a tracker and sets the pointer to null, so that a second call does nothing and other calls refuse it. Copies
// of the pointer must not be used any more.
void kcf_free(struct kcf_tracker **tracker);

// Why the last call on this thread failed, one line of UTF-8; empty after success. It is valid until the next call on
// this thread.
const char *kcf_error(void);

// The version of the library, such as "1.2.3".
const char *kcf_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus
