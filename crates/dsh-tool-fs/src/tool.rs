//! The tool: what the model may ask for, and what it is told.

use std::path::Path;

use dsh_tools::{ErrorInfo, Tool, ToolError, ToolRun, ToolSpec, Workspace};
use serde::Deserialize;
use serde_json::json;

use crate::config::{Config, SCANNED_MIB};
use crate::file::{self, ReadError};
use crate::window::Selection;

/// Reads text files.
pub(crate) struct Read {
    pub(crate) workspace: Workspace,
    pub(crate) config: Config,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Arguments {
    file_path: String,
    offset: Option<f64>,
    limit: Option<f64>,
}

impl Tool for Read {
    type Arguments = Arguments;

    fn spec(&self) -> ToolSpec {
        let limit = self.config.read_limit;
        let parameters = json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "The file, which lies in the workspace." },
                "offset": { "type": "number", "description": "The first line to give, counted from 1." },
                "limit": { "type": "number", "description": format!("How many lines to give, at most {limit}.") },
            },
            "required": ["file_path"],
        });
        ToolSpec::new("read", "Gives the lines of a UTF-8 text file with their numbers.", parameters)
    }

    async fn run(&self, arguments: Arguments, run: &ToolRun<'_>) -> Result<String, ToolError> {
        let Arguments { file_path, offset, limit } = arguments;
        if file_path.trim().is_empty() {
            return Err(ToolError::new("file_path must be a non-empty string"));
        }
        let first = offset.map_or(Ok(1), |offset| positive("offset", offset))?;
        let count = limit.map_or(Ok(self.config.read_limit), |limit| positive("limit", limit))?;
        if count > self.config.read_limit {
            return Err(ToolError::new(format!("limit must not be above {}", self.config.read_limit)));
        }
        let workspace = self.workspace.clone();
        let path = workspace.locate(&file_path).map_err(ReadError::from)?;
        let shown = path.shown.clone();
        let (limits, cancellation) = (self.config.limits(), run.cancellation().child_token());
        // A read that nobody waits for any more stops as well.
        let _stop = cancellation.clone().drop_guard();
        let read = move || {
            let file = file::open(&workspace, &path)?;
            file::select(file, &path, (first, count), limits, &cancellation)
        };
        let selection = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| ToolError::new(format!("cannot read \"{}\": {error}", shown.display())))??;
        if selection.lines.is_empty() && !selection.capped && first > selection.total.max(1) {
            let (path, total) = (shown.display(), selection.total);
            let message = if selection.cut_off {
                format!(
                    "offset {first} is beyond the first {SCANNED_MIB} MiB of \"{path}\", which have {total} lines; \
                     no more is read"
                )
            } else {
                format!("offset {first} is beyond the end of \"{path}\", which has {total} lines")
            };
            return Err(ToolError::new(message).with_kind(ErrorInfo::fixed("FsError", "FS_NOT_FOUND")));
        }
        Ok(render(&shown, &selection))
    }
}

/// A whole number from 1 on; JSON has only one kind of number.
fn positive(name: &str, number: f64) -> Result<usize, ToolError> {
    if number >= 1.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_991.0 {
        Ok(number as usize)
    } else {
        Err(ToolError::new(format!("{name} must be a positive integer")))
    }
}

/// The text that the model reads.
///
/// Source: the content of `tool/result` for `read`.
fn render(path: &Path, selection: &Selection) -> String {
    let Selection { first, lines, total, capped, cut_off } = selection;
    let mut text = format!("<path>{}</path>\n<type>file</type>\n<content>\n", path.display());
    for (position, line) in lines.iter().enumerate() {
        text.push_str(&format!("{}: {line}\n", first + position));
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    let next = first + lines.len();
    let last = next.saturating_sub(1);
    text.push_str(&if *capped {
        format!("(capped: lines {first}-{last} are shown, go on with offset={next})")
    } else if last < *total {
        let at_least = if *cut_off { "at least " } else { "" };
        format!("(lines {first}-{last} of {at_least}{total} are shown, go on with offset={next})")
    } else if *cut_off {
        format!("(end of the first {SCANNED_MIB} MiB, no more is read, lines in total: at least {total})")
    } else {
        format!("(end of file, lines in total: {total})")
    });
    text.push_str("\n</content>");
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Selection, render};

    fn text(first: usize, lines: &[&str], total: usize, capped: bool) -> String {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        render(Path::new("/w/a.txt"), &Selection { first, lines, total, capped, cut_off: false })
    }

    #[test]
    fn lines_are_numbered_between_the_path_and_a_footer() {
        assert_eq!(
            text(1, &["alpha", ""], 2, false),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n1: alpha\n2: \n\n(end of file, lines in total: 2)\n</content>"
        );
        assert!(
            text(2, &["b", "c"], 4, false)
                .ends_with("\n3: c\n\n(lines 2-3 of 4 are shown, go on with offset=4)\n</content>")
        );
        assert!(
            text(1, &["b"], 30, true)
                .ends_with("1: b\n\n(capped: lines 1-1 are shown, go on with offset=2)\n</content>")
        );
        assert!(text(1, &[], 0, false).ends_with("<content>\n(end of file, lines in total: 0)\n</content>"));
    }
}
