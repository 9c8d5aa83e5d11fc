//! An app with a system prompt, and short forms for what tests register and see.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, Fiber, Handle, Lease, Next, ScopeKey};
use dsh_llm::ToolSchema;
use dsh_prompt::{
    AssembleContext, AssembleError, Assembling, Config, PromptAssembly, PromptTemplate, PromptText,
    SYSTEM_PROMPT, SystemPrompt, ToolContribution, ToolOrder,
};
use parking_lot::Mutex;

pub(crate) type Assembled = Result<PromptAssembly, BoxError>;
pub(crate) type Rest<'a> = Next<'a, Assembling, Assembled>;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) plugin: Fiber,
    prompt: Handle<SystemPrompt>,
}

impl Fixture {
    /// Only the empty persona is registered.
    pub(crate) async fn new() -> Self {
        Self::with(Config { include_harness_identity: false, ..Config::default() }).await
    }

    pub(crate) async fn ordered(names: &[&str]) -> Self {
        let tool_order = Some(order(names));
        Self::with(Config { tool_order, ..Config::default() }).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let app = TestApp::new();
        let plugin = app.plugin(dsh_prompt::plugin(), config).unwrap();
        plugin.ready().await.unwrap();
        app.plugin(dsh_prompt_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let prompt = app.get(SYSTEM_PROMPT).unwrap();
        Self { app, plugin, prompt }
    }

    pub(crate) fn prompt(&self) -> Lease<'_, SystemPrompt> {
        self.prompt.get().unwrap()
    }

    pub(crate) async fn assemble(&self) -> PromptAssembly {
        self.try_assemble(&AssembleContext::new()).await.unwrap()
    }

    pub(crate) async fn assemble_at(&self, scope: &ScopeKey) -> PromptAssembly {
        self.try_assemble(&AssembleContext::scoped(scope)).await.unwrap()
    }

    pub(crate) async fn try_assemble(
        &self,
        context: &AssembleContext,
    ) -> Result<PromptAssembly, AssembleError> {
        self.prompt().assemble(&self.app, context).await
    }

    pub(crate) async fn refusal(&self) -> AssembleError {
        self.try_assemble(&AssembleContext::new()).await.unwrap_err()
    }
}

pub(crate) fn order(names: &[&str]) -> ToolOrder {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.try_into().unwrap()
}

/// The sections as (name, text), without the persona, which is always there.
pub(crate) fn sections(assembly: &PromptAssembly) -> Vec<(&str, &str)> {
    pairs(&assembly.sections).into_iter().filter(|(name, _)| *name != "deployment:persona").collect()
}

pub(crate) fn pairs(templates: &[PromptTemplate]) -> Vec<(&str, &str)> {
    templates.iter().map(|template| (template.name.as_str(), template.text.as_str())).collect()
}

pub(crate) fn variables(assembly: &PromptAssembly) -> Vec<(&str, Option<&str>)> {
    assembly.variables.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect()
}

/// The names of the tools, each with its description, which tells those of one name apart.
pub(crate) fn tools(assembly: &PromptAssembly) -> Vec<String> {
    let shown = |tool: &ToolSchema| format!("{}{}", tool.name, tool.description);
    assembly.tools.iter().map(shown).collect()
}

pub(crate) fn tool(name: &str) -> ToolSchema {
    ToolSchema { name: name.to_owned(), description: String::new(), parameters: Default::default() }
}

/// A provider of tools of these names.
pub(crate) fn offers(
    names: &[&str],
) -> impl Fn(&AssembleContext) -> Result<ToolContribution, BoxError> + Send + Sync + 'static {
    let schemas: Vec<ToolSchema> = names.iter().map(|name| tool(name)).collect();
    move |_| Ok(ToolContribution { schemas: schemas.clone(), known_names: None })
}

/// What happened, in order; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }

    /// A text that says so when it is asked for.
    pub(crate) fn text(&self, text: &'static str) -> PromptText {
        let log = self.clone();
        PromptText::dynamic(move |_| {
            log.say(text);
            text.to_owned()
        })
    }

    /// A variable that says so when it is asked for.
    pub(crate) fn value(
        &self,
        value: &'static str,
    ) -> impl Fn(&AssembleContext) -> Option<String> + Send + Sync + 'static {
        let log = self.clone();
        move |_| {
            log.say(value);
            Some(value.to_owned())
        }
    }

    /// A provider of one tool that says so when it is asked for.
    pub(crate) fn offer(
        &self,
        name: &'static str,
    ) -> impl Fn(&AssembleContext) -> Result<ToolContribution, BoxError> + Send + Sync + 'static {
        let log = self.clone();
        move |_| {
            log.say(name);
            Ok(ToolContribution { schemas: vec![tool(name)], known_names: None })
        }
    }
}
