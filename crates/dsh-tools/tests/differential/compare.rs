//! What differs between two traces.

use serde_json::Value;

use crate::script::list;

/// One line for each line of the log that only the reference (`-`) or only we (`+`) have, and for each place of the outcomes
/// and results that is another.
pub(crate) fn differences(expected: &Value, ours: &Value) -> Vec<String> {
    let mut found = log(&lines(&expected["log"]), &lines(&ours["log"]));
    for part in ["outcomes", "results"] {
        compare(part, Some(&expected[part]), Some(&ours[part]), &mut found);
    }
    found
}

/// A trace whose calls overlap: only the order of lines with the same first word counts, and of events of one call.
pub(crate) fn regrouped(trace: &Value) -> Value {
    let mut trace = trace.clone();
    if let Some(log) = trace["log"].as_array_mut() {
        log.sort_by_key(|line| line.as_str().and_then(|line| line.split(' ').next()).map(str::to_owned));
    }
    for events in trace["outcomes"].as_array_mut().into_iter().flatten().filter_map(Value::as_array_mut) {
        events.sort_by_key(|event| {
            let data = &event["data"];
            let ids = [&data["subCallId"], &data["callId"], &data["message"]["source"]["callId"]];
            ids.iter().find_map(|id| id.as_str()).unwrap_or_default().to_owned()
        });
    }
    trace
}

fn lines(log: &Value) -> Vec<&str> {
    list(log).iter().filter_map(Value::as_str).collect()
}

/// The longest common subsequence is left out.
fn log(expected: &[&str], ours: &[&str]) -> Vec<String> {
    let (rows, columns) = (expected.len(), ours.len());
    let mut common = vec![vec![0_usize; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row][column] = match expected[row] == ours[column] {
                true => common[row + 1][column + 1] + 1,
                false => common[row + 1][column].max(common[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut found) = (0, 0, Vec::new());
    while row < rows || column < columns {
        if row < rows && column < columns && expected[row] == ours[column] {
            (row, column) = (row + 1, column + 1);
        } else if row < rows && (column == columns || common[row + 1][column] >= common[row][column + 1]) {
            found.push(format!("log -{}", expected[row]));
            row += 1;
        } else {
            found.push(format!("log +{}", ours[column]));
            column += 1;
        }
    }
    found
}

fn compare(place: &str, expected: Option<&Value>, ours: Option<&Value>, found: &mut Vec<String>) {
    match (expected, ours) {
        (Some(Value::Array(expected)), Some(Value::Array(ours))) => {
            for index in 0..expected.len().max(ours.len()) {
                compare(&format!("{place}.{index}"), expected.get(index), ours.get(index), found);
            }
        }
        (Some(Value::Object(expected)), Some(Value::Object(ours))) => {
            // An error's class is a language's own.
            let keys = expected.keys().chain(ours.keys().filter(|key| !expected.contains_key(*key)));
            for key in keys.filter(|key| *key != "class") {
                compare(&format!("{place}.{key}"), expected.get(key), ours.get(key), found);
            }
        }
        (Some(expected), Some(ours)) if same(expected, ours) => {}
        (expected, ours) => {
            let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
            found.push(format!("{place}: {} is {}", shown(expected), shown(ours)));
        }
    }
}

fn same(expected: &Value, ours: &Value) -> bool {
    match (expected, ours) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Object(form), Value::String(text)) => says(form, text),
        _ => expected == ours,
    }
}

/// Whether a text says what the reference's own words say.
fn says(form: &serde_json::Map<String, Value>, text: &str) -> bool {
    let mut rest = text;
    if let Some(after) = form.get("after").and_then(Value::as_str) {
        let Some(behind) = rest.strip_prefix(after) else { return false };
        rest = behind;
    }
    if let Some(prefix) = form.get("list").and_then(Value::as_str) {
        let Some(behind) = rest.strip_prefix(prefix) else { return false };
        let expected = form.get("violations").map_or(&[][..], list);
        let ours: Vec<&str> = behind.split("; ").collect();
        return expected.len() == ours.len()
            && expected.iter().zip(ours).all(|(expected, ours)| same(expected, &Value::from(ours)));
    }
    match form.get("own_words") {
        Some(words) => list(words).iter().filter_map(Value::as_str).all(|word| mentions(rest, word)),
        None => false,
    }
}

/// Whether a text has a name by itself, not as a part of another.
fn mentions(text: &str, name: &str) -> bool {
    let letter = |symbol: char| symbol.is_alphanumeric() || symbol == '_' || symbol == '-';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|symbol| letter(symbol) || matches!(symbol, '.' | '/' | '\''))
            && !after.is_some_and(letter)
    })
}
