//! A policy as one text: what retries are counted by.

use dsh_llm::{Backoff, RetryPolicy};
use serde_json::Value;

/// A text that is the same for two policies exactly if they behave the same.
///
/// Source: the field `policyKey` of the reference's event `llm/retry`.
///
/// # Examples
/// ```
/// use dsh_llm::RetryPolicy;
/// use dsh_llm_retry::policy_key;
///
/// assert_eq!(
///     policy_key(&RetryPolicy::default()),
///     r#"["normal",5,["EMPTY_RESPONSE","RATE_LIMIT","SERVER","TIMEOUT","TRANSPORT"],500,10000,0.1]"#
/// );
/// ```
#[must_use]
pub fn policy_key(policy: &RetryPolicy) -> String {
    match policy {
        RetryPolicy::Normal { max_retries, retryable_codes, backoff } => {
            let mut codes = retryable_codes.clone();
            codes.sort_unstable();
            format!(r#"["normal",{max_retries},{},{}]"#, Value::from(codes), delays(backoff))
        }
        RetryPolicy::Always { backoff } => format!(r#"["always",{}]"#, delays(backoff)),
    }
}

fn delays(backoff: &Backoff) -> String {
    let Backoff { initial_delay_ms, max_delay_ms, jitter_ratio } = backoff;
    [initial_delay_ms, max_delay_ms, jitter_ratio]
        .map(|number| ryu_js::Buffer::new().format(*number).to_owned())
        .join(",")
}

#[cfg(test)]
mod tests {
    use dsh_llm::{Backoff, RetryPolicy};

    use super::policy_key;

    fn always(initial_delay_ms: f64, max_delay_ms: f64, jitter_ratio: f64) -> String {
        policy_key(&RetryPolicy::Always { backoff: Backoff { initial_delay_ms, max_delay_ms, jitter_ratio } })
    }

    // spec: agent-loop/S91
    #[test]
    fn numbers_are_written_as_the_reference_does() {
        assert_eq!(always(20.0, 100.0, 0.0), r#"["always",20,100,0]"#);
        assert_eq!(always(0.5, 2_147_483_647.0, 1e-7), r#"["always",0.5,2147483647,1e-7]"#);
    }

    // spec: agent-loop/S91
    #[test]
    fn the_order_of_codes_makes_no_difference_and_every_other_field_does() {
        let policy = |max_retries, codes: &[&str], jitter_ratio| {
            policy_key(&RetryPolicy::Normal {
                max_retries,
                retryable_codes: codes.iter().map(|&code| code.to_owned()).collect(),
                backoff: Backoff { jitter_ratio, ..Backoff::default() },
            })
        };
        let key = policy(2, &["B", "A\""], 0.0);
        assert_eq!(key, r#"["normal",2,["A\"","B"],500,10000,0]"#);
        assert_eq!(policy(2, &["A\"", "B"], 0.0), key);
        for other in [policy(3, &["B", "A\""], 0.0), policy(2, &["B"], 0.0), policy(2, &["B", "A\""], 0.1)] {
            assert_ne!(other, key);
        }
    }
}
