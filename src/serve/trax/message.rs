//! One message: a kind, arguments, and named properties, in a line of text.

use std::borrow::Cow;
use std::fmt;

/// What a message begins with, at the start of its line.
pub(super) const PREFIX: &[u8] = b"@@TRAX:";

/// Most arguments and properties of a message, together.
pub const MAX_ARGUMENTS: usize = 256;

/// Most characters of a property's name.
const MAX_KEY: usize = 64;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of the server: what it is and can do.
    Hello,
    /// Of the client: an object to follow.
    Initialize,
    /// Of the client: the next image.
    Frame,
    /// Of the server: where an object is.
    State,
    /// Of either: the end.
    Quit,
}

impl Kind {
    const ALL: [(Self, &str); 6] = [
        (Self::Hello, "hello"),
        (Self::Initialize, "initialize"),
        (Self::Frame, "frame"),
        (Self::State, "state"),
        (Self::Quit, "quit"),
        // As early servers called it.
        (Self::State, "status"),
    ];

    fn of(name: &[u8]) -> Option<Self> {
        let named = Self::ALL.iter().find(|(_, known)| known.as_bytes().eq_ignore_ascii_case(name));
        named.map(|(kind, _)| *kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().find(|(kind, _)| kind == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

/// A message. Arguments are bytes: the names of files need not be text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is for.
    pub kind: Kind,
    /// The arguments that belong to its kind, in order.
    pub arguments: Vec<Cow<'a, [u8]>>,
    /// Names and values besides, in order.
    pub properties: Vec<(String, Cow<'a, [u8]>)>,
}

impl<'a> Message<'a> {
    /// A message of this kind, and nothing in it yet.
    pub fn new(kind: Kind) -> Self {
        Self { kind, arguments: Vec::new(), properties: Vec::new() }
    }

    /// The same with one argument more.
    pub fn with(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(Cow::Owned(argument.into().into_bytes()));
        self
    }

    /// The same with one property more. A `key` is 1 to 64 of letters, digits, dots and underscores.
    pub fn set(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.properties.push((key.to_owned(), Cow::Owned(value.to_string().into_bytes())));
        self
    }

    /// Reads what follows the prefix of a line. Words are separated by blanks; one that holds a blank stands in double
    /// quotes; a backslash takes the next character as it is, but for `\n`, which ends a line. A word `key=value` is a
    /// property if `key` can be one, and else an argument.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(line: &'a [u8]) -> Result<Self, String> {
        let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (name, mut rest) = line.split_at(end);
        let kind = Kind::of(name).ok_or_else(|| format!("`{}` is no message of TraX", shortened(name)))?;
        let mut message = Self::new(kind);
        loop {
            while let [b' ', after @ ..] = rest {
                rest = after;
            }
            if rest.is_empty() {
                return Ok(message);
            }
            if message.arguments.len() + message.properties.len() == MAX_ARGUMENTS {
                return Err(format!("`{kind}` has more than {MAX_ARGUMENTS} arguments"));
            }
            let (word, after) = word(rest)?;
            rest = after;
            match split_property(&word) {
                Some((key, value)) => message.properties.push((key, value_of(word, value))),
                None => message.arguments.push(word),
            }
        }
    }

    /// The line, prefix and end included.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = PREFIX.to_vec();
        line.extend(self.kind.to_string().into_bytes());
        let mut quote = |parts: &[&[u8]]| {
            line.extend(b" \"");
            for byte in parts.concat() {
                match byte {
                    b'"' | b'\\' => line.extend([b'\\', byte]),
                    b'\n' => line.extend(b"\\n"),
                    byte => line.push(byte),
                }
            }
            line.push(b'"');
        };
        self.arguments.iter().for_each(|argument| quote(&[argument]));
        self.properties.iter().for_each(|(key, value)| quote(&[key.as_bytes(), b"=", value]));
        line.push(b'\n');
        line
    }
}

/// The first word of a text that does not begin with a blank, and what follows it.
fn word(text: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8]), String> {
    let quoted = text.first() == Some(&b'"');
    let inside = &text[usize::from(quoted)..];
    let mut owned: Option<Vec<u8>> = None;
    let mut at = 0;
    // Everything up to `at` is read; what there was of it without an escape stays where it is.
    while let Some(&byte) = inside.get(at) {
        match byte {
            b'"' if quoted => break,
            b' ' if !quoted => break,
            b'\\' => {
                let escaped = *inside.get(at + 1).ok_or("a backslash ends the line")?;
                let word = owned.get_or_insert_with(|| inside[..at].to_vec());
                word.push(if escaped == b'n' { b'\n' } else { escaped });
                at += 1;
            }
            byte => owned.iter_mut().for_each(|word| word.push(byte)),
        }
        at += 1;
    }
    let word = owned.map_or(Cow::Borrowed(&inside[..at]), Cow::Owned);
    let after = &inside[at..];
    match (quoted, after) {
        (true, []) => Err(format!("the quotes of `{}` do not end", shortened(inside))),
        (true, [_, b' ', ..] | [_]) => Ok((word, &after[1..])),
        (true, _) => Err(format!("no blank follows the quotes of `{}`", shortened(inside))),
        (false, _) => Ok((word, after)),
    }
}

/// The name of a property, and where its value begins.
fn split_property(word: &[u8]) -> Option<(String, usize)> {
    let key = word.iter().take(MAX_KEY + 1).position(|byte| *byte == b'=')?;
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
    let name = word.get(..key).filter(|name| !name.is_empty() && name.iter().all(named))?;
    Some((String::from_utf8_lossy(name).into_owned(), key + 1))
}

fn value_of(word: Cow<'_, [u8]>, at: usize) -> Cow<'_, [u8]> {
    match word {
        Cow::Borrowed(word) => Cow::Borrowed(&word[at..]),
        Cow::Owned(mut word) => Cow::Owned(word.split_off(at)),
    }
}

/// The beginning of what somebody wrote, for an error.
pub(super) fn shortened(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(bytes.get(..SHOWN).unwrap_or(bytes));
    let more = if bytes.len() > SHOWN { "…" } else { "" };
    format!("{}{more}", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Message<'_> {
        Message::parse(line.as_bytes()).unwrap()
    }

    fn arguments(line: &str) -> Vec<String> {
        let text = |bytes: &Cow<'_, [u8]>| String::from_utf8(bytes.to_vec()).unwrap();
        parse(line).arguments.iter().map(text).collect()
    }

    #[test]
    fn words_are_read_as_the_protocol_writes_them() {
        assert_eq!(arguments("frame a b"), ["a", "b"]);
        assert_eq!(arguments("FRAME  \"a b\"   c "), ["a b", "c"]);
        assert_eq!(arguments(r#"frame "a\"b\\c\nd" e\ f"#), ["a\"b\\c\nd", "e f"]);
        assert_eq!(arguments("frame \"\" x"), ["", "x"]);
        assert!(arguments("quit").is_empty() && arguments("quit ").is_empty());
    }

    #[test]
    fn a_property_has_a_name() {
        let message = parse("state \"1,2,3,4\" confidence=0.5 \"trax.reason=a b=c\" a\\\"b=c");
        let values: Vec<_> = message.properties.iter().map(|(key, value)| (key.as_str(), value.as_ref())).collect();
        assert_eq!(values, [("confidence", &b"0.5"[..]), ("trax.reason", b"a b=c")]);
        // Padding of Base64 and paths are none.
        assert_eq!(arguments("frame image:1;1;gray8;AA== /a=b =c"), ["image:1;1;gray8;AA==", "/a=b", "=c"]);
        let longest = "k".repeat(MAX_KEY);
        assert_eq!(parse(&format!("frame {longest}=1")).properties.len(), 1);
        assert_eq!(parse(&format!("frame {longest}k=1")).arguments.len(), 1);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (line, said) in [
            ("", "is no message"),
            ("jump a", "`jump` is no message"),
            ("frame\ta", "is no message"),
            ("frame \"a", "do not end"),
            ("frame \"a\\\"", "do not end"),
            ("frame a\\", "a backslash ends"),
            ("frame \"a\"b", "no blank follows"),
        ] {
            let reason = Message::parse(line.as_bytes()).unwrap_err();
            assert!(reason.contains(said), "{line}: {reason}");
        }
        assert!(Message::parse(&[b"frame".as_slice(), &b" a".repeat(MAX_ARGUMENTS)].concat()).is_ok());
        let reason = Message::parse(&[b"frame".as_slice(), &b" a".repeat(MAX_ARGUMENTS + 1)].concat()).unwrap_err();
        assert!(reason.contains("more than 256"), "{reason}");
        assert!(Message::parse(&[0xFF; 1000]).unwrap_err().len() < 400);
    }

    #[test]
    fn a_long_argument_is_not_copied() {
        let line = format!("frame \"image:{}\" key=value", "A".repeat(100));
        let message = parse(&line);
        assert!(matches!(message.arguments[0], Cow::Borrowed(_)));
        assert!(matches!(message.properties[0].1, Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..5),
            properties in prop::collection::vec(("[a-z0-9._]{1,64}", prop::collection::vec(any::<u8>(), 0..20)), 0..5),
        ) {
            let argument = |bytes: Vec<u8>| Some(bytes).filter(|bytes| split_property(bytes).is_none()).map(Cow::Owned);
            let message = Message {
                kind: Kind::State,
                arguments: arguments.into_iter().filter_map(argument).collect(),
                properties: properties.into_iter().map(|(key, value)| (key, Cow::Owned(value))).collect(),
            };
            let line = message.to_line();
            let body = line.strip_prefix(PREFIX).and_then(|line| line.strip_suffix(b"\n")).unwrap();
            prop_assert!(!body.contains(&b'\n'));
            prop_assert_eq!(Message::parse(body).unwrap(), message);
        }

        #[test]
        fn no_line_panics(
            line in prop::collection::vec(any::<u8>(), 0..60), almost in "(frame|state) [\"\\\\ =a.n]{0,20}",
        ) {
            let _ = (Message::parse(&line), Message::parse(almost.as_bytes()));
        }
    }
}
