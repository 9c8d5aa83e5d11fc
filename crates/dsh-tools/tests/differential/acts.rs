//! The steps of behaviours: what a body, a listener, a guard or a projection does when it is reached.

use std::sync::Arc;

use cordis::{BoxFuture, Next};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_tools::{
    CodeDispatchLog, ErrorInfo, Failure, PostDecision, PreDecision, Replacement, Settled, ToolCall,
    ToolError, ToolOutcome, ToolRun,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::script::{decoded, list};

/// Where a behaviour is performed.
#[derive(Clone)]
pub(crate) struct Place {
    host: Arc<Host>,
    who: String,
    steps: Arc<Vec<Value>>,
}

impl Place {
    /// The behaviour of `form.steps`, or what there is without them.
    pub(crate) fn new(host: &Arc<Host>, who: String, form: &Value, otherwise: Value) -> Self {
        let steps = form.get("steps").filter(|steps| steps.is_array()).cloned().unwrap_or(otherwise);
        Self { host: Arc::clone(host), who, steps: Arc::new(list(&steps).to_vec()) }
    }

    pub(crate) fn named(self, who: String) -> Self {
        // An observer has nothing to do where the script says nothing.
        Self { who, ..self }
    }

    pub(crate) fn note(&self, id: &str, what: &str) {
        self.host.note(format!("{id} {} {what}", self.who));
    }

    /// For listeners that hear of no call.
    pub(crate) fn called(&self) {
        self.host.note(format!("{} called", self.who));
    }

    /// For places that do not know for which call they are reached.
    pub(crate) fn plain(&self) {
        self.host.note(self.who.clone());
    }
}

/// Names a listener's signature, so that the compiler sees its lifetimes.
pub(crate) fn around<A: 'static, R: 'static, F>(listener: F) -> F
where
    F: for<'a> Fn(&'a mut A, Next<'a, A, R>) -> BoxFuture<'a, R> + Send + Sync + 'static,
{
    listener
}

pub(crate) fn kind_of(outcome: &ToolOutcome) -> String {
    match (outcome.is_error(), outcome.code()) {
        (false, _) => "success".to_owned(),
        (true, None) => "failure".to_owned(),
        (true, Some(code)) => format!("failure {code}"),
    }
}

/// What a listener is given.
pub(crate) trait Given: Send + 'static {
    fn call(&self) -> &ToolCall;
    /// The call that it is about, and the tool.
    fn about(&self) -> (&str, &str) {
        (self.call().id(), self.call().name())
    }
    fn enter(&self) -> String {
        "enter".to_owned()
    }
    /// Puts the call with a signal of its own in its place.
    fn replace(&mut self) -> (CancellationToken, ToolCall);
    fn restore(&mut self, call: ToolCall);
}

impl Given for ToolCall {
    fn call(&self) -> &ToolCall {
        self
    }

    fn replace(&mut self) -> (CancellationToken, ToolCall) {
        let (limited, own) = self.limited();
        (own, std::mem::replace(self, limited))
    }

    fn restore(&mut self, call: ToolCall) {
        *self = call;
    }
}

impl Given for Settled {
    fn call(&self) -> &ToolCall {
        Settled::call(self)
    }

    fn enter(&self) -> String {
        format!("enter {}", kind_of(self.outcome()))
    }

    fn replace(&mut self) -> (CancellationToken, ToolCall) {
        panic!("the call is over")
    }

    fn restore(&mut self, _: ToolCall) {}
}

impl Given for CodeDispatchLog {
    fn call(&self) -> &ToolCall {
        CodeDispatchLog::call(self)
    }

    fn about(&self) -> (&str, &str) {
        (self.sub_call_id(), self.name())
    }

    fn replace(&mut self) -> (CancellationToken, ToolCall) {
        panic!("the call is over")
    }

    fn restore(&mut self, _: ToolCall) {}
}

/// What a listener gives.
pub(crate) trait Gives: Clone + Send + 'static {
    fn kind(&self) -> String;
    fn authored(form: &Value) -> Self;
    fn kept(_: ToolOutcome) -> Self {
        panic!("only wrappers give an outcome that they kept")
    }
}

fn message(text: &Value) -> Message {
    let source = Source::Plugin { plugin: "script".to_owned(), form: None, sections: None, summary: None };
    Message::new(Role::User, vec![ContentBlock::text(text.as_str().unwrap())], source)
}

fn blocks(form: &Value) -> Vec<ContentBlock> {
    serde_json::from_value(decoded(form)).unwrap()
}

impl Gives for PreDecision {
    fn kind(&self) -> String {
        let kind = match self {
            Self::Allow => "allow",
            Self::Deny { .. } => "deny",
            Self::Ask { .. } => "ask",
            Self::Replace { .. } => "replace",
        };
        kind.to_owned()
    }

