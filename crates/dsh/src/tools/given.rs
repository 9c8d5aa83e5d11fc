//! The arguments of a call as the command line gives them.

use std::io::{self, Read as _};

use anyhow::{Context as _, anyhow};
use dsh_tools::parse_arguments;
use serde::de::IgnoredAny;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use crate::exit::Failure;
use crate::visible::visible;

/// How much of a line is shown before and behind the place where it is wrong.
const AROUND: usize = 40;

/// Reads them, from standard input where they are `-`. Nothing means `{}`. In errors they are called `name`.
pub(crate) fn arguments(given: Option<&str>, name: &str) -> Result<Value, Failure> {
    let (text, from) = match given {
        Some("-") => (standard_input().map_err(Failure::bad_input)?, "standard input"),
        given => (given.unwrap_or_default().to_owned(), name),
    };
    parse_arguments(&text).map_err(|error| {
        let place = place(&text).unwrap_or_default();
        let error = visible(&error.to_string());
        Failure::bad_input(anyhow!(
            "{from}: {error}{place}\ngive one JSON object, such as '{{\"file_path\": \"README.md\"}}'; \
             `dsh tools ls --json` says what a tool takes"
        ))
    })
}

fn standard_input() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    String::from_utf8(bytes).context("standard input is no UTF-8 text")
}

/// The place where the text stops being JSON, with a mark below; none where it is JSON.
pub(crate) fn place(text: &str) -> Option<String> {
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let line = text.split('\n').nth(error.line().checked_sub(1)?)?;
    // Columns count bytes.
    let column = error.column().saturating_sub(1).min(line.len());
    let column = (0..=column).rev().find(|column| line.is_char_boundary(*column))?;
    let (before, behind) = line.split_at(column);
    let start = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(start, _)| start);
    let before = visible(&before[start..]);
    let behind: String = behind.chars().take(AROUND).collect();
    let indent = " ".repeat(before.width());
    Some(format!("\n    {before}{}\n    {indent}^", visible(&behind)))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_mark_stands_below_what_is_wrong() {
        assert_eq!(place("{\"a\": 1 2}").unwrap(), "\n    {\"a\": 1 2}\n            ^");
        assert_eq!(place("{\n  \"漢\": x}").unwrap(), "\n      \"漢\": x}\n            ^");
        assert_eq!(place("").unwrap(), "\n    \n    ^");
        assert_eq!(place("{}"), None);
    }

    #[test]
    fn of_a_long_line_only_the_place_is_shown() {
        let text = format!("[{}x{}]", "1,".repeat(1_000), ",1".repeat(1_000));
        let place = place(&text).unwrap();
        assert!(place.contains("1,x,1") && place.len() < 200, "{place}");
    }
}
