//! An app with prompts, and agents whose prompts and requests a test makes as a loop does.

use std::sync::Arc;

use cordis::Handle;
use cordis::testing::TestApp;
use dsh_agent::testing::agent;
use dsh_agent::{Agent, AgentRequest, REQUEST, Requested};
use dsh_default_model::{Selection, SelectionRef, install_model_selection};
use dsh_llm::CallConfig;
use dsh_prompt::{AssembleContext, AssembleError, PromptAssembly, SYSTEM_PROMPT, SystemPrompt};
use dsh_session::Session;
use tokio_util::sync::CancellationToken;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    prompt: Handle<SystemPrompt>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        let config =
            dsh_prompt::Config { persona: "{{provider}}/{{model}}".to_owned(), ..Default::default() };
        app.plugin(dsh_prompt::plugin(), config).unwrap().ready().await.unwrap();
        let prompt = app.get(SYSTEM_PROMPT).unwrap();
        Self { app, prompt }
    }

    pub(crate) fn agent(&self, id: &str) -> Agent {
        agent(&self.app, Session::detached(id)).unwrap().0
    }

    /// An agent with a selection that is installed.
    pub(crate) fn selecting(&self, id: &str, selection: Selection) -> (Agent, Arc<SelectionRef>) {
        let (agent, selected) = (self.agent(id), Arc::new(SelectionRef::new(selection)));
        install_model_selection(agent.context(), selected.clone()).unwrap();
        (agent, selected)
    }

    pub(crate) async fn try_assemble(&self, agent: &Agent) -> Result<PromptAssembly, AssembleError> {
        let context = AssembleContext::of(Arc::new(agent.clone()));
        self.prompt.get().unwrap().assemble(&self.app, &context).await
    }

    /// What a prompt of the agent says of its model.
    pub(crate) async fn named(&self, agent: &Agent) -> String {
        let text = self.try_assemble(agent).await.unwrap().render_prompt().unwrap();
        text.rsplit("\n\n").next().unwrap().to_owned()
    }

    pub(crate) async fn try_ask(&self, agent: &Agent, settings: CallConfig) -> Requested {
        let cancellation = CancellationToken::new();
        let mut request = AgentRequest { agent: agent.clone(), turn: 1, step: 1, cancellation };
        let seed = async |settings: &CallConfig, _: &mut AgentRequest| Ok(settings.clone());
        self.app.waterfall(REQUEST, &mut request, &settings, seed).await.unwrap()
    }

    /// With what a model is asked where the loop proposes these settings.
    pub(crate) async fn asked(&self, agent: &Agent, settings: CallConfig) -> CallConfig {
        self.try_ask(agent, settings).await.unwrap()
    }
}

pub(crate) fn flash() -> Selection {
    Selection::new("deepseek-official", "deepseek-v4-flash")
}

pub(crate) fn pro() -> Selection {
    Selection::new("deepseek-official", "deepseek-v4-pro").with_effort("high")
}

/// What a loop proposes: another model, with all that can be set.
pub(crate) fn proposed() -> CallConfig {
    CallConfig {
        provider: "acme".to_owned(),
        model: "m".to_owned(),
        reasoning_effort: Some("low".to_owned()),
        temperature: Some(0.5),
        max_tokens: Some(100),
        stop: Some(vec!["END".to_owned()]),
    }
}

/// The same with another model and effort.
pub(crate) fn proposed_for(selection: Selection) -> CallConfig {
    let Selection { provider, model, reasoning_effort } = selection;
    CallConfig { provider, model, reasoning_effort, ..proposed() }
}
