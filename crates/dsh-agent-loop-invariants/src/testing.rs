//! A watch for the tests of other crates (feature `testing`).

use std::sync::Arc;

use cordis::{Context, define};

use crate::violation::Violation;
use crate::watch::Tell;

/// The watch of one app. Dropped, it fails its test if a rule was broken meanwhile.
pub type Watched = cordis::testing::Watched<Violation>;

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
    let watched = Watched::new("loops broke rules");
    let tell: Tell = Arc::new(watched.teller());
    let plugin = define("agent-loop-invariants")
        .run(async |ctx: &Context, (): (), Telling(tell): &Telling| crate::start(ctx, Arc::clone(tell)));
    let fiber = ctx.plugin(plugin, Telling(tell)).expect("the context of a test is active");
    fiber.ready().await.expect("the checker of loops does not load");
    watched
}

struct Telling(Tell);
