//! A code runtime whose programs are lists of steps in JSON.

use std::collections::HashMap;
use std::sync::Arc;

use cordis::{BoxError, BoxFuture};
use dsh_tools::{CODE_RUNTIME, CodeFailureKind, CodeOutcome, CodeRequest, CodeRuntime, Namespace};
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::host::Host;
use crate::script::list;

struct Programs {
    host: Arc<Host>,
    language: String,
}

/// What calls gave, by the names that the program gave them.
type Seen = Arc<Mutex<HashMap<String, Value>>>;

/// Mounts the runtime that a script describes.
pub(crate) fn mount(host: &Arc<Host>, form: &Value) {
    let language = form["language"].as_str().unwrap_or("typescript").to_owned();
    let runtime: Arc<dyn CodeRuntime> = Arc::new(Programs { host: Arc::clone(host), language });
    host.app.provide(CODE_RUNTIME, runtime).unwrap();
}

impl CodeRuntime for Programs {
    fn language(&self) -> &str {
        &self.language
    }

    fn isolation(&self) -> &str {
        "process"
    }

    fn run(&self, request: CodeRequest) -> BoxFuture<'static, Result<CodeOutcome, BoxError>> {
        let host = Arc::clone(&self.host);
        Box::pin(async move { Ok(perform(&host, &request).await) })
    }
}

async fn perform(host: &Arc<Host>, request: &CodeRequest) -> CodeOutcome {
    let [functions] = request.namespaces() else { panic!("one namespace") };
    let Ok(Value::Array(steps)) = serde_json::from_str(request.program()) else {
        panic!("no program: {}", request.program())
    };
    let (mut logs, seen) = (Vec::new(), Seen::default());
    for step in &steps {
        let (key, argument) = match step.get("call") {
            Some(_) => ("call", step),
            None => {
                step.as_object().and_then(|step| step.iter().next()).map(|(key, it)| (&**key, it)).unwrap()
            }
        };
        match key {
            "call" => call(host, functions, argument, &seen).await,
            "together" => {
                join_all(list(argument).iter().map(|form| call(host, functions, form, &seen))).await;
            }
            "leave" => {
                let left = tokio::spawn(call(host, functions, argument, &seen));
                host.left.lock().push(left);
            }
            "log" => logs.push(argument.as_str().unwrap().to_owned()),
            "names" => {
                let names: Vec<&str> = functions.functions().collect();
                host.note(format!("program sees {}", names.join(" ")));
            }
            "yield" => {
                for _ in 0..argument.as_u64().unwrap() {
                    tokio::task::yield_now().await;
                }
            }
            "fail" => {
                let kind: CodeFailureKind = serde_json::from_value(argument["kind"].clone()).unwrap();
                return CodeOutcome::failed(logs, kind, argument["message"].as_str().unwrap());
            }
            "return" => return CodeOutcome::completed(logs, Some(argument.clone())),
            "return_seen" => {
                let value = seen.lock().get(argument.as_str().unwrap()).cloned();
                return CodeOutcome::completed(logs, value);
            }
            _ => panic!("no such program step: {step}"),
        }
    }
    CodeOutcome::completed(logs, None)
}

/// Makes a call at once, and says later what it gave; the program goes on after a failure.
fn call(host: &Arc<Host>, functions: &Namespace, form: &Value, seen: &Seen) -> BoxFuture<'static, ()> {
    let name = form["call"].as_str().unwrap().to_owned();
    let arguments = form.get("arguments").cloned().unwrap_or_else(|| json!({}));
    let answer = functions.call(&name, arguments);
    let (host, seen, kept) = (Arc::clone(host), Arc::clone(seen), form["as"].as_str().map(str::to_owned));
    Box::pin(async move {
        match answer.await {
            Ok(value) => {
                host.note(format!("program {name} gave {value}"));
                if let Some(kept) = kept {
                    seen.lock().insert(kept, value);
                }
            }
            Err(failure) => host.note(format!("program {name} failed {}", json!(reasonless(&failure.0)))),
        }
    })
}

/// Why a run is over is the text of a token's reason, which depends on the language.
fn reasonless(text: &str) -> String {
    match (text.strip_prefix("run_code run is over ("), text.split_once(");")) {
        (Some(_), Some((_, rest))) => format!("run_code run is over (…);{rest}"),
        _ => text.to_owned(),
    }
}
