//! Needs that may be absent, among plugins that use one another: each settles.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Handle, Key, State, define};
use std::sync::Arc;
use support_lifecycle::{Log, both_flavours, fine, ms};
use tokio::time::{sleep, timeout};

const NUMBER: Key<u32> = Key::new("number");

// spec: cordis-core/C27
#[test]
fn a_plugin_that_needs_what_it_provides_itself_never_starts() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let body = async |ctx: &Context, _: Handle<u32>, _: &()| {
            ctx.provide(NUMBER, Arc::new(1))?;
            fine()
        };
        let fiber = app.plugin(define("p").needs(NUMBER).run(body), ()).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Pending);
    });
}

#[test]
fn a_plugin_that_may_use_what_it_provides_itself_does_not_reload_for_its_own_sake() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, number: Option<Handle<u32>>, log: &Log| -> Result<(), BoxError> {
            log.add(format!("load with {}", number.is_some()));
            // Guards the test against a plugin that reloads for ever.
            if log.len() > 5 {
                std::future::pending::<()>().await;
            }
            ctx.provide(NUMBER, Arc::new(1))?;
            fine()
        };
        let fiber = app.plugin(define("p").needs(NUMBER.optional()).run(body), log.clone()).unwrap();
        fiber.until(State::Active).await;
        let _ = timeout(ms(200), app.quiet()).await;
        assert_eq!(log.take(), ["load with false"]);
        assert_eq!(fiber.state(), State::Active);
    });
}

// spec: design/P2, cordis-core/C19
#[test]
fn dependants_have_unloaded_before_anything_of_their_provider_is_undone() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provider = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("older", log.undo("provider's older"))?;
            ctx.provide(NUMBER, Arc::new(7))?;
            ctx.effect("newer", log.undo("provider's newer"))?;
            fine()
        };
        let dependant = async |ctx: &Context, number: Handle<u32>, log: &Log| {
            let log = log.clone();
            ctx.effect("slow", async move || {
                sleep(ms(10)).await;
                log.add(format!("dependant's, with {:?}", number.get().map(|n| *n)));
            })?;
            fine()
        };
        let provider = app.plugin(define("provider").run(provider), log.clone()).unwrap();
        let dependant = app.plugin(define("dependant").needs(NUMBER).run(dependant), log.clone()).unwrap();
        dependant.until(State::Active).await;
        provider.dispose().await;
        assert_eq!(log.take(), ["dependant's, with Ok(7)", "provider's newer", "provider's older"]);
        assert_eq!(dependant.ready().await.unwrap(), State::Pending);
    });
}
