//! The server: a thread that accepts, and one for each connection.
//!
//! **Lock order:** `requests`, `cursor` and `open` are taken alone.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use socket2::SockRef;

use crate::answer;
use crate::request::Request;
use crate::script::{Cut, Encoding, For, How, Script, Step};

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct MockServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    /// Which step is next.
    cursor: Mutex<usize>,
    requests: Mutex<Vec<Request>>,
    came: Condvar,
    /// The connections that are open.
    open: Mutex<HashMap<u64, TcpStream>>,
    is_over: AtomicBool,
    told: Option<fn(&Request)>,
}

impl MockServer {
    /// Starts a server on a port of this machine that is free.
    ///
    /// # Errors
    /// There is none.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_on(script, 0, None)
    }

    /// Starts a server on a port; 0 takes one that is free. `told` hears of every request.
    ///
    /// # Errors
    /// The port is taken.
    pub fn start_on(script: Script, port: u16, told: Option<fn(&Request)>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            cursor: Mutex::new(0),
            requests: Mutex::default(),
            came: Condvar::new(),
            open: Mutex::default(),
            is_over: AtomicBool::new(false),
            told,
        });
        let accepting = {
            let shared = shared.clone();
            thread::spawn(move || accept(&listener, &shared))
        };
        Ok(Self { shared, address, accepting: Some(accepting) })
    }

    /// The URL below which models are asked.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().clone()
    }

    /// How many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.shared.open.lock().len()
    }

    /// Waits until so many requests have come, and gives them; fewer when they do not come in time.
    #[must_use]
    pub fn wait_for(&self, count: usize, limit: Duration) -> Vec<Request> {
        let until = Instant::now() + limit;
        let mut requests = self.shared.requests.lock();
        while requests.len() < count && !self.shared.came.wait_until(&mut requests, until).timed_out() {}
        requests.clone()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes whoever accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections = Vec::new();
    for (number, stream) in (0..).zip(listener.incoming()) {
        if shared.is_over.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let shared = shared.clone();
        connections.retain(|connection: &JoinHandle<()>| !connection.is_finished());
        connections.push(thread::spawn(move || {
            let _ = connection(stream, number, &shared);
            shared.open.lock().remove(&number);
        }));
    }
    for stream in shared.open.lock().values() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for connection in connections {
        let _ = connection.join();
    }
}

/// Answers the requests of one connection until one of the two is done with it.
fn connection(stream: TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    shared.open.lock().insert(number, stream.try_clone()?);
    // One that came while the server ended would wait for ever.
    if shared.is_over.load(Ordering::SeqCst) {
        return Ok(());
    }
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(mut request) = Request::read(&mut reader, number)? {
        let (step, served) = shared.next(&request.json());
        let missing = step.expect.body_contains.iter();
        let body = String::from_utf8_lossy(&request.body);
        let missing = missing.filter(|text| !body.contains(text.as_str()));
        request.unexpected = missing.map(|text| format!("the body has no {text:?}")).next();
        let step = match &request.unexpected {
            Some(what) => refusal(what),
            None => step,
        };
        let model = request.json().get("model").cloned().unwrap_or_default();
        if let Some(told) = shared.told {
            told(&request);
        }
        shared.requests.lock().push(request);
        shared.came.notify_all();
        shared.pause(step.delay_ms);
        let answering = Answering { stream: &stream, step: &step, shared };
        if !answering.answer(&answer::body(&step, &model, served))? {
            return Ok(());
        }
    }
    Ok(())
}

fn refusal(what: &str) -> Step {
    let body = serde_json::json!({ "error": { "message": format!("not what the script expects: {what}") } });
    Step { status: Some(500), body: Some(body), ..Step::default() }
}

