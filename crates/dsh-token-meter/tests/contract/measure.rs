//! What a session takes.

use std::sync::Arc;

use dsh_llm::FinishReason;
use dsh_session::{NewEvent, Session};
use dsh_token_meter::{Baseline, Measurement, NodeTokens, TokenMeter};

use crate::fixture::{Written, finish, header, said, text, usage};

/// Takes 18.
const SAID: &str = "0123456789012345678901234567890123456789";
/// Takes 13.
const ANSWER: &str = "01234567890123456789";
/// Takes 6.
const SYSTEM: &str = "01234567";

fn measured(written: &Written) -> Measurement {
    TokenMeter::default().measure(&written.0, None).unwrap()
}

/// Said, and answered with what the provider counted.
fn answered(input: u64, output: u64) -> Written {
    let written = Written::new();
    written.step(1);
    written.user(SAID);
    written.header(header(SYSTEM));
    let pieces = vec![written.piece(1, text(ANSWER))];
    written.answers(1, ANSWER, Some(usage(input, output)), Some(pieces));
    written
}

// spec: llm/S77
#[test]
fn before_the_first_answer_all_is_an_estimate_without_a_baseline() {
    let written = Written::new();
    let seq = written.user(SAID);
    written.header(header(SYSTEM));
    let expected = Measurement {
        log_revision: 3,
        baseline: Baseline::None,
        surface_delta_tokens: 18,
        total_tokens: 24,
        surface_tokens: 18,
        nodes: Arc::new(vec![NodeTokens { seq, tokens: 18 }]),
    };
    assert_eq!(measured(&written), expected);
}

// spec: llm/S78
#[test]
fn what_the_provider_counted_is_the_baseline_and_what_came_after_is_added() {
    let written = answered(100, 20);
    let at_once = measured(&written);
    assert_eq!(at_once.baseline, Baseline::Usage { tokens: 120, usage: usage(100, 20) });
    assert_eq!((at_once.surface_delta_tokens, at_once.total_tokens), (0, 120));
    written.user(SAID);
    let later = measured(&written);
    assert_eq!(
        (later.surface_delta_tokens, later.total_tokens, later.surface_tokens),
        (18, 138, 18 + 13 + 18)
    );
}

// spec: llm/S78
#[test]
fn a_count_below_the_estimate_is_not_believed() {
    let full = 6 + 18 + 13;
    let measure = |input| measured(&answered(input, 13)).baseline;
    assert_eq!(measure(full - 13), Baseline::Usage { tokens: full, usage: usage(full - 13, 13) });
    assert_eq!(measure(full - 14), Baseline::Estimated { tokens: full });
}

// spec: llm/S78
#[test]
fn all_four_counts_make_the_total() {
    let written = Written::new();
    written.step(1);
    written.header(header(SYSTEM));
    let usage =
        dsh_llm::TokenUsage { cache_read_tokens: Some(300), cache_write_tokens: Some(7), ..usage(100, 20) };
    written.answers(1, ANSWER, Some(usage), None);
    assert_eq!(measured(&written).total_tokens, 427);
}

// spec: llm/S78
#[test]
fn without_a_count_or_without_a_header_the_baseline_is_an_estimate() {
    let written = Written::new();
    written.step(1);
    written.user(SAID);
    written.answers(1, ANSWER, Some(usage(100, 20)), None);
    assert_eq!(measured(&written).baseline, Baseline::Estimated { tokens: 31 });
    written.ends(1);
    written.header(header(SYSTEM));
    written.step(2);
    written.answers(2, ANSWER, None, None);
    assert_eq!(measured(&written).baseline, Baseline::Estimated { tokens: 31 + 13 + 6 });
}

// spec: llm/S78
#[test]
fn for_another_header_all_of_it_is_an_estimate() {
    let written = answered(100, 20);
    let meter = TokenMeter::default();
    let measure = |system: &str| meter.measure(&written.0, Some(&header(system))).unwrap();
    assert_eq!(measure(SYSTEM).total_tokens, 120);
    let other = measure("0123");
    assert_eq!(other.baseline, Baseline::Estimated { tokens: 5 + 18 + 13 });
    assert_eq!((other.surface_delta_tokens, other.total_tokens), (0, 36));
    // Headers are compared in canonical form.
    let same = dsh_session::EpochHeader { tools: Some(Vec::new()), ..header(SYSTEM) };
    assert_eq!(meter.measure(&written.0, Some(&same)).unwrap().total_tokens, 120);
}

