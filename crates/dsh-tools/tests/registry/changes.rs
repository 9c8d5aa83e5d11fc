//! What is told of each change, and what listeners may do then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cordis::BoxError;
use dsh_tools::{CHANGE, Mode, RegisterError, Restriction};
use parking_lot::Mutex;

use crate::fixture::{Fixture, named, names};

// spec: tools/T7
#[tokio::test]
async fn tools_restrictions_and_presentations_are_told_when_they_come_and_go_and_guards_are_not() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let told = fixture.changes();
    let changed = || std::mem::take(&mut *told.lock());
    let (tools, own) = (fixture.tools(), Some(agent.key().id()));
    let global = tools.register(&fixture.app, named("t")).unwrap();
    assert_eq!(changed(), [None]);
    let scoped = tools.register(agent.context(), named("own")).unwrap();
    assert_eq!(changed(), [own]);
    let restriction = tools.restrict(agent.context(), Restriction::deny(["t"])).unwrap();
    assert_eq!(changed(), [own]);
    let presentation = tools.present(agent.context(), Mode::Native).unwrap();
    assert_eq!(changed(), [own]);
    let guard = tools.guard(&fixture.app, |_| None).unwrap();
    tools.register(&fixture.app, named("t")).unwrap_err();
    guard.dispose().await;
    assert_eq!(changed(), []);
    for effect in [presentation, restriction, scoped, global] {
        effect.dispose().await;
        effect.dispose().await;
    }
    assert_eq!(changed(), [own, own, own, None]);
}

// spec: tools/T7
#[tokio::test]
async fn what_a_listener_refuses_is_taken_back_at_once_and_its_error_is_the_registrations() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let tools = fixture.tools();
    tools.register(&fixture.app, named("there")).unwrap();
    let before = (fixture.app.effects(&fixture.app), fixture.app.effects(agent.context()));
    let (called, refuses) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
    let (count, refusing) = (called.clone(), refuses.clone());
    let bad = move |_: &dsh_tools::ToolsChange| {
        count.fetch_add(1, Ordering::SeqCst);
        if refusing.load(Ordering::SeqCst) { Err(BoxError::from("not now")) } else { Ok(()) }
    };
    let listener = fixture.app.on(CHANGE).run(bad).unwrap();

    let held = Arc::new(());
    let captured = held.clone();
    let tool = named("t").parallel_when(move |_| Arc::strong_count(&captured) > 0);
    let refused = tools.register(&fixture.app, tool).unwrap_err();
    let RegisterError::Refused { what, source, .. } = &refused else { panic!("{refused}") };
    assert_eq!((what.as_str(), source.to_string().as_str()), ("tool \"t\"", "not now"));
    assert_eq!(names(&tools, None), ["there"]);
    assert_eq!(called.swap(0, Ordering::SeqCst), 2, "told of the coming and of the going");
    assert_eq!(Arc::strong_count(&held), 1, "what the tool captured is gone");

    let refused = tools.restrict(agent.context(), Restriction::deny(["there"])).unwrap_err();
    assert!(matches!(&refused, RegisterError::Refused { what, .. } if what == "a restriction"), "{refused}");
    assert_eq!(names(&tools, Some(agent.key())), ["there"]);
    let refused = tools.present(agent.context(), Mode::Code).unwrap_err();
    assert!(
        matches!(&refused, RegisterError::Refused { what, .. } if what == "presentation `code`"),
        "{refused}"
    );
    assert_eq!(tools.mode(Some(agent.key())), Mode::Native);
    assert_eq!(called.load(Ordering::SeqCst), 4);

    refuses.store(false, Ordering::SeqCst);
    listener.dispose().await;
    fixture.app.quiet().await;
    assert_eq!((fixture.app.effects(&fixture.app), fixture.app.effects(agent.context())), before);
    tools.register(&fixture.app, named("t")).unwrap();
    assert_eq!(names(&tools, None), ["there", "t"]);
}

