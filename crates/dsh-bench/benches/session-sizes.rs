//! What criterion does not measure: how much memory an opened session takes, next to its file. Prints a line of JSON for each
//! work, as the peers do: see `xtask/peers/README.md`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to report")]

use dsh_bench::logs::long_session;
use dsh_session::Storage;
use dsh_session_jsonl::{Compression, Config, JsonlStorage};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

fn main() {
    let mut only = String::new();
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench" && arg != "--quick") {
        only = arg;
    }
    for (name, pack) in [("session-memory/plain", false), ("session-memory/packed", true)] {
        if name.contains(&only) {
            let ratio = memory(pack);
            println!(r#"{{"peer":"ours","work":"{name}","ratio":{ratio:.3},"spread":0.0,"samples":1}}"#);
        }
    }
}

/// The bytes that an opened session of 100,000 events holds, over those of its file.
fn memory(pack: bool) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::new(folder.path());
    config.compression = Compression::None;
    config.pack_chunks = pack;
    let storage = JsonlStorage::open(config).unwrap();
    let path = {
        let (header, events) = long_session(100_000);
        let (first, rest) = events.split_at(500);
        let mut writer = storage.create(&header, first).unwrap();
        for batch in rest.chunks(500) {
            writer.append(batch).unwrap();
        }
        match storage.locate(&header) {
            Some(dsh_session::Location::Jsonl { path }) => path,
            other => panic!("a store of files has a file: {other:?}"),
        }
    };
    let file = std::fs::metadata(path).unwrap().len();
    let before = HEAP.current_usage();
    let stored = storage.read("bulk").unwrap().unwrap();
    let held = HEAP.current_usage() - before;
    drop(stored);
    held as f64 / file as f64
}
