#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Barrier;

use super::*;

fn rows(metrics: &Metrics) -> usize {
    metrics.rows.load(Ordering::Relaxed)
}

#[test]
fn a_row_that_several_threads_add_at_once_takes_one_place() {
    let metrics = Metrics::new(NonZeroUsize::new(1_000_000).unwrap());
    let (rounds, barrier) = (20_000_u64, Barrier::new(2));
    let add = || {
        for round in 0..rounds {
            if round % 1_000 == 0 {
                barrier.wait();
            }
            metrics.count(ToolLabel::Unknown, CallCode::Coded(round.to_string()), None);
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(add);
        threads.spawn(add);
    });
    let snapshot = metrics.snapshot();
    assert_eq!((snapshot.series.len() as u64, snapshot.calls()), (rounds, 2 * rounds));
    assert_eq!(rows(&metrics) as u64, rounds);
}

#[test]
fn rows_that_are_added_while_others_are_removed_keep_the_count_of_places_right() {
    let metrics = Metrics::new(NonZeroUsize::new(16).unwrap());
    std::thread::scope(|threads| {
        for thread in 0..2 {
            let metrics = &metrics;
            threads.spawn(move || {
                for round in 0..5_000_u64 {
                    let code = CallCode::Coded((round % 20 + thread).to_string());
                    metrics.count(ToolLabel::Unknown, code, None);
                    if round % 7 == 0 {
                        metrics.reset();
                    }
                    let own =
                        metrics.snapshot().series.iter().filter(|row| row.tool != ToolLabel::Other).count();
                    assert!(own <= 16);
                }
            });
        }
    });
    let own = metrics.snapshot().series.iter().filter(|row| row.tool != ToolLabel::Other).count();
    assert_eq!(rows(&metrics), own);
}
