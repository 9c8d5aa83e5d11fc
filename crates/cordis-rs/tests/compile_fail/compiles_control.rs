//! The right way to write what the other cases get wrong. It must compile.
//@ compiles

use cordis::{
    BoxError, Cleanup, Context, Emit, Handle, Intercept, Key, Layer, Layers, Merge, Next, Parallel, Serial, Waterfall,
    define,
};

const TOLD: Emit<u32> = Emit::new("told");
const ALL: Parallel<u32> = Parallel::new("all");
const ASK: Serial<u32, u32> = Serial::new("ask");
const WORK: Waterfall<u32, u32> = Waterfall::new("work");
const NEEDED: Key<u32> = Key::new("needed");
const MAYBE: Key<str> = Key::new("maybe");
const LEVELS: Intercept<Config> = Intercept::new("levels");

#[derive(Clone, Default)]
struct Config;

impl Merge for Config {
    fn merge(&mut self, _nearer: &Self) {}
}

impl Layer for Config {
    fn is_empty(&self) -> bool {
        true
    }
}

async fn wrap(n: &mut u32, next: Next<'_, u32, u32>) -> u32 {
    next.run(n).await
}

async fn apply(
    ctx: &Context,
    (needed, maybe): (Handle<u32>, Option<Handle<str>>),
    config: &Config,
) -> Result<(), BoxError> {
    let _ = (*needed.get()?, maybe);
    ctx.on(TOLD).run(|n| println!("{n}"))?;
    let count = 5u32;
    ctx.on(ALL).with(count).run(async |count, n| {
        println!("{count} {n}");
        Ok(())
    })?;
    ctx.on(ASK).run_boxed(move |n| Box::pin(async move { Ok(Some(count + n)) }))?;
    ctx.on(WORK).run(wrap)?;
    ctx.on(WORK).run(async |n, next| next.clone().run(n).await + next.run(n).await)?;
    ctx.effect_with("effect", async |_| Ok(async move || ())).await?;
    let _: Config = ctx.resolve(LEVELS, config.clone(), None);
    Ok(())
}

fn cleanup(_: impl Cleanup) {}

fn main() {
    let plugin = define("plugin").needs((NEEDED, MAYBE.optional())).run(apply);
    let _mount = |ctx: &Context| ctx.plugin(plugin, Config).map(drop);
    let _dispatch = async |ctx: &Context, n: &mut u32| {
        ctx.emit(TOLD, &1);
        ctx.waterfall(WORK, n, &7u32, async |seven, n| *seven + *n).await
    };
    cleanup(async move || Ok::<(), BoxError>(()));
    Layers::new(|_| Config, |_| Ok(()));
}