impl Shared {
    /// Waits so long, or until the server ends.
    fn pause(&self, ms: u64) {
        let until = Instant::now() + Duration::from_millis(ms);
        while !self.is_over.load(Ordering::SeqCst) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(Duration::from_millis(10)));
        }
    }

    /// The step of a request, and how many came before.
    fn next(&self, body: &Value) -> (Step, usize) {
        let mut cursor = self.cursor.lock();
        let last = self.script.steps.len().saturating_sub(1);
        let step = self.script.steps.get((*cursor).min(last)).cloned().unwrap_or_default();
        if body.get("tools").is_none() && step.kind == For::Tools {
            return (Step { text: "A title".to_owned(), ..Step::default() }, *cursor);
        }
        let served = *cursor;
        *cursor += 1;
        (step, served)
    }
}

/// One answer on its way.
struct Answering<'a> {
    stream: &'a TcpStream,
    step: &'a Step,
    shared: &'a Shared,
}

impl Answering<'_> {
    /// Writes it; whether the connection can be used again.
    fn answer(&self, body: &[u8]) -> io::Result<bool> {
        let head = self.head(body.len());
        if let Some(cut) = self.step.cut_head {
            self.write(&head.as_bytes()[..cut.at.min(head.len())])?;
            return self.break_off(cut.how);
        }
        self.write(head.as_bytes())?;
        let whole = &body[..self.step.cut.map_or(body.len(), |cut| cut.at.min(body.len()))];
        let size = self.step.drip.map(|drip| drip.bytes).or(self.step.write_bytes).unwrap_or(usize::MAX);
        // One chunk that is announced as a whole breaks off in its middle.
        let announced = if size >= body.len() { body.len() } else { 0 };
        for piece in whole.chunks(size.min(whole.len().max(1))) {
            self.piece(piece, announced)?;
            if let Some(drip) = self.step.drip {
                self.shared.pause(drip.every_ms);
            }
        }
        if let Some(Cut { how, .. }) = self.step.cut {
            return self.break_off(how);
        }
        if self.step.keep_open {
            return self.break_off(How::Stall);
        }
        match self.step.encoding {
            Encoding::Chunked => self.write(b"0\r\n\r\n").map(|()| true),
            Encoding::Length => Ok(true),
            Encoding::Close => self.break_off(How::Fin),
        }
    }

    fn head(&self, length: usize) -> String {
        let step = self.step;
        let status = step.status.unwrap_or(200);
        let kind = if status == 200 { "text/event-stream" } else { "application/json" };
        let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
        let given = |name: &str| step.headers.keys().any(|header| header.eq_ignore_ascii_case(name));
        if !given("content-type") {
            head.push_str(&format!("content-type: {kind}\r\n"));
        }
        for (name, value) in &step.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&match step.encoding {
            Encoding::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
            // With a body that goes on, the length is one more than comes.
            Encoding::Length => format!("content-length: {}\r\n\r\n", length + usize::from(step.keep_open)),
            Encoding::Close => "connection: close\r\n\r\n".to_owned(),
        });
        head
    }

    fn piece(&self, piece: &[u8], announced: usize) -> io::Result<()> {
        match self.step.encoding {
            Encoding::Chunked if piece.is_empty() => Ok(()),
            Encoding::Chunked if announced > piece.len() => {
                self.write(&[format!("{announced:x}\r\n").as_bytes(), piece].concat())
            }
            Encoding::Chunked => {
                let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                self.write(&chunk)
            }
            Encoding::Length | Encoding::Close => self.write(piece),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(bytes)
    }

    fn break_off(&self, how: How) -> io::Result<bool> {
        match how {
            How::Fin => self.stream.shutdown(Shutdown::Both)?,
            // Once the last handle is closed, which is when the connection leaves the table.
            How::Reset => SockRef::from(self.stream).set_linger(Some(Duration::ZERO))?,
            How::Stall => {
                let mut stream = self.stream;
                let mut rest = [0; 1024];
                while matches!(stream.read(&mut rest), Ok(1..)) {}
            }
        }
        Ok(false)
    }
}
