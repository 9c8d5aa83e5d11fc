//! The relation between scopes: bound once, moved by its binding only, never a cycle.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{App, Emit, ScopeError, ScopeKey};
use std::{
    sync::{Arc, Barrier, Mutex},
    thread,
};

const PING: Emit<u32> = Emit::new("ping");

fn cycle(scope: &ScopeKey, parent: &ScopeKey) -> ScopeError {
    ScopeError::Cycle { scope: scope.id(), parent: parent.id() }
}

fn keys<const N: usize>() -> [ScopeKey; N] {
    std::array::from_fn(|_| ScopeKey::new())
}

// spec: scope/S11
#[test]
fn a_parent_is_bound_once() {
    let [child, first, second] = keys();
    let binding = child.bind_parent(&first).unwrap();
    assert_eq!(child.bind_parent(&second).unwrap_err(), ScopeError::Bound { scope: child.id() });
    assert_eq!(child.bind_parent(&first).unwrap_err(), ScopeError::Bound { scope: child.id() });
    assert_eq!(child.parent(), Some(first));
    drop(binding);
    assert_eq!(child.bind_parent(&second).unwrap_err(), ScopeError::Bound { scope: child.id() });
}

// spec: scope/S11
#[test]
fn the_binding_moves_the_scope_any_number_of_times() {
    let [child, first, second] = keys();
    let binding = child.bind_parent(&first).unwrap();
    binding.rebind(&second).unwrap();
    assert_eq!(child.parent(), Some(second.clone()));
    binding.rebind(&first).unwrap();
    assert_eq!(child.parent(), Some(first.clone()));
    assert_eq!((first.parent(), second.parent()), (None, None));
}

// spec: scope/S12
#[test]
fn a_cycle_is_refused_and_changes_nothing() {
    let [root, middle, leaf] = keys();
    assert_eq!(root.bind_parent(&root).unwrap_err(), cycle(&root, &root));
    let moves_leaf = leaf.bind_parent(&middle).unwrap();
    let moves_middle = middle.bind_parent(&root).unwrap();
    assert_eq!(root.bind_parent(&middle).unwrap_err(), cycle(&root, &middle));
    assert_eq!(root.bind_parent(&leaf).unwrap_err(), cycle(&root, &leaf));
    assert_eq!(moves_middle.rebind(&leaf).unwrap_err(), cycle(&middle, &leaf));
    assert_eq!(moves_middle.rebind(&middle).unwrap_err(), cycle(&middle, &middle));
    assert_eq!(moves_leaf.rebind(&leaf).unwrap_err(), cycle(&leaf, &leaf));
    assert_eq!(leaf.chain(), [leaf.clone(), middle.clone(), root.clone()]);
    // A refused bind is not a bind: the root is still free.
    let other = ScopeKey::new();
    root.bind_parent(&other).map(drop).unwrap();
    assert_eq!(leaf.chain(), [leaf, middle, root, other]);
}

// spec: scope/S12
#[test]
fn what_was_a_descendant_may_become_the_parent_after_it_moved_away() {
    let [a, b, c] = keys();
    let moves_b = b.bind_parent(&a).unwrap();
    assert_eq!(a.bind_parent(&b).unwrap_err(), cycle(&a, &b));
    moves_b.rebind(&c).unwrap();
    a.bind_parent(&b).map(drop).unwrap();
    assert_eq!(a.chain(), [a.clone(), b.clone(), c.clone()]);
    assert_eq!(moves_b.rebind(&a).unwrap_err(), cycle(&b, &a));
}

// spec: scope/S13
#[test]
fn parent_and_chain_tell_the_way_to_the_root() {
    let [root, middle, leaf] = keys();
    assert_eq!((root.parent(), root.chain()), (None, vec![root.clone()]));
    drop(leaf.bind_parent(&middle).unwrap());
    drop(middle.bind_parent(&root).unwrap());
    assert_eq!((leaf.parent(), middle.parent()), (Some(middle.clone()), Some(root.clone())));
    assert_eq!(leaf.chain(), [leaf.clone(), middle.clone(), root.clone()]);
    assert_eq!(middle.chain(), [middle, root]);
}

// spec: scope/S10
#[test]
#[allow(clippy::mutable_key_type, reason = "a key's identity never changes")]
fn identity_is_all_that_is_compared() {
    let [a, b] = keys();
    assert_eq!(a, a.clone());
    assert_ne!(a, b);
    assert_ne!(a.id(), b.id());
    let set = std::collections::HashSet::from([a.clone(), b, a.clone()]);
    assert_eq!(set.len(), 2);
    assert!(set.contains(&a));
}

/// A chain from a leaf to a root: long enough for two checks of it to overlap.
fn chain() -> (ScopeKey, ScopeKey) {
    let leaf = ScopeKey::new();
    let mut top = leaf.clone();
    for _ in 0..300 {
        let parent = ScopeKey::new();
        drop(top.bind_parent(&parent).unwrap());
        top = parent;
    }
    (leaf, top)
}

