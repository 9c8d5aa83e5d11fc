//! What comes in the middle: a scripted run is interrupted at every point where it waits, and at every event that it logs. Whatever
//! happens, the log is closed, nothing runs on, and the next request is one that a provider takes.
//!
//! The short form runs with the other tests; `cargo test -p dsh-agent-loop --release --test injection -- --ignored` tries pairs of
//! interruptions, tens of thousands of runs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod run;

use run::{Act, Point, interrupted, quiet_run};

const ACTS: [Act; 6] =
    [Act::Cancel, Act::Interrupt, Act::Steer, Act::CancelThenFollowup, Act::Dispose, Act::Unload];

// spec: agent-loop/S74, agent-loop/S82, agent-loop/S42, agent-loop/S29, cases/S5
#[test]
fn a_run_that_is_interrupted_where_it_waits_is_closed() {
    let rounds = quiet_run().rounds;
    assert!(rounds > 100, "{rounds}");
    let mut runs = 0;
    for act in ACTS {
        for round in 0..=rounds {
            interrupted(&[(Point::Round(round), act)]);
            runs += 1;
        }
    }
    assert!(runs > 600, "{runs}");
}

// spec: agent-loop/S74, agent-loop/S55, agent-loop/S42
#[test]
fn a_run_that_is_interrupted_at_an_event_is_closed() {
    let events = quiet_run().events;
    assert!(events > 30, "{events}");
    for act in [Act::Interrupt, Act::Cancel, Act::Unload] {
        for event in 0..events {
            interrupted(&[(Point::Event(event), act)]);
        }
    }
}

#[test]
#[ignore = "tens of thousands of runs"]
fn a_run_that_is_interrupted_twice_is_closed() {
    let rounds = quiet_run().rounds;
    for first in ACTS {
        for second in ACTS {
            for one in (0..=rounds).step_by(2) {
                for other in (one..=rounds).step_by(3) {
                    interrupted(&[(Point::Round(one), first), (Point::Round(other), second)]);
                }
            }
        }
    }
}
