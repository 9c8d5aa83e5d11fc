//! Which tools a pattern is for.

use std::time::{Duration, Instant};

use dsh_hooks::{Dialect, Matcher};

const TOOLS: [&str; 4] = ["Edit", "MultiEdit", "Write", "mcp__gh__a"];

fn matcher(dialect: Dialect, pattern: &str) -> Matcher {
    Matcher::new(dialect, Some(pattern)).unwrap()
}

fn matched(dialect: Dialect, pattern: &str) -> Vec<&'static str> {
    let matcher = matcher(dialect, pattern);
    TOOLS.into_iter().filter(|tool| matcher.matches(tool)).collect()
}

// spec: timeout-jobs-hooks/J55, cases/H5
#[test]
fn the_truth_table() {
    let table: [(&str, &[&str], &[&str]); 6] = [
        // The pattern, what it is for in Claude Code, and in Codex.
        ("", &TOOLS, &TOOLS),
        ("*", &TOOLS, &TOOLS),
        ("Edit", &["Edit"], &["Edit", "MultiEdit"]),
        ("Edit|Write", &["Edit", "Write"], &["Edit", "MultiEdit", "Write"]),
        ("mcp__gh__.*", &["mcp__gh__a"], &["mcp__gh__a"]),
        ("^(?!Bash)", &TOOLS, &TOOLS),
    ];
    for (pattern, claude_code, codex) in table {
        assert_eq!(matched(Dialect::ClaudeCode, pattern), claude_code, "{pattern:?} of claude-code");
        assert_eq!(matched(Dialect::Codex, pattern), codex, "{pattern:?} of codex");
    }
    for dialect in Dialect::ALL {
        assert!(Matcher::new(dialect, Some("[")).is_err(), "{dialect}");
        let other_than_bash = matcher(dialect, "^(?!Bash)");
        assert!(!other_than_bash.matches("Bash") && !other_than_bash.matches("BashOutput"), "{dialect}");
    }
}

// spec: timeout-jobs-hooks/J55
#[test]
fn without_a_pattern_everything_matches() {
    let all = Matcher::new(Dialect::ClaudeCode, None).unwrap();
    assert!(all.matches("Edit") && all.matches(""));
    assert_eq!(all.pattern(), None);
    assert_eq!(matcher(Dialect::Codex, "*").pattern(), Some("*"));
}

// spec: timeout-jobs-hooks/J55
#[test]
fn one_other_character_makes_names_an_expression() {
    assert!(!matcher(Dialect::ClaudeCode, "ask").matches("bash-ask"));
    for (pattern, tool) in [("as.", "bash"), ("bash ", "my bash tool"), ("a-b", "x-a-b"), ("é", "café")] {
        assert!(matcher(Dialect::ClaudeCode, pattern).matches(tool), "{pattern}");
    }
    assert!(!matcher(Dialect::ClaudeCode, "Edit| Write").matches("Write"));
    assert!(matcher(Dialect::Codex, "Bash").matches("MyBashTool"));
    // A name is as it is written, and an empty one is no tool's.
    assert!(!matcher(Dialect::ClaudeCode, "edit").matches("Edit"));
    assert!(!matcher(Dialect::ClaudeCode, "Edit||Write|").matches("MultiEdit"));
}

#[test]
fn expressions_are_those_of_javascript() {
    let table: [(&str, &[&str], &[&str]); 8] = [
        (r"^(Edit|Write)$", &["Edit", "Write"], &["MultiEdit", "Edit\n"]),
        (r"(?<=mcp__.*__)read", &["mcp__gh__read"], &["read"]),
        (r"(?<!Multi)Edit", &["Edit"], &["MultiEdit"]),
        (r"^(?<name>\w+)__\k<name>$", &["a__a"], &["a__b"]),
        (r"^(\w+)__\1$", &["a__a"], &["a__b"]),
        (r"mcp__\w+?__(?:get|list)_", &["mcp__gh__list_issues"], &["mcp__gh__create"]),
        (r"a\/b|[\w.-]+@", &["a/b", "x.y@"], &["ab"]),
        (r"\bBash\b", &["Bash", "a Bash"], &["BashOutput"]),
    ];
    for (pattern, matching, others) in table {
        let matcher = matcher(Dialect::ClaudeCode, pattern);
        assert!(matching.iter().all(|tool| matcher.matches(tool)), "{pattern} of {matching:?}");
        assert!(!others.iter().any(|tool| matcher.matches(tool)), "{pattern} of {others:?}");
    }
}

// spec: timeout-jobs-hooks/J56
#[test]
fn what_is_no_expression_is_named_with_its_dialect() {
    let text = |dialect, pattern: &str| Matcher::new(dialect, Some(pattern)).unwrap_err().to_string();
    assert_eq!(text(Dialect::ClaudeCode, "["), "invalid claude-code regex matcher \"[\"");
    assert_eq!(text(Dialect::Codex, "(Bash"), "invalid codex regex matcher \"(Bash\"");
    let error = Matcher::new(Dialect::Codex, Some("(?<name")).unwrap_err();
    assert!(!error.reason.is_empty(), "{error:?}");
    // However it is built, it is refused or read, and harms nobody.
    for hostile in ["(".repeat(100_000), "[".repeat(100_000), "((a{1000}){1000}){1000}".to_owned()] {
        assert!(Matcher::new(Dialect::Codex, Some(&hostile)).is_err());
    }
}

// spec: timeout-jobs-hooks/J56
#[test]
fn a_search_that_goes_back_too_often_finds_nothing() {
    let catastrophe = matcher(Dialect::ClaudeCode, r"^(?=(a+)+$)(a|a)+\1b$");
    let began = Instant::now();
    assert!(!catastrophe.matches(&format!("{}b", "a".repeat(60))));
    assert!(began.elapsed() < Duration::from_secs(20));
}
