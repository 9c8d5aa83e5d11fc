//! Reading the peers' output: one JSON object for each work; its fields are in `xtask/peers/README.md`.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::figure::Figure;

/// One line.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// The package and its version.
    pub peer: String,
    /// The work.
    pub work: String,
    /// Its figure, or why there is none.
    pub outcome: Result<Figure, String>,
}

/// Reads all lines; a chain becomes a line for each of its steps.
///
/// # Errors
/// When a line is not of that form.
pub fn read(text: &str) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        lines.extend(parse(line).with_context(|| format!("`{line}` is not a benchmark's line"))?);
    }
    Ok(lines)
}

fn parse(line: &str) -> Result<Vec<Line>> {
    let value: Value = serde_json::from_str(line)?;
    let text = |field: &str| value[field].as_str().with_context(|| format!("`{field}` is missing"));
    let (peer, work) = (text("peer")?.to_owned(), text("work")?.to_owned());
    if let Some(error) = value["error"].as_str() {
        return Ok(vec![Line { peer, work, outcome: Err(error.to_owned()) }]);
    }
    let spread = value["spread"].as_f64().unwrap_or_default();
    let samples = value["samples"].as_u64().unwrap_or(1) as usize;
    let of = |field: &str| value[field].as_f64().map(|figure| Figure::around(figure, spread, samples));
    let steps: Vec<_> = ["up", "down", "back"]
        .into_iter()
        .filter_map(|step| Some((format!("{work}/{step}"), of(step)?)))
        .collect();
    let figures = match steps.is_empty() {
        false => steps,
        true => {
            let figure = of("ns").or_else(|| of("ratio")).or_else(|| of("bytes"));
            vec![(work, figure.context("there is neither a figure nor an error")?)]
        }
    };
    let line = |(work, figure)| Line { peer: peer.clone(), work, outcome: Ok(figure) };
    Ok(figures.into_iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(work: &str, outcome: Result<Figure, &str>) -> Line {
        Line { peer: "p 1.0".into(), work: work.into(), outcome: outcome.map_err(str::to_owned) }
    }

    #[test]
    fn every_kind_of_line_is_read() {
        let text = r#"
            {"peer":"p 1.0","work":"emit/1","ns":12.0,"spread":0.5,"samples":31}
            {"peer":"p 1.0","work":"emit-two-threads","ratio":1.5,"spread":0,"samples":31}
            {"peer":"p 1.0","work":"memory","bytes":480}
            {"peer":"p 1.0","work":"chain/10000","ns":60,"spread":0,"samples":15,"up":10,"down":20,"back":30}
            {"peer":"p 1.0","work":"swap/250","error":"stack overflow"}
        "#;
        let expected = [
            line("emit/1", Ok(Figure { median: 12.0, p10: 9.0, p90: 15.0, samples: 31 })),
            line("emit-two-threads", Ok(Figure::around(1.5, 0.0, 31))),
            line("memory", Ok(Figure::exact(480.0))),
            line("chain/10000/up", Ok(Figure::around(10.0, 0.0, 15))),
            line("chain/10000/down", Ok(Figure::around(20.0, 0.0, 15))),
            line("chain/10000/back", Ok(Figure::around(30.0, 0.0, 15))),
            line("swap/250", Err("stack overflow")),
        ];
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn a_line_of_another_kind_is_shown() {
        for text in ["progress", "{}", r#"{"peer":"p","work":"w"}"#] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
