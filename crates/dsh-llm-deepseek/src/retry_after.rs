//! When a server says to come back.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How many ms from `now`: the header's whole seconds, or its date if that is still to come. Anything else says nothing.
pub(crate) fn retry_after_ms(headers: &HeaderMap, now: SystemTime) -> Option<f64> {
    let mut values = headers.get_all(RETRY_AFTER).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let text = value.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let ms = text.parse::<f64>().ok()? * 1_000.0;
        return (ms > 0.0 && ms.is_finite()).then_some(ms);
    }
    let left = httpdate::parse_http_date(text).ok()?.duration_since(now).ok()?;
    #[allow(clippy::cast_precision_loss, reason = "a date has four digits for its year")]
    let ms = left.as_millis() as f64;
    (left > Duration::ZERO && ms > 0.0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn said(values: &[&str]) -> Option<f64> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
        }
        // 1994-11-06T08:49:37Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after_ms(&headers, now)
    }

    // spec: llm/S61, cases/S6
    #[test]
    fn seconds_and_dates_to_come_are_understood_and_nothing_else_is() {
        assert_eq!(said(&["2"]), Some(2_000.0));
        assert_eq!(said(&["02"]), Some(2_000.0));
        assert_eq!(said(&["60"]), Some(60_000.0));
        assert_eq!(said(&["999999"]), Some(999_999_000.0));
        assert_eq!(said(&["99999999999999999999999999"]), Some(1e26 * 1_000.0));
        assert_eq!(said(&["Sun, 06 Nov 1994 08:49:41 GMT"]), Some(4_000.0));
        assert_eq!(said(&["Sunday, 06-Nov-94 08:50:37 GMT"]), Some(60_000.0));
        for nothing in [
            "0",
            "-1",
            "1e300",
            "NaN",
            "Infinity",
            "2.5",
            "1e1",
            "0x2",
            "+2",
            "",
            "soon",
            "2s",
            "2, 5",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1993 08:49:37 GMT",
            "2030-01-01T00:00:00Z",
        ] {
            assert_eq!(said(&[nothing]), None, "{nothing:?}");
        }
        assert_eq!(said(&["2", "3"]), None);
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[&"9".repeat(400)]), None);
    }
}
