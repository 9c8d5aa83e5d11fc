//! Effects with a set-up: what they collect, when it fails, is dropped, or is overtaken by a disposal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, EffectError, Emit, Inactive, State, define};
use std::{future::pending, sync::Arc};
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, effects, errors, fine, ms, paused};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

const PING: Emit<()> = Emit::new("ping");

fn inactive<T>(result: Result<T, impl Into<BoxError>>) -> bool {
    let Err(error) = result else { return false };
    with_causes(&*error.into()).contains("inactive context")
}

// spec: cordis-core/C66, cordis-core/C76
#[test]
fn the_set_up_runs_when_it_is_awaited_and_may_return_nothing_or_a_disposer() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let nothing = app.effect_with("nothing", async |_| Ok(())).await.unwrap();
        let told = log.clone();
        let disposer = app
            .effect_with("disposer", async |_| {
                told.add("set up");
                Ok(told.undo("undone"))
            })
            .await
            .unwrap();
        let told = log.clone();
        let failing = async move |_: Context| {
            Ok(async move || {
                told.add("failing");
                Err::<(), _>("no")
            })
        };
        let failing = app.effect_with("failing", failing).await.unwrap();
        assert_eq!(log.take(), ["set up"]);
        assert_eq!(effects(&app), ["nothing", "disposer[cleanup]", "failing[cleanup]"]);
        for effect in [failing, disposer, nothing] {
            assert!(effect.is_live());
            effect.dispose().await;
            assert!(!effect.is_live());
        }
        assert_eq!(log.take(), ["failing", "undone"]);
        assert_eq!(effects(&app), Vec::<String>::new());
    });
}

// spec: cordis-core/C67, cordis-core/C56
#[test]
fn the_parts_of_one_effect_are_undone_newest_first_each_awaited_and_its_disposer_before_them() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = log.clone();
        let effect = app
            .effect_with("outer", async |e| {
                e.effect("a", told.undo("a"))?;
                e.effect("b", told.slow_undo("b", ms(10)))?;
                e.effect("c", told.undo("c"))?;
                Ok(told.undo("returned"))
            })
            .await
            .unwrap();
        effect.dispose().await;
        assert_eq!(log.take(), ["returned", "c", "b start", "b end", "a"]);
    });
}

// spec: cordis-core/C68
#[test]
fn a_disposer_that_fails_is_reported_and_the_others_of_its_effect_run() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let told = log.clone();
        let effect = app
            .effect_with("outer", async |e| {
                e.effect("a", told.undo("a"))?;
                e.effect("b", async || Err::<(), _>("b is stuck"))?;
                e.effect("c", async || -> () { panic!("c blew up") })?;
                e.effect("d", told.undo("d"))?;
                Ok(())
            })
            .await
            .unwrap();
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["d", "a"]);
        assert_eq!(failures.take(), ["root c: panicked: c blew up", "root b: b is stuck"]);
        assert_eq!(effects(&app), ["ctx.on(\"internal/error\")"]);
    });
}

// spec: cordis-core/C70, cordis-core/C71, cordis-core/C72
#[test]
fn what_is_made_through_the_context_of_the_set_up_is_listed_and_undone_as_part_of_the_effect() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = log.clone();
        let outer = app
            .effect_with("outer", async |e| {
                e.effect("1", told.undo("1"))?;
                e.on(PING).run(|()| ())?;
                e.effect("2", told.undo("2"))?;
                let inner = e
                    .effect_with("inner", async |i| {
                        i.on(PING).run(|()| ())?;
                        i.effect("3", told.undo("3"))?;
                        Ok(())
                    })
                    .await?;
                assert!(inner.is_live());
                // Made through the plugin's own context, so it is not part of the effect.
                app.effect("beside", told.undo("beside"))?;
                Ok(())
            })
            .await
            .unwrap();
        assert_eq!(effects(&app), ["outer[1, ctx.on(\"ping\"), 2, inner[ctx.on(\"ping\"), 3]]", "beside"]);
        assert_eq!(app.listeners(PING), 2);
        outer.dispose().await;
        assert_eq!(log.take(), ["3", "2", "1"]);
        assert_eq!(app.listeners(PING), 0);
        assert_eq!(effects(&app), ["beside"]);
    });
}

// spec: cordis-core/C73, cordis-core/C77
#[test]
fn a_set_up_that_fails_half_way_is_rolled_back_before_its_caller_hears_of_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let before = effects(&app);
        let told = log.clone();
        let error = app
            .effect_with("half", async |e| {
                e.on(PING).run(|()| ())?;
                e.effect("a", told.undo("a"))?;
                e.effect("b", told.slow_undo("b", ms(10)))?;
                sleep(ms(5)).await;
                Err::<(), BoxError>("the port is taken".into())
            })
            .await
            .unwrap_err();
        assert_eq!(with_causes(&error), "the set-up of effect `half` of `root` failed: the port is taken");
        assert_eq!(log.take(), ["b start", "b end", "a"]);
        assert_eq!(effects(&app), before);
        assert_eq!(app.listeners(PING), 0);
        assert_eq!(failures.take(), Vec::<String>::new());
    });
}

