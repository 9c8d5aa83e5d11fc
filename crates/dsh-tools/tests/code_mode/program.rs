//! Programs: what they are given, what becomes of their calls, and how they end.

use cordis::Next;
use dsh_agent::testing::agent;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{NewEvent, Session, TurnStart};
use dsh_tools::{
    CallRequest, CodeFailureKind, CodeOutcome, CodeRequest, Mode, POST_EXECUTE, PRE_EXECUTE, PostDecision,
    PreDecision, RUN_CODE, Restriction, Settled, ToolCall, ToolDefinition, ToolError, ToolRun,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Log, named, program};

/// Calls a tool as a program does.
async fn call(request: &CodeRequest, tool: &str) -> Result<Value, String> {
    call_with(request, tool, json!({})).await
}

async fn call_with(request: &CodeRequest, tool: &str, arguments: Value) -> Result<Value, String> {
    request.namespaces()[0].call(tool, arguments).await.map_err(|failure| failure.0)
}

fn done(value: impl Into<Value>) -> CodeOutcome {
    CodeOutcome::completed(Vec::new(), Some(value.into()))
}

fn raw(name: &'static str) -> dsh_tools::RawTool {
    ToolDefinition::raw(name, "A tool.", json!({ "type": "object", "properties": {} }))
}

// spec: code-mode/C12, C13, C87
#[tokio::test]
async fn a_program_finds_the_tools_that_its_agent_sees_under_one_global() {
    let fixture = Fixture::new(Mode::Both).await;
    for name in ["b", "hidden", "__proto__", "toString", "constructor"] {
        fixture.offer(&fixture.app, name);
    }
    let seen = fixture.app.scope().unwrap();
    fixture.offer(seen.context(), "own");
    fixture.tools().restrict(seen.context(), Restriction::deny(["hidden"])).unwrap();
    fixture.programs("typescript", async |request: CodeRequest| {
        let [tools] = request.namespaces() else { return done("several namespaces") };
        let class = tools.errors().unwrap();
        let names: Vec<&str> = tools.functions().collect();
        let told = json!([request.program(), tools.global(), class.name(), class.member(), names]);
        let mut values = Vec::new();
        for name in names {
            values.push(call(&request, name).await.unwrap());
        }
        let unknown = [call(&request, RUN_CODE).await, call(&request, "hidden").await];
        done(json!([told, values, unknown.map(Result::unwrap_err)]))
    });
    let outcome = fixture.execute(program("c1").scope(&seen)).await;
    let names = json!(["__proto__", "b", "constructor", "own", "toString"]);
    let unknown = ["unknown binding \"tools.run_code\"", "unknown binding \"tools.hidden\""];
    let told = json!(["the program", "tools", "ToolCallError", "toolName", names]);
    assert_eq!(outcome.value().unwrap(), &json!({ "logs": [], "result": [told, names, unknown] }));
}

// spec: code-mode/C13, tools/T106
#[tokio::test]
async fn the_tools_of_a_run_are_fixed_and_what_is_behind_their_names_is_not() {
    let fixture = Fixture::new(Mode::Code).await;
    let log = Log::default();
    let going = fixture.offer(&fixture.app, "going");
    let (app, said) = (fixture.app.root(), log.clone());
    fixture.programs("typescript", move |request| {
        let (going, app, said) = (going.clone(), app.clone(), said.clone());
        async move {
            going.dispose().await;
            let tools = app.get(dsh_tools::TOOLS).unwrap();
            tools.get().unwrap().register(&app, named("late")).unwrap();
            said.say(call(&request, "going").await.unwrap_err());
            said.say(call(&request, "late").await.unwrap_err());
            CodeOutcome::completed(Vec::new(), None)
        }
    });
    assert!(!fixture.run().await.is_error());
    assert_eq!(log.take(), ["unknown tool \"going\"", "unknown binding \"tools.late\""]);
}

