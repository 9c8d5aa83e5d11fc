//! Whatever listeners do and in whatever order they come: a denied call never runs its body, and each call is told once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::{BoxFuture, Context, Next, Scope};
use dsh_tools::{
    BlockingThreads, CallRequest, Config, EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision,
    Settled, ToolCall, ToolDefinition, ToolOutcome,
};
use dsh_tools_invariants::{Subject, Violation};
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::blocking::until;
use crate::fixture::{Fixture, around, request, tool};

/// Where something is registered.
#[derive(Clone, Copy, Debug)]
enum Place {
    Global,
    Ancestor,
    Own,
    Other,
}

#[derive(Clone, Copy, Debug)]
enum Station {
    Pre,
    Execute,
    Post,
}

/// What a listener does, as far as its station has it.
#[derive(Clone, Copy, Debug)]
enum Act {
    Next,
    NextTwice,
    NextTwiceAtOnce,
    ShortCircuit,
    Replace,
    PanicFirst,
    PanicLater,
    Limited,
    LimitedAndOver,
    SwapsTheCall,
    DropsTheRest,
    /// Only of policies.
    Deny,
    Ask,
    CancelsTheCaller,
}

/// What a guard comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passes,
    Denies,
    Panics,
}

/// How the target is called, and how its body runs.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Its body has a thread to itself.
    blocks: bool,
    /// The body of another tool calls it.
    nested: bool,
}

#[derive(Clone, Debug)]
enum Entry {
    Listener {
        station: Station,
        act: Act,
        place: Place,
        prepend: bool,
    },
    Guard {
        place: Place,
        verdict: Verdict,
    },
    /// A wrapper that registers a guard that denies, and goes on.
    LateGuard {
        place: Place,
    },
}

fn place() -> impl Strategy<Value = Place> {
    prop::sample::select(vec![Place::Global, Place::Ancestor, Place::Own, Place::Other])
}

fn entry() -> impl Strategy<Value = Entry> {
    use Act::*;
    let station = prop::sample::select(vec![Station::Pre, Station::Execute, Station::Post]);
    let act = prop::sample::select(vec![
        Next,
        NextTwice,
        NextTwiceAtOnce,
        ShortCircuit,
        Replace,
        PanicFirst,
        PanicLater,
        Limited,
        LimitedAndOver,
        SwapsTheCall,
        DropsTheRest,
        Deny,
        Ask,
        CancelsTheCaller,
    ]);
    let listener = (station, act, place(), any::<bool>())
        .prop_map(|(station, act, place, prepend)| Entry::Listener { station, act, place, prepend });
    let verdict = prop::sample::select(vec![Verdict::Passes, Verdict::Denies, Verdict::Panics]);
    let guard = (place(), verdict).prop_map(|(place, verdict)| Entry::Guard { place, verdict });
    prop_oneof![6 => listener, 3 => guard, 1 => place().prop_map(|place| Entry::LateGuard { place })]
}

/// What a run has seen.
#[derive(Clone, Default)]
struct Seen {
    bodies: Arc<AtomicUsize>,
    /// A guard that this call must heed has given a reason: from then on no body may begin.
    denied: Arc<Mutex<bool>>,
    bodies_when_denied: Arc<Mutex<Option<usize>>>,
    spare: Arc<Mutex<Option<ToolCall>>>,
}

impl Seen {
    fn deny(&self) -> Option<String> {
        *self.denied.lock() = true;
        self.bodies_when_denied.lock().get_or_insert(self.bodies.load(Ordering::SeqCst));
        Some("guarded".to_owned())
    }
}

struct Scopes {
    ancestor: Scope,
    own: Scope,
    other: Scope,
}

impl Scopes {
    fn context<'a>(&'a self, fixture: &'a Fixture, place: Place) -> &'a Context {
        match place {
            Place::Global => &fixture.app,
            Place::Ancestor => self.ancestor.context(),
            Place::Own => self.own.context(),
            Place::Other => self.other.context(),
        }
    }
}

