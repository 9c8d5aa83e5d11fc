//! What the log says of retries.

use dsh_agent::Recovery;
use dsh_llm::{LlmFailure, code};
use dsh_llm_retry::{LlmRetry, LlmRetryStarted, policy_key};
use dsh_session::{APPENDING, Appending, Payload, is_known};

use crate::fixture::{Fixture, exact, transport, without_end};

// spec: agent-loop/S91
#[tokio::test(start_paused = true)]
async fn a_retry_is_logged_before_the_wait_and_its_beginning_after_it() {
    let fixture = Fixture::new().await;
    let (error, policy) = (fixture.error(&exact(5), transport()), exact(5));
    let before = fixture.session.events().len();
    {
        let recovery = fixture.fails(error);
        tokio::pin!(recovery);
        tokio::select! {
            biased;
            _ = &mut recovery => panic!("it did not wait"),
            () = fixture.until_scheduled(1) => {}
        }
        assert_eq!(fixture.kinds_from(before), ["llm/retry"]);
        assert_eq!(recovery.await.unwrap(), Recovery::Retry);
    }
    assert_eq!(fixture.kinds_from(before), ["llm/retry", "llm/retry-started"]);
    let (retry, started) = (&fixture.retries()[0], &fixture.started()[0]);
    let id = retry.retry_id.clone();
    assert_eq!(started, &LlmRetryStarted { retry_id: id.clone(), turn: 1, step: 1, retry: 1 });
    let texts: Vec<_> =
        fixture.session.events().from(before).map(|event| event.data().get().to_owned()).collect();
    let failure = r#"{"message":"the connection was reset","code":"TRANSPORT"}"#;
    let key = policy_key(&policy).replace('"', "\\\"");
    assert_eq!(
        texts,
        [
            format!(
                r#"{{"retryId":"{id}","turn":1,"step":1,"provider":"deepseek-official","mode":"normal","policyKey":"{key}","retry":1,"maxRetries":5,"delayMs":500,"failure":{failure}}}"#
            ),
            format!(r#"{{"retryId":"{id}","turn":1,"step":1,"retry":1}}"#),
        ]
    );
    let marks = fixture
        .session
        .events()
        .from(before)
        .any(|event| event.surface().is_some() || event.sources().is_some());
    assert!(!marks);
    assert_eq!(fixture.session.messages().len(), 0);
}

// spec: agent-loop/S91
#[tokio::test(start_paused = true)]
async fn without_an_end_no_number_is_logged() {
    let fixture = Fixture::new().await;
    fixture.timed(&without_end(), transport()).await;
    let text = fixture.session.events().iter().find(|event| event.kind() == LlmRetry::TYPE).unwrap();
    assert!(
        text.data()
            .get()
            .contains(r#""mode":"always","policyKey":"[\"always\",500,10000,0]","retry":1,"delayMs":500,"#)
    );
}

// spec: agent-loop/S91
#[tokio::test(start_paused = true)]
async fn the_retries_of_a_step_have_one_id_and_those_of_the_next_another() {
    let fixture = Fixture::new().await;
    for code in [code::SERVER, code::TIMEOUT] {
        fixture.timed(&exact(5), LlmFailure::new(code, "failed")).await;
    }
    fixture.next_step(1, 1);
    let mut error = fixture.error(&exact(5), transport());
    error.step = 2;
    fixture.fails(error).await.unwrap();
    let retries = fixture.retries();
    let ids: Vec<_> = retries.iter().map(|it| it.retry_id.as_str()).collect();
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
    assert_eq!(ids, fixture.started().iter().map(|it| it.retry_id.as_str()).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| id.len() == 36), "{ids:?}");
}

// spec: agent-loop/S91
#[tokio::test(start_paused = true)]
async fn a_retry_that_may_not_be_logged_is_not_made() {
    let fixture = Fixture::new().await;
    let refuse = |appending: &Appending| match appending.event.kind() {
        "llm/retry" => Err("the disk is full".into()),
        _ => Ok(()),
    };
    fixture.app.on(APPENDING).global().run(refuse).unwrap();
    let refused = fixture.fails(fixture.error(&exact(5), transport())).await.unwrap_err();
    assert!(refused.to_string().contains("llm/retry"), "{refused}");
    assert_eq!(fixture.retries(), []);
}

#[test]
fn readers_know_both_events() {
    assert!(is_known(LlmRetry::TYPE));
    assert!(is_known(LlmRetryStarted::TYPE));
}
