//! What a rule found wrong, gathered so that one run names everything.

use anyhow::{Result, bail};

/// A list of findings that becomes one error.
#[derive(Debug, Default)]
pub struct Problems(Vec<String>);

impl Problems {
    /// Adds a finding; further lines of it are indented below the first.
    pub fn push(&mut self, finding: impl Into<String>) {
        self.0.push(finding.into());
    }

    /// Fine when nothing was found; `remedy` is the error's last line.
    ///
    /// # Errors
    /// When anything was found: one entry for each finding.
    pub fn finish(self, remedy: &str) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut text = match self.0.len() {
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        };
        for finding in &self.0 {
            text.push_str("\n  - ");
            text.push_str(&finding.trim_end().replace('\n', "\n    "));
        }
        bail!("{text}\n{remedy}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_named_and_the_remedy_comes_last() {
        let mut problems = Problems::default();
        problems.push("one");
        problems.push("two\ndetail");
        let error = problems.finish("mend them").unwrap_err().to_string();
        assert_eq!(error, "2 problems\n  - one\n  - two\n    detail\nmend them");
    }
}
