//! An asynchronous question is not asked synchronously.
use cordis::{Context, Serial};

const ASK: Serial<u32, u32> = Serial::new("ask");

fn wrong(ctx: &Context) {
    let _ = ctx.bail(ASK, &1); //~ expected `Bail<_, _>`, found `Serial<u32, u32>`
}

fn main() {
    let _ = wrong;
}
