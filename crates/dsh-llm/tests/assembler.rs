//! An answer is put together from its pieces, however they come.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_llm::{
    AssembleError, Assembler, ContentBlock, FinishReason, LlmFailure, Source, StreamChunk, TokenUsage,
};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

fn start(index: u64, kind: &str) -> StreamChunk {
    StreamChunk::BlockStart { index, block_type: kind.to_owned() }
}

fn text(index: u64, text: &str) -> StreamChunk {
    StreamChunk::TextDelta { index, text: text.to_owned() }
}

fn reasoning(index: u64, text: &str) -> StreamChunk {
    StreamChunk::ReasoningDelta { index, text: text.to_owned() }
}

fn call(index: u64, id: &str, name: Option<&str>, arguments: &str) -> StreamChunk {
    StreamChunk::ToolCallDelta {
        index,
        id: id.to_owned(),
        name: name.map(str::to_owned),
        arguments_delta: arguments.to_owned(),
    }
}

fn end(index: u64, block: ContentBlock) -> StreamChunk {
    StreamChunk::BlockEnd { index, block }
}

fn finish(reason: FinishReason, replay_state: Option<Value>) -> StreamChunk {
    StreamChunk::Finish { reason, replay_state }
}

fn tool_call(id: &str, name: &str, arguments: &str) -> ContentBlock {
    let [id, name, arguments] = [id, name, arguments].map(str::to_owned);
    ContentBlock::ToolCall { id, name, arguments }
}

fn thought(text: &str) -> ContentBlock {
    ContentBlock::Reasoning { text: text.to_owned() }
}

fn assembled(chunks: &[StreamChunk]) -> Assembler {
    let mut assembler = Assembler::new();
    chunks.iter().for_each(|chunk| assembler.add(chunk).unwrap());
    assembler
}

fn blocks(chunks: &[StreamChunk]) -> Vec<ContentBlock> {
    assembled(chunks).blocks().unwrap()
}

// spec: llm/S11, llm/S15, llm/S17
#[test]
fn blocks_may_interleave_and_come_in_the_order_in_which_they_were_first_seen() {
    let chunks = [
        start(7, "reasoning"),
        start(2, "text"),
        text(2, "a"),
        reasoning(7, "x"),
        text(2, "b"),
        end(7, thought("whole")),
        reasoning(7, "late"),
    ];
    assert_eq!(blocks(&chunks), [thought("whole"), ContentBlock::text("ab")]);
}

// spec: llm/S15
#[test]
fn beginnings_and_ends_may_be_missing_or_repeated() {
    assert_eq!(blocks(&[text(0, "a"), start(0, "reasoning"), text(0, "b")]), [ContentBlock::text("ab")]);
    assert_eq!(blocks(&[end(3, thought("only"))]), [thought("only")]);
    let closed = [
        text(0, "a"),
        end(0, ContentBlock::text("first")),
        end(0, ContentBlock::text("second")),
        text(0, "b"),
    ];
    assert_eq!(blocks(&closed), [ContentBlock::text("first")]);
}

// spec: llm/S15
#[test]
fn a_block_keeps_its_kind_and_pieces_of_another_never_show() {
    assert_eq!(
        blocks(&[start(0, "text"), call(0, "c", Some("f"), "{}"), text(0, "a")]),
        [ContentBlock::text("a")]
    );
    assert_eq!(
        blocks(&[call(0, "c", Some("f"), "{"), text(0, "no"), call(0, "c", None, "}")]),
        [tool_call("c", "f", "{}")]
    );
}

// spec: llm/S16, llm/S17
#[test]
fn of_a_call_the_last_id_and_name_count_and_all_of_its_arguments() {
    let chunks =
        [call(4, "", None, "{"), call(4, "c1", Some(""), "\"a\""), call(4, "c2", Some("read"), ":1}")];
    assert_eq!(blocks(&chunks), [tool_call("c2", "read", "{\"a\":1}")]);
    assert_eq!(blocks(&[call(4, "", None, "")]), [tool_call("call-4", "", "")]);
}

// spec: llm/S16, llm/S19
#[test]
fn the_last_usage_and_finish_count_and_what_is_missing_is_none_and_stop() {
    let usage = |input_tokens| TokenUsage { input_tokens, ..TokenUsage::default() };
    let chunks = [
        StreamChunk::Usage { usage: usage(1) },
        finish(FinishReason::Stop {}, None),
        StreamChunk::Usage { usage: usage(2) },
        finish(FinishReason::ToolCalls {}, None),
    ];
    let assembler = assembled(&chunks);
    assert_eq!((assembler.usage(), assembler.finish()), (Some(usage(2)), FinishReason::ToolCalls {}));
    let nothing = Assembler::new();
    assert_eq!((nothing.usage(), nothing.finish()), (None, FinishReason::Stop {}));
    assert_eq!(nothing.blocks(), Ok(vec![]));
}

// spec: llm/S17, llm/S19
#[test]
fn what_is_unknown_is_an_error_unless_its_end_came() {
    let unknown: StreamChunk = serde_json::from_value(json!({ "type": "audio-delta", "index": 0 })).unwrap();
    let mut assembler = assembled(&[text(0, "a")]);
    assert!(matches!(assembler.add(&unknown), Err(AssembleError::Chunk { .. })));
    assert_eq!(assembler.blocks(), Ok(vec![ContentBlock::text("a")]), "nothing has changed");
    let open = assembled(&[start(0, "audio")]);
    assert_eq!(open.blocks(), Err(AssembleError::Block { index: 0, kind: "audio".to_owned() }));
    let block: ContentBlock = serde_json::from_value(json!({ "type": "audio", "data": "x" })).unwrap();
    assert_eq!(blocks(&[start(0, "audio"), end(0, block.clone())]), [block]);
}

