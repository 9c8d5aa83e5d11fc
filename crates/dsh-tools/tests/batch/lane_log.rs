//! What the log says of nested calls, and how it is shaped.

use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Next};
use dsh_llm::ContentBlock;
use dsh_session::APPENDING;
use dsh_tools::{CODE_DISPATCH_LOG, CodeDispatch, CodeDispatchLog, CodeDispatchStart, Lane, ToolError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::world::{Told, World, raw};

// spec: code-mode/C33, code-mode/C36, tools/T99
#[tokio::test]
async fn a_nested_call_is_a_start_and_an_end_that_no_model_sees() {
    let world = World::new().await;
    world.offer(raw("fails").run(async |_, _run| Err(ToolError::new("no luck"))));
    world.program("inner", async |lane, _| {
        Ok(json!(lane.call("fails", json!({ "b": 1, "a": "x" })).await.unwrap_err().message))
    });
    world.program("outer", async |lane, _| Ok(lane.call("inner", json!({})).await?));
    world.run(world.batch(&[("c1", "outer", "{}")])).await.unwrap();
    let log = [
        "call c1",
        "start c1:code:1",
        "start c1:code:1:code:1",
        "end c1:code:1:code:1: Error: no luck (failed)",
        "end c1:code:1: no luck",
        "result c1: no luck",
    ];
    assert_eq!(world.log(), log);
    let ids = r#""rootCallId":"c1","parentCallId":"c1:code:1","subCallId":"c1:code:1:code:1","name":"fails""#;
    let arguments = r#""arguments":{"b":1,"a":"x"}"#;
    let content = r#""isError":true,"content":[{"type":"text","text":"Error: no luck"}]"#;
    assert_eq!(world.event(2).data().get(), format!("{{{ids},{arguments}}}"));
    assert_eq!(world.event(3).data().get(), format!("{{{ids},{arguments},{content}}}"));
    let end = world.event(3).payload::<CodeDispatch>().unwrap().unwrap();
    assert_eq!(*end.arguments, json!({ "b": 1, "a": "x" }));
    assert!(world.event(2).payload::<CodeDispatchStart>().unwrap().is_some());
    let inside = [world.event(2), world.event(3)];
    assert!(inside.iter().all(|event| event.surface().is_none() && event.message().is_none()));
    assert_eq!(world.session.messages().len(), 1, "the result of the outer call alone");
}

async fn shaped(world: &World, tool: &'static str) -> Option<Value> {
    world.program("run", move |lane: Lane, _| async move { Ok(lane.call(tool, json!({})).await?) });
    world.call("run").await.value().cloned()
}

// spec: code-mode/C34, tools/T100
#[tokio::test]
async fn a_listener_shapes_what_is_logged_and_not_what_the_program_gets() {
    let world = World::new().await;
    let long = raw("long").run(async |_, _run| Ok(json!("a very long text")));
    let image = ContentBlock::Image { attachment: json!({ "attachmentId": "a", "bytes": 1 }) };
    world.offer(long.render(move |_, _| Ok(vec![ContentBlock::text("a very long text"), image.clone()])));
    world
        .app
        .on(CODE_DISPATCH_LOG)
        .with(world.told.clone())
        .run(
            async |told: &Told,
                   log: &mut CodeDispatchLog,
                   next: Next<'_, CodeDispatchLog, Vec<ContentBlock>>| {
                let of = (log.call().id(), log.call().name(), log.sub_call_id(), log.name(), log.is_error());
                assert!(log.call().agent().is_some());
                told.say(format!("{of:?} {}", crate::world::text(log.content())));
                assert_eq!(next.run(log).await, log.content());
                vec![ContentBlock::text("short")]
            },
        )
        .unwrap();
    assert_eq!(shaped(&world, "long").await, Some(json!("a very long text")));
    assert_eq!(world.log(), ["start c1:code:1", "end c1:code:1: short"]);
    assert_eq!(world.told.all(), [r#"("c1", "run", "c1:code:1", "long", false) a very long text|image"#]);
}

// spec: code-mode/C34
#[tokio::test]
async fn without_a_listener_the_whole_content_is_logged() {
    let world = World::new().await;
    let long = raw("long").run(async |_, _run| Ok(json!("x")));
    let image = ContentBlock::Image { attachment: json!({ "attachmentId": "a", "bytes": 1 }) };
    let content = vec![ContentBlock::text("x".repeat(100_000)), image];
    let rendered = content.clone();
    world.offer(long.render(move |_, _| Ok(rendered.clone())));
    shaped(&world, "long").await;
    let end = world.session.events().last().unwrap().payload::<CodeDispatch>().unwrap().unwrap();
    assert_eq!(end.content, content);
}

/// Keeps the messages of warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        if *event.metadata().level() == tracing::Level::WARN {
            self.0.lock().push(text.0);
        }
    }
}

