//! What is kept of jobs that have ended.

use dsh_agent::Agent;
use dsh_jobs::{JobError, JobStatus};

use crate::fixture::{Fixture, completed};

/// How many that have ended are kept of each owner.
const KEPT: usize = 64;

async fn one_ends(fixture: &Fixture, owner: Option<&Agent>) -> String {
    let (job, mut work) = fixture.start(owner);
    work.end(completed());
    fixture.told().await;
    job.id.to_string()
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn of_the_jobs_of_an_owner_and_of_nobody_that_have_ended_the_last_ones_are_kept() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    for owner in [None, Some(&agent)] {
        let before = fixture.list(owner).len();
        let (oldest, _work) = fixture.start(owner);
        let mut ids = Vec::new();
        for _ in 0..KEPT + 10 {
            ids.push(one_ends(&fixture, owner).await);
        }
        // One that runs is never forgotten, however old it is; room is made when one begins.
        let (_newest, _other_work) = fixture.start(owner);
        let listed = fixture.list(owner);
        assert_eq!(listed.len(), before + 1 + KEPT + 1);
        assert!(listed[before..].contains(&oldest.id.to_string()));
        assert_eq!(fixture.get(&oldest, owner).status, JobStatus::Running);
        let get = |id: &str| fixture.jobs.get().unwrap().get(id, owner);
        for forgotten in &ids[..10] {
            assert_eq!(get(forgotten), Err(JobError::Unknown { id: forgotten.clone() }));
        }
        assert!(ids[10..].iter().all(|id| get(id).is_ok()));
    }
    fixture.app.assert_no_errors();
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn ends_that_somebody_knows_of_are_forgotten_first() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for _ in 0..KEPT {
        ids.push(one_ends(&fixture, None).await);
    }
    let known = ids.remove(5);
    fixture.jobs.get().unwrap().read(&known, None).unwrap();
    ids.push(one_ends(&fixture, None).await);
    let (newest, _work) = fixture.start(None);
    ids.push(newest.id.to_string());
    assert_eq!(fixture.list(None), ids);
}
