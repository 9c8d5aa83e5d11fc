#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::sync::Arc;

use rustix::process::Pid;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::{FEW, LATELY, Started, Table};
use crate::config::Config;
use crate::group::{Group, all_ended};
use crate::system::looks;

/// Adds a script that leads a group, and reaps it.
async fn reaped(table: &Table, script: &str) -> Arc<Started> {
    let (number, mark) = table.next();
    let child = Command::new("bash").args(["-c", script]).process_group(0).spawn().unwrap();
    let id = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    let (told, killed) = (CancellationToken::new(), CancellationToken::new());
    let started = Arc::new(Started { number, group: Group::new(id, mark, child), told, killed });
    table.add(Arc::clone(&started));
    assert_eq!(table.state.lock().running.len(), 1);
    assert!(started.group.reaped().await.unwrap().code == Some(0));
    table.reaped(&started);
    assert_eq!(table.state.lock().running.len(), 0);
    started
}

// spec: design/P6
#[tokio::test]
async fn what_leaves_nothing_behind_leaves_the_table() {
    let table = Table::new(&Config::default());
    for _ in 0..10 {
        reaped(&table, "true").await;
        assert!(table.state.lock().left.is_empty());
    }
}

// spec: design/P6
#[tokio::test]
async fn what_is_left_behind_leaves_the_table_once_it_has_ended() {
    let table = Table::new(&Config::default());
    let server = reaped(&table, "sleep 300 & exit 0").await;
    reaped(&table, "true").await;
    assert_eq!(table.state.lock().left.len(), 1);
    server.group.kill();
    all_ended(vec![&server.group], &table.looks).await;
    // As if there were many: what nobody reaps does not count.
    table.state.lock().looking.many = 0;
    table.prune().await;
    assert!(table.state.lock().left.is_empty());
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn what_is_left_behind_is_looked_at_now_and_then_and_never_under_the_tables_lock() {
    let table = Table::new(&Config::default());
    for _ in 0..FEW {
        reaped(&table, "sleep 300 & exit 0").await;
        assert!(table.to_look_at().is_none(), "they are few");
    }
    reaped(&table, "sleep 300 & exit 0").await;
    let (left, are_many) = table.to_look_at().unwrap();
    assert_eq!((left.len(), are_many), (FEW + 1, true));
    assert!(table.state.try_lock().is_some() && table.to_look_at().is_none(), "one looks at a time");
    table.state.lock().looking.is_going_on = false;
    table.prune().await;
    assert_eq!(table.state.lock().left.len(), FEW + 1);
    assert!(table.to_look_at().is_none(), "they are as many as before");
    tokio::time::advance(LATELY + LATELY).await;
    assert!(table.to_look_at().is_some_and(|(_, are_many)| !are_many), "it was long ago");
}

#[tokio::test]
async fn the_id_of_a_group_that_is_gone_is_watched_under_the_process_that_has_got_it() {
    let table = Table::new(&Config::default());
    let server = reaped(&table, "sleep 300 & exit 0").await;
    // As if it had ended, and the system had given its id to another.
    let id = server.group.id();
    let child = Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
    let (number, mark) = table.next();
    let (told, killed) = (CancellationToken::new(), CancellationToken::new());
    let other = Arc::new(Started { number, group: Group::new(id, mark, child), told, killed });
    table.add(Arc::clone(&other));
    assert!(table.state.lock().left.is_empty());
    table.forget(&[server]);
    assert_eq!(table.state.lock().running.len(), 1);
}

#[tokio::test]
async fn a_table_that_is_dropped_kills_what_is_left() {
    let table = Table::new(&Config::default());
    let server = reaped(&table, "sleep 300 & exit 0").await;
    assert!(!server.group.is_gone());
    drop(table);
    all_ended(vec![&server.group], &looks()).await;
}
