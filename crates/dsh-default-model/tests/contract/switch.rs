//! How what is selected for an agent gets into its prompts and requests, and when.

use std::sync::Arc;

use cordis::{BoxError, Next};
use dsh_agent::{AgentRequest, REQUEST, Requested};
use dsh_default_model::{Selection, SelectionRef, install_model_selection};
use dsh_prompt::{ASSEMBLE, Assembling, PromptAssembly};

use crate::fixture::{Fixture, flash, pro, proposed, proposed_for};

// spec: agent-loop/S33
#[tokio::test]
async fn prompts_name_what_is_selected_and_requests_go_to_it() {
    let fixture = Fixture::new().await;
    let (ada, _selected) = fixture.selecting("ada", pro());
    assert_eq!(fixture.named(&ada).await, "deepseek-official/deepseek-v4-pro");
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(pro()));
}

// spec: agent-loop/S33
#[tokio::test]
async fn without_an_effort_the_proposed_one_is_taken_out_and_all_else_stays() {
    let fixture = Fixture::new().await;
    let (ada, _selected) = fixture.selecting("ada", flash());
    fixture.named(&ada).await;
    let asked = fixture.asked(&ada, proposed()).await;
    assert_eq!(asked.reasoning_effort, None);
    assert_eq!(asked, proposed_for(flash()));
}

// spec: agent-loop/S33
#[tokio::test]
async fn before_the_first_prompt_requests_are_left_as_they_are() {
    let fixture = Fixture::new().await;
    let (ada, selected) = fixture.selecting("ada", pro());
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed());
    assert_eq!((selected.current(), selected.assembled()), (pro(), None));
}

// spec: agent-loop/S33
#[tokio::test]
async fn a_switch_after_the_prompt_is_for_the_requests_after_the_next_prompt() {
    let fixture = Fixture::new().await;
    let (ada, selected) = fixture.selecting("ada", flash());
    fixture.named(&ada).await;
    selected.select(pro());
    for _attempt in 0..2 {
        assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(flash()));
    }
    assert_eq!((selected.current(), selected.assembled()), (pro(), Some(flash())));
    assert_eq!(fixture.named(&ada).await, "deepseek-official/deepseek-v4-pro");
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(pro()));
}

/// Selects, while the prompt is being made.
async fn selects(
    selected: &Arc<SelectionRef>,
    assembling: &mut Assembling,
    next: Next<'_, Assembling, Result<PromptAssembly, BoxError>>,
) -> Result<PromptAssembly, BoxError> {
    selected.select(pro());
    next.run(assembling).await
}

// spec: agent-loop/S33
#[tokio::test]
async fn a_switch_while_the_prompt_is_made_is_not_for_this_prompt() {
    let fixture = Fixture::new().await;
    let (ada, selected) = fixture.selecting("ada", flash());
    fixture.app.on(ASSEMBLE).with(selected.clone()).run(selects).unwrap();
    assert_eq!(fixture.named(&ada).await, "deepseek-official/deepseek-v4-flash");
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(flash()));
    assert_eq!(fixture.named(&ada).await, "deepseek-official/deepseek-v4-pro");
}

async fn refuses(
    (): &(),
    _: &mut Assembling,
    _: Next<'_, Assembling, Result<PromptAssembly, BoxError>>,
) -> Result<PromptAssembly, BoxError> {
    Err("no prompt".into())
}

#[tokio::test]
async fn a_prompt_that_was_not_made_changes_nothing() {
    let fixture = Fixture::new().await;
    let (ada, selected) = fixture.selecting("ada", flash());
    fixture.named(&ada).await;
    selected.select(pro());
    let failing = fixture.app.on(ASSEMBLE).with(()).run(refuses).unwrap();
    fixture.try_assemble(&ada).await.unwrap_err();
    failing.dispose().await;
    assert_eq!(selected.assembled(), Some(flash()));
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(flash()));
}

async fn fails((): &(), _: &mut AgentRequest, _: Next<'_, AgentRequest, Requested>) -> Requested {
    Err("no settings".into())
}

#[tokio::test]
async fn an_error_of_a_listener_below_passes() {
    let fixture = Fixture::new().await;
    let (ada, _selected) = fixture.selecting("ada", flash());
    fixture.named(&ada).await;
    fixture.app.on(REQUEST).with(()).run(fails).unwrap();
    assert_eq!(fixture.try_ask(&ada, proposed()).await.unwrap_err().to_string(), "no settings");
}

// spec: agent-loop/S33
#[tokio::test]
async fn it_is_for_the_agent_alone_and_not_for_those_of_scopes_below_it() {
    let fixture = Fixture::new().await;
    let (ada, selected) = fixture.selecting("ada", flash());
    let scope = fixture.app.scope_under(ada.scope()).unwrap();
    let driver = Arc::new(dsh_agent::testing::MemoryDriver::default());
    let child = dsh_agent::Agent::new(dsh_agent::testing::parts(
        dsh_session::Session::detached("child"),
        scope,
        driver,
    ));
    let own = Arc::new(SelectionRef::new(pro()));
    install_model_selection(child.context(), own.clone()).unwrap();

    assert_eq!(fixture.named(&child).await, "deepseek-official/deepseek-v4-pro");
    assert_eq!(selected.assembled(), None);
    assert_eq!(fixture.named(&ada).await, "deepseek-official/deepseek-v4-flash");
    assert_eq!(fixture.asked(&child, proposed()).await, proposed_for(pro()));
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(flash()));

    let bob = fixture.agent("bob");
    assert!(!fixture.try_assemble(&bob).await.unwrap().variables.contains_key("model"));
    assert_eq!(fixture.asked(&bob, proposed()).await, proposed());
}

#[tokio::test]
async fn on_a_context_of_no_scope_it_is_for_every_agent() {
    let fixture = Fixture::new().await;
    let (ada, bob) = (fixture.agent("ada"), fixture.agent("bob"));
    install_model_selection(&fixture.app, Arc::new(SelectionRef::new(pro()))).unwrap();
    assert_eq!(fixture.named(&ada).await, "deepseek-official/deepseek-v4-pro");
    assert_eq!(fixture.asked(&bob, proposed()).await, proposed_for(pro()));
}

// spec: agent-loop/S32, agent-loop/S33
#[tokio::test]
async fn a_model_that_no_catalogue_lists_can_be_selected() {
    let fixture = Fixture::new().await;
    let (ada, selected) = fixture.selecting("ada", flash());
    let strange = Selection::new("nobody", "nothing").with_effort("immense");
    selected.select(strange.clone());
    assert_eq!(fixture.named(&ada).await, "nobody/nothing");
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed_for(strange));
}

#[tokio::test]
async fn both_listeners_go_with_the_effect_and_with_the_agent() {
    let fixture = Fixture::new().await;
    let (ada, selected) = (fixture.agent("ada"), Arc::new(SelectionRef::new(pro())));
    let installed = install_model_selection(ada.context(), selected.clone()).unwrap();
    fixture.try_assemble(&ada).await.unwrap();
    installed.dispose().await;
    assert_eq!(Arc::strong_count(&selected), 1);
    assert_eq!(fixture.asked(&ada, proposed()).await, proposed());

    install_model_selection(ada.context(), selected.clone()).unwrap();
    ada.context().fiber().dispose().await;
    assert_eq!(Arc::strong_count(&selected), 1);
    install_model_selection(ada.context(), selected).unwrap_err();
}
