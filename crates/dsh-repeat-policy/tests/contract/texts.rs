//! What the model reads, and when.

use dsh_repeat_policy::Config;

use crate::fixture::{Fixture, texts};

const GENTLE: &str = "You have just made the same tool call with the same arguments again. Study its last result before you go \
     on: if the task is not finished, another approach or other arguments will help more than one more repetition.";

fn detailed(tool: &str, count: u64, arguments: &str) -> String {
    format!(
        "The same tool call has been made several times in a row:\n- tool: {tool}\n- consecutive_calls: {count}\n\
         - arguments: {arguments}\nThese calls make no progress. Do not call this tool with exactly these arguments again. \
         Look at the latest result, then take another action, use other arguments, or finish if there is enough evidence."
    )
}

// spec: timeout-jobs-hooks/J15, timeout-jobs-hooks/J16, timeout-jobs-hooks/J17
#[tokio::test]
async fn the_smallest_threshold_is_gentle_the_others_are_detailed_and_no_other_count_says_anything() {
    let fixture = Fixture::at(&[5, 2, 4]).await;
    let mut read = Vec::new();
    for _ in 0..8 {
        read.push(texts(&fixture.call("look", r#"{"b": 1, "a": "x"}"#).await));
    }
    let detailed = |count| vec![detailed("look", count, r#"{"a":"x","b":1}"#)];
    let expected =
        [vec![], vec![GENTLE.to_owned()], vec![], detailed(4), detailed(5), vec![], vec![], vec![]];
    assert_eq!(read, expected);
}

// spec: timeout-jobs-hooks/J11, timeout-jobs-hooks/J15
#[tokio::test]
async fn by_default_the_third_the_fifth_and_the_eighth_call_are_reminded_of() {
    let fixture = Fixture::new(Config::default()).await;
    let mut reminded = Vec::new();
    for count in 1..=20 {
        if fixture.reminds("look", "{}").await {
            reminded.push(count);
        }
    }
    assert_eq!(reminded, [3, 5, 8]);
}

// spec: timeout-jobs-hooks/J17
#[tokio::test]
async fn long_arguments_are_cut_in_the_text_and_not_in_the_comparison() {
    let config = Config { thresholds: vec![2, 3], arguments_preview_chars: 10, ..Config::default() };
    let fixture = Fixture::new(config).await;
    let long = |end: &str| format!(r#"{{"text":"0123456789{end}"}}"#);
    // Alike as far as they are quoted.
    fixture.call("look", &long("a")).await;
    assert_eq!(texts(&fixture.call("look", &long("b")).await), [""; 0]);
    fixture.call("look", &long("b")).await;
    let third = fixture.call("look", &long("b")).await;
    assert_eq!(texts(&third), [detailed("look", 3, r#"{"text":"0… (+12 more chars)"#)]);
}

// spec: timeout-jobs-hooks/J17
#[tokio::test]
async fn by_default_500_characters_of_the_arguments_are_quoted() {
    let fixture = Fixture::at(&[2, 3]).await;
    let arguments = |length| format!(r#"{{"t":"{}"}}"#, "x".repeat(length));
    for (length, end) in [(492, "\"}"), (493, "\"… (+1 more chars)")] {
        fixture.call("look", &arguments(length)).await;
        fixture.call("look", &arguments(length)).await;
        let third = fixture.call("look", &arguments(length)).await;
        let quoted = format!(r#"{{"t":"{}{end}"#, "x".repeat(length));
        assert_eq!(texts(&third), [detailed("look", 3, &quoted)]);
    }
}
