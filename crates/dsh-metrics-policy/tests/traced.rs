//! The span of a call. One test alone in its program: what others first do without a subscriber, tracing may leave out later.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

#[allow(dead_code, reason = "the other test program uses the rest")]
#[path = "contract/fixture.rs"]
mod fixture;

use std::fmt::Debug;
use std::sync::Arc;

use cordis::Next;
use dsh_agent::testing::agent;
use dsh_session::{CreateSession, SessionStore};
use dsh_tools::{CallRequest, EXECUTE, ToolCall, ToolDefinition, ToolError, ToolOutcome, ToolRun};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use fixture::Fixture;

/// The fields of each span `tool_call` that is closed, in the order of their closing.
#[derive(Clone, Default)]
struct Closed(Arc<Mutex<Vec<Vec<String>>>>);

/// The fields of one span.
#[derive(Default)]
struct Fields(Vec<String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push(format!("{}={value}", field.name()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push(format!("{}={value:?}", field.name()));
    }
}

fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.name() == "tool_call" && metadata.target().starts_with("dsh_metrics_policy")
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Closed {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        ctx.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        if let Some(fields) = ctx.span(id).unwrap().extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let span = ctx.span(&id).unwrap();
        if is_ours(span.metadata()) {
            let fields = span.extensions_mut().remove::<Fields>().unwrap();
            self.0.lock().push(fields.0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_execution_has_a_span_that_is_closed_with_its_code_and_duration() {
    let closed = Closed::default();
    let _traced = tracing::subscriber::set_default(tracing_subscriber::registry().with(closed.clone()));
    let fixture = Fixture::new().await;

    // Of no agent; one that fails.
    fixture.call(json!({ "ms": 3 })).await;
    fixture.call(json!({ "ms": 4, "code": "E_FULL" })).await;

    // Of an agent, with a nested one.
    let session = SessionStore::new()
        .create(&fixture.app, CreateSession { id: Some("ada".into()), ..CreateSession::default() });
    let (ada, _inbox) = agent(&fixture.app, session.unwrap()).unwrap();
    let (tools, app) = (fixture.tools.clone(), fixture.app.root());
    let outer = move |_: Arc<Value>, run: ToolRun| {
        let (tools, app) = (tools.clone(), app.clone());
        async move {
            tools
                .get()?
                .execute_nested(&app, &run, CallRequest::new("call_2", "probe", json!({ "ms": 5 })))
                .await;
            Ok::<_, ToolError>(Value::Null)
        }
    };
    fixture.offer(ToolDefinition::raw("outer", "Calls the probe.", json!({ "type": "object" })).run(outer));
    fixture.execute(CallRequest::new("call_1", "outer", "{}").agent(&ada)).await;

    // None for one that is not executed; one without an end for one that a panic ends.
    fixture.execute(CallRequest::new("call_1", "probe", "{")).await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, ToolOutcome>| panic!("the listener burst"))
        .unwrap();
    fixture.call(json!({})).await;

    let expected: [&[&str]; 5] = [
        &["tool=probe", "call=call_1", "root=call_1", "code=success", "duration_ms=3.0"],
        &["tool=probe", "call=call_1", "root=call_1", "code=E_FULL", "duration_ms=4.0"],
        &["tool=probe", "call=call_2", "root=call_1", "agent=ada", "code=success", "duration_ms=5.0"],
        &["tool=outer", "call=call_1", "root=call_1", "agent=ada", "code=success", "duration_ms=5.0"],
        &["tool=probe", "call=call_1", "root=call_1"],
    ];
    assert_eq!(*closed.0.lock(), expected);
}
