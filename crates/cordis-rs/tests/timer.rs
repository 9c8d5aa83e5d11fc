//! Timers of a context, on a paused clock: when they fire, and that they end with their plugin.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{
    App, BoxError, Context, ContextDisposed, Debounce, Effect, Key, State, Throttle, define, keys::ERROR,
};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};
use support_scopes::Log;
use tokio::time::{Instant, sleep};

const NUMBER: Key<u32> = Key::new("number");

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Lines with the time at which they were written.
#[derive(Clone)]
struct Clock {
    log: Log,
    began: Instant,
}

impl Clock {
    fn new() -> Self {
        Clock { log: Log::default(), began: Instant::now() }
    }

    fn say(&self, what: impl std::fmt::Display) {
        self.log.say(format!("{} at {}", what, self.began.elapsed().as_millis()));
    }

    fn take(&self) -> Vec<String> {
        self.log.take()
    }
}

fn labels(ctx: &Context) -> Vec<String> {
    ctx.inspect().fiber.effects.iter().map(|effect| effect.label.clone()).collect()
}

// spec: cordis-core/C131, cordis-core/C132, cordis-core/C72
#[tokio::test(start_paused = true)]
async fn a_timeout_calls_once_and_leaves_no_effect() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let effect = app.timeout(ms(100), move || said.say("called")).unwrap();
    assert_eq!(labels(&app), ["ctx.timeout()"]);
    sleep(ms(99)).await;
    assert_eq!((clock.take(), effect.is_live()), (vec![], true));
    sleep(ms(500)).await;
    assert_eq!(clock.take(), ["called at 100"]);
    assert_eq!(app.inspect().fiber.effects, []);
    effect.dispose().await;
}

// spec: cordis-core/C132
#[tokio::test(start_paused = true)]
async fn a_timeout_has_ended_by_the_time_that_its_callback_runs() {
    let app = App::new().unwrap();
    let log = Log::default();
    let slot: Arc<OnceLock<Effect>> = Arc::default();
    let (own, said, ctx) = (slot.clone(), log.clone(), app.root());
    let effect = app
        .timeout(ms(100), move || {
            said.say(format!("{} {:?}", own.get().unwrap().is_live(), labels(&ctx)));
        })
        .unwrap();
    slot.set(effect).unwrap();
    sleep(ms(200)).await;
    assert_eq!(log.take(), ["false []"]);
}

// spec: cordis-core/C132
#[tokio::test(start_paused = true)]
async fn a_disposed_timeout_calls_nothing_and_drops_its_callback() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let token = Arc::new(());
    let (said, held) = (clock.clone(), token.clone());
    let effect = app
        .timeout(ms(100), move || {
            let _held = held;
            said.say("called");
        })
        .unwrap();
    sleep(ms(50)).await;
    effect.dispose().await;
    assert_eq!(Arc::strong_count(&token), 1);
    sleep(ms(500)).await;
    assert_eq!(clock.take(), [""; 0]);
}

// spec: cordis-core/C132
#[tokio::test(start_paused = true)]
async fn a_sleep_ends_in_time_and_leaves_no_effect() {
    let app = App::new().unwrap();
    let began = Instant::now();
    let ctx = app.root();
    let sleeping = tokio::spawn(async move { ctx.sleep(ms(100)).await });
    tokio::task::yield_now().await;
    assert_eq!(labels(&app), ["ctx.sleep()"]);
    assert_eq!(sleeping.await.unwrap(), Ok(()));
    assert_eq!((began.elapsed(), app.inspect().fiber.effects.clone()), (ms(100), vec![]));
    // Dropped before its time it leaves nothing either.
    assert!(tokio::time::timeout(ms(10), app.sleep(ms(100))).await.is_err());
    assert_eq!(app.inspect().fiber.effects, []);
}

// spec: cordis-core/C132
#[tokio::test(start_paused = true)]
async fn a_sleep_ends_at_once_when_its_context_goes() {
    let app = App::new().unwrap();
    let began = Instant::now();
    let scope = app.scope().unwrap();
    let ctx = scope.context().clone();
    let sleeping = tokio::spawn(async move { ctx.sleep(ms(1_000)).await });
    sleep(ms(100)).await;
    assert!(scope.close().await.is_clean());
    let gone: ContextDisposed = sleeping.await.unwrap().unwrap_err();
    let plugin = format!("scope#{}", scope.fiber().uid());
    assert_eq!(gone.to_string(), format!("the context of `{plugin}` has been disposed"));
    assert_eq!((gone.plugin, began.elapsed()), (plugin, ms(100)));
    assert_eq!(scope.context().sleep(ms(1)).await, Err(scope.context().sleep(ms(1)).await.unwrap_err()));
    assert_eq!(began.elapsed(), ms(100));
}

