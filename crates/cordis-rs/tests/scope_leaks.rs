//! Scopes that come and go leave no memory behind. Alone in its file: it looks at the process as a whole.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{App, Emit, ScopeKey};

const PING: Emit<u32> = Emit::new("ping");

/// Resident memory in mebibytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// How much the process grows by many rounds, once it has had some.
fn growth(mut round: impl FnMut()) -> u64 {
    (0..1_000).for_each(|_| round());
    let before = resident();
    (0..100_000).for_each(|_| round());
    resident().saturating_sub(before)
}

// spec: scope/S15, design/P6
#[tokio::test]
async fn scopes_leave_no_memory_behind() {
    let parent = ScopeKey::new();
    let children = growth(|| {
        let child = ScopeKey::new();
        drop(child.bind_parent(&parent).unwrap());
    });
    let moved = ScopeKey::new();
    let binding = moved.bind_parent(&parent).unwrap();
    let parents = growth(|| binding.rebind(&ScopeKey::new()).unwrap());
    // Each in turn the other's parent, which is no cycle at any time.
    let swapped = growth(|| {
        let (a, b) = (ScopeKey::new(), ScopeKey::new());
        let moves = a.bind_parent(&b).unwrap();
        moves.rebind(&parent).unwrap();
        drop(b.bind_parent(&a).unwrap());
    });
    let app = App::new().unwrap();
    let mut rounds = 0;
    let before = resident();
    while rounds < 20_000 {
        let scope = app.scope_under(&parent).unwrap();
        scope.context().on(PING).run(|_| ()).unwrap();
        app.at(scope.key()).emit(PING, &rounds);
        scope.close().await;
        rounds += 1;
    }
    let scopes = resident().saturating_sub(before);
    let grown = [children, parents, swapped, scopes];
    assert!(grown.iter().all(|grown| *grown < 8), "grown by {grown:?} MiB");
}
