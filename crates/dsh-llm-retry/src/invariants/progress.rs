//! Which retries there were in the open step, and what may come next.

use std::borrow::Borrow;

use dsh_session::{
    Event, LogProgress, Payload, RequestContext, StepEnd, StepStart, TurnEnd, TurnStart, check_rules,
};

use super::rule::{Rule, Violation};
use crate::record::{LlmRetry, LlmRetryStarted, RetryMode};

/// The longest delay of a policy, in ms.
const MAX_DELAY_MS: f64 = 2_147_483_647.0;

/// Checks a whole log.
///
/// # Errors
/// The first event that breaks a rule.
pub fn check<E: Borrow<Event>>(session: &str, events: impl IntoIterator<Item = E>) -> Result<(), Violation> {
    check_rules::<Progress, E>(session, events)
}

/// How far a log has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The provider that is asked, once the log says so.
    provider: Option<String>,
    step: Option<OpenStep>,
}

#[derive(Debug)]
struct OpenStep {
    turn: u64,
    step: u64,
    chains: Vec<Chain>,
}

/// The retries of a step under one policy.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    provider: String,
    policy_key: String,
    retry_id: String,
    retries: u32,
    /// Whether the last one waits still.
    waits: bool,
}

/// What an event that is allowed does.
pub(crate) enum Change {
    Nothing,
    Routes(String),
    StepStarts { turn: u64, step: u64 },
    StepEnds,
    Schedules(Chain),
    Starts { retry_id: String },
}

impl Progress {
    /// The rules themselves. Events of other types are free.
    fn change(&self, event: &Event) -> Result<Change, Rule> {
        match event.kind() {
            RequestContext::TYPE => Ok(Change::Routes(data::<RequestContext>(event)?.provider)),
            StepStart::TYPE => {
                let StepStart { turn, step } = data(event)?;
                Ok(Change::StepStarts { turn, step })
            }
            StepEnd::TYPE | TurnStart::TYPE | TurnEnd::TYPE => Ok(Change::StepEnds),
            LlmRetry::TYPE => self.schedules(data(event)?),
            LlmRetryStarted::TYPE => self.starts(data(event)?),
            _ => Ok(Change::Nothing),
        }
    }

    fn schedules(&self, record: LlmRetry) -> Result<Change, Rule> {
        let chains = self.chains(LlmRetry::TYPE, record.turn, record.step)?;
        let LlmRetry { retry_id, provider, mode, policy_key, retry, max_retries, delay_ms, .. } = record;
        if let Some(routed) = self.provider.as_ref().filter(|routed| **routed != provider) {
            return Err(Rule::OtherProvider { named: provider, routed: routed.clone() });
        }
        let chain = chains.iter().find(|it| it.provider == provider && it.policy_key == policy_key);
        let with_id = chains.iter().find(|it| it.retry_id == retry_id);
        let expected = chain.map_or(0, |chain| u64::from(chain.retries)) + 1;
        let in_bounds = match mode {
            RetryMode::Normal => max_retries.is_some_and(|max| retry <= max),
            RetryMode::Always => max_retries.is_none(),
        };
        if u64::from(retry) != expected {
            Err(Rule::Number { found: retry, expected })
        } else if !in_bounds {
            Err(Rule::Bound { retry, max: max_retries })
        } else if !(0.0..=MAX_DELAY_MS).contains(&delay_ms) {
            Err(Rule::Delay { delay_ms })
        } else if retry_id.is_empty() || chain.map(|it| &it.retry_id) != with_id.map(|it| &it.retry_id) {
            Err(Rule::Id { retry_id })
        } else {
            Ok(Change::Schedules(Chain { provider, policy_key, retry_id, retries: retry, waits: true }))
        }
    }

    fn starts(&self, started: LlmRetryStarted) -> Result<Change, Rule> {
        let LlmRetryStarted { retry_id, turn, step, retry } = started;
        let chains = self.chains(LlmRetryStarted::TYPE, turn, step)?;
        let waiting = chains.iter().find(|it| it.waits && it.retry_id == retry_id && it.retries == retry);
        match waiting {
            Some(_) => Ok(Change::Starts { retry_id }),
            None => Err(Rule::NotScheduled { retry_id, retry }),
        }
    }

    fn chains(&self, kind: &str, turn: u64, step: u64) -> Result<&[Chain], Rule> {
        match &self.step {
            Some(open) if (open.turn, open.step) == (turn, step) => Ok(&open.chains),
            Some(_) | None => Err(Rule::NotOpen { kind: kind.to_owned(), turn, step }),
        }
    }
}

impl LogProgress for Progress {
    type Change = Change;
    type Violation = Violation;

    fn judge(&self, session: &str, event: &Event) -> Result<Change, Violation> {
        self.change(event).map_err(|rule| Violation { session: session.to_owned(), seq: event.seq(), rule })
    }

    fn take(&mut self, _: &Event, change: Change) {
        let chains = self.step.as_mut().map(|open| &mut open.chains);
        match (change, chains) {
            (Change::Routes(provider), _) => self.provider = Some(provider),
            (Change::StepStarts { turn, step }, _) => {
                self.step = Some(OpenStep { turn, step, chains: Vec::new() });
            }
            (Change::StepEnds, _) => self.step = None,
            (Change::Schedules(chain), Some(chains)) => {
                chains.retain(|it| it.retry_id != chain.retry_id);
                chains.push(chain);
            }
            (Change::Starts { retry_id }, Some(chains)) => {
                let started = chains.iter_mut().filter(|it| it.retry_id == retry_id);
                started.for_each(|it| it.waits = false);
            }
            (Change::Nothing | Change::Schedules(_) | Change::Starts { .. }, _) => {}
        }
    }
}

fn data<P: Payload>(event: &Event) -> Result<P, Rule> {
    let reason = match event.payload() {
        Ok(Some(data)) => return Ok(data),
        Ok(None) => format!("it is a `{}`", event.kind()),
        Err(bad) => bad.reason,
    };
    Err(Rule::Readable { kind: P::TYPE.to_owned(), reason })
}
