//! The host of one script: our pipeline, and the operations of scripts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxFuture, Context, Effect, Handle, ScopeKey};
use dsh_agent::Agent;
use dsh_agent::testing::{MemoryDriver, parts};
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{CreateSession, NewEvent, SessionStore, TurnStart};
use dsh_tools::{
    CHANGE, CODE_DISPATCH_LOG, CallRequest, Config, EXECUTE, ExecutionMode, GivenArguments, POST_EXECUTE,
    PRE_EXECUTE, RESULT, RegisteredTool, Restriction, SchemaError, Settled, TOOLS, ToolCall, ToolOutcome,
    ToolRun, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::acts::{self, Place};
use crate::script::{Script, decoded, list};
use crate::{program, prompts, turn, unsupported};

pub(crate) struct Host {
    pub(crate) app: TestApp,
    _watched: Watched,
    pub(crate) tools: Handle<ToolRuntime>,
    log: Mutex<Vec<String>>,
    pub(crate) results: Mutex<Map<String, Value>>,
    pub(crate) outcomes: Mutex<HashMap<String, ToolOutcome>>,
    callers: Mutex<HashMap<String, CancellationToken>>,
    pub(crate) own: Mutex<HashMap<String, CancellationToken>>,
    effects: Mutex<HashMap<String, Effect>>,
    offered: Mutex<Vec<(String, Arc<RegisteredTool>)>>,
    pub(crate) agents: Mutex<HashMap<String, Agent>>,
    pub(crate) inboxes: Mutex<HashMap<String, Arc<MemoryDriver>>>,
    /// What cancels the turns of agents.
    pub(crate) running: Mutex<HashMap<String, CancellationToken>>,
    prompt: Mutex<Option<String>>,
    /// Calls that a program did not wait for.
    pub(crate) left: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    answers: Mutex<VecDeque<Value>>,
    name: String,
}

/// Runs a script and gives its trace.
pub(crate) async fn run(script: &Script) -> Value {
    let app = TestApp::new();
    let mut config = Config::default();
    if let Some(mode) = script.form["config"].get("mode") {
        config.mode = serde_json::from_value(mode.clone()).unwrap();
    }
    if let Some(limit) = script.form["config"]["maxParallelSubCalls"].as_u64() {
        config.max_parallel_sub_calls = limit.try_into().unwrap();
    }
    prompts::mount(&app, script.form.get("toolOrder")).await;
    app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
    let _watched = dsh_tools_invariants::testing::watch(&app).await;
    app.quiet().await;
    let tools = app.get(TOOLS).unwrap();
    let host = Arc::new(Host {
        app,
        _watched,
        tools,
        log: Mutex::default(),
        results: Mutex::default(),
        outcomes: Mutex::default(),
        callers: Mutex::default(),
        own: Mutex::default(),
        effects: Mutex::default(),
        offered: Mutex::default(),
        agents: Mutex::default(),
        inboxes: Mutex::default(),
        running: Mutex::default(),
        prompt: Mutex::default(),
        left: Mutex::default(),
        answers: Mutex::new(list(&script.form["approval"]).iter().cloned().collect()),
        name: script.name.clone(),
    });
    host.start(script).await;
    let mut outcomes = Vec::new();
    for (place, operation) in script.steps.iter().enumerate() {
        let given = host.operate(operation, script).await;
        if place >= script.skip {
            outcomes.push(given);
        }
    }
    let left = std::mem::take(&mut *host.left.lock());
    for call in left {
        call.await.unwrap();
    }
    let (log, results) = (host.log.lock().clone(), host.results.lock().clone());
    json!({ "log": log, "outcomes": outcomes, "results": results })
}

impl Host {
    pub(crate) fn note(&self, line: String) {
        self.log.lock().push(line);
    }

    /// The context that registers for an agent, or for all.
    fn context_of(&self, operation: &Value) -> Context {
        match operation["scope"].as_str() {
            None => (**self.app).clone(),
            Some(agent) => self.agents.lock()[agent].context().clone(),
        }
    }

    fn scope_of(&self, operation: &Value) -> Option<ScopeKey> {
        operation["scope"].as_str().map(|agent| self.agents.lock()[agent].scope().clone())
    }

    pub(crate) fn caller(&self, id: &str) -> CancellationToken {
        self.callers.lock()[id].clone()
    }

    async fn start(self: &Arc<Self>, script: &Script) {
        let heard = Arc::clone(self);
        self.app
            .on(RESULT)
            .run(move |settled| heard.note(format!("{} result", settled.call().id())))
            .unwrap();
        if script.form.get("approval").is_some() {
            let config = dsh_approval::Config::default();
            self.app.plugin(dsh_approval::plugin(), config).unwrap().ready().await.unwrap();
            let host = Arc::clone(self);
            let answers = acts::around::<ApprovalRequest, ApprovalOutcome, _>(move |request, _| {
                let (host, request) = (Arc::clone(&host), request.clone());
                Box::pin(async move { host.answer(&request).await })
            });
            self.app.on(REQUEST).run_boxed(answers).unwrap();
        }
        if script.form["watch_changes"] == true {
            let heard = Arc::clone(self);
            let hear = move |_: &dsh_tools::ToolsChange| {
                heard.note("tools/change".to_owned());
                Ok(())
            };
            self.app.on(CHANGE).run(hear).unwrap();
        }
        if let Some(runtime) = script.form.get("runtime") {
            program::mount(self, runtime);
        }
        let store = SessionStore::new();
        for form in list(&script.form["agents"]) {
            let id = form["id"].as_str().unwrap();
            let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
            let session = store.create(&self.app, options).unwrap();
            if script.form.get("loop").is_none() {
                session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
            }
            let parent = form["parent"].as_str().map(|parent| self.agents.lock()[parent].clone());
            let scope = match parent {
                None => self.app.scope().unwrap(),
                Some(parent) => self.app.scope_under(parent.scope()).unwrap(),
            };
            let inbox = Arc::new(MemoryDriver::default());
            self.inboxes.lock().insert(id.to_owned(), Arc::clone(&inbox));
            self.agents.lock().insert(id.to_owned(), Agent::new(parts(session, scope, inbox)));
        }
    }

    async fn answer(self: &Arc<Self>, request: &ApprovalRequest) -> ApprovalOutcome {
        let id = request.call_id.clone().unwrap();
        let mut question = json!({ "tool": request.tool_name });
        if let Some(reason) = &request.reason {
            question["reason"] = json!(reason);
        }
        self.note(format!("{id} approval asked {question}"));
        let steps = self.answers.lock().pop_front().expect("the script has an answer left");
        let mut outcome = steps.as_str().map(str::to_owned);
        for step in list(&steps) {
            if step.get("abort").is_some() {
                self.caller(&id).cancel();
            }
            if let Some(operation) = step.get("do") {
                self.perform(operation).await.unwrap();
            }
            for _ in 0..step["yield"].as_u64().unwrap_or(0) {
                tokio::task::yield_now().await;
            }
            if let Some(failure) = step.get("throw") {
                self.note(format!("{id} approval answered throw"));
                panic!("{failure}");
            }
            outcome = step["answer"].as_str().map(str::to_owned).or(outcome);
        }
        let outcome = outcome.unwrap();
        self.note(format!("{id} approval answered {outcome}"));
        serde_json::from_value(json!(outcome)).unwrap()
    }

    /// What an operation gives.
    async fn operate(self: &Arc<Self>, operation: &Value, script: &Script) -> Value {
        match operation["op"].as_str().unwrap() {
            "call" => self.call(operation, None).await,
            "mode" => {
                let scope =
                    operation["agent"].as_str().map(|agent| self.agents.lock()[agent].scope().clone());
                let arguments = operation.get("arguments").map_or_else(|| json!({}), decoded);
                let (tool, tools) = (operation["tool"].as_str().unwrap(), self.tools.get().unwrap());
                let mode = tools.execution_mode(tool, &arguments, scope.as_ref());
                return json!(if mode == ExecutionMode::Parallel { "parallel" } else { "exclusive" });
            }
            "turn" => return turn::run(self, operation, script).await,
            "assemble" => return prompts::assemble(self, self.scope_of(operation).as_ref()).await,
            "remember_prompt" => {
                let whole = prompts::whole(self).await;
                *self.prompt.lock() = Some(whole);
            }
            "same_prompt" => {
                let whole = prompts::whole(self).await;
                let same = self.prompt.lock().as_ref() == Some(&whole);
                return json!(if same { "same" } else { "different" });
            }
            "bind" => {
                let key = |role: &str| self.agents.lock()[operation[role].as_str().unwrap()].scope().clone();
                if let Err(error) = key("child").bind_parent(&key("parent")) {
                    return json!({ "error": told(&error) });
                }
            }
            "schemas" => {
                let scope = self.scope_of(operation);
                let schemas = self.tools.get().unwrap().schemas(scope.as_ref());
                return match operation["whole"] == true {
                    true => serde_json::to_value(schemas).unwrap(),
                    false => schemas.into_iter().map(|schema| schema.name).collect(),
                };
            }
            "get" => {
                let scope = self.scope_of(operation);
                let found =
                    self.tools.get().unwrap().get(operation["tool"].as_str().unwrap(), scope.as_ref());
                let Some(found) = found else { return json!("nothing") };
                let offered = self.offered.lock();
                let known = offered.iter().find(|(_, tool)| Arc::ptr_eq(tool, &found));
                return known
                    .map_or_else(|| json!("another"), |(name, _)| json!(format!("definition {name}")));
            }
            "load" | "views" => unsupported(script, &operation["op"]),
            _ => {
                if let Err(error) = self.perform(operation).await {
                    return json!({ "error": error });
                }
            }
        }
        json!("done")
    }

    /// An operation from inside of something that runs.
    pub(crate) fn perform<'a>(self: &'a Arc<Self>, operation: &'a Value) -> BoxFuture<'a, Result<(), Value>> {
        Box::pin(async move {
            match operation["op"].as_str().unwrap() {
                "dispose" => {
                    let effect = self.effects.lock()[operation["of"].as_str().unwrap()].clone();
                    // At once, as in the reference, and then to its end; from inside of what it disposes only the first.
                    effect.cancel();
                    effect.dispose().await;
                    Ok(())
                }
                "close" => {
                    let agent = self.agents.lock()[operation["scope"].as_str().unwrap()].clone();
                    agent.context().fiber().dispose().await;
                    Ok(())
                }
                _ => self.perform_now(operation),
            }
        })
    }

    /// An operation from a place that must answer at once.
    pub(crate) fn perform_now(self: &Arc<Self>, operation: &Value) -> Result<(), Value> {
        let name = operation.get("as").or_else(|| operation.get("name")).and_then(Value::as_str);
        let name = name.or(match operation["op"].as_str() {
            Some("restrict") => Some("restriction"),
            Some("present") => Some("presentation"),
            _ => None,
        });
        let effect = match operation["op"].as_str().unwrap() {
            "tool" => {
                let definition = self.definition(operation)?;
                let ctx = self.context_of(operation);
                let tools = self.tools.get().unwrap();
                let effect = tools.register(&ctx, definition).map_err(|error| told(&error))?;
                let offered = tools.get(operation["name"].as_str().unwrap(), ctx.scope_key()).unwrap();
                self.offered.lock().push((name.unwrap().to_owned(), offered));
                effect
            }
            "restrict" => {
                let ctx = self.context_of(operation);
                let names = |key: &str| -> Option<Vec<String>> {
                    operation.get(key).map(|names| serde_json::from_value(names.clone()).unwrap())
                };
                let restriction = match (names("allow"), names("deny")) {
                    (Some(allow), deny) => match deny {
                        Some(deny) => Restriction::allow(allow).and_deny(deny),
                        None => Restriction::allow(allow),
                    },
                    (None, Some(deny)) => Restriction::deny(deny),
                    (None, None) => Restriction::default(),
                };
                let restricted = self.tools.get().unwrap().restrict(&ctx, restriction);
                restricted.map_err(|error| told(&error))?
            }
            "present" => {
                let mode = serde_json::from_value(operation["mode"].clone()).unwrap();
                let presented = self.tools.get().unwrap().present(&self.context_of(operation), mode);
                presented.map_err(|error| told(&error))?
            }
            "abort_call" => {
                self.caller(operation["of"].as_str().unwrap()).cancel();
                return Ok(());
            }
            "cancel" => {
                self.running.lock()[operation["agent"].as_str().unwrap()].cancel();
                return Ok(());
            }
            "listen" => self.listen(operation),
            "guard" => self.guard(operation),
            "dispose" => {
                let effect = self.effects.lock()[operation["of"].as_str().unwrap()].clone();
                effect.cancel();
                return Ok(());
            }
            "abort_own" => {
                let who = format!("execute {}", operation["of"].as_str().unwrap());
                self.own.lock()[&who].cancel();
                return Ok(());
            }
            other => panic!("{}: operation {other} is not supported", self.name),
        };
        self.effects.lock().insert(name.unwrap().to_owned(), effect);
        Ok(())
    }

    fn listen(self: &Arc<Self>, operation: &Value) -> Effect {
        let (ctx, station) = (self.context_of(operation), operation["station"].as_str().unwrap());
        let prepend = operation["prepend"] == true;
        let place = Place::new(
            self,
            format!("{station} {}", operation["name"].as_str().unwrap()),
            operation,
            json!([{ "next": true }]),
        );
        macro_rules! listen {
            ($key:expr) => {{
                let listener = acts::around(move |args, next| {
                    let place = place.clone();
                    Box::pin(async move { acts::listener(place, args, next).await })
                });
                let on = ctx.on($key);
                if prepend { on.prepend().run_boxed(listener) } else { on.run_boxed(listener) }.unwrap()
            }};
        }
        match station {
            "pre-execute" => listen!(PRE_EXECUTE),
            "execute" => listen!(EXECUTE),
            "post-execute" => listen!(POST_EXECUTE),
            "code-dispatch-log" => listen!(CODE_DISPATCH_LOG),
            "result" => {
                let who = format!("observer {}", operation["name"].as_str().unwrap());
                let place = place.named(who);
                let observe = move |settled: &Settled| {
                    place.note(settled.call().id(), &acts::kind_of(settled.outcome()));
                    acts::at_once(&place, Some(settled.call()));
                };
                let on = ctx.on(RESULT);
                if prepend { on.prepend().run(observe) } else { on.run(observe) }.unwrap()
            }
            "change" => {
                let place = place.named(format!("change {}", operation["name"].as_str().unwrap()));
                let hear = move |_: &dsh_tools::ToolsChange| {
                    place.called();
                    acts::projected(&place).map(|_| ())
                };
                let on = ctx.on(CHANGE);
                if prepend { on.prepend().run(hear) } else { on.run(hear) }.unwrap()
            }
            other => panic!("{}: no such station: {other}", self.name),
        }
    }

    fn guard(self: &Arc<Self>, operation: &Value) -> Effect {
        let place =
            Place::new(self, format!("guard {}", operation["name"].as_str().unwrap()), operation, json!([]));
        let guard = move |call: &ToolCall| {
            let reason = acts::at_once(&place, Some(call)).map(|reason| reason.as_str().unwrap().to_owned());
            place.note(call.id(), if reason.is_some() { "deny" } else { "pass" });
            reason
        };
        self.tools.get().unwrap().guard(&self.context_of(operation), guard).unwrap()
    }

    /// Executes a call; `outer` is the run whose body makes it.
    pub(crate) fn call<'a>(
        self: &'a Arc<Self>,
        form: &'a Value,
        outer: Option<&'a ToolRun>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let id = match (form["id"].as_str(), outer) {
                (Some(id), _) => id.to_owned(),
                (None, Some(outer)) => format!("{}/{}", outer.call_id(), form["id_suffix"].as_str().unwrap()),
                (None, None) => panic!("{}: a call without an id", self.name),
            };
            let caller = outer.and_then(|outer| self.callers.lock().get(outer.call_id()).cloned());
            // Calls that a program or a model made have no caller of the script's.
            let caller = caller.unwrap_or_default();
            self.callers.lock().insert(id.clone(), caller.clone());
            if form["aborted"] == true {
                caller.cancel();
            }
            let signal = outer.map_or(&caller, ToolRun::cancellation);
            let arguments = form.get("arguments").map_or_else(|| json!({}), decoded);
            let arguments = GivenArguments::from(arguments);
            let mut request =
                CallRequest::new(id.clone(), form["tool"].as_str().unwrap(), arguments).cancellation(signal);
            let agent = form["agent"].as_str().map(|agent| self.agents.lock()[agent].clone());
            if let Some(agent) = agent.as_ref().or_else(|| outer.and_then(ToolRun::agent)) {
                request = request.agent(agent);
            }
            let tools = self.tools.get().unwrap();
            let outcome = match outer {
                None => tools.execute(&self.app, request).await,
                Some(outer) => tools.execute_nested(&self.app, outer, request).await,
            };
            self.results.lock().insert(id.clone(), traced(&outcome));
            self.outcomes.lock().insert(id, outcome);
        })
    }
}

