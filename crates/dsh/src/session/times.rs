//! Times as people read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `2026-01-31 12:30:05`, in UTC.
pub(crate) fn moment(ms: i64) -> String {
    let size = Duration::from_millis(ms.unsigned_abs());
    let time = if ms < 0 { UNIX_EPOCH.checked_sub(size) } else { UNIX_EPOCH.checked_add(size) };
    match time.map(text) {
        Some(text) => text,
        None => format!("{ms} ms"),
    }
}

fn text(time: SystemTime) -> String {
    // Formatting fails for years that have more than four digits.
    let mut text = String::new();
    match std::fmt::write(&mut text, format_args!("{}", humantime::format_rfc3339_seconds(time))) {
        Ok(()) => text.replace('T', " ").replace('Z', ""),
        Err(_) => "a time that is no date".to_owned(),
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
