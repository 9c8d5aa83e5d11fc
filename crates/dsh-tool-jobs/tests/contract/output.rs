//! What `job_output` gives.

use dsh_jobs::{JobOutcome, TerminalStatus};
use serde_json::json;

use crate::fixture::{Fixture, completed, said};

fn ended(status: TerminalStatus, detail: Option<&str>) -> JobOutcome {
    JobOutcome { status, detail: detail.map(str::to_owned), output: None }
}

async fn read(fixture: &Fixture, id: &str) -> String {
    fixture.call("job_output", json!({ "job_id": id })).await.text()
}

// spec: timeout-jobs-hooks/J42
#[tokio::test]
async fn an_answer_ends_with_where_the_job_stands() {
    let fixture = Fixture::new().await;
    let running = fixture.stream();
    assert_eq!(read(&fixture, "bash-1").await, "(no new output)\n[status: running]");
    fixture.call("job_kill", json!({ "job_id": "bash-1" })).await;
    assert_eq!(read(&fixture, "bash-1").await, "(no new output)\n[status: stopping]");
    fixture.end(running, ended(TerminalStatus::Killed, Some("signal: SIGTERM"))).await;
    assert_eq!(read(&fixture, "bash-1").await, "(no new output)\n[status: killed, signal: SIGTERM]");
    for (place, (status, detail, expected)) in [
        (TerminalStatus::Completed, Some("exit code: 3"), "[status: completed, exit code: 3]"),
        (TerminalStatus::Completed, None, "[status: completed]"),
        (TerminalStatus::Failed, Some(""), "[status: failed, ]"),
    ]
    .into_iter()
    .enumerate()
    {
        fixture.end(fixture.stream(), ended(status, detail)).await;
        let id = format!("bash-{}", place + 2);
        assert_eq!(read(&fixture, &id).await, format!("(no new output)\n{expected}"));
    }
}

// spec: timeout-jobs-hooks/J41, timeout-jobs-hooks/J42
#[tokio::test]
async fn a_job_that_speaks_while_it_runs_gives_what_is_new() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    work.say("hi\n");
    assert_eq!(read(&fixture, "bash-1").await, "hi\n[status: running]");
    assert_eq!(read(&fixture, "bash-1").await, "(no new output)\n[status: running]");
    work.say("there");
    work.say(" is more");
    assert_eq!(read(&fixture, "bash-1").await, "there is more\n[status: running]");
    work.say("bye");
    fixture.end(work, completed("exit code: 0")).await;
    assert_eq!(read(&fixture, "bash-1").await, "bye\n[status: completed, exit code: 0]");
    assert_eq!(read(&fixture, "bash-1").await, "(no new output)\n[status: completed, exit code: 0]");
}

// spec: timeout-jobs-hooks/J41, timeout-jobs-hooks/J42
#[tokio::test]
async fn a_job_that_says_all_at_its_end_gives_it_each_time() {
    let fixture = Fixture::new().await;
    let work = fixture.quiet();
    assert_eq!(read(&fixture, "bash-1").await, "(no new output)\n[status: running]");
    fixture.end(work, said("the report")).await;
    for _ in 0..2 {
        assert_eq!(read(&fixture, "bash-1").await, "the report\n[status: completed]");
    }
}

// spec: timeout-jobs-hooks/J42
#[tokio::test]
async fn the_status_begins_a_line_of_its_own() {
    let fixture = Fixture::new().await;
    for (place, (output, expected)) in [
        ("", "(no new output)\n[status: completed]"),
        ("\n", "\n[status: completed]"),
        ("\n\n", "\n\n[status: completed]"),
        (" ", " \n[status: completed]"),
        ("a\n", "a\n[status: completed]"),
    ]
    .into_iter()
    .enumerate()
    {
        fixture.end(fixture.quiet(), said(output)).await;
        assert_eq!(read(&fixture, &format!("bash-{}", place + 1)).await, expected);
    }
}

