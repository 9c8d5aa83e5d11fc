//! The app that the commands run on: sessions, approval, the tools, and one agent.

use std::num::NonZeroU64;
use std::path::Path;

use anyhow::Context as _;
use cordis::{App, Disposed, Handle};
use dsh_agent::Agent;
use dsh_session::SESSIONS;
use dsh_tools::{TOOLS, ToolRuntime};

use crate::app::mount;
use crate::deny;
use crate::tools::agent::{self, Turn};

/// A running app with one agent.
pub(crate) struct Host {
    pub(crate) app: App,
    pub(crate) agent: Agent,
    pub(crate) turn: Turn,
    pub(crate) tools: Handle<ToolRuntime>,
}

impl Host {
    /// The services and an agent of this name, with no tools yet.
    pub(crate) async fn start(agent: &str) -> anyhow::Result<Self> {
        let app = App::new()?;
        mount(&app, dsh_session::plugin(), ()).await?;
        mount(&app, dsh_approval::plugin(), dsh_approval::Config::default()).await?;
        mount(&app, dsh_tools::plugin(), dsh_tools::Config::default()).await?;
        let tools = app.get(TOOLS).context("no plugin provides the tools")?;
        let sessions = app.get(SESSIONS).context("no plugin provides the sessions")?;
        let (agent, turn) = agent::agent(&app, &*sessions.get()?, agent)?;
        Ok(Self { app, agent, turn, tools })
    }

    /// Mounts the tools that work in `workspace`, an absolute path.
    pub(crate) async fn offer(&self, workspace: &Path) -> anyhow::Result<()> {
        mount(&self.app, dsh_tool_bash::plugin(), dsh_tool_bash::Config::new(workspace)).await?;
        mount(&self.app, dsh_tool_fs::plugin(), dsh_tool_fs::Config::new(workspace)).await?;
        Ok(())
    }

    /// Mounts the policy that ends calls by a deadline.
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