// spec: cordis-core/C133, cordis-core/C72
#[tokio::test(start_paused = true)]
async fn an_interval_calls_every_period_until_it_is_disposed() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let mut n = 0;
    let effect = app
        .interval(ms(100), move || {
            n += 1;
            said.say(n);
        })
        .unwrap();
    assert_eq!(labels(&app), ["ctx.interval()"]);
    sleep(ms(350)).await;
    assert_eq!(clock.take(), ["1 at 100", "2 at 200", "3 at 300"]);
    effect.dispose().await;
    sleep(ms(350)).await;
    assert_eq!((clock.take(), app.inspect().fiber.effects.clone()), (vec![], vec![]));
}

// spec: cordis-core/C133, design/P4
#[tokio::test(start_paused = true)]
async fn an_interval_goes_on_after_a_panic_which_is_reported() {
    let app = App::new().unwrap();
    let (clock, errors) = (Clock::new(), Log::default());
    let (said, reported) = (clock.clone(), errors.clone());
    app.on(ERROR).run(move |report| reported.say(report)).unwrap();
    let scope = app.scope().unwrap();
    let mut n = 0;
    scope
        .context()
        .interval(ms(100), move || {
            n += 1;
            assert_ne!(n, 2, "even");
            said.say(n);
        })
        .unwrap();
    sleep(ms(350)).await;
    assert_eq!(clock.take(), ["1 at 100", "3 at 300"]);
    let errors = errors.take();
    assert_eq!(errors.len(), 1);
    let start = format!("`ctx.interval()` of `scope#{}`: panicked: ", scope.fiber().uid());
    assert!(errors[0].starts_with(&start) && errors[0].contains("even"), "{errors:?}");
    assert!(scope.close().await.is_clean());
}

// spec: cases/L6
#[tokio::test(start_paused = true)]
async fn an_unloaded_interval_ticks_no_more_and_its_context_answers_with_errors() {
    async fn body(ctx: &Context, _: (), clock: &Clock) -> Result<(), BoxError> {
        let said = clock.clone();
        ctx.interval(ms(100), move || said.say("tick"))?;
        Ok(())
    }
    let app = App::new().unwrap();
    app.provide(NUMBER, Arc::new(1)).unwrap();
    let clock = Clock::new();
    let fiber = app.plugin(define("ticker").run(body), clock.clone()).unwrap();
    fiber.ready().await.unwrap();
    let kept = fiber.context();
    sleep(ms(150)).await;
    assert_eq!(clock.take(), ["tick at 100"]);
    assert!(fiber.dispose().await.is_clean());
    sleep(ms(1_000)).await;
    assert_eq!(clock.take(), [""; 0]);
    assert!(kept.get(NUMBER).is_none() && kept.peek(NUMBER).is_none());
    assert!(kept.interval(ms(1), || ()).is_err());
    assert!(kept.timeout(ms(1), || ()).is_err());
    assert!(kept.ticks(ms(1)).is_err());
    assert!(kept.sleep(ms(1)).await.is_err());
    assert_eq!(kept.fiber().state(), State::Disposed);
}

// spec: cases/L9
#[tokio::test(start_paused = true)]
async fn an_interval_may_dispose_itself_or_its_plugin() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let slot: Arc<OnceLock<Effect>> = Arc::default();
    let (own, said) = (slot.clone(), clock.clone());
    let effect = app
        .interval(ms(100), move || {
            said.say("self");
            own.get().unwrap().cancel();
        })
        .unwrap();
    slot.set(effect.clone()).unwrap();
    let scope = app.scope().unwrap();
    let (fiber, said) = (scope.fiber(), clock.clone());
    scope
        .context()
        .interval(ms(150), move || {
            said.say("plugin");
            fiber.cancel();
        })
        .unwrap();
    sleep(ms(500)).await;
    assert_eq!(clock.take(), ["self at 100", "plugin at 150"]);
    assert!(!effect.is_live());
    assert_eq!(scope.fiber().state(), State::Disposed);
}

