//! What is new in every run, or worded anew by each of the two programs, put out of sight.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The texts of one run that are new in every run.
pub(crate) struct Masks {
    texts: Vec<(String, &'static str)>,
    /// Texts that each program words itself, and what is known of them all the same.
    worded: BTreeMap<String, String>,
}

impl Masks {
    pub(crate) fn new(server: &str, workspace: &str, log: &[Value]) -> Self {
        let session = log.first().and_then(|header| header["id"].as_str());
        let texts = [(Some(server), "<server>"), (Some(workspace), "<workspace>"), (session, "<session>")];
        let texts = texts.into_iter().filter_map(|(text, mask)| Some((text?.to_owned(), mask))).collect();
        Self { texts, worded: log.iter().flat_map(worded).collect() }
    }

    /// A text without what is new in every run.
    pub(crate) fn text(&self, text: &str) -> String {
        if let Some(mask) = self.worded.get(text) {
            return mask.clone();
        }
        self.texts.iter().fold(text.to_owned(), |text, (found, mask)| text.replace(found, mask))
    }

    /// A value as one line: keys in order, and without what is new in every run.
    pub(crate) fn line(&self, value: &Value) -> String {
        self.value(value).to_string()
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => self.object(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Value {
        let is_message = fields.contains_key("role") && fields.contains_key("content");
        let mut named: Vec<(&String, Value)> = fields
            .iter()
            .filter(|(name, _)| !(is_message && *name == "id"))
            .map(|(name, value)| (name, self.field(name, value)))
            .collect();
        named.sort_by_key(|(name, _)| *name);
        named.into_iter().map(|(name, value)| (name.clone(), value)).collect::<Map<_, _>>().into()
    }

    fn field(&self, name: &str, value: &Value) -> Value {
        match name {
            "retryId" => "<retry>".into(),
            // A server's own delay is a whole number; one with jitter never is.
            "delayMs" if value.as_u64().is_none() => "<with jitter>".into(),
            "system" if value.is_string() => "<system>".into(),
            "sections" => "<sections>".into(),
            _ => self.value(value),
        }
    }
}

/// What the programs say to a model in their own words: messages of plugins, and results of calls that were interrupted.
fn worded(event: &Value) -> Vec<(String, String)> {
    let data = &event["data"];
    let message = |message: &Value| {
        let source = &message["source"];
        let (form, plugin) = (source["form"].as_str()?, source["plugin"].as_str()?);
        Some((message["content"][0]["text"].as_str()?.to_owned(), format!("<{form} of {plugin}>")))
    };
    match event["type"].as_str() {
        Some("user/message") => message(data).into_iter().collect(),
        Some("agent/inbox/spliced") => {
            data["inserted"].as_array().into_iter().flatten().filter_map(message).collect()
        }
        Some("tool/result") => match data["error"]["code"].as_str() {
            Some(code @ ("TOOL_NOT_STARTED" | "TOOL_OUTCOME_UNKNOWN")) => {
                let text = data["message"]["content"][0]["content"][0]["text"].as_str();
                text.map(|text| (text.to_owned(), format!("<{code}>"))).into_iter().collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
