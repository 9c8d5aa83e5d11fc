//! Models: an answer is translated and put together, its first piece arrives, and its pieces pass the listeners.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to report"
)]

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use cordis::{App, Next};
use cordis_bench::measure::{alone, repeat, settings};
use cpu_time::ThreadTime;
use criterion::{Criterion, criterion_group, criterion_main};
use dsh_llm::testing::{Answer, ScriptedModel, finish};
use dsh_llm::{
    Assembler, CallConfig, FinishReason, LLM, Llm, ModelCall, ModelRequest, Outcome, STREAM, StreamChunk,
};
use dsh_llm_deepseek::Config;
use dsh_llm_deepseek::testing::translated;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

criterion_group! { name = benches; config = settings(); targets = decode, first_delta, pieces }
criterion_main!(benches);

const BODY_BYTES: usize = 10_000_000;
/// What a read of a socket gives at most.
const READ_BYTES: usize = 16 * 1024;

/// An event with a few characters, as servers send them.
fn event(text: &str) -> String {
    let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": null });
    let event = json!({
        "id": "0d1c6f4a-9f0e-4d3c-8a57-2f6f1b1f9b11", "object": "chat.completion.chunk", "created": 1_764_500_000,
        "model": "deepseek-v4-flash", "system_fingerprint": "fp_1", "choices": [choice],
    });
    format!("data: {event}\n\n")
}

/// 10 MB of small pieces, decoded, translated and put together.
fn decode(c: &mut Criterion) {
    let mut body = String::new();
    while body.len() < BODY_BYTES {
        body.push_str(&event(" tokens"));
    }
    body.push_str("data: [DONE]\n\n");
    let ours = repeat(|| {
        let mut assembler = Assembler::new();
        translated(body.as_bytes(), READ_BYTES, |chunk| assembler.add(&chunk).unwrap()).unwrap();
        black_box(assembler.blocks().unwrap());
    });
    alone(c, "model/decode-10MB", ours);
}

/// A server that sends the head of an answer at once, and its first piece when it is told to; it gives the moment.
fn server() -> (String, Receiver<Instant>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sent, moments) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            while answer(&mut stream, |moment| sent.send(moment).is_ok()) {}
        }
    });
    (url, moments)
}

/// Answers one request; whether there may be another.
fn answer(stream: &mut TcpStream, mut sent: impl FnMut(Instant) -> bool) -> bool {
    let mut request = Vec::new();
    let mut piece = [0; 16 * 1024];
    // The body is short and has no blank line.
    while !request.windows(4).any(|end| end == b"\r\n\r\n") || !request.ends_with(b"}") {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => request.extend_from_slice(&piece[..read]),
            Ok(_) | Err(_) => return false,
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    stream.write_all(head.as_bytes()).unwrap();
    // The client has read the head by then, and waits.
    std::thread::sleep(Duration::from_millis(2));
    let first = chunk(&event("first"));
    let moment = Instant::now();
    stream.write_all(first.as_bytes()).unwrap();
    let rest = chunk("data: [DONE]\n\n") + "0\r\n\r\n";
    sent(moment) && stream.write_all(rest.as_bytes()).is_ok()
}

async fn service(app: &App) -> Llm {
    app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
    (*app.get(LLM).unwrap().get().unwrap()).clone()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// From the moment in which a server writes the first piece until the listener has it.
fn first_delta(c: &mut Criterion) {
    let (url, moments) = server();
    let runtime = runtime();
    let (_app, llm) = runtime.block_on(async {
        let app = App::new().unwrap();
        let llm = service(&app).await;
        // Any variable will do that holds some printable text.
        let config: Config =
            serde_json::from_value(json!({ "baseURL": url, "apiKeyEnv": "HOME", "attribution": false }))
                .unwrap();
        app.plugin(dsh_llm_deepseek::plugin(), config).unwrap().ready().await.unwrap();
        (app, llm)
    });
    alone(c, "model/first-delta", |times| {
        let mut total = Duration::ZERO;
        for _ in 0..times {
            let llm = llm.clone();
            let arrived = runtime.block_on(runtime.spawn(async move {
                let mut answer = llm.stream(ModelRequest::new(CallConfig::new("deepseek-official", "m"), []));
                let mut arrived = None;
                while let Some(chunk) = answer.next().await {
                    if let StreamChunk::TextDelta { .. } = chunk.unwrap() {
                        arrived = Some(Instant::now());
                    }
                }
                arrived
            }));
            total += arrived.unwrap().unwrap().saturating_duration_since(moments.recv().unwrap());
        }
        total
    });
}

async fn passed(call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    let mut out = call.out.clone();
    let mut below = call.below(next);
    while let Some(chunk) = below.next().await {
        out.send(chunk).await;
    }
    below.outcome()
}

/// One piece of a long answer, from the adapter to the reader.
fn pieces(c: &mut Criterion) {
    let delta = || StreamChunk::TextDelta { index: 0, text: " tokens".to_owned() };
    for (work, listeners) in [("model/piece", 0), ("model/piece/3-listeners", 3)] {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let model = ScriptedModel::new([]);
        let (_app, llm) = runtime.block_on(async {
            let app = App::new().unwrap();
            let llm = service(&app).await;
            llm.register(&app, ["acme"], model.adapter()).unwrap();
            for _ in 0..listeners {
                app.on(STREAM).run(passed).unwrap();
            }
            (app, llm)
        });
        let ours = |times: u64| {
            let pieces = (0..times).map(|_| delta());
            model.push(Answer::new().chunks(pieces.chain([finish(FinishReason::Stop {})])));
            runtime.block_on(async {
                let start = ThreadTime::now();
                let mut answer = llm.stream(ModelRequest::new(CallConfig::new("acme", "m"), []));
                while let Some(chunk) = answer.next().await {
                    black_box(chunk.unwrap());
                }
                start.elapsed()
            })
        };
        alone(c, work, ours);
    }
}
