//! Commands that run on as jobs.

use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};

use dsh_jobs::{JOBS, JobStatus, KillRequest};
use dsh_shell::{BackgroundEnd, Contributor, SHELL_ENV};
use dsh_subprocess::WaitError;
use dsh_tool_bash::Config;
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Below, Fixture, ended, execute, in_background, job_of, mount, request, service};
use crate::scripted::{Running, Scripted};
use crate::witness::{ANSWERS, PATIENCE, Witness, bounded};

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn a_command_in_the_background_is_a_job_of_the_agent() {
    let fixture = Fixture::new().await;
    let (ada, bob) = (fixture.agent("ada", None), fixture.agent("bob", None));
    let outcome = fixture.execute(request(&in_background("echo hi; sleep 300")).agent(&ada)).await;
    assert_eq!((outcome.text().as_str(), outcome.is_error()), ("started background job bash-1", false));
    assert_eq!(outcome.value(), Some(&json!({ "kind": "background", "jobId": "bash-1" })));
    let job = fixture.jobs(|jobs| jobs.get("bash-1", Some(&ada))).unwrap();
    assert_eq!((job.kind.as_str(), job.label.as_str()), ("bash", "echo hi; sleep 300"));
    assert_eq!((job.status, job.owner_session.as_ref()), (JobStatus::Running, Some(ada.id())));
    assert!(fixture.jobs(|jobs| jobs.get("bash-1", Some(&bob))).is_err());
    let outcome = fixture.execute(request(&in_background("true")).agent(&bob)).await;
    assert_eq!(job_of(&outcome), "bash-2");
}

// spec: fs-shell-sandbox/F104
#[tokio::test]
async fn a_job_gives_what_its_command_prints_and_tells_how_it_ended() {
    let fixture = Fixture::new().await;
    for (command, said, status, detail) in [
        ("echo hi; exit 0", "hi\n", JobStatus::Completed, "exit code: 0"),
        ("echo three; exit 3", "three\n", JobStatus::Completed, "exit code: 3"),
        (
            "echo out; echo err >&2; printf tail",
            "out\ntail\n[stderr]\nerr\n",
            JobStatus::Completed,
            "exit code: 0",
        ),
        ("true", "", JobStatus::Completed, "exit code: 0"),
        ("echo x; kill -TERM $$", "x\n", JobStatus::Killed, "signal: SIGTERM"),
    ] {
        let id = fixture.start(command).await;
        let job = fixture.ended(&id).await;
        assert_eq!((job.status, job.detail.as_deref()), (status, Some(detail)), "{command}");
        assert_eq!(fixture.read(&id), said, "{command}");
        assert_eq!(fixture.read(&id), "", "each piece is given once");
    }
}

// spec: cases/P3, fs-shell-sandbox/F104
#[tokio::test]
async fn a_job_that_kills_its_own_group_was_killed_and_its_line_is_kept() {
    let fixture = Fixture::new().await;
    let id = fixture.start("echo last words; kill -9 -- -$$").await;
    let job = fixture.ended(&id).await;
    assert_eq!((job.status, job.detail.as_deref()), (JobStatus::Killed, Some("signal: SIGKILL")));
    assert_eq!(fixture.read(&id), "last words\n");
}

// spec: fs-shell-sandbox/F104
#[tokio::test]
async fn a_job_that_is_stopped_ends_with_all_that_it_started() {
    let fixture = Fixture::new().await;
    let mut witness = Witness::new(fixture.path());
    let id = fixture.start(&format!("echo on; ({ANSWERS}) & wait")).await;
    assert!(witness.is_answered().await);
    let kill = KillRequest { id: &id, caller: None, reason: Some("enough") };
    fixture.jobs(|jobs| jobs.kill(kill)).unwrap();
    let job = fixture.ended(&id).await;
    assert_eq!((job.status, job.detail.as_deref()), (JobStatus::Killed, Some("signal: SIGTERM")));
    assert_eq!(fixture.read(&id), "on\n");
    witness.is_alone().await;
}