// spec: timeout-jobs-hooks/J41, timeout-jobs-hooks/J45
#[tokio::test]
async fn the_value_is_the_text_and_the_job_as_all_may_see_it() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    let started = work.job.started_at;
    work.say("hi");
    let live = fixture.call("job_output", json!({ "job_id": "bash-1" })).await;
    let job = json!({
        "id": "bash-1", "kind": "bash", "label": "echo hi", "status": "running", "startedAt": started,
    });
    assert_eq!(live.value(), Some(&json!({ "text": "hi", "job": job })));
    fixture.end(work, completed("exit code: 0")).await;
    let over = fixture.call("job_output", json!({ "job_id": "bash-1" })).await;
    let finished = over.value().unwrap()["job"]["finishedAt"].as_u64().unwrap();
    assert!(finished >= started);
    let job = json!({
        "id": "bash-1", "kind": "bash", "label": "echo hi", "status": "completed", "startedAt": started,
        "detail": "exit code: 0", "finishedAt": finished,
    });
    assert_eq!(over.value(), Some(&json!({ "text": "", "job": job })));
}

// spec: timeout-jobs-hooks/J27, timeout-jobs-hooks/J45
#[tokio::test]
async fn an_id_that_leads_to_no_job_of_the_caller_is_refused() {
    let fixture = Fixture::new().await;
    let (ben, _) = fixture.agent("ben");
    let _work = fixture.stream();
    for tool in ["job_output", "job_kill"] {
        for (id, expected) in [
            ("", "Error: invalid job_id: expected a non-empty string, got \"\""),
            ("  ", "Error: unknown job   "),
            ("bash-9", "Error: unknown job bash-9"),
            ("BASH-1", "Error: unknown job BASH-1"),
        ] {
            let outcome = fixture.call(tool, json!({ "job_id": id })).await;
            assert_eq!((outcome.text().as_str(), outcome.code()), (expected, None), "{tool}");
        }
        let foreign = fixture.call_of(&ben, tool, json!({ "job_id": "bash-1" })).await;
        assert_eq!(foreign.text(), "Error: job bash-1 belongs to another session");
        let without = fixture.call(tool, json!({})).await;
        assert_eq!(without.code(), Some("INVALID_ARGS"));
    }
}

// spec: timeout-jobs-hooks/J41
#[tokio::test]
async fn the_parameters_are_those_of_the_reference() {
    let fixture = Fixture::new().await;
    let tools = fixture.tools.get().unwrap().list(None);
    let seen: Vec<_> = tools
        .iter()
        .map(|tool| {
            let mut parameters = json!(tool.schema().parameters);
            let described = parameters["properties"].as_object_mut().unwrap();
            for parameter in described.values_mut() {
                assert!(parameter.as_object_mut().unwrap().remove("description").is_some());
            }
            (tool.name().to_owned(), parameters)
        })
        .collect();
    let (text, yes, number) =
        (json!({ "type": "string" }), json!({ "type": "boolean" }), json!({ "type": "number" }));
    let output = json!({ "job_id": text, "wait": yes, "timeout_ms": number });
    let kill = json!({ "job_id": text, "reason": text });
    let expected = [
        ("job_output", json!({ "type": "object", "properties": output, "required": ["job_id"] })),
        ("job_list", json!({ "type": "object", "properties": {} })),
        ("job_kill", json!({ "type": "object", "properties": kill, "required": ["job_id"] })),
    ];
    assert_eq!(seen, expected.map(|(name, parameters)| (name.to_owned(), parameters)));
}

// spec: timeout-jobs-hooks/J46
#[tokio::test]
async fn a_call_is_shown_as_a_card() {
    let fixture = Fixture::new().await;
    let card = |tool: &str, arguments: serde_json::Value| {
        let tool = fixture.tools.get().unwrap().get(tool, None).unwrap();
        serde_json::to_value(tool.present_call(&arguments)).unwrap()
    };
    assert_eq!(
        card("job_output", json!({ "job_id": "bash-1", "wait": true })),
        json!({ "card": "generic", "title": "Read output from background job bash-1", "kind": "read", "rawInput": "bash-1" })
    );
    assert_eq!(
        card("job_list", json!({})),
        json!({ "card": "generic", "title": "List background jobs", "kind": "read" })
    );
    assert_eq!(
        card("job_kill", json!({ "job_id": "bash-1" })),
        json!({ "card": "generic", "title": "Kill background job bash-1", "kind": "execute", "rawInput": "bash-1" })
    );
    assert_eq!(card("job_kill", json!({ "job_id": 1 })), json!(null));
}
