//! The app that a replay runs on: the tools, one agent's scope, and the guard if there is one.

use std::path::Path;

use anyhow::Context as _;
use cordis::{App, Disposed, Fiber, Handle, Scope};
use dsh_tools::{CallRequest, TOOLS, ToolOutcome, ToolRuntime};
use tokio_util::sync::CancellationToken;

use crate::app::mount;
use crate::deny;
use crate::exit::say;
use crate::replay::plan::PlannedCall;
use crate::replay::report::Unloaded;
use crate::workbench::Workbench;

/// A running app with one agent.
pub(crate) struct Host {
    app: App,
    agent: Scope,
    tools: Handle<ToolRuntime>,
    guard: Option<Fiber>,
}

impl Host {
    /// Mounts the tools, and for the agent alone a guard that refuses those named in `denied`.
    pub(crate) async fn start(workbench: Workbench<'_>, denied: &[String]) -> anyhow::Result<Self> {
        let app = App::new()?;
        mount(&app, dsh_tools::plugin(), dsh_tools::Config::default()).await?;
        workbench.mount(&app).await?;
        let agent = app.scope()?;
        let guard = match denied {
            [] => None,
            tools => {
                Some(mount(agent.context(), deny::plugin(), deny::Config { tools: tools.to_vec() }).await?)
            }
        };
        let tools = app.get(TOOLS).context("no plugin provides the tools")?;
        Ok(Self { app, agent, tools, guard })
    }

    /// The names of the tools that a replay has.
    pub(crate) async fn offered() -> anyhow::Result<Vec<String>> {
        let host = Self::start(Workbench::new(Path::new("/")), &[]).await?;
        let tools = host.tools.get()?.list(Some(host.agent.key()));
        let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
        host.stop().await;
        Ok(names)
    }

    /// Makes one call in the agent's name.
    pub(crate) async fn call(
        &self,
        call: &PlannedCall,
        cancellation: &CancellationToken,
    ) -> anyhow::Result<ToolOutcome> {
        let request = CallRequest::new(&call.id, &call.tool, call.arguments.as_str())
            .scope(self.agent.key())
            .cancellation(cancellation);
        Ok(self.tools.get()?.execute(&self.app, request).await)
    }

    /// Unloads the guard, and tells by what the app says of itself which registrations are gone with it.
    pub(crate) async fn unload_guard(&mut self, after_calls: usize) -> Option<Unloaded> {
        let guard = self.guard.take()?;
        let before = self.registrations(&guard);
        let disposed = guard.dispose().await;
        let remaining = self.registrations(&guard);
        if !disposed.is_clean() {
            say(format_args!("not everything of `{}` ended: {disposed:?}", guard.name()));
        }
        let gone = |kind: &str| {
            let count = |labels: &[String]| labels.iter().filter(|label| label.starts_with(kind)).count();
            count(&before).saturating_sub(count(&remaining))
        };
        Some(Unloaded {
            plugin: guard.name().to_owned(),
            after_calls,
            guards: gone("tools.guard("),
            listeners: gone("ctx.on("),
            remaining,
        })
    }

    /// What a plugin has registered, by label.
    fn registrations(&self, plugin: &Fiber) -> Vec<String> {
        let inspection = self.app.inspect();
        let mut fibers = vec![&inspection.fiber];
        while let Some(fiber) = fibers.pop() {
            if fiber.uid == plugin.uid() {
                return fiber.effects.iter().map(|effect| effect.label.clone()).collect();
            }
            fibers.extend(fiber.effects.iter().filter_map(|effect| effect.fiber.as_deref()));
        }
        Vec::new()
    }

    /// Ends everything, and says what would not end.
    pub(crate) async fn stop(self) -> Vec<Disposed> {
        let agent = self.agent.close().await;
        vec![agent, self.app.shutdown().await]
    }
}
