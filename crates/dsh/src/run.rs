//! `dsh run`, which is also `dsh "task"`: an agent does a task.
//!
//! Read `task` (what is to be done), `beginning` (in which session and folder), `model` (who does it), `host` with `approve` and
//! `hooks` (what it is given), then `ending` (what came of it), and `progress` with `aside`, `lines` and `out` (what is told).
//!
//! **Architecture Invariant:** what goes wrong before the agent begins leaves no session behind.
//!
//! **Architecture Invariant:** standard output is written by a thread of its own. A reader that does not read keeps neither the
//! log from being closed nor a signal from being heard.

mod approve;
mod aside;
pub(crate) mod beginning;
mod ending;
pub(crate) mod hooks;
mod host;
mod lines;
pub(crate) mod model;
mod out;
mod progress;
mod task;

use std::io::{self, IsTerminal as _};
use std::num::NonZeroU64;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;
use cordis::{App, State};
use dsh_agent::AgentHandle;
use dsh_llm::{ContentBlock, Message};
use dsh_session::CancelCause;
use tokio_util::sync::CancellationToken;

use crate::app::{END_TIMEOUT, end_of, small_runtime};
use crate::cli::RunArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::home::home;
use crate::interruption::{Ending, SILENCE, Shutdown};
use crate::paint::Paint;
use crate::visible::{visible, visible_lines};

pub(crate) use aside::{Aside, aside};

use beginning::Beginning;
use ending::Outcome;
use host::{Host, Setting};
use lines::Lines;
use model::Model;
use out::Out;
use progress::Progress;

/// What is told while the agent works.
struct Telling {
    progress: Option<Arc<Progress>>,
    lines: Option<Arc<Lines>>,
    out: Arc<Out>,
    max_steps: Option<NonZeroU64>,
    start: Instant,
}

/// Why the agent was not left alone until it was done.
enum Cut {
    Signal(Ending),
    /// Nobody reads standard output any more.
    Unread,
}

/// What became of standard output.
enum Written {
    All,
    NotAll,
    /// Somebody did not want to wait for it.
    Unawaited(Ending),
}

pub(crate) fn run(args: &RunArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let task = task::of(&args.task)?;
    let hooks = args.hooks.as_deref().map(hooks::Hooks::read).transpose()?;
    let beginning =
        Beginning::of(&home()?.join("sessions"), args.resume.as_deref(), args.workspace.as_deref())?;
    let model = Model::chosen(args.model.as_deref(), beginning.model.as_ref())?;
    for note in beginning.note.iter().chain(&model.note) {
        aside(note);
    }
    let setting = Setting { beginning: &beginning, model: &model, hooks: hooks.as_ref(), args };
    let runtime = small_runtime()?;
    let ended = runtime.block_on(done(&task, setting, color));
    runtime.shutdown_timeout(END_TIMEOUT);
    ended
}

async fn done(task: &str, setting: Setting<'_>, color: ColorChoice) -> Result<Exit, Failure> {
    // Before anything else, so that they work during the start too.
    let shutdown = Shutdown::watch()?;
    let telling = Telling::new(&setting, color);
    let app = App::new()?;
    let ended = on(&app, task, setting, &telling, &shutdown).await;
    // What did not come to its end ends all the same, before the runtime does.
    stop(&app, &telling).await;
    if let Some(progress) = &telling.progress {
        progress.gone();
    }
    ended
}

async fn on(
    app: &App,
    task: &str,
    setting: Setting<'_>,
    telling: &Telling,
    shutdown: &Shutdown,
) -> Result<Exit, Failure> {
    let (beginning, model) = (setting.beginning, setting.model);
    let starting = async {
        let host = Host::start(app, setting, telling.progress.clone()).await?;
        let agent = host.agent(beginning, model).await?;
        Ok::<_, Failure>((host, agent))
    };
    let (host, agent) = tokio::select! {
        biased;
        started = starting => started?,
        ending = shutdown.asked() => return Ok(ending.exit()),
    };
    let first = agent.session().first_live_seq();
    telling.begin(&host, &agent, beginning, model)?;
    let cut = work(task, &agent, telling, shutdown).await?;
    let flushed = host.flush(&agent).await;
    let mut outcome = Outcome::of(&agent.session().events(), first);
    telling.done(&outcome);
    agent.dispose().await;
    stop(app, telling).await;
    if let Err(error) = flushed {
        outcome.unstored(format!("{error:#}"));
    }
    let exit = match &cut {
        Some(Cut::Signal(ending)) => ending.exit(),
        Some(Cut::Unread) => Exit::Failed,
        None => outcome.exit(),
    };
    telling.result(&outcome, exit, &agent);
    // Who has asked for the end waits no longer than the signals let them.
    let (is_told, is_unread) = (matches!(cut, Some(Cut::Signal(_))), matches!(cut, Some(Cut::Unread)));
    let written = telling.written((!is_told).then_some(shutdown), is_unread).await;
    // Behind the text, as the reference does it.
    telling.end(&outcome, exit, cut.is_none(), &agent);
    Ok(match written {
        _ if is_told => exit,
        Written::All => exit,
        Written::NotAll => Exit::Failed,
        Written::Unawaited(ending) => ending.exit(),
    })
}

