//! What things take, about.

use dsh_llm::{ContentBlock, Message};
use dsh_token_meter::{
    estimate_block, estimate_header, estimate_message, estimate_system, estimate_text, estimate_tools,
};
use serde_json::json;

use crate::fixture::{header, tool};

// spec: llm/S76
#[test]
fn a_text_takes_a_quarter_of_its_utf16_length_rounded_up() {
    for (text, tokens) in
        [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1), ("😀😀", 1), ("😀😀a", 2)]
    {
        assert_eq!(estimate_text(text), tokens, "{text:?}");
    }
}

// spec: llm/S76
#[test]
fn a_block_takes_what_is_in_it_and_4() {
    let text = ContentBlock::text("abcde");
    assert_eq!(estimate_block(&text), 6);
    assert_eq!(estimate_block(&ContentBlock::Reasoning { text: "abcde".into() }), 6);
    let call = ContentBlock::ToolCall {
        id: "a-long-id-of-no-matter".into(),
        name: "bash".into(),
        arguments: "{}".into(),
    };
    // Each is rounded up by itself.
    assert_eq!(estimate_block(&call), 1 + 1 + 4);
    let result = ContentBlock::ToolResult {
        tool_call_id: "c".into(),
        content: vec![text.clone(), text],
        is_error: None,
    };
    assert_eq!(estimate_block(&result), 6 + 6 + 4);
}

// spec: llm/S76
#[test]
fn a_picture_and_an_unknown_block_take_their_json() {
    let picture =
        ContentBlock::Image { attachment: json!({ "attachmentId": "ü😀😀😀😀", "bytes": 1 }) };
    let length =
        r#"{"type":"image","attachment":{"attachmentId":"ü😀😀😀😀","bytes":1}}"#.encode_utf16().count()
            as u64;
    assert_eq!(estimate_block(&picture), length.div_ceil(4) + 4);
    let unknown: ContentBlock = serde_json::from_str(r#"{"type":"song","notes":[1,2]}"#).unwrap();
    assert_eq!(estimate_block(&unknown), 29_u64.div_ceil(4) + 4);
}

// spec: llm/S76
#[test]
fn a_message_takes_its_blocks_and_4() {
    assert_eq!(
        estimate_message(&Message::user(vec![ContentBlock::text("abcd"), ContentBlock::text("")])),
        5 + 4 + 4
    );
    assert_eq!(estimate_message(&Message::user(Vec::new())), 4);
}

// spec: llm/S76
#[test]
fn instructions_and_tools_take_4_more_and_nothing_when_there_are_none() {
    assert_eq!(estimate_system(Some("abcd")), 5);
    assert_eq!(estimate_system(Some("")) + estimate_system(None) + estimate_tools(&[]), 0);
    let tools = [tool("one")];
    let length = r#"[{"name":"one","description":"d","parameters":{}}]"#.len() as u64;
    assert_eq!(estimate_tools(&tools), length.div_ceil(4) + 4);
    let mut header = header("abcd");
    header.tools = Some(tools.to_vec());
    assert_eq!(estimate_header(&header), 5 + length.div_ceil(4) + 4);
}
