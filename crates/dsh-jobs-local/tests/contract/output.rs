//! What a job says, and how it is read.

use std::sync::atomic::{AtomicBool, Ordering};

use dsh_jobs::{JobError, JobHooks, JobOutcome, JobOutput, JobRead, JobSnapshot, JobStatus, TerminalStatus};
use parking_lot::Mutex;

use crate::fixture::{Fixture, completed, quiet_work, request, work};

// spec: timeout-jobs-hooks/J28
#[tokio::test(start_paused = true)]
async fn a_stream_is_read_in_pieces_and_its_rest_once_the_job_has_ended() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    assert_eq!(fixture.read(&job, None), "");
    work.say("one\n");
    work.say("two\n");
    assert_eq!(fixture.read(&job, None), "one\ntwo\n");
    assert_eq!(fixture.read(&job, None), "");
    assert!(!fixture.get(&job, None).reported);
    work.say("three\n");
    work.end(completed());
    let told = fixture.told().await;
    assert_eq!(told[0].status, JobStatus::Completed);
    assert!(!told[0].reported);
    assert_eq!(fixture.read(&job, None), "three\n");
    assert!(fixture.get(&job, None).reported);
    assert_eq!(fixture.read(&job, None), "");
    fixture.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J28
#[tokio::test(start_paused = true)]
async fn the_final_output_of_a_job_is_given_each_time_once_it_has_ended() {
    let fixture = Fixture::new().await;
    let (run, mut work) = quiet_work();
    let job = fixture.try_start(request(None, run)).unwrap();
    assert_eq!(fixture.read(&job, None), "");
    let output = Some("all of it".to_owned());
    work.end(JobOutcome { status: TerminalStatus::Completed, detail: None, output });
    fixture.told().await;
    assert_eq!(fixture.read(&job, None), "all of it");
    assert_eq!(fixture.read(&job, None), "all of it");
    assert!(fixture.get(&job, None).reported);
}

// spec: timeout-jobs-hooks/J28
#[tokio::test(start_paused = true)]
async fn a_job_that_says_nothing_reads_as_nothing() {
    let fixture = Fixture::new().await;
    let (run, mut work) = quiet_work();
    let job = fixture.try_start(request(None, run)).unwrap();
    work.end(completed());
    fixture.told().await;
    assert_eq!(fixture.read(&job, None), "");
}

#[tokio::test(start_paused = true)]
async fn a_stream_counts_before_a_final_output() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    work.say("streamed");
    let output = Some("final".to_owned());
    work.end(JobOutcome { status: TerminalStatus::Failed, detail: None, output });
    fixture.told().await;
    assert_eq!(fixture.read(&job, None), "streamed");
}

// spec: timeout-jobs-hooks/J28, design/P4
#[tokio::test(start_paused = true)]
async fn a_producer_that_panics_when_it_is_read_fails_the_read_and_nothing_else() {
    let fixture = Fixture::new().await;
    let (run, mut work) = work();
    let panics = Box::new(|| {
        let hooks = run()?;
        Ok(JobHooks { read_output: Some(Box::new(|| panic!("the disk is gone"))), ..hooks })
    });
    let job = fixture.try_start(request(None, panics)).unwrap();
    let error = JobError::Output { id: "work-1".into(), reason: "the disk is gone".into() };
    let read = || fixture.output(&job, None);
    assert_eq!(read(), Err(error.clone()));
    assert_eq!(fixture.get(&job, None).status, JobStatus::Running);
    work.end(completed());
    assert_eq!(fixture.told().await[0].status, JobStatus::Completed);
    assert_eq!(read(), Err(error.clone()));
    assert_eq!(error.to_string(), "the output of job work-1 cannot be read: the disk is gone");
    assert!(fixture.get(&job, None).reported);
}

