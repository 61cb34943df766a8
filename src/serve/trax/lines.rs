//! The lines of a stream that are messages.

use std::io::{self, BufRead, Read};

use super::message::PREFIX;

/// Most bytes of a line: a picture of 8K as RGB in Base64 takes half of it.
pub const MAX_LINE: usize = 1 << 28;

/// What comes next in a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// What follows the prefix of a message, without the end of the line.
    Message(&'a [u8]),
    /// The stream has ended, after whole lines.
    End,
    /// The stream has ended in the middle of a message.
    Cut,
    /// A line is longer than [`MAX_LINE`].
    TooLong,
}

/// Finds messages among the lines of a stream. What has no prefix is somebody's remark and is skipped.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    limit: usize,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, line: Vec::new(), limit: MAX_LINE }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// Whatever reading says.
    pub fn next(&mut self) -> io::Result<Next<'_>> {
        loop {
            self.line.clear();
            // One byte more than is allowed tells a line that is too long from one that is just not.
            let mut input = self.input.by_ref().take(self.limit as u64 + 1);
            if input.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(Next::End);
            }
            let whole = self.line.pop_if(|last| *last == b'\n').is_some();
            if self.line.len() > self.limit {
                return Ok(Next::TooLong);
            }
            match (self.line.starts_with(PREFIX), whole) {
                (true, true) => break,
                (true, false) => return Ok(Next::Cut),
                (false, true) => {}
                (false, false) => return Ok(if PREFIX.starts_with(&self.line) { Next::Cut } else { Next::End }),
            }
        }
        self.line.pop_if(|last| *last == b'\r');
        Ok(Next::Message(&self.line[PREFIX.len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, limit: usize) -> Lines<&[u8]> {
        Lines { limit, ..Lines::new(text.as_bytes()) }
    }

    #[test]
    fn remarks_between_messages_are_skipped() {
        let mut lines = lines("hi\n\n@@TRAX:frame a\r\n @@TRAX:frame b\n@@TRA\n@@TRAX:quit\nbye", 99);
        assert_eq!(lines.next().unwrap(), Next::Message(b"frame a"));
        assert_eq!(lines.next().unwrap(), Next::Message(b"quit"));
        assert_eq!(lines.next().unwrap(), Next::End);
    }

    #[test]
    fn a_message_without_its_end_is_cut() {
        for text in ["@@TRAX:frame a", "@@TRAX:", "@@TR", "@"] {
            assert_eq!(lines(text, 99).next().unwrap(), Next::Cut, "{text}");
        }
        assert_eq!(lines("", 99).next().unwrap(), Next::End);
    }

    #[test]
    fn a_line_has_a_longest_length() {
        assert_eq!(lines("@@TRAX:frame a\n", 14).next().unwrap(), Next::Message(b"frame a"));
        assert_eq!(lines("@@TRAX:frame a\n", 13).next().unwrap(), Next::TooLong);
        // A remark, too, and before all of it has come.
        assert_eq!(lines(&"x".repeat(1 << 20), 13).next().unwrap(), Next::TooLong);
        let mut endless = Lines { limit: 1 << 16, ..Lines::new(io::BufReader::new(io::repeat(b'x'))) };
        assert_eq!(endless.next().unwrap(), Next::TooLong);
        assert!(endless.line.capacity() <= 1 << 18);
    }
}
