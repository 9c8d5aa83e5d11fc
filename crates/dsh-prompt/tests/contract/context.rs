//! For whom a prompt is assembled.

use std::sync::Arc;

use cordis::ScopeKey;
use dsh_prompt::{ASSEMBLE, AssembleContext, Assembling, PromptSection, PromptText, Subject};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Assembled, Fixture, Log, Rest, sections};

struct Agent {
    name: &'static str,
    scope: ScopeKey,
}

impl Subject for Agent {
    fn scope_key(&self) -> &ScopeKey {
        &self.scope
    }
}

struct Stranger(ScopeKey);

impl Subject for Stranger {
    fn scope_key(&self) -> &ScopeKey {
        &self.0
    }
}

// spec: system-prompt/S2
#[tokio::test]
async fn a_prompt_for_an_agent_is_one_of_its_scope() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let agent = Arc::new(Agent { name: "ada", scope: scope.key().clone() });
    let name = PromptText::dynamic(|context| {
        context.subject::<Agent>().map_or("nobody", |agent| agent.name).to_owned()
    });
    fixture.prompt().section(&fixture.app, PromptSection::new("name", 1, name)).unwrap();
    fixture.prompt().section(scope.context(), PromptSection::new("own", 2, "own")).unwrap();

    let token = CancellationToken::new();
    let context = AssembleContext::of(agent.clone()).cancelled_by(token.clone());
    assert_eq!(context.scope(), Some(scope.key()));
    assert!(Arc::ptr_eq(&context.subject::<Agent>().unwrap(), &agent));
    assert!(context.subject::<Stranger>().is_none());
    token.cancel();
    assert!(context.cancellation().is_cancelled());
    let assembly = fixture.try_assemble(&context).await.unwrap();
    assert_eq!(sections(&assembly), [("name", "ada"), ("own", "own")]);
    assert_eq!(sections(&fixture.assemble_at(&scope).await), [("name", "nobody"), ("own", "own")]);
}

#[test]
fn a_context_carries_one_value_of_a_type_and_a_subject_is_none_of_them() {
    let context = AssembleContext::new().with(1_u32).with("text").with(2_u32);
    assert_eq!(context.get::<u32>(), Some(&2));
    assert_eq!(context.get::<&str>(), Some(&"text"));
    assert_eq!(context.get::<u64>(), None);
    assert_eq!(context.clone().get::<u32>(), Some(&2));

    let agent = Agent { name: "ada", scope: ScopeKey::new() };
    let carrying = AssembleContext::new().with(agent);
    assert!(carrying.subject::<Agent>().is_none());
    assert!(carrying.scope().is_none());
    assert!(!AssembleContext::default().cancellation().is_cancelled());
}

async fn note(log: &Log, assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    log.say(format!("listener {}", assembling.context().cancellation().is_cancelled()));
    next.run(assembling).await
}

// spec: system-prompt/S24
#[tokio::test]
async fn providers_and_listeners_are_lent_the_token_of_the_request_that_is_being_made() {
    let fixture = Fixture::new().await;
    let log = Log::default();
    let asked = log.clone();
    let text = PromptText::dynamic(move |context| {
        asked.say(format!("provider {}", context.cancellation().is_cancelled()));
        String::new()
    });
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, text)).unwrap();
    fixture.app.on(ASSEMBLE).with(log.clone()).run(note).unwrap();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    fixture.try_assemble(&AssembleContext::new().cancelled_by(cancelled)).await.unwrap();
    assert_eq!(log.take(), ["provider true", "listener true"]);
    fixture.assemble().await;
    assert_eq!(log.take(), ["provider false", "listener false"]);
}
