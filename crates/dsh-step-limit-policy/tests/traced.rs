//! What is traced of turns that end at their limit. One test alone in its program: what others first do without a
//! subscriber, tracing may leave out later.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::num::NonZeroU64;
use std::sync::Arc;

use cordis::log::Recent;
use cordis::testing::TestApp;
use dsh_agent::testing::agent;
use dsh_agent::{Agent, PRE_STEP, PreStep, PreStepDecision, Target};
use dsh_llm::{ContentBlock, Message};
use dsh_session::Session;
use dsh_step_limit_policy::Config;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::layer::SubscriberExt;

/// Level, text and fields.
type Told = (&'static str, String, Vec<(&'static str, String)>);

/// What the policy has told.
fn told(recent: &Recent) -> Vec<Told> {
    let records = recent.records().into_iter();
    let ours = records.filter(|record| record.target.starts_with("dsh_step_limit_policy"));
    ours.map(|record| (record.level, record.message, record.fields)).collect()
}

async fn proposed(
    app: &TestApp,
    ada: &Agent,
    step: u64,
    messages: Vec<Arc<Message>>,
    cancellation: CancellationToken,
) -> PreStepDecision {
    let mut step = PreStep { agent: ada.clone(), messages, turn: 7, step, cancellation };
    let enter =
        async |(): &(), step: &mut PreStep| PreStepDecision::Enter { messages: step.messages.clone() };
    app.waterfall(PRE_STEP, &mut step, &(), enter).await.unwrap()
}

#[tokio::test]
async fn the_refused_step_is_a_warning_that_names_agent_turn_and_limit_and_nothing_else_is() {
    let recent = Recent::default();
    let _logged = tracing::subscriber::set_default(tracing_subscriber::registry().with(recent.layer()));
    let app = TestApp::new();
    let config = Config { max_steps: NonZeroU64::new(2).unwrap() };
    app.plugin(dsh_step_limit_policy::plugin(), config).unwrap().ready().await.unwrap();
    let (ada, _) = agent(&app, Session::detached("ada")).unwrap();
    let live = CancellationToken::new;

    for step in [1, 2] {
        assert_ne!(proposed(&app, &ada, step, vec![], live()).await, PreStepDecision::Reject);
    }
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(proposed(&app, &ada, 3, vec![], cancelled).await, PreStepDecision::Reject);
    assert_eq!(told(&recent), []);

    let fields = |more: Option<(&'static str, &str)>| {
        let named = [("agent", "ada"), ("turn", "7")].into_iter().chain(more);
        named.map(|(name, value)| (name, value.to_owned())).collect::<Vec<_>>()
    };
    let limit = || {
        let text = "a turn ends at its limit of steps: raise `maxSteps` of step-limit-policy, or send a message to have the \
                    agent go on";
        ("warn", text.to_owned(), fields(Some(("max_steps", "2"))))
    };
    assert_eq!(proposed(&app, &ada, 3, vec![], live()).await, PreStepDecision::Reject);
    assert_eq!(told(&recent), [limit()]);

    let again = Arc::new(Message::user(vec![ContentBlock::text("again")]));
    ada.inbox().append(Target::NextStep, again.clone()).unwrap();
    assert_eq!(proposed(&app, &ada, 3, vec![again.clone()], live()).await, PreStepDecision::Reject);
    let error =
        format!("message `{}` waits for agent `ada` already: give the second one an id of its own", again.id);
    let lost = "what was to be said in the step that the limit refused is lost: send it again";
    let lost = ("warn", lost.to_owned(), fields(Some(("error", &error))));
    assert_eq!(told(&recent), [limit(), limit(), lost]);
}
