//! What an answer cost, as servers write it.

use dsh_llm::TokenUsage;
use serde_json::Value;

/// The counts, if they are there. The input leaves out what came from a cache.
pub(crate) fn usage(text: &str) -> Option<TokenUsage> {
    let counts: Value = serde_json::from_str(text).ok()?;
    let count = |path: &str| counts.pointer(path).and_then(whole);
    let (prompt, output) = (count("/prompt_tokens")?, count("/completion_tokens")?);
    let cached = count("/prompt_tokens_details/cached_tokens").or_else(|| count("/prompt_cache_hit_tokens"));
    Some(TokenUsage {
        // Some servers count more from the cache than there was.
        input_tokens: prompt.saturating_sub(cached.unwrap_or(0)),
        output_tokens: output,
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens"),
    })
}

/// A whole number, also where it is written with a point.
fn whole(count: &Value) -> Option<u64> {
    let float = || count.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float));
    count.as_u64().or_else(|| float().map(|float| float as u64))
}
