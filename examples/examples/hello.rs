//! The smallest plugin: one event, one listener, and the proof that the listener goes with its plugin.

use cordis::{App, BoxError, Context, Emit, Plugin, define};

/// Somebody came in; the payload is their name.
const ARRIVED: Emit<String> = Emit::new("hello/arrived");

/// What the plugin is mounted with.
pub struct Config {
    greeting: String,
}

/// Greets everybody who comes in.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("hello").run(apply)
}

async fn apply(ctx: &Context, _needs: (), config: &Config) -> Result<(), BoxError> {
    let greeting = config.greeting.clone();
    ctx.on(ARRIVED).run(move |name| println!("  {greeting}, {name}!"))?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;

    let fiber = app.plugin(plugin(), Config { greeting: "Hello".into() })?;
    println!("mounted: {}, {} listeners", fiber.state(), app.listeners(ARRIVED));

    fiber.ready().await?;
    println!("ready: {}, {} listener", fiber.state(), app.listeners(ARRIVED));
    app.emit(ARRIVED, &"world".into());

    fiber.update(Config { greeting: "Good evening".into() }).await?;
    println!("updated: {}, {} listener", fiber.state(), app.listeners(ARRIVED));
    app.emit(ARRIVED, &"world".into());

    println!("the app now:");
    print!("{}", app.inspect());

    fiber.dispose().await;
    println!("disposed: {}, {} listeners", fiber.state(), app.listeners(ARRIVED));
    app.emit(ARRIVED, &"nobody".into());

    println!("the app now:");
    print!("{}", app.inspect());
    Ok(())
}
