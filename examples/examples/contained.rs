//! One failure stays one failure: a panic or an error is reported with its owner's name, and everything else goes on.
//! (What the panics themselves print goes to stderr.)

use std::error::Error as _;

use cordis::{App, BoxError, Context, Emit, Plugin, Waterfall, define, keys};

/// Something happened.
const TICK: Emit<u32> = Emit::new("demo/tick");
/// Doubles a number.
const DOUBLE: Waterfall<u32, u32> = Waterfall::new("demo/double");

/// A plugin whose listeners panic.
pub fn clumsy() -> impl Plugin<Config = ()> {
    define("clumsy").run(async |ctx: &Context, _: (), _: &()| {
        ctx.on(TICK).run(|tick| panic!("dropped tick {tick}"))?;
        ctx.on(DOUBLE).run(async |n, _next| panic!("dropped {n}"))?;
        ctx.effect("tidy up", async || Err("nothing to tidy up with"))?;
        Ok(())
    })
}

/// A plugin whose body fails half way.
pub fn doomed() -> impl Plugin<Config = ()> {
    define("doomed").run(async |ctx: &Context, _: (), _: &()| {
        ctx.on(TICK).run(|_| println!("  doomed: never heard"))?;
        Err("no licence".into())
    })
}

/// A plugin that works.
pub fn steady() -> impl Plugin<Config = ()> {
    define("steady").run(async |ctx: &Context, _: (), _: &()| {
        ctx.on(TICK).run(|tick| println!("  steady: heard tick {tick}"))?;
        Ok(())
    })
}

struct Maths;

impl Maths {
    async fn double(&self, n: &mut u32) -> u32 {
        *n * 2
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.on(keys::ERROR).run(|report| println!("  report: {report}"))?;

    println!("three plugins are mounted; the body of one fails:");
    let clumsy = app.plugin(clumsy(), ())?;
    let doomed = app.plugin(doomed(), ())?;
    let steady = app.plugin(steady(), ())?;
    app.quiet().await;
    println!("  clumsy is {}, doomed is {}, steady is {}", clumsy.state(), doomed.state(), steady.state());
    println!("  {} listeners of `demo/tick`: what doomed had registered is undone", app.listeners(TICK));
    if let Err(error) = doomed.ready().await {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        println!("  whoever waits for it is told: {error}: {cause}");
    }

    println!("a listener of an `emit` panics; the one behind it is called all the same:");
    app.emit(TICK, &1);

    println!("a listener of a waterfall panics; the dispatcher is told:");
    match app.waterfall(DOUBLE, &mut 21, &Maths, Maths::double).await {
        Ok(n) => println!("  {n}"),
        Err(panic) => println!("  {panic}"),
    }

    println!("a disposer fails; the rest is undone all the same:");
    println!("  {}", clumsy.dispose().await);
    println!("  {} listener of `demo/tick`, {} of `demo/double`", app.listeners(TICK), app.listeners(DOUBLE));
    println!("  = {}", app.waterfall(DOUBLE, &mut 21, &Maths, Maths::double).await?);
    Ok(())
}
