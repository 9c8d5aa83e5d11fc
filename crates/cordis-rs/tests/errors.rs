//! What errors say, and what they leave to their cause.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_errors;

use cordis::{
    BoxError, Context, EffectError, FiberError, LayerError, MountError, UpdateError, chain, define,
    testing::TestApp,
};
use std::{error::Error, fmt};
use support_errors::with_causes;

fn cause() -> BoxError {
    "the cause".into()
}

#[test]
fn no_error_says_what_its_cause_says_too() {
    let plugin = || "p#1".to_owned();
    let errors: [Box<dyn Error>; 7] = [
        Box::new(MountError::Refused { plugin: plugin(), source: cause() }),
        Box::new(MountError::Config { plugin: plugin(), source: cause() }),
        Box::new(EffectError::Setup { label: "e".into(), plugin: plugin(), source: cause() }),
        Box::new(FiberError::Failed { plugin: plugin(), source: cause().into() }),
        Box::new(UpdateError::Invalid { plugin: plugin(), source: cause() }),
        Box::new(UpdateError::Refused { plugin: plugin(), source: cause() }),
        Box::new(LayerError::<fmt::Error>::Refused(cause())),
    ];
    for error in errors {
        assert!(!error.to_string().contains("the cause"), "{error}");
        let whole = with_causes(&*error);
        assert_eq!(whole.matches("the cause").count(), 1, "{whole}");
        assert!(whole.ends_with(": the cause"), "{whole}");
    }
}

/// An error that shows its cause itself, as many do.
#[derive(Debug)]
struct Talkative(fmt::Error);

impl fmt::Display for Talkative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it did not work: {}", self.0)
    }
}

impl Error for Talkative {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// An error that is its own cause.
#[derive(Debug)]
struct Endless;

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("round and round")
    }
}

impl Error for Endless {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}

/// An error that panics when it is shown.
#[derive(Debug)]
struct Mute;

impl fmt::Display for Mute {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl Error for Mute {}

// spec: design/P4
#[test]
fn a_chain_has_each_cause_once() {
    let failed = |source: BoxError| FiberError::Failed { plugin: "p#1".into(), source: source.into() };
    assert_eq!(chain(&Endless), "round and round: round and round");
    assert_eq!(chain(&failed(cause())), "plugin `p#1` failed: the cause");
    assert_eq!(
        chain(&failed(Talkative(fmt::Error).into())),
        format!("plugin `p#1` failed: it did not work: {}", fmt::Error)
    );
    assert_eq!(chain(&Mute), "an error that panics when it is shown: no words");
    // A word of a cause is not the cause.
    assert_eq!(chain(&failed("p#1".into())), "plugin `p#1` failed: p#1");
}

#[tokio::test]
async fn a_report_has_the_causes_of_its_error_each_once() {
    let app = TestApp::new();
    app.plugin(
        define("nested").run(async |ctx: &Context, _: (), _: &()| {
            ctx.effect_with("half", async |_| Err::<(), _>("the port is taken".into())).await?;
            Ok(())
        }),
        (),
    )
    .unwrap();
    app.quiet().await;
    app.plugin(
        define("talkative").run(async |_: &Context, _: (), _: &()| Err(Talkative(fmt::Error).into())),
        (),
    )
    .unwrap();
    app.quiet().await;
    app.plugin(define("endless").run(async |_: &Context, _: (), _: &()| Err(Endless.into())), ()).unwrap();
    app.quiet().await;
    let reports: Vec<String> = app.take_errors().into_iter().map(|report| report.message).collect();
    let talkative = format!("it did not work: {}", fmt::Error);
    assert_eq!(
        reports,
        [
            "the set-up of effect `half` of `nested#1` failed: the port is taken",
            &*talkative,
            "round and round: round and round",
        ]
    );
}
