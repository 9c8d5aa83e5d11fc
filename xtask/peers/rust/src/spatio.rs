//! `spatiotemporal`: components with reversible effects and typed keys, on one thread.
//!
//! It has no events. Where a work speaks of listeners, a component puts a callback into a table
//! of its own and has the step undone on unload, which is this peer's idiom for registrations.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::rc::Rc;

use spatiotemporal::{App, Component, Context, FiberHandle, Key, KeyId, RealmId, Result, State, Steps};

use crate::{Outcome, Peer, Plan, live, size, time};

pub const PEER: Peer = Peer {
    name: "spatiotemporal 0.5.0",
    works: &[
        "get",
        "load/1",
        "load/100",
        "load/1000",
        "load/10000",
        "swap/250",
        "swap/1000",
        "swap/4000",
        "chain/10000",
        "memory",
        "leak",
    ],
    run,
};

// ---------------------------------------------------------------- keys and components

trait Svc {
    fn value(&self) -> u64;
}

impl Svc for u64 {
    fn value(&self) -> u64 {
        *self
    }
}

/// One of two keys. A chain uses both in turn, each link in a realm of its own.
enum Even {}
enum Odd {}

impl Key for Even {
    type Api = dyn Svc;
    const NAME: &'static str = "even";
}

impl Key for Odd {
    type Api = dyn Svc;
    const NAME: &'static str = "odd";
}

/// A component made of its requirement and a function.
struct Fun<F> {
    needs: Option<KeyId>,
    apply: F,
}

impl<F: Fn(&Context, &Steps) -> Result<()> + 'static> Component for Fun<F> {
    fn name(&self) -> &str {
        "plugin"
    }

    fn inject(&self) -> Vec<KeyId> {
        self.needs.into_iter().collect()
    }

    fn apply(&self, ctx: Context, steps: Steps) -> Pin<Box<dyn Future<Output = Result<()>> + '_>> {
        Box::pin(async move { (self.apply)(&ctx, &steps) })
    }
}

fn load(
    ctx: &Context,
    needs: Option<KeyId>,
    apply: impl Fn(&Context, &Steps) -> Result<()> + 'static,
) -> FiberHandle {
    ctx.use_component(Rc::new(Fun { needs, apply }))
}

type Listener = Box<dyn Fn(u64)>;

/// Tables of callbacks for ten names, kept by the application.
#[derive(Default)]
struct Listeners {
    next: Cell<u64>,
    tables: [RefCell<HashMap<u64, Listener>>; 10],
}

fn listen_to_ten(listeners: &Rc<Listeners>, steps: &Steps) -> Result<()> {
    for event in 0..10 {
        let id = listeners.next.replace(listeners.next.get() + 1);
        let call: Listener = Box::new(|payload| {
            black_box(payload);
        });
        listeners.tables[event].borrow_mut().insert(id, call);
        let listeners = listeners.clone();
        steps.step_sync(move || {
            listeners.tables[event].borrow_mut().remove(&id);
        })?;
    }
    Ok(())
}

// ---------------------------------------------------------------- works

fn run(work: &str, plan: &Plan) -> Outcome {
    let app = App::new();
    match work.split('/').next().unwrap_or(work) {
        "get" => get(app, plan),
        "load" => load_beside(app, size(work), plan),
        "swap" => swap(app, size(work), plan),
        "chain" => chain(app, size(work), plan),
        "memory" => memory(app, plan),
        "leak" => leak(app, plan),
        _ => panic!("no such work"),
    }
}

fn get(mut app: App, plan: &Plan) -> Outcome {
    let root = app.root();
    let _provider = load(&root, None, |ctx, _| {
        ctx.set::<Even>(Rc::new(1));
        Ok(())
    });
    app.settle();
    let mut ctx = root;
    for level in 0..5 {
        let needs = (level == 0).then(KeyId::of::<Even>);
        let handle = load(&ctx, needs, |_, _| Ok(()));
        app.settle();
        assert_eq!(handle.state(), State::Active);
        ctx = handle.context();
    }
    let resolve = plan.ns(1, |n| {
        time(|| {
            for _ in 0..n {
                black_box(black_box(&ctx).resolve::<Even>().expect("a service").value());
            }
        })
    });
    let lookup = plan.ns(1, |n| {
        time(|| {
            for _ in 0..n {
                black_box(black_box(&ctx).lookup::<Even>().expect("a service").value());
            }
        })
    });
    Outcome::NsWith(resolve, "undeclared_ns", lookup.median)
}

/// Loads the plugin that `load` and `leak` are about, and unloads it again.
fn cycle(app: &mut App, root: &Context, listeners: &Rc<Listeners>) {
    let listeners = listeners.clone();
    let handle = load(root, None, move |ctx, steps| {
        listen_to_ten(&listeners, steps)?;
        ctx.set::<Even>(Rc::new(1));
        Ok(())
    });
    app.settle();
    assert_eq!(handle.state(), State::Active);
    app.block_on(handle.dispose());
    // Lets the executor drop the finished tasks.
    app.settle();
    assert_eq!(handle.state(), State::Inactive);
}

