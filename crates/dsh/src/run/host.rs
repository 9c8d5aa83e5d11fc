//! The app that a task is done on: what the reference's base composition has, as far as it is here.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Context as _;
use cordis::{App, Handle, Next};
use dsh_agent::{AGENTS, AgentHandle, AgentOptions, Agents, CreateAgent, ResumeAgent};
use dsh_approval::{ApprovalOutcome, ApprovalPolicy, ApprovalRequest, REQUEST};
use dsh_session::{CreateSession, EVENT, Event, SESSIONS, SessionEvent, SessionStore};
use dsh_tools::TOOLS;

use super::approve;
use super::aside::aside;
use super::beginning::Beginning;
use super::hooks::Hooks;
use super::model::Model;
use super::progress::Progress;
use crate::app::mount;
use crate::cli::{Approval, RunArgs};
use crate::visible::visible;
use crate::workbench::Workbench;

/// Who agents are here.
const PERSONA: &str = "\
You are a software engineer who does a task for a user, on the user's computer and with the user's rights. You are the model \
{{model}}, and you work in the folder {{cwd}}.

Look before you act: read what the task is about, and find out with your tools what you do not know instead of guessing it. \
Change only what the task asks for, in the way that the files around it are written, and leave what others have made as it is. \
Check what you have done, by running it if it can be run.

Nobody can answer a question while you work. Where the task leaves something open, choose what the user would most likely \
want, and say what you chose. Do not do what cannot be undone unless the task asks for it.

The user reads your last message and nothing else. Say in it, in few words, what you found or did, what you could not do, and \
what is left to do.";

/// How long titles are. Source: the reference's base composition.
const TITLES: dsh_session_title::Config = dsh_session_title::Config {
    fallback_max_words: at_least_1(5),
    fallback_max_bytes: at_least_1(40),
    max_title_bytes: at_least_1(80),
};

/// What a task is done with.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) beginning: &'a Beginning,
    pub(super) model: &'a Model,
    pub(super) hooks: Option<&'a Hooks>,
    pub(super) args: &'a RunArgs,
}

/// A running app without agents.
pub(super) struct Host<'a> {
    app: &'a App,
    agents: Handle<Agents>,
    pub(super) sessions: Handle<SessionStore>,
}

impl<'a> Host<'a> {
    /// Mounts everything. Questions at the terminal have the live line stand aside.
    pub(super) async fn start(
        app: &'a App,
        setting: Setting<'_>,
        progress: Option<Arc<Progress>>,
    ) -> anyhow::Result<Self> {
        let Setting { beginning, model, hooks, args } = setting;
        mount(app, dsh_session::plugin(), ()).await?;
        let mut sessions = dsh_session_jsonl::Config::new(&beginning.root);
        sessions.compression = beginning.compression;
        mount(app, dsh_session_jsonl::plugin(), sessions).await?;
        mount(app, dsh_session_title::plugin(), TITLES).await?;
        mount(app, dsh_agent::plugin(), ()).await?;
        let default =
            dsh_default_model::Config { provider: model.provider.clone(), model: model.name.clone() };
        mount(app, dsh_default_model::plugin(), default).await?;
        mount(app, dsh_llm::plugin(), ()).await?;
        match model.is_scripted() {
            true => mount(app, dsh_llm_replay::plugin(), dsh_llm_replay::Config::default()).await?,
            false => mount(app, dsh_llm_deepseek::plugin(), dsh_llm_deepseek::Config::default()).await?,
        };
        mount(app, dsh_llm_retry::plugin(), dsh_llm_retry::Config::default()).await?;
        let prompt = dsh_prompt::Config { persona: PERSONA.to_owned(), ..dsh_prompt::Config::default() };
        mount(app, dsh_prompt::plugin(), prompt).await?;
        mount(app, dsh_tools::plugin(), dsh_tools::Config::default()).await?;
        mount(app, dsh_token_meter::plugin(), dsh_token_meter::Config::default()).await?;
        mount(app, dsh_timeout_policy::plugin(), dsh_timeout_policy::Config::default()).await?;
        mount(app, dsh_checkpoint_policy::plugin(), ()).await?;
        mount(app, dsh_repeat_policy::plugin(), dsh_repeat_policy::Config::default()).await?;
        Workbench::new(&beginning.workspace).mount(app).await?;
        approvals(app, args.approve, progress).await?;
        if let Some(max_steps) = args.max_steps {
            mount(app, dsh_step_limit_policy::plugin(), dsh_step_limit_policy::Config { max_steps }).await?;
        }
        if let Some(hooks) = hooks {
            hooks.mount(app).await?;
        }
        mount(app, dsh_agent_loop::plugin(), dsh_agent_loop::Config::default()).await?;
        // What plugins mount themselves is on board before the first request says what there is.
        app.quiet().await;
        if let Some(hooks) = hooks {
            let tools = app.get(TOOLS).context("no plugin provides the tools")?;
            let names: Vec<_> = tools.get()?.list(None).iter().map(|tool| tool.name().to_owned()).collect();
            for text in hooks.for_nothing(&names) {
                aside(format_args!("{}: {}", visible(&hooks.file.display().to_string()), visible(&text)));
            }
        }
        let agents = app.get(AGENTS).context("no plugin provides the agents")?;
        let sessions = app.get(SESSIONS).context("no plugin provides the sessions")?;
        Ok(Self { app, agents, sessions })
    }

