//! Levels of configuration are merged by their type.
use cordis::{Context, Intercept};

struct Config;

const LEVELS: Intercept<Config> = Intercept::new("levels");

fn wrong(ctx: &Context) {
    let _ = ctx.resolve(LEVELS, Config, None);
    //~ `Config` cannot be resolved from several levels of configuration
    //~ does not implement `cordis::Merge`
    //~ implement `Merge` and say how a nearer level is laid over a farther one
}

fn main() {
    let _ = wrong;
}