fn load_beside(mut app: App, neighbours: usize, plan: &Plan) -> Outcome {
    let root = app.root();
    let listeners = Rc::new(Listeners::default());
    for _ in 0..neighbours {
        let listeners = listeners.clone();
        let handle = load(&root, None, move |_, steps| listen_to_ten(&listeners, steps));
        app.settle();
        assert_eq!(handle.state(), State::Active);
    }
    let stat = plan.ns(1, |n| {
        time(|| {
            for _ in 0..n {
                cycle(&mut app, &root, &listeners);
            }
        })
    });
    for table in &listeners.tables {
        assert_eq!(table.borrow().len(), neighbours);
        table.borrow().values().for_each(|call| call(1));
    }
    Outcome::Ns(stat)
}

fn swap(mut app: App, dependants: usize, plan: &Plan) -> Outcome {
    let root = app.root();
    let new_provider = || {
        load(&root, None, |ctx, _| {
            ctx.set::<Even>(Rc::new(1));
            Ok(())
        })
    };
    let applied = Rc::new(Cell::new(0));
    let mut provider = new_provider();
    let handles: Vec<_> = (0..dependants)
        .map(|_| {
            let applied = applied.clone();
            load(&root, Some(KeyId::of::<Even>()), move |ctx, _| {
                black_box(ctx.resolve::<Even>()?.value());
                applied.set(applied.get() + 1);
                Ok(())
            })
        })
        .collect();
    app.settle();
    let mut rounds = 1;
    assert_eq!(applied.get(), dependants);
    Outcome::Ns(plan.ns(dependants, |n| {
        time(|| {
            for _ in 0..n {
                app.block_on(provider.dispose());
                provider = new_provider();
                app.settle();
                rounds += 1;
                assert_eq!(applied.get(), rounds * dependants);
                assert!(handles.iter().all(|handle| handle.state() == State::Active));
            }
        })
    }))
}

fn chain(app: App, links: usize, plan: &Plan) -> Outcome {
    let root = app.root();
    let app = RefCell::new(app);
    // Link i needs one key in realm i and sets the other in realm i + 1.
    let realms: Vec<RealmId> = (0..=links).map(|_| root.new_realm()).collect();
    let handles: Vec<_> = realms
        .windows(2)
        .enumerate()
        .map(|(i, pair)| {
            if i % 2 == 0 {
                let ctx = root.isolate_in::<Even>(pair[0]).isolate_in::<Odd>(pair[1]);
                load(&ctx, Some(KeyId::of::<Even>()), |ctx, _| {
                    ctx.set::<Odd>(Rc::new(1));
                    Ok(())
                })
            } else {
                let ctx = root.isolate_in::<Odd>(pair[0]).isolate_in::<Even>(pair[1]);
                load(&ctx, Some(KeyId::of::<Odd>()), |ctx, _| {
                    ctx.set::<Even>(Rc::new(1));
                    Ok(())
                })
            }
        })
        .collect();
    app.borrow_mut().settle();
    let all_are = |state| assert!(handles.iter().all(|handle| handle.state() == state));
    all_are(State::Inactive);

    let first = root.isolate_in::<Even>(realms[0]);
    let base = RefCell::new(None);
    let up = || {
        time(|| {
            base.replace(Some(load(&first, None, |ctx, _| {
                ctx.set::<Even>(Rc::new(1));
                Ok(())
            })));
            app.borrow_mut().settle();
            all_are(State::Active);
        })
    };
    let down = || {
        time(|| {
            let handle = base.take().expect("a base");
            app.borrow_mut().block_on(handle.dispose());
            app.borrow_mut().settle();
            all_are(State::Inactive);
        })
    };
    plan.chain(up, down)
}

fn memory(mut app: App, plan: &Plan) -> Outcome {
    let root = app.root();
    let mut handles = Vec::with_capacity(plan.population() + 1);
    handles.push(load(&root, None, |_, _| Ok(())));
    app.settle();
    let before = live();
    for _ in 0..plan.population() {
        handles.push(load(&root, None, |_, _| Ok(())));
        app.settle();
    }
    let bytes = live() - before;
    assert!(handles.iter().all(|handle| handle.state() == State::Active));
    Outcome::Bytes(bytes as f64 / plan.population() as f64)
}

fn leak(mut app: App, plan: &Plan) -> Outcome {
    let root = app.root();
    let listeners = Rc::new(Listeners::default());
    for _ in 0..plan.population() / 10 {
        cycle(&mut app, &root, &listeners);
    }
    let before = live();
    for _ in 0..plan.population() {
        cycle(&mut app, &root, &listeners);
    }
    Outcome::Bytes((live() - before) as f64 / plan.population() as f64)
}
