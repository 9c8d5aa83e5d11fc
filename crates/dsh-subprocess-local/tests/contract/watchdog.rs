//! The shell that kills what is left if the host dies.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::fixture::{Fixture, code, until};

/// The watchdog of a provider: the child of ours whose arguments hold the provider's nonce.
fn watchdog(nonce: &str) -> Option<u32> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).find(
        |id| {
            let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).into_owned();
            command.contains("dsh-watchdog") && command.contains(nonce)
        },
    )
}

async fn nonce(fixture: &Fixture) -> String {
    let (exit, mark) = fixture.run("printf %s \"${DSH_PROCESS_GROUP%-*}\"").await;
    assert_eq!(exit, code(0));
    mark
}

// spec: design/P1
#[tokio::test]
async fn it_is_there_from_the_first_process_to_the_unload() {
    let fixture = Fixture::new().await;
    let nonce = nonce(&fixture).await;
    let id = watchdog(&nonce).unwrap();
    fixture.unload().await;
    assert!(!fs::exists(format!("/proc/{id}")).unwrap(), "it was reaped");
}

fn send(id: u32, signal: Signal) {
    kill_process(Pid::from_raw(id.cast_signed()).unwrap(), signal).unwrap();
}

/// The state of a process, as the system has it: `T` if it is stopped.
fn state(id: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[tokio::test]
async fn one_that_was_killed_is_replaced_at_once_while_something_runs() {
    let fixture = Fixture::new().await;
    let nonce = nonce(&fixture).await;
    let process = fixture.spawn(fixture.bash("sleep 300"));
    let mut ids = vec![watchdog(&nonce).unwrap()];
    for _ in 0..2 {
        let last = ids[ids.len() - 1];
        send(last, Signal::KILL);
        // Nothing is started meanwhile.
        ids.push(until(|| watchdog(&nonce).filter(|id| *id != last)).await);
        assert!(!fs::exists(format!("/proc/{last}")).unwrap(), "it was reaped");
    }
    drop(process);
    fixture.unload().await;
    assert_eq!(watchdog(&nonce), None);
}

#[tokio::test]
async fn one_that_was_killed_while_nothing_runs_is_replaced_with_the_next_start() {
    let fixture = Fixture::new().await;
    let nonce = nonce(&fixture).await;
    let first = watchdog(&nonce).unwrap();
    send(first, Signal::KILL);
    until(|| (!fs::exists(format!("/proc/{first}")).unwrap()).then_some(())).await;
    let process = fixture.spawn(fixture.bash("sleep 300"));
    let second = watchdog(&nonce).unwrap();
    assert_ne!(first, second);
    drop(process);
    fixture.unload().await;
    assert_eq!(watchdog(&nonce), None);
}

#[tokio::test]
async fn one_that_is_stopped_is_made_to_go_on() {
    let fixture = Fixture::new().await;
    let nonce = nonce(&fixture).await;
    let id = watchdog(&nonce).unwrap();
    for signal in [Signal::STOP, Signal::TTIN, Signal::STOP] {
        send(id, signal);
        until(|| state(id).filter(|state| *state == 'S')).await;
        assert_eq!(fixture.run("true").await.0, code(0));
    }
    assert_eq!(watchdog(&nonce), Some(id));
    fixture.unload().await;
    assert_eq!(watchdog(&nonce), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_stopped_again_and_again_holds_nobody_up() {
    let fixture = Fixture::new().await;
    let nonce = nonce(&fixture).await;
    let id = watchdog(&nonce).unwrap();
    let stopping = Arc::new(AtomicBool::new(true));
    let stops = Arc::clone(&stopping);
    // Whoever has the id after it is no concern of this one.
    let shell = pidfd_open(Pid::from_raw(id.cast_signed()).unwrap(), PidfdFlags::empty()).unwrap();
    let stopper = std::thread::spawn(move || {
        while stops.load(Ordering::Relaxed) && pidfd_send_signal(&shell, Signal::STOP).is_ok() {}
    });
    for _ in 0..20 {
        assert_eq!(fixture.run("true").await.0, code(0));
    }
    fixture.unload().await;
    stopping.store(false, Ordering::Relaxed);
    stopper.join().unwrap();
    assert_eq!(watchdog(&nonce), None);
}

#[tokio::test]
async fn it_heeds_no_signal_that_a_terminal_or_a_service_manager_sends() {
    let fixture = Fixture::new().await;
    let nonce = nonce(&fixture).await;
    let id = watchdog(&nonce).unwrap();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::PIPE] {
        send(id, signal);
    }
    assert_eq!(fixture.run("true").await.0, code(0));
    assert_eq!(watchdog(&nonce), Some(id));
    fixture.unload().await;
}
