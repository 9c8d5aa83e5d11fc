//! What happens, as the command line says.

use anyhow::anyhow;
use dsh_agent::SessionSource;
use dsh_hooks::Point;
use dsh_hooks::bridge::{AGENT_TYPE, Grammar};
use serde::Serialize;
use serde_json::Value;

use crate::cli::HooksRunArgs;
use crate::exit::Failure;
use crate::tools::given;
use crate::visible::visible;

/// What happens.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Occasion {
    SessionStart { source: SessionSource },
    UserPromptSubmit { prompt: String },
    PreToolUse { tool: String, input: Value },
    PostToolUse { tool: String, input: Value, response: String },
    Stop {},
    SubagentStart {},
    SubagentStop {},
}

impl Occasion {
    /// Reads the command line, and standard input where it is asked to.
    pub(crate) fn of(args: &HooksRunArgs, grammar: &Grammar) -> Result<Self, Failure> {
        let point = args.point;
        if !grammar.points.contains(&point) {
            let there: Vec<&str> = grammar.points.iter().map(|point| point.as_str()).collect();
            let (dialect, there) = (grammar.dialect, there.join(", "));
            return Err(Failure::bad_input(anyhow!("{dialect} has no hooks of {point}; there are {there}")));
        }
        check_options(args)?;
        Ok(match point {
            Point::SessionStart => {
                Self::SessionStart { source: args.source.map_or(SessionSource::Startup, Into::into) }
            }
            Point::UserPromptSubmit => {
                let prompt = args.prompt.clone().filter(|prompt| !prompt.is_empty());
                let missing =
                    || Failure::bad_input(anyhow!("{point} is about what the user says: add --prompt TEXT"));
                Self::UserPromptSubmit { prompt: prompt.ok_or_else(missing)? }
            }
            Point::PreToolUse => Self::PreToolUse { tool: tool(args)?, input: input(args)? },
            Point::PostToolUse => Self::PostToolUse {
                tool: tool(args)?,
                input: input(args)?,
                response: args.response.clone().unwrap_or_default(),
            },
            Point::Stop => Self::Stop {},
            Point::SubagentStart => Self::SubagentStart {},
            Point::SubagentStop => Self::SubagentStop {},
        })
    }

    /// What patterns are compared with.
    pub(crate) fn subject(&self) -> &str {
        match self {
            Self::SessionStart { source } => source.as_str(),
            Self::PreToolUse { tool, .. } | Self::PostToolUse { tool, .. } => tool,
            Self::SubagentStart {} | Self::SubagentStop {} => AGENT_TYPE,
            Self::UserPromptSubmit { .. } | Self::Stop {} => "",
        }
    }

    /// The tool, if it is about one.
    pub(crate) fn tool(&self) -> Option<&str> {
        match self {
            Self::PreToolUse { tool, .. } | Self::PostToolUse { tool, .. } => Some(tool),
            _ => None,
        }
    }
}

/// Refuses what says something of another point.
fn check_options(args: &HooksRunArgs) -> Result<(), Failure> {
    let given = [
        ("--tool", args.tool.is_some(), &[Point::PreToolUse, Point::PostToolUse][..]),
        ("--input", args.input.is_some(), &[Point::PreToolUse, Point::PostToolUse]),
        ("--response", args.response.is_some(), &[Point::PostToolUse]),
        ("--prompt", args.prompt.is_some(), &[Point::UserPromptSubmit]),
        ("--source", args.source.is_some(), &[Point::SessionStart]),
    ];
    let wrong = given.into_iter().find(|(_, is_given, points)| *is_given && !points.contains(&args.point));
    let Some((option, _, points)) = wrong else { return Ok(()) };
    let points: Vec<&str> = points.iter().map(|point| point.as_str()).collect();
    let (point, points) = (args.point, points.join(" and "));
    Err(Failure::bad_input(anyhow!("{option} says nothing of {point}: it is for {points}")))
}

fn tool(args: &HooksRunArgs) -> Result<String, Failure> {
    let point = args.point;
    let Some(tool) = args.tool.clone().filter(|tool| !tool.is_empty()) else {
        return Err(Failure::bad_input(anyhow!("{point} is about a tool: add --tool NAME")));
    };
    let shown = visible(&tool);
    if shown != tool {
        return Err(Failure::bad_input(anyhow!("--tool: `{shown}` is no name of a tool")));
    }
    Ok(tool)
}

fn input(args: &HooksRunArgs) -> Result<Value, Failure> {
    let input = given::arguments(args.input.as_deref(), "--input")?;
    if !input.is_object() {
        return Err(Failure::bad_input(anyhow!(
            "--input: the arguments of a tool are an object, such as '{{}}'"
        )));
    }
    Ok(input)
}