/// Work whose first reader is held up, behind what it has read already, until the job has ended. `rest` is what comes last.
fn ends_while_it_is_read(fixture: &Fixture, rest: fn() -> String) -> (JobSnapshot, JobOutput) {
    let (run, mut work) = quiet_work();
    let (jobs, app) = (fixture.jobs.clone(), fixture.app.clone());
    let (asked, work_ends) = (AtomicBool::new(false), Mutex::new(Some(move || work.end(completed()))));
    let read_output: JobRead = Box::new(move || {
        if asked.swap(true, Ordering::SeqCst) {
            return rest();
        }
        work_ends.lock().take().unwrap()();
        let jobs = jobs.get().unwrap();
        while !jobs.get("work-1", None).unwrap().status.is_terminal() {
            std::thread::yield_now();
        }
        "so far, ".to_owned()
    });
    let streams = Box::new(move || Ok(JobHooks { read_output: Some(read_output), ..run()? }));
    let job = fixture.start_of(&app, request(None, streams)).unwrap();
    let output = fixture.output(&job, None).unwrap();
    (job, output)
}

// spec: timeout-jobs-hooks/J28, timeout-jobs-hooks/J41
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_job_says_last_while_it_is_read_belongs_to_the_answer_that_says_that_it_has_ended() {
    let fixture = Fixture::new().await;
    let (job, output) = ends_while_it_is_read(&fixture, || "and the rest".to_owned());
    assert_eq!(output.text, "so far, and the rest");
    assert_eq!((output.job.status, output.job.reported), (JobStatus::Completed, true));
    assert_eq!(fixture.output(&job, None).unwrap(), JobOutput { text: String::new(), job: output.job });
}

// spec: timeout-jobs-hooks/J28, design/P4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_is_given_although_the_rest_cannot_be_read_and_that_is_told_to_the_next_reader() {
    let fixture = Fixture::new().await;
    let (job, output) = ends_while_it_is_read(&fixture, || panic!("the disk is gone"));
    // Not the last answer yet.
    assert_eq!((&*output.text, output.job), ("so far, ", job.clone()));
    assert!(!fixture.get(&job, None).reported);
    let error = JobError::Output { id: "work-1".into(), reason: "the disk is gone".into() };
    assert_eq!(fixture.output(&job, None), Err(error));
    assert!(fixture.get(&job, None).reported);
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn of_what_a_job_said_at_its_end_a_bounded_part_is_kept() {
    const KEPT: usize = 512 * 1024;
    let fixture = Fixture::new().await;
    let said = format!("{}{}{}", "a".repeat(KEPT), "b".repeat(KEPT), "c".repeat(KEPT));
    let expected =
        format!("{}\n… {} bytes left out …\n{}", "a".repeat(KEPT / 2), 2 * KEPT, "c".repeat(KEPT / 2));
    let (streams, mut work) = fixture.start(None);
    work.say(&said);
    work.end(completed());
    fixture.told().await;
    assert_eq!(fixture.read(&streams, None), expected);
    let (run, mut work) = quiet_work();
    let speaks_last = fixture.try_start(request(None, run)).unwrap();
    let (detail, output) = (Some(said.clone()), Some(said));
    work.end(JobOutcome { status: TerminalStatus::Failed, detail, output });
    let detail = fixture.told().await[0].detail.clone().unwrap();
    assert!(detail.len() < 5_000 && detail.contains("bytes left out"), "{} bytes", detail.len());
    assert_eq!(fixture.read(&speaks_last, None), expected);
}

// spec: timeout-jobs-hooks/J22
#[tokio::test(start_paused = true)]
async fn the_limit_of_its_output_is_in_all_that_is_known_of_a_job() {
    let fixture = Fixture::new().await;
    let (run, mut work) = work();
    let mut limited = request(None, run);
    limited.output_limit_bytes = Some(64);
    let job = fixture.try_start(limited).unwrap();
    assert_eq!(job.output_limit_bytes, Some(64));
    assert_eq!(fixture.get(&job, None).output_limit_bytes, Some(64));
    work.end(completed());
    assert_eq!(fixture.told().await[0].output_limit_bytes, Some(64));
    assert_eq!(fixture.start(None).0.output_limit_bytes, None);
}
