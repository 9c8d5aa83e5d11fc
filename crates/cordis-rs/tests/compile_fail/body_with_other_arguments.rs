//! A body takes a context, its needs and its configuration.
use cordis::{BoxError, Context, define};

async fn apply(_: &Context) -> Result<(), BoxError> {
    Ok(())
}

fn main() {
    let _ = define("plugin").run(apply);
    //~ function is expected to take 3 arguments, but it takes 1 argument
}
