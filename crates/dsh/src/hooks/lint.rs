//! What is wrong with settings.
//!
//! The plugin leaves out what it does not understand, most of it without a word. What is left out, and why, is said here; which
//! hooks remain is the plugin's own reading.

use std::time::Duration;

use dsh_hooks::bridge::Grammar;
use dsh_hooks::{Dialect, Matcher, Point};
use dsh_tools::{ArgumentsError, parse_arguments};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::hooks::dialect::max_timeout_ms;
use crate::nearest::nearest;
use crate::tools::given::place;

/// Events of other agents for which nothing here runs hooks.
const ELSEWHERE: [&str; 26] = [
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "Interrupt",
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PostToolUseFailure",
    "PreCompact",
    "SessionEnd",
    "Setup",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
    "MessageDisplay",
];

/// In less time no shell starts and runs a program on a machine that does something else too.
const MIN_SENSIBLE: Duration = Duration::from_millis(50);

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Something may be meant otherwise.
    Hint,
    /// Something means nothing here, or may fail.
    Warning,
    /// A hook, or the whole file, is not what it was meant to be.
    Error,
}

/// Something that is wrong with settings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    /// Where, as a path into the JSON; empty for the file itself.
    pub(crate) at: String,
    pub(crate) message: String,
}

/// Settings that were looked through.
#[derive(Debug, Default)]
pub(crate) struct Linted {
    pub(crate) problems: Vec<Problem>,
    /// Where the hooks stand that are not left out, in order, each with its group.
    pub(crate) hooks: Vec<Place>,
}

/// Where a hook stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) group: String,
    pub(crate) hook: String,
}

/// Looks settings through.
pub(crate) fn lint(text: &str, grammar: &Grammar) -> Linted {
    let mut linted = Linted::default();
    match serde_json::from_str(text) {
        Ok(Value::Object(top)) => linted.top(&top, grammar),
        Ok(_) => linted.error("", "the file holds no object, so there are no hooks in it"),
        Err(error) => {
            let mark = place(text).unwrap_or_default();
            linted.error("", format!("it is no JSON, so no hook of it runs: {error}{mark}"));
        }
    }
    if let Err(ArgumentsError::DuplicateKey { key }) = parse_arguments(text) {
        linted.error("", format!("the key `{key}` is given twice in one object: only the last one counts"));
    }
    linted
}

