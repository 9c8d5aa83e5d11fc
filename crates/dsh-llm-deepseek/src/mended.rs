//! JSON that a strict reader refuses, and a lenient one reads: half a surrogate pair in a text, a key that is there twice.

use std::borrow::Cow;

use serde_json::Value;

/// The same JSON without half pairs, each a replacement character, and of two equal keys the last one; none if it is no JSON all
/// the same.
pub(crate) fn mended(text: &str) -> Option<String> {
    serde_json::from_str::<Value>(&without_half_pairs(text)).ok().map(|value| value.to_string())
}

/// The text with `\ufffd` in the place of every escape of half a surrogate pair.
pub(crate) fn without_half_pairs(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut mended = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = unit(bytes, at) else {
            at += 2;
            continue;
        };
        let is_pair = (0xd800..0xdc00).contains(&unit)
            && self::unit(bytes, at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        if is_pair {
            at += 12;
            continue;
        }
        if (0xd800..0xe000).contains(&unit) {
            mended.push_str(&text[copied..at]);
            mended.push_str("\\ufffd");
            copied = at + 6;
        }
        at += 6;
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// The UTF-16 unit of an escape `\uXXXX`.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{mended, without_half_pairs};

    #[test]
    fn half_pairs_are_replaced_and_whole_ones_are_not() {
        for (text, expected) in [
            (r#""a\ud83db""#, r#""a\ufffdb""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\ud83""#, r#""\ud83""#),
            (r#""\n\u0041é""#, r#""\n\u0041é""#),
        ] {
            assert_eq!(without_half_pairs(text), expected, "{text}");
        }
    }

    #[test]
    fn of_two_equal_keys_the_last_one_stands() {
        assert_eq!(mended(r#"{"a":1,"b":2,"a":3.50}"#).as_deref(), Some(r#"{"a":3.50,"b":2}"#));
        assert_eq!(mended("{"), None);
    }
}
