//! What is seen from which scope.

use cordis::ScopeKey;
use dsh_prompt::{PromptContext, PromptSection};

use crate::fixture::{Fixture, Log, offers, pairs, sections, tools, variables};

fn say(fixture: &Fixture, ctx: &cordis::Context, text: &'static str) {
    let prompt = fixture.prompt();
    prompt.section(ctx, PromptSection::new("s", 1, text)).unwrap();
    prompt.context(ctx, PromptContext::new("c", 1, text)).unwrap();
    prompt.variable(ctx, "v", move |_| Some(text.to_owned())).unwrap();
}

async fn assert_says(fixture: &Fixture, scope: &ScopeKey, text: &str) {
    let assembly = fixture.assemble_at(scope).await;
    assert_eq!(sections(&assembly), [("s", text)]);
    assert_eq!(pairs(&assembly.contexts), [("c", text)]);
    assert_eq!(variables(&assembly), [("v", Some(text))]);
}

// spec: system-prompt/S15, S44
#[tokio::test]
async fn an_agents_own_wins_over_its_presets_which_wins_over_the_global_one_in_any_order_of_registration() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let fixture = Fixture::new().await;
        let preset = fixture.app.scope().unwrap();
        let agent = fixture.app.scope_under(&preset).unwrap();
        let heir = fixture.app.scope_under(&preset).unwrap();
        let other = fixture.app.scope().unwrap();
        for place in order {
            match place {
                0 => say(&fixture, &fixture.app, "global"),
                1 => say(&fixture, preset.context(), "preset"),
                _ => say(&fixture, agent.context(), "own"),
            }
        }
        assert_says(&fixture, &agent, "own").await;
        assert_says(&fixture, &heir, "preset").await;
        assert_says(&fixture, &preset, "preset").await;
        assert_says(&fixture, &other, "global").await;
        assert_eq!(sections(&fixture.assemble().await), [("s", "global")]);
    }
}

// spec: system-prompt/S42, S7
#[tokio::test]
async fn two_agents_shadow_independently_and_get_the_global_one_back() {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    say(&fixture, &fixture.app, "global");
    say(&fixture, one.context(), "one");
    say(&fixture, other.context(), "other");
    assert_says(&fixture, &one, "one").await;
    assert_says(&fixture, &other, "other").await;
    let key = one.key().clone();
    one.close().await;
    assert_says(&fixture, &key, "global").await;
    assert_says(&fixture, &other, "other").await;
}

// spec: system-prompt/S43
#[tokio::test]
async fn what_is_a_scopes_own_is_seen_nowhere_else_and_a_scope_opened_again_starts_clean() {
    let fixture = Fixture::new().await;
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let key = agent.key().clone();
    let log = Log::default();
    say(&fixture, agent.context(), "own");
    fixture.prompt().tools(agent.context(), log.offer("own")).unwrap();
    let clean = fixture.assemble().await;
    assert_eq!(fixture.assemble_at(&other).await, clean);
    assert!(log.take().is_empty(), "a provider is asked for its own scope only");
    assert_eq!(tools(&fixture.assemble_at(&key).await), ["own"]);

    agent.close().await;
    let again = fixture.app.scope_for(&key).unwrap();
    assert_eq!(fixture.assemble_at(&key).await, clean);
    say(&fixture, again.context(), "again");
    fixture.prompt().tools(again.context(), offers(&["again"])).unwrap();
    assert_says(&fixture, &key, "again").await;
    assert_eq!(tools(&fixture.assemble_at(&key).await), ["again"]);
}
