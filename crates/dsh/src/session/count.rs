//! Numbers of things, as people read them.

use std::fmt::Display;

/// `1 event`, `2 events`.
pub(crate) fn count(number: impl TryInto<u64> + Display + Copy, what: &str) -> String {
    let plural = if number.try_into().is_ok_and(|number: u64| number == 1) { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_thing_is_not_many() {
        let events = |number: usize| count(number, "event");
        assert_eq!([events(0), events(1), events(2)], ["0 events", "1 event", "2 events"]);
    }
}
