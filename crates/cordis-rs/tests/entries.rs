//! The tables of layered registries: order, exact undo, live iteration and generations.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{AnonymousEntries, Duplicate, NamedEntries};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

fn named(names: &[&str]) -> (NamedEntries<u32>, Vec<cordis::EntryUndo>) {
    let table = NamedEntries::new();
    let undos = names.iter().zip(1..).map(|(name, n)| table.insert(*name, n).unwrap()).collect();
    (table, undos)
}

fn keys(table: &NamedEntries<u32>) -> Vec<String> {
    table.keys().iter().map(|name| name.to_string()).collect()
}

// spec: scope/S34
#[test]
fn names_are_unique_and_kept_in_the_order_of_insertion() {
    let (table, _undos) = named(&["c", "a", "b"]);
    assert_eq!(keys(&table), ["c", "a", "b"]);
    assert_eq!(table.values(), [1, 2, 3]);
    let entries: Vec<_> = table.iter().map(|(name, n)| (name.to_string(), n)).collect();
    assert_eq!(entries, [("c".to_owned(), 1), ("a".to_owned(), 2), ("b".to_owned(), 3)]);
    assert_eq!((table.get("a"), table.get("x")), (Some(2), None));
    assert_eq!((table.contains("a"), table.contains("x")), (true, false));
    assert_eq!((table.len(), table.is_empty()), (3, false));
    assert!(NamedEntries::<u32>::default().is_empty());
}

// spec: scope/S34
#[test]
fn a_taken_name_is_refused_and_changes_nothing() {
    let (table, _undos) = named(&["a", "b"]);
    let refused: Duplicate = table.insert("a", 9).map(drop).unwrap_err();
    assert_eq!(refused.name, "a");
    assert_eq!(
        refused.to_string(),
        "`a` is registered already: remove the other one first, or register it in a scope of its own"
    );
    assert_eq!((keys(&table), table.values()), (vec!["a".to_owned(), "b".to_owned()], vec![1, 2]));
}

// spec: scope/S34, scope/S52
#[test]
fn the_error_for_a_taken_name_is_the_owners_and_it_may_look_at_the_table() {
    let table = Arc::new_cyclic(|own: &Weak<NamedEntries<u32, String>>| {
        let own = own.clone();
        NamedEntries::with_error(move |name| {
            let value = own.upgrade().and_then(|table| table.get(name));
            format!("{name} is {value:?}")
        })
    });
    let _undo = table.insert("a", 1).unwrap();
    assert_eq!(table.insert("a", 2).map(drop).unwrap_err(), "a is Some(1)");
}

// spec: scope/S34
#[test]
fn an_undo_is_bound_to_its_insertion_and_idempotent() {
    let table = NamedEntries::new();
    let first = table.insert("a", 1).unwrap();
    let _other = table.insert("b", 2).unwrap();
    first.undo();
    assert_eq!(keys(&table), ["b"]);
    first.undo();
    let second = table.insert("a", 3).unwrap();
    first.undo();
    assert_eq!((keys(&table), table.values()), (vec!["b".to_owned(), "a".to_owned()], vec![2, 3]));
    second.undo();
    assert_eq!(keys(&table), ["b"]);
}

// spec: scope/S34
#[test]
fn an_undo_that_is_dropped_undoes_nothing_and_one_may_outlive_its_table() {
    let (table, undos) = named(&["a"]);
    drop(undos);
    assert_eq!(table.len(), 1);
    let undo = table.insert("b", 2).unwrap();
    drop(table);
    undo.undo();
}

// spec: scope/S35
#[test]
fn equal_values_are_separate_entries_with_an_exact_undo() {
    let table = AnonymousEntries::new();
    let undos = [5, 5, 5].map(|value| table.append(value));
    let last = table.append(6);
    undos[1].undo();
    undos[1].undo();
    assert_eq!((table.values(), table.len()), (vec![5, 5, 6], 3));
    undos[0].undo();
    assert_eq!(table.values(), [5, 6]);
    last.undo();
    undos[2].undo();
    assert_eq!((table.values(), table.is_empty()), (vec![], true));
    let _again = table.append(7);
    for undo in &undos {
        undo.undo();
    }
    assert_eq!(table.values(), [7]);
    assert!(AnonymousEntries::<u32>::default().is_empty());
}

// spec: scope/S36
#[test]
fn entries_added_during_an_iteration_are_visited() {
    let (table, mut undos) = named(&["a", "b"]);
    let mut seen = Vec::new();
    for (name, n) in table.iter() {
        seen.push(name.to_string());
        if n < 4 {
            undos.push(table.insert(format!("{name}+"), n + 2).unwrap());
        }
    }
    assert_eq!(seen, ["a", "b", "a+", "b+", "a++"]);

    let values = AnonymousEntries::new();
    let _first = values.append(1);
    let mut more = Vec::new();
    let seen: Vec<_> = values
        .iter()
        .inspect(|n| {
            if *n < 3 {
                more.push(values.append(n + 1));
            }
        })
        .collect();
    assert_eq!(seen, [1, 2, 3]);
}

// spec: scope/S36
#[test]
fn entries_removed_during_an_iteration_are_not_visited() {
    let (table, undos) = named(&["a", "b", "c", "d"]);
    let mut iter = table.iter();
    assert_eq!(iter.next().unwrap().1, 1);
    undos[0].undo();
    undos[1].undo();
    assert_eq!(iter.next().unwrap().1, 3);
    undos[3].undo();
    assert_eq!(iter.next(), None);
    // It ended for want of entries, not for good: the table was never empty.
    let _e = table.insert("e", 5).unwrap();
    assert_eq!(iter.next().unwrap().1, 5);
}

