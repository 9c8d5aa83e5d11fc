//! How a reminder reaches the model.

use cordis::Next;
use dsh_llm::{ContentBlock, Message, PluginForm, Role, Source};
use dsh_tools::{POST_EXECUTE, PostDecision, Settled};
use serde_json::json;

use crate::fixture::{Fixture, texts};

/// A listener behind the policy that decides this, with a message of its own.
fn decides(fixture: &Fixture, decision: PostDecision) {
    let decision = decision.with_context(Message::user(vec![ContentBlock::text("theirs")]));
    fixture
        .app
        .on(POST_EXECUTE)
        .with(decision)
        .run(async |decision: &PostDecision, _: &mut Settled, _: Next<'_, Settled, PostDecision>| {
            decision.clone()
        })
        .unwrap();
}

/// Where the reminder is among the messages: `ours` for it, and the texts of others.
fn order(outcome: &dsh_tools::ToolOutcome) -> Vec<String> {
    let ours = |text: String| if text.starts_with("You have just made") { "ours".to_owned() } else { text };
    texts(outcome).into_iter().map(ours).collect()
}

// spec: timeout-jobs-hooks/J18
#[tokio::test]
async fn a_reminder_is_a_message_of_the_user_with_a_notice_of_the_plugin_as_its_source() {
    let fixture = Fixture::at(&[2]).await;
    fixture.call("look", "{}").await;
    let second = fixture.call("look", "{}").await;
    let [message] = second.additional_contexts() else { panic!("one message: {second:?}") };
    assert_eq!(message.role, Role::User);
    assert_eq!(
        message.source,
        Source::Plugin {
            plugin: "repeat-tool-reminder".to_owned(),
            form: Some(PluginForm::Notice),
            sections: None,
            summary: Some("look × 2".to_owned()),
        }
    );
    assert_eq!((second.text().as_str(), second.value()), ("nothing new", Some(&json!("nothing new"))));
}

// spec: timeout-jobs-hooks/J18
#[tokio::test]
async fn it_comes_first_and_what_others_replaced_stays() {
    for (decision, text) in [
        (PostDecision::accept(), "nothing new"),
        (PostDecision::replace_text("other text"), "other text"),
        (PostDecision::replace_value(json!("other value")), "other value"),
    ] {
        let fixture = Fixture::at(&[2]).await;
        decides(&fixture, decision);
        assert_eq!(order(&fixture.call("look", "{}").await), ["theirs"]);
        let second = fixture.call("look", "{}").await;
        assert_eq!((second.text().as_str(), second.is_error()), (text, false));
        assert_eq!(order(&second), ["ours", "theirs"]);
    }
}

// spec: timeout-jobs-hooks/J18
#[tokio::test]
async fn it_comes_first_on_a_result_that_others_blocked() {
    let fixture = Fixture::at(&[2]).await;
    decides(&fixture, PostDecision::block("not for you"));
    fixture.call("look", "{}").await;
    let second = fixture.call("look", "{}").await;
    assert_eq!((second.text().as_str(), second.is_error()), ("not for you", true));
    assert_eq!(order(&second), ["ours", "theirs"]);
}