// spec: cordis-core/C133
#[tokio::test(start_paused = true)]
async fn a_period_of_nothing_lets_others_run() {
    let app = App::new().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let calls = count.clone();
    app.interval(Duration::ZERO, move || {
        calls.fetch_add(1, SeqCst);
    })
    .unwrap();
    sleep(ms(10)).await;
    let calls = count.load(SeqCst);
    assert!((1..=10).contains(&calls), "{calls}");
}

// spec: cordis-core/C133
#[tokio::test(start_paused = true)]
async fn ticks_come_every_period_and_leave_no_effect_when_dropped() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let mut ticks = app.ticks(ms(100)).unwrap();
    assert_eq!(labels(&app), ["ctx.interval()"]);
    for n in 1..=3 {
        ticks.next().await.unwrap();
        clock.say(n);
    }
    assert_eq!(clock.take(), ["1 at 100", "2 at 200", "3 at 300"]);
    // Waiting in vain loses nothing.
    assert!(tokio::time::timeout(ms(50), ticks.next()).await.is_err());
    ticks.next().await.unwrap();
    clock.say(4);
    assert_eq!(clock.take(), ["4 at 400"]);
    drop(ticks);
    assert_eq!(app.inspect().fiber.effects, []);
}

// spec: cordis-core/C133
#[tokio::test(start_paused = true)]
async fn ticks_that_nobody_waits_for_are_lost() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let mut ticks = app.ticks(ms(100)).unwrap();
    ticks.next().await.unwrap();
    clock.say(1);
    sleep(ms(250)).await;
    ticks.next().await.unwrap();
    clock.say(2);
    ticks.next().await.unwrap();
    clock.say(3);
    assert_eq!(clock.take(), ["1 at 100", "2 at 400", "3 at 500"]);
}

// spec: cordis-core/C133
#[tokio::test(start_paused = true)]
async fn ticks_are_counted_from_when_they_were_asked_for() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let mut ticks = app.ticks(ms(100)).unwrap();
    sleep(ms(50)).await;
    ticks.next().await.unwrap();
    clock.say(1);
    assert_eq!(clock.take(), ["1 at 100"]);
}

// spec: cordis-core/C133
#[tokio::test(start_paused = true)]
async fn ticks_end_with_their_context() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let scope = app.scope().unwrap();
    let mut ticks = scope.context().ticks(ms(100)).unwrap();
    let said = clock.clone();
    let waiting = tokio::spawn(async move {
        while ticks.next().await.is_ok() {
            said.say("tick");
        }
        said.say("gone");
        // And stay so.
        ticks.next().await.unwrap_err()
    });
    sleep(ms(250)).await;
    assert!(scope.close().await.is_clean());
    let gone = waiting.await.unwrap();
    assert_eq!(gone.plugin, format!("scope#{}", scope.fiber().uid()));
    assert_eq!(clock.take(), ["tick at 100", "tick at 200", "gone at 250"]);
}

// spec: cordis-core/C134
#[tokio::test(start_paused = true)]
async fn a_throttle_calls_at_once_and_at_the_windows_end() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let throttle = app.throttle(ms(1_000), move |n| said.say(n));
    throttle.call(1);
    assert_eq!(clock.take(), ["1 at 0"]);
    assert_eq!(labels(&app), ["ctx.throttle()"]);
    sleep(ms(600)).await;
    throttle.call(2);
    assert_eq!(clock.take(), [""; 0]);
    sleep(ms(600)).await;
    assert_eq!(clock.take(), ["2 at 1000"]);
    throttle.call(3);
    assert_eq!(clock.take(), [""; 0]);
    sleep(ms(5_000)).await;
    assert_eq!(clock.take(), ["3 at 2000"]);
    assert_eq!(app.inspect().fiber.effects, []);
    throttle.call(4);
    assert_eq!(clock.take(), ["4 at 6200"]);
}

// spec: cordis-core/C134
#[tokio::test(start_paused = true)]
async fn calls_inside_a_window_replace_one_trailing_call() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let throttle = app.throttle(ms(1_000), move |n| said.say(n));
    for n in 1..=5 {
        throttle.clone().call(n);
        sleep(ms(100)).await;
    }
    sleep(ms(3_000)).await;
    assert_eq!(clock.take(), ["1 at 0", "5 at 1000"]);
}

