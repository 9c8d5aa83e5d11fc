//! Changes of layered registries: their order, what is told, and what remains when something fails.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{
    AnonymousEntries, App, BoxError, Context, Duplicate, Effect, Layer, LayerError, Layers, NamedEntries,
    ScopeKey, keys::ERROR,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};
use support_scopes::Log;

#[derive(Default)]
struct Tables {
    named: NamedEntries<u32>,
    more: AnonymousEntries<u32>,
}

impl Layer for Tables {
    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.more.is_empty()
    }
}

fn silent() -> Layers<Tables> {
    Layers::new(|_| Tables::default(), |_| Ok(()))
}

/// A store that tells `log` of each change, and what its scoped layer looks like at that time.
fn telling(log: &Log, scope: &ScopeKey) -> Layers<Tables> {
    let slot: Arc<OnceLock<Layers<Tables>>> = Arc::default();
    let (log, key, own) = (log.clone(), scope.clone(), slot.clone());
    let layers = Layers::new(
        |_| Tables::default(),
        move |_| {
            let layer = own.get().and_then(|layers: &Layers<Tables>| layers.peek(&key));
            log.say(format!("told {:?}", layer.map(|layer| layer.named.keys())));
            Ok(())
        },
    );
    let _ = slot.set(layers.clone());
    layers
}

fn insert(
    layers: &Layers<Tables>,
    ctx: &Context,
    name: &'static str,
) -> Result<Effect, LayerError<Duplicate>> {
    layers.effect(ctx, "insert", |tables| tables.named.insert(name, 1))
}

/// Runs `job` on a thread of its own: what it waits for in vain fails the test instead of hanging it.
fn in_time<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let _inside = runtime.enter();
        done.send(job())
    });
    wait.recv_timeout(Duration::from_secs(60)).expect("a deadlock, or a panic")
}

// spec: scope/S29
#[tokio::test]
async fn action_then_told_and_undone_then_told() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let layers = telling(&log, scope.key());
    let (said, undone) = (log.clone(), log.clone());
    let effect = layers
        .effect(scope.context(), "change", move |tables| {
            said.say("action");
            let entry = tables.named.insert("a", 1)?;
            Ok::<_, Duplicate>(move || {
                entry.undo();
                undone.say("undo");
            })
        })
        .unwrap();
    assert_eq!(log.take(), ["action", r#"told Some(["a"])"#]);
    effect.dispose().await;
    // The layer is gone by the time the change is told.
    assert_eq!(log.take(), ["undo", "told None"]);
    effect.dispose().await;
    assert_eq!(log.take(), [""; 0]);
}

// spec: scope/S33
#[tokio::test]
async fn a_quiet_change_is_told_neither_when_made_nor_when_undone() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let layers = telling(&log, scope.key());
    let effect =
        layers.effect_quietly(scope.context(), "quiet", |tables| tables.named.insert("a", 1)).unwrap();
    assert!(layers.peek(scope.key()).is_some());
    effect.dispose().await;
    assert!(layers.peek(scope.key()).is_none());
    assert_eq!(log.take(), [""; 0]);
}

// spec: scope/S31, cordis-core/C71
#[tokio::test]
async fn a_change_is_an_effect_of_its_context_with_its_label() {
    let app = App::new().unwrap();
    let log = Log::default();
    let layers = silent();
    let leaves = |what: &'static str| {
        let log = log.clone();
        move || log.say(what)
    };
    let (first, last, store) = (leaves("first"), leaves("last"), layers.clone());
    let middle = leaves("middle");
    let composite = app
        .effect_with("composite", async move |e| {
            e.effect("first", async move || first())?;
            store.effect(&e, "middle", |tables| {
                let entry = tables.more.append(1);
                Ok::<_, Duplicate>(move || {
                    entry.undo();
                    middle();
                })
            })?;
            e.effect("last", async move || last())?;
            Ok(())
        })
        .await
        .unwrap();
    let tree = app.inspect().fiber.effects.clone();
    let labels: Vec<_> = tree[0].children.iter().map(|effect| effect.label.as_str()).collect();
    assert_eq!((tree[0].label.as_str(), labels), ("composite", vec!["first", "middle", "last"]));
    composite.dispose().await;
    assert_eq!(log.take(), ["last", "middle", "first"]);
    assert!(layers.global().is_empty());
}

