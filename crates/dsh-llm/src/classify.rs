//! What the words of a provider mean, where no code says it. Careful: a text that only may mean it does not.

use std::sync::LazyLock;

use regex_lite::Regex;

static OVERFLOW: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)context[_ -]?(length|window)[_ -]?(is |was )?(exceeded|overflow)",
        r"|context[_ -]overflow",
        r"|maximum context length",
        r"|(request|prompt|input|conversation)( is| was)? too (large|long) for (the |this )?(model|model's|context)",
        r"|exceeds? (the )?(model('s)?|maximum) context",
        r"|exceeds? the context (window|length)",
    ))
    .ok()
});

static QUOTA: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)insufficient[_ -](quota|balance|credits?|funds)",
        r"|(quota|usage[_ -]limit)[_ -]?(has been |is |was )?(exceeded|exhausted|reached)",
        r"|exceeded (your |the )?(current |monthly )?quota",
        r"|(balance|credits?)( has been| have been| is| are| was| were)? (exhausted|depleted)",
        r"|out of (credits?|budget)",
    ))
    .ok()
});

/// Whether a provider says that the conversation is longer than the model can hold.
#[must_use]
pub fn is_context_overflow(wording: &str) -> bool {
    OVERFLOW.as_ref().is_some_and(|pattern| pattern.is_match(wording))
}

/// Whether a provider says that the account has nothing left, which waiting does not mend.
#[must_use]
pub fn is_quota(wording: &str) -> bool {
    QUOTA.as_ref().is_some_and(|pattern| pattern.is_match(wording))
}

#[cfg(test)]
mod tests {
    use super::{is_context_overflow, is_quota};

    // spec: llm/S28
    #[test]
    fn a_conversation_that_is_too_long_is_told_from_other_bad_requests() {
        for text in [
            "context_length_exceeded",
            "This model's maximum context length is 131072 tokens.",
            "prompt is too long for this model",
            "Request too large for the model's context",
            "input exceeds the model's context window",
            "context window exceeded",
            "Context overflow",
        ] {
            assert!(is_context_overflow(text), "{text}");
        }
        for text in [
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            "the request is too large",
            "messages: field required",
            "Rate limit reached for this model",
            "missing context",
            "",
        ] {
            assert!(!is_context_overflow(text), "{text}");
        }
    }

    // spec: llm/S28
    #[test]
    fn an_account_that_has_nothing_left_is_told_from_too_many_requests() {
        for text in [
            "Insufficient Balance",
            "insufficient_quota",
            "You exceeded your current quota, please check your plan",
            "quota exhausted",
            "usage limit reached",
            "Your credits are depleted",
            "balance exhausted",
            "out of credits",
            "out of budget",
        ] {
            assert!(is_quota(text), "{text}");
        }
        for text in
            ["Rate limit reached", "too many requests", "limit exceeded", "slow down", "the quota is 5", ""]
        {
            assert!(!is_quota(text), "{text}");
        }
    }

    #[test]
    fn the_patterns_are_patterns() {
        assert!(super::OVERFLOW.is_some() && super::QUOTA.is_some());
    }
}
