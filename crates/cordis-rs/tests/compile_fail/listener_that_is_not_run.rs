//! A listener without `.run(..)` is not registered.
#![deny(unused_must_use)]
use cordis::{Context, Emit};

const TOLD: Emit<u32> = Emit::new("told");

fn wrong(ctx: &Context) {
    ctx.on(TOLD).once(); //~ a listener is registered only by `.run(..)`
}

fn main() {
    let _ = wrong;
}
