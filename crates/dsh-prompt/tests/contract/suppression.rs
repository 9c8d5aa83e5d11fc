//! Leaving the runtime context out.

use dsh_prompt::{ASSEMBLE, Assembling, Config, PromptContext, PromptTemplate};

use crate::fixture::{Assembled, Fixture, Log, Rest, offers, pairs, sections, tools, variables};

// spec: system-prompt/S11
#[tokio::test]
async fn contexts_come_back_when_the_last_suppressor_goes() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let prompt = fixture.prompt();
    prompt.context(&fixture.app, PromptContext::new("c", 1, "text")).unwrap();
    let first = prompt.suppress_runtime_context(&fixture.app).unwrap();
    let second = prompt.suppress_runtime_context(&fixture.app).unwrap();
    let own = prompt.suppress_runtime_context(agent.context()).unwrap();
    first.dispose().await;
    assert!(fixture.assemble().await.contexts.is_empty());
    second.dispose().await;
    assert_eq!(pairs(&fixture.assemble().await.contexts), [("c", "text")]);
    assert!(fixture.assemble_at(&agent).await.contexts.is_empty());
    own.dispose().await;
    assert_eq!(pairs(&fixture.assemble_at(&agent).await.contexts), [("c", "text")]);
}

// spec: system-prompt/S16, S45
#[tokio::test]
async fn a_suppressor_counts_for_every_scope_below_and_for_no_other_and_contexts_are_not_asked() {
    let fixture = Fixture::new().await;
    let preset = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(&preset).unwrap();
    let other = fixture.app.scope().unwrap();
    let log = Log::default();
    let prompt = fixture.prompt();
    prompt.context(&fixture.app, PromptContext::new("c", 1, log.text("asked"))).unwrap();
    prompt.context(child.context(), PromptContext::new("own", 1, log.text("own asked"))).unwrap();
    prompt.suppress_runtime_context(preset.context()).unwrap();
    for suppressed in [&preset, &child] {
        assert!(fixture.assemble_at(suppressed).await.contexts.is_empty());
    }
    assert!(log.take().is_empty());
    assert_eq!(pairs(&fixture.assemble_at(&other).await.contexts), [("c", "asked")]);
    assert_eq!(pairs(&fixture.assemble().await.contexts), [("c", "asked")]);
}

#[tokio::test]
async fn the_configuration_can_suppress_for_all() {
    let fixture = Fixture::with(Config { include_runtime_context: false, ..Config::default() }).await;
    let agent = fixture.app.scope().unwrap();
    fixture.prompt().context(agent.context(), PromptContext::new("c", 1, "text")).unwrap();
    assert!(fixture.assemble_at(&agent).await.contexts.is_empty());
}

async fn add_one_of_each(assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    let mut assembly = next.run(assembling).await?;
    assembly.contexts.push(PromptTemplate::new("c", "added"));
    assembly.sections.push(PromptTemplate::new("s", "added"));
    assembly.variables.insert("v".to_owned(), Some("added".to_owned()));
    assembly.tools.clear();
    Ok(assembly)
}

// spec: system-prompt/S22
#[tokio::test]
async fn contexts_that_listeners_add_are_left_out_too_and_the_rest_of_what_they_do_is_kept() {
    let fixture = Fixture::new().await;
    fixture.prompt().tools(&fixture.app, offers(&["t"])).unwrap();
    fixture.app.on(ASSEMBLE).run(add_one_of_each).unwrap();
    let suppressor = fixture.prompt().suppress_runtime_context(&fixture.app).unwrap();
    let assembly = fixture.assemble().await;
    assert!(assembly.contexts.is_empty());
    assert_eq!(sections(&assembly), [("s", "added")]);
    assert_eq!(variables(&assembly), [("v", Some("added"))]);
    assert!(tools(&assembly).is_empty());
    suppressor.dispose().await;
    assert_eq!(pairs(&fixture.assemble().await.contexts), [("c", "added")]);
}
