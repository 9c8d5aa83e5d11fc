//! Commands in the background.

use std::collections::HashSet;
use std::sync::Arc;

use dsh_shell::{Background, BackgroundOutput, BackgroundStatus, ShellRequest};
use dsh_shell_local::Config;

use crate::fixture::{Fixture, end_of, gone, limited, lives, number_in, rest_of, until};

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn each_piece_of_the_output_is_given_once() {
    let fixture = Fixture::new().await;
    let job = fixture.start("echo first; until [ -e go ]; do sleep 0.02; done; echo second");
    let mut text = String::new();
    until("the first line is read", || {
        text.push_str(&job.read_output().text);
        text == "first\n"
    })
    .await;
    assert_eq!(job.read_output(), BackgroundOutput::default());
    assert_eq!(job.status(), BackgroundStatus::Running);
    std::fs::write(fixture.path("go"), "").unwrap();
    assert_eq!(rest_of(&*job).await, "second\n");
    assert_eq!(job.read_output(), BackgroundOutput::default());
    assert_eq!(job.status(), BackgroundStatus::Exited);
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn the_errors_follow_the_output_in_a_section_of_their_own() {
    let fixture = Fixture::new().await;
    for (command, text) in [
        ("echo out; echo err >&2", "out\n[stderr]\nerr\n"),
        ("printf out; printf err >&2", "out\n[stderr]\nerr"),
        ("echo err >&2", "[stderr]\nerr\n"),
        ("true", ""),
    ] {
        assert_eq!(rest_of(&*fixture.start(command)).await, text, "{command}");
    }
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_background_command_tells_how_it_ended() {
    let fixture = Fixture::new().await;
    assert_eq!(end_of(&*fixture.start("exit 3")).await, (Some(3), None, false));
    let end = end_of(&*fixture.start("kill -TERM $$")).await;
    assert_eq!(end, (None, Some("SIGTERM".into()), false));
}

// spec: cases/P3
#[tokio::test]
async fn a_command_that_kills_its_own_group_is_told_by_its_signal_and_keeps_what_it_printed() {
    let fixture = Fixture::new().await;
    let job = fixture.start("echo line; sleep 300 & kill -9 0");
    assert_eq!(end_of(&*job).await, (None, Some("SIGKILL".into()), false));
    assert_eq!(job.read_output().text, "line\n");
    assert!(!job.kill());
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_command_is_killed_once() {
    let fixture = Fixture::new().await;
    let job = fixture.start("trap 'echo bye; exit 0' TERM; echo $$ > id; while :; do sleep 0.02; done");
    number_in(&fixture.path("id")).await;
    assert_eq!([job.kill(), job.kill()], [true, false]);
    assert_eq!(end_of(&*job).await, (Some(0), None, true));
    assert_eq!(job.status(), BackgroundStatus::Killed);
    assert!(job.read_output().text.starts_with("bye\n"));
    assert!(!job.kill());
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_command_that_has_ended_is_not_killed_any_more() {
    let fixture = Fixture::new().await;
    let job = fixture.start("true");
    job.done().await;
    assert!(!job.kill());
    assert_eq!(job.status(), BackgroundStatus::Exited);
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_command_that_has_ended_is_not_killed_though_the_host_was_too_busy_to_notice() {
    let fixture = Fixture::new().await;
    let job = fixture.start("echo $$ > id; until [ -e go ]; do sleep 0.02; done; exit 3");
    let id = number_in(&fixture.path("id")).await;
    std::fs::write(fixture.path("go"), "").unwrap();
    while lives(id) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(!job.kill());
    assert_eq!(end_of(&*job).await, (Some(3), None, false));
    assert_eq!(job.status(), BackgroundStatus::Exited);
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn of_threads_that_kill_one_command_at_once_one_did() {
    let fixture = Fixture::new().await;
    let job: Arc<dyn Background> = fixture.start("sleep 300").into();
    let killers: Vec<_> = (0..8)
        .map(|_| {
            let (job, runtime) = (job.clone(), tokio::runtime::Handle::current());
            std::thread::spawn(move || {
                let _inside = runtime.enter();
                job.kill()
            })
        })
        .collect();
    let killed = killers.into_iter().map(|it| it.join().unwrap());
    assert_eq!(killed.filter(|killed| *killed).count(), 1);
    assert!(job.done().await.killed);
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_command_that_cannot_be_started_has_ended_at_once_and_says_why() {
    let fixture = Fixture::new().await;
    let workdir = Some(fixture.path("nowhere"));
    let job = fixture.start_as(ShellRequest { workdir, ..ShellRequest::new("true") });
    assert_eq!(job.status(), BackgroundStatus::Killed);
    assert!(!job.kill());
    assert_eq!(end_of(&*job).await, (None, None, true));
    let text = job.read_output().text;
    let folder = fixture.path("nowhere");
    let expected = format!("[stderr]\nspawn failed: cannot run in \"{}\": ", folder.display());
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(job.read_output(), BackgroundOutput::default());
}

// spec: fs-shell-sandbox/F98
#[tokio::test]
async fn a_background_command_has_no_time_limit() {
    let config = Config { timeout_ms: 1, max_timeout_ms: 1, ..Config::default() };
    let fixture = Fixture::with(config).await;
    let job = fixture.start_as(limited("sleep 0.2; echo done", std::time::Duration::from_millis(1)));
    assert_eq!(job.done().await.exit_code, Some(0));
    assert_eq!(job.read_output().text, "done\n");
}

// spec: fs-shell-sandbox/F92, fs-shell-sandbox/F98
#[tokio::test]
async fn what_nobody_read_in_time_is_counted_and_is_in_files() {
    let fixture = Fixture::with(Config { max_output_bytes: 4, ..Config::default() }).await;
    let job = fixture.start("printf 123456; printf abc >&2");
    job.done().await;
    let output = job.read_output();
    assert_eq!((output.text.as_str(), output.dropped), ("3456\n[stderr]\nabc", 2));
    let [path] = output.spill_paths.try_into().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "123456");
    assert_eq!(job.read_output(), BackgroundOutput::default());
}

#[tokio::test]
async fn a_command_whose_handle_is_dropped_is_killed_with_all_that_it_started() {
    let fixture = Fixture::new().await;
    let job = fixture.start("sleep 300 & echo $! > child; echo $$ > id; wait");
    let ids = [number_in(&fixture.path("id")).await, number_in(&fixture.path("child")).await];
    drop(job);
    for id in ids {
        gone(id).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_on_several_threads_get_all_of_the_output_between_them() {
    let fixture = Fixture::with(Config { max_output_bytes: 1 << 20, ..Config::default() }).await;
    let command = "for i in {1..3000}; do echo $i; done; until [ -e go ]; do sleep 0.02; done";
    let job: Arc<dyn Background> = fixture.start(command).into();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let job = job.clone();
            std::thread::spawn(move || {
                let mut pieces = Vec::new();
                while job.status() == BackgroundStatus::Running {
                    pieces.push(job.read_output().text);
                }
                pieces
            })
        })
        .collect();
    std::fs::write(fixture.path("go"), "").unwrap();
    job.done().await;
    let mut pieces: Vec<String> = readers.into_iter().flat_map(|it| it.join().unwrap()).collect();
    pieces.push(job.read_output().text);
    // Whatever the pieces are, they are made of the bytes of the stream.
    let all: String = (1..=3000).map(|number: u32| format!("{number}\n")).collect();
    let (mut read, mut printed) = (pieces.concat().into_bytes(), all.into_bytes());
    read.sort_unstable();
    printed.sort_unstable();
    assert!(read == printed, "{} of {} bytes", read.len(), printed.len());
    // Between the first and the last line break of a piece its lines are whole.
    let whole = pieces.iter().flat_map(|piece| {
        let inside = piece.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n'));
        inside.map_or("", |(lines, _)| lines).lines()
    });
    let whole: Vec<u32> = whole.map(|line| line.parse().unwrap()).collect();
    assert_eq!(whole.iter().collect::<HashSet<_>>().len(), whole.len(), "no line is given twice");
}
