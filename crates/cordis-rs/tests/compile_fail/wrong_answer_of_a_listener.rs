//! A question answered with another type.
use cordis::{Bail, Context};

const WHICH: Bail<u32, u32> = Bail::new("which");

fn wrong(ctx: &Context) {
    let _ = ctx.on(WHICH).run(|n| *n); //~ expected `Option<u32>`, found `u32`
}

fn main() {
    let _ = wrong;
}
