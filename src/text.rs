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

/// A cell of such a row as it was.
pub fn unquoted(cell: &str) -> String {
    let quoted = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
    quoted.map_or_else(|| cell.to_owned(), |cell| cell.replace("\"\"", "\""))
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