// spec: tools/T97, T98, T123, code-mode/C29, C30, C88
#[tokio::test]
async fn calls_of_a_program_pass_policies_and_guards_and_fail_with_the_reason_alone() {
    let fixture = Fixture::new(Mode::Code).await;
    let log = Log::default();
    fixture.offer(&fixture.app, "works");
    fixture.offer(&fixture.app, "denied");
    fixture.offer(&fixture.app, "guarded");
    let failing = raw("fails").run(async |_, _| Err(ToolError::new("it fails")));
    fixture.tools().register(&fixture.app, failing).unwrap();
    let pre = async |said: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
        said.say(format!("{} {} of {:?}", call.id(), call.name(), call.parent_id()));
        match call.name() {
            "denied" => PreDecision::Deny { reason: "not now".to_owned() },
            _ => next.run(call).await,
        }
    };
    fixture.app.on(PRE_EXECUTE).with(log.clone()).run(pre).unwrap();
    let guard = |call: &ToolCall| (call.name() == "guarded").then(|| "never".to_owned());
    fixture.tools().guard(&fixture.app, guard).unwrap();
    let said = log.clone();
    fixture.programs("typescript", move |request| {
        let said = said.clone();
        async move {
            for name in ["works", "denied", "guarded", "fails"] {
                said.say(format!("{:?}", call(&request, name).await));
            }
            CodeOutcome::completed(Vec::new(), None)
        }
    });
    assert!(!fixture.run().await.is_error());
    let parent = "of Some(\"c1\")";
    let expected = [
        "c1 run_code of None".to_owned(),
        format!("c1:code:1 works {parent}"),
        "Ok(String(\"works\"))".to_owned(),
        format!("c1:code:2 denied {parent}"),
        "Err(\"not now\")".to_owned(),
        format!("c1:code:3 guarded {parent}"),
        "Err(\"never\")".to_owned(),
        format!("c1:code:4 fails {parent}"),
        "Err(\"it fails\")".to_owned(),
    ];
    assert_eq!(log.take(), expected);
}

// spec: code-mode/C88, tools/T59
#[tokio::test]
async fn run_code_itself_is_judged_like_any_tool() {
    let fixture = Fixture::new(Mode::Code).await;
    let log = Log::default();
    let said = log.clone();
    fixture.programs("typescript", move |_| {
        said.say("run");
        async { done("secret") }
    });
    let guard = |call: &ToolCall| (call.id() == "guarded").then(|| "no programs".to_owned());
    fixture.tools().guard(&fixture.app, guard).unwrap();
    let refused = fixture.execute(program("guarded")).await;
    assert_eq!(refused.text(), "Error: no programs");
    assert_eq!(log.take(), [""; 0]);
    let post =
        async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| match settled.call().name() {
            RUN_CODE => PostDecision::block("nothing to see"),
            _ => next.run(settled).await,
        };
    fixture.app.on(POST_EXECUTE).run(post).unwrap();
    assert!(fixture.run().await.is_error());
    assert_eq!(log.take(), ["run"]);
}

// spec: code-mode/C9, C10, C2
#[tokio::test]
async fn arguments_that_are_no_program_and_a_missing_runtime_are_ordinary_errors() {
    let fixture = Fixture::new(Mode::Both).await;
    let given = async |arguments: Value| {
        let outcome = fixture.execute(CallRequest::new("c1", RUN_CODE, arguments)).await;
        (outcome.text(), outcome.code().map(str::to_owned))
    };
    let invalid = Some("INVALID_ARGS".to_owned());
    assert_eq!(
        given(json!({})).await,
        (
            "Error: invalid arguments: missing required property \"code\"; missing required property \"description\""
                .to_owned(),
            invalid.clone()
        )
    );
    assert_eq!(
        given(json!({ "code": 1, "description": "x" })).await,
        ("Error: invalid arguments: \"code\" must be a string".to_owned(), invalid)
    );
    let blank = "Error: invalid description: expected a non-empty string";
    assert_eq!(given(json!({ "code": "", "description": " \n" })).await, (blank.to_owned(), None));
    let (text, code) = given(json!({ "code": "", "description": "x" })).await;
    assert!(text.starts_with("Error: dsh-tools: ") && text.contains("`both`"), "{text}");
    assert!(text.contains("`codeRuntime`") && code.is_none(), "{text}");
}

// spec: code-mode/C15, C16, C93
#[tokio::test]
async fn a_program_that_fails_is_an_error_with_its_kind_and_what_it_printed() {
    let kinds = [
        (CodeFailureKind::Exception, "exception"),
        (CodeFailureKind::Timeout, "timeout"),
        (CodeFailureKind::Abort, "abort"),
        (CodeFailureKind::WorkerExit, "worker-exit"),
        (CodeFailureKind::InvalidOutput, "invalid-output"),
        (CodeFailureKind::OutputLimit, "output-limit"),
    ];
    for (kind, name) in kinds {
        assert_eq!(serde_json::to_value(kind).unwrap(), name);
        for (logs, captured) in [(vec!["l1", "l2"], "\nCaptured output:\nl1\nl2"), (vec![], "")] {
            let fixture = Fixture::new(Mode::Code).await;
            let logs: Vec<String> = logs.into_iter().map(str::to_owned).collect();
            fixture.programs("typescript", move |_| {
                let outcome = CodeOutcome::failed(logs.clone(), kind, "boom");
                async move { outcome }
            });
            let outcome = fixture.run().await;
            assert_eq!(outcome.text(), format!("Error: code run failed ({name}): boom{captured}"));
            let info = outcome.as_failure().unwrap().info().unwrap();
            assert_eq!((&*info.name, &*info.code), ("CodeRunFailedError", "CODE_RUN_FAILED"));
        }
    }
}