impl Linted {
    pub(crate) fn say(&mut self, severity: Severity, at: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem { severity, at: at.into(), message: message.into() });
    }

    fn error(&mut self, at: impl Into<String>, message: impl Into<String>) {
        self.say(Severity::Error, at, message);
    }

    fn warn(&mut self, at: impl Into<String>, message: impl Into<String>) {
        self.say(Severity::Warning, at, message);
    }

    fn top(&mut self, top: &Map<String, Value>, grammar: &Grammar) {
        if top.get("disableAllHooks") == Some(&Value::Bool(true)) {
            self.warn("disableAllHooks", "it is not looked at: the hooks run all the same");
        }
        if top.contains_key("permissions") {
            let message = "they are not looked at here: what they deny is not denied by this file";
            self.say(Severity::Hint, "permissions", message);
        }
        match top.get("hooks") {
            Some(Value::Object(events)) => {
                for (name, groups) in events {
                    self.event(&format!("hooks.{}", step(name)), name, groups, grammar);
                }
                if events.is_empty() {
                    self.warn("hooks", "there are no hooks in it");
                }
            }
            Some(_) => self.error("hooks", "it is no object, so no hook of the file runs"),
            None => self.bare(top, grammar),
        }
    }

    /// The events stand at the top, among settings that are about something else.
    fn bare(&mut self, top: &Map<String, Value>, grammar: &Grammar) {
        let is_event = |name: &str| Point::named(name).is_some() || ELSEWHERE.contains(&name);
        let mut events =
            top.iter().filter(|(name, _)| is_event(name) || nearest(name, all_points()).is_some()).peekable();
        if events.peek().is_none() {
            self.warn("", "there are no hooks in it: they stand at `hooks`");
        }
        for (name, groups) in events {
            self.event(&step(name), name, groups, grammar);
        }
    }

    fn event(&mut self, at: &str, name: &str, groups: &Value, grammar: &Grammar) {
        let Some(point) = Point::named(name).filter(|point| grammar.points.contains(point)) else {
            let there: Vec<&str> = grammar.points.iter().map(|point| point.as_str()).collect();
            if ELSEWHERE.contains(&name) {
                let there = there.join(", ");
                self.warn(at, format!("hooks of {name} are not run here; there are {there}"));
            } else {
                let meant = match nearest(name, there.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("there are {}", there.join(", ")),
                };
                self.error(at, format!("there is no event `{name}`, so its hooks never run: {meant}"));
            }
            return;
        };
        let Some(groups) = groups.as_array() else {
            self.error(at, "it is no list of groups: write [{\"matcher\": …, \"hooks\": […]}]");
            return;
        };
        for (index, group) in groups.iter().enumerate() {
            self.group(&format!("{at}[{index}]"), point, group, grammar);
        }
    }

    fn group(&mut self, at: &str, point: Point, group: &Value, grammar: &Grammar) {
        let Some(group) = group.as_object() else {
            self.error(at, "it is no object, so it is left out: a group is {\"matcher\": …, \"hooks\": […]}");
            return;
        };
        self.matcher(at, point, group, grammar);
        if group.contains_key("hooks") {
            self.unknown(at, group, &["matcher", "hooks"]);
        }
        match group.get("hooks") {
            None if group.contains_key("command") || group.contains_key("type") => self.error(
                at,
                "a hook stands where a group is expected, so it is left out: write {\"hooks\": […]} around it",
            ),
            None => self.error(at, "the group has no `hooks`, so nothing of it runs"),
            Some(Value::Array(entries)) => {
                if entries.is_empty() {
                    self.warn(format!("{at}.hooks"), "there are no hooks in it");
                }
                for (index, entry) in entries.iter().enumerate() {
                    let hook = format!("{at}.hooks[{index}]");
                    if self.entry(&hook, point, entry, grammar) {
                        self.hooks.push(Place { group: at.to_owned(), hook });
                    }
                }
            }
            Some(_) => self.error(format!("{at}.hooks"), "it is no list, so nothing of the group runs"),
        }
    }

    fn matcher(&mut self, at: &str, point: Point, group: &Map<String, Value>, grammar: &Grammar) {
        let here = format!("{at}.matcher");
        match group.get("matcher") {
            None | Some(Value::Null) => {}
            Some(Value::String(pattern)) if matches!(point, Point::UserPromptSubmit | Point::Stop) => {
                if !matches!(&**pattern, "" | "*") {
                    self.warn(here, format!("at {point} there is nothing to match: the hooks always run"));
                }
            }
            Some(Value::String(pattern)) => {
                if let Err(error) = Matcher::new(grammar.dialect, Some(pattern)) {
                    let reason = &error.reason;
                    self.error(
                        here,
                        format!("{error} on event \"{point}\", so no hook of the file runs: {reason}"),
                    );
                }
            }
            Some(_) => self.error(here, "it is no text, so the hooks run for everything"),
        }
    }

    /// Whether the hook is not left out.
    fn entry(&mut self, at: &str, point: Point, entry: &Value, grammar: &Grammar) -> bool {
        let Some(entry) = entry.as_object() else {
            self.error(
                at,
                "it is no object, so it is left out: a hook is {\"type\": \"command\", \"command\": …}",
            );
            return false;
        };
        if entry.get("async") == Some(&Value::Bool(true)) {
            if grammar.has_async {
                self.warn(format!("{at}.async"), "hooks that nobody waits for are left out");
                return false;
            }
            self.warn(format!("{at}.async"), "it is not looked at: the agent waits for the hook");
        }
        match entry.get("type") {
            None | Some(Value::Null) => {}
            Some(Value::String(kind)) if kind == "command" => {}
            Some(kind) => {
                let kind = kind.as_str().map_or_else(|| kind.to_string(), str::to_owned);
                self.warn(
                    format!("{at}.type"),
                    format!("hooks of the type `{kind}` are left out: only commands run"),
                );
                return false;
            }
        }
        match entry.get("command") {
            None => {
                self.error(at, "it has no `command`, so it is left out");
                return false;
            }
            Some(Value::String(command)) if command.trim().is_empty() => {
                self.error(format!("{at}.command"), "it is blank, so the hook decides nothing");
            }
            Some(Value::String(_)) => {}
            Some(_) => {
                self.error(format!("{at}.command"), "it is no text, so the hook is left out");
                return false;
            }
        }
        let is_text = |args: &Value| args.as_array().is_some_and(|args| args.iter().all(Value::is_string));
        if entry.get("args").is_some_and(|args| !args.is_null() && !is_text(args)) {
            self.error(format!("{at}.args"), "it is no list of texts, so the hook is left out");
            return false;
        }
        if entry.contains_key("if") && grammar.dialect == Dialect::ClaudeCode {
            let all = match point {
                Point::PreToolUse | Point::PostToolUse => "for every tool that the matcher is for",
                _ => "always",
            };
            self.warn(format!("{at}.if"), format!("it is not looked at: the hook runs {all}"));
        }
        self.timeout(at, entry, grammar);
        let known = ["type", "command", "args", "async", "if"].iter().chain(grammar.timeout_keys).copied();
        self.unknown(at, entry, &known.collect::<Vec<_>>());
        true
    }

    fn timeout(&mut self, at: &str, entry: &Map<String, Value>, grammar: &Grammar) {
        let max = max_timeout_ms() / 1_000;
        for key in grammar.timeout_keys {
            let Some(value) = entry.get(*key) else { continue };
            match value.as_f64() {
                Some(seconds) if seconds * 1_000.0 > max_timeout_ms() as f64 => self.warn(
                    format!("{at}.{key}"),
                    format!("it is in seconds, and the shell ends every hook after {max}: were milliseconds meant?"),
                ),
                Some(seconds) if seconds > 0.0 && seconds < MIN_SENSIBLE.as_secs_f64() => {
                    let limit = Duration::from_secs_f64(seconds);
                    self.warn(
                        format!("{at}.{key}"),
                        format!(
                            "it is in seconds, and in {limit:?} no shell starts and runs anything: the hook is ended before it \
                             decides"
                        ),
                    );
                }
                Some(seconds) if seconds > 0.0 => {}
                Some(_) | None => self.error(
                    format!("{at}.{key}"),
                    format!("it is no number of seconds above 0, so the hook has {max}"),
                ),
            }
        }
    }

    fn unknown(&mut self, at: &str, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&&***key)) {
            let meant = nearest(key, known.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!(": did you mean `{meant}`?"));
            self.warn(format!("{at}.{}", step(key)), format!("it means nothing here{meant}"));
        }
    }
}

fn all_points() -> impl Iterator<Item = &'static str> {
    Point::ALL.iter().map(|point| point.as_str())
}

/// A name as a step of a path.
fn step(name: &str) -> String {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain { name.to_owned() } else { format!("[{}]", Value::from(name)) }
}