/// What a listener is given.
trait Given: Send + 'static {
    fn limited(&self) -> Option<(ToolCall, CancellationToken)>;
    fn put(&mut self, call: ToolCall);
    /// Whether it is about the call whose body calls the target.
    fn is_of_outer(&self) -> bool;
}

impl Given for ToolCall {
    fn limited(&self) -> Option<(ToolCall, CancellationToken)> {
        Some(ToolCall::limited(self))
    }
    fn put(&mut self, call: ToolCall) {
        *self = call;
    }
    fn is_of_outer(&self) -> bool {
        self.name() == "outer"
    }
}

impl Given for Settled {
    fn limited(&self) -> Option<(ToolCall, CancellationToken)> {
        None
    }
    fn put(&mut self, _: ToolCall) {}
    fn is_of_outer(&self) -> bool {
        self.call().name() == "outer"
    }
}

/// One listener of any station: `own` is what it gives when it does not ask the rest.
fn acting<'a, A: Given + Twice, R: Send + 'static>(
    act: Act,
    args: &'a mut A,
    next: Next<'a, A, R>,
    own: Box<dyn Fn() -> R + Send + Sync>,
    seen: Seen,
    caller: CancellationToken,
) -> BoxFuture<'a, R> {
    Box::pin(async move {
        tokio::task::yield_now().await;
        // What becomes of the outer call is tested where it is the target.
        match if args.is_of_outer() { Act::Next } else { act } {
            Act::Next => next.run(args).await,
            Act::NextTwice => {
                let _ = next.clone().run(args).await;
                next.run(args).await
            }
            Act::NextTwiceAtOnce => match args.twice() {
                None => next.run(args).await,
                Some((mut one, mut two)) => {
                    let (_, second) = tokio::join!(next.clone().run(&mut one), next.run(&mut two));
                    second
                }
            },
            Act::ShortCircuit | Act::Deny | Act::Ask => own(),
            Act::Replace => {
                let _ = next.run(args).await;
                own()
            }
            Act::PanicFirst => panic!("a listener burst"),
            Act::PanicLater => {
                let _ = next.run(args).await;
                panic!("a listener burst")
            }
            Act::Limited | Act::LimitedAndOver => {
                if let Some((limited, limit)) = args.limited() {
                    if matches!(act, Act::LimitedAndOver) {
                        limit.cancel();
                    }
                    args.put(limited);
                }
                next.run(args).await
            }
            Act::SwapsTheCall => {
                let spare = seen.spare.lock().take();
                if let Some(spare) = spare {
                    args.put(spare);
                }
                next.run(args).await
            }
            Act::DropsTheRest => {
                {
                    let mut rest = std::pin::pin!(next.run(args));
                    let once = std::future::poll_fn(|cx| {
                        let _ = rest.as_mut().poll(cx);
                        std::task::Poll::Ready(())
                    });
                    once.await;
                }
                own()
            }
            Act::CancelsTheCaller => {
                caller.cancel();
                next.run(args).await
            }
        }
    })
}

/// Two views of one call, where the station has them.
trait Twice: Sized {
    fn twice(&self) -> Option<(Self, Self)>;
}

impl Twice for ToolCall {
    fn twice(&self) -> Option<(Self, Self)> {
        Some((self.limited().0, self.limited().0))
    }
}

impl Twice for Settled {
    fn twice(&self) -> Option<(Self, Self)> {
        None
    }
}

