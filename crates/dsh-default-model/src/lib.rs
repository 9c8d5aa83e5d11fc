//! Which model agents ask unless they are told otherwise, and the switch of one agent's model while it works.
//!
//! The service [`DefaultModel`] says which model is the default: the configured one, until somebody saves another. What an
//! agent is to ask is its [`SelectionRef`]: whoever sets the agent up installs one on the agent's context
//! ([`install_model_selection`]), and selects another model in it at any time. The switch is whole: a prompt that names the
//! model goes to the model that it names, so one that is made in the middle of a step takes effect in a later one.
//!
//! Read `selection` (what is chosen), `selected` (for one agent), `install` (how it gets into prompts and requests), `default_model`
//! and `config` (for all of them), then `keys`.
//!
//! **Architecture Invariant:** nothing here knows which models there are. A model that no catalogue lists can be selected; if
//! nobody serves it, the request says so.
//!
//! # Examples
//! ```
//! use std::sync::Arc;
//!
//! use cordis::App;
//! use dsh_agent::testing::agent;
//! use dsh_default_model::{DEFAULT_MODEL, Selection, SelectionRef, install_model_selection};
//! use dsh_prompt::{AssembleContext, SYSTEM_PROMPT};
//! use dsh_session::Session;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! let persona = dsh_prompt::Config { persona: "You are {{model}}.".into(), ..dsh_prompt::Config::default() };
//! app.plugin(dsh_prompt::plugin(), persona)?.ready().await?;
//! app.plugin(dsh_default_model::plugin(), dsh_default_model::Config::default())?.ready().await?;
//!
//! // Where agents are created, this is the agent's `setup`.
//! let (ada, _inbox) = agent(&app, Session::detached("ada"))?;
//! let models = app.get(DEFAULT_MODEL).ok_or("no default model")?;
//! let chosen = Arc::new(SelectionRef::new(models.get()?.current_selection()));
//! install_model_selection(ada.context(), chosen.clone())?;
//!
//! let prompt = app.get(SYSTEM_PROMPT).ok_or("no system prompt")?;
//! let context = AssembleContext::of(Arc::new(ada));
//! let text = prompt.get()?.assemble(&app, &context).await?.render_prompt()?;
//! assert!(text.ends_with("You are deepseek-v4-flash."));
//!
//! chosen.select(Selection::new("deepseek-official", "deepseek-v4-pro"));
//! let text = prompt.get()?.assemble(&app, &context).await?.render_prompt()?;
//! assert!(text.ends_with("You are deepseek-v4-pro."));
//! # Ok(())
//! # }
//! ```

mod config;
mod default_model;
mod install;
pub mod keys;
mod selected;
mod selection;

use std::sync::Arc;

use cordis::{Context, Plugin, define};

pub use config::{Config, ConfigError};
pub use default_model::DefaultModel;
pub use install::install_model_selection;
pub use keys::DEFAULT_MODEL;
pub use selected::SelectionRef;
pub use selection::Selection;

use default_model::Saved;

cordis::catalog!(plugin);

/// Provides [`DEFAULT_MODEL`].
///
/// What is saved is kept as long as the plugin is mounted, also when it is given another configuration; it is not stored.
///
/// Source: plugin `agent-default-model`.
pub fn plugin() -> impl Plugin<Config = Config> {
    let saved = Arc::<Saved>::default();
    define("agent-default-model")
        .provides(DEFAULT_MODEL)
        .validate(|config: &Config| Ok(config.check()?))
        .run_boxed(move |ctx: &Context, (): (), config: &Config| {
            let model = DefaultModel::keeping(config, Arc::clone(&saved));
            Box::pin(async move {
                ctx.provide(DEFAULT_MODEL, Arc::new(model))?;
                Ok(())
            })
        })
}
