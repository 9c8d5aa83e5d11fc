//! Helpers for the tests of plugin authors (feature `testing`).
//!
//! ```
//! use cordis::{BoxError, Context, Emit, define, testing::{Recorder, TestApp}};
//!
//! const TICK: Emit<u32> = Emit::new("tick");
//!
//! async fn apply(ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
//!     ctx.emit(TICK, &1);
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = TestApp::new();
//! let ticks = Recorder::of(&app, TICK, |n| *n)?;
//! app.plugin(define("ticker").run(apply), ())?;
//! app.quiet().await;
//! assert_eq!(ticks.take(), [1]);
//! app.assert_no_errors();
//! # Ok(())
//! # }
//! ```

use crate::{
    App, Context, Effect, Emit, ListenError, State, keys,
    meta::Report,
    sync::{Arc, Mutex},
};
use std::{fmt, ops::Deref};

/// What the checker of some rules has told a test. Dropped, it fails the test if a rule was broken meanwhile.
///
/// ```
/// use cordis::testing::Watched;
///
/// let watched = Watched::new("calls broke rules");
/// let tell = watched.teller();
/// tell(&"called twice".to_owned());
/// assert_eq!(watched.take(), ["called twice"]); // expected, so the test goes on
/// ```
#[must_use = "keep it until the test ends"]
pub struct Watched<V: fmt::Debug> {
    what: &'static str,
    violations: Arc<Mutex<Vec<V>>>,
}

impl<V: fmt::Debug> Watched<V> {
    /// Of a checker that has told nothing yet; `what` begins the message of the test that fails.
    pub fn new(what: &'static str) -> Self {
        Watched { what, violations: Arc::default() }
    }

    /// What the checker tells by.
    pub fn teller(&self) -> impl Fn(&V) + Send + Sync + use<V>
    where
        V: Clone + Send + 'static,
    {
        let violations = self.violations.clone();
        move |violation| violations.lock().push(violation.clone())
    }

    /// The violations since the last call, which a test expected.
    pub fn take(&self) -> Vec<V> {
        std::mem::take(&mut *self.violations.lock())
    }
}

impl<V: fmt::Debug> Drop for Watched<V> {
    fn drop(&mut self) {
        let violations = self.take();
        // Of two panics at once nobody would read either.
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "{}: {violations:#?}", self.what);
        }
    }
}

impl<V: fmt::Debug> fmt::Debug for Watched<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("violations", &*self.violations.lock()).finish()
    }
}

/// An app that remembers failures, for tests. It derefs to [`App`].
pub struct TestApp {
    app: App,
    errors: Arc<Mutex<Vec<Report>>>,
}

impl TestApp {
    /// An app on the current runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime, or on one without timers: a test cannot go on then.
    #[allow(
        clippy::expect_used,
        clippy::new_without_default,
        reason = "for tests, which have nobody to hand an error to"
    )]
    #[must_use]
    pub fn new() -> Self {
        let app = App::new().expect("a test runs inside of a tokio runtime");
        let errors: Arc<Mutex<Vec<Report>>> = Arc::default();
        let seen = errors.clone();
        app.on(keys::ERROR).run(move |report| seen.lock().push(report.clone())).expect("a new app is active");
        TestApp { app, errors }
    }

    /// The failures reported since the last call.
    pub fn take_errors(&self) -> Vec<Report> {
        std::mem::take(&mut *self.errors.lock())
    }

    /// # Panics
    /// When a failure was reported.
    #[track_caller]
    pub fn assert_no_errors(&self) {
        let errors = self.take_errors();
        assert!(errors.is_empty(), "failures were reported: {errors:#?}");
    }

    /// How many fibers there are, the root included.
    #[must_use]
    pub fn fibers(&self) -> usize {
        self.app.shared().fibers.lock().len()
    }

    /// How many effects the context's fiber has, nested ones included.
    #[must_use]
    pub fn effects(&self, ctx: &Context) -> usize {
        self.app.shared().fibers.lock().get(ctx.cell().id).map_or(0, |data| data.records().count())
    }
}

impl Deref for TestApp {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl fmt::Debug for TestApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.errors.lock().len();
        f.debug_struct("TestApp").field("errors", &errors).finish_non_exhaustive()
    }
}

/// What an event told, in order.
pub struct Recorder<T> {
    seen: Arc<Mutex<Vec<T>>>,
    effect: Effect,
}

impl<T: Send + 'static> Recorder<T> {
    /// Records what `look` sees in each payload, until the context's plugin goes.
    ///
    /// # Errors
    /// As for any listener.
    pub fn of<P: 'static>(
        ctx: &Context,
        key: Emit<P>,
        look: impl Fn(&P) -> T + Send + Sync + 'static,
    ) -> Result<Self, ListenError> {
        let seen: Arc<Mutex<Vec<T>>> = Arc::default();
        let sink = seen.clone();
        let effect = ctx.on(key).global().run(move |payload| {
            let value = look(payload);
            sink.lock().push(value);
        })?;
        Ok(Recorder { seen, effect })
    }

    /// What was recorded since the last call.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.seen.lock())
    }

    /// The registration.
    #[must_use]
    pub fn effect(&self) -> &Effect {
        &self.effect
    }
}

impl<T> fmt::Debug for Recorder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.seen.lock().len();
        f.debug_struct("Recorder").field("seen", &seen).field("effect", &self.effect).finish()
    }
}

impl Recorder<(String, State, State)> {
    /// Records changes of state as (plugin's name, from, to).
    ///
    /// # Errors
    /// As for any listener.
    pub fn status(ctx: &Context) -> Result<Self, ListenError> {
        Self::of(ctx, keys::STATUS, |change| (change.fiber.name().to_owned(), change.from, change.to))
    }
}
