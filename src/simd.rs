//! SIMD dispatch: which vector instructions the inner loops use.
//!
//! An inner loop is plain safe Rust over fixed-size arrays, compiled several times: for the baseline of the
//! architecture, and on x86-64 also for AVX2 and AVX-512. `leveled!` makes the copies; each call takes the widest copy
//! that the CPU supports. The baseline of 64-bit ARM has NEON.
//!
//! All copies give the same bits: they have one source, the compiler fuses no multiplication with an addition, and the
//! order of every sum is fixed. So results do not depend on the CPU, apart from `exp`, `sin` and `cos` of the C library.

/// The copies of a leveled function, narrowest first. A CPU that runs one runs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) enum Width {
    Baseline,
    Avx2,
    Avx512,
}

/// The widest copy that tests allow.
#[cfg(test)]
static CEILING: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(Width::Avx512 as u8);

/// The widest copy that the CPU supports.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn widest() -> Width {
    let avx2 = is_x86_feature_detected!("avx2");
    // `avx512f` implies `fma` and `f16c` for the compiler, so the CPU must have them. `a * b + c` is still never
    // contracted.
    let avx512 = || {
        avx2 && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    };
    #[cfg(test)]
    let (avx2, avx512) = {
        let ceiling = CEILING.load(std::sync::atomic::Ordering::Relaxed);
        (avx2 && ceiling >= Width::Avx2 as u8, move || avx512() && ceiling >= Width::Avx512 as u8)
    };
    match (avx2, avx512()) {
        (_, true) => Width::Avx512,
        (true, false) => Width::Avx2,
        (false, false) => Width::Baseline,
    }
}

/// The name of the vector instructions that the inner loops use on this CPU.
#[cfg(feature = "cli")]
pub(crate) fn level() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return match widest() {
        Width::Avx512 => "AVX-512",
        Width::Avx2 => "AVX2",
        Width::Baseline => "SSE2",
    };
    #[cfg(not(target_arch = "x86_64"))]
    return if cfg!(target_feature = "neon") { "NEON" } else { "none" };
}

