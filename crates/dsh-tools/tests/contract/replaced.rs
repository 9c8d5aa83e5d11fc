//! Policies that have a call judged anew with other arguments.

use std::sync::Arc;

use cordis::Effect;
use dsh_tools::{EXECUTE, PRE_EXECUTE, PreDecision, ToolCall, ToolOutcome};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::fixture::{Does, Fixture, Probe, around};

/// A policy that wants other arguments, and otherwise what the rest decides.
fn rewrites(
    fixture: &Fixture,
    rewrite: impl Fn(&Map<String, Value>) -> Map<String, Value> + Send + Sync + 'static,
) -> Effect {
    let listener = around::<ToolCall, PreDecision, _>(move |call, next| {
        let before = call.arguments().as_object().unwrap().clone();
        let arguments = rewrite(&before);
        Box::pin(async move {
            match next.run(call).await {
                PreDecision::Allow if arguments != before => PreDecision::Replace { arguments },
                decision => decision,
            }
        })
    });
    fixture.app.on(PRE_EXECUTE).run_boxed(listener).unwrap()
}

fn text(value: &str) -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), json!(value))])
}

fn to_safe(_: &Map<String, Value>) -> Map<String, Value> {
    text("safe")
}

/// What each policy saw, in order.
fn seeing(fixture: &Fixture, prepend: bool) -> Arc<Mutex<Vec<Value>>> {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let saw = Arc::clone(&seen);
    let listener = around::<ToolCall, PreDecision, _>(move |call, next| {
        saw.lock().push((**call.arguments()).clone());
        Box::pin(next.run(call))
    });
    let on = fixture.app.on(PRE_EXECUTE);
    if prepend { on.prepend().run_boxed(listener) } else { on.run_boxed(listener) }.unwrap();
    seen
}