/// Ends everything, once. What is said of slow ends is for people.
async fn stop(app: &App, telling: &Telling) {
    if app.fiber().state() == State::Disposed {
        return;
    }
    let unsaid = CancellationToken::new();
    if telling.progress.is_none() {
        unsaid.cancel();
    }
    end_of(async { vec![app.shutdown().await] }, &unsaid).await;
}

/// Has the agent work until it is done, or somebody wants it to end.
async fn work(
    task: &str,
    agent: &AgentHandle,
    telling: &Telling,
    shutdown: &Shutdown,
) -> Result<Option<Cut>, Failure> {
    let asked = async {
        // What plugins have it do first may take its time too.
        agent.when_idle().await;
        agent.followup(Arc::new(Message::user(vec![ContentBlock::text(task)])))?;
        agent.when_idle().await;
        Ok(())
    };
    let cut = tokio::select! {
        biased;
        ending = shutdown.asked() => Cut::Signal(ending),
        () = telling.out.failed() => Cut::Unread,
        done = asked => return done.map(|()| None),
    };
    let cause = match cut {
        Cut::Signal(Ending::Interrupt) => CancelCause::User {},
        Cut::Signal(Ending::Terminate | Ending::HangUp) | Cut::Unread => CancelCause::Disposed {},
    };
    if let Err(error) = agent.cancel(cause) {
        // What it does is cancelled all the same, and closed.
        aside(visible(&cordis::chain(&error)));
    }
    let mut idle = pin!(agent.when_idle());
    if tokio::time::timeout(SILENCE, &mut idle).await.is_err() {
        if let Some(progress) = &telling.progress {
            progress.stopping();
        }
        idle.await;
    }
    Ok(Some(cut))
}

impl Telling {
    fn new(setting: &Setting<'_>, color: ColorChoice) -> Self {
        let is_mixed = setting.args.json && io::stdout().is_terminal();
        let progress = (io::stderr().is_terminal() && !is_mixed)
            .then(|| Arc::new(Progress::start(Paint::for_stream(color, &io::stderr()))));
        let out = Arc::new(Out::start());
        let lines = setting.args.json.then(|| Arc::new(Lines::new(Arc::clone(&out))));
        Self { progress, lines, out, max_steps: setting.args.max_steps, start: Instant::now() }
    }

    fn begin(
        &self,
        host: &Host<'_>,
        agent: &AgentHandle,
        beginning: &Beginning,
        model: &Model,
    ) -> Result<(), Failure> {
        if let Some(lines) = &self.lines {
            lines.begin(agent, beginning, model);
            // What closes a log that was cut off, and what plugins say first.
            let events = agent.session().events();
            events.from(beginning.stored_events).for_each(|event| lines.event(&event));
            host.watch(agent, Arc::clone(lines), |lines, event| lines.event(event))?;
        }
        if let Some(progress) = &self.progress {
            host.watch(agent, Arc::clone(progress), |progress, event| progress.event(event))?;
        }
        Ok(())
    }

    /// The agent is done. What is for people is told at once, however long the rest takes to end.
    fn done(&self, outcome: &Outcome) {
        if let Some(progress) = &self.progress {
            progress.end(outcome, self.start.elapsed());
        }
        if self.lines.is_none() {
            // A terminal takes some characters for commands; other readers get what was said.
            let mut text = outcome.text.clone();
            if io::stdout().is_terminal() {
                text = visible_lines(&text);
            }
            text.push('\n');
            self.out.put(text);
        }
    }

    fn result(&self, outcome: &Outcome, exit: Exit, agent: &AgentHandle) {
        if let Some(lines) = &self.lines {
            lines.end(outcome, exit, agent, self.start.elapsed());
        }
    }

    fn end(&self, outcome: &Outcome, exit: Exit, is_whole: bool, agent: &AgentHandle) {
        if let Some(text) = outcome.failure().filter(|_| is_whole) {
            aside(visible(&text));
        }
        let is_for_people = self.progress.is_some();
        if let Some(text) = outcome.hint(self.max_steps, is_for_people).filter(|_| is_whole) {
            aside(text);
        }
        if is_for_people && exit != Exit::Fine {
            let id = visible(agent.id().as_str());
            aside(format_args!("the session is kept; to go on: dsh run --resume {id} \"…\""));
        }
    }

    /// Waits until all is written, or somebody does not want to wait. Who reads no more is told nothing, unless the task was
    /// cancelled for it.
    async fn written(&self, shutdown: Option<&Shutdown>, is_cut: bool) -> Written {
        let asked = async {
            match shutdown {
                Some(shutdown) => shutdown.asked().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.out.end() => {}
            ending = asked => return Written::Unawaited(ending),
        }
        let Some(error) = self.out.failure() else { return Written::All };
        match (error.kind(), is_cut) {
            (io::ErrorKind::BrokenPipe, false) => {}
            (io::ErrorKind::BrokenPipe, true) => {
                aside("nobody reads the output any more: the task was cancelled")
            }
            _ => aside(format_args!("{UNWRITTEN}: {error}")),
        }
        Written::NotAll
    }
}

impl Host<'_> {
    /// Makes what was added durable.
    async fn flush(&self, agent: &AgentHandle) -> anyhow::Result<()> {
        let sessions = self.sessions.get().map_err(|error| anyhow!(error))?;
        sessions.flush(agent.session()).await.context("the session could not be stored")?;
        Ok(())
    }
}
