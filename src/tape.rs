//! What frames have changed of a model, as bytes: one walk over it both writes and reads them.
//!
//! A model that is read back has been made anew from the same settings and sizes, so that only numbers are on the tape
//! and each slice has its length already: nothing on it decides what is allocated, but for few counts that are bounded.

use rustfft::num_complex::Complex32;

use crate::error::{Error, Result};

/// Something that frames change.
pub(crate) trait Recorded {
    /// Takes all that frames have changed, in a fixed order, to the tape, or from it.
    ///
    /// # Errors
    /// [`Error::Snapshot`] for a tape of something else. What was read until then stays.
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()>;
}

/// Bytes that are written, or read.
#[derive(Debug)]
pub(crate) struct Tape<'b>(Way<'b>);

#[derive(Debug)]
enum Way<'b> {
    To(Vec<u8>),
    From(&'b [u8]),
}

/// The error for bytes that are none of a tracker's.
pub(crate) fn unusable(reason: impl Into<String>) -> Error {
    Error::Snapshot { reason: reason.into() }
}

impl<'b> Tape<'b> {
    /// An empty one to be written.
    pub fn empty() -> Self {
        Self(Way::To(Vec::new()))
    }

    /// One to be read.
    pub fn of(bytes: &'b [u8]) -> Self {
        Self(Way::From(bytes))
    }

    /// What was written.
    pub fn written(self) -> Vec<u8> {
        match self.0 {
            Way::To(bytes) => bytes,
            Way::From(_) => Vec::new(),
        }
    }

    /// Whether all of it was read.
    ///
    /// # Errors
    /// [`Error::Snapshot`] where there is more.
    pub fn end(&self) -> Result<()> {
        match &self.0 {
            Way::From([_, ..]) => Err(unusable("there is more in it than belongs to such a tracker")),
            _ => Ok(()),
        }
    }

    /// As many bytes as there are, either way.
    fn bytes(&mut self, values: &mut [u8]) -> Result<()> {
        match &mut self.0 {
            Way::To(bytes) => bytes.extend_from_slice(values),
            Way::From(bytes) => {
                let (now, rest) = bytes.split_at_checked(values.len()).ok_or_else(|| unusable("it is cut off"))?;
                values.copy_from_slice(now);
                *bytes = rest;
            }
        }
        Ok(())
    }

