//! The app in which something is made to happen: an agent with an open turn, and the plugins that run hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use cordis::{Disposed, Handle};
use dsh_agent::Agent;
use dsh_hooks::bridge::{HookFile, read_file};
use dsh_hooks::{Handler, HookRan, Point, RAN};
use dsh_session::SESSIONS;
use dsh_shell::{SHELL, Shell};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::app::mount;
use crate::exit::say;
use crate::hooks::dialect::Reading;
use crate::hooks::gate::Gate;
use crate::hooks::telling::Telling;
use crate::tools::agent;
use crate::tools::host::Host;
use crate::visible::visible;

/// Settings whose hooks run.
pub(crate) struct Loaded {
    pub(crate) file: PathBuf,
    pub(crate) hooks: Vec<Handler>,
}

/// The app, and the hooks that ran so far.
pub(crate) struct Stage {
    pub(crate) host: Host,
    gate: Arc<Gate>,
    /// Whether hooks run at all.
    runs_hooks: bool,
    workspace: PathBuf,
    ran: Arc<Ran>,
}

/// The hooks that have run, of each point.
struct Ran {
    runs: Mutex<Vec<HookRan>>,
    count: watch::Sender<usize>,
}

impl Stage {
    /// Without plugins, and with the gate closed: no hook runs yet. The hooks of `point` are told; with
    /// `runs_hooks` they will run.
    pub(crate) async fn set(
        workspace: &Path,
        point: Point,
        telling: Arc<Telling>,
        runs_hooks: bool,
    ) -> anyhow::Result<Self> {
        let host = Host::start_in("cli", Some(workspace)).await?;
        mount(&host.app, dsh_subprocess_local::plugin(), dsh_subprocess_local::Config::default()).await?;
        // A service of its own: what the plugins find is the gate before it.
        let behind = host.app.isolate(SHELL);
        mount(&behind, dsh_shell_local::plugin(), dsh_shell_local::Config::default()).await?;
        let shell: Handle<dyn Shell> = behind.get(SHELL).context("no plugin provides the shell")?;
        let gate = Gate::new(shell);
        let provided: Arc<dyn Shell> = gate.clone();
        host.app.provide(SHELL, provided)?;
        let ran = Arc::new(Ran { runs: Mutex::default(), count: watch::Sender::new(0) });
        let watching = (point, Arc::clone(&ran), telling);
        host.app.on(RAN).with(watching).run(|(point, ran, telling), hook: &HookRan| {
            if hook.handler.point == *point {
                telling.hook(hook);
            }
            ran.runs.lock().push(hook.clone());
            ran.count.send_modify(|count| *count += 1);
        })?;
        Ok(Self { host, gate, runs_hooks, workspace: workspace.to_owned(), ran })
    }

    /// Mounts the plugins, one for each file.
    pub(crate) async fn load(&self, reading: &Reading, files: &[Loaded]) -> anyhow::Result<()> {
        for loaded in files {
            reading.mount(&self.host.app, &loaded.file).await?;
        }
        Ok(())
    }

    /// From here on hooks run, if they are to.
    pub(crate) fn open(&self) {
        if self.runs_hooks {
            self.gate.open();
        }
    }

    /// Another agent, which works for the one that is there.
    pub(crate) fn child(&self) -> anyhow::Result<Agent> {
        let sessions = self.host.app.get(SESSIONS).context("no plugin provides the sessions")?;
        let (child, _turn) = agent::agent(&self.host.app, &*sessions.get()?, "child", Some(&self.workspace))?;
        let _ = self.host.agents.enter(self.host.agent.context(), &child)?;
        Ok(child)
    }

    /// The hooks of a point that have run.
    pub(crate) fn runs(&self, point: Point) -> Vec<HookRan> {
        self.ran.runs.lock().iter().filter(|ran| ran.handler.point == point).cloned().collect()
    }

    /// Waits until so many hooks of a point have run.
    pub(crate) async fn until(&self, point: Point, count: usize) {
        let mut counted = self.ran.count.subscribe();
        // The sender is held here.
        let _ = counted.wait_for(|_| self.runs(point).len() >= count).await;
    }

    /// Ends everything, running hooks included, and says what would not end.
    pub(crate) async fn stop(self) -> Vec<Disposed> {
        self.host.stop().await
    }
}

/// Reads what the plugin will read, and says which hooks of a point it leaves out.
pub(crate) fn load(reading: &Reading, file: PathBuf, point: Point) -> anyhow::Result<Loaded> {
    let shown = file.display();
    let text = read_file(&file).with_context(|| format!("cannot read the settings {shown}"))?;
    let parsed = HookFile::parse(&text, &reading.grammar())
        .with_context(|| format!("no hook of {shown} can run; `dsh hooks check` says more"))?;
    for left_out in parsed.left_out.iter().filter(|left_out| left_out.point == point) {
        say(format_args!("{}: {}", visible(&shown.to_string()), visible(&left_out.to_string())));
    }
    Ok(Loaded { hooks: parsed.handlers, file })
}
