//! Which tools are counted.

use crate::config::Config;

/// The tools that are counted.
pub(crate) struct Tracked {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Tracked {
    pub(crate) fn new(config: &Config) -> Self {
        Self { include: config.include.clone(), exclude: config.exclude.clone() }
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// Whether the whole name is of the pattern, in which `*` is any run of characters and all else stands for itself.
fn matches(pattern: &str, name: &str) -> bool {
    // Comparing bytes is enough: in UTF-8 no character is a part of another one.
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // Behind the last star, and where the rest is tried next if it does not fit here.
    let mut star = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, seen));
            }
            Some(byte) if *byte == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((behind, from)) = star else { return false };
                star = Some((behind, from + 1));
                (at, seen) = (behind, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use proptest::prelude::*;

    use super::*;

    /// The same by trying every split.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['*', rest @ ..] => (0..=name.len()).any(|skipped| naive(rest, &name[skipped..])),
            [first, rest @ ..] => name.first() == Some(first) && naive(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn a_pattern_fits_what_some_choice_of_runs_makes_of_it(pattern in "[ab*é.]{0,7}", name in "[abé.]{0,9}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), naive(&chars(&pattern), &chars(&name)));
        }
    }
}
