//! Reading what a client asks.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

/// The longest line of a head, in bytes.
const MAX_LINE: u64 = 256 * 1024;
/// The most headers.
const MAX_HEADERS: usize = 1_000;
/// The longest body of a request, in bytes.
const MAX_BODY: u64 = 256 * 1024 * 1024;

/// What a client asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The connection that it came on, counted from 0.
    pub connection: u64,
    /// The method, `POST` usually.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in their order; names as they were written.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// When all of it was there.
    pub at: Instant,
    /// What a step expected and this request did not have.
    pub unexpected: Option<String>,
}

impl Request {
    /// The first header of a name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The next request of a connection; none when the client is gone.
    ///
    /// # Errors
    /// The connection broke, or what came is no request.
    pub(crate) fn read(reader: &mut BufReader<TcpStream>, connection: u64) -> io::Result<Option<Self>> {
        let Some(line) = line(reader)? else { return Ok(None) };
        let mut words = line.split(' ');
        let (Some(method), Some(path), Some("HTTP/1.1"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(invalid(format!("the request line is {line:?}")));
        };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        loop {
            let header = line_of(reader)?;
            if header.is_empty() {
                break;
            }
            let (name, value) =
                header.split_once(':').ok_or_else(|| invalid(format!("a header is {header:?}")))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
            if headers.len() > MAX_HEADERS {
                return Err(invalid(format!("there are more than {MAX_HEADERS} headers")));
            }
        }
        let request = Self {
            connection,
            method,
            path,
            headers,
            body: Vec::new(),
            at: Instant::now(),
            unexpected: None,
        };
        let body = request.read_body(reader)?;
        Ok(Some(Self { body, at: Instant::now(), ..request }))
    }

    fn read_body(&self, reader: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
        if self.header("transfer-encoding").is_some() {
            return Err(invalid("a body without a length is not read here".to_owned()));
        }
        let Some(length) = self.header("content-length") else { return Ok(Vec::new()) };
        let length: u64 = length.parse().map_err(|_| invalid(format!("content-length is {length:?}")))?;
        if length > MAX_BODY {
            return Err(invalid(format!("the body has {length} bytes")));
        }
        let mut body = Vec::new();
        if reader.take(length).read_to_end(&mut body)? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(body)
    }
}

/// A line that must be there.
fn line_of(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    line(reader)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The next line without its end; none at the end of the connection.
fn line(reader: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    // Headers may have any byte above 127.
    Ok(Some(line.into_iter().map(char::from).collect()))
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
