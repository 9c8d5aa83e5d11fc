//! The scripted calls of `xtask/peers/node/tools` on our pipeline, compared with what the reference did.
//!
//! The scripts and the format of traces are described in that folder's README. A difference is either a bug or in the table
//! of `known`, line by line, with the row of `docs/fidelity.md` that it belongs to.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test ends by panicking")]

mod acts;
mod compare;
mod definition;
mod host;
mod known;
mod program;
mod prompts;
mod script;
mod turn;

use std::collections::BTreeSet;

use known::KNOWN;
use script::{Script, list};
use serde_json::Value;

/// Runs all scripts of a file that our pipeline has words for.
async fn run(file: &str) {
    let (mut unexpected, mut seen) = (String::new(), BTreeSet::new());
    let (scripts, mut traces) = script::read(file);
    let mut compared = 0;
    for script in &scripts {
        let Some(expected) = traces.remove(&script.name) else { panic!("{file}: {}: no trace", script.name) };
        let known = KNOWN.iter().find(|known| (known.file, known.script) == (file, script.name.as_str()));
        seen.extend(known.map(|known| known.script));
        if let Some(known) = known
            && known.differs.is_empty()
        {
            continue;
        }
        let ours = host::run(script).await;
        let differences = match list(&script.form["needs"]).iter().any(|need| need == "schedule") {
            true => compare::differences(&compare::regrouped(&expected), &compare::regrouped(&ours)),
            false => compare::differences(&expected, &ours),
        };
        let allowed = known.map_or(&[][..], |known| known.differs);
        compared += 1;
        let same = differences.len() == allowed.len()
            && differences.iter().zip(allowed).all(|(found, allowed)| is_allowed(found, allowed));
        if !same {
            unexpected += &format!("{file}: {}:\n{differences:#?}\n", script.name);
        }
    }
    assert!(unexpected.is_empty(), "{unexpected}");
    let stale: Vec<_> =
        KNOWN.iter().filter(|known| known.file == file && !seen.contains(known.script)).collect();
    assert!(stale.is_empty(), "known differences of no script: {stale:#?}");
    assert!(
        compared > scripts.len() / 2,
        "{file}: only {compared} of {} scripts were compared",
        scripts.len()
    );
}

/// A line of the table that ends in `…` leaves the rest of it open: a wording that is tested elsewhere.
fn is_allowed(found: &str, allowed: &str) -> bool {
    match allowed.strip_suffix('…') {
        Some(beginning) => found.starts_with(beginning),
        None => found == allowed,
    }
}

// spec: tools/T39, tools/T44, tools/T45, tools/T87
#[tokio::test(start_paused = true)]
async fn arguments() {
    run("arguments").await;
}

// spec: tools/T10, tools/T26, tools/T28, tools/T97, tools/T98, tools/T99, tools/T106, tools/T113, code-mode/C2, code-mode/C6
// spec: code-mode/C13, code-mode/C15, code-mode/C16, code-mode/C22, code-mode/C27, code-mode/C29, code-mode/C39, code-mode/C40
#[tokio::test(start_paused = true)]
async fn code_mode() {
    run("code-mode").await;
}

// spec: tools/T60, tools/T63, tools/T78, tools/T117, tools/T119
#[tokio::test(start_paused = true)]
async fn cancellation() {
    run("cancellation").await;
}

// spec: tools/T62, tools/T63, tools/T64, tools/T65, tools/T111, tools/T112
#[tokio::test(start_paused = true)]
async fn execute() {
    run("execute").await;
}

// spec: tools/T55, tools/T59, tools/T61, tools/T72, tools/T79
#[tokio::test(start_paused = true)]
async fn exits() {
    run("exits").await;
}

// spec: tools/T57, tools/T58, tools/T85, tools/T88, tools/T89, tools/T90, tools/T92, tools/T100, code-mode/C26, code-mode/C34
#[tokio::test(start_paused = true)]
async fn agent_loop() {
    run("loop").await;
}

// spec: tools/T56, tools/T57, tools/T80, tools/T81, tools/T82
#[tokio::test(start_paused = true)]
async fn policy() {
    run("policy").await;
}

// spec: tools/T68, tools/T69, tools/T118
#[tokio::test(start_paused = true)]
async fn post() {
    run("post").await;
}

// spec: tools/T7, tools/T13, tools/T15, tools/T19, tools/T21
#[tokio::test(start_paused = true)]
async fn registry() {
    run("registry").await;
}

// spec: tools/T66, tools/T67, tools/T70
#[tokio::test(start_paused = true)]
async fn results() {
    run("results").await;
}

/// A trace that differs in one line, one field or one name is not taken for the same.
#[test]
fn the_comparison_sees_each_kind_of_difference() {
    use serde_json::json;
    let expected = json!({
        "log": ["a", "b"], "outcomes": ["done"],
        "results": { "c1": { "isError": true, "content": [{ "type": "text", "text": { "after": "Error: ", "own_words": ["t"] } }], "value": 2.0 } },
    });
    let ours = json!({
        "log": ["a", "b"], "outcomes": ["done"],
        "results": { "c1": { "isError": true, "content": [{ "type": "text", "text": "Error: about t" }], "value": 2 } },
    });
    assert_eq!(compare::differences(&expected, &ours), Vec::<String>::new());
    let mut other = ours.clone();
    other["log"] = json!(["b", "a"]);
    other["results"]["c1"]["content"][0]["text"] = json!("Error: about nothing");
    other["results"]["c1"]["value"] = json!(3);
    other["results"]["c1"]["meta"] = json!(null);
    let found = compare::differences(&expected, &other);
    assert_eq!(
        found,
        [
            "log -a",
            "log +a",
            r#"results.c1.content.0.text: {"after":"Error: ","own_words":["t"]} is "Error: about nothing""#,
            "results.c1.value: 2.0 is 3",
            "results.c1.meta: nothing is null",
        ]
    );
}

/// Calls that overlap may be told in any order, but each of them in its own.
#[test]
fn only_the_order_of_different_calls_is_open() {
    use serde_json::json;
    let event = |kind: &str, id: &str| json!({ "type": kind, "data": { "callId": id } });
    let trace = |log: [&str; 3], events: [Value; 3]| json!({ "log": log, "outcomes": ["done", events], "results": {} });
    let (call, result, other) = (event("call", "c1"), event("result", "c1"), event("call", "c2"));
    let expected = trace(["c1 a", "c1 b", "c2 a"], [call.clone(), result.clone(), other.clone()]);
    let mixed = trace(["c1 a", "c2 a", "c1 b"], [call.clone(), other.clone(), result.clone()]);
    let turned = trace(["c1 b", "c1 a", "c2 a"], [result, call, other]);
    let differences = |ours| compare::differences(&compare::regrouped(&expected), &compare::regrouped(ours));
    assert_eq!(differences(&mixed), Vec::<String>::new());
    assert_eq!(
        differences(&turned),
        [
            "log -c1 a",
            "log +c1 a",
            r#"outcomes.1.0.type: "call" is "result""#,
            r#"outcomes.1.1.type: "result" is "call""#,
        ]
    );
}

impl std::fmt::Debug for known::Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({}: {})", self.file, self.script, self.ids, self.why)
    }
}

/// What a script says that is not read yet is an error of the test, never a script that passes.
pub(crate) fn unsupported(script: &Script, what: impl std::fmt::Display) -> ! {
    panic!("{}: {what} is not supported", script.name)
}
