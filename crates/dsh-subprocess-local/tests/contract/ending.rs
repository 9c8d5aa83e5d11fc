//! How a process is made to end.

use std::sync::Arc;
use std::time::Duration;

use dsh_subprocess::Stdin;

use crate::fixture::{Fixture, all_gone, bounded, code, ids, ids_in, is_alive, printed, signal, stdout};

/// A script that starts a tree of three processes, which print their ids, and waits for it.
const TREE: &str = "(sleep 300 & echo $!; echo $BASHPID; wait) & echo $$; wait";

// spec: fs-shell-sandbox/F91
#[tokio::test]
async fn a_process_that_is_told_to_ends_with_its_whole_group() {
    for fixture in Fixture::both().await {
        let process = fixture.spawn(fixture.bash(TREE));
        let tree = ids(&process, 3).await;
        assert!(tree.iter().all(|id| is_alive(*id)), "{tree:?}");
        process.terminate();
        process.terminate();
        assert_eq!(bounded(process.exited()).await.unwrap(), signal(15));
        assert_eq!(bounded(process.collected()).await.unwrap(), signal(15));
        all_gone(&tree).await;
    }
}

// spec: fs-shell-sandbox/F91
#[tokio::test]
async fn one_that_ignores_the_request_is_killed_after_its_grace_time() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash(&format!("trap '' TERM; {TREE}"));
    spec.grace = Duration::from_millis(100);
    let process = fixture.spawn(spec);
    let tree = ids(&process, 3).await;
    process.terminate();
    assert_eq!(bounded(process.collected()).await.unwrap(), signal(9));
    all_gone(&tree).await;
}

// spec: fs-shell-sandbox/F91
#[tokio::test]
async fn descendants_that_survive_the_leader_are_killed_too() {
    let fixture = Fixture::new().await;
    // Without an environment it is found by nothing but its group.
    let script = "(trap '' TERM; echo $BASHPID; exec env -i sleep 300) & echo $$; wait";
    let process = fixture.spawn(fixture.bash(script));
    let tree = ids(&process, 2).await;
    process.terminate();
    assert_eq!(bounded(process.collected()).await.unwrap(), signal(15));
    all_gone(&tree).await;
}

#[tokio::test]
async fn one_that_ends_in_order_when_told_to_gives_its_code() {
    let fixture = Fixture::new().await;
    let script = "trap 'echo bye; exit 4' TERM; echo on; sleep 300 & wait";
    let process = fixture.spawn(fixture.bash(script));
    printed(&process, |text| text == "on\n").await;
    process.terminate();
    assert_eq!(bounded(process.collected()).await.unwrap(), code(4));
    assert_eq!(stdout(&process).head, "on\nbye\n");
}

#[tokio::test]
async fn one_that_is_stopped_hears_the_request() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("trap 'exit 5' TERM; echo on; kill -STOP $$; sleep 300 & wait"));
    printed(&process, |text| text == "on\n").await;
    process.terminate();
    assert_eq!(bounded(process.exited()).await.unwrap(), code(5));
}

// spec: fs-shell-sandbox/F91
#[tokio::test]
async fn cancellation_tells_it_to_end() {
    let fixture = Fixture::new().await;
    let spec = fixture.bash(TREE);
    let cancellation = spec.cancellation.clone();
    let process = fixture.spawn(spec);
    let tree = ids(&process, 3).await;
    cancellation.cancel();
    assert_eq!(bounded(process.collected()).await.unwrap(), signal(15));
    all_gone(&tree).await;
}

#[tokio::test]
async fn a_killed_group_is_gone_without_any_help_of_the_runtime() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash(&format!("trap '' TERM; {TREE}")));
    let tree = ids(&process, 3).await;
    process.kill();
    while tree.iter().any(|id| is_alive(*id)) {
        std::thread::yield_now();
    }
    assert_eq!(bounded(process.collected()).await.unwrap(), signal(9));
}

#[tokio::test]
async fn a_process_that_is_let_go_is_killed() {
    for fixture in Fixture::both().await {
        let process = fixture.spawn(fixture.bash(&format!("trap '' TERM; {TREE}")));
        let tree = ids(&process, 3).await;
        let (exited, collected) = (process.exited(), process.collected());
        drop(process);
        while tree.iter().any(|id| is_alive(*id)) {
            std::thread::yield_now();
        }
        assert_eq!(bounded(exited).await.unwrap(), signal(9));
        assert_eq!(bounded(collected).await.unwrap(), signal(9));
    }
}

// spec: fs-shell-sandbox/F91
#[tokio::test]
async fn a_process_that_has_ended_by_itself_takes_nothing_with_it() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("sleep 300 >/dev/null 2>&1 & echo $!"));
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let left = ids(&process, 1).await;
    assert!(!process.terminate());
    drop(process);
    // The same task would have seen to it before.
    assert_eq!(fixture.run("true").await.0, code(0));
    assert!(is_alive(left[0]));
    fixture.unload().await;
    assert!(!is_alive(left[0]));
}

