//! What listeners of an assembly can do.

use cordis::Context;
use dsh_prompt::{ASSEMBLE, AssembleError, Assembling, PromptAssembly, PromptSection, PromptTemplate};

use crate::fixture::{Assembled, Fixture, Log, Rest, sections, variables};

struct Named(&'static str, Log);

/// Adds a section before the rest runs and another one after it.
async fn wrap(named: &Named, assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    let Named(name, log) = named;
    log.say(format!("{name} in"));
    assembling.assembly.sections.push(PromptTemplate::new(format!("{name} before"), "a"));
    let mut assembly = next.run(assembling).await?;
    assembly.sections.push(PromptTemplate::new(format!("{name} after"), "b"));
    log.say(format!("{name} out"));
    Ok(assembly)
}

fn listen(ctx: &Context, name: &'static str, log: &Log) {
    ctx.on(ASSEMBLE).with(Named(name, log.clone())).run(wrap).unwrap();
}

// spec: system-prompt/S20
#[tokio::test]
async fn listeners_wrap_one_another_in_the_order_of_registration() {
    let fixture = Fixture::new().await;
    let log = Log::default();
    listen(&fixture.app, "first", &log);
    listen(&fixture.app, "second", &log);
    let assembly = fixture.assemble().await;
    assert_eq!(
        sections(&assembly),
        [("first before", "a"), ("second before", "a"), ("second after", "b"), ("first after", "b")]
    );
    assert_eq!(log.take(), ["first in", "second in", "second out", "first out"]);
}

// spec: system-prompt/S20
#[tokio::test]
async fn a_scoped_listener_hears_its_scope_and_those_below_and_an_unscoped_one_hears_all() {
    let fixture = Fixture::new().await;
    let preset = fixture.app.scope().unwrap();
    let agent = fixture.app.scope_under(&preset).unwrap();
    let log = Log::default();
    listen(&fixture.app, "all", &log);
    listen(preset.context(), "preset", &log);
    listen(agent.context(), "agent", &log);
    let heard = |log: &Log| -> Vec<String> {
        let all = log.take().into_iter();
        all.filter_map(|line| line.strip_suffix(" in").map(str::to_owned)).collect()
    };
    fixture.assemble_at(&agent).await;
    assert_eq!(heard(&log), ["all", "preset", "agent"]);
    fixture.assemble_at(&preset).await;
    assert_eq!(heard(&log), ["all", "preset"]);
    fixture.assemble().await;
    assert_eq!(heard(&log), ["all"]);
}

async fn nothing(_: &mut Assembling, _: Rest<'_>) -> Assembled {
    Ok(PromptAssembly::default())
}

// spec: system-prompt/S20, S23
#[tokio::test]
async fn a_listener_that_leaves_out_the_rest_gives_the_prompt_even_an_empty_one() {
    let fixture = Fixture::new().await;
    let log = Log::default();
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "text")).unwrap();
    fixture.app.on(ASSEMBLE).run(nothing).unwrap();
    listen(&fixture.app, "below", &log);
    assert_eq!(fixture.assemble().await, PromptAssembly::default());
    assert!(log.take().is_empty());
}

async fn run_twice(assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    let first = next.clone().run(assembling).await?;
    let second = next.run(assembling).await?;
    assert_eq!(first, second);
    Ok(second)
}

// spec: system-prompt/S20
#[tokio::test]
async fn a_listener_can_run_the_rest_again() {
    let fixture = Fixture::new().await;
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "text")).unwrap();
    fixture.app.on(ASSEMBLE).run(run_twice).unwrap();
    assert_eq!(sections(&fixture.assemble().await), [("s", "text")]);
}

async fn set_variables(_: &Log, assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    let mut assembly = next.run(assembling).await?;
    assembly.variables.insert("model".to_owned(), Some("other".to_owned()));
    assembly.variables.insert("added".to_owned(), Some("new".to_owned()));
    Ok(assembly)
}

// spec: system-prompt/S20
#[tokio::test]
async fn a_listener_can_add_and_replace_variables_before_they_are_put_in() {
    let fixture = Fixture::new().await;
    fixture.prompt().variable(&fixture.app, "model", |_| None).unwrap();
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "{{model}} {{added}}")).unwrap();
    fixture.app.on(ASSEMBLE).with(Log::default()).run(set_variables).unwrap();
    let assembly = fixture.assemble().await;
    assert_eq!(variables(&assembly), [("added", Some("new")), ("model", Some("other"))]);
    assert_eq!(assembly.render_prompt().unwrap(), "other new");
}

async fn expect_empty(assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    assert_eq!(sections(&assembling.assembly), [("empty", "")]);
    next.run(assembling).await
}

// spec: system-prompt/S48
#[tokio::test]
async fn an_empty_section_is_seen_by_listeners_and_not_rendered() {
    let fixture = Fixture::new().await;
    let empty = dsh_prompt::PromptText::dynamic(|_| String::new());
    fixture.prompt().section(&fixture.app, PromptSection::new("empty", 1, empty)).unwrap();
    fixture.app.on(ASSEMBLE).run(expect_empty).unwrap();
    let assembly = fixture.assemble().await;
    assert_eq!(sections(&assembly), [("empty", "")]);
    assert_eq!(assembly.render_prompt().unwrap(), "");
}

async fn refuse(_: &mut Assembling, _: Rest<'_>) -> Assembled {
    Err("not like this".into())
}

async fn fall_over(_: &mut Assembling, _: Rest<'_>) -> Assembled {
    panic!("fell over")
}

// spec: design/P4
#[tokio::test]
async fn a_listener_that_fails_or_panics_fails_the_assembly_and_the_next_one_is_made() {
    let fixture = Fixture::new().await;
    let effect = fixture.app.on(ASSEMBLE).run(refuse).unwrap();
    let refusal = fixture.refusal().await;
    let AssembleError::Refused(source) = refusal else { panic!("{refusal:?}") };
    assert_eq!(source.to_string(), "not like this");
    effect.dispose().await;

    let effect = fixture.app.on(ASSEMBLE).run(fall_over).unwrap();
    let refusal = fixture.refusal().await;
    let AssembleError::Listener(panic) = refusal else { panic!("{refusal:?}") };
    assert_eq!((panic.event, &*panic.message), ("system-prompt/assemble", "fell over"));
    effect.dispose().await;
    fixture.assemble().await;
}
