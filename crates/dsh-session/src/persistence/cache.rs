//! Sessions that were read lately, as long as nobody has written to them since.

use std::collections::VecDeque;

use super::StoredSession;

pub(super) struct Cache {
    size: usize,
    /// The one that was used last is at the end.
    known: VecDeque<Known>,
}

struct Known {
    id: String,
    revision: String,
    session: StoredSession,
}

impl Cache {
    pub(super) fn new(size: usize) -> Self {
        Self { size, known: VecDeque::new() }
    }

    pub(super) fn get(&mut self, id: &str, revision: &str) -> Option<StoredSession> {
        let known = self.take(id).filter(|known| known.revision == revision)?;
        let session = known.session.clone();
        self.known.push_back(known);
        Some(session)
    }

    pub(super) fn put(&mut self, id: &str, revision: String, session: StoredSession) {
        self.forget(id);
        self.known.push_back(Known { id: id.to_owned(), revision, session });
        while self.known.len() > self.size {
            self.known.pop_front();
        }
    }

    pub(super) fn forget(&mut self, id: &str) {
        drop(self.take(id));
    }

    fn take(&mut self, id: &str) -> Option<Known> {
        let at = self.known.iter().position(|known| known.id == id)?;
        self.known.remove(at)
    }
}
