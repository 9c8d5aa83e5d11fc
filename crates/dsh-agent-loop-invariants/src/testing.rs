//! A watch for the tests of other crates (feature `testing`).

use std::fmt;
use std::sync::Arc;

use cordis::{Context, define};
use parking_lot::Mutex;

use crate::violation::Violation;
use crate::watch::Tell;

/// The watch of one app. Dropped, it fails its test if a rule was broken meanwhile.
#[must_use = "keep it until the test ends"]
pub struct Watched {
    violations: Arc<Mutex<Vec<Violation>>>,
}

/// Mounts the plugin and has the test fail, at its end, if a loop broke a rule.
///
/// ```
/// # use cordis::testing::TestApp;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let app = TestApp::new();
/// let _watched = dsh_agent_loop_invariants::testing::watch(&app).await;
/// # }
/// ```
///
/// # Panics
/// The context is inactive.
#[allow(clippy::expect_used, reason = "for tests, which have nobody to hand an error to")]
pub async fn watch(ctx: &Context) -> Watched {
    let violations: Arc<Mutex<Vec<Violation>>> = Arc::default();
    let seen = Arc::clone(&violations);
    let tell: Tell = Arc::new(move |violation: &Violation| seen.lock().push(violation.clone()));
    let plugin = define("agent-loop-invariants")
        .run(async |ctx: &Context, (): (), Telling(tell): &Telling| crate::start(ctx, Arc::clone(tell)));
    let fiber = ctx.plugin(plugin, Telling(tell)).expect("the context of a test is active");
    fiber.ready().await.expect("the checker of loops does not load");
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
            assert!(violations.is_empty(), "loops broke rules: {violations:#?}");
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("violations", &*self.violations.lock()).finish()
    }
}
