//! Reading scripts and traces.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) form: Value,
    /// All operations, those of `use` first.
    pub(crate) steps: Vec<Value>,
    /// How many of them are of `use`, and give no outcome.
    pub(crate) skip: usize,
}

fn load(path: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/peers/node/tools");
    let text = fs::read_to_string(folder.join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The scripts of a file without those that need a language without static types, and all traces by name.
pub(crate) fn read(file: &str) -> (Vec<Script>, BTreeMap<String, Value>) {
    let common = load("common.json");
    let Value::Array(forms) = load(&format!("scripts/{file}.json")) else { panic!("{file}: no list") };
    let dynamic = |form: &Value| list(&form["needs"]).iter().any(|need| need == "dynamic");
    let scripts = forms.into_iter().filter(|form| !dynamic(form)).map(|form| {
        let used: Vec<Value> = list(&form["use"])
            .iter()
            .flat_map(|name| list(&common[name.as_str().unwrap()]))
            .cloned()
            .collect();
        let skip = used.len();
        let steps = used.into_iter().chain(list(&form["steps"]).iter().cloned()).collect();
        Script { name: form["name"].as_str().unwrap().to_owned(), form, steps, skip }
    });
    let Value::Object(traces) = load(&format!("traces/{file}.json"))["scripts"].take() else {
        panic!("{file}: no traces")
    };
    (scripts.collect(), traces.into_iter().collect())
}

/// The items of a list; none of what is absent.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A value that the script describes: `{"$deep": N}` is text in N lists.
pub(crate) fn decoded(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(decoded).collect(),
        Value::Object(members) => match members.get("$deep") {
            Some(levels) => {
                let mut deep = Value::from("bottom");
                for _ in 0..levels.as_u64().unwrap() {
                    deep = Value::Array(vec![deep]);
                }
                deep
            }
            None => members.iter().map(|(key, value)| (key.clone(), decoded(value))).collect(),
        },
        other => other.clone(),
    }
}
