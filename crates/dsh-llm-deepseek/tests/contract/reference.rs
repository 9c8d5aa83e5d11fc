//! The bodies that the reference sent for its own logs; see `xtask/peers/node/llm/README.md`.

use std::fs;
use std::path::Path;

use dsh_llm::ModelRequest;
use dsh_session::{EpochHeader, Events, RequestHeader, SessionLog, derive_messages};

use crate::fixture::Fixture;
use crate::server::Server;

/// The conversation at each moment at which the reference asked the model: right before the answer of a step.
fn requests(log: &SessionLog) -> Vec<ModelRequest> {
    let mut header: Option<EpochHeader> = None;
    let (mut requests, mut asks) = (Vec::new(), false);
    for (index, event) in log.events.iter().enumerate() {
        match event.kind() {
            "request/header" => header = Some(event.payload::<RequestHeader>().unwrap().unwrap().header),
            "step/start" => asks = true,
            "assistant/chunk" | "assistant/message" | "step/end" if asks => {
                asks = false;
                requests.push(asked(header.clone().unwrap(), &log.events.first_n(index)));
            }
            _ => {}
        }
    }
    requests
}

fn asked(header: EpochHeader, events: &Events) -> ModelRequest {
    let messages = derive_messages(events).unwrap();
    let mut request = ModelRequest::new(header.config, messages);
    request.system = header.system.map(Into::into);
    request.tools = header.tools.unwrap_or_default().into();
    request
}

// spec: llm/S53, llm/S54, llm/S55, cases/S4, cases/S5
#[tokio::test]
async fn a_log_of_the_reference_is_asked_with_the_bytes_that_the_reference_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reference");
    let mut compared = 0;
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for bodies in files.iter().filter(|file| file.to_string_lossy().ends_with(".requests.jsonl")) {
        let name = bodies.file_name().unwrap().to_string_lossy().replace(".requests.jsonl", "");
        let log = fs::read(bodies.with_file_name(format!("{name}.jsonl"))).unwrap();
        let log = SessionLog::parse(&log).unwrap();
        let bodies = fs::read_to_string(bodies).unwrap();
        let server = Server::saying("hi").await;
        let fixture = Fixture::new(&server).await;
        for request in requests(&log) {
            fixture.ask(request).await;
        }
        let sent: Vec<String> =
            server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect();
        let expected: Vec<&str> = bodies.split_terminator('\n').collect();
        assert_eq!(sent, expected, "{name}");
        compared += sent.len();
    }
    assert!(compared >= 40, "only {compared} bodies were compared");
}