// spec: code-mode/C16
#[tokio::test]
async fn the_value_of_a_program_that_returned_nothing_has_no_result() {
    let fixture = Fixture::new(Mode::Code).await;
    let nothing =
        fixture.programs("typescript", async |_| CodeOutcome::completed(vec!["a".to_owned()], None));
    assert_eq!(fixture.run().await.value().unwrap(), &json!({ "logs": ["a"] }));
    nothing.dispose().await;
    fixture.programs("typescript", async |_| CodeOutcome::completed(vec!["a".to_owned()], Some(Value::Null)));
    assert_eq!(fixture.run().await.value().unwrap(), &json!({ "logs": ["a"], "result": null }));
}

// spec: code-mode/C61, C65
#[tokio::test]
async fn a_result_that_is_no_lossless_json_is_an_invalid_output() {
    let fixture = Fixture::new(Mode::Code).await;
    let lossy: Value = serde_json::from_str("12345678901234567890123").unwrap();
    fixture.programs("typescript", move |_| {
        let lossy = lossy.clone();
        async move { done(lossy) }
    });
    assert_eq!(fixture.run().await.code(), Some("INVALID_TOOL_OUTPUT"));
}

/// A tool that ends when it is cancelled, and says so.
fn waits(log: &Log) -> ToolDefinition {
    let log = log.clone();
    raw("waits").run(move |_, run: ToolRun| {
        let log = log.clone();
        async move {
            log.say("waits began");
            run.cancellation().cancelled().await;
            log.say("waits was told");
            Ok(Value::Null)
        }
    })
}

// spec: code-mode/C11, C17, C39
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_its_program_and_what_that_started() {
    for completes in [true, false] {
        let fixture = Fixture::new(Mode::Code).await;
        let (log, cancelled) = (Log::default(), CancellationToken::new());
        fixture.tools().register(&fixture.app, waits(&log)).unwrap();
        let (said, cancel) = (log.clone(), cancelled.clone());
        fixture.programs("typescript", move |request| {
            let (said, cancel) = (said.clone(), cancel.clone());
            async move {
                let waiting = call(&request, "waits");
                let cancelling = async {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                    cancel.cancel();
                };
                let (waited, ()) = tokio::join!(waiting, cancelling);
                said.say(waited.unwrap_err());
                said.say(call(&request, "waits").await.unwrap_err());
                assert!(request.cancellation().is_cancelled());
                match completes {
                    true => done("late"),
                    false => CodeOutcome::failed(Vec::new(), CodeFailureKind::Abort, "stopped"),
                }
            }
        });
        let outcome = fixture.execute(program("c1").cancellation(&cancelled)).await;
        let over = "run_code run is over (tool call aborted); waits";
        assert_eq!(
            log.take(),
            [
                "waits began".to_owned(),
                "waits was told".to_owned(),
                format!("{over} result discarded"),
                format!("{over} not dispatched"),
            ]
        );
        let expected = match completes {
            true => ("Error: tool call aborted", "ABORTED"),
            false => ("Error: code run failed (abort): stopped", "CODE_RUN_FAILED"),
        };
        assert_eq!((&*outcome.text(), outcome.code().unwrap()), expected);
    }
}

// spec: code-mode/C17
#[tokio::test]
async fn a_call_that_is_cancelled_already_asks_no_runtime() {
    let fixture = Fixture::new(Mode::Code).await;
    let log = Log::default();
    let said = log.clone();
    fixture.programs("typescript", move |_| {
        said.say("run");
        async { done(1) }
    });
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let outcome = fixture.execute(program("c1").cancellation(&cancelled)).await;
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(log.take(), [""; 0]);
}

// spec: code-mode/C14, C40, C98
#[tokio::test]
async fn what_a_program_leaves_behind_is_ended_before_its_call_returns() {
    let fixture = Fixture::new(Mode::Code).await;
    let log = Log::default();
    fixture.tools().register(&fixture.app, waits(&log)).unwrap();
    let said = log.clone();
    fixture.app.on(dsh_tools::RESULT).run(move |settled| said.say(settled.call().id())).unwrap();
    let answers = log.clone();
    fixture.programs("typescript", move |request| {
        let answers = answers.clone();
        async move {
            for _ in 0..2 {
                let waiting = request.namespaces()[0].call("waits", json!({}));
                let answers = answers.clone();
                tokio::spawn(async move { answers.say(waiting.await.unwrap_err().0) });
            }
            while !answers.has("waits began") {
                tokio::task::yield_now().await;
            }
            done("left")
        }
    });
    assert_eq!(fixture.run().await.text(), "left");
    let before: Vec<String> = log.take();
    let place = |what: &str| before.iter().position(|said| said == what);
    assert!(place("waits was told") < place("c1:code:1") && place("c1:code:1") < place("c1"), "{before:?}");
    assert_eq!(
        before.iter().filter(|said| *said == "waits began").count(),
        1,
        "the second one never started"
    );
    assert_eq!(place("c1:code:2"), None);
    tokio::task::yield_now().await;
    let mut answers: Vec<String> =
        before.into_iter().chain(log.take()).filter(|said| said.starts_with("run_code")).collect();
    answers.sort();
    let over = "run_code run is over (run_code settled); waits";
    assert_eq!(answers, [format!("{over} result discarded"), format!("{over} tool call abandoned")]);
}