    /// The agent that does the task.
    pub(super) async fn agent(&self, beginning: &Beginning, model: &Model) -> anyhow::Result<AgentHandle> {
        let (provider, name) = (Some(model.provider.clone()), Some(model.name.clone()));
        let options = AgentOptions { provider, model: name, ..AgentOptions::default() };
        let agents = self.agents.get()?.clone();
        let made = if beginning.is_stored {
            agents.resume(self.app, ResumeAgent::new(&beginning.id).options(options)).await
        } else {
            let session = CreateSession {
                id: Some(beginning.id.clone()),
                cwd: Some(beginning.cwd.clone()),
                ..CreateSession::default()
            };
            agents.create(self.app, CreateAgent::with_session(session).options(options)).await
        };
        Ok(made?)
    }

    /// Has `told` hear of what is added to the log of an agent from now on.
    pub(super) fn watch<T: Send + Sync + 'static>(
        &self,
        agent: &AgentHandle,
        teller: Arc<T>,
        told: fn(&T, &Arc<Event>),
    ) -> anyhow::Result<()> {
        let watching = (agent.id().as_str().to_owned(), teller);
        self.app.on(EVENT).with(watching).run(move |(id, teller), added: &SessionEvent| {
            if added.session.id() == *id {
                told(teller, &added.event);
            }
        })?;
        Ok(())
    }
}

const fn at_least_1(number: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(number - 1)
}

async fn approvals(app: &App, asked: Approval, progress: Option<Arc<Progress>>) -> anyhow::Result<()> {
    let policy = match asked {
        Approval::Ask | Approval::Always => ApprovalPolicy::Ask,
        Approval::Never => ApprovalPolicy::Never,
    };
    mount(app, dsh_approval::plugin(), dsh_approval::Config { policy }).await?;
    if policy == ApprovalPolicy::Never {
        return Ok(());
    }
    mount(app, dsh_approval_terminal::plugin(), dsh_approval_terminal::Config::default()).await?;
    if let Some(progress) = progress {
        app.on(REQUEST).prepend().with(progress).run(stand_aside)?;
    }
    if asked == Approval::Always {
        approve::always(app)?;
    }
    Ok(())
}

async fn stand_aside(
    progress: &Arc<Progress>,
    request: &mut ApprovalRequest,
    next: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    let _hidden = progress.hide();
    next.run(request).await
}
