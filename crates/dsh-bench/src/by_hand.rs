//! What one would write by hand instead of the pipeline: no removal, no owner, no containment, no cancellation.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use cordis::BoxFuture;
use cordis_bench::floors::{Chain, Innermost};
use dsh_tools::{Schema, ToolOutcome, parse_arguments};
use serde_json::Value;

use crate::calls::{EACH, parameters};

type Body = Box<dyn Fn(Arc<Value>) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;
type Observer = Box<dyn Fn(&ToolOutcome) + Send + Sync>;
type Guard = Box<dyn Fn(&str, &Value) -> Option<String> + Send + Sync>;

struct Tool {
    parameters: Schema,
    output: Schema,
    body: Body,
}

/// Tools behind a map, with chains of wrappers, guards and observers.
pub struct ByHand {
    tools: HashMap<String, Tool>,
    chains: Vec<Chain>,
    guards: Vec<Guard>,
    observers: Vec<Observer>,
}

impl ByHand {
    /// Nothing but the tool.
    #[must_use]
    pub fn bare() -> Self {
        let echo = Tool {
            parameters: Schema::new(parameters()).unwrap(),
            output: Schema::new(serde_json::json!({ "type": "string" })).unwrap(),
            body: Box::new(|arguments| Box::pin(async move { Ok(arguments["text"].clone()) })),
        };
        let tools = HashMap::from([("echo".to_owned(), echo)]);
        Self { tools, chains: Vec::new(), guards: Vec::new(), observers: Vec::new() }
    }

    /// With as many wrappers, guards and observers as [`Host::policies`](crate::calls::Host::policies) has, the policy of
    /// time limits counted as one wrapper.
    #[must_use]
    pub fn policies() -> Self {
        let mut by_hand = Self::bare();
        by_hand.chains = [EACH, EACH + 1, EACH].map(Chain::of).into();
        for _ in 0..EACH {
            by_hand.guards.push(Box::new(|name, _| black_box(name).is_empty().then(String::new)));
            by_hand.observers.push(Box::new(|outcome| {
                black_box(outcome);
            }));
        }
        by_hand
    }

    /// Calls the tool with what a model wrote.
    pub async fn call(&self, text: &str) -> ToolOutcome {
        self.execute("echo", parse_arguments(text).map(Arc::new).map_err(|error| error.to_string())).await
    }

    async fn execute(&self, name: &str, arguments: Result<Arc<Value>, String>) -> ToolOutcome {
        let outcome = match self.value(name, arguments).await {
            Ok(value) => ToolOutcome::success(value),
            Err(message) => ToolOutcome::failed(message),
        };
        for observer in &self.observers {
            observer(&outcome);
        }
        outcome
    }

    async fn value(&self, name: &str, arguments: Result<Arc<Value>, String>) -> Result<Value, String> {
        let arguments = arguments?;
        for chain in &self.chains {
            black_box(chain.run(&Innermost, &mut 0).await);
        }
        if let Some(reason) = self.guards.iter().find_map(|guard| guard(name, &arguments)) {
            return Err(reason);
        }
        let tool = self.tools.get(name).ok_or("unknown tool")?;
        if !tool.parameters.accepts(&arguments) {
            return Err("invalid arguments".to_owned());
        }
        let value = (tool.body)(arguments).await?;
        if tool.output.accepts(&value) { Ok(value) } else { Err("invalid output".to_owned()) }
    }
}
