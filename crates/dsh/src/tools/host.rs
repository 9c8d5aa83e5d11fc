//! The app that the commands run on: sessions, approval, the tools, and one agent.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use cordis::{App, Disposed, Handle};
use dsh_agent::{AGENTS, Agent, Agents};
use dsh_session::SESSIONS;
use dsh_tools::{TOOLS, ToolRuntime};
use tokio_util::sync::CancellationToken;

use crate::app::{end_of, mount};
use crate::deny;
use crate::tools::agent::{self, Turn};
use crate::workbench::Workbench;

/// A running app with one agent.
pub(crate) struct Host {
    pub(crate) app: App,
    pub(crate) agent: Agent,
    pub(crate) agents: Agents,
    pub(crate) turn: Turn,
    pub(crate) tools: Handle<ToolRuntime>,
}

impl Host {
    /// The services and an agent of this name, with no tools yet.
    pub(crate) async fn start(agent: &str) -> anyhow::Result<Self> {
        Self::start_in(agent, None).await
    }

    /// The same; the agent works in a folder, if one is given.
    pub(crate) async fn start_in(agent: &str, folder: Option<&Path>) -> anyhow::Result<Self> {
        let app = App::new()?;
        mount(&app, dsh_session::plugin(), ()).await?;
        mount(&app, dsh_approval::plugin(), dsh_approval::Config::default()).await?;
        mount(&app, dsh_tools::plugin(), dsh_tools::Config::default()).await?;
        let tools = app.get(TOOLS).context("no plugin provides the tools")?;
        let sessions = app.get(SESSIONS).context("no plugin provides the sessions")?;
        let (agent, turn) = agent::agent(&app, &*sessions.get()?, agent, folder)?;
        let agents = Agents::default();
        // The agent ends with its own context, before the app.
        let _ = agents.enter(&app, &agent)?;
        app.provide(AGENTS, Arc::new(agents.clone()))?;
        Ok(Self { app, agent, agents, turn, tools })
    }

    /// Mounts the tools, and the policy that keeps to their own timeouts.
    pub(crate) async fn offer(&self, workbench: Workbench<'_>) -> anyhow::Result<()> {
        mount(&self.app, dsh_timeout_policy::plugin(), dsh_timeout_policy::Config::default()).await?;
        workbench.mount(&self.app).await
    }

    /// Gives a deadline to the calls of tools that have none of their own.
    pub(crate) async fn limit(&self, timeout_ms: NonZeroU64) -> anyhow::Result<()> {
        let config = dsh_timeout_policy::Config { default_timeout_ms: Some(timeout_ms) };
        mount(&self.app, dsh_timeout_policy::plugin(), config).await?;
        Ok(())
    }

    /// Mounts, for the agent alone, the guard that refuses tools by name.
    pub(crate) async fn deny(&self, tools: &[String]) -> anyhow::Result<()> {
        let config = deny::Config { tools: tools.to_vec() };
        mount(self.agent.context(), deny::plugin(), config).await?;
        Ok(())
    }

    /// Ends everything, and says what would not end.
    pub(crate) async fn stop(self) -> Vec<Disposed> {
        let agent = self.agent.context().fiber().dispose().await;
        vec![agent, self.app.shutdown().await]
    }
}

/// The names of the tools that every agent can call.
pub(crate) async fn offered() -> anyhow::Result<Vec<String>> {
    let host = Host::start("cli").await?;
    // Nothing is run, so any folder will do.
    host.offer(Workbench::new(Path::new("/"))).await?;
    let names = host.tools.get()?.list(None).iter().map(|tool| tool.name().to_owned()).collect();
    end_of(host.stop(), &CancellationToken::new()).await;
    Ok(names)
}
