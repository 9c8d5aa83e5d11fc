//! Who asks, and who is waited for.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::Sender;

use cordis::{Context, Effect, ListenError, Next};
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use tokio::sync::oneshot;

use crate::input::Input;
use crate::keyboard::{self, Job};
use crate::screen::Screen;
use crate::shared;
use crate::text::{self, Prompt};

/// A terminal that questions are asked at.
///
/// It has a thread that reads and one that writes; a task that asks is never blocked. Nothing is read while there is no
/// question. It lives as long as somebody holds it or a line is waited for; both threads end with it.
pub struct Terminal {
    questions: Sender<Job>,
    screen: Screen,
}

impl Terminal {
    /// A terminal of these two, which nobody else may use.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn new(input: impl Input + 'static, output: impl Write + Send + 'static) -> io::Result<Self> {
        let screen = Screen::start(Box::new(output))?;
        let questions = keyboard::start(Box::new(input), screen.clone())?;
        Ok(Self { questions, screen })
    }

    /// A terminal of the system; the same one as long as it is in use or a line is waited for, so that its questions come
    /// one after the other whoever asks them. Blocks the thread as long as the opening does.
    ///
    /// One that has hung up stays the same too, and is opened anew once nobody uses it. The aliases `/dev/console` and
    /// `/dev/tty0` count as terminals of their own.
    ///
    /// # Errors
    /// It cannot be opened, or it is none.
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        shared::open(path)
    }

    /// Asks the questions that are heard through this context. The terminal lives as long as the listener.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn listen(self: Arc<Self>, ctx: &Context) -> Result<Effect, ListenError> {
        ctx.on(REQUEST).with(self).run(answer)
    }

    /// Asks when the questions before it are over; none if there is nobody to answer.
    async fn ask(self: &Arc<Self>, prompt: Prompt) -> Option<ApprovalOutcome> {
        let (sender, answer) = oneshot::channel();
        let shown = Arc::new(AtomicBool::new(false));
        let job = Job { prompt, shown: shown.clone(), answer: sender, terminal: self.clone() };
        self.questions.send(job).ok()?;
        let mut asked = Asked { screen: &self.screen, shown, answer };
        let given = (&mut asked.answer).await;
        asked.shown.store(false, SeqCst);
        given.ok().flatten()
    }
}

/// A question that is asked; dropped without an answer, whoever sits there is told.
struct Asked<'t> {
    screen: &'t Screen,
    shown: Arc<AtomicBool>,
    answer: oneshot::Receiver<Option<ApprovalOutcome>>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        // From here on a line is not used.
        self.answer.close();
        if self.shown.load(SeqCst) {
            self.screen.note(text::WITHDRAWN);
        }
    }
}

/// Has the question answered at the terminal; where nobody answers, the others are asked.
async fn answer(
    terminal: &Arc<Terminal>,
    request: &mut ApprovalRequest,
    next: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    match terminal.ask(text::question(request)).await {
        Some(outcome) => outcome,
        None => next.run(request).await,
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}
