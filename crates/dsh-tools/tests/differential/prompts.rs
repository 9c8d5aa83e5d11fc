//! What prompts tell of tools.

use cordis::ScopeKey;
use dsh_prompt::{AssembleContext, AssembleError, PromptAssembly, SYSTEM_PROMPT};
use serde_json::{Value, json};

use crate::host::{Host, told};

/// Mounts the system prompt with the order of tools that a script asks for.
pub(crate) async fn mount(app: &cordis::testing::TestApp, order: Option<&Value>) {
    let mut config = json!({ "includeHarnessIdentity": false, "includeRuntimeContext": false });
    if let Some(order) = order {
        config["toolOrder"] = order.clone();
    }
    let config: dsh_prompt::Config = serde_json::from_value(config).unwrap();
    app.plugin(dsh_prompt::plugin(), config).unwrap().ready().await.unwrap();
}

async fn assembled(host: &Host, scope: Option<&ScopeKey>) -> Result<PromptAssembly, AssembleError> {
    let context = scope.map_or_else(AssembleContext::new, AssembleContext::scoped);
    let prompt = host.app.get(SYSTEM_PROMPT).unwrap();
    prompt.get().unwrap().assemble(&host.app, &context).await
}

/// The names of the tools that are offered, and of the sections about tools.
pub(crate) async fn assemble(host: &Host, scope: Option<&ScopeKey>) -> Value {
    let assembly = match assembled(host, scope).await {
        Ok(assembly) => assembly,
        Err(error) => return json!({ "error": told(&error) }),
    };
    let tools: Vec<&str> = assembly.tools.iter().map(|tool| &*tool.name).collect();
    let sections = assembly.sections.iter().filter(|section| section.name.starts_with("tools:"));
    let sections: Vec<String> = sections
        .map(|section| format!("{}{}", section.name, if section.text.is_empty() { " (empty)" } else { "" }))
        .collect();
    json!({ "tools": tools, "sections": sections })
}

/// All that a prompt of no scope says.
pub(crate) async fn whole(host: &Host) -> String {
    let assembly = assembled(host, None).await.unwrap();
    format!("{:?} {:?}", assembly.tools, assembly.sections)
}
