//! Variables: who gives them their values, and when.

use std::sync::Arc;

use cordis::{Context, Effect};
use dsh_prompt::{AssembleContext, PromptSection, RenderFailure, SYSTEM_PROMPT};
use parking_lot::Mutex;

use crate::fixture::{Fixture, Log, variables};

fn register(ctx: &Context, name: &str) -> Option<Effect> {
    let prompt = ctx.get(SYSTEM_PROMPT)?;
    let value = name.to_owned();
    prompt.get().ok()?.variable(ctx, name, move |_| Some(value.clone())).ok()
}

// spec: system-prompt/S18
#[tokio::test]
async fn a_variable_that_a_provider_registers_in_the_layer_being_asked_is_asked_too() {
    for scoped in [false, true] {
        let fixture = Fixture::new().await;
        let agent = fixture.app.scope().unwrap();
        let ctx = if scoped { agent.context().clone() } else { fixture.app.root() };
        let inside = ctx.clone();
        let provider = move |_: &AssembleContext| register(&inside, "late").map(|_| "first".to_owned());
        fixture.prompt().variable(&ctx, "first", provider).unwrap();
        let expected = [("first", Some("first")), ("late", Some("late"))];
        assert_eq!(variables(&fixture.assemble_at(&agent).await), expected);
    }
}

/// A provider that disposes its own registration, the last of the layer, and registers another.
async fn replaced_while_asked(fixture: &Fixture, ctx: &Context) {
    let own: Arc<Mutex<Option<Effect>>> = Arc::default();
    let (effect, inside) = (own.clone(), ctx.clone());
    let provider = move |_: &AssembleContext| {
        let effect = effect.lock().take();
        effect?.cancel();
        register(&inside, "replacement").map(|_| "value".to_owned())
    };
    let registered = fixture.prompt().variable(ctx, "replaced", provider).unwrap();
    *own.lock() = Some(registered);
}

// spec: system-prompt/S18
#[tokio::test]
async fn a_variable_registered_after_its_layer_was_drained_waits_for_the_next_assembly() {
    let fixture = Fixture::new().await;
    replaced_while_asked(&fixture, &fixture.app).await;
    assert_eq!(variables(&fixture.assemble().await), [("replaced", Some("value"))]);
    assert_eq!(variables(&fixture.assemble().await), [("replacement", Some("replacement"))]);
}

// spec: system-prompt/S18
#[tokio::test]
async fn a_scoped_variable_registered_after_its_layer_was_drained_waits_too() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    replaced_while_asked(&fixture, agent.context()).await;
    assert_eq!(variables(&fixture.assemble_at(&agent).await), [("replaced", Some("value"))]);
    assert_eq!(variables(&fixture.assemble_at(&agent).await), [("replacement", Some("replacement"))]);
}

// spec: system-prompt/S16, S44
#[tokio::test]
async fn all_providers_of_a_name_are_asked_and_the_nearest_value_stands_even_if_it_is_none() {
    let fixture = Fixture::new().await;
    let preset = fixture.app.scope().unwrap();
    let agent = fixture.app.scope_under(&preset).unwrap();
    let log = Log::default();
    let prompt = fixture.prompt();
    prompt.variable(&fixture.app, "v", log.value("global")).unwrap();
    prompt.variable(preset.context(), "v", log.value("preset")).unwrap();
    assert_eq!(variables(&fixture.assemble_at(&agent).await), [("v", Some("preset"))]);
    assert_eq!(log.take(), ["global", "preset"]);
    let none = prompt.variable(agent.context(), "v", |_| None).unwrap();
    assert_eq!(variables(&fixture.assemble_at(&agent).await), [("v", None)]);
    assert_eq!(log.take(), ["global", "preset"]);
    none.dispose().await;
    assert_eq!(variables(&fixture.assemble_at(&agent).await), [("v", Some("preset"))]);
}

struct Model(Option<&'static str>);

// spec: system-prompt/S37
#[tokio::test]
async fn a_variable_can_depend_on_the_request_and_a_template_fails_where_it_has_no_value() {
    let fixture = Fixture::new().await;
    let model = |context: &AssembleContext| context.get::<Model>()?.0.map(str::to_owned);
    fixture.prompt().variable(&fixture.app, "model", model).unwrap();
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "You are {{model}}.")).unwrap();
    let with = AssembleContext::new().with(Model(Some("m-1")));
    let assembly = fixture.try_assemble(&with).await.unwrap();
    assert_eq!(assembly.render_prompt().unwrap(), "You are m-1.");
    for without in [AssembleContext::new(), AssembleContext::new().with(Model(None))] {
        let assembly = fixture.try_assemble(&without).await.unwrap();
        assert_eq!(variables(&assembly), [("model", None)]);
        let failure = assembly.render_prompt().unwrap_err().source;
        assert_eq!(failure, RenderFailure::NoValue { variable: "model".to_owned() });
    }
}
