//! A task outlives the call that `next` belongs to.
use cordis::{Context, Waterfall};

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

fn task(_: impl Future + Send + 'static) {}

fn wrong(ctx: &Context) {
    let _ = ctx.on(WORK).run(async |n, next| {
        let mut copy = *n;
        task(async move { next.run(&mut copy).await });
        *n
    });
    //~ borrowed data escapes outside of closure
    //~ `next` escapes the closure body here
}

fn main() {
    let _ = wrong;
}
