//! The conversation as one number, for states that must not grow with it.

use dsh_session::{Event, SurfaceOp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::fold::price;

/// What the conversation takes, about, without its parts. What a replacement takes away is said by the event right before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundedSurface {
    tokens: u64,
    claim: Option<Claim>,
}

/// What the next event takes away, if it replaces just that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    start: u64,
    end: u64,
    tokens: u64,
}

/// The part that a `compaction/summary` or `compaction/prune` tells of.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shadowed {
    shadowed_range: Range,
    shadowed_token_count: u64,
}

#[derive(Deserialize)]
struct Range {
    start: u64,
    end: u64,
}

/// A replacement takes away another part than the event before it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("event {seq} replaces {start} to {end}, but what was said to go is {claimed_start} to {claimed_end}")]
pub struct ClaimMismatch {
    /// The event.
    pub seq: u64,
    /// The first event that is replaced.
    pub start: u64,
    /// The last one.
    pub end: u64,
    /// The first event that was to go.
    pub claimed_start: u64,
    /// The last one.
    pub claimed_end: u64,
}

impl BoundedSurface {
    /// The tokens.
    #[must_use]
    pub fn tokens(self) -> u64 {
        self.tokens
    }

    /// What it is after one more event. A replacement of which nothing was said changes nothing.
    ///
    /// # Errors
    /// The event replaces another part than was said.
    pub fn after(self, event: &Event) -> Result<Self, ClaimMismatch> {
        let gone = |tokens| Self { tokens, claim: None };
        match (event.kind(), event.surface(), self.claim) {
            ("compaction/summary" | "compaction/prune", _, _) => {
                Ok(Self { tokens: self.tokens, claim: claim(event) })
            }
            (_, Some(SurfaceOp::Append), _) => Ok(gone(self.tokens.saturating_add(price(event)))),
            (_, Some(SurfaceOp::Replace { start, end }), Some(claim)) => {
                let Claim { start: claimed_start, end: claimed_end, tokens } = claim;
                if (start, end) != (claimed_start, claimed_end) {
                    let seq = event.seq();
                    return Err(ClaimMismatch { seq, start, end, claimed_start, claimed_end });
                }
                Ok(gone(self.tokens.saturating_sub(tokens).saturating_add(price(event))))
            }
            (_, Some(SurfaceOp::Replace { .. }) | None, _) => Ok(gone(self.tokens)),
        }
    }
}

fn claim(event: &Event) -> Option<Claim> {
    let Shadowed { shadowed_range: Range { start, end }, shadowed_token_count } = event.read_as().ok()?;
    Some(Claim { start, end, tokens: shadowed_token_count })
}
