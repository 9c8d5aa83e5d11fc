//! Which questions are open, who is attached, and how the last questions ended.
//!
//! **Invariants**
//! 1. A question is open or over, never both; what ends it takes it out of `open` under the lock.
//! 2. While nobody is attached, or the channel is closed, nothing is open.
//! 3. Answers are sent and programs are woken without the lock.

use std::collections::{BTreeMap, VecDeque};

use dsh_approval::ApprovalRequest;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error::AnswerError;
use crate::question::{Decision, Question, QuestionId};

/// How many questions that are over are remembered, so that a late answer is told what became of its question.
pub const REMEMBERED: usize = 1024;

/// How a question goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A program decided.
    Decided(Decision),
    /// Nobody is left who could: others are asked.
    Delegated,
}

/// What an asker waits on.
pub(crate) struct Asked {
    pub(crate) number: u64,
    pub(crate) reply: oneshot::Receiver<Reply>,
}

#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    attached: usize,
    closed: bool,
    /// The number of the last question.
    last: u64,
    /// By number, which is the order in which they were asked.
    open: BTreeMap<u64, Open>,
    /// The last ones, oldest first.
    over: VecDeque<(QuestionId, End)>,
}

struct Open {
    question: Question,
    cancellation: CancellationToken,
    reply: oneshot::Sender<Reply>,
}

#[derive(Clone, Copy)]
enum End {
    Resolved,
    Stale,
}

impl State {
    fn find(&self, id: &QuestionId) -> Option<(u64, &Open)> {
        self.open.iter().find(|(_, open)| open.question.id == *id).map(|(number, open)| (*number, open))
    }

    fn end(&mut self, number: u64, end: End) -> Option<oneshot::Sender<Reply>> {
        let Open { question, reply, .. } = self.open.remove(&number)?;
        if self.over.len() == REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back((question.id, end));
        Some(reply)
    }

    fn end_all(&mut self) -> Vec<oneshot::Sender<Reply>> {
        let numbers: Vec<u64> = self.open.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.end(number, End::Stale)).collect()
    }

    /// Remembers of a question that its answer was not heard.
    fn unheard(&mut self, id: &QuestionId) {
        if let Some((_, end)) = self.over.iter_mut().rev().find(|(over, _)| over == id) {
            *end = End::Stale;
        }
    }

    /// Why a question that is not open takes no answer.
    fn refusal(&self, id: &QuestionId) -> AnswerError {
        let id = id.clone();
        match self.over.iter().rev().find(|(over, _)| *over == id) {
            Some((_, End::Resolved)) => AnswerError::AlreadyResolved { id },
            Some((_, End::Stale)) => AnswerError::Stale { id },
            None => AnswerError::Unknown { id },
        }
    }
}

impl Shared {
    pub(crate) fn attach(&self) {
        self.state.lock().attached += 1;
    }

    pub(crate) fn detach(&self) {
        let left = {
            let mut state = self.state.lock();
            state.attached = state.attached.saturating_sub(1);
            if state.attached == 0 { state.end_all() } else { Vec::new() }
        };
        self.delegate(left);
    }

    pub(crate) fn close(&self) {
        let left = {
            let mut state = self.state.lock();
            state.closed = true;
            state.end_all()
        };
        self.delegate(left);
    }

    fn delegate(&self, left: Vec<oneshot::Sender<Reply>>) {
        for reply in left {
            // One that does not wait any more needs no answer.
            let _ = reply.send(Reply::Delegated);
        }
        self.changed.notify_waiters();
    }

    /// Opens a question; none if nobody could answer it.
    pub(crate) fn ask(&self, request: &ApprovalRequest) -> Option<Asked> {
        let (question, cancellation) = (Question::of(request), request.cancellation.clone());
        let (reply, receiver) = oneshot::channel();
        let number = {
            let mut state = self.state.lock();
            if state.attached == 0 || state.closed {
                return None;
            }
            state.last += 1;
            let number = state.last;
            state.open.insert(number, Open { question, cancellation, reply });
            number
        };
        self.changed.notify_waiters();
        Some(Asked { number, reply: receiver })
    }

    /// Ends a question that its asker gave up, if it is open.
    pub(crate) fn withdraw(&self, number: u64) {
        let reply = self.state.lock().end(number, End::Stale);
        if reply.is_some() {
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn answer(&self, id: &QuestionId, decision: Decision) -> Result<(), AnswerError> {
        let reply = {
            let mut state = self.state.lock();
            let number = match state.find(id) {
                Some((_, open)) if open.cancellation.is_cancelled() => {
                    return Err(AnswerError::Stale { id: id.clone() });
                }
                Some((number, _)) => number,
                None => return Err(state.refusal(id)),
            };
            state.end(number, End::Resolved)
        };
        let taken = reply.is_some_and(|reply| reply.send(Reply::Decided(decision)).is_ok());
        if !taken {
            // The asker went away in this very moment, so nobody's answer counts.
            self.state.lock().unheard(id);
        }
        self.changed.notify_waiters();
        if taken { Ok(()) } else { Err(AnswerError::Stale { id: id.clone() }) }
    }

    pub(crate) fn pending(&self) -> Vec<Question> {
        self.state.lock().open.values().map(|open| open.question.clone()).collect()
    }

    /// The first question after a number, as soon as there is one; none once the channel is closed.
    pub(crate) async fn after(&self, number: u64) -> Option<(u64, Question)> {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state.lock();
                let next = state.open.range(number.saturating_add(1)..).next();
                if let Some((number, open)) = next {
                    return Some((*number, open.question.clone()));
                }
                if state.closed {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Waits until a question is not open.
    pub(crate) async fn until_over(&self, id: &QuestionId) {
        loop {
            let changed = self.changed.notified();
            if self.state.lock().find(id).is_none() {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests;
