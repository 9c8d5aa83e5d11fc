//! What a model reads of what a program printed and returned.

use dsh_tools::{CodeOutcome, Mode};
use serde_json::{Value, json};

use crate::fixture::Fixture;

async fn rendered(logs: &[&str], result: Option<Value>) -> String {
    let fixture = Fixture::new(Mode::Code).await;
    let logs: Vec<String> = logs.iter().map(|line| (*line).to_owned()).collect();
    let value = result.clone();
    fixture.programs("typescript", move |_| {
        let outcome = CodeOutcome::completed(logs.clone(), value.clone());
        async move { outcome }
    });
    let outcome = fixture.run().await;
    assert!(!outcome.is_error(), "{}", outcome.text());
    outcome.text()
}

// spec: code-mode/C6, C91, C16
#[tokio::test]
async fn what_was_printed_comes_first_then_the_result_and_nothing_is_said_to_be_nothing() {
    let cases: [(&[&str], Option<Value>, &str); 13] = [
        (&["a", "b"], None, "a\nb"),
        (&[], Some(json!("x")), "x"),
        (&["a"], Some(json!("x")), "a\nx"),
        (&[], Some(Value::Null), "null"),
        (&[], Some(json!([])), "[]"),
        (&[], Some(json!({})), "{}"),
        (&[], Some(json!(true)), "true"),
        (&[], Some(json!(2.50)), "2.5"),
        (&[], Some(json!("")), "(run_code completed with no output)"),
        (&[], None, "(run_code completed with no output)"),
        (&[""], None, "(run_code completed with no output)"),
        (&["a"], Some(json!("")), "a"),
        (&["", ""], Some(json!(1)), "\n\n1"),
    ];
    for (logs, result, expected) in cases {
        assert_eq!(rendered(logs, result.clone()).await, expected, "{logs:?} {result:?}");
    }
}

// spec: code-mode/C6, C92
#[tokio::test]
async fn json_is_spread_over_lines_down_to_the_sixth_level_and_compact_below() {
    let value = json!({ "a": [1, "two\n", null, { "b": [], "c": {} }], "d": false });
    let expected = "{\n  \"a\": [\n    1,\n    \"two\\n\",\n    null,\n    {\n      \"b\": [],\n      \"c\": {}\n    }\n  ],\n  \"d\": false\n}";
    assert_eq!(rendered(&[], Some(value)).await, expected);

    let nested = json!({ "k": { "k": { "k": { "k": { "k": { "k": [1, { "m": 2 }] } } } } } });
    let expected = "{\n  \"k\": {\n    \"k\": {\n      \"k\": {\n        \"k\": {\n          \"k\": {\"k\":[1,{\"m\":2}]}\n        }\n      }\n    }\n  }\n}";
    assert_eq!(rendered(&[], Some(nested)).await, expected);
}

// spec: code-mode/C6
#[tokio::test]
async fn a_result_as_deep_as_values_may_be_is_rendered_in_linear_size() {
    let mut deep = json!(1);
    for _ in 0..990 {
        deep = json!([deep]);
    }
    let text = rendered(&[], Some(deep)).await;
    assert!(text.len() < 2_200, "{}", text.len());
    assert!(text.contains(&format!("{}1{}", "[".repeat(985), "]".repeat(985))));
}
