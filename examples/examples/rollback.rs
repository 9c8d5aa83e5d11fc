//! Whatever a plugin registers goes with it: newest first, each step awaited, until nothing of it runs any more.

use std::sync::Arc;
use std::time::Duration;

use cordis::{App, BoxError, Context, Emit, Key, Plugin, define};

/// A line for the log.
const LINE: Emit<&'static str> = Emit::new("log/line");
/// How many lines are kept.
const LIMIT: Key<usize> = Key::new("log/limit");

/// Says so when it is dropped.
struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        println!("  dropped: {}", self.0);
    }
}

/// One of everything that a plugin can own.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("log").run(apply)
}

async fn apply(ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
    ctx.effect("open file", async || println!("  undone: open file"))?;
    ctx.on(LINE).with(Noisy("what a listener was given")).run(|_, line| println!("  heard: {line}"))?;
    ctx.provide(LIMIT, Arc::new(100))?;
    let inside_of_task = Noisy("what a task held");
    ctx.spawn("writer", async move {
        let _held = inside_of_task;
        std::future::pending::<()>().await;
    })?;
    ctx.interval(Duration::from_secs(3600), || println!("  never: an hour is long"))?;
    ctx.plugin(define("child").run(child), ())?.ready().await?;
    ctx.effect_with("rotate", async |rotate| {
        rotate.on(LINE).run(|line| println!("  heard too: {line}"))?;
        // Slow on purpose: the steps behind it wait for it.
        Ok(async || {
            tokio::time::sleep(Duration::from_millis(5)).await;
            println!("  undone: rotate, after 5 ms");
        })
    })
    .await?;
    Ok(())
}

async fn child(ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
    ctx.on(LINE).run(|line| println!("  the child heard: {line}"))?;
    ctx.effect("child's own", async || println!("  undone: the child's own effect"))?;
    Ok(())
}

fn count(app: &App) {
    let limit = if app.get(LIMIT).is_some() { "a" } else { "no" };
    println!("{} listeners, {limit} limit", app.listeners(LINE));
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    count(&app);

    let log = app.plugin(plugin(), ())?;
    log.ready().await?;
    print!("{}", app.inspect());
    app.emit(LINE, &"it rains");
    count(&app);

    println!("dispose:");
    let disposed = log.dispose().await;
    println!("{disposed}");
    app.emit(LINE, &"it shines");
    count(&app);
    print!("{}", app.inspect());
    Ok(())
}
