//! Two keys of one name that disagree: the second is refused when it registers, and reported when it dispatches.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Announce, App, Bail, Emit, Event, ListenError, Parallel, Serial, Waterfall};
use support_events::*;

const NAME: &str = "test/taken";

/// The error of a registration under a taken name, without the number of the plugin.
fn conflict(error: ListenError) -> (String, String, String, String) {
    let text = error.to_string();
    match error {
        ListenError::KeyConflict { event, mode, plugin, .. } => {
            (event.into(), mode.to_string(), plugin, text)
        }
        other => panic!("{other}"),
    }
}

fn expected(mode: &str) -> (String, String, String, String) {
    let text = format!(
        "`root` cannot listen to `{NAME}` as {mode}: a key of that name with another mode or other types is in use; \
         import the key's constant instead of declaring a second one"
    );
    (NAME.into(), mode.into(), "root".into(), text)
}

/// Takes the name with a listener that must not be called by the dispatches of other keys.
fn taken<K: Event>(_key: K, register: impl FnOnce(&App, Log)) -> (App, Errors, Log) {
    let (app, errors) = host();
    let log = Log::default();
    register(&app, log.clone());
    (app, errors, log)
}

fn told(mode: &str) -> (String, String, String) {
    let text = format!(
        "nobody was told of `{NAME}` as {mode}: a key of that name with another mode or other types is in use; import \
         the key's constant instead of declaring a second one"
    );
    report("dispatcher", NAME, &text)
}

fn by_emit(app: &App, log: Log) {
    app.on(Emit::<String>::new(NAME)).run(move |_| log.add("called")).unwrap();
}

fn by_serial(app: &App, log: Log) {
    let key: Serial<String, String> = Serial::new(NAME);
    app.on(key)
        .with(log)
        .run(async |log, _| {
            log.add("called");
            Ok(None)
        })
        .unwrap();
}

// spec: design/P5
#[tokio::test(start_paused = true)]
async fn registering_with_another_type_or_mode_is_an_error_that_names_plugin_key_and_remedy() {
    for take in [by_emit, by_serial] {
        let (app, errors, log) = taken(Emit::<String>::new(NAME), take);
        let refused = [
            conflict(app.on(Emit::<u32>::new(NAME)).run(|_| ()).unwrap_err()),
            conflict(app.on(Announce::<String>::new(NAME)).run(|_| Ok(())).unwrap_err()),
            conflict(app.on(Bail::<String, String>::new(NAME)).run(|_| None).unwrap_err()),
            conflict(app.on(Parallel::<String>::new(NAME)).run(async |_| Ok(())).unwrap_err()),
            conflict(app.on(Serial::<String, u32>::new(NAME)).run(async |_| Ok(None)).unwrap_err()),
            conflict(app.on(Waterfall::<u32, u32>::new(NAME)).run(async |n, _| *n).unwrap_err()),
        ];
        assert_eq!(refused, ["emit", "announce", "bail", "parallel", "serial", "waterfall"].map(expected));
        assert_eq!((log.take(), errors.take()), (vec![], vec![]));
    }
}

// spec: design/P5
#[tokio::test(start_paused = true)]
async fn synchronous_dispatches_with_another_type_or_mode_are_reported_and_nobody_is_called() {
    for take in [by_emit, by_serial] {
        let (app, errors, log) = taken(Emit::<String>::new(NAME), take);
        app.emit(Emit::<u32>::new(NAME), &1);
        assert_eq!(errors.take(), [told("emit")]);
        assert!(app.announce(Announce::<String>::new(NAME), &"a".into()).is_ok());
        assert_eq!(errors.take(), [told("announce")]);
        assert_eq!(app.bail(Bail::<String, String>::new(NAME), &"a".into()), None);
        assert_eq!(errors.take(), [told("bail")]);
        assert_eq!(log.take(), [""; 0]);
    }
}

// spec: design/P5
#[tokio::test(start_paused = true)]
async fn asynchronous_dispatches_with_another_type_or_mode_are_reported_and_nobody_is_called() {
    for take in [by_emit, by_serial] {
        let (app, errors, log) = taken(Emit::<String>::new(NAME), take);
        assert!(app.parallel(Parallel::<String>::new(NAME), &"a".into()).await.is_ok());
        assert_eq!(errors.take(), [told("parallel")]);
        assert_eq!(app.serial(Serial::<u32, u32>::new(NAME), &1).await.unwrap(), None);
        assert_eq!(errors.take(), [told("serial")]);
        let result = app.waterfall(Waterfall::<u32, u32>::new(NAME), &mut 1, &(), async |_, n| *n).await;
        assert_eq!((result.unwrap(), errors.take()), (1, vec![told("waterfall")]));
        assert_eq!(log.take(), [""; 0]);
    }
}

// spec: design/P5
#[tokio::test(start_paused = true)]
async fn dispatches_at_a_scope_with_another_type_are_reported_too() {
    for in_scope in [false, true] {
        let (app, errors) = host();
        let log = Log::default();
        let scope = app.scope().unwrap();
        let ctx = if in_scope { scope.context().clone() } else { app.root() };
        let l = log.clone();
        ctx.on(Emit::<String>::new(NAME)).run(move |_| l.add("called")).unwrap();
        let at = app.at(&scope);
        at.emit(Emit::<u32>::new(NAME), &1);
        assert_eq!(errors.take(), [told("emit")], "registered in the scope: {in_scope}");
        assert_eq!(at.serial(Serial::<u32, u32>::new(NAME), &1).await.unwrap(), None);
        assert_eq!(errors.take(), [told("serial")], "registered in the scope: {in_scope}");
        assert_eq!(log.take(), [""; 0]);
    }
}

// spec: design/P5
#[tokio::test(start_paused = true)]
async fn one_name_has_one_type_in_all_scopes() {
    let (app, _) = host();
    let scope = app.scope().unwrap();
    app.on(Emit::<String>::new(NAME)).run(|_| ()).unwrap();
    let refused = scope.context().on(Emit::<u32>::new(NAME)).run(|_| ());
    assert!(matches!(refused, Err(ListenError::KeyConflict { .. })), "{refused:?}");
}

// spec: design/P5
#[tokio::test(start_paused = true)]
async fn two_constants_of_one_name_mode_and_type_are_one_key() {
    let (app, errors) = host();
    let log = Log::default();
    by_emit(&app, log.clone());
    app.emit(Emit::new(NAME), &"a".to_owned());
    assert_eq!((log.take(), errors.take()), (vec!["called".to_owned()], vec![]));
}
