//! Views as others read them: by their card, with the reference's keys.

use dsh_llm::ContentBlock;
use dsh_tools::{
    CallView, FileDiff, Found, FoundFile, FoundLine, Location, ReadLine, ResultView, TerminalEnd, ViewKind,
    Web, WebSource,
};
use serde::Serialize;
use serde_json::{Value, json};

#[track_caller]
fn writes(view: impl Serialize, written: Value) {
    assert_eq!(serde_json::to_value(&view).unwrap(), written);
}

fn diffs() -> (Vec<FileDiff>, Value) {
    let new = FileDiff { path: "new".into(), old_text: None, new_text: "b".into() };
    let old = FileDiff { path: "old".into(), old_text: Some("a".into()), new_text: "b".into() };
    let written = json!([
        { "path": "new", "oldText": null, "newText": "b" },
        { "path": "old", "oldText": "a", "newText": "b" },
    ]);
    (vec![new, old], written)
}

// spec: tools/T93
#[test]
fn a_call_is_a_card_a_command_or_changes() {
    let locations =
        || vec![Location { path: "a".into(), line: Some(3) }, Location { path: "b".into(), line: None }];
    let written = json!([{ "path": "a", "line": 3 }, { "path": "b" }]);
    writes(
        CallView::Generic {
            title: "Read a".into(),
            kind: Some(ViewKind::Read),
            raw_input: Some(json!({ "n": 1 })),
            content: vec![ContentBlock::text("x")],
            locations: locations(),
        },
        json!({
            "card": "generic", "title": "Read a", "kind": "read", "rawInput": { "n": 1 },
            "content": [{ "type": "text", "text": "x" }], "locations": written,
        }),
    );
    let bare = CallView::Generic {
        title: "T".into(),
        kind: None,
        raw_input: None,
        content: vec![],
        locations: vec![],
    };
    writes(bare, json!({ "card": "generic", "title": "T" }));
    let (description, cwd) = (Some("lists".to_owned()), Some("/".to_owned()));
    writes(
        CallView::Terminal { title: "ls".into(), description, cwd },
        json!({ "card": "terminal", "title": "ls", "description": "lists", "cwd": "/" }),
    );
    let (diffs, changes) = diffs();
    writes(
        CallView::Diff { title: "Edit".into(), diffs, locations: locations() },
        json!({ "card": "diff", "title": "Edit", "diffs": changes, "locations": written }),
    );
    let kinds = [
        (ViewKind::Read, "read"),
        (ViewKind::Edit, "edit"),
        (ViewKind::Delete, "delete"),
        (ViewKind::Move, "move"),
        (ViewKind::Search, "search"),
        (ViewKind::Execute, "execute"),
        (ViewKind::Fetch, "fetch"),
        (ViewKind::Other, "other"),
    ];
    for (kind, word) in kinds {
        writes(kind, json!(word));
    }
}

// spec: tools/T94
#[test]
fn a_result_is_one_of_six_cards() {
    let content = || vec![ContentBlock::text("x")];
    writes(
        ResultView::Generic { content: content() },
        json!({ "card": "generic", "content": [{ "type": "text", "text": "x" }] }),
    );
    for (ended, key, value) in [
        (TerminalEnd::ExitCode(-1), "exitCode", json!(-1)),
        (TerminalEnd::Signal("SIGKILL".into()), "signal", json!("SIGKILL")),
    ] {
        let mut written = json!({ "card": "terminal", "output": "o" });
        written[key] = value;
        writes(ResultView::Terminal { output: Some("o".into()), ended: Some(ended) }, written);
    }
    writes(ResultView::Terminal { output: None, ended: None }, json!({ "card": "terminal" }));
    let (diffs, changes) = diffs();
    writes(ResultView::Diff { diffs }, json!({ "card": "diff", "diffs": changes }));
    let found = Found::Paths { paths: vec!["a".into()] };
    writes(
        ResultView::Search { found, truncated: true, total: 9 },
        json!({ "card": "search", "shape": "paths", "paths": ["a"], "truncated": true, "total": 9 }),
    );
    let matches = vec![FoundLine { line_number: 4, line: "l".into() }];
    let found = Found::Matches { files: vec![FoundFile { path: "a".into(), matches }] };
    writes(
        ResultView::Search { found, truncated: false, total: 1 },
        json!({
            "card": "search", "shape": "matches", "truncated": false, "total": 1,
            "files": [{ "path": "a", "matches": [{ "lineNumber": 4, "line": "l" }] }],
        }),
    );
    writes(
        ResultView::Read {
            path: "a".into(),
            offset: 2,
            lines: vec![ReadLine { number: 2, text: "t".into() }],
            total_lines: 5,
            lang: Some("rust".into()),
            content: content(),
        },
        json!({
            "card": "read", "path": "a", "offset": 2, "lines": [{ "number": 2, "text": "t" }], "totalLines": 5,
            "lang": "rust", "content": [{ "type": "text", "text": "x" }],
        }),
    );
    let source = WebSource {
        url: "u".into(),
        title: Some("t".into()),
        snippet: None,
        published_at: Some("today".into()),
    };
    writes(
        ResultView::Web {
            web: Web::Search { sources: vec![source], answer: Some("yes".into()) },
            truncated: false,
        },
        json!({
            "card": "web", "kind": "search", "answer": "yes", "truncated": false,
            "sources": [{ "url": "u", "title": "t", "publishedAt": "today" }],
        }),
    );
    writes(
        ResultView::Web { web: Web::Fetch { url: "u".into(), status_code: 200 }, truncated: true },
        json!({ "card": "web", "kind": "fetch", "url": "u", "statusCode": 200, "truncated": true }),
    );
}