// spec: cordis-core/C73
#[test]
fn a_set_up_that_fails_at_once_runs_no_disposer_and_leaves_nothing() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let error = app.effect_with("none", async |_| Err::<(), BoxError>("no".into())).await.unwrap_err();
        assert!(matches!(error, EffectError::Setup { .. }));
        assert_eq!(effects(&app), Vec::<String>::new());
    });
}

// spec: cordis-core/C73, cordis-core/C77, design/P4
#[test]
fn a_set_up_that_panics_is_rolled_back_and_the_panic_is_the_callers_error() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = log.clone();
        let boom = async |e: Context| {
            e.effect("a", told.undo("a"))?;
            sleep(ms(1)).await;
            if e.fiber().uid() == 0 {
                panic!("boom");
            }
            fine()
        };
        let error = app.effect_with("loud", boom).await.unwrap_err();
        assert_eq!(with_causes(&error), "the set-up of effect `loud` of `root` failed: panicked: boom");
        assert_eq!(log.take(), ["a"]);
        assert_eq!(effects(&app), Vec::<String>::new());
    });
}

// spec: cordis-core/C77
#[test]
fn failures_of_the_roll_back_are_reported_and_do_not_replace_the_cause() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let told = log.clone();
        let error = app
            .effect_with("half", async |e| {
                e.effect("a", told.undo("a"))?;
                e.effect("b", async || Err::<(), _>("b is stuck"))?;
                Err::<(), BoxError>("cause".into())
            })
            .await
            .unwrap_err();
        assert_eq!(with_causes(&error), "the set-up of effect `half` of `root` failed: cause");
        assert_eq!(log.take(), ["a"]);
        assert_eq!(failures.take(), ["root b: b is stuck"]);
    });
}

// spec: cordis-core/C74, cordis-core/C79
#[test]
fn a_disposal_during_the_set_up_waits_for_its_end_and_undoes_all_of_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        fiber.ready().await.unwrap();
        let (go, told) = (Arc::new(Notify::new()), log.clone());
        let (ctx, gate) = (fiber.context(), go.clone());
        let set_up = tokio::spawn(async move {
            ctx.effect_with("slow", async move |e| {
                e.effect("early", told.undo("early"))?;
                told.add("1");
                gate.notified().await;
                told.add("2");
                Ok(told.undo("returned"))
            })
            .await
        });
        while log.len() == 0 {
            tokio::task::yield_now().await;
        }
        // In the owner's list before its set-up has ended.
        assert_eq!(effects(&fiber.context()), ["slow[early]"]);
        let mut gone = Box::pin(fiber.dispose());
        assert!(timeout(ms(50), gone.as_mut()).await.is_err());
        assert_eq!(fiber.state(), State::Unloading);
        assert_eq!(
            app.inspect().fiber.effects[0].fiber.as_ref().unwrap().waiting_for.as_deref(),
            Some("slow")
        );
        go.notify_one();
        assert_eq!(gone.await, Disposed::default());
        assert_eq!(log.take(), ["1", "2", "returned", "early"]);
        assert!(set_up.await.unwrap().is_ok());
    });
}

// spec: cordis-core/C75
#[test]
fn a_set_up_whose_effect_was_disposed_is_refused_its_next_part_and_what_it_has_is_undone() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        fiber.ready().await.unwrap();
        let (stop, told, ctx) = (Arc::new(Notify::new()), log.clone(), fiber.context());
        let gate = stop.clone();
        let set_up = tokio::spawn(async move {
            ctx.effect_with("steps", async move |e| {
                e.effect("first", told.undo("undo 1"))?;
                told.add("1");
                gate.notified().await;
                told.add("2");
                e.effect("second", told.undo("undo 2"))?;
                told.add("not reached");
                Ok(())
            })
            .await
        });
        while log.len() == 0 {
            tokio::task::yield_now().await;
        }
        fiber.cancel();
        fiber.until(State::Unloading).await;
        stop.notify_one();
        fiber.dispose().await;
        assert!(inactive(set_up.await.unwrap()));
        assert_eq!(log.take(), ["1", "2", "undo 1"]);
    });
}

// spec: cordis-core/C78
#[test]
fn the_disposal_of_an_effect_whose_set_up_fails_later_still_cleans_up_and_the_caller_has_the_cause() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        fiber.ready().await.unwrap();
        let (go, told, ctx) = (Arc::new(Notify::new()), log.clone(), fiber.context());
        let gate = go.clone();
        let set_up = tokio::spawn(async move {
            ctx.effect_with("late", async move |e| {
                e.effect("part", told.undo("part"))?;
                gate.notified().await;
                Err::<(), BoxError>("too late".into())
            })
            .await
        });
        while effects(&fiber.context()) != ["late[part]"] {
            tokio::task::yield_now().await;
        }
        fiber.cancel();
        go.notify_one();
        fiber.dispose().await;
        assert_eq!(log.take(), ["part"]);
        let error = set_up.await.unwrap().unwrap_err();
        assert_eq!(with_causes(&error), "the set-up of effect `late` of `p#1` failed: too late");
    });
}

