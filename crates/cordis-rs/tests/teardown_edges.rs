//! Teardown where it is easily forgotten: under deep nesting, with threads held up, without a runtime, at shutdown.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use cordis::{testing::TestApp, *};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst},
    },
    task::{Wake, Waker},
    thread,
    time::{Duration, Instant},
};

const TOLD: Emit<()> = Emit::new("told");
const WRAPPED: Waterfall<u32, bool> = Waterfall::new("wrapped");
const SERVICE: Key<u32> = Key::new("service");

type Lines = Arc<Mutex<Vec<String>>>;

async fn idle(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
    Ok(())
}

/// An effect whose disposer takes its time, and whether it has ended.
fn slow(ctx: &Context) -> (Effect, Arc<AtomicBool>) {
    let over = Arc::new(AtomicBool::new(false));
    let ended = over.clone();
    let effect = ctx.effect("slow", async move || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        ended.store(true, SeqCst);
    });
    (effect.unwrap(), over)
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_disposer_started_by_a_synchronous_listener_really_waits_for_what_it_disposes() {
    let app = TestApp::new();
    let (other, over) = slow(&app);
    let (seen, ran) = (Arc::new(AtomicBool::new(false)), Arc::new(tokio::sync::Notify::new()));
    let (saw, told) = (seen.clone(), ran.clone());
    let outer = app.effect("outer", async move || {
        other.dispose().await;
        saw.store(over.load(SeqCst), SeqCst);
        told.notify_one();
    });
    let outer = outer.unwrap();
    app.on(TOLD).run(move |()| outer.cancel()).unwrap();
    app.emit(TOLD, &());
    ran.notified().await;
    assert!(seen.load(SeqCst), "the inner dispose returned before its disposer had ended");
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_dispose_below_more_wrappers_than_frames_are_kept_for_waits_all_the_same() {
    let app = TestApp::new();
    for _ in 0..70 {
        app.on(WRAPPED).run(async |n, next| next.run(n).await).unwrap();
    }
    let on = slow(&app);
    let inner = async |(effect, over): &(Effect, Arc<AtomicBool>), _: &mut u32| {
        effect.dispose().await;
        over.load(SeqCst)
    };
    assert!(app.waterfall(WRAPPED, &mut 0, &on, inner).await.unwrap());
}

/// A provider with two dependants, the first of which blocks its thread when it unloads until the second one has ended;
/// whether that came true within a minute.
async fn unload_beside_a_blocking_one(dispose: impl AsyncFn(&Fiber)) -> bool {
    type Ended = Arc<AtomicBool>;
    type Seen = Arc<Mutex<Option<bool>>>;
    let app = TestApp::new();
    async fn provides(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.provide(SERVICE, Arc::new(1))?;
        Ok(())
    }
    async fn blocks(ctx: &Context, _: Handle<u32>, (ended, seen): &(Ended, Seen)) -> Result<(), BoxError> {
        let (ended, seen) = (ended.clone(), seen.clone());
        let blocks = ctx.effect("blocks", async move || {
            let begun = Instant::now();
            while !ended.load(SeqCst) && begun.elapsed() < Duration::from_secs(60) {
                thread::sleep(Duration::from_millis(5));
            }
            *seen.lock().unwrap() = Some(ended.load(SeqCst));
        });
        // Not given up before it gives up itself.
        blocks?.with_limit(Duration::from_secs(120));
        Ok(())
    }
    async fn quick(ctx: &Context, _: Handle<u32>, ended: &Ended) -> Result<(), BoxError> {
        let ended = ended.clone();
        ctx.effect("quick", async move || ended.store(true, SeqCst))?;
        Ok(())
    }
    let provider = app.plugin(define("provider").run(provides), ()).unwrap();
    let (ended, seen) = (Ended::default(), Seen::default());
    app.plugin(define("blocks").needs(SERVICE).run(blocks), (ended.clone(), seen.clone())).unwrap();
    app.plugin(define("quick").needs(SERVICE).run(quick), ended).unwrap();
    app.quiet().await;
    dispose(&provider).await;
    loop {
        let told = *seen.lock().unwrap();
        if let Some(told) = told {
            return told;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// spec: design/P4
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disposer_that_blocks_its_thread_holds_up_no_other_dependant() {
    let waited = unload_beside_a_blocking_one(async |provider| drop(provider.dispose().await)).await;
    assert!(waited, "held up by one who waits");
    let requested = unload_beside_a_blocking_one(async |provider| provider.cancel()).await;
    assert!(requested, "held up by the pump");
}

// spec: design/P4
#[tokio::test]
async fn a_configuration_that_panics_when_it_is_dropped_is_reported() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("bad drop");
        }
    }
    async fn body(_: &Context, _: (), _: &Bad) -> Result<(), BoxError> {
        Ok(())
    }
    let app = TestApp::new();
    let fiber = app.plugin(define("bad").run(body), Bad).unwrap();
    fiber.ready().await.unwrap();
    assert!(fiber.dispose().await.is_clean());
    let told: Vec<_> = app.take_errors().into_iter().map(|report| (report.plugin, report.message)).collect();
    assert_eq!(told, [("bad#1".to_owned(), "panicked when it was dropped: bad drop".to_owned())]);
}

// spec: design/P6
#[tokio::test]
async fn waits_that_are_given_up_leave_no_waker_behind() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    impl Wake for Counted {
        fn wake(self: Arc<Self>) {}
    }
    let app = TestApp::new();
    let fiber = app.plugin(define("idle").run(idle), ()).unwrap();
    fiber.ready().await.unwrap();
    let alive = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        alive.fetch_add(1, SeqCst);
        let waker = Waker::from(Arc::new(Counted(alive.clone())));
        let mut wait = Box::pin(fiber.until(State::Failed));
        assert!(wait.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(alive.load(SeqCst), 0);
}

// spec: cordis-core/C114
#[tokio::test]
async fn a_context_that_is_gone_claims_no_name_for_a_service() {
    const SMALL: Key<u8> = Key::new("claimed");
    const LARGE: Key<u16> = Key::new("claimed");
    let app = TestApp::new();
    let fiber = app.plugin(define("idle").run(idle), ()).unwrap();
    fiber.ready().await.unwrap();
    let ctx = fiber.context();
    fiber.dispose().await;
    assert!(matches!(ctx.provide(SMALL, Arc::new(1)), Err(ProvideError::Inactive(_))));
    async fn needs(_: &Context, _: Handle<u8>, _: &()) -> Result<(), BoxError> {
        Ok(())
    }
    assert!(matches!(ctx.plugin(define("late").needs(SMALL).run(needs), ()), Err(MountError::Inactive(_))));
    app.provide(LARGE, Arc::new(1)).unwrap();
}

// spec: cases/L12
#[test]
fn an_app_whose_runtime_is_gone_is_emptied_by_whoever_waits() {
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let app = rt.block_on(async {
        let app = App::new().unwrap();
        for _ in 0..200 {
            app.plugin(define("idle").run(idle), ()).unwrap();
        }
        app.quiet().await;
        app
    });
    drop(rt);
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended =
        rt.block_on(async { tokio::time::timeout(Duration::from_secs(60), app.fiber().dispose()).await });
    assert!(ended.is_ok_and(|left| left.is_clean()));
    assert!(app.registry().is_empty());
}

// spec: cordis-core/C89
#[tokio::test]
async fn observers_of_creation_and_disposal_hear_of_the_same_fibers() {
    let app = TestApp::new();
    let told: Lines = Arc::default();
    let (created, disposing) = (told.clone(), told.clone());
    app.on(keys::FIBER_CREATED)
        .run(move |fiber| {
            created.lock().unwrap().push(format!("+{}", fiber.name()));
            Ok(())
        })
        .unwrap();
    app.on(keys::FIBER_DISPOSING)
        .run(move |f| disposing.lock().unwrap().push(format!("-{}", f.name())))
        .unwrap();
    app.scope().unwrap().close().await;
    let fiber = app.plugin(define("idle").run(idle), ()).unwrap();
    fiber.ready().await.unwrap();
    fiber.dispose().await;
    assert_eq!(*told.lock().unwrap(), ["+idle", "-idle"]);
}

// spec: cordis-core/C26
#[tokio::test(start_paused = true)]
async fn a_check_that_notifies_of_its_own_service_is_not_asked_for_ever() {
    async fn needs(_: &Context, _: Handle<u32>, _: &()) -> Result<(), BoxError> {
        Ok(())
    }
    let app = TestApp::new();
    let fiber = app.plugin(define("dependant").needs(SERVICE).run(needs), ()).unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let check = move |ctx: &Context| {
        count.fetch_add(1, SeqCst);
        ctx.notify(SERVICE);
        true
    };
    app.provide_when(SERVICE, Arc::new(1), check).unwrap();
    fiber.until(State::Active).await;
    assert!(asked.load(SeqCst) <= 4, "asked {} times", asked.load(SeqCst));
}

// spec: cordis-core/C99
#[tokio::test]
async fn an_update_is_checked_once_before_it_and_once_by_the_load() {
    async fn body(_: &Context, _: (), _: &u32) -> Result<(), BoxError> {
        Ok(())
    }
    let app = TestApp::new();
    let checked = Arc::new(AtomicU32::new(0));
    let count = checked.clone();
    let plugin = define("checked").validate(move |_: &u32| {
        count.fetch_add(1, SeqCst);
        Ok(())
    });
    let fiber = app.plugin(plugin.run(body), 1).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(checked.swap(0, SeqCst), 1);
    fiber.update(2u32).await.unwrap();
    assert_eq!(checked.load(SeqCst), 2);
}

/// A plugin that may use a service, mounted before the one that provides it, both below `ctx`.
async fn mount_both(ctx: &Context, lines: &Lines) {
    async fn may_use(ctx: &Context, service: Option<Handle<u32>>, lines: &Lines) -> Result<(), BoxError> {
        lines.lock().unwrap().push(format!("loads with {}", service.is_some()));
        let lines = lines.clone();
        ctx.effect("unloads", async move || lines.lock().unwrap().push("unloads".into()))?;
        Ok(())
    }
    async fn provides(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.provide(SERVICE, Arc::new(1))?;
        Ok(())
    }
    let user = ctx.plugin(define("user").needs(SERVICE.optional()).run(may_use), lines.clone()).unwrap();
    user.ready().await.unwrap();
    ctx.plugin(define("provider").run(provides), ()).unwrap().ready().await.unwrap();
}

// spec: cordis-core/C87, design/P2
#[tokio::test]
async fn nothing_is_loaded_again_while_what_is_above_it_is_unloaded() {
    let all = ["loads with false", "unloads", "loads with true", "unloads"];
    for how in ["shutdown", "root", "parent", "drop"] {
        let lines: Lines = Arc::default();
        let app = App::new().unwrap();
        if how == "parent" {
            async fn parent(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
                Ok(())
            }
            let parent = app.plugin(define("parent").run(parent), ()).unwrap();
            parent.ready().await.unwrap();
            mount_both(&parent.context(), &lines).await;
            app.quiet().await;
            parent.dispose().await;
        } else {
            mount_both(&app, &lines).await;
            app.quiet().await;
        }
        match how {
            "shutdown" => drop(app.shutdown().await),
            "root" => drop(app.fiber().dispose().await),
            _ => {}
        }
        drop(app);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(*lines.lock().unwrap(), all, "{how}");
    }
}

// spec: cases/L11
#[test]
fn effects_nested_three_thousand_deep_are_undone_on_a_small_stack() {
    /// Opens the levels one inside of another without recursion: each set-up hands its context out and ends.
    async fn nest(app: &App, depth: u32, undone: &Arc<AtomicU32>) -> Effect {
        let (mut ctx, mut outermost) = ((**app).clone(), None);
        for _ in 0..depth {
            let (hand_out, inner) = tokio::sync::oneshot::channel();
            let count = undone.clone();
            let level = ctx.effect_with("level", async move |inner| {
                inner.effect("leaf", async move || {
                    count.fetch_add(1, SeqCst);
                })?;
                let _ = hand_out.send(inner);
                Ok(())
            });
            let level = level.await.unwrap();
            outermost.get_or_insert(level);
            ctx = inner.await.unwrap();
        }
        outermost.unwrap()
    }
    let small = thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        rt.block_on(async {
            let app = TestApp::new();
            let undone = Arc::new(AtomicU32::new(0));
            let outermost = nest(&app, 3_000, &undone).await;
            assert!(outermost.dispose().await.is_clean());
            assert_eq!((undone.load(SeqCst), app.inspect().fiber.effects.len()), (3_000, 1));
        });
    });
    small.unwrap().join().unwrap();
}

// spec: design/P4
#[tokio::test]
async fn an_old_configuration_that_panics_when_it_is_dropped_does_not_stop_its_update() {
    struct Touchy(u32);
    impl Drop for Touchy {
        fn drop(&mut self) {
            assert_ne!(self.0, 1, "touchy");
        }
    }
    async fn body(ctx: &Context, _: (), config: &Touchy) -> Result<(), BoxError> {
        let n = config.0;
        ctx.provide(SERVICE, Arc::new(n))?;
        Ok(())
    }
    let app = TestApp::new();
    let fiber = app.plugin(define("touchy").run(body), Touchy(1)).unwrap();
    fiber.ready().await.unwrap();
    fiber.update(Touchy(2)).await.unwrap();
    assert_eq!(*app.get(SERVICE).unwrap().get().unwrap(), 2);
    assert_eq!(app.take_errors().len(), 1);
}
