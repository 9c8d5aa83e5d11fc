//! Schedules of scopes: their layers, their links and their closing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis_shuttle::{App, Context, Emit, Layer, Layers, NamedEntries, ScopeError, ScopeKey};
use shuttle::{future::block_on, thread};
use support::{Capture, Count, Watch, explore, step};

const TICK: Emit<u32> = Emit::new("tick");

#[derive(Default)]
struct Table(NamedEntries<u32>);

impl Layer for Table {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn layers(changes: &Count) -> Layers<Table> {
    let changes = changes.clone();
    let told = move |_: &Context| {
        changes.add();
        Ok(())
    };
    Layers::new(|_| Table::default(), told)
}

// spec: design/P1
#[test]
fn layer_of_a_scope_is_not_dropped_while_another_fills_it() {
    explore("layers effect x effect", || {
        let app = App::new().unwrap();
        let changes = Count::default();
        let layers = layers(&changes);
        let scope = app.scope().unwrap();
        let key = scope.key().clone();
        let register = |name: &'static str, value: u32| {
            let (ctx, layers, key) = (scope.context().clone(), layers.clone(), key.clone());
            thread::spawn(move || {
                let effect = layers.effect(&ctx, name, |table| table.0.insert(name, value)).unwrap();
                let seen = layers.merge(Some(&key), |table| &table.0);
                block_on(effect.dispose());
                let gone = layers.merge(Some(&key), |table| &table.0);
                let has = |view: &[(std::sync::Arc<str>, u32)]| {
                    view.iter().any(|(n, v)| &**n == name && *v == value)
                };
                (has(&seen), has(&gone))
            })
        };
        let both = [register("a", 1), register("b", 2)].map(|thread| thread.join().unwrap());
        assert_eq!(both, [(true, false); 2], "(seen while registered, seen afterwards)");
        assert!(layers.peek(&key).is_none(), "an empty layer stays");
        assert_eq!(changes.get(), 4);
        block_on(app.shutdown());
    });
}

// spec: design/P1
#[test]
fn of_two_who_register_one_name_one_is_refused_and_nothing_is_left() {
    explore("layers effect x effect of one name", || {
        let app = App::new().unwrap();
        let layers = layers(&Count::default());
        let scope = app.scope().unwrap();
        let key = scope.key().clone();
        let register = |value: u32| {
            let (ctx, layers) = (scope.context().clone(), layers.clone());
            thread::spawn(move || {
                let effect = layers.effect(&ctx, "name", |table| table.0.insert("name", value));
                effect.is_ok()
            })
        };
        let both = [register(1), register(2)].map(|thread| thread.join().unwrap());
        assert_eq!(both.iter().filter(|well| **well).count(), 1, "{both:?}");
        let winner = if both[0] { 1 } else { 2 };
        assert_eq!(layers.peek(&key).unwrap().0.get("name"), Some(winner));
        assert!(block_on(scope.close()).is_clean());
        assert!(layers.peek(&key).is_none());
        block_on(app.shutdown());
    });
}

// spec: design/P1
#[test]
fn closed_scope_has_neither_listeners_nor_layers() {
    explore("scope close x emit at it x layers effect", || {
        let app = App::new().unwrap();
        let layers = layers(&Count::default());
        let (watch, above) = (Watch::new(), Watch::new());
        let parent = app.scope().unwrap();
        let scope = app.scope_under(parent.key()).unwrap();
        let key = scope.key().clone();
        let listen = |ctx: &Context, watch: &std::sync::Arc<Watch>| {
            let listener = ctx.on(TICK).with(watch.capture()).run(|capture: &Capture, _| {
                let _run = capture.run();
                step();
            });
            listener.unwrap();
        };
        listen(scope.context(), &watch);
        listen(parent.context(), &above);
        let emitter = {
            let (ctx, key): (Context, _) = (app.clone(), key.clone());
            thread::spawn(move || ctx.at(&key).emit(TICK, &1))
        };
        let registering = {
            let (ctx, layers) = (scope.context().clone(), layers.clone());
            thread::spawn(move || layers.effect(&ctx, "late", |table| table.0.insert("late", 1)).is_ok())
        };
        assert!(block_on(scope.close()).is_clean());
        watch.over();
        let left = layers.peek(&key).is_some_and(|layer| !layer.is_empty());
        app.at(&key).emit(TICK, &2);
        emitter.join().unwrap();
        registering.join().unwrap();
        assert!(!left || layers.peek(&key).is_none());
        assert!(layers.peek(&key).is_none(), "what came late is taken back");
        assert_eq!(above.started(), 2, "the parent hears all of it");
        block_on(app.shutdown());
        above.over();
        watch.verify();
        above.verify();
    });
}

// spec: design/P1
#[test]
fn two_bindings_close_no_cycle_together() {
    explore("bind x bind", || {
        let (a, b) = (ScopeKey::new(), ScopeKey::new());
        let bind = |child: &ScopeKey, parent: &ScopeKey| {
            let (child, parent) = (child.clone(), parent.clone());
            thread::spawn(move || child.bind_parent(&parent).map(drop))
        };
        let both = [bind(&a, &b), bind(&b, &a)].map(|thread| thread.join().unwrap());
        let refused = both.iter().filter(|result| matches!(result, Err(ScopeError::Cycle { .. }))).count();
        assert_eq!((refused, both.iter().filter(|result| result.is_ok()).count()), (1, 1), "{both:?}");
        assert_eq!(a.chain().len() + b.chain().len(), 3);
    });
}

#[test]
fn rebindings_close_no_cycle_and_a_dispatch_meanwhile_ends() {
    explore("rebind x rebind x emit", || {
        let app = App::new().unwrap();
        let keys = [ScopeKey::new(), ScopeKey::new(), ScopeKey::new()];
        let [a, b, root] = &keys;
        let (of_a, of_b) = (a.bind_parent(root).unwrap(), b.bind_parent(root).unwrap());
        let heard = Count::default();
        let scope = app.scope_for(root).unwrap();
        scope.context().on(TICK).with(heard.clone()).run(|heard, _| heard.add()).unwrap();
        let (to_a, to_b) = (a.clone(), b.clone());
        let first = thread::spawn(move || of_a.rebind(&to_b).is_ok());
        let second = thread::spawn(move || of_b.rebind(&to_a).is_ok());
        app.at(a).emit(TICK, &1);
        let both = [first.join().unwrap(), second.join().unwrap()];
        assert_eq!(both.iter().filter(|well| **well).count(), 1, "{both:?}");
        assert_eq!((heard.get(), a.chain().len() + b.chain().len()), (1, 5));
        block_on(app.shutdown());
    });
}
