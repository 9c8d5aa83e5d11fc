//! Which public types may cross threads, and which futures are `Send`.

use dsh_session::*;
use std::{marker::PhantomData, sync::Arc};

/// What is known of a type. An inherent constant, which exists where the bound holds, hides that of a blanket trait.
struct Probe<T: ?Sized>(PhantomData<T>);

macro_rules! property {
    ($bound:ident, $name:ident, $absent:ident) => {
        #[allow(dead_code, reason = "unused while all probed types have the property")]
        trait $absent {
            const $name: bool = false;
        }
        impl<T: ?Sized> $absent for Probe<T> {}
        impl<T: ?Sized + $bound> Probe<T> {
            const $name: bool = true;
        }
    };
}

property!(Send, SEND, NotSend);
property!(Sync, SYNC, NotSync);
property!(Unpin, UNPIN, NotUnpin);

macro_rules! assert_all {
    ($expected:literal: $($type:ty),* $(,)?) => {
        let rows = [$((stringify!($type), {
            let held = [
                (Probe::<$type>::SEND, "Send"),
                (Probe::<$type>::SYNC, "Sync"),
                (Probe::<$type>::UNPIN, "Unpin"),
            ];
            held.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
        })),*];
        for (name, held) in rows {
            assert_eq!(held, $expected, "{name}");
        }
    };
}

/// Neither `Send` nor `Sync`.
type Local = std::rc::Rc<std::cell::Cell<u8>>;

#[test]
fn what_is_local_is_told_apart() {
    assert_all!("Unpin": Local, List<Local>);
}

#[test]
fn logs_and_what_they_are_made_of_go_anywhere() {
    assert_all!("Send Sync Unpin":
        Event, EventData, JsonText, List<Arc<Event>>, NewEvent, Seed, SessionHeader, Origin, SessionLog, TornTail,
        LoggedCall, Surface, SurfaceOp, Plan, Replacement, Row<'static>, PackedRun<'static>,
    );
}

#[test]
fn sessions_and_their_store_go_anywhere() {
    assert_all!("Send Sync Unpin":
        Session, SessionStore, CreateSession, SessionEvent, Appending, Arc<Session>,
    );
}

#[test]
fn payloads_go_anywhere() {
    assert_all!("Send Sync Unpin":
        TurnStart, TurnEnd, TurnEndReason, CancelCause, StepStart, StepEnd, AssistantChunk, AssistantMessage, ToolCall,
        ToolResult, ErrorInfo, TodoWrite, Todo, TodoStatus, RequestHeader, HeaderReason, EpochHeader,
        RequestContext, EndSeed, InboxSpliced, InboxTarget,
    );
}

#[test]
fn errors_go_anywhere() {
    assert_all!("Send Sync Unpin":
        AppendError, BadData, BadHeader, CreateError, FlushError, ForkError, NotLossless, Problem, ReadError, SeedError,
        StorageError, SurfaceError,
    );
}

#[test]
fn a_flush_may_be_awaited_on_any_thread() {
    fn send<T: Send>(_: impl FnOnce(&'static SessionStore, &'static Arc<Session>) -> T) {}
    send(|store, session| store.flush(session));
}
