//! What a hook reads. The order of the fields is that of the reference.

use dsh_agent::SessionSource;
use dsh_hooks::Point;
use dsh_hooks::bridge::{Firing, Moment, ToolUse};
use serde::Serialize;

/// What a hook reads.
#[derive(Debug, Serialize)]
pub(crate) struct Payload<'a> {
    session_id: &'a str,
    transcript_path: Option<&'a str>,
    cwd: &'a str,
    hook_event_name: Point,
    model: &'a str,
    permission_mode: &'static str,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum What<'a> {
    SessionStart {
        source: SessionSource,
    },
    UserPromptSubmit {
        turn_id: String,
        prompt: &'a str,
    },
    PreToolUse(Tool<'a>),
    PostToolUse {
        #[serde(flatten)]
        tool: Tool<'a>,
        tool_response: &'a str,
    },
    Stop {
        turn_id: String,
        stop_hook_active: bool,
        /// Never known here.
        last_assistant_message: (),
    },
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    turn_id: String,
    tool_name: &'a str,
    tool_input: Input<'a>,
    tool_use_id: &'a str,
}

/// Of whatever tool, its command.
#[derive(Debug, Serialize)]
struct Input<'a> {
    command: &'a str,
}

impl<'a> Payload<'a> {
    /// None for what Codex has no hooks for.
    pub(crate) fn of(firing: &Firing<'a>, model: &'a str) -> Option<Self> {
        let place = firing.place;
        Some(Self {
            session_id: place.session_id.as_deref().unwrap_or_default(),
            transcript_path: place.transcript_path.as_deref(),
            cwd: &place.cwd,
            hook_event_name: firing.moment.point(),
            model,
            permission_mode: "default",
            what: what(firing.moment, firing.turn.to_string())?,
        })
    }
}

fn what(moment: Moment<'_>, turn_id: String) -> Option<What<'_>> {
    Some(match moment {
        Moment::SessionStart { source } => What::SessionStart { source },
        Moment::UserPromptSubmit { prompt } => What::UserPromptSubmit { turn_id, prompt },
        Moment::PreToolUse(tool) => What::PreToolUse(tool_of(tool, turn_id)),
        Moment::PostToolUse { tool, response } => {
            What::PostToolUse { tool: tool_of(tool, turn_id), tool_response: response }
        }
        Moment::Stop { active } => {
            What::Stop { turn_id, stop_hook_active: active, last_assistant_message: () }
        }
        Moment::SubagentStart { .. } | Moment::SubagentStop { .. } => return None,
    })
}

fn tool_of(tool: ToolUse<'_>, turn_id: String) -> Tool<'_> {
    let command = tool.input.get("command").and_then(|command| command.as_str()).unwrap_or_default();
    Tool { turn_id, tool_name: tool.name, tool_input: Input { command }, tool_use_id: tool.id }
}
