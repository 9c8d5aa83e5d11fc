//! Runtimes, and the plugins that are loaded and unloaded.

use std::hint::black_box;
use std::sync::Arc;

use cordis::{App, BoxError, Context, Emit, Fiber, Handle, Key, State, define};
use tokio::runtime::{Builder, Runtime};

/// The events that a plugin of ten listeners hears.
pub const TEN: [Emit<u64>; 10] = [
    Emit::new("ten/0"),
    Emit::new("ten/1"),
    Emit::new("ten/2"),
    Emit::new("ten/3"),
    Emit::new("ten/4"),
    Emit::new("ten/5"),
    Emit::new("ten/6"),
    Emit::new("ten/7"),
    Emit::new("ten/8"),
    Emit::new("ten/9"),
];

/// What the loaded and unloaded plugin provides.
const MINE: Key<u64> = Key::new("mine");

/// A runtime of one thread.
pub fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// A runtime of two workers.
pub fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

/// An app on `runtime`.
pub fn app_on(runtime: &Runtime) -> App {
    let _inside = runtime.enter();
    App::new().unwrap()
}

/// Loads `count` plugins of ten listeners each, on the same ten events.
pub async fn neighbours(ctx: &Context, count: usize) {
    for _ in 0..count {
        let plugin = define("neighbour").run(async |ctx: &Context, _: (), _: &()| listen_to_ten(ctx));
        ctx.plugin(plugin, ()).unwrap().until(State::Active).await;
    }
}

/// Loads a plugin with ten listeners and a service, and unloads it again.
pub async fn load_and_unload(ctx: &Context) {
    let plugin = define("mine").run(async |ctx: &Context, _: (), _: &()| {
        listen_to_ten(ctx)?;
        ctx.provide(MINE, Arc::new(1))?;
        Ok(())
    });
    let fiber = ctx.plugin(plugin, ()).unwrap();
    fiber.until(State::Active).await;
    fiber.dispose().await;
}

fn listen_to_ten(ctx: &Context) -> Result<(), BoxError> {
    for key in TEN {
        ctx.on(key).run(touch)?;
    }
    Ok(())
}

/// Loads the smallest plugin there is.
pub fn load_trivial(ctx: &Context) -> Fiber {
    ctx.plugin(define("trivial").run(async |_: &Context, _: (), _: &()| Ok(())), ()).unwrap()
}

/// Loads a plugin that needs `needed` and looks at it.
pub fn load_dependant(ctx: &Context, needed: Key<u64>) -> Fiber {
    let plugin = define("dependant").needs(needed).run(async |_: &Context, service: Handle<u64>, _: &()| {
        black_box(*service.get()?);
        Ok(())
    });
    ctx.plugin(plugin, ()).unwrap()
}

/// Loads a plugin that needs one service and then provides another.
pub fn load_link(ctx: &Context, needed: Key<u64>, provided: Key<u64>) -> Fiber {
    let plugin =
        define("link").needs(needed).run(async |ctx: &Context, _: Handle<u64>, provided: &Key<u64>| {
            ctx.provide(*provided, Arc::new(1))?;
            Ok(())
        });
    ctx.plugin(plugin, provided).unwrap()
}

/// The cheapest listener that the compiler cannot leave out.
pub fn touch(payload: &u64) {
    black_box(payload);
}