    fn authored(form: &Value) -> Self {
        let reason = form["reason"].as_str().map(str::to_owned);
        match form["kind"].as_str().unwrap() {
            "allow" => Self::Allow,
            "deny" => Self::Deny { reason: reason.unwrap() },
            "ask" => Self::Ask { reason },
            other => panic!("no such decision: {other}"),
        }
    }
}

impl Gives for PostDecision {
    fn kind(&self) -> String {
        let kind = match self {
            Self::Accept { .. } => "accept",
            Self::Block { .. } => "block",
        };
        kind.to_owned()
    }

    fn authored(form: &Value) -> Self {
        let contexts = list(&form["contexts"]).iter().map(message).collect();
        let content = form.get("content").map(|content| Replacement::Content(blocks(content)));
        let value = form.get("value").map(|value| Replacement::Value(decoded(value)));
        match form["kind"].as_str().unwrap() {
            "accept" => Self::Accept { replace: content.or(value), contexts },
            "block" => Self::Block { feedback: blocks(&form["feedback"]), contexts },
            other => panic!("no such decision: {other}"),
        }
    }
}

impl Gives for Vec<ContentBlock> {
    fn kind(&self) -> String {
        "content".to_owned()
    }

    fn authored(form: &Value) -> Self {
        blocks(form)
    }
}

impl Gives for ToolOutcome {
    fn kind(&self) -> String {
        kind_of(self)
    }

    fn authored(form: &Value) -> Self {
        let mut outcome = match form["isError"] == true {
            false => Self::success(decoded(&form["value"])),
            true => Self::failure(failure(&form["error"])),
        };
        outcome = outcome.with_content(blocks(&form["content"]));
        if let Some(meta) = form.get("meta") {
            outcome = outcome.with_meta(decoded(meta));
        }
        list(&form["contexts"]).iter().map(message).fold(outcome, Self::with_context)
    }

    fn kept(outcome: ToolOutcome) -> Self {
        outcome
    }
}

fn failure(form: &Value) -> Failure {
    let failure = Failure::new(form["message"].as_str().unwrap());
    let Some(code) = form["code"].as_str() else { return failure };
    let name = form["name"].as_str().unwrap_or("HarnessError").to_owned();
    failure.coded(ErrorInfo { name: name.into(), code: code.to_owned().into() })
}

/// The one key of a step, and what is under it.
fn step(form: &Value) -> (&str, &Value) {
    let (key, argument) = form.as_object().and_then(|form| form.iter().next()).unwrap();
    (key, argument)
}

fn operations(argument: &Value) -> Vec<&Value> {
    argument.as_array().map_or_else(|| vec![argument], |list| list.iter().collect())
}

/// Steps that all places have. False for one that is another's.
async fn common(place: &Place, call: &ToolCall, key: &str, argument: &Value) -> bool {
    match key {
        "sleep_ms" => tokio::time::sleep(std::time::Duration::from_millis(argument.as_u64().unwrap())).await,
        "yield" => {
            for _ in 0..argument.as_u64().unwrap() {
                tokio::task::yield_now().await;
            }
        }
        "wait" => call.cancellation().cancelled().await,
        "do" => {
            for operation in operations(argument) {
                let failed = place.host.perform(operation).await.err();
                assert_eq!(failed, None, "{operation}");
            }
        }
        _ => return simple(place, call, key, argument),
    }
    true
}

fn simple(place: &Place, call: &ToolCall, key: &str, argument: &Value) -> bool {
    match key {
        "note" => place.note(call.id(), &format!("note {}", argument.as_str().unwrap())),
        "abort" => place.host.caller(call.id()).cancel(),
        "log_signal" => {
            place.note(call.id(), if call.is_cancelled() { "signal aborted" } else { "signal live" });
        }
        _ => return false,
    }
    true
}

fn thrown(argument: &Value) -> Failure {
    match argument.get("harness") {
        Some(form) => failure(form),
        None => Failure::new(argument["error"].as_str().unwrap()),
    }
}

/// A listener with a rest.
pub(crate) async fn listener<A: Given, R: Gives>(place: Place, args: &mut A, next: Next<'_, A, R>) -> R {
    let id = args.about().0.to_owned();
    place.note(&id, &args.enter());
    let left = Left { place: &place, id: &id };
    let out = match steps(&place, args, next).await {
        Ok(out) => out,
        Err(text) => panic!("{text}"),
    };
    std::mem::forget(left);
    place.note(&id, &format!("leave {}", out.kind()));
    out
}

/// Notes a panic that unwinds through a listener.
struct Left<'p> {
    place: &'p Place,
    id: &'p str,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.place.note(self.id, "leave throw");
        }
    }
}