/// An error as who made an operation is told of it: what is wrong with a schema, or all there is to say.
pub(crate) fn told(error: &(dyn std::error::Error + 'static)) -> Value {
    let causes: Vec<_> = std::iter::successors(Some(error), |error| error.source()).collect();
    match causes.iter().find_map(|cause| cause.downcast_ref::<SchemaError>()) {
        Some(schema) => json!({ "message": schema.to_string(), "code": SchemaError::CODE }),
        None => json!({ "message": causes.iter().map(ToString::to_string).collect::<Vec<_>>().join(": ") }),
    }
}

/// What of an outcome is in a trace.
fn traced(outcome: &ToolOutcome) -> Value {
    let mut trace = json!({ "isError": outcome.is_error(), "content": outcome.content() });
    if let Some(value) = outcome.value() {
        trace["value"] = value.clone();
    }
    if let Some(failure) = outcome.as_failure() {
        trace["error"] = json!({ "message": failure.message() });
        if let Some(info) = failure.info() {
            trace["error"]["name"] = json!(info.name);
            trace["error"]["code"] = json!(info.code);
        }
    }
    if let Some(meta) = outcome.meta() {
        trace["meta"] = meta.clone();
    }
    if !outcome.additional_contexts().is_empty() {
        trace["contexts"] = outcome.additional_contexts().iter().map(said).collect();
    }
    if outcome.concludes_turn() {
        trace["concludesTurn"] = json!(true);
    }
    trace
}

/// The text of a message, with a name for what is none.
fn said(message: &Message) -> String {
    let block = |block: &ContentBlock| {
        let form = serde_json::to_value(block).unwrap();
        form["text"].as_str().map_or_else(|| format!("[{}]", form["type"].as_str().unwrap()), str::to_owned)
    };
    message.content.iter().map(block).collect()
}
