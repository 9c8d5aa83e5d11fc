//! What ends a wait before its time.

use dsh_agent::Recovery;
use dsh_llm::code;
use tokio::time::Instant;

use crate::fixture::{Answer, Fixture, exact, transport, without_end};

// spec: agent-loop/S91
#[tokio::test(start_paused = true)]
async fn cancellation_of_the_turn_ends_the_wait_at_once() {
    for policy in [exact(5), without_end()] {
        let fixture = Fixture::new().await;
        let start = Instant::now();
        let cancel = async {
            fixture.until_scheduled(1).await;
            fixture.cancellation.cancel();
        };
        let (recovered, ()) = tokio::join!(fixture.fails(fixture.error(&policy, transport())), cancel);
        assert_eq!(recovered.unwrap(), Recovery::None);
        assert_eq!(start.elapsed().as_millis(), 0);
        assert_eq!(fixture.started(), []);
    }
}

// spec: agent-loop/S91
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_already_is_not_waited_in() {
    let fixture = Fixture::new().await;
    fixture.cancellation.cancel();
    assert_eq!(fixture.timed(&exact(5), transport()).await, (Recovery::None, 0));
    assert_eq!(fixture.retries(), []);
}

// spec: agent-loop/S91, design/P1
#[tokio::test(start_paused = true)]
async fn unloading_ends_the_wait_and_leaves_the_failure_to_the_others() {
    let fixture = Fixture::new().await;
    let asked = fixture.below(Answer::HandOn);
    let start = Instant::now();
    let unload = async {
        fixture.until_scheduled(1).await;
        fixture.retry.dispose().await
    };
    let (recovered, disposed) = tokio::join!(fixture.fails(fixture.error(&exact(5), transport())), unload);
    assert_eq!(recovered.unwrap(), Recovery::None);
    assert!(disposed.still_running.is_empty() && disposed.leases.is_empty(), "{disposed:?}");
    assert_eq!(*asked.lock(), [code::TRANSPORT]);
    assert_eq!(start.elapsed().as_millis(), 0);
    assert_eq!(fixture.started(), []);
    assert_eq!(fixture.timed(&exact(5), transport()).await, (Recovery::None, 0));
    assert_eq!(fixture.retries().len(), 1);
}

// spec: agent-loop/S91, design/P1
#[tokio::test(start_paused = true)]
async fn unloading_ends_a_wait_without_end_as_well() {
    let fixture = Fixture::new().await;
    let unload = async {
        fixture.until_scheduled(1).await;
        fixture.retry.dispose().await
    };
    let (recovered, _) = tokio::join!(fixture.fails(fixture.error(&without_end(), transport())), unload);
    assert_eq!(recovered.unwrap(), Recovery::None);
    assert_eq!(fixture.started(), []);
}

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn reloaded_in_the_middle_of_a_step_it_goes_on_counting() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.timed(&exact(2), transport()).await, (Recovery::Retry, 500));
    fixture.retry.restart().await.unwrap();
    assert_eq!(fixture.timed(&exact(2), transport()).await, (Recovery::Retry, 1_000));
    assert_eq!(fixture.timed(&exact(2), transport()).await, (Recovery::None, 0));
    let retries = fixture.retries();
    assert_eq!(retries[0].retry_id, retries[1].retry_id);
}
