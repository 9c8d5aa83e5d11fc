//! One measured figure, and whether it is within its reach.

use std::fmt;

use super::works::Reach;

/// A figure with its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Half of the samples are above it.
    pub median: f64,
    /// A tenth of the samples are below it.
    pub p10: f64,
    /// A tenth of the samples are above it.
    pub p90: f64,
    /// How many samples there are; 1 for what is counted and not timed.
    pub samples: usize,
}

impl Figure {
    /// The figure of these samples; `None` when there are none.
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let at =
            |part: f64| samples.get(((samples.len().max(1) - 1) as f64 * part).round() as usize).copied();
        Some(Self { median: at(0.5)?, p10: at(0.1)?, p90: at(0.9)?, samples: samples.len() })
    }

    /// What was counted.
    pub fn exact(value: f64) -> Self {
        Self { median: value, p10: value, p90: value, samples: 1 }
    }

    /// A median with (p90 - p10) / median, which lies around it as far as anybody can tell.
    pub fn around(median: f64, spread: f64, samples: usize) -> Self {
        let half = median * spread / 2.0;
        Self { median, p10: median - half, p90: median + half, samples }
    }

    /// (p90 - p10) / median.
    pub fn spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.p90 - self.p10) / self.median }
    }
}

/// Whether a work is within its reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Ok,
    /// It is not.
    Miss,
    /// The disturbed samples and the undisturbed ones disagree.
    Noisy,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Ok => "ok",
            Verdict::Miss => "MISS",
            Verdict::Noisy => "noisy",
        })
    }
}

impl Reach {
    /// The bound, where the floor is `floor`; `None` when it depends on a floor that was not measured.
    pub fn bound(self, floor: Option<f64>) -> Option<f64> {
        match self {
            Reach::AtMost(most) => Some(most),
            Reach::AtLeast(least) => Some(least),
            Reach::Floor { factor, plus } => floor.map(|floor| floor * factor + plus),
            Reach::Both { most, factor } => Some(floor.map_or(most, |floor| most.min(floor * factor))),
        }
    }

    /// Judges the medians, and what is left of the figures when nothing disturbs them: other work on the machine only ever
    /// makes a figure worse. It takes both to be within reach, and both to miss it.
    pub fn judge(self, ours: &Figure, floor: Option<&Figure>) -> Option<Verdict> {
        let (best, floor_best) = match self {
            Reach::AtLeast(_) => (ours.p90, None),
            _ => (ours.p10, floor.map(|floor| floor.p10)),
        };
        let median = self.holds(ours.median, floor.map(|floor| floor.median))?;
        Some(match (median, self.holds(best, floor_best)?) {
            (true, true) => Verdict::Ok,
            (false, false) => Verdict::Miss,
            _ => Verdict::Noisy,
        })
    }

    fn holds(self, figure: f64, floor: Option<f64>) -> Option<bool> {
        let bound = self.bound(floor)?;
        Some(match self {
            Reach::AtLeast(_) => figure >= bound,
            _ => figure <= bound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(p10: f64, median: f64, p90: f64) -> Figure {
        Figure { median, p10, p90, samples: 30 }
    }

    #[test]
    fn a_figure_is_the_median_and_the_outer_tenths_of_its_samples() {
        let samples = (0..=10).rev().map(f64::from).collect();
        let expected = Figure { median: 5.0, p10: 1.0, p90: 9.0, samples: 11 };
        assert_eq!(Figure::of(samples), Some(expected));
        assert_eq!(expected.spread(), 1.6);
        assert_eq!(Figure::of(Vec::new()), None);
        assert_eq!(Figure::around(10.0, 0.4, 7), Figure { median: 10.0, p10: 8.0, p90: 12.0, samples: 7 });
    }

    #[test]
    fn a_bound_follows_its_floor() {
        let reach = Reach::Floor { factor: 2.0, plus: 30.0 };
        assert_eq!((reach.bound(Some(10.0)), reach.bound(None)), (Some(50.0), None));
        let both = Reach::Both { most: 8.0, factor: 1.5 };
        assert_eq!(
            (both.bound(None), both.bound(Some(4.0)), both.bound(Some(7.0))),
            (Some(8.0), Some(6.0), Some(8.0))
        );
    }

    #[test]
    fn a_verdict_takes_the_median_and_the_undisturbed_samples() {
        let reach = Reach::AtMost(30.0);
        assert_eq!(reach.judge(&figure(20.0, 25.0, 90.0), None), Some(Verdict::Ok));
        assert_eq!(reach.judge(&figure(25.0, 35.0, 40.0), None), Some(Verdict::Noisy));
        assert_eq!(reach.judge(&figure(31.0, 35.0, 40.0), None), Some(Verdict::Miss));
    }

    #[test]
    fn a_disturbed_floor_makes_no_verdict() {
        let reach = Reach::Floor { factor: 1.0, plus: 20.0 };
        let ours = figure(38.0, 40.0, 41.0);
        assert_eq!(reach.judge(&ours, Some(&figure(19.0, 20.5, 21.0))), Some(Verdict::Ok));
        assert_eq!(reach.judge(&ours, Some(&figure(10.0, 60.0, 90.0))), Some(Verdict::Noisy));
        assert_eq!(reach.judge(&ours, None), None);
    }

    #[test]
    fn more_is_better_for_a_throughput() {
        let reach = Reach::AtLeast(1.4);
        assert_eq!(reach.judge(&figure(1.3, 1.9, 2.0), None), Some(Verdict::Ok));
        assert_eq!(reach.judge(&figure(0.9, 1.1, 1.9), None), Some(Verdict::Noisy));
        assert_eq!(reach.judge(&figure(0.9, 1.1, 1.2), None), Some(Verdict::Miss));
    }
}