// spec: cases/H2, design/P7
#[tokio::test]
async fn everybody_is_asked_again_and_sees_the_new_arguments_only() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    fixture.watch();
    let (outer, _rewriting) = (seeing(&fixture, true), rewrites(&fixture, to_safe));
    let inner = seeing(&fixture, false);
    let guarded: Arc<Mutex<Vec<Value>>> = Arc::default();
    let guards = Arc::clone(&guarded);
    fixture.guard(move |call| {
        guards.lock().push((**call.arguments()).clone());
        None
    });
    let outcome = fixture.call_with("probe", r#"{"text":"unsafe"}"#).await;
    assert_eq!(outcome.text(), r#"probe {"text":"safe"}"#);
    let both = [json!({ "text": "unsafe" }), json!({ "text": "safe" })];
    assert_eq!((outer.lock().as_slice(), inner.lock().as_slice()), (&both[..], &both[..]));
    assert_eq!(guarded.lock().as_slice(), &both[1..]);
    assert_eq!(fixture.log.take(), ["pre", "pre", "guard", "execute", "post", "result"]);
    assert_eq!(probe.runs(), 1);
}

// spec: design/P7
#[tokio::test]
async fn a_policy_and_a_guard_that_refuse_the_new_arguments_refuse_the_call() {
    for by_guard in [true, false] {
        let probe = Probe::new(Does::Echo);
        let fixture = Fixture::with(&probe).await;
        let refused = |call: &ToolCall| call.arguments()["text"] == "unsafe";
        if by_guard {
            fixture.guard(move |call| refused(call).then(|| "never".to_owned()));
        } else {
            let listener = around::<ToolCall, PreDecision, _>(move |call, next| {
                let refused = refused(call);
                Box::pin(async move {
                    if refused {
                        PreDecision::Deny { reason: "never".to_owned() }
                    } else {
                        next.run(call).await
                    }
                })
            });
            // Asked before the one that rewrites: it has let the old arguments pass.
            fixture.app.on(PRE_EXECUTE).prepend().run_boxed(listener).unwrap();
        }
        rewrites(&fixture, |_| text("unsafe"));
        let outcome = fixture.call_with("probe", r#"{"text":"harmless"}"#).await;
        assert_eq!((outcome.text().as_str(), outcome.is_denied()), ("Error: never", true));
        assert_eq!(probe.runs(), 0);
    }
}

// spec: design/P7
#[tokio::test]
async fn arguments_that_are_equal_in_another_order_fail_the_call_whoever_stands_behind() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let arguments = Map::from_iter([("mode".to_owned(), json!("a")), ("text".to_owned(), json!("x"))]);
    fixture.decides(PreDecision::Replace { arguments });
    fixture.decides(PreDecision::Deny { reason: "never asked".to_owned() });
    for given in [r#"{"text":"x","mode":"a"}"#, r#"{"text":"y"}"#] {
        let told = fixture.call_with("probe", given).await.text();
        assert!(told.starts_with("Error: a policy gave the arguments that the call has already"), "{told}");
    }
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn arguments_that_the_tool_does_not_take_are_told_as_a_policys() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    rewrites(&fixture, |_| Map::from_iter([("count".to_owned(), json!("many"))]));
    let outcome = fixture.call("probe").await;
    assert_eq!(outcome.code(), Some("INVALID_ARGS"));
    let told = outcome.text();
    assert!(told.starts_with("Error: invalid arguments (a policy gave them in place of yours): "), "{told}");
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn arguments_that_cannot_be_any_fail_the_call() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let deep = (0..200).fold(json!(1), |inside, _| json!([inside]));
    fixture.decides(PreDecision::Replace { arguments: Map::from_iter([("text".to_owned(), deep)]) });
    let told = fixture.call("probe").await.text();
    assert!(told.starts_with("Error: a policy gave bad arguments: "), "{told}");
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn policies_that_never_agree_end_the_call() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let asked = seeing(&fixture, true);
    rewrites(&fixture, |before| {
        let more = before.get("text").and_then(Value::as_str).unwrap_or_default().to_owned() + "x";
        text(&more)
    });
    let outcome = fixture.call("probe").await;
    assert!(outcome.text().contains("replaced 8 times"), "{}", outcome.text());
    assert_eq!((asked.lock().len(), probe.runs()), (9, 0));
}

#[tokio::test]
async fn a_call_with_the_old_arguments_reaches_no_body() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let kept: Arc<Mutex<Option<ToolCall>>> = Arc::default();
    let keeps = Arc::clone(&kept);
    let listener = around::<ToolCall, PreDecision, _>(move |call, _| {
        let decision = match call.replacements() {
            0 => {
                *keeps.lock() = Some(call.limited().0);
                PreDecision::Replace { arguments: text("new") }
            }
            _ => PreDecision::Allow,
        };
        Box::pin(async move { decision })
    });
    fixture.app.on(PRE_EXECUTE).run_boxed(listener).unwrap();
    let smuggles = around::<ToolCall, ToolOutcome, _>(move |_, next| {
        let old = kept.lock().take();
        Box::pin(async move { next.run(&mut old.unwrap()).await })
    });
    fixture.app.on(EXECUTE).run_boxed(smuggles).unwrap();
    let outcome = fixture.call_with("probe", r#"{"text":"old"}"#).await;
    assert!(outcome.text().contains("another call than its own"), "{}", outcome.text());
    assert_eq!(probe.runs(), 0);
}

/// What one policy does with the text of a call.
#[derive(Clone, Copy, Debug)]
enum Policy {
    Append(char),
    Deny(char),
    Allow,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever policies rewrite and deny, the body runs with arguments that every policy has allowed, or not at all.
    // spec: design/P7, cases/H2
    #[test]
    fn a_body_sees_only_what_every_policy_has_allowed(
        policies in prop::collection::vec(
            prop_oneof![
                prop::char::range('a', 'd').prop_map(Policy::Append),
                prop::char::range('a', 'd').prop_map(Policy::Deny),
                Just(Policy::Allow),
            ],
            0..6,
        ),
        prepended in prop::collection::vec(any::<bool>(), 6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let seen = runtime.block_on(async {
            let probe = Probe::new(Does::Echo);
            let fixture = Fixture::with(&probe).await;
            for (policy, prepend) in policies.iter().zip(prepended) {
                let policy = *policy;
                let listener = around::<ToolCall, PreDecision, _>(move |call, next| {
                    let text = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
                    Box::pin(async move {
                        match policy {
                            Policy::Append(c) if !text.contains(c) => PreDecision::Replace {
                                arguments: self::text(&format!("{text}{c}")),
                            },
                            Policy::Deny(c) if text.contains(c) => PreDecision::Deny { reason: "no".to_owned() },
                            _ => next.run(call).await,
                        }
                    })
                });
                let on = fixture.app.on(PRE_EXECUTE);
                if prepend { on.prepend().run_boxed(listener) } else { on.run_boxed(listener) }.unwrap();
            }
            let outcome = fixture.call("probe").await;
            (outcome, probe.runs())
        });
        let (outcome, runs) = seen;
        let appended: Vec<char> =
            policies.iter().filter_map(|it| if let Policy::Append(c) = it { Some(*c) } else { None }).collect();
        let denied = policies.iter().any(|it| matches!(it, Policy::Deny(c) if appended.contains(c)));
        prop_assert_eq!(outcome.is_denied(), denied, "{}", outcome.text());
        prop_assert_eq!(runs, usize::from(!denied));
        if !denied {
            for c in appended {
                prop_assert!(outcome.text().contains(c));
            }
        }
    }
}
