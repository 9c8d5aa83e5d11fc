//! What a log says of a request.

use std::sync::Arc;

use dsh_llm::{CallConfig, ModelRequest};
use dsh_session::{EpochHeader, Payload, Session, StepEnd, StepStart};

use crate::violation::Violation;

/// Checks that a request is what its session says now: that it is made in an open step of the open turn, with the settings,
/// instructions and tools of the folded `request/header`, and with the conversation.
///
/// Empty instructions are no instructions. Whose session it is, and whether a loop built the request, is not looked at.
///
/// # Errors
/// The first rule that it breaks, in that order.
///
/// # Examples
/// ```
/// use dsh_agent_loop_invariants::{Violation, check_request};
/// use dsh_llm::{CallConfig, ModelRequest};
/// use dsh_session::{NewEvent, Session};
///
/// let session = Session::detached("s-1");
/// session.append(NewEvent::raw("turn/start", r#"{"turn":1}"#)?)?;
/// session.append(NewEvent::raw("step/start", r#"{"turn":1,"step":1}"#)?)?;
/// let request = ModelRequest::new(CallConfig::new("acme", "m"), []);
/// let no_header = Violation::NoHeader { session: "s-1".to_owned() };
/// assert_eq!(check_request(&request, &session), Err(no_header));
///
/// let header = r#"{"reason":"initial","header":{"config":{"provider":"acme","model":"m"}}}"#;
/// session.append(NewEvent::raw("request/header", header)?)?;
/// assert_eq!(check_request(&request, &session), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: the reference's checker of `agent-loop`.
pub fn check_request(request: &ModelRequest, session: &Session) -> Result<(), Violation> {
    let named = || session.id().to_owned();
    let turn = session.open_turn().ok_or_else(|| Violation::OutsideTurn { session: named() })?;
    if !is_in_step(session, turn.began) {
        return Err(Violation::OutsideStep { session: named() });
    }
    let header = session.request_header().ok_or_else(|| Violation::NoHeader { session: named() })?;
    if let Some(part) = differing(request, &header) {
        return Err(Violation::Header { session: named(), part });
    }
    let logged = session.messages();
    let mut pairs = request.messages.iter().zip(logged.iter());
    let same = pairs.position(|(asked, logged)| !Arc::ptr_eq(asked, logged) && asked != logged);
    let (asked, logged) = (request.messages.len(), logged.len());
    match same {
        None if asked == logged => Ok(()),
        place => {
            let place = place.unwrap_or_else(|| asked.min(logged));
            Err(Violation::Messages { session: named(), place, asked, logged })
        }
    }
}

/// Whether a step is open in the turn that began with this event.
fn is_in_step(session: &Session, began: u64) -> bool {
    let events = session.events();
    let mut of_turn = events.from(usize::try_from(began).unwrap_or(usize::MAX));
    let last = of_turn.rfind(|event| matches!(event.kind(), StepStart::TYPE | StepEnd::TYPE));
    last.is_some_and(|event| event.kind() == StepStart::TYPE)
}

/// The first part of a request that is not the header's.
fn differing(request: &ModelRequest, header: &EpochHeader) -> Option<&'static str> {
    let logged = &header.config;
    let CallConfig { provider, model, reasoning_effort, temperature, max_tokens, stop } = &request.config;
    let system = request.system.as_deref().filter(|system| !system.is_empty());
    let same = [
        ("provider", *provider == logged.provider),
        ("model", *model == logged.model),
        ("reasoningEffort", *reasoning_effort == logged.reasoning_effort),
        ("temperature", *temperature == logged.temperature),
        ("maxTokens", *max_tokens == logged.max_tokens),
        ("stop", *stop == logged.stop),
        ("system", system == header.system.as_deref()),
        ("tools", *request.tools == *header.tools.as_deref().unwrap_or_default()),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(part, _)| part)
}
