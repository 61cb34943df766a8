//! Text of tables and pages.

/// A row of comma-separated values; cells with a comma, a quote or a line end are quoted.
pub fn csv_line(cells: &[impl AsRef<str>]) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let cells: Vec<_> = cells.iter().map(|cell| quoted(cell.as_ref())).collect();
    cells.join(",") + "\n"
}

/// The cell of a value; empty for none.
pub fn cell(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A cell of such a row as it was.
pub fn unquoted(cell: &str) -> String {
    let quoted = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
    quoted.map_or_else(|| cell.to_owned(), |cell| cell.replace("\"\"", "\""))
}

/// Characters of a message that are shown.
const MAX_SHOWN: usize = 2000;

/// A message as it is shown on a terminal or a page, in one line: names and cells of files in it may have control
/// characters, which are escaped, and any length, whose middle is left out.
pub fn shown(message: &str) -> String {
    let start = message.char_indices().nth(MAX_SHOWN / 2).map_or(message.len(), |(at, _)| at);
    let end = message.char_indices().rev().nth(MAX_SHOWN / 2 - 1).map_or(0, |(at, _)| at);
    match start < end {
        true => format!("{} … {}", escaped(&message[..start]), escaped(&message[end..])),
        false => escaped(message),
    }
}

/// A text whose control characters, line ends too, and characters that turn the direction of reading, are escaped.
fn escaped(text: &str) -> String {
    let is_safe = |c: char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let each = |c: char| if is_safe(c) { c.to_string() } else { c.escape_default().to_string() };
    text.chars().map(each).collect()
}

/// Text as it may stand in HTML and XML, in attributes too. Characters that XML does not have become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\t' | '\n' | '\r' => escaped.push(c),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The page of a template, each `{{name}}` of which is the place of a part.
pub fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(known, _)| *known == name);
        debug_assert!(part.is_some(), "the template has a part {name}, which is not given");
        page += part.map_or("", |(_, part)| part);
        page += rest;
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_moves_no_cursor_and_keeps_its_ends() {
        assert_eq!(shown("a\u{1b}[2Jb\r\u{202e}\nc é"), "a\\u{1b}[2Jb\\r\\u{202e}\\nc é");
        let long = shown(&format!("line 3: `{}` is no number", "9".repeat(10_000_000)));
        assert!(long.len() < 2100 && long.starts_with("line 3: `99") && long.ends_with("9` is no number"), "{long}");
        let whole = "x".repeat(MAX_SHOWN);
        assert_eq!(shown(&whole), whole);
    }
}
