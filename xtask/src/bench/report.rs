//! The table, and `bench.json`.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value, json};

use super::Figures;
use super::figure::{Figure, Verdict};
use super::machine::Machine;
use super::works::{Unit, WORKS, Work};

/// One work with everything that was measured of it.
#[derive(Debug)]
struct Row {
    work: &'static Work,
    ours: Figure,
    floor: Option<Figure>,
    bound: Option<f64>,
    verdict: Option<Verdict>,
    /// Each peer with its figure, or with why it has none.
    peers: Vec<(String, Result<Figure, String>)>,
}

/// What one run found.
#[derive(Debug)]
pub struct Report {
    rows: Vec<Row>,
    peers: Vec<String>,
    left_out: Vec<String>,
    machine: Machine,
}

impl Report {
    /// Judges the figures. A work that was not measured has no row.
    pub fn new(figures: Figures, machine: Machine) -> Self {
        let Figures { ours, floors, peers: lines, left_out } = figures;
        let mut peers: Vec<String> = Vec::new();
        for line in &lines {
            if !peers.contains(&line.peer) {
                peers.push(line.peer.clone());
            }
        }
        let row = |work: &'static Work| {
            let ours = *ours.get(work.name)?;
            let floor = floors.get(work.name).copied();
            let of_work = lines.iter().filter(|line| line.work == work.name || fails_as_a_whole(line, work));
            Some(Row {
                work,
                ours,
                floor,
                bound: work.reach.bound(floor.map(|floor| floor.median)),
                verdict: work.reach.judge(&ours, floor.as_ref()),
                peers: of_work.map(|line| (line.peer.clone(), line.outcome.clone())).collect(),
            })
        };
        Self { rows: WORKS.iter().filter_map(row).collect(), peers, left_out, machine }
    }

    /// The names of the works that are out of reach.
    pub fn misses(&self) -> Vec<&'static str> {
        let missed = self.rows.iter().filter(|row| row.verdict == Some(Verdict::Miss));
        missed.map(|row| row.work.name).collect()
    }

    /// Everything, for programs.
    pub fn json(&self) -> String {
        let Machine { cpu, cores, rustc, date, load } = &self.machine;
        let works: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let machine = json!({ "cpu": cpu, "cores": cores, "rustc": rustc, "date": date, "load": load });
        let all = json!({ "machine": machine, "works": works, "left_out": self.left_out });
        format!("{all:#}\n")
    }
}

/// A chain that did not end is one line for all of its steps.
fn fails_as_a_whole(line: &super::lines::Line, work: &Work) -> bool {
    line.outcome.is_err()
        && work
            .name
            .strip_prefix(line.work.as_str())
            .is_some_and(|rest| line.work.starts_with("chain/") && rest.starts_with('/'))
}

impl Row {
    fn json(&self) -> Value {
        let unit = match self.work.unit {
            Unit::Ns => "ns",
            Unit::Ratio => "ratio",
            Unit::Bytes => "bytes",
        };
        let peers: Map<String, Value> = self
            .peers
            .iter()
            .map(|(peer, outcome)| {
                let value = match outcome {
                    Ok(figure) => numbers(figure),
                    Err(error) => json!({ "error": error }),
                };
                (peer.clone(), value)
            })
            .collect();
        json!({
            "work": self.work.name,
            "unit": unit,
            "ours": numbers(&self.ours),
            "floor": self.floor.as_ref().map(numbers),
            "reach": self.bound,
            "verdict": self.verdict.map(|verdict| verdict.to_string()),
            "peers": peers,
        })
    }

    fn cells(&self, peers: &[String]) -> Vec<String> {
        let show = |figure: f64| shown(figure, self.work.unit);
        let mut cells = vec![
            self.work.name.to_owned(),
            format!("{} ± {:.0} %", show(self.ours.median), self.ours.spread() * 50.0),
            self.floor.map_or("-".to_owned(), |floor| show(floor.median)),
            self.bound.map_or("-".to_owned(), show),
            self.verdict.map_or("-".to_owned(), |verdict| verdict.to_string()),
        ];
        for peer in peers {
            let outcome = self.peers.iter().find(|(name, _)| name == peer);
            cells.push(match outcome {
                Some((_, Ok(figure))) => show(figure.median),
                Some((_, Err(_))) => "failed".to_owned(),
                None => "-".to_owned(),
            });
        }
        cells
    }
}

fn numbers(figure: &Figure) -> Value {
    json!({
        "median": figure.median,
        "p10": figure.p10,
        "p90": figure.p90,
        "spread": figure.spread(),
        "samples": figure.samples,
    })
}

/// A figure for people: three digits and a unit.
fn shown(figure: f64, unit: Unit) -> String {
    let (figure, name) = match unit {
        Unit::Ratio => return format!("{figure:.2} ×"),
        Unit::Bytes => return format!("{figure:.0} B"),
        Unit::Ns if figure < 1e3 => (figure, "ns"),
        Unit::Ns if figure < 1e6 => (figure / 1e3, "µs"),
        Unit::Ns if figure < 1e9 => (figure / 1e6, "ms"),
        Unit::Ns => (figure / 1e9, "s"),
    };
    let digits = if figure < 10.0 { 2 } else { usize::from(figure < 100.0) };
    format!("{figure:.digits$} {name}")
}

impl fmt::Display for Report {
    /// A table in Markdown, which docs/performance.md takes over as it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["work", "ours", "floor", "reach", "verdict"].map(str::to_owned);
        let mut table = vec![[head.as_slice(), &self.peers].concat()];
        table.extend(self.rows.iter().map(|row| row.cells(&self.peers)));
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..table[0].len()).map(width).collect();
        let mut text = String::new();
        for (index, row) in table.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "))?;
            if index == 0 {
                let rules = widths.iter().map(|width| "-".repeat(*width));
                writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
            }
        }
        f.write_str(&text)?;
        let Machine { cpu, cores, rustc, date, load } = &self.machine;
        write!(f, "\n{date}, {cpu}, {cores} cores, load {load}, {rustc}")?;
        for reason in &self.left_out {
            write!(f, "\nleft out: {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
