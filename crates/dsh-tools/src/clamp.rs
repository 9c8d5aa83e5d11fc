//! Timeouts that somebody asks for, within the bounds of whoever grants them.

use std::time::Duration;

use thiserror::Error;

/// The longest delay of a timer: 2147483647 milliseconds, almost 25 days.
///
/// Source: the longest delay of the reference's timers.
pub const MAX_DELAY: Duration = Duration::from_millis(2_147_483_647);

/// A timeout that is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} must be a positive finite number")]
pub struct NotPositive {
    /// The argument's name.
    pub name: String,
}

/// The timeout that is granted to whoever asks for `requested` milliseconds in an argument called `name`: `default` without
/// a request, and never more than `max`. A request of less than a nanosecond is granted one.
///
/// # Errors
/// The request is not a finite number above 0.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use dsh_tools::clamp_timeout;
///
/// let (default, max) = (Duration::from_secs(30), Duration::from_secs(600));
/// assert_eq!(clamp_timeout("timeout_ms", Some(1_500.0), default, max), Ok(Duration::from_millis(1_500)));
/// assert_eq!(clamp_timeout("timeout_ms", None, default, max), Ok(default));
/// assert_eq!(clamp_timeout("timeout_ms", Some(1e9), default, max), Ok(max));
/// let refused = clamp_timeout("timeout_ms", Some(0.0), default, max).unwrap_err();
/// assert_eq!(refused.to_string(), "timeout_ms must be a positive finite number");
/// ```
pub fn clamp_timeout(
    name: &str,
    requested: Option<f64>,
    default: Duration,
    max: Duration,
) -> Result<Duration, NotPositive> {
    let Some(ms) = requested else { return Ok(default.min(max)) };
    if !ms.is_finite() || ms <= 0.0 {
        return Err(NotPositive { name: name.to_owned() });
    }
    // What does not fit into a duration is longer than any.
    let requested = Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX);
    Ok(requested.max(Duration::from_nanos(1)).min(max))
}
