//! A watch for the tests of other crates (feature `testing`).

use std::fmt;
use std::sync::Arc;

use cordis::{Context, Handle, define};
use dsh_jobs::{JOBS, Jobs};
use parking_lot::Mutex;

use crate::Tell;
use crate::rule::Violation;

/// The watch of one app. Dropped, it fails its test if a rule was broken meanwhile.
#[must_use = "keep it until the test ends"]
pub struct Watched {
    violations: Arc<Mutex<Vec<Violation>>>,
}

/// Mounts the plugin and has the test fail, at its end, if a job broke a rule.
///
/// Without a service of jobs it waits for one, and for each that follows.
///
/// # Panics
/// The plugin does not load: a job breaks a rule already, or the context is inactive.
#[allow(clippy::expect_used, reason = "for tests, which have nobody to hand an error to")]
pub async fn watch(ctx: &Context) -> Watched {
    let violations: Arc<Mutex<Vec<Violation>>> = Arc::default();
    let seen = Arc::clone(&violations);
    let tell: Tell = Arc::new(move |violation: &Violation| seen.lock().push(violation.clone()));
    let plugin = define("jobs-invariants").needs(JOBS).run(
        async |ctx: &Context, jobs: Handle<dyn Jobs>, Telling(tell): &Telling| {
            crate::start(ctx, &jobs, Arc::clone(tell))
        },
    );
    let fiber = ctx.plugin(plugin, Telling(tell)).expect("the context of a test is active");
    fiber.ready().await.expect("the checker of jobs does not load");
    Watched { violations }
}

struct Telling(Tell);

impl Watched {
    /// The violations since the last call, which a test expected.
    pub fn take(&self) -> Vec<Violation> {
        std::mem::take(&mut *self.violations.lock())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let violations = self.take();
        // Of two panics at once nobody would read either.
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "jobs broke rules: {violations:#?}");
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("violations", &*self.violations.lock()).finish()
    }
}