// spec: code-mode/C35, tools/T100
#[tokio::test]
async fn a_listener_that_breaks_is_reported_and_the_content_is_logged_as_it_is() {
    let world = World::new().await;
    world.timed("quick", true);
    world
        .app
        .on(CODE_DISPATCH_LOG)
        .run(async |_: &mut CodeDispatchLog, _next: Next<'_, CodeDispatchLog, Vec<ContentBlock>>| {
            panic!("the shaper burst")
        })
        .unwrap();
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(warnings.clone()));
    assert_eq!(shaped(&world, "quick").await, Some(json!("quick")));
    assert_eq!(world.log(), ["start c1:code:1", "end c1:code:1: quick"]);
    let warnings: Vec<String> =
        warnings.0.lock().iter().filter(|it| it.starts_with("tools: ")).cloned().collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    for part in ["`quick`", "logged unmodified", "the shaper burst"] {
        assert!(warning.contains(part), "{part} in {warning}");
    }
}

// spec: code-mode/C27, code-mode/C34, code-mode/C37
#[tokio::test(start_paused = true)]
async fn slow_log_work_delays_neither_the_program_nor_the_next_call_until_too_much_of_it_waits() {
    let world = World::new().await;
    world.timed("quick", true);
    world
        .app
        .on(CODE_DISPATCH_LOG)
        .with(world.told.clone())
        .run(
            async |told: &Told,
                   log: &mut CodeDispatchLog,
                   next: Next<'_, CodeDispatchLog, Vec<ContentBlock>>| {
                let ms = match log.sub_call_id() {
                    "c1:code:1" => 900,
                    "c1:code:2" => 500,
                    _ => 700,
                };
                tokio::time::sleep(Duration::from_millis(ms)).await;
                told.say(format!("{} shaped", log.sub_call_id()));
                next.run(log).await
            },
        )
        .unwrap();
    let told = world.told.clone();
    world.program("run", move |lane: Lane, _| {
        let told = told.clone();
        async move {
            for n in 1..=4 {
                lane.call("quick", json!({})).await?;
                told.say(format!("answer {n}"));
            }
            Ok(Value::Null)
        }
    });
    world.call("run").await;
    // Two may wait. With the third the lane stops until one of them is logged, and only then starts the fourth call.
    let told = [
        "c1:code:1 enter",
        "c1:code:1 leave",
        "answer 1",
        "c1:code:2 enter",
        "c1:code:2 leave",
        "answer 2",
        "c1:code:3 enter",
        "c1:code:3 leave",
        "answer 3",
        "c1:code:2 shaped",
        "c1:code:4 enter",
        "c1:code:4 leave",
        "answer 4",
        "c1:code:3 shaped",
        "c1:code:1 shaped",
        "c1:code:4 shaped",
    ];
    assert_eq!(world.told.all(), told);
    let ends: Vec<String> = world.log().into_iter().filter(|it| it.starts_with("end")).collect();
    let order: Vec<&str> = ends.iter().map(|it| &it[4..13]).collect();
    assert_eq!(order, ["c1:code:2", "c1:code:3", "c1:code:1", "c1:code:4"]);
}

#[tokio::test]
async fn a_call_whose_start_cannot_be_logged_is_not_made() {
    let world = World::new().await;
    world.timed("quick", true);
    let refuse = |about: &dsh_session::Appending| -> Result<(), BoxError> {
        if about.event.kind() == "tool/code-dispatch-start" { Err("the disk is full".into()) } else { Ok(()) }
    };
    world.app.on(APPENDING).run(refuse).unwrap();
    world.program("run", async |lane, _| Ok(json!(lane.call("quick", json!({})).await.unwrap_err().message)));
    let value = world.call("run").await.value().cloned().unwrap();
    let reason = value.as_str().unwrap();
    assert!(reason.starts_with("the call could not be logged, so it was not made: "), "{reason}");
    assert!(reason.ends_with("the disk is full"), "{reason}");
    assert!(world.log().is_empty() && world.told.all().is_empty());
}
