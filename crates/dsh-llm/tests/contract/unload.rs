//! Plugins are unloaded in the middle of an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cordis::{BoxError, Context, Handle, Next, define};
use dsh_llm::testing::{Answer, Gate, ScriptedModel, collected};
use dsh_llm::{
    ADAPTERS_UPDATED, LLM, Llm, LlmError, ModelCall, Outcome, RegisterError, STREAM, StreamChunk, code,
};
use parking_lot::Mutex;

use crate::fixture::{Acts, Fixture, delta, failure, passing, request, short, stop};

fn hanging(gate: &Gate) -> Answer {
    Answer::new().chunks([delta("a")]).wait(gate).chunks([delta("b"), stop()])
}

// spec: design/P1, llm/S39
#[tokio::test(start_paused = true)]
async fn an_adapter_that_is_unloaded_ends_its_answers_with_a_finish() {
    for listeners in 0..2 {
        let (fixture, gate) = (Fixture::new().await, Gate::new());
        let model = ScriptedModel::new([hanging(&gate)]);
        let plugin = fixture.plugin_of("acme-adapter", "acme", &model).await;
        for _ in 0..listeners {
            fixture.app.on(STREAM).run(passing).unwrap();
        }
        let mut stream = fixture.ask("acme");
        assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
        let start = tokio::time::Instant::now();
        let (disposed, rest) = tokio::join!(plugin.dispose(), collected(stream));
        assert!(disposed.is_clean(), "{disposed}");
        assert_eq!(start.elapsed(), Duration::ZERO);
        let rest = rest.unwrap();
        assert_eq!(failure(&rest).code, code::REGISTRATION_DISPOSED);
        assert!(failure(&rest).message.contains("acme-adapter"), "{}", failure(&rest).message);
        assert_eq!(rest.len(), 1);
        assert!(model.requests()[0].cancellation.is_cancelled(), "what runs elsewhere for it is told");
        gate.open();
        let after = collected(fixture.ask("acme")).await.unwrap();
        assert_eq!(failure(&after).code, code::NO_ADAPTER);
    }
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn nothing_of_an_adapter_runs_or_is_kept_after_its_unloading() {
    let (fixture, ticks) = (Fixture::new().await, Arc::new(AtomicU64::new(0)));
    let held = Arc::downgrade(&ticks);
    let fiber = fixture.host().await;
    let acts = {
        let ticks = ticks.clone();
        Acts::new(move |mut out| {
            let ticks = ticks.clone();
            async move {
                loop {
                    ticks.fetch_add(1, Ordering::SeqCst);
                    out.send(delta("x")).await;
                }
            }
        })
    };
    let registration = fixture.llm.register(&fiber.context(), ["acme"], acts).unwrap();
    let mut stream = fixture.ask("acme");
    stream.next().await.unwrap().unwrap();
    let reading = tokio::spawn(async move {
        let mut last = None;
        while let Some(chunk) = stream.next().await {
            last = Some(chunk.unwrap());
            tokio::task::yield_now().await;
        }
        last
    });
    tokio::task::yield_now().await;
    let disposed = fiber.dispose().await;
    let count = ticks.load(Ordering::SeqCst);
    assert!(disposed.is_clean(), "{disposed}");
    let last = reading.await.unwrap().unwrap();
    assert_eq!(failure(&[last]).code, code::REGISTRATION_DISPOSED);
    assert_eq!(ticks.load(Ordering::SeqCst), count);
    drop(ticks);
    assert!(held.upgrade().is_none(), "the adapter is dropped though its registration is kept");
    assert_eq!(registration.replace(["acme"]).unwrap_err(), RegisterError::Disposed);
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_reads_does_not_hold_an_unloading_up_for_ever() {
    let (fixture, gate) = (Fixture::new().await, Gate::new());
    let model = ScriptedModel::new([hanging(&gate)]);
    let plugin = fixture.plugin_of("acme-adapter", "acme", &model).await;
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    // The reader itself unloads the plugin, and does not read meanwhile.
    let disposed = tokio::time::timeout(Duration::from_secs(60), plugin.dispose()).await.unwrap();
    assert_eq!(disposed.still_running.len(), 1, "{disposed}");
    assert!(disposed.to_string().contains("acme-adapter"), "{disposed}");
    gate.open();
    let rest = collected(stream).await.unwrap();
    assert_eq!(failure(&rest).code, code::REGISTRATION_DISPOSED);
    assert!(model.sent() <= 1, "nothing of it runs any more");
}

// spec: design/P1, design/P3
#[tokio::test(start_paused = true)]
async fn an_adapter_may_take_itself_back_while_it_answers() {
    let fixture = Fixture::new().await;
    let own: Arc<Mutex<Option<dsh_llm::Registration>>> = Arc::default();
    let of_adapter = own.clone();
    let acts = Acts::new(move |mut out| {
        let registration = of_adapter.lock().take();
        async move {
            out.send(delta("a")).await;
            assert!(registration.unwrap().dispose().await.requested);
            std::future::pending().await
        }
    });
    *own.lock() = Some(fixture.llm.register(&fixture.app, ["acme"], acts).unwrap());
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(short(&chunks), ["a", "error REGISTRATION_DISPOSED"]);
    assert_eq!(fixture.provider_ids(), Vec::<String>::new());
}

async fn listens(ctx: &Context, (): (), (): &()) -> Result<(), BoxError> {
    ctx.on(STREAM).run(passing)?;
    Ok(())
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn the_plugin_of_a_listener_is_unloaded_when_its_answers_are_over() {
    let gate = Gate::new();
    let (fixture, _) = Fixture::with([hanging(&gate), Answer::text("next")]).await;
    let listener = fixture.app.plugin(define("listener").run(listens), ()).unwrap();
    fixture.app.quiet().await;
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    let rest = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        gate.open();
        collected(stream).await.unwrap()
    };
    let start = tokio::time::Instant::now();
    let (disposed, rest) = tokio::join!(listener.dispose(), rest);
    assert!(disposed.is_clean(), "{disposed}");
    assert_eq!(short(&rest), ["b", "stop"]);
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    assert_eq!(fixture.app.listeners(STREAM), 0);
    assert_eq!(collected(fixture.ask("acme")).await.unwrap().len(), 4);
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_listener_whose_answer_does_not_end_is_let_go_after_the_limit() {
    let gate = Gate::new();
    let (fixture, _) = Fixture::with([hanging(&gate)]).await;
    let listener = fixture.app.plugin(define("listener").run(listens), ()).unwrap();
    fixture.app.quiet().await;
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    let disposed = tokio::time::timeout(Duration::from_secs(60), listener.dispose()).await.unwrap();
    assert_eq!(disposed.still_running.len(), 1, "{disposed}");
    gate.open();
    assert_eq!(short(&collected(stream).await.unwrap()), ["b", "stop"], "the call goes on");
}

// spec: design/P1, design/P2
#[tokio::test(start_paused = true)]
async fn unloading_the_service_drains_its_adapters_first_and_takes_nothing_any_more() {
    let (fixture, gate) = (Fixture::new().await, Gate::new());
    let model = ScriptedModel::new([hanging(&gate)]);
    let adapter = fixture.plugin_of("acme-adapter", "acme", &model).await;
    fixture.serve("of-the-app", &ScriptedModel::new([]));
    let mut stream = fixture.ask("acme");
    assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
    let (disposed, rest) = tokio::join!(fixture.plugin.dispose(), collected(stream));
    assert!(disposed.is_clean(), "{disposed}");
    assert_eq!(failure(&rest.unwrap()).code, code::REGISTRATION_DISPOSED);
    assert_eq!(adapter.state(), cordis::State::Pending, "it waits for another service");
    assert!(fixture.app.get(LLM).is_none());
    // Whoever kept the service is told.
    assert_eq!(fixture.provider_ids(), Vec::<String>::new());
    let error = fixture.llm.register(&fixture.app, ["x"], model.adapter()).unwrap_err();
    assert_eq!((&error, error.code()), (&RegisterError::Closed, code::REGISTRATION_DISPOSED));
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(failure(&chunks).code, code::NO_ADAPTER);
    let search = fixture.llm.register_discovery(&fixture.app, "x", async |_| Ok(Vec::new())).unwrap_err();
    assert_eq!(search.code(), code::REGISTRATION_DISPOSED);
    fixture.app.assert_no_errors();
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn an_adapter_registers_again_with_the_next_service() {
    let fixture = Fixture::new().await;
    let model = ScriptedModel::new([Answer::text("a")]);
    fixture.plugin_of("acme-adapter", "acme", &model).await;
    fixture.plugin.dispose().await;
    fixture.app.plugin(dsh_llm::plugin(), ()).unwrap();
    fixture.app.quiet().await;
    let handle = fixture.app.get(LLM).unwrap();
    let stream = handle.get().unwrap().stream(request("acme"));
    assert_eq!(short(&collected(stream).await.unwrap()).last().unwrap(), "stop");
    assert_eq!(model.requests().len(), 1);
}

// spec: llm/S30, design/P1
#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_dying_registers_nothing() {
    let fixture = Fixture::new().await;
    let told: Arc<Mutex<Vec<RegisterError>>> = Arc::default();
    async fn dying(
        ctx: &Context,
        llm: Handle<Llm>,
        told: &Option<Arc<Mutex<Vec<RegisterError>>>>,
    ) -> Result<(), BoxError> {
        let (llm, told, own) = (Llm::clone(&*llm.get()?), told.clone(), ctx.clone());
        ctx.effect("last words", move || async move {
            let error = llm.register(&own, ["late"], ScriptedModel::new([]).adapter()).unwrap_err();
            told.unwrap().lock().push(error);
        })?;
        Ok(())
    }
    let plugin = define("dying").needs(LLM).run(dying);
    let fiber = fixture.app.plugin(plugin, Some(told.clone())).unwrap();
    fixture.app.quiet().await;
    let changes = cordis::testing::Recorder::of(&fixture.app, ADAPTERS_UPDATED, |()| ()).unwrap();
    assert!(fiber.dispose().await.is_clean());
    assert!(matches!(told.lock().as_slice(), [RegisterError::Inactive(_)]), "{told:?}");
    assert_eq!(fixture.provider_ids(), Vec::<String>::new());
    assert_eq!(changes.take().len(), 0);
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_thousand_calls_and_registrations() {
    let fixture = Fixture::new().await;
    let (effects, own) = (fixture.app.effects(&fixture.app), fixture.app.effects(&fixture.plugin.context()));
    for _ in 0..200 {
        let answers = [Answer::text("a"), Answer::error(LlmError::new(code::SERVER, "it broke"))];
        let registration = fixture.serve("acme", &ScriptedModel::new(answers));
        for _ in 0..2 {
            collected(fixture.ask("acme")).await.unwrap();
        }
        let mut stream = fixture.ask("acme");
        assert!(matches!(stream.next().await, Some(Ok(StreamChunk::Finish { .. }))));
        drop(stream);
        assert!(registration.dispose().await.is_clean());
    }
    assert_eq!(fixture.app.effects(&fixture.app), effects);
    assert_eq!(fixture.app.effects(&fixture.plugin.context()), own);
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn a_listener_may_unload_the_adapter_that_it_reads() {
    let (fixture, gate) = (Fixture::new().await, Gate::new());
    let model = ScriptedModel::new([hanging(&gate)]);
    let plugin = fixture.plugin_of("acme-adapter", "acme", &model).await;
    fixture
        .app
        .on(STREAM)
        .with(plugin.clone())
        .run(async |plugin: &cordis::Fiber, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
            let mut out = call.out.clone();
            let mut below = call.below(next);
            while let Some(chunk) = below.next().await {
                plugin.cancel();
                out.send(chunk).await;
            }
            below.outcome()
        })
        .unwrap();
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(short(&chunks), ["a", "error REGISTRATION_DISPOSED"]);
    plugin.until(cordis::State::Disposed).await;
}