async fn steps<A: Given, R: Gives>(place: &Place, args: &mut A, next: Next<'_, A, R>) -> Result<R, String> {
    let id = args.about().0.to_owned();
    let (mut seen, mut earlier, mut own) = (None, None, None::<CancellationToken>);
    for form in place.steps.iter() {
        let (key, argument) = step(form);
        match key {
            "next" => {
                let out = next.clone().run(args).await;
                place.note(&id, &format!("saw {}", out.kind()));
                seen = Some(out);
            }
            "only" if args.about().1 != argument.as_str().unwrap() => {
                return Ok(match seen {
                    Some(seen) => seen,
                    None => next.run(args).await,
                });
            }
            "only" => {}
            "decide" | "result" | "content" => return Ok(R::authored(argument)),
            "cached" => {
                let kept = place.host.outcomes.lock()[argument.as_str().unwrap()].clone();
                return Ok(R::kept(kept));
            }
            "replace_signal" => {
                let (token, before) = args.replace();
                if argument == "aborted" {
                    token.cancel();
                }
                place.host.own.lock().insert(place.who.clone(), token.clone());
                earlier = earlier.or(Some(before));
                own = Some(token);
            }
            "restore_signal" => args.restore(earlier.take().unwrap()),
            "abort_own_signal" => own.as_ref().unwrap().cancel(),
            "throw" => return Err(thrown(argument).message().to_owned()),
            _ => assert!(common(place, args.call(), key, argument).await, "no such step: {form}"),
        }
    }
    Ok(seen.expect("a listener gives something"))
}

/// A place that must answer at once: what its last step gives.
pub(crate) fn at_once(place: &Place, call: Option<&ToolCall>) -> Option<Value> {
    for form in place.steps.iter() {
        let (key, argument) = step(form);
        match (key, call) {
            ("deny" | "content" | "return", _) => return Some(decoded(argument)),
            ("only", Some(call)) if call.name() != argument.as_str().unwrap() => return None,
            ("only", _) => {}
            ("throw", Some(call)) => {
                if place.who.starts_with("guard") {
                    place.note(call.id(), "throw");
                }
                panic!("{}", thrown(argument).message())
            }
            ("do", _) => {
                for operation in operations(argument) {
                    place.host.perform_now(operation).unwrap();
                }
            }
            (_, Some(call)) => assert!(simple(place, call, key, argument), "no such step: {form}"),
            (_, None) => panic!("no such step: {form}"),
        }
    }
    None
}

/// A projection of a value.
pub(crate) fn projected(place: &Place) -> Result<Option<Value>, cordis::BoxError> {
    for form in place.steps.iter() {
        if let ("throw", argument) = step(form) {
            return Err(thrown(argument).message().to_owned().into());
        }
    }
    Ok(at_once(place, None))
}

/// A body.
pub(crate) async fn body(place: Place, arguments: Arc<Value>, run: ToolRun) -> Result<Value, ToolError> {
    place.note(run.call_id(), "enter");
    let given = body_steps(&place, &arguments, &run).await;
    place.note(run.call_id(), if given.is_ok() { "leave return" } else { "leave throw" });
    given
}

async fn body_steps(place: &Place, arguments: &Value, run: &ToolRun) -> Result<Value, ToolError> {
    for form in place.steps.iter() {
        let (key, argument) = step(form);
        match key {
            "return" => return Ok(decoded(argument)),
            "return_argument" => return Ok(arguments[argument.as_str().unwrap()].clone()),
            "defer" => run.defer_context(message(argument)),
            "conclude" => run.conclude_turn(),
            "call" => place.host.call(argument, Some(run)).await,
            "log_arguments" => place.note(run.call_id(), &format!("arguments {arguments}")),
            "throw" => {
                let failure = thrown(argument);
                let error = ToolError::new(failure.message());
                return Err(match failure.info() {
                    Some(info) => error.coded(info.clone()),
                    None => error,
                });
            }
            "note" => place.note(run.call_id(), &format!("note {}", argument.as_str().unwrap())),
            "abort" => place.host.caller(run.call_id()).cancel(),
            "log_signal" => {
                place.note(run.call_id(), if run.is_cancelled() { "signal aborted" } else { "signal live" });
            }
            "wait" => run.cancellation().cancelled().await,
            "yield" => {
                for _ in 0..argument.as_u64().unwrap() {
                    tokio::task::yield_now().await;
                }
            }
            "do" => {
                for operation in operations(argument) {
                    place.host.perform(operation).await.unwrap();
                }
            }
            _ => panic!("no such step: {form}"),
        }
    }
    Ok(json!(null))
}
