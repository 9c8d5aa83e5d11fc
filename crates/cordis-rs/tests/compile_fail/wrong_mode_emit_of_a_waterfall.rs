//! A waterfall is not emitted.
use cordis::{Context, Waterfall};

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

fn wrong(ctx: &Context) {
    ctx.emit(WORK, &1); //~ expected `Emit<_>`, found `Waterfall<u32, u32>`
}

fn main() {
    let _ = wrong;
}
