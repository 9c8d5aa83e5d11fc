//! A body's future is `Send`.
use cordis::{BoxError, Context, define};
use std::rc::Rc;

async fn apply(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
    let kept = Rc::new(1);
    std::future::ready(()).await;
    drop(kept);
    Ok(())
}

fn main() {
    let _ = define("plugin").run(apply);
    //~ future cannot be sent between threads safely
    //~ has type `Rc<i32>` which is not `Send`
    //~ required by a bound in `Define::<N>::run`
}
