//! The catalog's pages as markdown: one section for each crate, one row for each key.

use std::fmt::Write as _;

use super::CrateKeys;
use super::keys::{KeyEntry, Kind};

const GENERATED: &str = "<!-- Written by `cargo xtask catalog` from crates/*/src/keys.rs; do not edit. -->";

const EVENTS: &str = "\
# Events

Every event key of every crate, lowest layer first. The mode says how listeners are called: **Emit** calls all,
**Announce** stops at the first error, **Parallel** runs all to the end, **Serial** and **Bail** stop at the first
answer, **Waterfall** lets each listener wrap the rest. A key with a subject is routed to that scope and its ancestors.
";

const SERVICES: &str = "\
# Services

Every service key of every crate, lowest layer first, and below them the intercepts: the configuration that a context
can lay over a service.
";

const NONE: &str = "–";

/// The page of all events.
pub fn events(crates: &[CrateKeys]) -> String {
    let mut page = format!("{GENERATED}\n\n{EVENTS}");
    let columns = ["constant", "event", "mode", "payload", "result", "subject", "doc"];
    sections(&mut page, crates, "##", &columns, |key| match &key.kind {
        Kind::Event { mode, payload, result } => Some(vec![
            code(&key.constant),
            code(&key.name),
            mode.clone(),
            code(payload),
            result.as_deref().map_or_else(|| NONE.to_owned(), code),
            key.subject.as_deref().map_or_else(|| NONE.to_owned(), |subject| format!("by {}", code(subject))),
            prose(&key.doc),
        ]),
        Kind::Service(_) | Kind::Intercept(_) => None,
    });
    page
}

/// The page of all services and intercepts.
pub fn services(crates: &[CrateKeys]) -> String {
    let mut page = format!("{GENERATED}\n\n{SERVICES}");
    sections(&mut page, crates, "##", &["constant", "service", "type", "doc"], |key| match &key.kind {
        Kind::Service(ty) => Some(vec![code(&key.constant), code(&key.name), code(ty), prose(&key.doc)]),
        Kind::Event { .. } | Kind::Intercept(_) => None,
    });
    let mut intercepts = String::new();
    sections(&mut intercepts, crates, "###", &["constant", "intercept", "configuration", "doc"], |key| {
        match &key.kind {
            Kind::Intercept(ty) => {
                Some(vec![code(&key.constant), code(&key.name), code(ty), prose(&key.doc)])
            }
            Kind::Event { .. } | Kind::Service(_) => None,
        }
    });
    if !intercepts.is_empty() {
        page.push_str("\n## Intercepts\n");
        page.push_str(&intercepts);
    }
    page
}

fn sections(
    page: &mut String,
    crates: &[CrateKeys],
    level: &str,
    columns: &[&str],
    row: impl Fn(&KeyEntry) -> Option<Vec<String>>,
) {
    for one in crates {
        let rows: Vec<_> = one.keys.iter().filter_map(&row).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\n{level} {}\n", one.package);
        let _ = writeln!(page, "| {} |", columns.join(" | "));
        let _ = writeln!(page, "|{}", "---|".repeat(columns.len()));
        for cells in rows {
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
    }
}

fn code(text: &str) -> String {
    format!("`{}`", escape(text))
}

/// Rustdoc's links mean nothing in a page: their text stays.
fn prose(doc: &str) -> String {
    if doc.is_empty() {
        return NONE.to_owned();
    }
    let mut out = String::new();
    let mut rest = doc;
    while let Some(start) = rest.find('[') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = from.find(']') else {
            rest = from;
            break;
        };
        let (text, after) = (&from[1..end], &from[end + 1..]);
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        match target {
            Some((_, after)) => {
                out.push_str(text);
                rest = after;
            }
            None if text.starts_with('`') => {
                out.push_str(text);
                rest = after;
            }
            None => {
                out.push_str(&from[..=end]);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    escape(&out)
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
