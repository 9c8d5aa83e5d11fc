//! What the public types show of themselves: names and numbers, never a user's values.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{
    AnonymousEntries, App, BoxError, Context, Emit, Key, Layers, Next, Plugin, ScopeKey, Waterfall, define,
    log::Recent,
    testing::{Recorder, TestApp},
};
use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

const TICK: Emit<u32> = Emit::new("tick");
const STEP: Waterfall<u32, u32> = Waterfall::new("step");
const CLOCK: Key<String> = Key::new("clock");
const LAMP: Key<String> = Key::new("lamp");

async fn apply(_ctx: &Context, _needs: cordis::Handle<String>, _config: &()) -> Result<(), BoxError> {
    Ok(())
}

fn plugin() -> impl Plugin<Config = ()> + Debug {
    define("hand").needs(CLOCK).provides(LAMP).run(apply)
}

#[tokio::test]
async fn a_registration_in_the_making_shows_what_it_will_be() {
    let app = App::new().unwrap();
    assert_eq!(
        format!("{:?}", app.on(TICK).prepend().once()),
        "On { event: \"tick\", mode: Emit, plugin: \"root\", prepend: true, once: true, global: false, .. }"
    );
    let stateful = app.on(TICK).with("a secret");
    assert!(!format!("{stateful:?}").contains("secret"));
}

#[tokio::test]
async fn a_plugin_shows_its_name_and_the_services_it_declares() {
    let shown = "{ name: \"hand\", needs: [\"clock\"], provides: [\"lamp\"], .. }";
    assert_eq!(format!("{:?}", define("hand").needs(CLOCK).provides(LAMP)), format!("Define {shown}"));
    assert_eq!(format!("{:?}", plugin()), format!("FnPlugin {shown}"));
    assert_eq!(format!("{:?}", CLOCK.optional()), "Optional(\"clock\")");
}

#[tokio::test]
async fn a_fiber_and_the_registry_name_plugins_with_their_numbers() {
    let app = App::new().unwrap();
    let fiber = app.plugin(plugin(), ()).unwrap();
    assert_eq!((fiber.label(), fiber.to_string()), ("hand#1".to_owned(), "hand#1".to_owned()));
    assert_eq!(format!("{fiber:>8}|{}", app.fiber()), "  hand#1|root");
    app.quiet().await;
    assert_eq!(format!("{:?}", app.registry()), "{\"hand\": [Fiber(hand#1, pending)]}");
}

#[tokio::test]
async fn a_dispatcher_shows_its_scope_and_a_wrapper_its_place() {
    let app = App::new().unwrap();
    let scope = ScopeKey::new();
    assert_eq!(format!("{:?}", app.at(&scope)), format!("At {{ scope: Some({scope:?}), .. }}"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let wrap = async |seen: &Arc<Mutex<Vec<String>>>, args: &mut u32, next: Next<'_, u32, u32>| {
        let place = format!("{next:?}");
        let run = next.run(args);
        seen.lock().unwrap().extend([place, format!("{run:?}")]);
        run.await
    };
    app.on(STEP).with(seen.clone()).run(wrap).unwrap();
    app.waterfall(STEP, &mut 1, &(), async |_: &(), n: &mut u32| *n).await.unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen[0].starts_with("Next { at: "), "{seen:?}");
    assert_eq!(seen[1], "Run(not started)");
}

#[tokio::test]
async fn lent_code_shows_whose_it_is() {
    let app = App::new().unwrap();
    let fiber = app.plugin(define("lender").run(async |_: &Context, _: (), _: &()| Ok(())), ()).unwrap();
    fiber.ready().await.unwrap();
    let (_, lent) = fiber.context().lend("code", "a secret").unwrap();
    let call = lent.start(|secret| Box::pin(std::future::ready(*secret))).unwrap();
    assert_eq!(format!("{lent:?} {call:?}"), "Lent(of lender#1) LentCall(of lender#1)");
    let refused = lent.call::<()>(|_| panic!("why")).unwrap_err();
    assert_eq!(format!("{refused:?}"), "Panicked { plugin: \"lender\", reason: \"why\" }");
}

#[tokio::test]
async fn tables_show_names_and_counts_but_no_values() {
    let named = cordis::NamedEntries::<&str>::new();
    let undo = named.insert("first", "a secret").unwrap();
    assert_eq!(format!("{named:?} {undo:?}"), "NamedEntries([\"first\"]) EntryUndo(..)");
    let anonymous = AnonymousEntries::new();
    anonymous.append("a secret").undo();
    let _kept = anonymous.append("a secret");
    assert_eq!(format!("{anonymous:?}"), "AnonymousEntries { len: 1, .. }");
    let layers: Layers<Nothing> = Layers::new(|_| Nothing, |_| Ok(()));
    assert_eq!(format!("{layers:?}"), "Layers { scopes: 0, .. }");
}

struct Nothing;

impl cordis::Layer for Nothing {
    fn is_empty(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn timers_show_their_plugin_and_their_times() {
    let app = App::new().unwrap();
    let second = Duration::from_secs(1);
    assert_eq!(format!("{:?}", app.ticks(second).unwrap()), "Ticks { plugin: \"root\", period: 1s, .. }");
    let throttle = app.throttle(second, |_: u32| {}).leading_only();
    assert_eq!(format!("{throttle:?}"), "Throttle { plugin: \"root\", window: 1s, trailing: false, .. }");
    let debounce = app.debounce(second, |_: u32| {});
    assert_eq!(format!("{debounce:?}"), "Debounce { plugin: \"root\", delay: 1s, .. }");
}

#[tokio::test]
async fn what_collects_for_tests_and_logs_shows_how_much_it_has() {
    let app = TestApp::new();
    app.report("step", "a secret");
    assert_eq!(format!("{app:?}"), "TestApp { errors: 1, .. }");
    let ticks = Recorder::of(&app, TICK, |n| *n).unwrap();
    app.emit(TICK, &7);
    assert!(format!("{ticks:?}").starts_with("Recorder { seen: 1, effect: Effect("), "{ticks:?}");
    assert_eq!(format!("{:?}", Recent::new(5)), "Recent { kept: 0, capacity: 5, .. }");
}