// spec: llm/S78
#[test]
fn an_answer_takes_what_its_pieces_take_not_what_is_kept_of_it() {
    let written = Written::new();
    written.step(1);
    let failed = written.piece(1, text("a failed attempt is not part of it"));
    let pieces = vec![written.piece(1, text(ANSWER)), written.piece(1, text(ANSWER))];
    assert!(failed < pieces[0]);
    written.answers(1, "0123", None, Some(pieces));
    // 4 around, 4 around the block, 10 in it; 9 of it are in the conversation.
    let measured = measured(&written);
    assert_eq!(measured.baseline, Baseline::Estimated { tokens: 18 });
    assert_eq!((measured.surface_delta_tokens, measured.total_tokens), (9 - 18, 9));
}

// spec: llm/S78
#[test]
fn an_answer_of_no_pieces_takes_nothing_and_one_that_does_not_say_takes_its_message() {
    let baseline = |pieces| {
        let written = Written::new();
        written.step(1);
        written.answers(1, ANSWER, None, pieces);
        measured(&written).baseline
    };
    assert_eq!(baseline(Some(Vec::new())), Baseline::Estimated { tokens: 0 });
    assert_eq!(baseline(None), Baseline::Estimated { tokens: 13 });
}

// spec: llm/S78
#[test]
fn calls_of_an_answer_that_was_cut_take_nothing() {
    let call = |arguments: &str| dsh_llm::StreamChunk::ToolCallDelta {
        index: 1,
        id: "c".to_owned(),
        name: Some("bash".to_owned()),
        arguments_delta: arguments.to_owned(),
    };
    let baseline = |reason| {
        let written = Written::new();
        written.step(1);
        let chunks = [text("0123"), call("0123"), call("4567"), finish(reason)];
        let pieces = chunks.map(|chunk| written.piece(1, chunk)).to_vec();
        written.answers(1, "0123", None, Some(pieces));
        measured(&written).baseline
    };
    assert_eq!(baseline(FinishReason::ToolCalls {}), Baseline::Estimated { tokens: 4 + 5 + 7 });
    assert_eq!(baseline(FinishReason::MaxTokens {}), Baseline::Estimated { tokens: 4 + 5 });
}

// spec: llm/S77
#[test]
fn an_answer_without_content_takes_nothing() {
    let written = Written::new();
    written.step(1);
    let seq = written.answers(1, "", None, Some(Vec::new()));
    assert_eq!(*measured(&written).nodes, [NodeTokens { seq, tokens: 0 }]);
}

// spec: llm/S77, llm/S78
#[test]
fn a_shorter_conversation_takes_less_than_the_baseline_and_never_less_than_nothing() {
    let written = answered(100, 20);
    let long = "x".repeat(4_000);
    let (first, last) = (written.user(&long), written.user(&long));
    assert_eq!(measured(&written).total_tokens, 120 + 2 * 1_008);
    let seq = written
        .add(NewEvent::user(said("0123")).unwrap().replacing(first, last).made_from(vec![first, last]));
    let after = measured(&written);
    assert_eq!((after.surface_tokens, after.total_tokens), (18 + 13 + 9, 129));
    assert_eq!(after.nodes.last(), Some(&NodeTokens { seq, tokens: 9 }));
    assert_eq!(after.nodes.len(), 3);

    let written = Written::new();
    let seq = written.user(&long);
    written.step(1);
    written.answers(1, "", None, Some(Vec::new()));
    written.add(NewEvent::user(said("")).unwrap().replacing(seq, seq).made_from(vec![seq]));
    let after = measured(&written);
    assert_eq!((after.surface_delta_tokens, after.total_tokens), (8 - 1_008, 8));
}

// spec: llm/S77
#[test]
fn a_session_that_grows_is_measured_as_one_that_is_read_at_once() {
    let (meter, written) = (TokenMeter::default(), Written::new());
    let check = || assert_eq!(meter.measure(&written.0, None).unwrap(), measured(&written));
    for step in 1..4 {
        written.step(step);
        check();
        written.user(SAID);
        check();
        written.header(header(SYSTEM));
        let pieces = vec![written.piece(step, text(ANSWER))];
        check();
        written.answers(step, ANSWER, Some(usage(100 * step, 20)), Some(pieces));
        check();
        written.ends(step);
    }
    check();
}

#[test]
fn sessions_of_one_id_are_measured_apart() {
    let meter = TokenMeter::default();
    let written = answered(100, 20);
    assert_eq!(meter.measure(&written.0, None).unwrap().total_tokens, 120);
    let other = Session::detached(written.0.id());
    assert_eq!(meter.measure(&other, None).unwrap().total_tokens, 0);
    assert_eq!(meter.measure(&written.0, None).unwrap().total_tokens, 120);
}
