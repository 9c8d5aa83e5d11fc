//! The unit `sessionStats`.

use dsh_session_projection::{Stats, StatsUnit, Unit};

use crate::fixture::log;

const START: &str = r#"{"turn":1,"step":1}"#;
const ANSWER: &str = r#"{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"x"}],"source":{"kind":"model","provider":"p","model":"m"}},"usage":{"inputTokens":9,"outputTokens":7}}"#;
const NO_USAGE: &str = r#"{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"x"}],"source":{"kind":"model","provider":"p","model":"m"}}}"#;
const CALL: &str = r#"{"turn":1,"step":1,"callId":"c-1","name":"bash","arguments":"{}"}"#;
const RESULT: &str = r#"{"turn":1,"step":1,"message":{"id":"r","role":"user","content":[{"type":"tool-result","toolCallId":"c-1","content":[]}],"source":{"kind":"tool","callId":"c-1"}}}"#;
const PIECE: &str = r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"x"}}"#;
const EMPTY_PIECE: &str = r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":""}}"#;
const TURN_END: &str = r#"{"turn":1,"reason":{"kind":"completed"}}"#;

fn stats(events: &[(&str, i64, &str)]) -> Stats {
    let fold = |state, event: &_| StatsUnit.apply(&state, event).unwrap_or(state);
    let state = log(events).iter().fold(StatsUnit.init(), |state, event| fold(state, &**event));
    let again = serde_json::from_value(serde_json::to_value(&state).unwrap()).unwrap();
    assert_eq!(state, again, "a state survives being set aside");
    StatsUnit.view(&state).unwrap()
}

// spec: session/S116
#[test]
fn turns_are_those_in_which_a_step_has_ended_and_steps_those_that_have() {
    let counted = stats(&[
        ("turn/start", 0, r#"{"turn":1}"#),
        ("step/start", 0, START),
        ("step/end", 0, START),
        ("step/start", 0, r#"{"turn":1,"step":2}"#),
        ("step/end", 0, r#"{"turn":1,"step":2}"#),
        ("turn/end", 0, TURN_END),
        ("turn/start", 0, r#"{"turn":2}"#),
        ("step/start", 0, r#"{"turn":2,"step":1}"#),
        ("turn/end", 0, r#"{"turn":2,"reason":{"kind":"completed"}}"#),
        ("step/end", 0, r#"{"turn":3,"step":1}"#),
    ]);
    assert_eq!(counted, Stats { turns: 2, steps: 3, ..Stats::default() });
}

// spec: session/S116
#[test]
fn a_step_is_measured_from_its_start_to_its_first_piece_and_to_its_answer() {
    let measured = stats(&[
        ("step/start", 100, START),
        ("assistant/chunk", 110, EMPTY_PIECE),
        ("assistant/chunk", 130, PIECE),
        ("assistant/chunk", 170, PIECE),
        ("assistant/message", 200, ANSWER),
    ]);
    let expected = Stats {
        llm_ms: 100,
        ttft_ms: 30,
        ttft_steps: 1,
        decode_ms: 70,
        decode_tokens: 7,
        ..Stats::default()
    };
    assert_eq!(measured, expected);
}

// spec: session/S116
#[test]
fn the_first_piece_of_a_step_stays_the_first_when_the_model_is_asked_again() {
    let retry = r#"{"retryId":"r","turn":1,"step":1,"retry":1}"#;
    let measured = stats(&[
        ("step/start", 0, START),
        ("assistant/chunk", 10, PIECE),
        ("llm/retry-started", 20, retry),
        ("assistant/chunk", 40, PIECE),
        ("assistant/message", 50, ANSWER),
    ]);
    assert_eq!((measured.ttft_ms, measured.ttft_steps, measured.decode_ms), (10, 1, 40));
}

// spec: session/S116
#[test]
fn an_answer_whose_tokens_were_not_counted_says_nothing_of_decoding() {
    let measured = stats(&[
        ("step/start", 0, START),
        ("assistant/chunk", 10, PIECE),
        ("assistant/message", 50, NO_USAGE),
    ]);
    assert_eq!((measured.llm_ms, measured.decode_ms, measured.decode_tokens), (50, 0, 0));
    let whole_at_once = stats(&[("step/start", 0, START), ("assistant/message", 50, ANSWER)]);
    assert_eq!((whole_at_once.llm_ms, whole_at_once.ttft_steps, whole_at_once.decode_tokens), (50, 0, 0));
}

// spec: session/S116
#[test]
fn tools_are_measured_from_the_call_to_its_result() {
    let other = CALL.replace("c-1", "c-2");
    let measured = stats(&[
        ("tool/call", 0, CALL),
        ("tool/call", 5, &other),
        ("tool/result", 30, RESULT),
        ("tool/result", 45, &RESULT.replace("c-1", "c-2")),
        ("tool/result", 99, &RESULT.replace("c-1", "toString")),
    ]);
    assert_eq!(measured.tool_ms, 30 + 40);
}

// spec: session/S116
#[test]
fn the_end_of_a_turn_drops_calls_without_a_result() {
    let measured = stats(&[("tool/call", 0, CALL), ("turn/end", 10, TURN_END), ("tool/result", 30, RESULT)]);
    assert_eq!(measured.tool_ms, 0);
}

// spec: session/S116
#[test]
fn a_clock_that_goes_back_stands_still() {
    let measured = stats(&[
        ("step/start", 100, START),
        ("assistant/chunk", 90, PIECE),
        ("assistant/message", 80, ANSWER),
        ("tool/call", 70, CALL),
        ("tool/result", 60, RESULT),
    ]);
    assert_eq!(measured, Stats { ttft_steps: 1, decode_tokens: 7, ..Stats::default() });
}

// spec: session/S116
#[test]
fn the_figures_are_written_under_their_names() {
    let names = serde_json::to_value(Stats::default()).unwrap();
    let names: Vec<_> = names.as_object().unwrap().keys().cloned().collect();
    let expected = ["turns", "steps", "llmMs", "toolMs", "ttftMs", "ttftSteps", "decodeMs", "decodeTokens"];
    assert_eq!(names, expected);
}