// spec: scope/S32
#[tokio::test]
async fn a_layer_goes_when_all_of_its_tables_are_empty() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let named = insert(&layers, scope.context(), "a").unwrap();
    let more =
        layers.effect(scope.context(), "more", |tables| Ok::<_, Duplicate>(tables.more.append(1))).unwrap();
    let layer = layers.peek(scope.key()).unwrap();
    named.dispose().await;
    assert!(Arc::ptr_eq(&layers.peek(scope.key()).unwrap(), &layer));
    insert(&layers, scope.context(), "b").unwrap().dispose().await;
    assert!(Arc::ptr_eq(&layers.peek(scope.key()).unwrap(), &layer));
    more.dispose().await;
    assert!(layers.peek(scope.key()).is_none());
    insert(&layers, scope.context(), "c").unwrap();
    assert!(!Arc::ptr_eq(&layers.peek(scope.key()).unwrap(), &layer));
}

// spec: scope/S30
#[tokio::test]
async fn a_failing_action_drops_the_layer_made_for_it_and_keeps_another() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let layers = telling(&log, scope.key());
    let fail = |name: &'static str| {
        let table = NamedEntries::<u32>::new();
        let _entry = table.insert(name, 1).unwrap();
        let refused = table.insert(name, 2).map(drop).unwrap_err();
        match layers.effect(scope.context(), "fails", |_| Err::<fn(), _>(refused)) {
            Err(LayerError::Action(error)) => error.name,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fail("x"), "x");
    assert!(layers.peek(scope.key()).is_none());
    insert(&layers, scope.context(), "a").unwrap();
    let layer = layers.peek(scope.key()).unwrap();
    log.take();
    assert_eq!(fail("y"), "y");
    assert!(Arc::ptr_eq(&layers.peek(scope.key()).unwrap(), &layer));
    assert_eq!(layer.named.keys().len(), 1);
    // Nothing has changed, so nothing is told.
    assert_eq!(log.take(), [""; 0]);
}

// spec: scope/S30
#[tokio::test]
async fn a_panicking_action_drops_the_layer_made_for_it_and_locks_nobody_out() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let panicking = || {
        let action = |_: &Tables| -> Result<fn(), Duplicate> { panic!("action") };
        catch_unwind(AssertUnwindSafe(|| layers.effect(scope.context(), "panics", action))).map(drop)
    };
    assert!(panicking().is_err());
    assert!(layers.peek(scope.key()).is_none(), "an empty layer is left");
    let kept = insert(&layers, scope.context(), "a").unwrap();
    assert!(panicking().is_err());
    assert_eq!(layers.peek(scope.key()).unwrap().named.values(), [1]);
    kept.dispose().await;
    assert!(layers.peek(scope.key()).is_none());
}

// spec: scope/S30
#[tokio::test]
async fn a_panicking_factory_stores_nothing_and_locks_nobody_out() {
    let app = App::new().unwrap();
    let fails = Arc::new(AtomicBool::new(true));
    let fail = fails.clone();
    let layers = Layers::new(
        move |scope: Option<&ScopeKey>| {
            assert!(scope.is_none() || !fail.load(SeqCst), "factory");
            Tables::default()
        },
        |_| Ok(()),
    );
    let scope = app.scope().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| insert(&layers, scope.context(), "a"))).is_err());
    assert!(layers.peek(scope.key()).is_none());
    fails.store(false, SeqCst);
    insert(&layers, scope.context(), "a").unwrap();
    assert_eq!(layers.peek(scope.key()).unwrap().named.values(), [1]);
}

