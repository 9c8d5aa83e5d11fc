//! The tool: what the model may ask for, and what it is told.

use std::path::Path;

use dsh_tools::{ErrorInfo, ToolDefinition, ToolError, ToolRun, Workspace, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{Config, SCANNED_MIB};
use crate::file::{self, ReadError};
use crate::window::Selection;

/// Reads text files.
pub(crate) struct Read {
    pub(crate) workspace: Workspace,
    pub(crate) config: Config,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, which lies in the workspace.
    file_path: String,
    /// The first line to give, counted from 1.
    offset: Option<f64>,
    /// How many lines to give.
    limit: Option<f64>,
}

/// The tool. It changes nothing, so any number of its calls may run side by side, and may be repeated.
///
/// Opening and reading a file can block for as long as its file system likes. The threads of the tool runtime are made for
/// that: they are bounded, a call does not wait for one beyond its grace time, and unloading the plugin waits for a read
/// that still runs, or names it.
pub(crate) fn read(read: Read) -> impl Into<ToolDefinition> {
    let limit = read.config.read_limit;
    let description =
        format!("Gives the lines of a UTF-8 text file with their numbers, at most {limit} of them.");
    tool("read", description).with(read).run_blocking(run).parallel().idempotent()
}

fn run(read: &Read, arguments: Arguments, run: ToolRun) -> Result<String, ToolError> {
    let Arguments { file_path, offset, limit } = arguments;
    if file_path.trim().is_empty() {
        return Err(ToolError::new("file_path must be a non-empty string"));
    }
    let most = read.config.read_limit;
    let first = offset.map_or(Ok(1), |offset| positive("offset", offset))?;
    let count = limit.map_or(Ok(most), |limit| positive("limit", limit))?;
    if count > most {
        return Err(ToolError::new(format!("limit must not be above {most}")));
    }
    let selected = || {
        let path = read.workspace.locate(&file_path)?;
        let file = file::open(&read.workspace, &path)?;
        let selection = file::select(file, &path, (first, count), read.config.limits(), run.cancellation())?;
        Ok((path, selection))
    };
    let (path, selection) = selected().map_err(ReadError::coded)?;
    if selection.lines.is_empty() && !selection.capped && first > selection.total.max(1) {
        return Err(beyond(&path.shown, first, &selection));
    }
    Ok(render(&path.shown, &selection))
}

/// The first line that was asked for is none of those that there are.
fn beyond(path: &Path, first: usize, selection: &Selection) -> ToolError {
    let (path, total) = (path.display(), selection.total);
    let message = if selection.cut_off {
        format!(
            "offset {first} is beyond the first {SCANNED_MIB} MiB of \"{path}\", which have {total} lines; \
             no more is read"
        )
    } else {
        format!("offset {first} is beyond the end of \"{path}\", which has {total} lines")
    };
    ToolError::new(message).coded(ErrorInfo::fixed("FsError", "FS_NOT_FOUND"))
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
