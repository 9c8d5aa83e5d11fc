//! Which other listeners are asked.

use std::sync::Arc;

use cordis::{Context, Next};
use dsh_agent::{PRE_STEP, PreStep, PreStepDecision};
use parking_lot::Mutex;

use crate::fixture::{BLOCKED, Fixture, asked, ends, mount};

type Asked = Arc<Mutex<Vec<u64>>>;

async fn notes(
    asked: &Asked,
    step: &mut PreStep,
    next: Next<'_, PreStep, PreStepDecision>,
) -> PreStepDecision {
    asked.lock().push(step.step);
    next.run(step).await
}

fn listen(ctx: &Context) -> Asked {
    let asked = Asked::default();
    ctx.on(PRE_STEP).with(asked.clone()).run(notes).unwrap();
    asked
}

#[tokio::test]
async fn others_are_not_asked_about_a_step_that_is_refused_whenever_they_were_mounted() {
    let fixture = Fixture::bare().await;
    let before = listen(&fixture.app);
    mount(&fixture.app, 2).await;
    let after = listen(&fixture.app);
    let ada = fixture.agent("ada", []);
    let own = listen(ada.context());
    asked(&ada, "hello").await;
    assert_eq!(ends(&ada), [BLOCKED]);
    for asked in [before, after, own] {
        assert_eq!(*asked.lock(), [1, 2]);
    }
}