    /// A number.
    pub fn f64(&mut self, value: &mut f64) -> Result<()> {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes)?;
        *value = f64::from_le_bytes(bytes);
        Ok(())
    }

    /// A number that places something: a finite one.
    pub fn place(&mut self, value: &mut f64) -> Result<()> {
        self.f64(value)?;
        if value.is_finite() { Ok(()) } else { Err(unusable("a place in it is not a finite number")) }
    }

    /// Two numbers that place something.
    pub fn point(&mut self, (x, y): &mut (f64, f64)) -> Result<()> {
        self.place(x)?;
        self.place(y)
    }

    /// A number.
    pub fn f32(&mut self, value: &mut f32) -> Result<()> {
        self.f32s(std::slice::from_mut(value))
    }

    /// Yes or no.
    pub fn flag(&mut self, value: &mut bool) -> Result<()> {
        let mut byte = [u8::from(*value)];
        self.bytes(&mut byte)?;
        *value = match byte {
            [0] => false,
            [1] => true,
            _ => return Err(unusable("an answer in it is neither yes nor no")),
        };
        Ok(())
    }

    /// A count of at most `most`.
    pub fn count(&mut self, value: &mut usize, most: usize) -> Result<()> {
        let mut bytes = (*value as u64).to_le_bytes();
        self.bytes(&mut bytes)?;
        *value = usize::try_from(u64::from_le_bytes(bytes))
            .ok()
            .filter(|count| *count <= most)
            .ok_or_else(|| unusable(format!("a count in it is beyond {most}")))?;
        Ok(())
    }

    /// Numbers, as many as there are.
    pub fn f32s(&mut self, values: &mut [f32]) -> Result<()> {
        match &mut self.0 {
            Way::To(bytes) => values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes())),
            Way::From(bytes) => {
                let length = values.len().saturating_mul(4);
                let (now, rest) = bytes.split_at_checked(length).ok_or_else(|| unusable("it is cut off"))?;
                let numbers = now.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                values.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
                *bytes = rest;
            }
        }
        Ok(())
    }

    /// Numbers, as many as there are.
    pub fn f64s<'v>(&mut self, values: impl IntoIterator<Item = &'v mut f64>) -> Result<()> {
        values.into_iter().try_for_each(|value| self.f64(value))
    }

    /// Complex numbers, as many as there are.
    pub fn complex(&mut self, values: &mut [Complex32]) -> Result<()> {
        values.iter_mut().try_for_each(|value| {
            self.f32(&mut value.re)?;
            self.f32(&mut value.im)
        })
    }

    /// A part that one model has and another has not.
    pub fn part<T: Recorded>(&mut self, part: &mut Option<T>) -> Result<()> {
        let mut there = part.is_some();
        self.flag(&mut there)?;
        match part {
            Some(part) if there => part.record(self),
            None if !there => Ok(()),
            _ => Err(unusable("it is of a tracker of other parts")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Everything {
        number: f64,
        point: (f64, f64),
        small: f32,
        flag: bool,
        count: usize,
        numbers: [f32; 3],
        complex: [Complex32; 2],
    }

    impl Recorded for Everything {
        fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
            tape.f64(&mut self.number)?;
            tape.point(&mut self.point)?;
            tape.f32(&mut self.small)?;
            tape.flag(&mut self.flag)?;
            tape.count(&mut self.count, 9)?;
            tape.f32s(&mut self.numbers)?;
            tape.complex(&mut self.complex)
        }
    }

    fn everything() -> Everything {
        Everything {
            number: f64::NEG_INFINITY,
            point: (1.5, -0.0),
            small: 1e-42,
            flag: true,
            count: 7,
            numbers: [1.0, 2.0, -3.0],
            complex: [Complex32::new(1.0, 2.0), Complex32::new(3.0, -4.0)],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut tape = Tape::empty();
        tape.part(&mut Some(everything())).unwrap();
        tape.part(&mut None::<Everything>).unwrap();
        let bytes = tape.written();
        let (mut tape, mut read) = (Tape::of(&bytes), Some(Everything::default()));
        tape.part(&mut read).unwrap();
        tape.part(&mut None::<Everything>).unwrap();
        tape.end().unwrap();
        assert_eq!(read, Some(everything()));
        // Every other length is refused, and what is there and what is not.
        for length in 0..bytes.len() {
            let mut tape = Tape::of(&bytes[..length]);
            let mut read = Some(Everything::default());
            assert!(tape.part(&mut read).and_then(|()| tape.part(&mut None::<Everything>)).is_err(), "{length}");
        }
        assert!(Tape::of(&bytes).part(&mut None::<Everything>).is_err());
        let longer = [&bytes[..], &[0]].concat();
        let mut tape = Tape::of(&longer);
        tape.part(&mut Some(everything())).and_then(|()| tape.part(&mut None::<Everything>)).unwrap();
        assert!(tape.end().is_err());
    }

    #[test]
    fn no_byte_makes_a_count_large_or_a_place_infinite() {
        let mut tape = Tape::empty();
        everything().record(&mut tape).unwrap();
        let bytes = tape.written();
        for at in 0..bytes.len() {
            for byte in [0, 1, 127, 255] {
                let mut wrong = bytes.clone();
                wrong[at] = byte;
                let mut read = Everything::default();
                if read.record(&mut Tape::of(&wrong)).is_ok() {
                    assert!(read.count <= 9 && read.point.0.is_finite());
                }
            }
        }
    }
}
