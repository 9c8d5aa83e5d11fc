//! What an agent is told when a job has ended.

use dsh_llm::{PluginForm, Role, Source};

use crate::fixture::{Fixture, Start, WOKEN, completed, sent, ways};

// spec: timeout-jobs-hooks/J50, timeout-jobs-hooks/J51
#[tokio::test]
async fn the_owner_is_told_once_by_a_message_of_the_plugin() {
    let fixture = Fixture::new().await;
    fixture.end(fixture.stream(), completed("exit code: 3")).await;
    let messages = fixture.inbox.take();
    assert_eq!(messages.len(), 1);
    let message = &messages[0].message;
    assert_eq!(
        message.text(),
        "Background job bash-1 (bash: echo hi) has ended [status: completed, exit code: 3]. \
         Call job_output to read what it said."
    );
    let source = Source::Plugin {
        plugin: "tool-jobs".to_owned(),
        form: Some(PluginForm::Notice),
        sections: None,
        summary: Some("bash echo hi [status: completed, exit code: 3]".to_owned()),
    };
    assert_eq!((message.role, &message.source), (Role::User, &source));
}

// spec: timeout-jobs-hooks/J31, timeout-jobs-hooks/J50
#[tokio::test]
async fn work_that_breaks_is_told_as_failed() {
    let fixture = Fixture::new().await;
    fixture.finish(fixture.stream(), Err("no luck".into())).await;
    let texts = sent(&fixture.inbox);
    assert!(texts.len() == 1 && texts[0].0.contains("has ended [status: failed, no luck]"), "{texts:?}");
}

// spec: timeout-jobs-hooks/J51
#[tokio::test]
async fn a_notice_is_no_longer_than_what_is_shown_of_the_job() {
    let fixture = Fixture::new().await;
    for (limit, expected) in [
        (66, "Background job bash-1 (bash: ec\n[notice truncated]\nSee job_output."),
        (37, "Background job bash-2\nSee job_output."),
        (20, "Back\nSee job_output."),
        (8, "_output."),
    ] {
        let work = fixture.start(Start { limit: Some(limit), ..Start::of(&fixture.ada) });
        fixture.end(work, completed("exit code: 0")).await;
        let texts: Vec<_> = sent(&fixture.inbox).into_iter().map(|(text, ..)| text).collect();
        assert_eq!(texts, [expected], "{limit}");
    }
}

// spec: timeout-jobs-hooks/J54
#[tokio::test]
async fn of_two_mounts_the_one_in_the_scope_of_the_owner_tells() {
    let fixture = Fixture::bare().await;
    let (ben, inbox) = fixture.agent("ben");
    fixture.mount(fixture.ada.context(), Default::default()).await;
    fixture.mount(ben.context(), Default::default()).await;
    fixture.end(fixture.stream(), completed("exit code: 0")).await;
    assert_eq!((ways(&fixture.inbox), ways(&inbox)), (vec![WOKEN], vec![]));
    fixture.end(fixture.start(Start::of(&ben)), completed("exit code: 0")).await;
    assert_eq!((ways(&fixture.inbox), ways(&inbox)), (vec![], vec![WOKEN]));
}
