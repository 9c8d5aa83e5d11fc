//! A watch for the tests of other crates (feature `testing`).

use std::sync::Arc;

use cordis::{Context, Handle, define};
use dsh_jobs::{JOBS, Jobs};

use crate::Tell;
use crate::rule::Violation;

/// The watch of one app. Dropped, it fails its test if a rule was broken meanwhile.
pub type Watched = cordis::testing::Watched<Violation>;

/// Mounts the plugin and has the test fail, at its end, if a job broke a rule.
///
/// Without a service of jobs it waits for one, and for each that follows.
///
/// # Panics
/// The plugin does not load: a job breaks a rule already, or the context is inactive.
#[allow(clippy::expect_used, reason = "for tests, which have nobody to hand an error to")]
pub async fn watch(ctx: &Context) -> Watched {
    let watched = Watched::new("jobs broke rules");
    let tell: Tell = Arc::new(watched.teller());
    let plugin = define("jobs-invariants").needs(JOBS).run(
        async |ctx: &Context, jobs: Handle<dyn Jobs>, Telling(tell): &Telling| {
            crate::start(ctx, &jobs, Arc::clone(tell))
        },
    );
    let fiber = ctx.plugin(plugin, Telling(tell)).expect("the context of a test is active");
    fiber.ready().await.expect("the checker of jobs does not load");
    watched
}

struct Telling(Tell);
