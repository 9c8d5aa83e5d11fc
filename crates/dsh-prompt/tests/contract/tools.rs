//! Providers of tools.

use dsh_prompt::{AssembleContext, AssembleError, SYSTEM_PROMPT, ToolContribution};

use crate::fixture::{Fixture, Log, offers, tool, tools};

// spec: system-prompt/S18
#[tokio::test]
async fn a_provider_registered_while_tools_are_asked_waits_for_the_next_assembly() {
    let fixture = Fixture::new().await;
    let (app, log) = (fixture.app.root(), Log::default());
    let asked = log.clone();
    let provider = move |_: &AssembleContext| {
        asked.say("asked");
        let prompt = app.get(SYSTEM_PROMPT).ok_or("no prompt")?;
        prompt.get()?.tools(&app, offers(&["late"]))?;
        Ok(ToolContribution::default())
    };
    let effect = fixture.prompt().tools(&fixture.app, provider).unwrap();
    assert!(fixture.assemble().await.tools.is_empty());
    effect.dispose().await;
    assert_eq!(tools(&fixture.assemble().await), ["late"]);
    assert_eq!(log.take(), ["asked"]);
}

#[tokio::test]
async fn a_provider_disposed_while_tools_are_asked_is_not_asked_any_more() {
    let fixture = Fixture::new().await;
    let second: std::sync::Arc<std::sync::OnceLock<cordis::Effect>> = Default::default();
    let other = second.clone();
    let provider = move |_: &AssembleContext| {
        other.get().ok_or("too early")?.cancel();
        Ok(ToolContribution::default())
    };
    fixture.prompt().tools(&fixture.app, provider).unwrap();
    second.set(fixture.prompt().tools(&fixture.app, offers(&["second"])).unwrap()).unwrap();
    fixture.prompt().tools(&fixture.app, offers(&["third"])).unwrap();
    assert_eq!(tools(&fixture.assemble().await), ["third"]);
    assert_eq!(tools(&fixture.assemble().await), ["third"]);
}

// spec: system-prompt/S25
#[tokio::test]
async fn no_tool_can_be_called_like_the_mark_of_a_tool_order() {
    for fixture in [Fixture::new().await, Fixture::ordered(&["<unlisted-tools>"]).await] {
        fixture.prompt().tools(&fixture.app, offers(&["a", "<unlisted-tools>"])).unwrap();
        let refusal = fixture.refusal().await;
        let AssembleError::ReservedName { plugin } = refusal else { panic!("{refusal:?}") };
        assert_eq!(plugin, fixture.app.fiber().label());
    }
}

// spec: system-prompt/S29
#[tokio::test]
async fn tools_of_one_name_are_all_kept_within_a_provider_too() {
    let fixture = Fixture::new().await;
    fixture.prompt().tools(&fixture.app, offers(&["a", "b", "a"])).unwrap();
    fixture.prompt().tools(&fixture.app, offers(&["a"])).unwrap();
    assert_eq!(tools(&fixture.assemble().await), ["a", "a", "a", "b"]);
}

// spec: system-prompt/S46
#[tokio::test]
async fn a_provider_may_know_names_and_offer_none_of_them() {
    let fixture = Fixture::ordered(&["hidden", "<unlisted-tools>"]).await;
    let restricted = |_: &AssembleContext| {
        Ok(ToolContribution { schemas: Vec::new(), known_names: Some(vec!["hidden".to_owned()]) })
    };
    fixture.prompt().tools(&fixture.app, restricted).unwrap();
    assert!(fixture.assemble().await.tools.is_empty());
}

#[tokio::test]
async fn a_provider_can_look_at_the_request() {
    let fixture = Fixture::new().await;
    let provider = |context: &AssembleContext| {
        let name = context.get::<&'static str>().ok_or("no name")?;
        Ok(ToolContribution { schemas: vec![tool(name)], known_names: None })
    };
    fixture.prompt().tools(&fixture.app, provider).unwrap();
    let assembly = fixture.try_assemble(&AssembleContext::new().with("t")).await.unwrap();
    assert_eq!(tools(&assembly), ["t"]);
}
