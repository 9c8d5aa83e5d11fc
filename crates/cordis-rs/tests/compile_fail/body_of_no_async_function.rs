//! A body is asynchronous.
use cordis::{Apply, BoxError, Context};

fn body(_: impl for<'a> Apply<'a, (), ()>) {}

fn main() {
    body(|_: &Context, _: (), _: &()| -> Result<(), BoxError> { Ok(()) });
    //~ is not a future
    body(7);
    //~ not the body of a plugin: its future is not `Send`, or its arguments do not fit
    //~ not usable as a plugin's body
    //~ the body is `async fn(ctx: &Context, needs: .., config: &Config) -> Result<(), BoxError>`, and what is declared is what arrives
    //~ hand state over as part of the config instead of capturing it, or use `.run_boxed(..)`
}
