//! Turns of an agent whose model answers what the script says.
//!
//! The loop around the batches is the test's own and as plain as can be: a step for each answer, which begins with the
//! messages that came with earlier results. Compared is what batches, approvals and programs write into its log.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use dsh_llm::FinishReason;
use dsh_session::{
    CancelCause, EVENT, Event, NewEvent, Payload, Session, StepEnd, StepStart, TurnEnd, TurnEndReason,
    TurnStart,
};
use dsh_tools::{Batch, ModelCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::script::{Script, list};

fn append(session: &Arc<Session>, data: &impl Payload) {
    session.append(NewEvent::new(data).unwrap()).unwrap();
}

fn calls(step: &Value) -> Vec<ModelCall> {
    let text = |form: &Value, key: &str| form[key].as_str().unwrap().to_owned();
    let call = |form: &Value| ModelCall::new(text(form, "id"), text(form, "name"), text(form, "arguments"));
    list(&step["calls"]).iter().map(call).collect()
}

/// Runs a turn and gives its events.
pub(crate) async fn run(host: &Arc<Host>, operation: &Value, script: &Script) -> Value {
    let name = operation["agent"].as_str().unwrap();
    let (agent, inbox) = (host.agents.lock()[name].clone(), Arc::clone(&host.inboxes.lock()[name]));
    let session = Arc::clone(agent.session());
    let start = session.events().len();
    let cancellation = CancellationToken::new();
    host.running.lock().insert(name.to_owned(), cancellation.clone());
    let watch = operation.get("abort_on").map(|form| abort_on(host, form, &cancellation));
    let limit = script.form["loop"]["maxParallelToolCalls"].as_u64().unwrap_or(10);
    let turn = session.events().iter().filter(|event| event.kind() == TurnStart::TYPE).count() as u64 + 1;

    append(&session, &TurnStart { turn });
    let last = json!({ "text": "done" });
    for (step, answer) in (1..).zip(list(&operation["steps"]).iter().chain([&last])) {
        append(&session, &StepStart { turn, step });
        for sent in inbox.take() {
            session.append(NewEvent::user(sent.message).unwrap()).unwrap();
        }
        let batch = Batch {
            agent: agent.clone(),
            turn,
            step,
            calls: calls(answer),
            finish: FinishReason::ToolCalls {},
            max_parallel: NonZeroUsize::new(limit.try_into().unwrap()).unwrap(),
            cancellation: cancellation.clone(),
        };
        let none = batch.calls.is_empty();
        let outcomes = host.tools.get().unwrap().execute_batch(&host.app, batch).await.unwrap();
        append(&session, &StepEnd { turn, step });
        let concluded =
            outcomes.iter().any(dsh_tools::ToolOutcome::concludes_turn) && inbox.sent().is_empty();
        if none || concluded || cancellation.is_cancelled() {
            break;
        }
    }
    let reason = match cancellation.is_cancelled() {
        true => TurnEndReason::Aborted { reason: CancelCause::User {} },
        false => TurnEndReason::Completed {},
    };
    append(&session, &TurnEnd { turn, reason });
    if let Some(watch) = watch {
        watch.dispose().await;
    }
    let events = session.events().to_vec();
    let mut ids = Ids::default();
    events.iter().skip(start).map(|event| traced(event, &events, &mut ids)).collect()
}

/// Cancels the turn when such an event is appended.
fn abort_on(host: &Arc<Host>, form: &Value, cancellation: &CancellationToken) -> cordis::Effect {
    let (form, cancellation) = (form.clone(), cancellation.clone());
    host.app
        .on(EVENT)
        .run(move |told| {
            let data: Value = serde_json::from_str(told.event.data().get()).unwrap();
            let meant = form.get("callId").is_none_or(|id| *id == data["callId"]);
            if meant && form["type"] == told.event.kind() {
                cancellation.cancel();
            }
        })
        .unwrap()
}

/// Numbers of questions.
#[derive(Default)]
struct Ids(HashMap<String, usize>);

/// What of an event is in a trace.
fn traced(event: &Event, all: &[Arc<Event>], ids: &mut Ids) -> Value {
    let mut data = plain(serde_json::from_str(event.data().get()).unwrap());
    if event.kind().starts_with("approval/")
        && let Some(id) = data["id"].as_str()
    {
        let next = ids.0.len() + 1;
        let number = *ids.0.entry(id.to_owned()).or_insert(next);
        data["id"] = json!(format!("question-{number}"));
    }
    let mut trace = json!({ "type": event.kind(), "data": data });
    if let Some(sources) = event.sources() {
        let named = |seq: &u64| {
            let source = all.iter().find(|event| event.seq() == *seq).unwrap();
            let data: Value = serde_json::from_str(source.data().get()).unwrap();
            format!("{} {}", source.kind(), data["callId"].as_str().unwrap_or_default())
        };
        trace["sources"] = sources.iter().map(named).collect();
    }
    trace
}

/// Without the ids of messages, which are random. A result that says nothing of an error is none, here as there.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            let message = members.get("role").is_some_and(Value::is_string);
            let result = members.get("type").is_some_and(|kind| kind == "tool-result");
            let members = members.into_iter().filter(|(key, _)| !message || key != "id");
            let mut members: serde_json::Map<String, Value> =
                members.map(|(key, value)| (key, plain(value))).collect();
            if result {
                members.entry("isError").or_insert(json!(false));
            }
            Value::Object(members)
        }
        other => other,
    }
}
