//! Reading what criterion leaves behind: `WORK/SIDE/new/{benchmark,estimates,sample}.json` below its folder.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::figure::Figure;
use crate::workspace::files_below;

/// One measured side of a work.
#[derive(Debug, PartialEq)]
pub struct Measured {
    /// The work: criterion's group.
    pub work: String,
    /// `ours` or `floor`: criterion's function.
    pub side: String,
    /// Its figure.
    pub figure: Figure,
}

/// What was measured since `start`, by name; what older runs left behind is passed over.
///
/// # Errors
/// When a file is not what criterion 0.8 writes.
pub fn measured_since(home: &Path, start: SystemTime) -> Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for sample in files_below(home, "sample.json")? {
        let Some(folder) = sample.parent().filter(|folder| folder.ends_with("new")) else { continue };
        let changed = fs::metadata(&sample).and_then(|facts| facts.modified());
        if changed.is_ok_and(|changed| changed >= start) {
            let read = read(folder);
            measured.push(read.with_context(|| format!("{} is not understood", folder.display()))?);
        }
    }
    Ok(measured)
}

fn read(folder: &Path) -> Result<Measured> {
    let load = |name: &str| -> Result<Value> {
        let text = fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"))?;
        serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))
    };
    let (benchmark, estimates, sample) =
        (load("benchmark.json")?, load("estimates.json")?, load("sample.json")?);
    let name = |field: &str| {
        let name = benchmark[field].as_str().with_context(|| format!("benchmark.json has no `{field}`"))?;
        Ok::<_, anyhow::Error>(name.to_owned())
    };
    let numbers = |field: &str| -> Result<Vec<f64>> {
        let list = sample[field].as_array().with_context(|| format!("sample.json has no `{field}`"))?;
        Ok(list.iter().filter_map(Value::as_f64).collect())
    };
    let times = numbers("times")?;
    let each = times.iter().zip(numbers("iters")?).map(|(time, operations)| time / operations).collect();
    let spread = Figure::of(each).context("sample.json holds no sample")?;
    let median = estimates["median"]["point_estimate"].as_f64().context("estimates.json has no median")?;
    Ok(Measured { work: name("group_id")?, side: name("function_id")?, figure: Figure { median, ..spread } })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::fixture::Fixture;

    use super::*;

    fn fixture(sample: &str) -> Fixture {
        let fixture = Fixture::new();
        fixture
            .write(
                "criterion/emit_1/ours/new/benchmark.json",
                r#"{"group_id":"emit/1","function_id":"ours"}"#,
            )
            .write("criterion/emit_1/ours/new/estimates.json", r#"{"median":{"point_estimate":2.5}}"#)
            .write("criterion/emit_1/ours/new/sample.json", sample)
            .write("criterion/emit_1/ours/base/sample.json", "{}");
        fixture
    }

    const SAMPLE: &str = r#"{"sampling_mode":"Flat","iters":[2.0,2.0,2.0,2.0],"times":[2.0,4.0,6.0,18.0]}"#;

    #[test]
    fn a_figure_is_read_with_the_names_that_the_benchmark_gave() {
        let measured =
            measured_since(&fixture(SAMPLE).root().join("criterion"), SystemTime::UNIX_EPOCH).unwrap();
        let figure = Figure { median: 2.5, p10: 1.0, p90: 9.0, samples: 4 };
        assert_eq!(measured, [Measured { work: "emit/1".into(), side: "ours".into(), figure }]);
    }

    #[test]
    fn what_an_older_run_left_behind_is_passed_over() {
        let later = SystemTime::now() + Duration::from_secs(60);
        let fixture = fixture(SAMPLE);
        assert_eq!(measured_since(&fixture.root().join("criterion"), later).unwrap(), []);
        assert_eq!(measured_since(&fixture.root().join("nowhere"), later).unwrap(), []);
    }

    #[test]
    fn a_file_of_another_shape_is_named() {
        for sample in ["{}", r#"{"iters":[],"times":[]}"#, "nonsense"] {
            let home = fixture(sample);
            let error = measured_since(&home.root().join("criterion"), SystemTime::UNIX_EPOCH).unwrap_err();
            assert!(format!("{error:#}").contains("sample.json"), "{error:#}");
        }
    }
}