/// For each of four rows, the sum of two sums: first and third value, second and fourth. Uses intrinsics, because
/// compilers gather the rows value by value.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn sums_of_four(rows: [[f32; 4]; 4]) -> [f32; 4] {
    use std::arch::x86_64::{_mm_add_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_setr_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};
    let [a, b, c, d] = rows;
    // SAFETY: every x86-64 CPU has SSE; the transmuted types have 16 bytes and no invalid bit patterns.
    unsafe {
        let (a, b) = (_mm_setr_ps(a[0], a[1], a[2], a[3]), _mm_setr_ps(b[0], b[1], b[2], b[3]));
        let (c, d) = (_mm_setr_ps(c[0], c[1], c[2], c[3]), _mm_setr_ps(d[0], d[1], d[2], d[3]));
        let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        std::mem::transmute(_mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)))
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn sums_of_four(rows: [[f32; 4]; 4]) -> [f32; 4] {
    use std::arch::aarch64::{
        float32x4_t, vaddq_f32, vpaddq_f32, vreinterpretq_f32_f64, vreinterpretq_f64_f32, vtrn1q_f64, vtrn2q_f64,
    };
    // SAFETY: every 64-bit ARM CPU has NEON; the transmuted types have 16 bytes and no invalid bit patterns.
    unsafe {
        let halves = |a: [f32; 4], b: [f32; 4]| {
            let (a, b): (float32x4_t, float32x4_t) = (std::mem::transmute(a), std::mem::transmute(b));
            let (a, b) = (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
            vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(a, b)), vreinterpretq_f32_f64(vtrn2q_f64(a, b)))
        };
        let [a, b, c, d] = rows;
        std::mem::transmute(vpaddq_f32(halves(a, b), halves(c, d)))
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use plain_sums_of_four as sums_of_four;

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
pub(crate) fn plain_sums_of_four(rows: [[f32; 4]; 4]) -> [f32; 4] {
    let [a, b, c, d] = rows;
    let sum = |v: [f32; 4]| (v[0] + v[2]) + (v[1] + v[3]);
    [sum(a), sum(b), sum(c), sum(d)]
}

/// The whole part of a number, which is cut to ±2^30, as NaN is. Unlike `as i32`, it is vectorised.
#[inline(always)]
pub(crate) fn whole(v: f32) -> i32 {
    const LIMIT: f32 = (1 << 30) as f32;
    let v = if v > -LIMIT { v } else { -LIMIT };
    let v = if v < LIMIT { v } else { LIMIT };
    // SAFETY: the number is finite and within the range of the integer.
    unsafe { v.to_int_unchecked() }
}

/// Asks the CPU for bytes that are read soon.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 CPU has SSE; the address is that of a byte of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// The start of each block of `block` values of a line of `len` values, at least one block. The last block may overlap
/// the one before it, which is faster than a scalar loop over the rest.
#[inline(always)]
pub(crate) fn block_starts(len: usize, block: usize) -> impl Iterator<Item = usize> {
    (0..len - block).step_by(block).chain([len - block])
}

/// Compiles a function once for each vector width and calls the widest copy that the CPU supports. `avx2 fn` omits the
/// copy for AVX-512, because AVX-512 slows some loops over cells of 32 floats.
///
/// The body and everything it calls in its inner loops must be `#[inline(always)]`, or it is compiled for the baseline.
macro_rules! leveled {
    (@copies [$($width:ident $copy:ident $features:literal),*]
     [$($head:tt)*] $name:ident $signature:tt $ret:ty, $call:tt $body:block) => {
        #[allow(clippy::too_many_arguments)]
        $($head)* fn $name $signature -> $ret {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body $signature -> $ret $body

            #[cfg(target_arch = "x86_64")]
            {
                $(
                    #[target_feature(enable = $features)]
                    #[allow(clippy::too_many_arguments)]
                    fn $copy $signature -> $ret {
                        body $call
                    }
                )*
                let widest = $crate::simd::widest();
                $(
                    if widest >= $crate::simd::Width::$width {
                        // SAFETY: `widest` returns a width only if the CPU has all features of its copy and of the
                        // narrower ones.
                        return unsafe { $copy $call };
                    }
                )*
            }
            body $call
        }
    };
    ($(#[$meta:meta])* avx2 $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $crate::simd::leveled! { $(#[$meta])* avx2 $vis fn $name($($arg: $ty),*) -> () $body }
    };
    ($(#[$meta:meta])* avx2 $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        $crate::simd::leveled! {
            @copies [Avx2 avx2 "avx2"] [$(#[$meta])* $vis] $name($($arg: $ty),*) $ret, ($($arg),*) $body
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $crate::simd::leveled! { $(#[$meta])* $vis fn $name($($arg: $ty),*) -> () $body }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        $crate::simd::leveled! {
            @copies [Avx512 avx512 "avx512f,avx512bw,avx512dq,avx512vl", Avx2 avx2 "avx2"]
            [$(#[$meta])* $vis] $name($($arg: $ty),*) $ret, ($($arg),*) $body
        }
    };
}
pub(crate) use leveled;

/// The sum of `N` numbers, a power of two, as a tree of fixed order, so the bits do not depend on the register width.
#[inline(always)]
pub(crate) fn tree_sum<const N: usize>(mut sums: [f32; N]) -> f32 {
    let mut width = N / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0]
}

/// [`tree_sum`] of four arrays, with the last steps done together.
#[inline(always)]
pub(crate) fn tree_sums([a, b, c, d]: &[[f32; 32]; 4]) -> [f32; 4] {
    sums_of_four([fold_to_four(a), fold_to_four(b), fold_to_four(c), fold_to_four(d)])
}

/// The first three steps of [`tree_sum`]. Uses intrinsics, because compilers add pair by pair.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fold_to_four(numbers: &[f32; 32]) -> [f32; 4] {
    use std::arch::x86_64::{__m128, _mm_add_ps};
    // SAFETY: every x86-64 CPU has SSE; the transmuted types have the same size and no invalid bit patterns.
    unsafe {
        let [a, b, c, d, e, f, g, h]: [__m128; 8] = std::mem::transmute(*numbers);
        let (a, b, c, d) = (_mm_add_ps(a, e), _mm_add_ps(b, f), _mm_add_ps(c, g), _mm_add_ps(d, h));
        std::mem::transmute(_mm_add_ps(_mm_add_ps(a, c), _mm_add_ps(b, d)))
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fold_to_four(numbers: &[f32; 32]) -> [f32; 4] {
    let four = |l: usize| (numbers[l] + numbers[l + 16]) + (numbers[l + 8] + numbers[l + 24]);
    [0, 1, 2, 3].map(|l| four(l) + four(l + 4))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs `run` at every width and asserts that it returns the same each time.
    #[track_caller]
    pub(crate) fn assert_same_on_all_levels<T: PartialEq>(what: &str, mut run: impl FnMut() -> T) {
        static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let [baseline, avx2, avx512] = [Width::Baseline, Width::Avx2, Width::Avx512].map(|width| {
            CEILING.store(width as u8, std::sync::atomic::Ordering::Relaxed);
            run()
        });
        assert!(avx2 == baseline, "{what}: avx2 differs from the baseline");
        assert!(avx512 == baseline, "{what}: avx512 differs from the baseline");
    }

    #[test]
    fn sums_of_four_have_the_same_bits_on_every_cpu() {
        let rows = [[1e8, 1.0, -1e8, 3.0], [0.1, 1e8, 0.7, -1e8], [-0.0, -0.0, -0.0, -0.0], [3.3, 1e-8, 1e8, 0.1]];
        let bits = |sums: [f32; 4]| sums.map(f32::to_bits);
        assert_eq!(bits(sums_of_four(rows)), bits(plain_sums_of_four(rows)));
        assert_eq!(sums_of_four(rows)[0], 4.0);
    }
}
