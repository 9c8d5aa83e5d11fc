//! What prompts are told of the tools: which can be called, and how programs call the others.

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, ScopeKey, define};
use dsh_prompt::{PromptSection, PromptText, SYSTEM_PROMPT, SystemPrompt, ToolContribution};

use crate::code_mode::{Flavour, PresentationError};
use crate::mode::{Mode, RUN_CODE};
use crate::registered::RegisteredTool;
use crate::runtime::Shared;
use crate::sdk;

/// The section that says that only `run_code` can be called directly. Before the guidance of tools, which begins at 100.
const CODE_ONLY: (&str, i32) = ("tools:code-only", 99);
/// The section that declares the tools for programs. After that guidance.
const SDK: (&str, i32) = ("tools:sdk", 150);

const CODE_ONLY_TEXT: &str = "`run_code` is the only tool that you can call directly. A direct call of any other tool fails, \
                              whatever else is said about that tool: call it from inside of a `run_code` program, as the \
                              section on programs declares it.";

/// The tools that prompts are told of.
pub(crate) struct Presented(Arc<Shared>);

impl Presented {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }
}

/// Contributes to prompts while there is a system prompt.
pub(crate) fn plugin() -> impl Plugin<Config = Presented> {
    define("tools-prompt").needs(SYSTEM_PROMPT).run(contribute)
}

/// The sections are there in every mode, and empty where they have nothing to say: a mode may change at any time, and an
/// agent may have a section of its own in the place of one of them.
async fn contribute(
    ctx: &Context,
    prompt: Handle<SystemPrompt>,
    Presented(shared): &Presented,
) -> Result<(), BoxError> {
    let prompt = prompt.get()?;
    let tools = Arc::clone(shared);
    prompt.tools(ctx, move |context| Ok(offered(&tools, context.scope())?))?;
    let (name, order) = CODE_ONLY;
    let tools = Arc::clone(shared);
    let text = PromptText::dynamic(move |context| match tools.registry.mode(context.scope()) {
        Mode::Code => CODE_ONLY_TEXT.to_owned(),
        Mode::Native | Mode::Both => String::new(),
    });
    prompt.section(ctx, PromptSection::new(name, order, text))?;
    let (name, order) = SDK;
    let tools = Arc::clone(shared);
    let text = PromptText::fallible(move |context| Ok(declared(&tools, context.scope())?));
    prompt.section(ctx, PromptSection::new(name, order, text))?;
    Ok(())
}

/// The tools that a model of this scope is offered.
fn offered(shared: &Shared, scope: Option<&ScopeKey>) -> Result<ToolContribution, PresentationError> {
    let registry = &shared.registry;
    let mode = registry.mode(scope);
    let served = served(shared, mode)?;
    let known = || registry.known_names(scope).into_iter().map(|name| name.to_string());
    let run_code = || RUN_CODE.to_owned();
    let (view, known_names) = match served {
        None => (registry.offered(scope), known().collect()),
        Some(_) if mode == Mode::Code => {
            (registry.visible(RUN_CODE, scope).into_iter().collect(), vec![run_code()])
        }
        Some(_) => (registry.view(scope), known().chain([run_code()]).collect()),
    };
    let schemas = view.iter().map(|tool| tool.schema_copy()).collect();
    Ok(ToolContribution { schemas, known_names: Some(known_names) })
}

/// The declarations for programs of this scope; nothing where there are no programs.
fn declared(shared: &Shared, scope: Option<&ScopeKey>) -> Result<String, PresentationError> {
    let registry = &shared.registry;
    let Some(flavour) = served(shared, registry.mode(scope))? else { return Ok(String::new()) };
    let view: Vec<Arc<RegisteredTool>> = registry.offered(scope);
    Ok(sdk::text(flavour, view.iter().map(|tool| sdk::Declared::of(tool))))
}

/// The language of programs in this mode; none where there are none.
fn served(shared: &Shared, mode: Mode) -> Result<Option<Flavour>, PresentationError> {
    match (mode, shared.registry.transport()) {
        (Mode::Native, _) => Ok(None),
        (Mode::Code | Mode::Both, Some(transport)) => Flavour::served(transport.ctx(), mode).map(Some),
        (Mode::Code | Mode::Both, None) => Err(PresentationError::NoRuntime { mode }),
    }
}
