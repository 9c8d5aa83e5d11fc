//! What agents are told about jobs before the conversation.

use dsh_prompt::{AssembleContext, PromptAssembly, PromptSection, SYSTEM_PROMPT};
use dsh_tool_jobs::Config;

use crate::fixture::Fixture;

async fn assembled(fixture: &Fixture) -> PromptAssembly {
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    prompt.get().unwrap().assemble(&fixture.app, &AssembleContext::new()).await.unwrap()
}

// spec: timeout-jobs-hooks/J40, design/P1
#[tokio::test]
async fn a_section_says_how_to_deal_with_jobs_as_long_as_the_plugin_is_there() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(&fixture.app, Config::default()).await;
    fixture.app.plugin(dsh_prompt::plugin(), dsh_prompt::Config::default()).unwrap().ready().await.unwrap();
    fixture.app.quiet().await;
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    for (name, order) in [("after", 107), ("before", 105)] {
        prompt.get().unwrap().section(&fixture.app, PromptSection::new(name, order, "x")).unwrap();
    }
    let there = assembled(&fixture).await.sections;
    let place = there.iter().position(|section| section.name == "tool:jobs").unwrap();
    assert_eq!((&*there[place - 1].name, &*there[place + 1].name), ("before", "after"));
    assert!(["job_output", "job_kill", "wait: true"].iter().all(|it| there[place].text.contains(it)));
    plugin.dispose().await;
    assert!(assembled(&fixture).await.sections.iter().all(|section| section.name != "tool:jobs"));
}
