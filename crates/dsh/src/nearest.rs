//! Names that may be meant.

/// How far apart names may be of which one is taken for the other.
const NEAR: usize = 2;

/// The name among these that may be meant.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&name, &other.to_lowercase());
    let mut near: Vec<(usize, &str)> =
        names.into_iter().map(|other| (distance(other), other)).filter(|(far, _)| *far <= NEAR).collect();
    near.sort_by_key(|(far, _)| *far);
    // A short name is near to everything.
    near.first().filter(|(far, _)| far * 2 < name.chars().count().max(1)).map(|(_, other)| *other)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_name_is_near_if_little_is_written_otherwise() {
        let names = ["bash", "read", "PreToolUse", "PostToolUse"];
        for (name, meant) in [
            ("Bash", Some("bash")),
            ("bahs", Some("bash")),
            ("pretooluse", Some("PreToolUse")),
            ("PreTolUse", Some("PreToolUse")),
            ("Foo", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), meant, "{name}");
        }
    }
}
