//! The SIMD room: which vector instructions the inner loops of the crate may use.
//!
//! An inner loop is written once, in plain safe Rust over fixed-size arrays, and compiled several times: for the
//! instructions that every CPU of the architecture has, and on x86-64 for AVX2 and, where it is faster, for AVX-512 as
//! well. `leveled!` makes the copies; each call takes the widest one that this CPU and the [`ceiling`] of the process
//! allow. One sum across registers is written in intrinsics, as no compiler finds it.
//!
//! All copies give the same bits. They are the same source, the compiler fuses no multiplication with an addition, and
//! the order of every sum is written down, so a wider register only does more of the same additions at once.
//! A tracker therefore returns the same boxes on every level, and on every CPU with the same `exp`, `sin` and `cos` of
//! the C library, which some kernels, labels and tapers are made of.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The widest vector instructions that the process may use.
///
/// It is a ceiling, not a demand: the code looks at the CPU and takes the widest copy that both allow, so any level is
/// safe to ask for anywhere. Results are bit-identical on all levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SimdLevel {
    /// What every CPU of the architecture has (SSE2 on x86-64, NEON on AArch64).
    Baseline,
    /// At most AVX2, 8 floats at a time.
    Avx2,
    /// The best that this CPU has, up to AVX-512, 16 floats at a time.
    #[default]
    Best,
}

impl SimdLevel {
    /// All levels, narrowest first.
    pub const ALL: [SimdLevel; 3] = [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Best];
}

impl fmt::Display for SimdLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SimdLevel::Baseline => "baseline",
            SimdLevel::Avx2 => "avx2",
            SimdLevel::Best => "best",
        })
    }
}

/// The ceiling as its place in [`SimdLevel::ALL`].
static CEILING: AtomicU8 = AtomicU8::new(SimdLevel::Best as u8);

/// Lets the whole process use no wider instructions than `level` from now on. No result depends on it, only speed: it
/// is there to measure and to test the narrower copies on a CPU that has the wider ones.
pub fn set_ceiling(level: SimdLevel) {
    CEILING.store(level as u8, Ordering::Relaxed);
}

/// What was last asked for by [`set_ceiling`]; [`SimdLevel::Best`] at the start.
pub fn ceiling() -> SimdLevel {
    SimdLevel::ALL[usize::from(CEILING.load(Ordering::Relaxed)).min(SimdLevel::ALL.len() - 1)]
}

/// The copies of a leveled function, narrowest first: a CPU that runs one runs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[cfg(target_arch = "x86_64")]
pub(crate) enum Width {
    Baseline,
    Avx2,
    Avx512,
}

/// The widest copy that both the CPU and the ceiling allow. It names AVX2 or AVX-512 only where the CPU has all the
/// features that `leveled!` compiles that copy for, and those of each narrower one.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn widest() -> Width {
    let level = ceiling();
    // What a compiler takes for a part of AVX-512 is asked for as well.
    let avx2 = is_x86_feature_detected!("avx2");
    let avx512 = || {
        avx2 && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    };
    if level == SimdLevel::Best && avx512() {
        Width::Avx512
    } else if level != SimdLevel::Baseline && avx2 {
        Width::Avx2
    } else {
        Width::Baseline
    }
}

/// Of each of four rows the sum of two sums: of its first and third value, and of its second and fourth. Written with
/// intrinsics, as compilers gather the rows value by value.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn sums_of_four(rows: [[f32; 4]; 4]) -> [f32; 4] {
    use std::arch::x86_64::{_mm_add_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_setr_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};
    let [a, b, c, d] = rows;
    // SAFETY: every CPU of the architecture has SSE; what is transmuted is 16 bytes, and all bits are floats.
    unsafe {
        let (a, b) = (_mm_setr_ps(a[0], a[1], a[2], a[3]), _mm_setr_ps(b[0], b[1], b[2], b[3]));
        let (c, d) = (_mm_setr_ps(c[0], c[1], c[2], c[3]), _mm_setr_ps(d[0], d[1], d[2], d[3]));
        let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        std::mem::transmute(_mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)))
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use plain_sums_of_four as sums_of_four;

/// The same, for other CPUs.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn plain_sums_of_four(rows: [[f32; 4]; 4]) -> [f32; 4] {
    let [a, b, c, d] = rows;
    let sum = |v: [f32; 4]| (v[0] + v[2]) + (v[1] + v[3]);
    [sum(a), sum(b), sum(c), sum(d)]
}

/// Where the blocks of `block` values begin that a line of `len`, at least one block, is worked on in: one after the
/// other, the last of which may begin in the one before it. A rest value by value could take as long as all blocks.
#[inline(always)]
pub(crate) fn block_starts(len: usize, block: usize) -> impl Iterator<Item = usize> {
    (0..len - block).step_by(block).chain([len - block])
}

/// Compiles a function once for each width of vectors, and takes the copy that the CPU and the [`ceiling`] allow.
/// `avx2 fn` leaves out the copy for AVX-512, for bodies that it makes slower: for loops over cells of 32 floats a
/// compiler may then take one float of each of 16 cells at once, by instructions that cost as much as 16.
///
/// The body and all that it calls in its inner loops must be `#[inline(always)]`, or it is compiled for the baseline.
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
                        // SAFETY: `widest` names a width only where the CPU has all the features that the copy of this
                        // and of each narrower one is compiled for.
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

/// The sum of `N` numbers, a power of two, as a tree of fixed order: the same bits whatever the width of a register.
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

/// Tests that set the ceiling do so one after the other.
#[cfg(test)]
static SET_BY_ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs `run` under every ceiling and asserts that it returns the same each time.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_same_on_all_levels<T: PartialEq>(what: &str, mut run: impl FnMut() -> T) {
    let _alone = SET_BY_ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let [baseline, avx2, best] = SimdLevel::ALL.map(|level| {
        set_ceiling(level);
        run()
    });
    assert!(avx2 == baseline, "{what}: avx2 differs from the baseline");
    assert!(best == baseline, "{what}: the best level differs from the baseline");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_in_their_own_places() {
        for (i, level) in SimdLevel::ALL.into_iter().enumerate() {
            assert_eq!(level as usize, i);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn no_copy_is_wider_than_the_ceiling_and_the_cpu() {
        let _alone = SET_BY_ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let copies = SimdLevel::ALL.map(|level| {
            set_ceiling(level);
            assert_eq!(ceiling(), level);
            widest()
        });
        let or_less = |has: bool, copy, less| if has { copy } else { less };
        let avx2 = or_less(is_x86_feature_detected!("avx2"), Width::Avx2, Width::Baseline);
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        assert_eq!(copies, [Width::Baseline, avx2, or_less(all, Width::Avx512, avx2)]);
        assert!(Width::Baseline < Width::Avx2 && Width::Avx2 < Width::Avx512);
    }

    #[test]
    fn sums_of_four_are_the_same_bits_on_every_cpu() {
        let rows = [[1e8, 1.0, -1e8, 3.0], [0.1, 1e8, 0.7, -1e8], [-0.0, -0.0, -0.0, -0.0], [3.3, 1e-8, 1e8, 0.1]];
        let bits = |sums: [f32; 4]| sums.map(f32::to_bits);
        assert_eq!(bits(sums_of_four(rows)), bits(plain_sums_of_four(rows)));
        assert_eq!(sums_of_four(rows)[0], 4.0);
    }
}