// spec: scope/S30
#[tokio::test]
async fn a_refused_change_is_taken_back_and_that_is_told_too() {
    let app = App::new().unwrap();
    let log = Log::default();
    let refuse = Arc::new(AtomicBool::new(true));
    let (said, refused) = (log.clone(), refuse.clone());
    let layers = Layers::new(
        |_| Tables::default(),
        move |_| {
            said.say("told");
            if refused.swap(false, SeqCst) { Err("no".into()) } else { Ok(()) }
        },
    );
    let scope = app.scope().unwrap();
    let error = insert(&layers, scope.context(), "a").unwrap_err();
    assert!(matches!(&error, LayerError::Refused(cause) if cause.to_string() == "no"), "{error:?}");
    assert_eq!(log.take(), ["told", "told"]);
    assert!(layers.peek(scope.key()).is_none());
    assert_eq!(app.inspect().fiber.effects[0].fiber.as_ref().unwrap().effects, []);
    insert(&layers, scope.context(), "a").unwrap();
    assert_eq!(layers.peek(scope.key()).unwrap().named.values(), [1]);
}

// spec: scope/S30
#[tokio::test]
async fn a_change_whose_telling_panics_is_taken_back() {
    let app = App::new().unwrap();
    let panics = Arc::new(AtomicBool::new(true));
    let panicked = panics.clone();
    let tell = move |_: &Context| -> Result<(), BoxError> {
        assert!(!panicked.swap(false, SeqCst), "telling");
        Ok(())
    };
    let layers = Layers::new(|_| Tables::default(), tell);
    let scope = app.scope().unwrap();
    let told = catch_unwind(AssertUnwindSafe(|| insert(&layers, scope.context(), "a")));
    assert!(!matches!(told, Ok(Ok(_))));
    assert!(layers.peek(scope.key()).is_none(), "the change is still there");
    assert_eq!(app.inspect().fiber.effects[0].fiber.as_ref().unwrap().effects, []);
}

// spec: scope/S29, cordis-core/C140
#[tokio::test]
async fn a_refusal_of_the_undoing_is_reported_and_stops_nothing() {
    let app = App::new().unwrap();
    let log = Log::default();
    let refuse = Arc::new(AtomicBool::new(false));
    let (said, refused) = (log.clone(), refuse.clone());
    let refusing = move |_: &Context| if refused.load(SeqCst) { Err("too late".into()) } else { Ok(()) };
    let layers = Layers::new(|_| Tables::default(), refusing);
    app.on(ERROR).run(move |report| said.say(report)).unwrap();
    let scope = app.scope().unwrap();
    insert(&layers, scope.context(), "a").unwrap();
    insert(&layers, scope.context(), "b").unwrap();
    refuse.store(true, SeqCst);
    scope.close().await;
    assert!(layers.peek(scope.key()).is_none());
    let line = format!("`insert` of `scope#{}`: too late", scope.fiber().uid());
    assert_eq!(log.take(), [line.clone(), line]);
}

// spec: scope/S8
#[tokio::test]
async fn a_closed_scope_changes_no_layer() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let layers = telling(&log, scope.key());
    scope.close().await;
    let said = log.clone();
    let refused = layers.effect(scope.context(), "late", move |tables| {
        said.say("action");
        tables.named.insert("a", 1)
    });
    assert!(matches!(refused, Err(LayerError::Inactive(_))));
    assert!(layers.peek(scope.key()).is_none());
    assert_eq!(log.take(), [""; 0]);
}

// spec: scope/S30
#[tokio::test]
async fn a_change_of_a_scope_that_its_own_action_closes_is_taken_back() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let refused = layers.effect(scope.context(), "closes", |tables| {
        scope.fiber().cancel();
        tables.named.insert("a", 1)
    });
    assert!(matches!(refused, Err(LayerError::Inactive(_))), "{refused:?}");
    assert!(layers.peek(scope.key()).is_none());
    scope.close().await;
}

