//! A small HTTP server whose answers are bytes, and that remembers what it was sent.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What is done after the bytes were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next request is read.
    Keep,
    /// The connection is closed.
    Close,
    /// Nothing, for ever.
    Stall,
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

impl Reply {
    /// An answer with a body of a known length.
    pub(crate) fn new(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let bytes = [head.as_bytes(), b"\r\n", body].concat();
        Self { bytes, then: Then::Keep }
    }

    /// Bytes as they are.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>, then: Then) -> Self {
        Self { bytes: bytes.into(), then }
    }

    /// The answer `text`.
    pub(crate) fn says(text: &str) -> Self {
        Self::new("200 OK", &[("content-type", "text/event-stream")], answer(text))
    }
}

/// The events of an answer that is a text.
pub(crate) fn answer(text: &str) -> String {
    let delta = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let stop = serde_json::json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    format!("data: {delta}\n\ndata: {stop}\n\ndata: [DONE]\n\n")
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The number of its connection.
    pub(crate) connection: usize,
    /// The first line, then the headers.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.head[0].split(' ').nth(1).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head.iter().find_map(|line| line.strip_prefix(&prefix))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(crate) struct Server {
    pub(crate) base: String,
    seen: Arc<Mutex<Vec<Request>>>,
    closed: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Server {
    /// The n-th request gets the n-th answer, further ones the last.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (seen, closed): (Arc<Mutex<Vec<Request>>>, Arc<Mutex<usize>>) = Default::default();
        let (heard, gone) = (seen.clone(), closed.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (replies, heard, gone) = (replies.clone(), heard.clone(), gone.clone());
                connections.spawn(async move {
                    serve(stream, connection, &replies, &heard).await;
                    *gone.lock() += 1;
                });
            }
        });
        Self { base, seen, closed, task }
    }

    pub(crate) async fn saying(text: &str) -> Self {
        Self::start(vec![Reply::says(text)]).await
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.lock().clone()
    }

    /// The only request there was.
    #[track_caller]
    pub(crate) fn request(&self) -> Request {
        let requests = self.requests();
        assert_eq!(requests.len(), 1);
        requests.into_iter().next().unwrap()
    }

    /// Waits until so many requests have come.
    pub(crate) async fn asked(&self, count: usize) {
        until(|| self.seen.lock().len() >= count).await;
    }

    /// Waits until so many connections have ended.
    pub(crate) async fn closed(&self, count: usize) {
        until(|| *self.closed.lock() >= count).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for a condition that comes from elsewhere.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    let patience = std::time::Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < patience, "it never came");
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(1));
    }
}

async fn serve(mut stream: TcpStream, connection: usize, replies: &[Reply], seen: &Mutex<Vec<Request>>) {
    let mut buffer = Vec::new();
    while let Some(mut request) = read(&mut stream, &mut buffer).await {
        request.connection = connection;
        let number = {
            let mut seen = seen.lock();
            seen.push(request);
            seen.len() - 1
        };
        let reply = replies.get(number).or(replies.last()).unwrap();
        if stream.write_all(&reply.bytes).await.is_err() {
            return;
        }
        match reply.then {
            Then::Keep => {}
            Then::Close => return,
            // Ends when the client goes away.
            Then::Stall => while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {},
        }
    }
}

/// The next request; none when the client has gone.
pub(crate) async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(stream, buffer).await?;
    };
    // One character for one byte, as headers have it.
    let head: String = buffer[..head_end].iter().map(|byte| char::from(*byte)).collect();
    let head: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "))?;
    let end = head_end + 4 + length.parse::<usize>().unwrap();
    while buffer.len() < end {
        more(stream, buffer).await?;
    }
    let body = buffer[head_end + 4..end].to_vec();
    buffer.drain(..end);
    Some(Request { connection: 0, head, body })
}

async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    match stream.read_buf(buffer).await {
        Ok(read) if read > 0 => Some(()),
        _ => None,
    }
}
