//! What agents are told about the tool.

use cordis::Fiber;
use dsh_prompt::{AssembleContext, PromptSection, SYSTEM_PROMPT};
use dsh_tool_bash::Config;

use crate::fixture::{mount, service};
use crate::scripted::Scripted;

async fn told(scripted: &Scripted) -> Vec<(String, String)> {
    scripted.app.quiet().await;
    let prompt = scripted.app.get(SYSTEM_PROMPT).unwrap();
    let prompt = prompt.get().unwrap();
    let assembly = prompt.assemble(&scripted.app, &AssembleContext::new()).await.unwrap();
    let sections = assembly.sections.iter();
    sections.map(|section| (section.name.clone(), section.text.clone())).collect()
}

/// A prompt with guidance of others before and after.
async fn prompt(scripted: &Scripted) -> Fiber {
    let fiber = mount(&scripted.app, dsh_prompt::plugin(), dsh_prompt::Config::default()).await;
    service(&scripted.app, SYSTEM_PROMPT, |prompt| {
        for (name, order) in [("before", 104), ("after", 106)] {
            prompt.section(&scripted.app, PromptSection::new(name, order, "x")).unwrap();
        }
    });
    fiber
}

// spec: fs-shell-sandbox/F105
#[tokio::test]
async fn agents_are_told_how_to_use_the_tool_as_long_as_there_is_one() {
    for enabled in [true, false] {
        let config = Config { enable_run_in_background: enabled, ..Config::default() };
        let scripted = Scripted::new(config).await;
        prompt(&scripted).await;
        let sections = told(&scripted).await;
        let place = sections.iter().position(|(name, _)| name == "tool:bash").unwrap();
        let names: Vec<&str> =
            sections[place - 1..=place + 1].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["before", "tool:bash", "after"]);
        let text = &sections[place].1;
        assert!(text.contains("workdir"), "{text}");
        assert_eq!(text.contains("run_in_background"), enabled, "{text}");
        scripted.plugin.dispose().await;
        assert!(told(&scripted).await.iter().all(|(name, _)| name != "tool:bash"));
    }
}