// spec: scope/S12
#[test]
fn of_two_threads_that_would_close_a_cycle_together_exactly_one_wins() {
    for _ in 0..300 {
        let [(a_leaf, a_top), (b_leaf, b_top)] = [chain(), chain()];
        let barrier = Barrier::new(2);
        let bind = |child: &ScopeKey, parent: &ScopeKey| {
            barrier.wait();
            child.bind_parent(parent).map(drop)
        };
        let (a_below_b, b_below_a) = thread::scope(|s| {
            let one = s.spawn(|| bind(&a_top, &b_leaf));
            let two = s.spawn(|| bind(&b_top, &a_leaf));
            (one.join().unwrap(), two.join().unwrap())
        });
        match (a_below_b, b_below_a) {
            (Ok(()), Err(refused)) => {
                assert_eq!(refused, cycle(&b_top, &a_leaf));
                assert_eq!((a_top.parent(), b_top.parent()), (Some(b_leaf), None));
            }
            (Err(refused), Ok(())) => {
                assert_eq!(refused, cycle(&a_top, &b_leaf));
                assert_eq!((a_top.parent(), b_top.parent()), (None, Some(a_leaf)));
            }
            both => panic!("not exactly one: {both:?}"),
        }
    }
}

// spec: scope/S11
#[test]
fn of_two_threads_that_bind_one_scope_exactly_one_wins() {
    for _ in 0..2_000 {
        let [child, one, two] = keys();
        let barrier = Barrier::new(2);
        let bind = |parent: &ScopeKey| {
            barrier.wait();
            child.bind_parent(parent).map(drop)
        };
        let (first, second) = thread::scope(|s| {
            let first = s.spawn(|| bind(&one));
            let second = s.spawn(|| bind(&two));
            (first.join().unwrap(), second.join().unwrap())
        });
        let bound = ScopeError::Bound { scope: child.id() };
        match (first, second) {
            (Ok(()), Err(refused)) => assert_eq!((refused, child.parent()), (bound, Some(one))),
            (Err(refused), Ok(())) => assert_eq!((refused, child.parent()), (bound, Some(two))),
            both => panic!("not exactly one: {both:?}"),
        }
    }
}

// spec: scope/S12
#[test]
fn rebinding_threads_never_close_a_cycle() {
    let nodes: [ScopeKey; 4] = keys();
    let parking = ScopeKey::new();
    let moves: Vec<_> = nodes.iter().map(|node| node.bind_parent(&parking).unwrap()).collect();
    let moves = Arc::new(moves);
    thread::scope(|s| {
        for t in 0..2usize {
            let (nodes, moves, parking) = (&nodes, moves.clone(), &parking);
            s.spawn(move || {
                for i in 0..20_000usize {
                    let (child, parent) = ((i * 7 + t) % 4, (i * 13 + t * 3 + i / 5) % 4);
                    let moved = moves[child].rebind(&nodes[parent]);
                    assert!(moved.is_ok() || matches!(moved, Err(ScopeError::Cycle { .. })));
                    // A chain in a circle would have no end.
                    assert_eq!(nodes[child].chain().last(), Some(parking));
                    if i % 11 == 0 {
                        moves[parent].rebind(parking).unwrap();
                    }
                }
            });
        }
    });
    for node in &nodes {
        let chain = node.chain();
        assert!(chain.len() <= 5, "{chain:?}");
        assert_eq!(chain.last(), Some(&parking));
    }
}

// spec: scope/S15
#[test]
fn a_chain_of_a_hundred_thousand_parents_is_walked_and_dropped_without_recursion() {
    let leaf = ScopeKey::new();
    let mut top = leaf.clone();
    // From the leaf upwards: each new parent has none itself, so its check is short.
    for _ in 0..100_000 {
        let parent = ScopeKey::new();
        drop(top.bind_parent(&parent).unwrap());
        top = parent;
    }
    let small = thread::Builder::new().stack_size(128 * 1024).spawn(move || {
        assert_eq!(leaf.chain().len(), 100_001);
        assert_eq!(top.bind_parent(&leaf).unwrap_err(), cycle(&top, &leaf));
        drop(top);
        // The leaf alone keeps its ancestors.
        assert_eq!(leaf.chain().len(), 100_001);
        drop(leaf);
    });
    small.unwrap().join().unwrap();
}

// spec: scope/S15
#[tokio::test]
async fn a_dispatch_walks_a_hundred_thousand_parents_without_recursion() {
    let app = App::new().unwrap();
    let leaf = ScopeKey::new();
    let root = app.scope().unwrap();
    let mut top = leaf.clone();
    for _ in 0..100_000 {
        let parent = ScopeKey::new();
        drop(top.bind_parent(&parent).unwrap());
        top = parent;
    }
    drop(top.bind_parent(root.key()).unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    root.context().on(PING).run(move |n| sink.lock().unwrap().push(*n)).unwrap();
    app.at(&leaf).emit(PING, &5);
    assert_eq!(*heard.lock().unwrap(), [5]);
}

// spec: scope/S15
#[test]
fn a_long_chain_shared_by_two_leaves_is_dropped_by_two_threads_at_once() {
    for _ in 0..50 {
        let [one, two, shared] = keys();
        drop(one.bind_parent(&shared).unwrap());
        drop(two.bind_parent(&shared).unwrap());
        let mut top = shared;
        for _ in 0..2_000 {
            let parent = ScopeKey::new();
            drop(top.bind_parent(&parent).unwrap());
            top = parent;
        }
        drop(top);
        let barrier = Arc::new(Barrier::new(2));
        let threads = [one, two].map(|leaf| {
            let barrier = barrier.clone();
            let small = thread::Builder::new().stack_size(64 * 1024);
            small
                .spawn(move || {
                    barrier.wait();
                    drop(leaf);
                })
                .unwrap()
        });
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
