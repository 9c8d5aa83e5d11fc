//! Parts of an answer that are taken out of its request: `{{fromRequest:PATTERN}}`.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use dsh_llm::{LlmError, ModelRequest, code};
use regex_lite::{Regex, RegexBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const OPENING: &str = "{{fromRequest:";
/// How large a pattern may become; time grows with it for every character of a request.
const MAX_PATTERN_BYTES: usize = 1 << 18;
/// How long a search may take, which nothing can cancel.
const SEARCH_LIMIT: Duration = Duration::from_secs(2);
/// How much of a placeholder without an end is told.
const SHOWN_CHARS: usize = 80;

/// Part of an answer with every placeholder in its texts filled in: the last match of its pattern in the texts of the request
/// counts, of that the first group, or all of it. What it is filled with is not looked into.
pub(crate) fn filled<T: Serialize + DeserializeOwned>(
    part: T,
    request: &ModelRequest,
) -> Result<T, LlmError> {
    if !serde_json::to_string(&part).map_err(failed)?.contains(OPENING) {
        return Ok(part);
    }
    let mut value = serde_json::to_value(part).map_err(failed)?;
    fill(&mut value, &corpus(request))?;
    serde_json::from_value(value).map_err(failed)
}

fn failed(error: serde_json::Error) -> LlmError {
    LlmError::new(code::UNKNOWN, "an answer with a placeholder cannot be read").with_source(error)
}

/// All texts of the messages, a line each.
fn corpus(request: &ModelRequest) -> String {
    let mut texts = Vec::new();
    for message in request.messages.iter() {
        if let Ok(value) = serde_json::to_value(&**message) {
            leaves(value, &mut texts);
        }
    }
    texts.join("\n")
}

fn leaves(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| leaves(item, texts)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| leaves(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn fill(value: &mut Value, corpus: &str) -> Result<(), LlmError> {
    match value {
        Value::String(text) => {
            if text.contains(OPENING) {
                *text = filled_text(text, corpus)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill(item, corpus)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| fill(field, corpus)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn filled_text(text: &str, corpus: &str) -> Result<String, LlmError> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(OPENING) {
        let wrong = |shown: &str, what: &str| {
            LlmError::new(code::UNKNOWN, format!("the placeholder {OPENING}{shown}: {what}"))
        };
        let end = from.find("}}").ok_or_else(|| wrong(&beginning(from), "it has no end"))?;
        // A pattern may end in a brace: of a run of braces the last two are the end.
        let run = from[end..].bytes().take_while(|byte| *byte == b'}').count();
        let pattern = &from[..end + run - 2];
        let wrong = |what: &str| wrong(&from[..end + run], what);
        let regex = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
        let regex = regex.map_err(|error| wrong(&format!("its pattern is none: {error}")))?;
        let last = last_match(&regex, corpus, SEARCH_LIMIT);
        let found = last.map_err(&wrong)?.ok_or_else(|| wrong("the request has no match"))?;
        filled.push_str(before);
        filled.push_str(found);
        rest = &from[end + run..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The last match: its first group, or all of it.
fn last_match<'c>(regex: &Regex, corpus: &'c str, limit: Duration) -> Result<Option<&'c str>, &'static str> {
    let begun = Instant::now();
    let mut last = None;
    for found in regex.find_iter(corpus) {
        // Each match alone is found in linear time, but may have looked at the whole rest of the texts.
        if begun.elapsed() > limit {
            return Err("its search takes too long: make the pattern simpler, so that it matches less often");
        }
        last = Some(found.start());
    }
    let captures = last.and_then(|start| regex.captures_at(corpus, start));
    Ok(captures.and_then(|captures| captures.get(1).or_else(|| captures.get(0))).map(|found| found.as_str()))
}

/// Enough of a text to find it by.
fn beginning(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::time::Duration;

    use regex_lite::Regex;

    use super::{filled_text, last_match};

    // spec: llm/S73
    #[test]
    fn the_last_match_counts_and_the_last_braces_of_a_run_close() {
        let filled = |text| filled_text(text, "id a1\nid b2\n{x}").unwrap();
        assert_eq!(filled("<{{fromRequest:id (\\w+)}}>"), "<b2>");
        assert_eq!(filled("{{fromRequest:id \\w+}}"), "id b2");
        assert_eq!(filled("{{fromRequest:[a-z]\\d{1}}}!"), "b2!");
        assert_eq!(filled("{{fromRequest:a.}} {{fromRequest:b.}}"), "a1 b2");
        assert_eq!(filled("none"), "none");
    }

    // spec: llm/S73
    #[test]
    fn a_placeholder_that_cannot_be_filled_in_is_an_error() {
        for (text, told) in [
            ("{{fromRequest:z}}", "no match"),
            ("{{fromRequest:(}}", "pattern"),
            ("{{fromRequest:((\\w{99}){99}){9}}}", "pattern"),
            ("{{fromRequest:a", "no end"),
        ] {
            let error = filled_text(text, "abc").unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    // spec: llm/S73
    #[test]
    fn a_search_that_looks_at_everything_again_and_again_is_given_up() {
        let regex = Regex::new("t.*z|t").unwrap();
        assert_eq!(last_match(&regex, "tt", Duration::from_secs(600)), Ok(Some("t")));
        assert!(last_match(&regex, &"t".repeat(1_000), Duration::ZERO).unwrap_err().contains("too long"));
        // Unbounded, this takes hours.
        let error = filled_text("{{fromRequest:t.*z|t}}", &"t".repeat(200_000)).unwrap_err().to_string();
        assert!(error.contains("too long"), "{error}");
    }

    // spec: llm/S73
    #[test]
    fn a_group_that_took_no_part_counts_as_none() {
        assert_eq!(filled_text("{{fromRequest:a(x)?|\\bb}}", "a ab b").unwrap(), "b");
    }
}
