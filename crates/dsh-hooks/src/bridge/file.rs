//! Which hooks a configuration has.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cordis::chain;
use dsh_tools::MAX_DELAY;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::bridge::exec::command_line;
use crate::bridge::grammar::Grammar;
use crate::bridge::left_out::{LEFT_OUT, LeftOut, Reason};
use crate::handler::Handler;
use crate::matcher::{InvalidMatcher, Matcher};
use crate::point::Point;

/// The shortest time limit.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);

/// How large the file of a configuration may be.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The hooks of a configuration, in its order.
#[derive(Clone, Debug)]
pub struct HookFile {
    /// Those that run.
    pub handlers: Vec<Handler>,
    /// Those that do not.
    pub left_out: Vec<LeftOut>,
}

/// Why a configuration has no hooks at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HookFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It is no JSON.
    #[error("it is no JSON")]
    Json(#[from] serde_json::Error),
    /// A pattern is no regular expression.
    #[error("{matcher} on event \"{point}\": {}", matcher.reason)]
    Matcher {
        /// Where it stands.
        point: Point,
        /// Which one it is.
        matcher: InvalidMatcher,
    },
}

/// Why a plugin that is not to go on without hooks has none.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RequiredHooks {
    /// Nothing of the file can be used.
    #[error("{plugin}: the hooks of \"{}\" are required and cannot be loaded", path.display())]
    Unusable {
        /// Whose configuration names the file.
        plugin: &'static str,
        /// Which one it is.
        path: PathBuf,
        /// What is wrong with it.
        source: HookFileError,
    },
    /// It has none that run.
    #[error("{plugin}: hooks are required and no hook of \"{}\" runs: `dsh hooks check` says why", path.display())]
    Missing {
        /// Whose configuration names the file.
        plugin: &'static str,
        /// Which one it is.
        path: PathBuf,
    },
}

/// The hooks of a file; warns of what is wrong with it and of the hooks that do not run. A file with anything wrong in it has
/// no hooks.
pub async fn handlers_or_warn(plugin: &str, path: &Path, grammar: &Grammar) -> Vec<Handler> {
    let file = match read(path, grammar).await {
        Ok(file) => file,
        Err(error) => {
            let (path, error) = (path.display(), chain(&error));
            tracing::warn!("{plugin}: cannot load the hooks of \"{path}\": {error}; no hooks are registered");
            return Vec::new();
        }
    };
    file.warned_of(plugin)
}

/// The hooks of a file without which nothing is to go on; warns of those that do not run.
///
/// # Errors
/// Nothing of the file can be used, or no hook of it runs.
pub async fn required_handlers(
    plugin: &'static str,
    path: &Path,
    grammar: &Grammar,
) -> Result<Vec<Handler>, RequiredHooks> {
    let unusable = |source| RequiredHooks::Unusable { plugin, path: path.to_owned(), source };
    let handlers = read(path, grammar).await.map_err(unusable)?.warned_of(plugin);
    if handlers.is_empty() {
        return Err(RequiredHooks::Missing { plugin, path: path.to_owned() });
    }
    Ok(handlers)
}

async fn read(path: &Path, grammar: &Grammar) -> Result<HookFile, HookFileError> {
    let path = path.to_owned();
    let text = tokio::task::spawn_blocking(move || read_file(&path)).await;
    let text = text.unwrap_or_else(|failed| Err(io::Error::other(failed)));
    HookFile::parse(&text?, grammar)
}

/// The text of a configuration's file.
///
/// # Errors
/// It is no file that ends, is too large, or cannot be read as text.
pub fn read_file(path: &Path) -> io::Result<String> {
    // One that waits for a writer would hold its plugin for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no UTF-8 text, from byte {valid} on"))
    })
}

impl HookFile {
    /// Reads a configuration: `{"hooks": {POINT: [{"matcher", "hooks": [{"type", "command", "args", "timeout"}]}]}}`, or
    /// what stands at `hooks` there. What has another form is left out without a word.
    ///
    /// # Errors
    /// It is no JSON, or a pattern at one of the dialect's points is no regular expression.
    pub fn parse(text: &str, grammar: &Grammar) -> Result<Self, HookFileError> {
        let mut file = Self { handlers: Vec::new(), left_out: Vec::new() };
        let Value::Object(top) = serde_json::from_str(text)? else { return Ok(file) };
        let events = match top.get("hooks") {
            None => &top,
            Some(Value::Object(events)) => events,
            Some(_) => return Ok(file),
        };
        for (name, groups) in events {
            let Some(point) = Point::named(name).filter(|point| grammar.points.contains(point)) else {
                continue;
            };
            for group in objects(Some(groups)) {
                file.add_group(point, group, grammar)?;
            }
        }
        Ok(file)
    }

    /// Those that run; warns of those that do not.
    fn warned_of(self, plugin: &str) -> Vec<Handler> {
        for left_out in &self.left_out {
            tracing::warn!(target: LEFT_OUT, "{plugin}: {left_out}");
        }
        self.handlers
    }

    fn add_group(
        &mut self,
        point: Point,
        group: &Map<String, Value>,
        grammar: &Grammar,
    ) -> Result<(), HookFileError> {
        let pattern = group.get("matcher").and_then(Value::as_str).filter(|_| has_subject(point));
        let matcher = Matcher::new(grammar.dialect, pattern)
            .map_err(|matcher| HookFileError::Matcher { point, matcher })?;
        let left_out = |reason| LeftOut::new(point, reason, grammar);
        for entry in objects(group.get("hooks")) {
            if grammar.has_async && entry.get("async") == Some(&Value::Bool(true)) {
                self.left_out.push(left_out(Reason::Async));
                continue;
            }
            match entry.get("type") {
                None | Some(Value::Null) => {}
                Some(Value::String(kind)) if kind == "command" => {}
                Some(other) => {
                    let kind = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
                    self.left_out.push(left_out(Reason::Kind(kind)));
                    continue;
                }
            }
            let Some(command) = entry.get("command").and_then(Value::as_str) else { continue };
            let Some(command) = command_line(command, entry.get("args"), grammar.dialect) else {
                self.left_out.push(left_out(Reason::Arguments));
                continue;
            };
            let command = &*command;
            self.handlers.push(Handler {
                point,
                matcher: matcher.clone(),
                command: grammar.command(command),
                timeout: grammar.timeout_keys.iter().find_map(|key| timeout(entry.get(*key)?)),
            });
        }
        Ok(())
    }
}

/// Whether there is something that a pattern can match.
fn has_subject(point: Point) -> bool {
    match point {
        Point::UserPromptSubmit | Point::Stop => false,
        Point::SessionStart
        | Point::PreToolUse
        | Point::PostToolUse
        | Point::SubagentStart
        | Point::SubagentStop => true,
    }
}

fn objects(list: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// A time limit in seconds, no longer than timers can be and no shorter than a shell can be told.
fn timeout(seconds: &Value) -> Option<Duration> {
    let seconds = seconds.as_f64().filter(|seconds| *seconds > 0.0)?;
    Some(Duration::try_from_secs_f64(seconds).map_or(MAX_DELAY, |it| it.clamp(MIN_TIMEOUT, MAX_DELAY)))
}