// spec: llm/S18, llm/S20
#[test]
fn an_answer_at_its_limit_has_no_calls_and_neither_has_its_replay_state() {
    let state = |blocks: Value| json!({ "response": "r", "blocks": blocks });
    let chunks = |reason, state| {
        [
            text(0, "a"),
            call(1, "c", Some("f"), "{}"),
            end(2, tool_call("d", "g", "{}")),
            text(3, "b"),
            finish(reason, state),
        ]
    };
    let cut = assembled(&chunks(FinishReason::MaxTokens {}, Some(state(json!([0, 1, 2, 3])))));
    assert_eq!(cut.blocks().unwrap(), [ContentBlock::text("a"), ContentBlock::text("b")]);
    assert_eq!(cut.replay_state(), Some(state(json!([0, 3]))));
    let whole = assembled(&chunks(FinishReason::Stop {}, Some(state(json!([0, 1, 2, 3])))));
    assert_eq!(whole.blocks().unwrap().len(), 4);
    assert_eq!(whole.replay_state(), Some(state(json!([0, 1, 2, 3]))));
}

// spec: llm/S20
#[test]
fn a_replay_state_without_blocks_passes_and_one_that_does_not_fit_is_dropped() {
    let with =
        |state: Value| assembled(&[text(0, "a"), finish(FinishReason::Stop {}, Some(state))]).replay_state();
    assert_eq!(with(json!({ "response": 1 })), Some(json!({ "response": 1 })));
    assert_eq!(with(json!({ "response": 1, "blocks": [1, 2] })), None);
    assert_eq!(with(json!({ "response": 1, "blocks": [] })), None);
    let message = assembled(&[text(0, "a"), finish(FinishReason::Stop {}, Some(json!({ "response": 1 })))]);
    let message = message.message("acme", "m").unwrap();
    let replay_state = Some(json!({ "response": 1 }));
    assert_eq!(message.source, Source::Model { provider: "acme".into(), model: "m".into(), replay_state });
}

// spec: llm/S21
#[test]
fn of_an_interrupted_answer_text_and_reasoning_are_kept() {
    let chunks = [
        text(0, " \n"),
        reasoning(1, "why"),
        call(2, "c", Some("f"), "{}"),
        end(3, ContentBlock::text("done")),
        start(4, "audio"),
        text(5, "half"),
    ];
    let expected = [thought("why"), ContentBlock::text("done"), ContentBlock::text("half")];
    assert_eq!(assembled(&chunks).interrupted_blocks(), expected);
}

fn any_chunk() -> impl Strategy<Value = StreamChunk> {
    let failure = LlmFailure::new("X", "x");
    prop_oneof![
        (0_u64..5, prop_oneof![Just("text"), Just("reasoning"), Just("tool-call"), Just("audio")])
            .prop_map(|(index, kind)| start(index, kind)),
        (0_u64..5, "[a-c]{0,3}").prop_map(|(index, more)| text(index, &more)),
        (0_u64..5, "[a-c]{0,3}").prop_map(|(index, more)| reasoning(index, &more)),
        (0_u64..5, "[a-c]{0,2}", proptest::option::of("[f-g]{0,1}"), "[{}]{0,2}")
            .prop_map(|(index, id, name, more)| call(index, &id, name.as_deref(), &more)),
        (0_u64..5, any::<bool>()).prop_map(|(index, is_call)| {
            end(index, if is_call { tool_call("e", "f", "{}") } else { ContentBlock::text("e") })
        }),
        any::<u8>().prop_map(|input| StreamChunk::Usage {
            usage: TokenUsage { input_tokens: input.into(), ..TokenUsage::default() }
        }),
        prop_oneof![
            Just(FinishReason::Stop {}),
            Just(FinishReason::MaxTokens {}),
            Just(FinishReason::Error { failure }),
        ]
        .prop_map(|reason| finish(reason, None)),
    ]
}

proptest! {
    // spec: llm/S16, llm/S22
    #[test]
    fn whatever_comes_is_bounded_by_its_indices_and_can_be_asked_again(chunks in vec(any_chunk(), 0..40)) {
        let assembler = assembled(&chunks);
        let (first, again) = (assembler.blocks(), assembler.blocks());
        prop_assert_eq!(&first, &again);
        prop_assert!(first.map_or(0, |blocks| blocks.len()) <= 5);
        let last = chunks.iter().rev().find_map(|chunk| match chunk {
            StreamChunk::Finish { reason, .. } => Some(reason.clone()),
            _ => None,
        });
        prop_assert_eq!(assembler.finish(), last.unwrap_or(FinishReason::Stop {}));
        let mut twice = assembler.clone();
        // What repeats a block that has ended changes nothing.
        if let Some(StreamChunk::BlockEnd { index, block }) =
            chunks.iter().find(|chunk| matches!(chunk, StreamChunk::BlockEnd { .. }))
        {
            twice.add(&end(*index, block.clone())).unwrap();
            prop_assert_eq!(twice.blocks(), assembler.blocks());
        }
    }
}
