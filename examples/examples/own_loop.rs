//! The loop is a plugin, and this is another one: its agents repeat what they are told. Whoever asks for agents does not notice.

use std::sync::Arc;

use cordis::{App, BoxError, BoxFuture, Context, Handle, define};
use dsh_agent::{
    AGENTS, Activity, Agent, AgentError, AgentFactory, AgentHandle, AgentLoop, AgentParts, Agents,
    CreateAgent, LoopDriver, Pending, Target,
};
use dsh_llm::{ContentBlock, Message};
use dsh_session::Session;

/// What an agent does when it is woken.
struct Echo;

impl AgentLoop for Echo {
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            for turn in 1.. {
                let Ok(said) = activity.agent().inbox().claim(Target::NextTurn, turn) else { return };
                said.iter().for_each(|message| println!("turn {turn}: {}!", message.text()));
                if !activity.go_on() {
                    return;
                }
            }
        })
    }
}

/// What makes such agents, and where they are tasks.
struct Echoes(Agents, Context);

impl AgentFactory for Echoes {
    fn create(
        self: Arc<Self>,
        owner: Context,
        request: CreateAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>> {
        Box::pin(async move {
            let CreateAgent { session, options, .. } = request;
            let session = Session::detached(session.id.unwrap_or_default());
            let driver = Arc::new(LoopDriver::new(self.1.clone(), Echo));
            let (scope, pending) = (owner.scope()?, Pending::default());
            let agent = Agent::new(AgentParts { session, scope, pending, driver, options });
            let live = self.0.enter(&owner, &agent)?;
            let ends = agent.clone();
            let end = owner.effect("echo", async move || {
                ends.end().await;
                live.detach();
            })?;
            Ok(AgentHandle::new(agent, end))
        })
    }
}

async fn echoes(ctx: &Context, agents: Handle<Agents>, _config: &()) -> Result<(), BoxError> {
    let agents = agents.get()?.clone();
    agents.clone().serve(ctx, Arc::new(Echoes(agents, ctx.clone())))?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_agent::plugin(), ())?;
    let own = app.plugin(define("echo-loop").needs(AGENTS).run(echoes), ())?;
    own.ready().await?;

    let agents = app.get(AGENTS).ok_or("no agents")?.get()?.clone();
    let agent = agents.create(&app, CreateAgent::new("parrot")).await?;
    agent.followup(Arc::new(Message::user(vec![ContentBlock::text("hello")])))?;
    agent.followup(Arc::new(Message::user(vec![ContentBlock::text("goodbye")])))?;
    agent.when_idle().await;
    own.dispose().await;
    if let Err(error) = agents.create(&app, CreateAgent::new("nobody")).await {
        println!("{error}");
    }
    Ok(())
}