// spec: fs-shell-sandbox/F104
#[tokio::test]
async fn a_job_that_ends_in_order_when_it_is_stopped_was_killed_all_the_same() {
    let fixture = Fixture::new().await;
    let id = fixture.start("trap 'echo bye; exit 0' TERM; echo polite; sleep 300 & wait").await;
    let said = fixture.printed(&id, |said| said == "polite\n").await;
    fixture.jobs(|jobs| jobs.kill(KillRequest { id: &id, caller: None, reason: None })).unwrap();
    let job = fixture.ended(&id).await;
    assert_eq!((job.status, job.detail.as_deref()), (JobStatus::Killed, Some("killed before exit")));
    let rest = fixture.read(&id);
    assert_eq!(said + &rest, "polite\nbye\n");
}

// spec: fs-shell-sandbox/F104
#[tokio::test]
async fn a_job_says_how_much_of_its_output_is_missing_and_where_it_is() {
    let mut below = Below::default();
    below.shell.max_output_bytes = 20;
    let fixture = Fixture::on(below, |config| config).await;
    let id = fixture.start("seq 1 100").await;
    fixture.ended(&id).await;
    let text = fixture.read(&id);
    let (kept, notice) = text.rsplit_once('\n').unwrap();
    assert!(kept.ends_with("99\n100"), "{text}");
    let (count, path) = notice
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'))
        .and_then(|it| it.split_once(" bytes were dropped from memory; full output: "))
        .unwrap_or_else(|| panic!("{text}"));
    assert!((1..=272).contains(&count.parse::<u64>().unwrap()), "{text}");
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 100);
}

// spec: fs-shell-sandbox/F98, fs-shell-sandbox/F103
#[tokio::test]
async fn a_job_has_no_time_limit() {
    let mut below = Below::default();
    (below.shell.timeout_ms, below.shell.max_timeout_ms) = (50, 50);
    let fixture = Fixture::on(below, |config| config).await;
    let mut call = in_background("echo a; sleep 0.3; echo b");
    call["timeoutMs"] = json!(50);
    let id = job_of(&fixture.call(call).await);
    assert_eq!(fixture.ended(&id).await.status, JobStatus::Completed);
    assert_eq!(fixture.read(&id), "a\nb\n");
}

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn where_the_background_is_switched_off_a_call_is_told_so_and_nothing_runs() {
    let fixture = Fixture::with(|config| Config { enable_run_in_background: false, ..config }).await;
    let outcome = fixture.call(in_background("touch ran")).await;
    let text = outcome.text();
    assert!(outcome.is_error() && text.contains("run_in_background"), "{text}");
    assert!(text.contains("enableRunInBackground: false"), "{text}");
    assert!(!fixture.path().join("ran").exists());
    let mut foreground = in_background("echo hi");
    foreground["run_in_background"] = json!(false);
    assert_eq!(fixture.call(foreground).await.text(), "hi\n");
}

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn without_jobs_a_call_is_told_what_to_load_and_nothing_runs() {
    let fixture = Fixture::on(Below { jobs: None, ..Below::default() }, |config| config).await;
    let outcome = fixture.call(in_background("touch ran")).await;
    for plugin in ["`jobs-local`", "`tool-jobs`"] {
        assert!(outcome.text().contains(plugin), "{}", outcome.text());
    }
    assert!(!outcome.text().contains('@'), "no package of another program: {}", outcome.text());
    assert!(outcome.is_error() && !fixture.path().join("ran").exists());
}

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn what_the_jobs_refuse_starts_no_process() {
    let one = dsh_jobs_local::Config { max_active_jobs: NonZeroUsize::MIN };
    let fixture = Fixture::on(Below { jobs: Some(one), ..Below::default() }, |config| config).await;
    fixture.start("sleep 300").await;
    let outcome = fixture.call(in_background("touch ran")).await;
    assert!(outcome.is_error() && outcome.text().contains("job_kill"), "{}", outcome.text());

    // An owner that is not live.
    let agent = fixture.agent("ada", None);
    fixture.agents.remove(&agent);
    let outcome = fixture.execute(request(&in_background("touch ran")).agent(&agent)).await;
    assert!(outcome.is_error() && outcome.text().contains("ada"), "{}", outcome.text());
    assert_eq!(fixture.jobs(|jobs| jobs.list(None)).len(), 1);
    assert!(!fixture.path().join("ran").exists());
}

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn without_somebody_who_can_stop_it_no_job_is_started() {
    let fixture = Fixture::on(Below { jobs: None, ..Below::default() }, |config| config).await;
    mount(&fixture.app, dsh_jobs_local::plugin(), dsh_jobs_local::Config::default()).await;
    fixture.app.quiet().await;
    let outcome = fixture.call(in_background("touch ran")).await;
    assert!(outcome.is_error() && outcome.text().contains("the plugin `tool-jobs`"), "{}", outcome.text());
    assert!(!fixture.path().join("ran").exists());
    // The jobs that came later are used.
    let controller = fixture.jobs(|jobs| jobs.attach_controller(&fixture.app, "test")).unwrap();
    let id = fixture.start("echo hi").await;
    fixture.ended(&id).await;
    controller.dispose().await;
}

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn a_call_that_is_cancelled_while_it_is_made_ready_starts_no_process() {
    let fixture = Fixture::new().await;
    mount(&fixture.app, dsh_shell::plugin(), dsh_shell::Config { home: Some("/srv/dsh".into()) }).await;
    fixture.app.quiet().await;
    let cancellation = CancellationToken::new();
    let cancel = cancellation.clone();
    let contributor = Contributor::new("late", move |_agent| {
        cancel.cancel();
        Ok(Default::default())
    });
    service(&fixture.app, SHELL_ENV, |env| env.register(&fixture.app, contributor).map(drop)).unwrap();
    let outcome = fixture.call_until(in_background("touch ran"), &cancellation).await;
    assert_eq!(outcome.code(), Some("ABORTED"), "{}", outcome.text());
    assert!(!fixture.path().join("ran").exists());
    assert_eq!(fixture.jobs(|jobs| jobs.list(None)), []);
}

