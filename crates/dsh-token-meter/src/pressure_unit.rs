//! The unit `contextPressure`: how full the model's context is.

use dsh_session::{Event, RequestContext};
use dsh_session_projection::Unit;
use serde::{Deserialize, Serialize};

use crate::bounded::BoundedSurface;
use crate::usage_unit::Sample;

/// Follows how full the model's context is.
#[derive(Clone, Copy, Debug, Default)]
pub struct PressureUnit;

/// How full the model's context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pressure {
    /// What the provider counted as the last request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_tokens: Option<u64>,
    /// What the next request takes, about: the last one and what the conversation has become longer since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projected_tokens: Option<u64>,
    /// How much the model can hold, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// What is known of the last request and of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PressureState {
    /// None once what the log says of replacements does not fit together: nothing is shown any more.
    surface: Option<BoundedSurface>,
    /// What was counted as the last request, and what the conversation took then.
    last: Option<(u64, u64)>,
    context_window: Option<u64>,
}

impl PressureState {
    fn pressure(&self, surface: BoundedSurface) -> Pressure {
        let projected = |(sample, then): (u64, u64)| {
            let now = surface.tokens();
            sample.saturating_add(now.saturating_sub(then)).saturating_sub(then.saturating_sub(now))
        };
        Pressure {
            pressure_tokens: self.last.map(|(sample, _)| sample),
            projected_tokens: self.last.map(projected),
            context_window: self.context_window,
        }
    }
}

impl Unit for PressureUnit {
    const KEY: &'static str = "contextPressure";
    const STATE_VERSION: u32 = 0;
    type State = PressureState;
    type View = Pressure;

    fn init(&self) -> PressureState {
        PressureState { surface: Some(BoundedSurface::default()), last: None, context_window: None }
    }

    fn apply(&self, state: &PressureState, event: &Event) -> Option<PressureState> {
        let surface = state.surface?;
        let mut new = PressureState { surface: surface.after(event).ok(), ..*state };
        if let Some(Sample { usage, .. }) = Sample::of(event) {
            // An answer that says it itself is in the conversation already, and was not in the request.
            new.last = Some((usage.billed_input(), surface.tokens()));
        }
        if let Ok(Some(RequestContext { context_window, .. })) = event.payload() {
            new.context_window = context_window;
        }
        (new != *state).then_some(new)
    }

    fn view(&self, state: &PressureState) -> Option<Pressure> {
        state.surface.map(|surface| state.pressure(surface))
    }
}