// spec: code-mode/C10, C61
#[tokio::test]
async fn a_runtime_that_refuses_to_run_is_an_ordinary_error() {
    struct Misused;
    impl dsh_tools::CodeRuntime for Misused {
        fn language(&self) -> &str {
            "python"
        }
        fn isolation(&self) -> &str {
            "none"
        }
        fn run(&self, _: CodeRequest) -> cordis::BoxFuture<'static, Result<CodeOutcome, cordis::BoxError>> {
            Box::pin(async { Err("run() after disposal".into()) })
        }
    }
    let fixture = Fixture::new(Mode::Code).await;
    let runtime: std::sync::Arc<dyn dsh_tools::CodeRuntime> = std::sync::Arc::new(Misused);
    fixture.app.provide(dsh_tools::CODE_RUNTIME, runtime).unwrap();
    let outcome = fixture.run().await;
    assert_eq!((&*outcome.text(), outcome.code()), ("Error: run() after disposal", None));
}

// spec: code-mode/C89, C28
#[tokio::test]
async fn messages_of_policies_about_calls_of_a_program_go_with_its_result() {
    let fixture = Fixture::new(Mode::Code).await;
    fixture.offer(&fixture.app, "t");
    let remind = async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
        let decision = next.run(settled).await;
        decision.with_context(Message::user(vec![ContentBlock::text(settled.call().id())]))
    };
    fixture.app.on(POST_EXECUTE).run(remind).unwrap();
    fixture.programs("typescript", async |request: CodeRequest| {
        let _ = (call(&request, "t").await, call(&request, "t").await);
        CodeOutcome::failed(Vec::new(), CodeFailureKind::Exception, "boom")
    });
    let outcome = fixture.run().await;
    assert!(outcome.is_error());
    let contexts: Vec<String> = outcome.additional_contexts().iter().map(|message| message.text()).collect();
    assert_eq!(contexts, ["c1:code:1", "c1:code:2", "c1"]);
}

// spec: code-mode/C90
#[tokio::test]
async fn approval_of_a_call_of_a_program_holds_back_the_calls_behind_it() {
    let fixture = Fixture::new(Mode::Code).await;
    let log = Log::default();
    fixture.app.plugin(dsh_approval::plugin(), Default::default()).unwrap().ready().await.unwrap();
    let (agent, _inbox) = agent(&fixture.app, Session::detached("asks")).unwrap();
    agent.session().append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    for name in ["asked", "other"] {
        let said = log.clone();
        let tool = raw(name).run(move |_, _| {
            said.say(format!("body {name}"));
            async { Ok(Value::Null) }
        });
        fixture.tools().register(&fixture.app, tool.parallel_when(|_| true)).unwrap();
    }
    let pre = async |said: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
        said.say(format!("pre {}", call.name()));
        match call.name() {
            "asked" => PreDecision::Ask { reason: None },
            _ => next.run(call).await,
        }
    };
    fixture.app.on(PRE_EXECUTE).with(log.clone()).run(pre).unwrap();
    let answer =
        async |said: &Log, _: &mut ApprovalRequest, _: Next<'_, ApprovalRequest, ApprovalOutcome>| {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            said.say("approved");
            ApprovalOutcome::AllowedOnce
        };
    fixture.app.on(REQUEST).with(log.clone()).run(answer).unwrap();
    fixture.programs("typescript", async |request: CodeRequest| {
        let (asked, other) = tokio::join!(call(&request, "asked"), call(&request, "other"));
        CodeOutcome::completed(vec![format!("{asked:?} {other:?}")], None)
    });
    let outcome = fixture.execute(program("c1").agent(&agent)).await;
    assert_eq!(outcome.text(), "Ok(Null) Ok(Null)");
    let log = log.take();
    let place = |what: &str| log.iter().position(|said| said == what).unwrap();
    assert!(place("pre asked") < place("approved") && place("approved") < place("pre other"), "{log:?}");
}