fn register(fixture: &Fixture, scopes: &Scopes, entry: &Entry, seen: &Seen, caller: &CancellationToken) {
    let tools = fixture.tools.get().unwrap();
    match entry.clone() {
        Entry::Guard { place, verdict } => {
            let seen = seen.clone();
            let heeded = !matches!(place, Place::Other);
            let guard = move |call: &ToolCall| {
                if call.name() != "target" || verdict == Verdict::Passes {
                    return None;
                }
                let reason = if heeded { seen.deny() } else { Some("of another agent".to_owned()) };
                match verdict {
                    Verdict::Panics => panic!("a guard burst"),
                    Verdict::Passes | Verdict::Denies => reason,
                }
            };
            tools.guard(scopes.context(fixture, place), guard).unwrap();
        }
        Entry::LateGuard { place } => {
            let (seen, tools) = (seen.clone(), fixture.tools.clone());
            let ctx = scopes.context(fixture, place).clone();
            let heeded = !matches!(place, Place::Other);
            let late = around::<ToolCall, ToolOutcome, _>(move |call, next| {
                let (seen, of_late) = (seen.clone(), seen.clone());
                let guard = move |call: &ToolCall| match (call.name() == "target", heeded) {
                    (true, true) => seen.deny(),
                    (true, false) => Some("of another agent".to_owned()),
                    (false, _) => None,
                };
                tools.get().unwrap().guard(&ctx, guard).unwrap();
                if heeded {
                    // Whether it is asked or not: from now on no body may begin.
                    of_late.deny();
                }
                Box::pin(next.run(call))
            });
            fixture.app.on(EXECUTE).run_boxed(late).unwrap();
        }
        Entry::Listener { station, act, place, prepend } => {
            let ctx = scopes.context(fixture, place);
            let (seen, caller) = (seen.clone(), caller.clone());
            macro_rules! listen {
                ($key:expr, $args:ty, $out:ty, $own:expr) => {{
                    let listener = around::<$args, $out, _>(move |args, next| {
                        acting(act, args, next, Box::new($own), seen.clone(), caller.clone())
                    });
                    let on = ctx.on($key);
                    if prepend { on.prepend().run_boxed(listener) } else { on.run_boxed(listener) }.unwrap();
                }};
            }
            match station {
                Station::Pre => listen!(PRE_EXECUTE, ToolCall, PreDecision, move || match act {
                    Act::Deny => PreDecision::Deny { reason: "policy".to_owned() },
                    Act::Ask => PreDecision::Ask { reason: None },
                    _ => PreDecision::Allow,
                }),
                Station::Execute => {
                    listen!(EXECUTE, ToolCall, ToolOutcome, || ToolOutcome::success("authored"))
                }
                Station::Post => listen!(POST_EXECUTE, Settled, PostDecision, move || match act {
                    Act::Deny => PostDecision::block("blocked"),
                    Act::Ask => PostDecision::replace_value("replaced"),
                    _ => PostDecision::replace_text("fine"),
                }),
            }
        }
    }
}

