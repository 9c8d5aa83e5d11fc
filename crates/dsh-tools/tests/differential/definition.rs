//! The tools that scripts describe.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::ContentBlock;
use dsh_tools::{ToolDefinition, ToolRun, compile_parameters, compile_value};
use serde_json::{Value, json};

use crate::acts::{self, Place};
use crate::host::{Host, told};

impl Host {
    pub(crate) fn definition(self: &Arc<Self>, operation: &Value) -> Result<ToolDefinition, Value> {
        let name = operation["name"].as_str().unwrap().to_owned();
        let (raw, output) = (operation["raw"] == true, &operation["output"]);
        let parameters = match (operation.get("parameters"), raw) {
            (Some(form), true) => form.clone(),
            (None, true) => json!({ "type": "object" }),
            (form, false) => {
                let compiled = compile_parameters(form.unwrap_or(&json!({})));
                compiled.map_err(|error| told(&error))?
            }
        };
        let schema = match (output.get("schema"), raw) {
            (Some(form), true) => form.clone(),
            (Some(form), false) => compile_value(form).map_err(|error| told(&error))?,
            (None, _) => json!({}),
        };
        let body = Place::new(
            self,
            format!("body {name}"),
            &json!({ "steps": operation["body"] }),
            json!([{ "return": "ok" }]),
        );
        let described =
            operation["description"].as_str().map_or_else(|| format!("the tool {name}"), str::to_owned);
        let definition = ToolDefinition::raw(name.clone(), described, parameters);
        let definition = if raw { definition } else { definition.checked() };
        let mut definition = definition
            .output(schema)
            .run(move |arguments, run: ToolRun| acts::body(body.clone(), arguments, run));
        let drawn =
            Place::new(self, format!("render {name}"), &json!({ "steps": output["render"] }), json!([]));
        let text = output.get("render").is_none_or(|form| form == "text");
        definition = definition.render(move |_, value| {
            drawn.plain();
            if text {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                return Ok(vec![ContentBlock::text(shown)]);
            }
            let blocks = acts::projected(&drawn)?.unwrap_or_else(|| json!([]));
            Ok(serde_json::from_value(blocks)?)
        });
        if output.get("meta").is_some() {
            let meta =
                Place::new(self, format!("meta {name}"), &json!({ "steps": output["meta"] }), json!([]));
            definition = definition.presentation_meta(move |_, _| {
                meta.plain();
                Ok(acts::projected(&meta)?.unwrap_or(Value::Null))
            });
        }
        if operation.get("finalizer").is_some() {
            let place = Place::new(
                self,
                format!("finalizer {name}"),
                &json!({ "steps": operation["finalizer"] }),
                json!([]),
            );
            definition = definition.finalize(move |call, outcome| {
                place.note(call.id(), &acts::kind_of(outcome));
                acts::at_once(&place, Some(call)).map(|blocks| serde_json::from_value(blocks).unwrap())
            });
        }
        if let Some(form) = operation.get("concurrency_safe").cloned() {
            definition = definition.parallel_when(move |arguments| match form.get("argument") {
                Some(argument) => arguments[argument.as_str().unwrap()] == true,
                None if form.get("throw").is_some() => panic!("no idea"),
                None => form == true,
            });
        }
        if let Some(timeout) = operation.get("timeout_ms").and_then(Value::as_f64) {
            definition = definition.timeout(Duration::from_secs_f64(timeout.max(0.0) / 1e3));
        }
        Ok(definition)
    }
}
