//! The hooks of a turn that is about to end.

use std::convert::Infallible;
use std::sync::Arc;

use cordis::{BoxError, chain};
use dsh_agent::TurnStopping;
use dsh_llm::ContentBlock;

use crate::bridge::Bridge;
use crate::bridge::moment::Moment;
use crate::bridge::turn::Turn;
use crate::point::Point;
use crate::said::Decision;

/// The listener of `agent/turn-stopping`.
pub(crate) async fn before_end(
    bridge: &Arc<Bridge>,
    stopping: &TurnStopping,
) -> Result<Option<Infallible>, BoxError> {
    let TurnStopping { agent, turn: number, cancellation } = stopping;
    let hooks = bridge.hooks(Point::Stop, "");
    let moment = Moment::Stop { active: bridge.stops.is_active(agent, *number) };
    let (turn, place) = (Turn::numbered(agent, *number), bridge.place_of(Some(agent)));
    let fired = bridge.fire(&hooks, &place, turn.as_ref(), moment, cancellation).await;
    // What is said to an agent that was told to stop would have it begin anew.
    if fired.cut.is_some() {
        return Ok(None);
    }
    match fired.merged.decision {
        Some(Decision::Deny) => bridge.go_on(stopping, fired.merged.reason),
        Some(Decision::Ask | Decision::Allow) | None => bridge.stops.passed(agent),
    }
    Ok(None)
}

impl Bridge {
    /// Has the turn go on, unless that was done too often.
    fn go_on(&self, stopping: &TurnStopping, reason: Option<String>) {
        let (agent, plugin, max) = (&stopping.agent, self.plugin(), self.options.max_stop_blocks);
        let reason = reason.unwrap_or_else(|| "continue: blocked by Stop hook".to_owned());
        if !self.stops.may_block(agent, stopping.turn, max) {
            tracing::warn!(
                "{plugin}: hooks of Stop have kept turn {} of agent \"{}\" from ending {max} times \
                 (`maxStopBlocks`): they do so no longer",
                stopping.turn,
                agent.id()
            );
            self.stops.ended_all_the_same(agent, self.notice_of_end(&reason));
            return;
        }
        let message = self.message(vec![ContentBlock::text(reason)]);
        if let Err(error) = agent.steer(Arc::new(message)) {
            tracing::warn!("{plugin}: Stop hook failed: {}", chain(&error));
        }
    }
}
