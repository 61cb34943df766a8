//! What the library says, in the words of a command line.

use crate::tracker::settings::{find, table};

/// What the library calls something, and the flag for it.
const WORDS: [(&str, &str); 3] = [
    ("resume it", "go on with it by --resume"),
    ("overwrite it", "overwrite it with --force"),
    ("`target` chooses", "--target N takes"),
];

/// What the library asks for, with flags in the place of its own words.
pub fn words_in_flags(said: &str) -> String {
    WORDS.iter().fold(said.to_owned(), |said, (word, flag)| said.replace(word, flag))
}

/// What is said of a setting by its path, with flags in the place of paths: `name` and `value` are those of
/// [`Error::Parameter`](crate::Error::Parameter).
pub fn in_flags(name: &str, value: &str, expected: &str) -> String {
    let mut expected = words_in_flags(expected);
    // The longest first: some paths begin as others do.
    let mut flagged: Vec<_> = table().iter().filter(|setting| setting.path.contains('.')).collect();
    flagged.sort_by_key(|setting| std::cmp::Reverse(setting.path.len()));
    for setting in flagged {
        if let Some(flag) = setting.flags.first() {
            // With a value behind it, as it is typed.
            expected = expected.replace(&format!("{} = ", setting.path), &format!("--{flag} "));
            expected = expected.replace(setting.path, &format!("--{flag}"));
        }
    }
    match find(name) {
        Ok(setting) => match (setting.flags.first(), name.split_once(".windows.machine.")) {
            (Some(flag), _) => format!("--{flag} {value}: {expected}"),
            (None, Some((_, key))) => {
                format!("--machine {}={value}: {expected}", key.split('.').nth(1).unwrap_or(key))
            }
            _ => format!("--set {name}={value}: {expected}"),
        },
        Err(_) => format!("--{name} {value}: {expected}"),
    }
}

#[cfg(test)]
mod tests {
    use super::in_flags;

    #[test]
    fn what_is_needed_is_said_as_it_is_typed() {
        let needed = "needs search.filter.feature = hog or a search.filter.kernel without a width";
        let said = in_flags("states", "belief", needed);
        assert_eq!(said, "--states belief: needs --feature hog or a --kernel without a width");
    }
}
