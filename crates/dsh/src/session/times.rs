//! Times as people read them.

use std::time::{Duration, UNIX_EPOCH};

/// The last moment of the year 9999, after which a date has more digits.
const MAX_MS: u64 = 253_402_300_799_999;

/// `2026-01-31 12:30:05`, in UTC; the number itself where it is no date that people know.
pub(crate) fn moment(ms: i64) -> String {
    match u64::try_from(ms) {
        Ok(since) if since <= MAX_MS => {
            let time = UNIX_EPOCH + Duration::from_millis(since);
            humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").replace('Z', "")
        }
        _ => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_moment_is_shown_in_utc_and_an_impossible_one_is_no_panic() {
        assert_eq!(moment(0), "1970-01-01 00:00:00");
        assert_eq!(moment(1_767_225_600_000), "2026-01-01 00:00:00");
        for ms in [-1, i64::MIN, i64::MAX, (1 << 53) - 1] {
            assert!(!moment(ms).is_empty());
        }
    }
}