// spec: cordis-core/C79
#[test]
fn the_restart_from_inside_of_a_set_up_waits_for_the_set_up_and_its_clean_up() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |_: &Context, _: (), log: &Log| {
            log.add("load");
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let (owner, told) = (fiber.clone(), log.clone());
        fiber
            .context()
            .effect_with("restarting", async move |e| {
                e.effect("part", told.undo("part"))?;
                // Asked for from inside, so it does not wait for itself.
                let asked = owner.restart().await;
                told.add(format!("asked while {}", asked.map_or("failed".into(), |state| state.to_string())));
                sleep(ms(5)).await;
                told.add("set up");
                Ok(told.undo("returned"))
            })
            .await
            .unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        let told = log.take();
        assert_eq!(told[0], "load");
        assert!(told[1].starts_with("asked while "), "{told:?}");
        assert_eq!(told[2..], ["set up", "returned", "part", "load"]);
        assert_eq!(effects(&fiber.context()), Vec::<String>::new());
    });
}

// spec: cordis-core/C79, cordis-core/C73
#[test]
fn a_set_up_that_fails_after_it_asked_for_the_restart_of_its_owner_is_rolled_back_before_the_reload() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |_: &Context, _: (), log: &Log| {
            log.add("load");
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let (owner, told) = (fiber.clone(), log.clone());
        let failed = fiber
            .context()
            .effect_with("failing", async move |e| {
                e.effect("part", told.slow_undo("part", ms(5)))?;
                let _ = owner.restart().await;
                Err::<(), BoxError>("no".into())
            })
            .await;
        assert!(failed.is_err());
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["load", "part start", "part end", "load"]);
        assert_eq!(effects(&fiber.context()), Vec::<String>::new());
    });
}

#[test]
fn a_set_up_whose_future_is_dropped_is_rolled_back() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = log.clone();
        let set_up = app.effect_with("dropped", async |e| {
            let held = told.on_drop("held");
            e.on(PING).run(|()| ())?;
            e.effect("part", told.undo("part"))?;
            pending::<()>().await;
            drop(held);
            fine()
        });
        assert!(timeout(ms(10), set_up).await.is_err());
        app.quiet().await;
        assert_eq!(log.take(), ["held", "part"]);
        assert_eq!((effects(&app), app.listeners(PING)), (Vec::new(), 0));
    });
}

// spec: cases/L2
#[test]
fn a_set_up_that_returns_its_clean_up_after_the_disposal_was_asked_for_has_it_run_once() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        fiber.ready().await.unwrap();
        let (owner, told) = (fiber.clone(), log.clone());
        let effect = fiber
            .context()
            .effect_with("suicidal", async move |e| {
                owner.dispose().await;
                let refused = e.effect("more", told.undo("more"));
                assert!(matches!(refused, Err(Inactive { .. })));
                Ok(told.slow_undo("clean-up", ms(20)))
            })
            .await
            .unwrap();
        let (one, two) = (fiber.clone(), effect.clone());
        let both = (
            tokio::spawn(async move { one.dispose().await }),
            tokio::spawn(async move { two.dispose().await }),
        );
        both.0.await.unwrap();
        assert_eq!(log.len(), 2);
        both.1.await.unwrap();
        assert_eq!(log.take(), ["clean-up start", "clean-up end"]);
        assert_eq!(fiber.state(), State::Disposed);
    });
}

// spec: cordis-core/C79
#[test]
fn a_set_up_inside_of_a_body_ends_with_the_body() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            let log = log.clone();
            ctx.effect_with("inside", async move |e| {
                e.effect("part", log.undo("part"))?;
                sleep(ms(1000)).await;
                log.add("not reached");
                fine()
            })
            .await?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        sleep(ms(10)).await;
        assert_eq!(effects(&fiber.context()), ["inside[part]"]);
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["part"]);
    });
}

// spec: cordis-core/C70, design/P2
#[test]
fn an_unload_undoes_the_parts_of_an_effect_as_one_step() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("before", log.undo("before"))?;
            let (plugin, log) = (ctx.clone(), log.clone());
            let set_up = async move |e: Context| {
                e.effect("1", log.undo("1"))?;
                plugin.effect("beside", log.undo("beside"))?;
                e.effect("2", log.undo("2"))?;
                Ok(log.undo("returned"))
            };
            ctx.effect_with("outer", set_up).await?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        fiber.dispose().await;
        assert_eq!(log.take(), ["beside", "returned", "2", "1", "before"]);
    });
}
