//! Names of sequences, as people and other tools write them.

/// Whether a sequence is meant by a name that a person wrote.
pub(super) fn is_called(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (key(name), key(wanted));
    let folder = name.rsplit_once('-').filter(|(_, target)| is_number(target)).map(|(folder, _)| folder);
    name == wanted || folder == Some(wanted.as_str())
}

/// A sequence's name without what writers disagree on: `jogging-2` for `Jogging.2`, `Jogging_2` and `jogging-2`.
pub(super) fn key(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let digits = lower.len() - lower.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (head, tail) = lower.split_at(lower.len() - digits);
    match head.strip_suffix(['.', '_', '-']) {
        Some(head) if !tail.is_empty() => format!("{head}-{tail}"),
        _ => lower,
    }
}

/// Whether a part of a name is a number, of a target or of a run.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_that_of_numbered_targets_alone() {
        for (name, wanted, is) in [
            ("dog-agility", "dog", false),
            ("dog", "dog", true),
            ("Jogging-1", "jogging", true),
            ("Jogging-1", "Jogging.1", true),
            ("dog-agility", "dog-agility", true),
        ] {
            assert_eq!(is_called(name, wanted), is, "{name}, {wanted}");
        }
    }

    #[test]
    fn names_are_compared_without_their_separators() {
        assert_eq!(key("Jogging.2"), key("jogging_2"));
        assert_eq!(key("Jogging-2"), "jogging-2");
        assert_eq!(key("Freeman1"), "freeman1");
        assert_eq!(key("GOT-10k_Val_000001"), "got-10k_val-000001");
    }
}