#[tokio::test]
async fn whether_a_process_was_told_before_it_had_ended_is_known_at_once() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("trap 'exit 4' TERM; echo on; sleep 300 & wait"));
    printed(&process, |text| text == "on\n").await;
    assert!(process.try_exited().is_none() && process.try_collected().is_none());
    assert!(process.terminate());
    assert_eq!(bounded(process.exited()).await.unwrap(), code(4));
    assert!(!process.terminate());
    assert_eq!(process.try_exited().unwrap().unwrap(), code(4));
    assert_eq!(bounded(process.collected()).await.unwrap(), code(4));
    assert_eq!(process.try_collected().unwrap().unwrap(), code(4));
}

#[tokio::test]
async fn a_process_has_ended_by_itself_before_the_runtime_hears_of_it() {
    let fixture = Fixture::new().await;
    for (ends, drops) in [("exit 3", false), ("kill -KILL $$", false), ("exit 3", true)] {
        let expected = if ends == "exit 3" { code(3) } else { signal(9) };
        let process =
            fixture.spawn(fixture.bash(&format!("sleep 300 >/dev/null 2>&1 & echo $! > id; {ends}")));
        // Without a turn for the runtime.
        while is_alive(process.id()) {
            std::thread::yield_now();
        }
        assert_eq!(process.try_exited().unwrap().unwrap(), expected);
        assert!(process.try_collected().is_none());
        let (exited, collected) = (process.exited(), process.collected());
        if drops {
            drop(process);
        } else {
            assert!(!process.terminate());
        }
        assert_eq!(bounded(exited).await.unwrap(), expected);
        assert_eq!(bounded(collected).await.unwrap(), expected);
        let left = ids_in(&fixture.path("id"), 1).await;
        assert!(is_alive(left[0]), "{ends} {drops}");
        std::fs::remove_file(fixture.path("id")).unwrap();
    }
    fixture.unload().await;
}

#[tokio::test]
async fn what_a_process_has_left_behind_can_be_killed() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("sleep 300 >/dev/null 2>&1 & echo $!"));
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    let left = ids(&process, 1).await;
    process.kill();
    all_gone(&left).await;
    assert_eq!(bounded(process.exited()).await.unwrap(), code(0));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_has_left_its_group_is_killed_with_it() {
    let fixture = Fixture::new().await;
    let script =
        "setsid bash -c 'echo $$ >> ids; setsid sleep 300 & echo $! >> ids; wait' & echo $$ >> ids; wait";
    for drops in [false, true] {
        let process = fixture.spawn(fixture.bash(script));
        let tree = ids_in(&fixture.path("ids"), 3).await;
        let collected = process.collected();
        if drops {
            drop(process);
        } else {
            assert!(process.terminate());
        }
        bounded(collected).await.unwrap();
        assert!(tree.iter().all(|id| !is_alive(*id)), "{tree:?}");
        std::fs::remove_file(fixture.path("ids")).unwrap();
    }
}

// spec: cases/P1
#[tokio::test]
async fn the_other_end_of_a_fifo_goes_too_and_the_output_stays() {
    let fixture = Fixture::new().await;
    let script = "mkfifo p; (while :; do echo c; echo $BASHPID > id; sleep 0.01; done) > p & cat p";
    let process = fixture.spawn(fixture.bash(script));
    printed(&process, |text| text.starts_with("c\nc\n")).await;
    let writer = ids_in(&fixture.path("id"), 1).await;
    process.terminate();
    bounded(process.collected()).await.unwrap();
    all_gone(&writer).await;
    assert!(stdout(&process).head.starts_with("c\nc\n"));
}

#[tokio::test]
async fn waiting_can_be_given_up_and_taken_up_again() {
    let fixture = Fixture::new().await;
    let mut spec = fixture.bash("read -r _; exit 6");
    spec.stdin = Stdin::Piped;
    let mut process = fixture.spawn(spec);
    for _ in 0..3 {
        tokio::select! {
            biased;
            exit = process.exited() => panic!("{exit:?}"),
            exit = process.collected() => panic!("{exit:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(process.take_stdin());
    assert_eq!(bounded(process.exited()).await.unwrap(), code(6));
    assert_eq!(bounded(process.exited()).await.unwrap(), code(6));
    assert_eq!(bounded(process.collected()).await.unwrap(), code(6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_can_be_ended_by_many_at_once() {
    let fixture = Fixture::new().await;
    for _ in 0..10 {
        let process = Arc::new(fixture.spawn(fixture.bash(TREE)));
        let tree = ids(&process, 3).await;
        let enders: Vec<_> = (0..4)
            .map(|number| {
                let process = Arc::clone(&process);
                std::thread::spawn(
                    move || if number % 2 == 0 { _ = process.terminate() } else { process.kill() },
                )
            })
            .collect();
        enders.into_iter().for_each(|ender| ender.join().unwrap());
        let exit = bounded(process.collected()).await.unwrap();
        assert!(exit == signal(15) || exit == signal(9), "{exit:?}");
        all_gone(&tree).await;
    }
}
