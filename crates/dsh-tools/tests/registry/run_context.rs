//! What travels with a call beside its arguments.

use std::sync::Arc;

use dsh_tools::{
    CallRequest, Caller, RegisteredTool, Restriction, RunContext, ToolDefinition, ToolRuntime, TypedTool,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::Fixture;

fn ada() -> Caller {
    Caller { id: "u1".into(), name: "Ada".into(), role: "reader".into() }
}

#[tokio::test]
async fn policies_guards_and_bodies_share_one_context_that_the_model_never_sees() {
    let fixture = Fixture::new().await;
    let tool = ToolDefinition::raw("who", "Says who.", json!({ "type": "object" })).run(async |_, run| {
        let role = run.context().get::<Caller>().map_or(Value::Null, |caller| json!(caller.role));
        Ok(json!([role, run.context().get::<u32>().as_deref()]))
    });
    fixture.tools().register(&fixture.app, tool).unwrap();
    fixture
        .tools()
        .guard(&fixture.app, |call| {
            call.context().insert(7_u32);
            None
        })
        .unwrap();
    let arguments = Arc::new(Mutex::new(None));
    let seen = arguments.clone();
    let look =
        move |settled: &dsh_tools::Settled| *seen.lock() = Some((**settled.call().arguments()).clone());
    fixture.app.on(dsh_tools::RESULT).run(look).unwrap();
    let request = CallRequest::new("c1", "who", json!({})).with(ada());
    let outcome = fixture.tools().execute(&fixture.app, request).await;
    assert_eq!(outcome.value(), Some(&json!(["reader", 7])));
    assert_eq!(arguments.lock().take(), Some(json!({})));
    assert_eq!(
        fixture.call("who", json!({})).await.value(),
        Some(&json!([null, 7])),
        "each call has its own"
    );
}

#[test]
fn there_is_one_value_of_each_type_and_clones_share_it() {
    let context = RunContext::default();
    assert!(context.get::<Caller>().is_none());
    context.insert(ada());
    let clone = context.clone();
    clone.insert(Caller { role: "writer".into(), ..ada() });
    clone.insert("text");
    assert_eq!(context.get::<Caller>().unwrap().role, "writer");
    assert_eq!(context.get::<&str>().as_deref(), Some(&"text"));
    assert_eq!(format!("{context:?}"), "RunContext(2 values)");
}

#[test]
fn a_value_that_is_replaced_may_use_the_context_while_it_is_dropped() {
    struct Last(RunContext, u8);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.insert(self.1);
        }
    }
    let context = RunContext::default();
    context.insert(Last(context.clone(), 1));
    context.insert(Last(context.clone(), 2));
    assert_eq!(context.get::<u8>().as_deref(), Some(&1));
}

#[test]
fn what_is_shared_between_threads_can_be() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<ToolRuntime>();
    shared::<RegisteredTool>();
    shared::<ToolDefinition>();
    shared::<TypedTool<std::cell::Cell<u8>, std::rc::Rc<u8>>>();
    shared::<Restriction>();
    shared::<RunContext>();
    shared::<dsh_tools::RegisterError>();
}
