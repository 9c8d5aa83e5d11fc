//! What the model is told in the last step that a turn may have.

use cordis::Next;
use dsh_agent::{Agent, PRE_STEP, PreStep, PreStepDecision, TURN_STOPPING, TurnStopping};
use dsh_llm::{Message, PluginForm, Role, Source};

use crate::fixture::{BLOCKED, COMPLETED, Fixture, asked, conversation, ends, said};
use crate::turns::Answer::{Calls, CallsWhile, Done};

fn told(agent: &Agent) -> Vec<Message> {
    let messages = agent.session().messages();
    let ours = messages.iter().filter(|message| matches!(message.source, Source::Plugin { .. }));
    ours.map(|message| Message::clone(message)).collect()
}

#[tokio::test]
async fn it_is_told_in_a_notice_of_the_plugin_what_the_limit_is_and_what_to_do() {
    for (max_steps, named) in [(1, "1 step"), (2, "2 steps")] {
        let fixture = Fixture::limited(max_steps).await;
        let ada = fixture.agent("ada", []);
        asked(&ada, "hello").await;
        let [message] = told(&ada).try_into().unwrap();
        assert_eq!(message.role, Role::User);
        assert_eq!(
            message.source,
            Source::Plugin {
                plugin: "step-limit-policy".to_owned(),
                form: Some(PluginForm::Notice),
                sections: None,
                summary: Some(format!("the last of {named}")),
            }
        );
        assert_eq!(
            message.text(),
            format!(
                "This is the last step of this turn, which has a limit of {named}. Tools that you call now still run, but \
                 you will not see what they give before the next turn. So answer now: say what is done, what you found, \
                 and what is left to do. The limit is for this turn only; it begins anew with the next one."
            )
        );
    }
}

#[tokio::test]
async fn it_comes_after_what_the_user_says() {
    let fixture = Fixture::limited(2).await;
    let steers = CallsWhile(Box::new(|agent| agent.steer(said("faster")).unwrap()));
    let ada = fixture.agent("ada", [steers, Done]);
    asked(&ada, "hello").await;
    assert_eq!(conversation(&ada), ["hello", "calls", "faster", "…", "done"]);
}

async fn silences((): &(), step: &mut PreStep, next: Next<'_, PreStep, PreStepDecision>) -> PreStepDecision {
    step.messages.clear();
    next.run(step).await
}

#[tokio::test]
async fn nothing_is_told_where_a_step_would_not_begin() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", [Done]);
    ada.context().on(PRE_STEP).with(()).run(silences).unwrap();
    asked(&ada, "hello").await;
    assert!(conversation(&ada).is_empty());
    assert_eq!(ends(&ada), [COMPLETED]);
}

#[tokio::test]
async fn nothing_is_told_where_nothing_is_left_of_what_woke_the_agent() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", []);
    ada.followup(said("hello")).unwrap();
    ada.inbox().clear().unwrap();
    ada.when_idle().await;
    assert!(conversation(&ada).is_empty());
    assert_eq!(ends(&ada), [COMPLETED]);
}

async fn silences_what_is_late(
    (): &(),
    step: &mut PreStep,
    next: Next<'_, PreStep, PreStepDecision>,
) -> PreStepDecision {
    step.messages.retain(|message| message.text() != "late");
    next.run(step).await
}

#[tokio::test]
async fn nothing_is_told_where_the_model_is_done_and_what_came_late_is_taken_out() {
    let fixture = Fixture::limited(2).await;
    let ada = fixture.agent("ada", [Done]);
    let late = ada.context().on(TURN_STOPPING).once();
    late.run(async |stopping: &TurnStopping| {
        stopping.agent.inject(said("late"))?;
        Ok(None)
    })
    .unwrap();
    ada.context().on(PRE_STEP).with(()).run(silences_what_is_late).unwrap();
    asked(&ada, "hello").await;
    assert_eq!(conversation(&ada), ["hello", "done"]);
    assert_eq!(ends(&ada), [COMPLETED]);
}

async fn rejects((): &(), _: &mut PreStep, _: Next<'_, PreStep, PreStepDecision>) -> PreStepDecision {
    PreStepDecision::Reject
}

#[tokio::test]
async fn what_another_listener_refuses_stays_refused() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", [Calls]);
    ada.context().on(PRE_STEP).with(()).run(rejects).unwrap();
    asked(&ada, "hello").await;
    assert!(conversation(&ada).is_empty());
    assert_eq!(ends(&ada), [BLOCKED]);
}