// spec: scope/S34
#[tokio::test]
async fn an_old_undo_leaves_a_later_entry_of_the_name_alone() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let first = insert(&layers, scope.context(), "a").unwrap();
    first.dispose().await;
    let second = insert(&layers, scope.context(), "a").unwrap();
    first.dispose().await;
    first.cancel();
    assert_eq!(layers.peek(scope.key()).unwrap().named.keys().len(), 1);
    second.dispose().await;
    assert!(layers.peek(scope.key()).is_none());
}

// spec: design/P3
#[tokio::test]
async fn an_action_may_change_another_layer_of_the_same_store() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let (store, root, ctx) = (layers.clone(), app.root(), scope.context().clone());
    in_time(move || {
        let effect = store.effect(&ctx, "outer", |tables| {
            insert(&store, &root, "global").unwrap();
            insert(&store, &ctx, "own").unwrap();
            tables.named.insert("outer", 1)
        });
        effect.unwrap();
    });
    assert_eq!(layers.peek(scope.key()).unwrap().named.keys().len(), 2);
    assert_eq!(layers.global().named.keys().len(), 1);
}

// spec: design/P3
#[tokio::test]
async fn an_undo_may_change_another_layer_of_the_same_store() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let (store, root) = (layers.clone(), app.root());
    let effect = layers
        .effect(scope.context(), "outer", move |tables| {
            let entry = tables.named.insert("outer", 1)?;
            Ok::<_, Duplicate>(move || {
                entry.undo();
                insert(&store, &root, "left behind").unwrap();
            })
        })
        .unwrap();
    in_time(move || effect.cancel());
    app.quiet().await;
    assert_eq!(layers.global().named.keys().len(), 1);
    assert!(layers.peek(scope.key()).is_none());
}

// spec: design/P3
#[tokio::test]
async fn an_observer_of_changes_may_change_a_layer() {
    let app = App::new().unwrap();
    let slot: Arc<OnceLock<Layers<Tables>>> = Arc::default();
    let (own, root, first) = (slot.clone(), app.root(), AtomicBool::new(true));
    let again = move |_: &Context| {
        if first.swap(false, SeqCst) {
            insert(own.get().unwrap(), &root, "again")?;
        }
        Ok(())
    };
    let layers = Layers::new(|_| Tables::default(), again);
    assert!(slot.set(layers.clone()).is_ok());
    let (store, ctx) = (layers.clone(), app.root());
    in_time(move || drop(insert(&store, &ctx, "first").unwrap()));
    assert_eq!(layers.global().named.keys().len(), 2);
}

// spec: scope/S32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_that_empty_and_fill_a_layer_lose_nothing() {
    let app = App::new().unwrap();
    let layers = silent();
    let key = ScopeKey::new();
    let scopes = [app.scope_for(&key).unwrap(), app.scope_for(&key).unwrap()];
    let threads = ["a", "b"].into_iter().zip(&scopes).map(|(name, scope)| {
        let (layers, ctx, key) = (layers.clone(), scope.context().clone(), key.clone());
        tokio::spawn(async move {
            for _ in 0..2_000 {
                let effect = insert(&layers, &ctx, name).unwrap();
                let layer = layers.peek(&key).expect("an entry is in it");
                assert!(layer.named.contains(name));
                effect.dispose().await;
                assert!(layers.peek(&key).is_none_or(|layer| !layer.named.contains(name)));
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.await.unwrap();
    }
    assert!(layers.peek(&key).is_none());
}

/// Says when the value that it belongs to is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

// spec: design/P1
#[tokio::test]
async fn what_an_action_captured_is_dropped_with_its_effect() {
    let app = App::new().unwrap();
    let layers = silent();
    let scope = app.scope().unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let held = Mutex::new(Dropped(dropped.clone()));
    layers
        .effect(scope.context(), "holds", |tables| {
            let entry = tables.named.insert("a", 1)?;
            Ok::<_, Duplicate>(move || {
                drop(held);
                entry.undo();
            })
        })
        .unwrap();
    assert_eq!(dropped.load(SeqCst), 0);
    scope.close().await;
    assert_eq!(dropped.load(SeqCst), 1);
}