/// The tool on a shell that does what a test says, with jobs.
async fn scripted() -> Scripted {
    let scripted = Scripted::new(Config::default()).await;
    mount(&scripted.app, dsh_jobs_local::plugin(), dsh_jobs_local::Config::default()).await;
    service(&scripted.app, JOBS, |jobs| jobs.attach_controller(&scripted.app, "test").map(drop)).unwrap();
    scripted.app.quiet().await;
    scripted
}

#[tokio::test]
async fn a_job_whose_command_was_lost_has_failed_and_says_why() {
    let scripted = scripted().await;
    let lost = WaitError { id: 7, source: Arc::new(std::io::Error::other("no child")) };
    let end = BackgroundEnd { lost: Some(lost), ..BackgroundEnd::default() };
    scripted.shell.starts(|| Running::ended(end));
    let id = job_of(&bounded(execute(&scripted.app, request(&in_background("x")))).await);
    let job = ended(&scripted.app, &id).await;
    let detail = job.detail.unwrap();
    assert_eq!((job.status, detail.as_str()), (JobStatus::Failed, "cannot wait for process 7: no child"));
}

#[tokio::test]
async fn a_shell_that_waits_for_the_disk_holds_nobody_up() {
    let scripted = scripted().await;
    let (go_on, waits) = mpsc::channel();
    let (began, begun) = oneshot::channel();
    scripted.shell.starts(move || {
        began.send(()).unwrap();
        waits.recv_timeout(PATIENCE).expect("nobody else got a turn");
        Running::new()
    });
    let call = execute(&scripted.app, request(&in_background("x")));
    let (outcome, ()) = tokio::join!(call, async {
        begun.await.unwrap();
        go_on.send(()).unwrap();
    });
    assert_eq!(job_of(&outcome), "bash-1");
}

// spec: fs-shell-sandbox/F103
#[tokio::test]
async fn a_call_that_is_cancelled_while_its_command_is_started_leaves_no_process() {
    let scripted = scripted().await;
    let cancellation = CancellationToken::new();
    let cancel = cancellation.clone();
    scripted.shell.starts(move || {
        cancel.cancel();
        Running::new()
    });
    let call = request(&in_background("x")).cancellation(&cancellation);
    let outcome = bounded(execute(&scripted.app, call)).await;
    assert_eq!(outcome.code(), Some("ABORTED"), "{}", outcome.text());
    let job = ended(&scripted.app, "bash-1").await;
    assert_eq!((job.status, job.detail.as_deref()), (JobStatus::Killed, Some("killed before exit")));
}
