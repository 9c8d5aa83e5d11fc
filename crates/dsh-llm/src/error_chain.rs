//! A failure with all its causes, on one line.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many causes are told.
const MAX_CAUSES: usize = 32;

/// The error's text and those of its causes, outermost first, joined by `: `. A cause that says just what its wrapper says is
/// left out. It is for people; nothing decides by it. Errors are of others: one that panics when it is shown is said to do so.
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    catch_unwind(AssertUnwindSafe(|| joined(error)))
        .unwrap_or_else(|_| "an error that panics when it is shown".to_owned())
}

fn joined(error: &(dyn Error + 'static)) -> String {
    let mut chain = said(error);
    let mut last = chain.clone();
    let mut next = error.source();
    for _ in 0..MAX_CAUSES {
        let Some(cause) = next else { break };
        next = cause.source();
        let text = said(cause);
        if text != last {
            chain.push_str(": ");
            chain.push_str(&text);
        }
        last = text;
    }
    chain
}

/// What an error says; one that says nothing is said to be one.
fn said(error: &dyn Error) -> String {
    let text = error.to_string();
    if text.is_empty() { "an error without a message".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::error_chain;

    #[derive(Debug)]
    struct Says(&'static str, Option<Box<Says>>);

    impl fmt::Display for Says {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Says {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            self.1.as_deref().map(|cause| cause as &(dyn std::error::Error + 'static))
        }
    }

    // spec: llm/S27
    #[test]
    fn causes_follow_outermost_first_and_each_text_once() {
        let chain = |texts: &[&'static str]| {
            let error = texts.iter().rev().fold(None, |cause, text| Some(Box::new(Says(text, cause))));
            error_chain(&*error.unwrap_or_else(|| Box::new(Says("", None))))
        };
        assert_eq!(chain(&["outer", "middle", "inner"]), "outer: middle: inner");
        assert_eq!(chain(&["same", "same", "inner"]), "same: inner");
        assert_eq!(chain(&["", "inner"]), "an error without a message: inner");
        assert_eq!(chain(&["alone"]), "alone");
    }

    #[derive(Debug)]
    struct Unsayable;

    impl fmt::Display for Unsayable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no text")
        }
    }

    impl std::error::Error for Unsayable {}

    #[test]
    fn an_error_that_panics_when_it_is_shown_is_told_of_all_the_same() {
        assert_eq!(error_chain(&Unsayable), "an error that panics when it is shown");
    }
}
