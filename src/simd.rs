//! The SIMD room: which vector instructions the inner loops of the crate may use.
//!
//! An inner loop is written once, in plain safe Rust over fixed-size arrays, and compiled several times: for the
//! instructions that every CPU of the architecture has, and for wider ones. `leveled!`
//! makes the copies with the `multiversion` crate, which looks at the CPU before it takes one.
//!
//! All copies give the same bits. They are the same source, no fused multiply-add is allowed, and
//! the order of every sum is written down, so a wider register only does more of the same additions at once.
//! A tracker therefore returns the same boxes on every CPU.

use std::fmt;

/// The widest vector instructions that a plan may use.
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

/// Compiles a function once per [`SimdLevel`] and puts `level: SimdLevel` before its arguments.
///
/// The body and all that it calls in its inner loops must be `#[inline(always)]`, or it is compiled for the baseline.
macro_rules! leveled {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name(level: $crate::simd::SimdLevel, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body($($arg: $ty),*) $(-> $ret)? $body

            #[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
            #[allow(clippy::too_many_arguments)]
            fn best($($arg: $ty),*) $(-> $ret)? {
                body($($arg),*)
            }

            #[multiversion::multiversion(targets("x86_64+avx2"))]
            #[allow(clippy::too_many_arguments)]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                body($($arg),*)
            }

            match level {
                $crate::simd::SimdLevel::Best => best($($arg),*),
                $crate::simd::SimdLevel::Avx2 => avx2($($arg),*),
                $crate::simd::SimdLevel::Baseline => body($($arg),*),
            }
        }
    };
}
pub(crate) use leveled;
