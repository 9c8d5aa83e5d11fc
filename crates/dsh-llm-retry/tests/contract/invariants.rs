//! The checker: every rule, broken once.

use dsh_llm_retry::invariants::{Rule, check};
use dsh_llm_retry::{LlmRetry, LlmRetryStarted, RetryMode};
use dsh_session::{NewEvent, Payload, RequestContext, Session, StepEnd, StepStart, TurnStart};

use crate::fixture::{PROVIDER, transport};

fn event<P: Payload>(data: &P) -> NewEvent {
    NewEvent::new(data).unwrap()
}

fn retry(number: u32) -> LlmRetry {
    LlmRetry {
        retry_id: "r".to_owned(),
        turn: 1,
        step: 1,
        provider: PROVIDER.to_owned(),
        mode: RetryMode::Normal,
        policy_key: "[]".to_owned(),
        retry: number,
        max_retries: Some(2),
        delay_ms: 500.0,
        failure: transport(),
    }
}

fn started(number: u32) -> NewEvent {
    event(&LlmRetryStarted { retry_id: "r".to_owned(), turn: 1, step: 1, retry: number })
}

/// What is wrong with a log whose first step is open when these follow.
fn broken(events: Vec<NewEvent>) -> Option<Rule> {
    let session = Session::detached("s-1");
    let context =
        RequestContext { provider: PROVIDER.to_owned(), model: "m".to_owned(), context_window: None };
    let opened = [event(&TurnStart { turn: 1 }), event(&StepStart { turn: 1, step: 1 }), event(&context)];
    for event in opened.into_iter().chain(events) {
        session.append(event).unwrap();
    }
    check("s-1", session.events().iter()).err().map(|violation| violation.rule)
}

// spec: agent-loop/S92
#[test]
fn retries_that_are_in_order_are_let_pass() {
    let alone = LlmRetry { retry_id: "q".to_owned(), policy_key: "other".to_owned(), ..retry(1) };
    assert_eq!(broken(vec![event(&retry(1)), started(1), event(&retry(2)), event(&alone), started(2)]), None);
    let without_end = LlmRetry { mode: RetryMode::Always, max_retries: None, ..retry(1) };
    assert_eq!(broken(vec![event(&without_end)]), None);
}

// spec: agent-loop/S92
#[test]
fn a_retry_lies_in_the_open_step() {
    let not_open = |kind: &str, turn, step| Some(Rule::NotOpen { kind: kind.to_owned(), turn, step });
    let elsewhere = LlmRetry { step: 2, ..retry(1) };
    assert_eq!(broken(vec![event(&elsewhere)]), not_open("llm/retry", 1, 2));
    let end = || event(&StepEnd { turn: 1, step: 1 });
    assert_eq!(broken(vec![end(), event(&retry(1))]), not_open("llm/retry", 1, 1));
    assert_eq!(broken(vec![event(&retry(1)), end(), started(1)]), not_open("llm/retry-started", 1, 1));
}

// spec: agent-loop/S92
#[test]
fn a_retry_is_of_the_provider_that_is_asked() {
    let other = LlmRetry { provider: "other".to_owned(), ..retry(1) };
    let rule = Rule::OtherProvider { named: "other".to_owned(), routed: PROVIDER.to_owned() };
    assert_eq!(broken(vec![event(&other)]), Some(rule));
}

// spec: agent-loop/S92
#[test]
fn retries_count_on_within_their_bounds() {
    let number = |found, expected| Some(Rule::Number { found, expected });
    assert_eq!(broken(vec![event(&retry(2))]), number(2, 1));
    assert_eq!(broken(vec![event(&retry(1)), event(&retry(1))]), number(1, 2));
    let most = LlmRetry { max_retries: Some(0), ..retry(1) };
    assert_eq!(broken(vec![event(&most)]), Some(Rule::Bound { retry: 1, max: Some(0) }));
    let unbounded = LlmRetry { max_retries: None, ..retry(1) };
    assert_eq!(broken(vec![event(&unbounded)]), Some(Rule::Bound { retry: 1, max: None }));
    let bounded = LlmRetry { mode: RetryMode::Always, ..retry(1) };
    assert_eq!(broken(vec![event(&bounded)]), Some(Rule::Bound { retry: 1, max: Some(2) }));
    for delay_ms in [-1.0, 2_147_483_648.0] {
        let delayed = LlmRetry { delay_ms, ..retry(1) };
        assert_eq!(broken(vec![event(&delayed)]), Some(Rule::Delay { delay_ms }));
    }
}

// spec: agent-loop/S91, agent-loop/S92
#[test]
fn the_retries_of_a_chain_have_its_id() {
    let id = |id: &str| Some(Rule::Id { retry_id: id.to_owned() });
    let nameless = LlmRetry { retry_id: String::new(), ..retry(1) };
    assert_eq!(broken(vec![event(&nameless)]), id(""));
    let renamed = LlmRetry { retry_id: "q".to_owned(), ..retry(2) };
    assert_eq!(broken(vec![event(&retry(1)), event(&renamed)]), id("q"));
    let taken = LlmRetry { policy_key: "other".to_owned(), ..retry(1) };
    assert_eq!(broken(vec![event(&retry(1)), event(&taken)]), id("r"));
}

// spec: agent-loop/S92
#[test]
fn a_retry_begins_once_and_only_after_it_was_logged() {
    let missing = |retry| Some(Rule::NotScheduled { retry_id: "r".to_owned(), retry });
    assert_eq!(broken(vec![started(1)]), missing(1));
    assert_eq!(broken(vec![event(&retry(1)), started(1), started(1)]), missing(1));
    assert_eq!(broken(vec![event(&retry(1)), event(&retry(2)), started(1)]), missing(1));
}

// spec: agent-loop/S92
#[test]
fn what_cannot_be_read_is_refused() {
    let raw = NewEvent::raw("llm/retry", r#"{"turn":1}"#).unwrap();
    assert!(matches!(broken(vec![raw]), Some(Rule::Readable { kind, .. }) if kind == "llm/retry"));
}