// spec: tools/T7
#[tokio::test]
async fn a_listener_that_panics_refuses() {
    let fixture = Fixture::new().await;
    fixture.app.on(CHANGE).run(|_| panic!("the listener burst")).unwrap();
    let refused = fixture.tools().register(&fixture.app, named("t")).unwrap_err();
    let RegisterError::Refused { source, .. } = &refused else { panic!("{refused}") };
    assert!(source.to_string().contains("the listener burst"), "{source}");
    assert_eq!(fixture.names(None), [""; 0]);
}

// spec: tools/T7
#[tokio::test]
async fn an_error_about_a_removal_is_reported_and_the_tool_is_gone_all_the_same() {
    let fixture = Fixture::new().await;
    let tool = fixture.tools().register(&fixture.app, named("t")).unwrap();
    fixture.app.on(CHANGE).run(|_| Err("too late".into())).unwrap();
    tool.dispose().await;
    assert_eq!(fixture.names(None), [""; 0]);
    let reports = fixture.app.take_errors();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].message.contains("too late"), "{reports:?}");
}

// spec: tools/T6
#[tokio::test]
async fn a_change_is_of_no_scope_so_an_agents_listener_hears_it_only_if_it_listens_globally() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = |who: &'static str| {
        let heard = heard.clone();
        move |_: &dsh_tools::ToolsChange| {
            heard.lock().push(who);
            Ok::<(), BoxError>(())
        }
    };
    agent.context().on(CHANGE).run(listener("scoped")).unwrap();
    agent.context().on(CHANGE).global().run(listener("global")).unwrap();
    fixture.app.on(CHANGE).run(listener("unscoped")).unwrap();
    fixture.tools().register(agent.context(), named("t")).unwrap();
    assert_eq!(*heard.lock(), ["global", "unscoped"]);
}

// spec: tools/T7, tools/T4
#[tokio::test]
async fn a_listener_may_look_register_and_take_back_while_it_is_told() {
    let fixture = Fixture::new().await;
    let removed = fixture.tools().register(&fixture.app, named("removed")).unwrap();
    let (busy, seen) = (AtomicBool::new(false), Arc::new(Mutex::new(Vec::new())));
    let (handle, ctx, log) = (fixture.handle.clone(), (**fixture.app).clone(), seen.clone());
    let listener = move |_: &dsh_tools::ToolsChange| {
        let tools = handle.get()?;
        log.lock().push(names(&tools, None).join(" "));
        if !busy.swap(true, Ordering::SeqCst) {
            tools.register(&ctx, named("by listener"))?;
            removed.cancel();
            log.lock().push("done".to_owned());
        }
        Ok::<(), BoxError>(())
    };
    fixture.app.on(CHANGE).run(listener).unwrap();
    fixture.tools().register(&fixture.app, named("t")).unwrap();
    fixture.app.quiet().await;
    assert_eq!(fixture.names(None), ["t", "by listener"]);
    let seen = seen.lock().clone();
    assert_eq!(seen[..2], ["removed t", "removed t by listener"]);
    assert!(seen.contains(&"t by listener".to_owned()) && seen.contains(&"done".to_owned()), "{seen:?}");
    assert_eq!(seen.len(), 4);
    fixture.app.assert_no_errors();
}

// spec: tools/T7
#[tokio::test]
async fn a_listener_may_unload_the_plugin_that_registers() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let fiber = agent.fiber();
    fixture
        .app
        .on(CHANGE)
        .run(move |_| {
            fiber.cancel();
            Ok(())
        })
        .unwrap();
    // Whatever the registration says, the tool goes with the scope.
    let _ = fixture.tools().register(agent.context(), named("t"));
    assert!(agent.close().await.is_clean());
    assert_eq!(fixture.names(Some(agent.key())), [""; 0]);
    let refused = fixture.tools().register(agent.context(), named("t")).unwrap_err();
    assert!(matches!(refused, RegisterError::Inactive(_)), "{refused}");
}
