//! A retry says so: `next.clone().run(..)`.
use cordis::{Context, Waterfall};

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

fn wrong(ctx: &Context) {
    let _ = ctx.on(WORK).run(async |n, next| next.run(n).await + next.run(n).await);
    //~ use of moved value: `next`
    //~ `Next::<'a, A, R>::run` takes ownership of the receiver `self`, which moves `next`
}

fn main() {
    let _ = wrong;
}
