//! Lent code is called from any thread.
use cordis::Context;
use std::cell::Cell;

fn wrong(ctx: &Context) {
    let calls = Cell::new(0);
    let _ = ctx.lend("counted", move || calls.set(calls.get() + 1)); //~ `Cell<i32>` cannot be shared between threads safely
}

fn main() {
    let _ = wrong;
}
