#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};

use super::shell::MOST_UNREAD_BYTES;
use super::{Rest, Shell, Watchdog};
use crate::mark::Nonce;

/// How long a test waits for what never comes.
const LIMIT: Duration = Duration::from_secs(60);

/// One whose shell reads nothing and never ends.
fn deaf() -> (Watchdog, Pid) {
    let watchdog = Watchdog::new(Nonce::new());
    let mut command = Command::new("sleep");
    command.arg("300");
    let shell = Shell::run(command).unwrap();
    let id = shell.id();
    let mut state = watchdog.kept.state.lock();
    state.shell = Some(shell);
    watchdog.kept.hire(&mut state).unwrap();
    drop(state);
    (watchdog, id)
}

fn is_there(id: Pid) -> bool {
    test_kill_process(id).is_ok()
}

#[test]
fn a_shell_that_does_not_end_is_killed() {
    for rest in [Rest::None, Rest::Killed] {
        let (watchdog, id) = deaf();
        let start = Instant::now();
        watchdog.close(rest);
        assert!(!is_there(id), "it was reaped");
        assert!(start.elapsed() < LIMIT);
    }
}

#[test]
fn a_shell_that_does_not_read_is_replaced_by_one_that_knows_all() {
    let (watchdog, first) = deaf();
    // What no process has as its id.
    let groups: Vec<Pid> = (0..200).map(|number| Pid::from_raw(i32::MAX - number).unwrap()).collect();
    groups.iter().for_each(|group| watchdog.began(*group));
    let start = Instant::now();
    while is_there(first) {
        // Nobody waits for it.
        watchdog.left(groups[0]);
        watchdog.began(groups[0]);
        assert!(start.elapsed() < LIMIT);
    }
    let shell = || watchdog.kept.state.lock().shell.as_ref().map(|shell| (shell.id(), shell.is_told_all()));
    let second = loop {
        match shell() {
            Some((id, true)) => break id,
            Some((_, false)) | None => std::thread::yield_now(),
        }
        assert!(start.elapsed() < LIMIT);
    };
    assert!(second != first && is_there(second));
    groups.iter().for_each(|group| watchdog.gone(*group));
    watchdog.close(Rest::None);
    assert!(!is_there(second));
    assert_eq!(shell(), None);
}

#[test]
fn what_may_be_unread_is_far_more_than_all_groups_of_a_host() {
    assert!(MOST_UNREAD_BYTES / "+4194304\n".len() > 100_000);
}
