//! What is told when something is registered, and when it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cordis::{BoxError, Context, Effect, ScopeKey};
use dsh_prompt::{CHANGE, PromptChange, PromptContext, PromptSection, RegisterError, SystemPrompt};

use crate::fixture::{Fixture, Log, offers};

/// Logs the scope of each change that the context hears of.
fn hear(ctx: &Context, log: &Log) {
    let log = log.clone();
    ctx.on(CHANGE)
        .run(move |change: &PromptChange| {
            log.say(format!("{:?}", change.scope.as_ref().map(ScopeKey::id)));
            Ok(())
        })
        .unwrap();
}

type Register = fn(&SystemPrompt, &Context) -> Result<Effect, RegisterError>;

/// One registration of each kind.
const ALL: [Register; 5] = [
    |prompt, ctx| prompt.section(ctx, PromptSection::new("s", 1, "text")),
    |prompt, ctx| prompt.context(ctx, PromptContext::new("c", 1, "text")),
    |prompt, ctx| prompt.variable(ctx, "v", |_| None),
    |prompt, ctx| prompt.tools(ctx, offers(&["t"])),
    |prompt, ctx| prompt.suppress_runtime_context(ctx),
];

// spec: system-prompt/S12
#[tokio::test]
async fn every_registration_and_every_disposal_is_told_whatever_its_scope() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let log = Log::default();
    hear(&fixture.app, &log);
    for ctx in [&**fixture.app, agent.context()] {
        let scope = format!("{:?}", ctx.scope_key().map(ScopeKey::id));
        for register in ALL {
            let effect = register(&fixture.prompt(), ctx).unwrap();
            assert_eq!(log.take(), std::slice::from_ref(&scope));
            effect.dispose().await;
            assert_eq!(log.take(), std::slice::from_ref(&scope));
            effect.dispose().await;
            assert!(log.take().is_empty(), "a second disposal changes nothing");
        }
    }
}

// spec: system-prompt/S12
#[tokio::test]
async fn a_global_listener_of_another_scope_hears_every_change() {
    let fixture = Fixture::new().await;
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let log = Log::default();
    let heard = log.clone();
    other
        .context()
        .on(CHANGE)
        .global()
        .run(move |_| {
            heard.say("heard");
            Ok(())
        })
        .unwrap();
    fixture.prompt().section(agent.context(), PromptSection::new("s", 1, "text")).unwrap();
    assert_eq!(log.take(), ["heard"]);
}

// spec: system-prompt/S14
#[tokio::test]
async fn what_is_not_registered_is_not_told() {
    let fixture = Fixture::new().await;
    for register in ALL {
        register(&fixture.prompt(), &fixture.app).unwrap();
    }
    let log = Log::default();
    hear(&fixture.app, &log);
    let prompt = fixture.prompt();
    let app = &fixture.app;
    assert!(prompt.section(app, PromptSection::new("s", 1, "text")).is_err());
    assert!(prompt.section(app, PromptSection::new("other", f64::NAN, "text")).is_err());
    assert!(prompt.context(app, PromptContext::new("c", 1, "text")).is_err());
    assert!(prompt.context(app, PromptContext::new("other", f64::NAN, "text")).is_err());
    assert!(prompt.variable(app, "v", |_| None).is_err());
    assert!(prompt.variable(app, "No", |_| None).is_err());
    assert!(log.take().is_empty());
}

// spec: system-prompt/S13
#[tokio::test]
async fn a_refused_registration_is_taken_back_which_is_told_and_can_be_tried_again() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let (log, refusing) = (Log::default(), Arc::new(AtomicBool::new(false)));
    let (heard, refuse) = (log.clone(), refusing.clone());
    let listener = move |_: &PromptChange| match refuse.swap(false, Relaxed) {
        true => {
            heard.say("refused");
            Err::<(), BoxError>("not now".into())
        }
        false => {
            heard.say("told");
            Ok(())
        }
    };
    fixture.app.on(CHANGE).run(listener).unwrap();
    for ctx in [&**fixture.app, agent.context()] {
        let before = fixture.assemble_at(&agent).await;
        let effects = fixture.app.effects(ctx);
        for register in ALL {
            refusing.store(true, Relaxed);
            let refused = register(&fixture.prompt(), ctx).unwrap_err();
            let RegisterError::Refused { plugin, source, .. } = refused else { panic!("{refused:?}") };
            assert_eq!((plugin, source.to_string()), (ctx.fiber().label(), "not now".to_owned()));
            assert_eq!(log.take(), ["refused", "told"]);
            assert_eq!(fixture.assemble_at(&agent).await, before);
            assert_eq!(fixture.app.effects(ctx), effects);

            let effect = register(&fixture.prompt(), ctx).unwrap();
            assert_eq!(log.take(), ["told"]);
            effect.dispose().await;
            assert_eq!(log.take(), ["told"]);
        }
    }
}
