//! Claiming a log for a session of a store: what is stored must be its beginning.

use std::sync::{Arc, Weak};

use super::PersistError;
use crate::event::Event;
use crate::events::Events;
use crate::header::SessionHeader;
use crate::json::same_json;
use crate::session::Session;
use crate::storage::{Opened, Storage, StorageError, Stored, Writer};

/// A log that was claimed.
pub(super) struct Log {
    pub(super) writer: Box<dyn Writer>,
    /// The number of the event to be written next.
    pub(super) next: u64,
    /// The session whose beginning the log is known to be, if it is one of a store.
    pub(super) of: Option<Weak<Session>>,
}

impl Log {
    pub(super) fn is_of(&self, session: &Arc<Session>) -> bool {
        self.of.as_ref().is_some_and(|of| std::ptr::eq(of.as_ptr(), Arc::as_ptr(session)))
    }
}

/// As [`claim`], where a name was reserved: for the same folder only, and with the header that was reserved.
pub(super) fn claim_name(
    storage: &dyn Storage,
    header: &SessionHeader,
    session: &Arc<Session>,
    events: &Events,
    until: u64,
) -> Result<Log, PersistError> {
    if header.cwd != session.header().cwd {
        return Err(elsewhere(session));
    }
    claim(storage, header, session, events, until)
}

/// Claims the log of a session; makes it, with all events, if there is none.
pub(super) fn claim(
    storage: &dyn Storage,
    header: &SessionHeader,
    session: &Arc<Session>,
    events: &Events,
    until: u64,
) -> Result<Log, PersistError> {
    let of = Some(Arc::downgrade(session));
    match storage.open(session.id())? {
        Some(opened) => {
            let (writer, next) = adopt(opened, session, events, until)?;
            Ok(Log { writer, next, of })
        }
        None => Ok(Log { writer: storage.create(header, &between(events, 0, until))?, next: until, of }),
    }
}

/// Takes over a log that the session continues. What is damaged at its end is cut; an open turn stays open, as the session
/// goes on with it.
fn adopt(
    opened: Opened,
    session: &Arc<Session>,
    live: &Events,
    until: u64,
) -> Result<(Box<dyn Writer>, u64), PersistError> {
    let Opened { stored, mut writer } = opened;
    let stored = checked(session.id(), stored)?;
    let collision = |what: String| PersistError::Collision { id: session.id().to_owned(), what };
    if stored.header.cwd != session.header().cwd {
        return Err(elsewhere(session));
    }
    let next = stored.events.len() as u64;
    if next > until {
        return Err(collision(format!("it has {next} events, the live one {until}")));
    }
    let differs = stored.events.iter().zip(live.iter()).find(|(stored, live)| !same_event(stored, live));
    if let Some((event, _)) = differs {
        return Err(collision(format!("they differ at seq {}", event.seq())));
    }
    if stored.torn.is_some() {
        writer.repair(&[])?;
    }
    Ok((writer, next))
}

fn elsewhere(session: &Session) -> PersistError {
    PersistError::Collision { id: session.id().to_owned(), what: "it works in another folder".to_owned() }
}

/// The events from one number up to another one.
pub(super) fn between(events: &Events, from: u64, until: u64) -> Vec<Arc<Event>> {
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    events.from(index(from)).take(index(until.saturating_sub(from))).collect()
}

/// Whether two events say the same, however they are written.
fn same_event(one: &Event, two: &Event) -> bool {
    let data = |event: &Event| serde_json::from_str::<serde_json::Value>(event.data().get());
    (one.seq(), one.time_ms(), one.kind(), one.surface())
        == (two.seq(), two.time_ms(), two.kind(), two.surface())
        && (one.sources(), one.is_ignorable()) == (two.sources(), two.is_ignorable())
        && (one.data() == two.data()
            || matches!((data(one), data(two)), (Ok(one), Ok(two)) if same_json(&one, &two)))
}

/// Refuses the answer of a storage for another session than was asked for.
pub(super) fn checked(id: &str, stored: Stored) -> Result<Stored, StorageError> {
    let found = &stored.header.id;
    if found == id {
        return Ok(stored);
    }
    let what = format!("its header names another session, `{found}`");
    Err(StorageError::Corrupt { id: id.to_owned(), what })
}
