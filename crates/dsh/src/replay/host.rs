//! The app that a replay runs on: the tools, one agent's scope, and the guard if there is one.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cordis::{App, Disposed, Fiber, Handle, Plugin, Scope, State};
use dsh_tools::{CallRequest, TOOLS, ToolOutcome, ToolRuntime};
use tokio_util::sync::CancellationToken;

use crate::deny;
use crate::exit::say;
use crate::replay::plan::PlannedCall;
use crate::replay::report::Unloaded;

/// A running app with one agent.
pub(crate) struct Host {
    app: App,
    agent: Scope,
    tools: Handle<ToolRuntime>,
    guard: Option<Fiber>,
}

impl Host {
    /// Mounts the tools on `workspace`, which the agent knows as `shown_as`, and for that agent alone a guard that
    /// refuses the tools named in `denied`.
    pub(crate) async fn start(
        workspace: &Path,
        shown_as: Option<PathBuf>,
        denied: &[String],
    ) -> anyhow::Result<Self> {
        let app = App::new()?;
        let bash =
            dsh_tool_bash::Config { shown_as: shown_as.clone(), ..dsh_tool_bash::Config::new(workspace) };
        let fs = dsh_tool_fs::Config { shown_as, ..dsh_tool_fs::Config::new(workspace) };
        mount(&app, dsh_tools::plugin(), dsh_tools::Config::default()).await?;
        mount(&app, dsh_tool_bash::plugin(), bash).await?;
        mount(&app, dsh_tool_fs::plugin(), fs).await?;
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
        let host = Self::start(Path::new("/"), None, &[]).await?;
        let specs = host.tools.get()?.specs(Some(host.agent.key()));
        let names = specs.into_iter().map(|spec| spec.name.to_string()).collect();
        host.stop().await;
        Ok(names)
    }

    /// Makes one call in the agent's name.
    pub(crate) async fn call(
        &self,
        call: &PlannedCall,
        cancellation: &CancellationToken,
    ) -> anyhow::Result<ToolOutcome> {
        let request = CallRequest {
            id: call.id.clone(),
            name: call.tool.clone(),
            arguments: call.arguments.clone(),
            scope: Some(self.agent.key().clone()),
            cancellation: cancellation.clone(),
        };
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

async fn mount<P: Plugin>(ctx: &cordis::Context, plugin: P, config: P::Config) -> anyhow::Result<Fiber> {
    let fiber = ctx.plugin(plugin, config)?;
    let name = fiber.name().to_owned();
    match fiber.ready().await.with_context(|| format!("the plugin `{name}` did not start"))? {
        State::Active => Ok(fiber),
        state => bail!("the plugin `{name}` did not start: it is {state:?}"),
    }
}