async fn run(kind: Kind, entries: Vec<Entry>) -> Result<(), TestCaseError> {
    // Bodies that block take what time they take; none is let go for it.
    let fixture = Fixture::configured(Config { body_grace_ms: 600_000, ..Config::default() }).await;
    let ancestor = fixture.app.scope().unwrap();
    let (own, other) = (fixture.app.scope_under(&ancestor).unwrap(), fixture.app.scope().unwrap());
    let scopes = Scopes { ancestor, own, other };
    let seen = Seen::default();
    let bodies = Arc::clone(&seen.bodies);
    let body = move || {
        bodies.fetch_add(1, Ordering::SeqCst);
        Ok(json!("ran"))
    };
    fixture.register(match kind.blocks {
        false => tool("target", move |_| std::future::ready(body())),
        true => ToolDefinition::raw("target", "Blocks.", json!({ "type": "object" }))
            .run_blocking(move |_, _| body()),
    });
    let inner: Arc<Mutex<Option<ToolOutcome>>> = Arc::default();
    let (keeps, ctx, tools) = (Arc::clone(&inner), (**fixture.app).clone(), fixture.tools.clone());
    fixture.register(tool("outer", move |run| {
        let (keeps, ctx, tools) = (Arc::clone(&keeps), ctx.clone(), tools.clone());
        async move {
            let outcome = tools.get()?.execute_nested(&ctx, &run, request("target")).await;
            *keeps.lock() = Some(outcome);
            Ok(json!(null))
        }
    }));
    fixture.register(tool("spare", async |_| Ok(json!("spare"))));
    // A call of another tool, which listeners may put in the place of their own.
    let keeper = Arc::clone(&seen.spare);
    let keep = fixture.guard(move |call| {
        *keeper.lock() = Some(call.limited().0);
        None
    });
    fixture.call_as(scopes.own.key(), "spare").await;
    keep.dispose().await;

    let caller = CancellationToken::new();
    let told = fixture.told();
    let decided: Arc<Mutex<Option<bool>>> = Arc::default();
    let sink = Arc::clone(&decided);
    for entry in &entries {
        register(&fixture, &scopes, entry, &seen, &caller);
    }
    // Outside of all others: what the policies decided together.
    let outermost = around::<ToolCall, PreDecision, _>(move |call, next| {
        let counts = !call.is_of_outer();
        let (rest, sink) = (next.run(call), Arc::clone(&sink));
        Box::pin(async move {
            let decision = rest.await;
            if counts {
                *sink.lock() = Some(matches!(decision, PreDecision::Allow));
            }
            decision
        })
    });
    fixture.app.on(PRE_EXECUTE).prepend().run_boxed(outermost).unwrap();

    for round in 0..2_u8 {
        let before = seen.bodies.load(Ordering::SeqCst);
        *seen.denied.lock() = false;
        *seen.bodies_when_denied.lock() = None;
        *decided.lock() = None;
        told.lock().clear();
        *inner.lock() = None;
        let name = if kind.nested { "outer" } else { "target" };
        let call = CallRequest::new(if kind.nested { "c0" } else { "c1" }, name, "{}");
        let outcome = fixture.execute(call.scope(scopes.own.key()).cancellation(&caller)).await;
        // A body that was begun for a call that nobody waits for any more counts for this round.
        let is_quiet = |it: BlockingThreads| it.waiting == 0 && it.idle == it.threads;
        until(|| is_quiet(fixture.tools.get().unwrap().blocking_threads())).await;
        // A listener that hands on the spare call shows it to the checker again; of the call itself no rule is broken.
        let broken = fixture.watched.take();
        let of_spare =
            |broken: &Violation| matches!(&broken.subject, Subject::Call { tool, .. } if tool == "spare");
        prop_assert!(broken.iter().all(of_spare), "{:?}", broken);
        let runs = seen.bodies.load(Ordering::SeqCst);
        let called = if kind.nested { inner.lock().take() } else { Some(outcome.clone()) };
        let of_target: Vec<_> = told.lock().iter().filter(|(id, _)| id == "c1").cloned().collect();
        let expected: Vec<_> = called.iter().map(|outcome| ("c1".to_owned(), outcome.clone())).collect();
        prop_assert_eq!(of_target, expected, "round {}", round);
        prop_assert!(called.is_some() || runs == before, "nobody called it");
        let outcome = called.unwrap_or(outcome);
        // Policies that did not allow, or that broke: nobody may run.
        if *decided.lock() != Some(true) {
            prop_assert_eq!(runs, before);
            prop_assert!(outcome.is_error());
        }
        // A guard that refuses a call refuses all of its bodies that have not begun.
        let when_denied = *seen.bodies_when_denied.lock();
        if let Some(when_denied) = when_denied {
            prop_assert_eq!(runs, when_denied);
        }
        let guarded = entries.iter().any(|entry| {
            matches!(
                entry,
                Entry::Guard {
                    place: Place::Global | Place::Ancestor | Place::Own,
                    verdict: Verdict::Denies | Verdict::Panics
                }
            )
        });
        if guarded {
            prop_assert_eq!(runs, before, "a guard that was there first");
            prop_assert!(outcome.is_error());
        }
    }
    Ok(())
}

// spec: design/P7, design/P4, tools/T59, tools/T74, tools/T75, tools/T82, cases/A4
#[test]
fn a_denied_call_never_runs_its_body_and_every_call_is_told_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(blocks in any::<bool>(), nested in any::<bool>(), entries in vec(entry(), 0..9))| {
        runtime.block_on(run(Kind { blocks, nested }, entries))?;
    });
}
