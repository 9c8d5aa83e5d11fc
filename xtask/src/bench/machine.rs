//! What the benchmarks ran on.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// Facts that a figure means nothing without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many threads it runs at once.
    pub cores: usize,
    /// The compiler.
    pub rustc: String,
    /// The day, as year-month-day.
    pub date: String,
    /// How busy the machine was in the last minute, this run included.
    pub load: String,
}

/// The facts of this machine; what cannot be found out is `unknown`.
pub fn facts() -> Machine {
    let unknown = || "unknown".to_owned();
    let rustc = Command::new("rustc").arg("--version").output().ok().map(|output| output.stdout);
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    Machine {
        cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text)).unwrap_or_else(unknown),
        cores: thread::available_parallelism().map_or(1, usize::from),
        rustc: rustc.map_or_else(unknown, |text| String::from_utf8_lossy(&text).trim().to_owned()),
        date: date(days),
        load: fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|text| text.split(' ').next().map(str::to_owned))
            .unwrap_or_else(unknown),
    }
}

fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The date of a day counted from 1970-01-01, by Howard Hinnant's `civil_from_days`.
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year, if month < 10 { month + 3 } else { month - 9 });
    format!("{}-{month:02}-{day:02}", year + u64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_date() {
        let days = [0, 59, 11_016, 19_782, 20_787].map(date);
        assert_eq!(days, ["1970-01-01", "1970-03-01", "2000-02-29", "2024-02-29", "2026-11-30"]);
    }

    #[test]
    fn the_processor_is_found_among_its_facts() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n";
        assert_eq!(model(text).as_deref(), Some("AMD EPYC"));
        assert_eq!(model(""), None);
    }
}
