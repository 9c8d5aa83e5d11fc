//! A terminal that a test types at and reads from.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use cordis::Effect;
use cordis::testing::TestApp;
use dsh_agent::Agent;
use dsh_agent::testing::agent;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, Approvals};
use dsh_approval_terminal::{Input, Terminal};
use dsh_session::{NewEvent, Session, TurnStart};
use tokio::sync::watch;

pub(crate) const PROMPT: &str = "[y/n] ";
pub(crate) const AGAIN: &str = "Answer y to allow it once, or n to reject it: ";

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) agent: Agent,
    pub(crate) keys: Keys,
    pub(crate) screen: Screen,
    pub(crate) listener: Effect,
    begun: Arc<watch::Sender<usize>>,
}

/// What a test types with; dropped, the input is at its end.
pub(crate) struct Keys(Sender<Vec<u8>>);

struct Keyboard {
    typed: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    /// Dropped with the keyboard.
    _held: watch::Receiver<String>,
}

/// Lets one write after the other happen; dropped, all of them.
pub(crate) struct Gate(Sender<()>);

/// What a test sees.
#[derive(Clone)]
pub(crate) struct Screen(Arc<watch::Sender<String>>);

struct Output {
    screen: Screen,
    works: bool,
    /// Counts the writes that have begun.
    begun: Arc<watch::Sender<usize>>,
    gate: Option<Receiver<()>>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(true, None)
    }

    /// One whose screen cannot be written.
    pub(crate) fn without_output() -> Self {
        Self::with(false, None)
    }

    /// One whose screen is held up before each write until the gate lets it happen.
    pub(crate) fn held_up() -> (Self, Gate) {
        let (sender, gate) = mpsc::channel();
        (Self::with(true, Some(gate)), Gate(sender))
    }

    fn with(works: bool, gate: Option<Receiver<()>>) -> Self {
        let app = TestApp::new();
        let (sender, typed) = mpsc::channel();
        let screen = Screen(Arc::new(watch::channel(String::new()).0));
        let keyboard = Keyboard { typed, rest: Vec::new(), _held: screen.0.subscribe() };
        let begun = Arc::new(watch::channel(0).0);
        let output = Output { screen: screen.clone(), works, begun: begun.clone(), gate };
        let listener = Arc::new(Terminal::new(keyboard, output).unwrap()).listen(&app).unwrap();
        let agent = in_turn(&app, "ada");
        Self { app, agent, keys: Keys(sender), screen, listener, begun }
    }

    /// Waits until the screen has begun this many writes.
    pub(crate) async fn writes(&self, count: usize) {
        let mut begun = self.begun.subscribe();
        bounded(begun.wait_for(|begun| *begun >= count)).await.unwrap();
    }

    pub(crate) fn question(&self, tool: &str) -> ApprovalRequest {
        ApprovalRequest::new(&self.agent, tool)
    }

    pub(crate) async fn ask(&self, tool: &str) -> ApprovalOutcome {
        self.ask_for(self.question(tool)).await
    }

    pub(crate) async fn ask_for(&self, request: ApprovalRequest) -> ApprovalOutcome {
        bounded(Approvals::default().request(&self.app, request)).await.unwrap()
    }
}

/// Ends a test that waits for what never comes.
pub(crate) async fn bounded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(std::time::Duration::from_secs(60), future).await.expect("it never comes")
}

pub(crate) fn in_turn(app: &TestApp, id: &str) -> Agent {
    let session = Session::detached(id);
    session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    agent(app, session).unwrap().0
}

impl Keys {
    pub(crate) fn press(&self, keys: &str) {
        self.press_bytes(keys.as_bytes());
    }

    pub(crate) fn press_bytes(&self, keys: &[u8]) {
        self.0.send(keys.to_vec()).unwrap();
    }
}

impl Gate {
    pub(crate) fn let_one_pass(&self) {
        self.0.send(()).unwrap();
    }
}

impl Screen {
    pub(crate) fn text(&self) -> String {
        self.0.borrow().clone()
    }

    /// Waits until the screen has shown a text this often.
    pub(crate) async fn shows(&self, text: &str, times: usize) {
        let mut seen = self.0.subscribe();
        bounded(seen.wait_for(|shown| shown.matches(text).count() >= times)).await.unwrap();
    }

    /// Waits until the thread that reads has ended: it holds the one receiver.
    pub(crate) async fn keyboard_is_gone(&self) {
        self.0.closed().await;
    }
}

impl Input for Keyboard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.typed.recv().unwrap_or_default();
        }
        let read = self.rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&self.rest[..read]);
        self.rest.drain(..read);
        Ok(read)
    }

    fn discard(&mut self) -> io::Result<()> {
        self.rest.clear();
        while self.typed.try_recv().is_ok() {}
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.works {
            return Err(io::Error::other("the line is down"));
        }
        self.begun.send_modify(|begun| *begun += 1);
        if let Some(gate) = &self.gate {
            let _ = gate.recv();
        }
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        self.screen.0.send_modify(|shown| shown.push_str(&text));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
