//! `docs/fidelity.md`: the behaviours of the reference that we leave out or do differently, each with its reason.

use anyhow::{Context as _, Result, bail, ensure};

use crate::markdown::{self, Place};
use crate::workspace::Workspace;

use super::{BehaviourId, parse_ids};

/// Where the page lives.
pub const PATH: &str = "docs/fidelity.md";

const COLUMNS: [&str; 4] = ["id", "kind", "what we do", "why"];
const KINDS: [&str; 2] = ["not applicable", "different"];

/// One row of the page's tables.
#[derive(Debug)]
pub struct Entry {
    /// Counted from 1.
    pub line: usize,
    /// What it covers, or what is wrong with the row.
    pub ids: Result<Vec<BehaviourId>>,
}

/// Reads the rows of every table that has the page's columns.
///
/// # Errors
/// When the page is missing or has no such table.
pub fn load(workspace: &Workspace) -> Result<Vec<Entry>> {
    let text = workspace.read(PATH, "create it with a table `| id | kind | what we do | why |`")?;
    parse(&text).with_context(|| format!("{PATH} cannot be read"))
}

fn parse(text: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut seen = false;
    let mut inside = false;
    for line in markdown::lines(text) {
        let Some(cells) = markdown::cells(line.text).filter(|_| line.place == Place::Prose) else {
            inside = false;
            continue;
        };
        if cells == COLUMNS {
            (seen, inside) = (true, true);
        } else if inside && !is_rule(&cells) {
            entries.push(Entry { line: line.number, ids: row(&cells) });
        }
    }
    ensure!(seen, "no table has the columns `| {} |`", COLUMNS.join(" | "));
    Ok(entries)
}

fn row(cells: &[String]) -> Result<Vec<BehaviourId>> {
    let [ids, kind, what, why] = cells else {
        bail!("a row needs four cells, `| {} |`; write `\\|` for a bar", COLUMNS.join(" | "));
    };
    if !KINDS.contains(&kind.as_str()) {
        bail!("the kind `{kind}` is neither `{}` nor `{}`", KINDS[0], KINDS[1]);
    }
    ensure!(!what.is_empty(), "the cell `what we do` is empty");
    ensure!(!why.is_empty(), "the reason is empty: say why");
    let mut parsed = Vec::new();
    for item in ids.split(',').map(str::trim) {
        let Some(id) = item.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) else {
            bail!("`{item}` is not an id: write each as `file/id` in backticks");
        };
        parsed.extend(parse_ids(id)?);
    }
    Ok(parsed)
}

fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|char| matches!(char, '-' | ':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Fidelity\n\n| id | kind | what we do | why |\n|---|---|---|---|\n";

    fn only_row(row: &str) -> Result<Vec<String>> {
        let mut entries = parse(&format!("{HEAD}{row}\n")).unwrap();
        assert_eq!(entries.len(), 1);
        let ids = entries.remove(0).ids?;
        Ok(ids.iter().map(ToString::to_string).collect())
    }

    fn red(row: &str) -> String {
        only_row(row).unwrap_err().to_string()
    }

    #[test]
    fn a_row_covers_each_id_of_its_first_cell() {
        let ids = only_row("| `cordis-core/C46`, `scope/S2b` | different | identity | `a\\|b` |").unwrap();
        assert_eq!(ids, ["cordis-core/C46", "scope/S2b"]);
    }

    #[test]
    fn a_row_without_a_reason_is_rejected() {
        assert!(red("| `a/C1` | different | this | |").contains("the reason is empty"));
        assert!(red("| `a/C1` | different | this |").contains("a row needs four cells"));
        assert!(red("| `a/C1` | different | | why |").contains("`what we do` is empty"));
    }

    #[test]
    fn an_unknown_kind_and_a_bare_id_are_rejected() {
        assert!(red("| `a/C1` | better | this | why |").contains("the kind `better`"));
        assert!(red("| a/C1 | different | this | why |").contains("in backticks"));
        assert!(red("| `a/C1-C3` | different | this | why |").contains("is not an id"));
    }

    #[test]
    fn a_page_without_the_table_is_rejected() {
        let error = parse("# Fidelity\n\n| id | why |\n|---|---|\n").unwrap_err().to_string();
        assert!(error.contains("`| id | kind | what we do | why |`"), "{error}");
    }

    #[test]
    fn tables_in_fences_and_with_other_columns_are_passed_over() {
        let text =
            format!("{HEAD}\n```text\n| `a/C1` | x | y | z |\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
        assert!(parse(&text).unwrap().is_empty());
    }
}
