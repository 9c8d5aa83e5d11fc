//! What a hook reads. The order of the fields is that of the reference.

use dsh_agent::SessionSource;
use dsh_hooks::Point;
use dsh_hooks::bridge::{AGENT_TYPE, Firing, Moment, ToolUse};
use serde::Serialize;
use serde_json::Value;

/// What a hook reads.
#[derive(Debug, Serialize)]
pub(crate) struct Payload<'a> {
    session_id: &'a str,
    transcript_path: &'a str,
    cwd: &'a str,
    hook_event_name: Point,
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
        prompt: &'a str,
    },
    PreToolUse(Tool<'a>),
    PostToolUse {
        #[serde(flatten)]
        tool: Tool<'a>,
        tool_response: &'a str,
    },
    Stop {
        stop_hook_active: bool,
    },
    SubagentStart {
        agent_id: &'a str,
        agent_type: &'static str,
    },
    SubagentStop {
        agent_id: &'a str,
        agent_type: &'static str,
        stop_hook_active: bool,
    },
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    tool_name: &'a str,
    tool_input: &'a Value,
    tool_use_id: &'a str,
}

impl<'a> Payload<'a> {
    pub(crate) fn of(firing: &Firing<'a>) -> Self {
        let place = firing.place;
        Self {
            session_id: place.session_id.as_deref().unwrap_or_default(),
            transcript_path: place.transcript_path.as_deref().unwrap_or_default(),
            cwd: &place.cwd,
            hook_event_name: firing.moment.point(),
            what: what(firing.moment),
        }
    }
}

fn what(moment: Moment<'_>) -> What<'_> {
    match moment {
        Moment::SessionStart { source } => What::SessionStart { source },
        Moment::UserPromptSubmit { prompt } => What::UserPromptSubmit { prompt },
        Moment::PreToolUse(tool) => What::PreToolUse(tool_of(tool)),
        Moment::PostToolUse { tool, response } => {
            What::PostToolUse { tool: tool_of(tool), tool_response: response }
        }
        Moment::Stop { active } => What::Stop { stop_hook_active: active },
        Moment::SubagentStart { agent_id } => What::SubagentStart { agent_id, agent_type: AGENT_TYPE },
        Moment::SubagentStop { agent_id } => {
            What::SubagentStop { agent_id, agent_type: AGENT_TYPE, stop_hook_active: false }
        }
    }
}

fn tool_of(tool: ToolUse<'_>) -> Tool<'_> {
    Tool { tool_name: tool.name, tool_input: tool.input, tool_use_id: tool.id }
}
