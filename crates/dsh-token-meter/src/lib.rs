//! How many tokens a session takes: what its provider counted last, and an estimate of what came after.
//!
//! Read `estimate` (what things take, about), `answer` (an answer by its pieces), `fold` (one log) and `measurement` (what is
//! told), then `meter` (the service). What clients are shown is folded by itself: `bounded` (the conversation as one number),
//! then the units `usage_unit`, `pressure_unit` and `breakdown_unit`.
//!
//! **Architecture Invariant:** an event is looked at once. A measurement costs what was added since the one before, however long
//! the log is.
//!
//! **Architecture Invariant:** nothing here decides. Whether a conversation has become too long is said by who asks.

mod estimate;

mod answer;
mod fold;
mod measurement;

pub mod keys;
mod meter;

mod bounded;
mod breakdown_unit;
mod pressure_unit;
mod usage_unit;

mod config;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{DISPOSED, Session};
use dsh_session_projection::{PROJECTIONS, Projections};

pub use bounded::{BoundedSurface, ClaimMismatch};
pub use breakdown_unit::{Breakdown, BreakdownState, BreakdownUnit};
pub use config::Config;
pub use estimate::{
    estimate_block, estimate_header, estimate_message, estimate_system, estimate_text, estimate_tools,
};
pub use fold::MeterError;
pub use keys::TOKEN_METER;
pub use measurement::{Baseline, Measurement, NodeTokens};
pub use meter::TokenMeter;
pub use pressure_unit::{Pressure, PressureState, PressureUnit};
pub use usage_unit::{UsageState, UsageTotals, UsageUnit};

cordis::catalog!(plugin);

/// Provides [`TOKEN_METER`], and where there are projections the units `tokenUsage`, `contextPressure` and `contextBreakdown`.
///
/// Source: the reference's plugin `token-meter`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("token-meter").needs(PROJECTIONS.optional()).provides(TOKEN_METER).run(apply)
}

async fn apply(
    ctx: &Context,
    projections: Option<Handle<Projections>>,
    _config: &Config,
) -> Result<(), BoxError> {
    let meter = Arc::new(TokenMeter::default());
    ctx.on(DISPOSED).global().with(meter.clone()).run(
        |meter: &Arc<TokenMeter>, session: &Arc<Session>| {
            meter.forget(session);
        },
    )?;
    if let Some(projections) = projections {
        let projections = projections.get()?;
        projections.register(ctx, UsageUnit)?;
        projections.register(ctx, PressureUnit)?;
        projections.register(ctx, BreakdownUnit)?;
    }
    ctx.provide(TOKEN_METER, meter)?;
    Ok(())
}
