//! A service is swapped while the plugin that needs it stays mounted: it unloads with the old one and loads with the new.

use std::sync::Arc;

use cordis::{App, BoxError, Context, Emit, Handle, Key, Plugin, define};

/// A translator.
pub trait Translator: Send + Sync {
    /// The word in the other language.
    fn translate(&self, word: &str) -> String;
}

/// Who translates.
const TRANSLATOR: Key<dyn Translator> = Key::new("translator");
/// Somebody points at something.
const POINTED: Emit<&'static str> = Emit::new("guide/pointed");

/// A dictionary of one word, which makes a small translator.
#[derive(Clone)]
pub struct Dictionary(&'static str, &'static str);

impl Translator for Dictionary {
    fn translate(&self, word: &str) -> String {
        if word == self.0 { self.1.into() } else { "?".into() }
    }
}

/// Provides a translator that knows one dictionary.
pub fn translator(name: &'static str) -> impl Plugin<Config = Dictionary> {
    define(name).provides(TRANSLATOR).run(async |ctx: &Context, _: (), words: &Dictionary| {
        ctx.provide(TRANSLATOR, Arc::new(words.clone()))?;
        Ok(())
    })
}

/// Needs a translator: without one its body does not run.
pub fn guide() -> impl Plugin<Config = ()> {
    define("guide").needs(TRANSLATOR).run(lead)
}

async fn lead(ctx: &Context, translator: Handle<dyn Translator>, _config: &()) -> Result<(), BoxError> {
    println!("  guide loads");
    ctx.effect("goodbye", async || println!("  guide unloads"))?;
    ctx.on(POINTED).with(translator).run(|translator, word| match translator.get() {
        Ok(translator) => println!("  guide: {word} is {}", translator.translate(word)),
        Err(gone) => println!("  guide: {gone}"),
    })?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    let guide = app.plugin(guide(), ())?;
    println!("no translator: guide is {}", guide.ready().await?);
    app.check().iter().for_each(|unmet| println!("  {unmet}"));

    println!("the french one comes");
    let french = app.plugin(translator("french"), Dictionary("bread", "pain"))?;
    french.ready().await?;
    println!("  guide is {}", guide.ready().await?);
    app.emit(POINTED, &"bread");
    let kept = app.get(TRANSLATOR).ok_or("a translator is there")?;

    println!("the french one goes, after those who need it");
    french.dispose().await;
    println!("  guide is {}, with {} listeners", guide.state(), app.listeners(POINTED));
    println!("  a handle that was kept: {:?}", kept.get().map(|_| "works"));

    println!("the italian one comes");
    app.plugin(translator("italian"), Dictionary("bread", "pane"))?.ready().await?;
    println!("  guide is {}", guide.ready().await?);
    app.emit(POINTED, &"bread");
    print!("{}", app.inspect());
    println!("shutdown");
    app.shutdown().await;
    Ok(())
}
