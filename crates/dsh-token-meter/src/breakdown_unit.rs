//! The unit `contextBreakdown`: what the next request is made of.

use dsh_session::{Event, RequestHeader};
use dsh_session_projection::Unit;
use serde::{Deserialize, Serialize};

use crate::bounded::BoundedSurface;
use crate::estimate::{estimate_system, estimate_tools};

/// Follows what the next request is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct BreakdownUnit;

/// What the parts of the next request take, about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Breakdown {
    /// The instructions.
    pub system_tokens: u64,
    /// The tools.
    pub tools_tokens: u64,
    /// The conversation.
    pub messages_tokens: u64,
}

/// What the parts take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakdownState {
    system: u64,
    tools: u64,
    /// None once what the log says of replacements does not fit together: nothing is shown any more.
    surface: Option<BoundedSurface>,
}

impl Unit for BreakdownUnit {
    const KEY: &'static str = "contextBreakdown";
    const STATE_VERSION: u32 = 0;
    type State = BreakdownState;
    type View = Breakdown;

    fn init(&self) -> BreakdownState {
        BreakdownState { system: 0, tools: 0, surface: Some(BoundedSurface::default()) }
    }

    fn apply(&self, state: &BreakdownState, event: &Event) -> Option<BreakdownState> {
        let mut new = BreakdownState { surface: state.surface?.after(event).ok(), ..*state };
        if let Ok(Some(RequestHeader { header, .. })) = event.payload() {
            new.system = estimate_system(header.system.as_deref());
            new.tools = estimate_tools(header.tools.as_deref().unwrap_or_default());
        }
        (new != *state).then_some(new)
    }

    fn view(&self, state: &BreakdownState) -> Option<Breakdown> {
        let BreakdownState { system, tools, surface } = *state;
        let messages_tokens = surface?.tokens();
        Some(Breakdown { system_tokens: system, tools_tokens: tools, messages_tokens })
    }
}