// spec: cordis-core/C134
#[tokio::test(start_paused = true)]
async fn a_leading_only_throttle_forgets_calls_inside_a_window() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let throttle = app.throttle(ms(1_000), move |n| said.say(n)).leading_only();
    throttle.call(1);
    sleep(ms(600)).await;
    throttle.call(2);
    sleep(ms(600)).await;
    throttle.call(3);
    sleep(ms(3_000)).await;
    assert_eq!(clock.take(), ["1 at 0", "3 at 1200"]);
}

/// Cancels the trailing call; a later call does nothing, and drops its argument.
async fn dispose_a_throttle(dispose: impl AsyncFnOnce(&Throttle<u32>, &cordis::Scope)) {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let scope = app.scope().unwrap();
    let throttle = scope.context().throttle(ms(1_000), move |n: u32| said.say(n));
    throttle.call(1);
    sleep(ms(500)).await;
    throttle.call(2);
    dispose(&throttle, &scope).await;
    sleep(ms(2_000)).await;
    assert_eq!(clock.take(), ["1 at 0"]);
    throttle.call(3);
    sleep(ms(100)).await;
    throttle.call(4);
    sleep(ms(5_000)).await;
    assert_eq!(clock.take(), [""; 0]);
}

// spec: cordis-core/C134, design/P1
#[tokio::test(start_paused = true)]
async fn a_disposed_throttle_calls_no_more() {
    dispose_a_throttle(async |throttle, _| throttle.dispose()).await;
}

// spec: cordis-core/C134, design/P1
#[tokio::test(start_paused = true)]
async fn a_throttle_of_a_context_that_is_gone_calls_no_more() {
    dispose_a_throttle(async |_, scope| drop(scope.close().await)).await;
}

// spec: cordis-core/C135
#[tokio::test(start_paused = true)]
async fn a_debounce_calls_once_calls_have_ceased() {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let debounce = app.debounce(ms(1_000), move |n| said.say(n));
    debounce.call(1);
    assert_eq!(labels(&app), ["ctx.debounce()"]);
    sleep(ms(400)).await;
    debounce.clone().call(2);
    sleep(ms(800)).await;
    debounce.call(3);
    tokio::task::yield_now().await;
    assert_eq!((clock.take(), labels(&app)), (vec![], vec!["ctx.debounce()".to_owned()]));
    sleep(ms(5_000)).await;
    assert_eq!(clock.take(), ["3 at 2200"]);
    assert_eq!(app.inspect().fiber.effects, []);
    debounce.call(4);
    sleep(ms(5_000)).await;
    assert_eq!(clock.take(), ["4 at 7200"]);
}

async fn dispose_a_debounce(dispose: impl AsyncFnOnce(&Debounce<u32>, &cordis::Scope)) {
    let app = App::new().unwrap();
    let clock = Clock::new();
    let said = clock.clone();
    let scope = app.scope().unwrap();
    let debounce = scope.context().debounce(ms(1_000), move |n: u32| said.say(n));
    debounce.call(1);
    sleep(ms(500)).await;
    dispose(&debounce, &scope).await;
    debounce.call(2);
    sleep(ms(5_000)).await;
    assert_eq!(clock.take(), [""; 0]);
}

// spec: cordis-core/C135
#[tokio::test(start_paused = true)]
async fn a_disposed_debounce_does_nothing() {
    dispose_a_debounce(async |debounce, _| debounce.dispose()).await;
}

// spec: cordis-core/C135
#[tokio::test(start_paused = true)]
async fn a_debounce_of_a_context_that_is_gone_does_nothing() {
    dispose_a_debounce(async |_, scope| drop(scope.close().await)).await;
}

/// An argument that makes another call when it is dropped.
struct CallsWhenDropped(OnceLock<Debounce<CallsWhenDropped>>);

impl Drop for CallsWhenDropped {
    fn drop(&mut self) {
        if let Some(debounce) = self.0.take() {
            debounce.call(CallsWhenDropped(OnceLock::new()));
        }
    }
}

// spec: design/P3
#[tokio::test]
async fn an_argument_may_use_the_debounce_when_it_is_dropped() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    let debounce = scope.context().debounce(ms(1), |_| ());
    scope.close().await;
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        debounce.call(CallsWhenDropped(debounce.clone().into()));
        done.send(())
    });
    wait.recv_timeout(Duration::from_secs(60)).expect("a deadlock");
}
