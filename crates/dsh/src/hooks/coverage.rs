//! Which hooks run for what, and patterns that are for nothing.

use dsh_agent::SessionSource;
use dsh_hooks::bridge::AGENT_TYPE;
use dsh_hooks::{Dialect, Handler, Matcher, Point};

use crate::hooks::lint::Severity;
use crate::nearest::nearest;

/// The hooks of a point, by their numbers, that run for this.
pub(crate) fn running<'h>(
    hooks: impl IntoIterator<Item = (usize, &'h Handler)>,
    point: Point,
    subject: &str,
) -> Vec<usize> {
    let is_for = |(_, hook): &(usize, &Handler)| hook.point == point && hook.matcher.matches(subject);
    hooks.into_iter().filter(is_for).map(|(number, _)| number).collect()
}

/// What is said of a pattern that matches nothing that there is; none if it matches something. A tool that only has other
/// capitals is one that the hook is meant for and never sees.
pub(crate) fn for_nothing(dialect: Dialect, hook: &Handler, tools: &[String]) -> Option<(Severity, String)> {
    let pattern = hook.matcher.pattern()?;
    let (what, names): (&str, Vec<&str>) = match hook.point {
        Point::PreToolUse | Point::PostToolUse => ("tool", tools.iter().map(String::as_str).collect()),
        Point::SessionStart => {
            ("beginning", [SessionSource::Startup, SessionSource::Resume].map(SessionSource::as_str).to_vec())
        }
        Point::SubagentStart | Point::SubagentStop => ("type of agent", vec![AGENT_TYPE]),
        Point::UserPromptSubmit | Point::Stop => return None,
    };
    if names.iter().any(|name| hook.matcher.matches(name)) {
        return None;
    }
    let is_tool = matches!(hook.point, Point::PreToolUse | Point::PostToolUse);
    let said = format!("`{pattern}` matches no {what} here");
    let same = same_but_for_capitals(dialect, pattern, &names);
    if is_tool && !same.is_empty() {
        let never = "so the hook never runs for what it is meant for";
        let written = written_as(pattern, &same);
        let advice = match Matcher::new(dialect, Some(&written)) {
            Ok(matcher) if same.iter().all(|name| matcher.matches(name)) => format!("write `{written}`"),
            _ => format!("the {what} is called {}", quoted(&same)),
        };
        return Some((Severity::Warning, format!("{said}, {never}: {advice}")));
    }
    let meant = if same.is_empty() { near(pattern, &names) } else { same };
    let meant = match &*meant {
        [] if is_tool => String::new(),
        [] => format!(": there is {}", names.join(", ")),
        meant => format!(": the {what} is called {}", quoted(meant)),
    };
    Some((Severity::Hint, format!("{said}{meant}")))
}

/// The tool that a name may be meant for.
pub(crate) fn nearest_tool<'t>(name: &str, tools: &'t [String]) -> Option<&'t str> {
    nearest(name, tools.iter().map(String::as_str))
}

/// The names that a pattern would match if capitals did not count.
fn same_but_for_capitals<'n>(dialect: Dialect, pattern: &str, names: &[&'n str]) -> Vec<&'n str> {
    let any_case = Matcher::new(dialect, Some(&format!("(?i)(?:{pattern})$")));
    let matching = |matcher: &Matcher, name: &str| match pattern.bytes().all(is_of_name) {
        // Not what is only found in a longer name.
        true => pattern.split('|').any(|part| part.eq_ignore_ascii_case(name)),
        false => matcher.matches(name),
    };
    any_case.map_or_else(
        |_| Vec::new(),
        |matcher| names.iter().copied().filter(|name| matching(&matcher, name)).collect(),
    )
}

/// The names that are near to a part of a pattern.
fn near<'n>(pattern: &str, names: &[&'n str]) -> Vec<&'n str> {
    pattern.split('|').filter_map(|part| nearest(part, names.iter().copied())).collect()
}

/// The pattern with these names in place of the words that are the same but for capitals.
fn written_as(pattern: &str, names: &[&str]) -> String {
    let is_of_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let word = |word: &str| {
        names.iter().find(|name| name.eq_ignore_ascii_case(word)).map_or(word, |name| name).to_owned()
    };
    let (mut written, mut rest) = (String::new(), pattern);
    while let Some(start) = rest.find(is_of_word) {
        let end = rest[start..].find(|char| !is_of_word(char)).map_or(rest.len(), |length| start + length);
        written.push_str(&rest[..start]);
        written.push_str(&word(&rest[start..end]));
        rest = &rest[end..];
    }
    written + rest
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'|')
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Handler, Matcher, Point, Severity, for_nothing};

    fn said(point: Point, pattern: &str) -> Option<(Severity, String)> {
        let matcher = Matcher::new(Dialect::ClaudeCode, Some(pattern)).unwrap();
        let hook = Handler { point, matcher, command: "true".to_owned(), timeout: None };
        for_nothing(
            Dialect::ClaudeCode,
            &hook,
            &["bash".to_owned(), "job_output".to_owned(), "read".to_owned()],
        )
    }

    #[test]
    fn a_pattern_that_matches_nothing_but_for_its_capitals_is_a_warning_with_the_pattern_to_write() {
        for (pattern, advice) in [
            ("Bash", "write `bash`"),
            ("Bash|Read", "write `bash|read`"),
            ("Edit|READ", "write `Edit|read`"),
            ("^Bash$", "write `^bash$`"),
            ("^(Bash|Job_Output)$", "write `^(bash|job_output)$`"),
            ("^B[Aa]sh$", "the tool is called `bash`"),
        ] {
            let expected = format!(
                "`{pattern}` matches no tool here, so the hook never runs for what it is meant for: {advice}"
            );
            assert_eq!(said(Point::PreToolUse, pattern), Some((Severity::Warning, expected)), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_told_with_the_name_that_may_be_meant() {
        for (pattern, meant) in [
            ("bahs", ": the tool is called `bash`"),
            ("job_ouput", ": the tool is called `job_output`"),
            ("Edit|Write", ""),
            ("mcp__gh__.*", ""),
            ("x", ""),
        ] {
            let expected = format!("`{pattern}` matches no tool here{meant}");
            assert_eq!(said(Point::PreToolUse, pattern), Some((Severity::Hint, expected)), "{pattern}");
        }
        for pattern in ["bash", "bash|Edit", "*", "", "^(?!Bash)", "ba.*"] {
            assert_eq!(said(Point::PostToolUse, pattern), None, "{pattern}");
        }
    }

    #[test]
    fn other_points_have_other_things_to_match() {
        let hint = |text: &str| Some((Severity::Hint, text.to_owned()));
        assert_eq!(said(Point::SessionStart, "startup|clear"), None);
        let beginning = "`clear` matches no beginning here: there is startup, resume";
        assert_eq!(said(Point::SessionStart, "clear"), hint(beginning));
        let beginning = "`Startup` matches no beginning here: the beginning is called `startup`";
        assert_eq!(said(Point::SessionStart, "Startup"), hint(beginning));
        let agent = "`Explore` matches no type of agent here: there is general-purpose";
        assert_eq!(said(Point::SubagentStop, "Explore"), hint(agent));
        assert_eq!(said(Point::Stop, "anything"), None);
    }
}
