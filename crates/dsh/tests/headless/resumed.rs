//! Sessions that one of the two programs wrote, and that both go on with.

use serde_json::{Value, json};

use crate::log;
use crate::program::{Program, Ran, copy, script};
use crate::recording::{Ended, Recording, Run, here};
use crate::same::assert_same;

/// `dsh run --resume ID next` on a stored session.
fn resumed(name: &str) -> Ran {
    let program = Program::new();
    copy(&here("sessions").join(name), &program.home().join("sessions"));
    let id = program.log()[0]["id"].as_str().unwrap().to_owned();
    let mut ran = program.run(&script("beside/answer"), &["--resume", &id, "next"]);
    let ended = Ended { exit: Some(0), stdout: "Going on.\n".to_owned(), stderr: String::new() };
    // The reference was resumed by a stand-in, which prints nothing.
    assert_eq!(ran.recording.process.take(), Some(ended));
    ran
}

/// The messages of the only request.
fn conversation(ran: &Ran) -> Vec<Value> {
    let turns: Vec<_> = ran.requests.iter().filter(|request| request.body()["tools"].is_array()).collect();
    assert_eq!(turns.len(), 1);
    turns[0].body()["messages"].as_array().unwrap().clone()
}

/// Each call has one result, right behind the calls and in their order.
#[track_caller]
fn assert_calls_are_answered(messages: &[Value]) {
    for (at, message) in messages.iter().enumerate() {
        let Some(calls) = message["tool_calls"].as_array() else { continue };
        let asked: Vec<&Value> = calls.iter().map(|call| &call["id"]).collect();
        let results = messages[at + 1..].iter().take_while(|message| message["role"] == "tool");
        let answered: Vec<&Value> = results.map(|message| &message["tool_call_id"]).collect();
        assert_eq!(answered, asked);
    }
}

/// The turns that a log has.
fn turns(log: &[Value]) -> Vec<&Value> {
    log.iter().filter(|event| event["type"] == "turn/start").map(|event| &event["data"]["turn"]).collect()
}

// spec: agent-loop/S27, agent-loop/S63, agent-loop/S66, agent-loop/S70
#[test]
fn a_session_of_the_reference_goes_on_where_it_ended() {
    let ran = resumed("three_bash");
    let messages = conversation(&ran);
    assert_calls_are_answered(&messages);
    assert_eq!(messages.iter().filter(|message| message["role"] == "tool").count(), 3);
    let last_answer = messages.iter().rposition(|message| message["role"] == "assistant").unwrap();
    assert_eq!(messages[last_answer]["content"], "All done.");
    assert_eq!(messages[last_answer + 1], json!({ "role": "user", "content": "next" }));
    assert_eq!(turns(&ran.log), [1, 2]);
    assert_same("resumed_three_bash", &ran.recording);
}

// spec: agent-loop/S27, session/S67, cases/G3
#[test]
fn a_session_of_the_reference_that_was_killed_has_an_interrupted_result_for_each_open_call() {
    let ran = resumed("killed");
    let messages = conversation(&ran);
    assert_calls_are_answered(&messages);
    let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 3);
    assert_eq!(results[0]["content"], "first\n");
    assert_eq!(turns(&ran.log), [1, 2]);
    assert_same("resumed_killed", &ran.recording);
}

// spec: agent-loop/S27, agent-loop/S70
#[test]
fn the_reference_goes_on_with_a_session_of_ours_as_we_do() {
    let ran = resumed("ours");
    assert_calls_are_answered(&conversation(&ran));
    assert_eq!(turns(&ran.log), [1, 2]);
    assert_same("resumed_ours", &ran.recording);
}

// spec: agent-loop/S59
#[test]
fn we_still_write_the_session_that_the_reference_went_on_with() {
    let logs = log::below(&here("sessions/ours"));
    let stored = log::read(&logs[0]);
    let workspace = stored[0]["cwd"].as_str().unwrap();
    let then =
        Recording::of(Run { process: None, requests: &[], log: &stored, server: "http://none", workspace });
    let now = Program::new().run(&script("three_bash"), &["go"]).recording;
    assert_eq!(now.events, then.events);
}
