//! A waterfall: each listener wraps what is below it, down to the dispatcher's own step. It may rewrite what goes down and
//! what comes up, run the rest several times, or not at all.

use cordis::{App, BoxError, Context, Next, Plugin, Waterfall, define};

/// A parcel on its way.
pub struct Parcel {
    to: &'static str,
    stamps: Vec<&'static str>,
}

/// Sends a parcel. Listeners may change it; the result is what the sender is told.
const SEND: Waterfall<Parcel, String> = Waterfall::new("post/send");

struct Office;

impl Office {
    /// The dispatcher's own step, below all listeners.
    async fn deliver(&self, parcel: &mut Parcel) -> String {
        println!("    delivered to {} with {:?}", parcel.to, parcel.stamps);
        format!("delivered to {}", parcel.to)
    }
}

/// Wraps the delivery in `redirect`, that in `stamp`, and all of it, because it is prepended, in `gate`.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("post").run(apply)
}

async fn apply(ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
    ctx.on(SEND).run(stamp)?;
    ctx.on(SEND).run(redirect)?;
    ctx.on(SEND).prepend().run(gate)?;
    Ok(())
}

/// Rewrites what goes down and what comes up.
async fn stamp(parcel: &mut Parcel, next: Next<'_, Parcel, String>) -> String {
    println!("  stamp, down");
    parcel.stamps.push("airmail");
    let told = next.run(parcel).await;
    println!("  stamp, up");
    format!("{told}, by airmail")
}

async fn redirect(parcel: &mut Parcel, next: Next<'_, Parcel, String>) -> String {
    println!("   redirect");
    parcel.to = "Ada";
    next.run(parcel).await
}

/// Dropping `next` ends the chain; nothing below runs.
async fn gate(parcel: &mut Parcel, next: Next<'_, Parcel, String>) -> String {
    println!(" gate");
    if parcel.to == "nobody" {
        return "refused at the gate".into();
    }
    next.run(parcel).await
}

async fn send(app: &App, to: &'static str) -> Result<(), BoxError> {
    println!("to {to}:");
    let mut parcel = Parcel { to, stamps: Vec::new() };
    let told = app.waterfall(SEND, &mut parcel, &Office, Office::deliver).await?;
    println!("= {told}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    let post = app.plugin(plugin(), ())?;
    post.ready().await?;
    send(&app, "Bob").await?;
    send(&app, "nobody").await?;
    post.dispose().await;
    println!("the plugin is gone, {} listeners", app.listeners(SEND));
    send(&app, "Bob").await
}
