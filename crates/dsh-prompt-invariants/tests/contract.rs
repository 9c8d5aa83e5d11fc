//! The contract of the crate: what passes, what is refused, and who is looked at.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, Context, Next};
use dsh_llm::ToolSchema;
use dsh_prompt::{
    ASSEMBLE, AssembleContext, AssembleError, Assembling, Config, PromptAssembly, PromptTemplate,
    SYSTEM_PROMPT,
};
use dsh_prompt_invariants::{Violation, check};

fn template(name: &str) -> PromptTemplate {
    PromptTemplate::new(name, "text")
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema { name: name.to_owned(), description: String::new(), parameters: Default::default() }
}

/// The same name in different places, texts that are empty, tools of one name: all of it is fine.
fn well_formed() -> PromptAssembly {
    PromptAssembly {
        sections: vec![template("a"), PromptTemplate::new("b", "")],
        contexts: vec![template("a"), template("b")],
        tools: vec![tool("a"), tool("a")],
        variables: [("a".to_owned(), None), ("b_2".to_owned(), Some(String::new()))].into(),
    }
}

type Spoil = fn(&mut PromptAssembly);

fn spoilt() -> Vec<(Spoil, Violation)> {
    let name = || "a".to_owned();
    vec![
        (|it| it.sections[1].name.clear(), Violation::UnnamedSection { place: 1 }),
        (|it| it.sections.push(template("a")), Violation::RepeatedSection { name: name() }),
        (|it| it.contexts[1].name.clear(), Violation::UnnamedContext { place: 1 }),
        (|it| it.contexts.push(template("a")), Violation::RepeatedContext { name: name() }),
        (|it| it.tools[1].name.clear(), Violation::UnnamedTool { place: 1 }),
        (
            |it| drop(it.variables.insert("Model".to_owned(), None)),
            Violation::VariableName { name: "Model".to_owned() },
        ),
    ]
}

// spec: system-prompt/S40
#[test]
fn a_well_formed_prompt_passes_and_each_rule_is_checked() {
    assert_eq!(check(&well_formed()), Ok(()));
    assert_eq!(check(&PromptAssembly::default()), Ok(()));
    for (spoil, violation) in spoilt() {
        let mut assembly = well_formed();
        spoil(&mut assembly);
        assert_eq!(check(&assembly), Err(violation));
    }
}

async fn give(
    assembly: &Arc<PromptAssembly>,
    _: &mut Assembling,
    _: Next<'_, Assembling, Result<PromptAssembly, BoxError>>,
) -> Result<PromptAssembly, BoxError> {
    Ok((**assembly).clone())
}

async fn assemble(app: &TestApp, context: &AssembleContext) -> Result<PromptAssembly, AssembleError> {
    app.get(SYSTEM_PROMPT).unwrap().get().unwrap().assemble(app, context).await
}

async fn mount(app: &TestApp, ctx: &Context) {
    app.plugin(dsh_prompt::plugin(), Config::default()).unwrap().ready().await.unwrap();
    ctx.plugin(dsh_prompt_invariants::plugin(), ()).unwrap().ready().await.unwrap();
}

// spec: system-prompt/S40
#[tokio::test]
async fn what_listeners_make_of_a_prompt_is_checked_also_if_they_were_there_before() {
    for (spoil, violation) in spoilt() {
        let app = TestApp::new();
        let mut assembly = well_formed();
        let fine = app.on(ASSEMBLE).with(Arc::new(assembly.clone())).run(give).unwrap();
        mount(&app, &app).await;
        assert_eq!(assemble(&app, &AssembleContext::new()).await.unwrap(), assembly);
        fine.dispose().await;
        spoil(&mut assembly);
        app.on(ASSEMBLE).with(Arc::new(assembly)).run(give).unwrap();
        let refusal = assemble(&app, &AssembleContext::new()).await.unwrap_err();
        let AssembleError::Refused(source) = refusal else { panic!("{refusal:?}") };
        assert_eq!(*source.downcast::<Violation>().unwrap(), violation);
    }
}

#[tokio::test]
async fn mounted_for_one_agent_it_checks_that_agents_prompts_only() {
    let app = TestApp::new();
    let agent = app.scope().unwrap();
    mount(&app, agent.context()).await;
    let malformed = PromptAssembly { tools: vec![tool("")], ..PromptAssembly::default() };
    app.on(ASSEMBLE).with(Arc::new(malformed.clone())).run(give).unwrap();
    assert_eq!(assemble(&app, &AssembleContext::new()).await.unwrap(), malformed);
    assert!(assemble(&app, &AssembleContext::scoped(&agent)).await.is_err());
}
