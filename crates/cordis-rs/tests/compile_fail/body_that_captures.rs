//! A body is handed state by its configuration.
use cordis::{Context, define};

fn main() {
    let state = String::from("state");
    let _ = define("plugin").run(async move |_: &Context, _: (), _: &()| {
        println!("{state}");
        Ok(())
    });
    //~ hand state over as part of the config, not by capture
}