// spec: scope/S36
#[test]
fn an_iteration_ends_with_its_generation() {
    let (table, undos) = named(&["a", "b"]);
    let mut old = table.iter();
    assert_eq!(old.next().unwrap().1, 1);
    undos.iter().for_each(cordis::EntryUndo::undo);
    let _again = [table.insert("a", 7).unwrap(), table.insert("b", 8).unwrap()];
    assert_eq!(old.next(), None);
    assert_eq!(table.iter().map(|(_, n)| n).collect::<Vec<_>>(), [7, 8]);
    assert_eq!(old.next(), None);

    let values = AnonymousEntries::new();
    let first = values.append(1);
    let mut old = values.iter();
    first.undo();
    let _second = values.append(2);
    assert_eq!((old.next(), values.values()), (None, vec![2]));
}

// spec: scope/S36
#[test]
fn an_iteration_of_an_empty_table_sees_what_is_added_first() {
    let table = NamedEntries::new();
    let mut iter = table.iter();
    let undo = table.insert("a", 1).unwrap();
    assert_eq!(iter.next().unwrap().1, 1);
    undo.undo();
    let _b = table.insert("b", 2).unwrap();
    assert_eq!(iter.next(), None);
}

// spec: scope/S36
#[test]
fn an_iteration_may_undo_what_it_visits() {
    let (table, undos) = named(&["a", "b", "c"]);
    let mut seen = Vec::new();
    for ((name, _), undo) in table.iter().zip(&undos) {
        seen.push(name.to_string());
        undo.undo();
    }
    assert_eq!((seen, table.len()), (vec!["a".to_owned(), "b".into(), "c".into()], 0));
}

// spec: scope/S37
#[test]
fn values_are_shared_and_not_copied() {
    let (table, values) = (NamedEntries::new(), AnonymousEntries::new());
    let value = Arc::new(AtomicUsize::new(0));
    let _undos = (table.insert("a", value.clone()).unwrap(), values.append(value.clone()));
    table.get("a").unwrap().fetch_add(1, SeqCst);
    for value in table.values().into_iter().chain(values.iter()) {
        value.fetch_add(1, SeqCst);
    }
    assert_eq!((value.load(SeqCst), Arc::strong_count(&value)), (3, 3));
}

// spec: design/P3
#[test]
fn a_value_may_use_the_table_when_it_is_dropped() {
    #[derive(Clone)]
    struct Looks(Arc<LooksOnce>);
    struct LooksOnce(Weak<NamedEntries<Looks>>, Arc<AtomicUsize>);
    impl Drop for LooksOnce {
        fn drop(&mut self) {
            self.1.store(10 + self.0.upgrade().unwrap().len(), SeqCst);
        }
    }
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        let seen = Arc::new(AtomicUsize::new(0));
        let table = Arc::new(NamedEntries::new());
        let value = Looks(Arc::new(LooksOnce(Arc::downgrade(&table), seen.clone())));
        assert!(Arc::ptr_eq(&value.0.1, &seen));
        let undo = table.insert("looks", value).unwrap();
        undo.undo();
        done.send(seen.load(SeqCst))
    });
    assert_eq!(wait.recv_timeout(Duration::from_secs(60)).expect("a deadlock"), 10);
}

/// Looks at the table that it is in whenever it is cloned, as a value with an `Rc`-like handle to its owner may.
struct LooksWhenCloned(Arc<NamedEntries<LooksWhenCloned>>);

impl Clone for LooksWhenCloned {
    fn clone(&self) -> Self {
        assert_eq!(self.0.len(), 1);
        LooksWhenCloned(self.0.clone())
    }
}

// spec: design/P3
#[test]
fn a_value_may_use_the_table_when_it_is_cloned() {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        let table = Arc::new(NamedEntries::new());
        let undo = table.insert("looks", LooksWhenCloned(table.clone())).unwrap();
        let found = (table.get("looks").is_some(), table.iter().count());
        undo.undo();
        done.send(found)
    });
    assert_eq!(wait.recv_timeout(Duration::from_secs(60)).expect("a deadlock"), (true, 1));
}

// spec: scope/S34
#[test]
fn threads_that_insert_one_name_take_turns() {
    let table = NamedEntries::new();
    let wins: usize = thread::scope(|s| {
        let tries = |_| {
            s.spawn(|| {
                let mut wins = 0;
                for n in 0..2_000 {
                    if let Ok(undo) = table.insert("a", n) {
                        wins += 1;
                        assert_eq!(table.len(), 1);
                        undo.undo();
                    }
                }
                wins
            })
        };
        let threads: Vec<_> = (0..2).map(tries).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(wins > 0);
    assert_eq!((table.len(), table.get("a")), (0, None));
}

// spec: scope/S36
#[test]
fn iterating_a_thousand_entries_after_many_removals_keeps_the_order() {
    let table = AnonymousEntries::new();
    let undos: Vec<_> = (0..3_000).map(|n| table.append(n)).collect();
    for (n, undo) in undos.iter().enumerate() {
        if n % 3 != 0 {
            undo.undo();
        }
    }
    let expected: Vec<_> = (0..3_000).step_by(3).collect();
    assert_eq!(table.values(), expected);
    assert_eq!(table.len(), 1_000);
}
