//! What is below ends with the listener's call.
use cordis::{Context, Next, Waterfall};
use std::sync::Mutex;

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

fn wrong(ctx: &Context) {
    let kept: Mutex<Option<Next<'static, u32, u32>>> = Mutex::new(None);
    let _ = ctx.on(WORK).with(kept).run(async |kept, n, next| {
        *kept.lock().unwrap() = Some(next);
        *n
    });
    //~ borrowed data escapes outside of closure
    //~ `next` escapes the closure body here
}

fn main() {
    let _ = wrong;
}
