//! What was counted, as data.

use std::fmt;

use serde::Serialize;

use crate::durations::Durations;
use crate::series::{CallCode, ToolLabel};

/// What was counted at one time. Shown, it is a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// One row for each pair of tool and code, ordered by both.
    pub series: Vec<Series>,
}

/// The calls of one tool that ended in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The tool.
    pub tool: ToolLabel,
    /// How they ended.
    pub code: CallCode,
    /// How many there were.
    pub calls: u64,
    /// How long they took, of those that were executed; none if none was.
    pub durations: Option<Durations>,
}

impl Snapshot {
    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.series.iter().map(|series| series.calls).sum()
    }

    /// How many calls of a tool ended in this way.
    #[must_use]
    pub fn calls_of(&self, tool: &ToolLabel, code: &CallCode) -> u64 {
        self.get(tool, code).map_or(0, |series| series.calls)
    }

    /// The calls of a tool that ended in this way, if there were any.
    #[must_use]
    pub fn get(&self, tool: &ToolLabel, code: &CallCode) -> Option<&Series> {
        self.series.iter().find(|series| (&series.tool, &series.code) == (tool, code))
    }
}

const HEAD: [&str; 6] = ["tool", "code", "calls", "mean", "p95", "max"];

impl Series {
    fn cells(&self) -> [String; HEAD.len()] {
        let figure = |figure: fn(&Durations) -> std::time::Duration| {
            self.durations
                .as_ref()
                .map_or_else(|| "-".to_owned(), |durations| format!("{:.1?}", figure(durations)))
        };
        [
            self.tool.to_string(),
            self.code.to_string(),
            self.calls.to_string(),
            figure(Durations::mean),
            figure(|durations| durations.quantile(0.95)),
            figure(Durations::max),
        ]
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> =
            [HEAD.map(str::to_owned)].into_iter().chain(self.series.iter().map(Series::cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; HEAD.len()] = std::array::from_fn(width);
        for (line, row) in rows.iter().enumerate() {
            if line > 0 {
                writeln!(f)?;
            }
            let [tool, code, figures @ ..] = row;
            write!(f, "{tool:<0$}  {code:<1$}", widths[0], widths[1])?;
            for (figure, width) in figures.iter().zip(&widths[2..]) {
                write!(f, "  {figure:>width$}")?;
            }
        }
        Ok(())
    }
}
