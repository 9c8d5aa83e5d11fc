//! What an execution keeps of its body while it runs: that it was entered, what it wrote, what it deferred.
//!
//! **Invariants**
//! 1. What a run of the body gives counts only until the body starts over; a run that goes on after that is heard no more.
//! 2. A blocking body counts as running from before it may begin until its thread is done with it.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dsh_llm::Message;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

/// The record of one execution, shared by all views of its call.
#[derive(Debug)]
pub(crate) struct Progress {
    entered: AtomicBool,
    /// Whether a run was let pass to the body, which may begin later.
    handed_out: AtomicBool,
    /// Whether what came of it was told.
    over: AtomicBool,
    /// How many bodies run, or are about to.
    running: AtomicUsize,
    given: Mutex<Given>,
    /// Made by the first nested call.
    nested: OnceLock<Nested>,
}

/// Which run of a body something comes from: bodies that run at once, without starting over between them, are of the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunNumber(u64);

/// What the run that counts has given besides its value.
#[derive(Debug)]
struct Given {
    run: RunNumber,
    concludes: bool,
    deferred: Vec<Message>,
    written: Written,
}

/// The calls that a body made.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// How many were submitted, on all runs of the body.
    submitted: Mutex<u64>,
    /// How many were started and are not over.
    open: watch::Sender<usize>,
}

impl Nested {
    pub(crate) fn submitted(&self) -> MutexGuard<'_, u64> {
        self.submitted.lock()
    }

    pub(crate) fn enter(&self) {
        self.open.send_modify(|open| *open += 1);
    }

    /// One that was started, and is over when the result is dropped.
    pub(crate) fn opened(&self) -> OpenCall<'_> {
        self.enter();
        OpenCall(self)
    }

    pub(crate) fn leave(&self) {
        self.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// See [`Nested::opened`].
pub(crate) struct OpenCall<'a>(&'a Nested);

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Progress {
    pub(crate) fn new(max_bytes: usize) -> Self {
        let written = Written { half: max_bytes / 2, head: String::new(), tail: VecDeque::new(), dropped: 0 };
        let given = Given { run: RunNumber::default(), concludes: false, deferred: Vec::new(), written };
        Self {
            entered: AtomicBool::new(false),
            handed_out: AtomicBool::new(false),
            over: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            given: Mutex::new(given),
            nested: OnceLock::new(),
        }
    }

    /// A run is about to be judged; whether there was one before.
    pub(crate) fn run_begins(&self) -> bool {
        self.handed_out.swap(true, Ordering::AcqRel)
    }

    /// What came of it is about to be told.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn nested(&self) -> &Nested {
        self.nested.get_or_init(Nested::default)
    }

    /// Waits until no nested call is open; false if none was.
    pub(crate) async fn nested_calls_end(&self) -> bool {
        let Some(nested) = self.nested.get() else { return false };
        let mut open = nested.open.subscribe();
        if *open.borrow() == 0 {
            return false;
        }
        // The sender is in `self`, so it is there.
        let _ = open.wait_for(|open| *open == 0).await;
        true
    }

    pub(crate) fn enter(&self) {
        self.entered.store(true, Ordering::Release);
    }

    pub(crate) fn is_entered(&self) -> bool {
        self.entered.load(Ordering::Acquire)
    }

    pub(crate) fn body_starts(&self) {
        self.running.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn body_is_over(&self) {
        self.running.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn has_running_body(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// The run that counts.
    pub(crate) fn run(&self) -> RunNumber {
        self.given.lock().run
    }

    /// Does something to what `run` has given, if that run counts.
    fn of_run(&self, run: RunNumber, change: impl FnOnce(&mut Given)) {
        let mut given = self.given.lock();
        if given.run == run {
            change(&mut given);
        }
    }

    pub(crate) fn conclude(&self, run: RunNumber) {
        self.of_run(run, |given| given.concludes = true);
    }

    pub(crate) fn concludes(&self) -> bool {
        self.given.lock().concludes
    }

    pub(crate) fn defer(&self, run: RunNumber, message: Message) {
        self.of_run(run, |given| given.deferred.push(message));
    }

    pub(crate) fn take_deferred(&self) -> Vec<Message> {
        std::mem::take(&mut self.given.lock().deferred)
    }

    /// Forgets all but that the body was entered, and whatever the runs until now give from now on.
    pub(crate) fn start_over(&self) {
        let forgotten = {
            let mut given = self.given.lock();
            given.run.0 += 1;
            given.concludes = false;
            given.written.clear();
            std::mem::take(&mut given.deferred)
        };
        drop(forgotten);
    }

    pub(crate) fn write(&self, run: RunNumber, text: &str) {
        self.of_run(run, |given| given.written.push(text));
    }

    pub(crate) fn output(&self) -> String {
        self.given.lock().written.text()
    }
}

/// The beginning and the end of what was written.
#[derive(Debug)]
struct Written {
    /// How many bytes each of the two may have.
    half: usize,
    head: String,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Written {
    fn push(&mut self, text: &str) {
        let room = if self.tail.is_empty() { self.half.saturating_sub(self.head.len()) } else { 0 };
        let cut = (0..=room.min(text.len())).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
        let (head, rest) = text.split_at(cut);
        self.head.push_str(head);
        // Longer than the tail: only its end will be left of it.
        let skip = rest.len().saturating_sub(self.half);
        self.tail.extend(&rest.as_bytes()[skip..]);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.dropped += (skip + over) as u64;
    }

    fn clear(&mut self) {
        self.head.clear();
        self.tail.clear();
        self.dropped = 0;
    }

    fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail: Vec<u8> = [front, back].concat();
        // What was cut may begin inside of a character.
        let cut = tail.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
        let tail = String::from_utf8_lossy(&tail[cut..]);
        match self.dropped {
            0 => format!("{}{tail}", self.head),
            dropped => format!("{}\n… {} bytes left out …\n{tail}", self.head, dropped + cut as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(half: usize, pieces: &[&str]) -> String {
        let mut written = Written { half, head: String::new(), tail: VecDeque::new(), dropped: 0 };
        for piece in pieces {
            written.push(piece);
        }
        written.text()
    }

    #[test]
    fn what_fits_is_kept_whole_however_it_was_cut() {
        assert_eq!(written(4, &["abcdefgh"]), "abcdefgh");
        assert_eq!(written(4, &["abc", "de", "fgh"]), "abcdefgh");
        assert_eq!(written(4, &[]), "");
    }

    #[test]
    fn beginning_and_end_are_kept_and_the_middle_is_counted() {
        assert_eq!(written(4, &["abcdefghij"]), "abcd\n… 2 bytes left out …\nghij");
        assert_eq!(written(4, &["abcd", "e", "f", "ghij"]), "abcd\n… 2 bytes left out …\nghij");
    }

    #[test]
    fn a_character_is_never_cut() {
        for half in 0..12 {
            for pieces in [&["äöü€😀äöü€😀"][..], &["äö", "ü€😀", "äöü", "€😀"][..]]
            {
                let text = written(half, pieces);
                assert!(!text.contains('\u{fffd}'), "{half}: {text}");
            }
        }
    }
}
