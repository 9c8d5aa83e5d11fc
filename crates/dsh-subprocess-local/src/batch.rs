//! Work that takes a while, done once for all who ask for it before it begins.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// Answers questions on one blocking thread, which is there as long as there are any. Those that come while it is at work are
/// answered together, by work that begins after they came.
pub(crate) struct Batch<Q, A> {
    work: fn(&[Q]) -> A,
    state: Arc<Mutex<State<Q, A>>>,
}

struct State<Q, A> {
    questions: Vec<Q>,
    askers: Vec<oneshot::Sender<A>>,
    is_at_work: bool,
}

/// Who is at work.
struct AtWork<Q, A> {
    state: Arc<Mutex<State<Q, A>>>,
    has_ended: bool,
}

impl<Q: Send + 'static, A: Clone + Send + 'static> Batch<Q, A> {
    pub(crate) fn new(work: fn(&[Q]) -> A) -> Self {
        let state = State { questions: Vec::new(), askers: Vec::new(), is_at_work: false };
        Self { work, state: Arc::new(Mutex::new(state)) }
    }

    /// The answer; none if the runtime ends before.
    pub(crate) async fn ask(&self, question: Q) -> Option<A> {
        let (asker, answer) = oneshot::channel();
        let was_at_work = {
            let mut state = self.state.lock();
            state.questions.push(question);
            state.askers.push(asker);
            mem::replace(&mut state.is_at_work, true)
        };
        if !was_at_work {
            let (work, at_work) = (self.work, AtWork { state: Arc::clone(&self.state), has_ended: false });
            spawn_blocking(move || at_work.answer(work));
        }
        answer.await.ok()
    }
}

impl<Q, A: Clone> AtWork<Q, A> {
    fn answer(mut self, work: fn(&[Q]) -> A) {
        while let Some((questions, askers)) = self.next() {
            // Whoever asked is told by the end of his channel; those who came meanwhile are answered next.
            let Ok(answer) = catch_unwind(AssertUnwindSafe(|| work(&questions))) else { continue };
            askers.into_iter().for_each(|asker| drop(asker.send(answer.clone())));
        }
    }

    /// Decides under one lock whether more is to be done or whoever asks next is to begin.
    fn next(&mut self) -> Option<(Vec<Q>, Vec<oneshot::Sender<A>>)> {
        let mut state = self.state.lock();
        self.has_ended = state.questions.is_empty();
        state.is_at_work = !self.has_ended;
        (!self.has_ended).then(|| (mem::take(&mut state.questions), mem::take(&mut state.askers)))
    }
}

impl<Q, A> Drop for AtWork<Q, A> {
    /// Ended by the runtime before it began: nobody waits any longer.
    fn drop(&mut self) {
        if !self.has_ended {
            let mut state = self.state.lock();
            state.is_at_work = false;
            state.questions.clear();
            state.askers.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, mpsc};

    use parking_lot::Mutex;
    use tokio::task::JoinSet;

    use super::Batch;

    /// A number, how often was worked and on how many, and what is waited for before.
    type Asked = (u32, Arc<[AtomicU32; 2]>, Arc<Mutex<mpsc::Receiver<()>>>);

    fn work(asked: &[Asked]) -> Vec<u32> {
        let [works, taken] = &*asked[0].1;
        taken.fetch_add(asked.len() as u32, Ordering::Relaxed);
        let _ = asked[0].2.lock().recv();
        works.fetch_add(1, Ordering::Relaxed);
        assert!(asked.iter().all(|(number, ..)| *number != 13));
        asked.iter().map(|(number, ..)| *number).collect()
    }

    // spec: design/P6
    #[tokio::test]
    async fn those_who_ask_while_it_is_at_work_are_answered_together_by_work_that_begins_later() {
        let batch = Arc::new(Batch::new(work));
        let (held, gate) = mpsc::channel();
        let (counts, gate) = (Arc::new([const { AtomicU32::new(0) }; 2]), Arc::new(Mutex::new(gate)));
        let mut asked = JoinSet::new();
        for number in 100..150 {
            let (batch, question) = (Arc::clone(&batch), (number, Arc::clone(&counts), Arc::clone(&gate)));
            asked.spawn(async move { (number, batch.ask(question).await.unwrap()) });
        }
        let waiting = || batch.state.lock().questions.len() as u32;
        while counts[1].load(Ordering::Relaxed) == 0 || counts[1].load(Ordering::Relaxed) + waiting() < 50 {
            tokio::task::yield_now().await;
        }
        drop(held);
        for (number, answered) in asked.join_all().await {
            assert!(answered.contains(&number));
        }
        // The first may have been alone, or have come with all others.
        assert!(counts[0].load(Ordering::Relaxed) <= 2);
    }

    #[tokio::test]
    async fn work_that_panics_answers_nobody_and_the_next_one_begins_anew() {
        let batch = Batch::new(work);
        let question = |number| {
            let (_, gate) = mpsc::channel();
            (number, Arc::default(), Arc::new(Mutex::new(gate)))
        };
        assert_eq!(batch.ask(question(13)).await, None);
        assert_eq!(batch.ask(question(14)).await, Some(vec![14]));
    }
}
