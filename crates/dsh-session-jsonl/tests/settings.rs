//! What a store is told.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;

use dsh_session::{Storage as _, StorageError};
use dsh_session_jsonl::{Compression, Config, Fsync, JsonlStorage};
use serde_json::json;
use support::{BOTH, header, message, notes, quick};

// spec: session/S89
#[test]
fn everything_but_the_root_has_a_default() {
    let config: Config = serde_json::from_value(json!({"root": "/r"})).unwrap();
    assert_eq!(config, Config::new("/r"));
    assert!(config.pack_chunks);
    assert_eq!(config.compression, Compression::Zstd);
    assert_eq!(config.fsync, Fsync::Always);
    assert_eq!(config.max_log_bytes, 4 << 30);
    assert!(serde_json::from_value::<Config>(json!({})).is_err());
}

// spec: session/S89
#[test]
fn settings_are_named_as_the_reference_names_them_and_checked() {
    let config = json!({"root": "/r", "packChunks": false, "compression": "none", "fsync": "never", "maxLogBytes": 5,
            "writeBatchMaxDelayMs": 7, "preparedSessionCacheSize": 9});
    let read: Config = serde_json::from_value(config.clone()).unwrap();
    assert_eq!(read.compression, Compression::None);
    assert!(!read.pack_chunks);
    assert_eq!(serde_json::to_value(&read).unwrap(), config);
    for wrong in [json!({"root": "/r", "compression": "gzip"}), json!({"root": "/r", "packChunks": "yes"})] {
        assert!(serde_json::from_value::<Config>(wrong).is_err());
    }
    let schema = serde_json::to_value(schemars::schema_for!(Config)).unwrap();
    assert_eq!(schema["required"], json!(["root"]));
    assert!(schema["properties"]["fsync"].is_object());
}

// spec: session/S89
#[test]
fn a_root_that_is_not_there_is_empty_and_made_by_the_first_session_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("deep/er");
    for compression in BOTH {
        let store = quick(&root, compression);
        assert_eq!(store.list().unwrap(), []);
        assert!(store.read("t").unwrap().is_none());
        assert!(store.open("t").unwrap().is_none());
        assert!(store.read_raw("t").unwrap().is_none());
        assert_eq!(store.revision("t").unwrap(), None);
        assert!(!root.exists());
    }
    drop(quick(&root, Compression::Zstd).create(&header(), &notes(1)).unwrap());
    assert!(root.is_dir());
}

// spec: session/S89
#[test]
fn a_root_that_is_no_folder_is_refused_when_the_store_opens() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("file");
    fs::write(&root, "x").unwrap();
    let error = JsonlStorage::open(Config::new(&root)).err().unwrap();
    assert!(matches!(error, StorageError::Place { source: Some(_), .. }));
    assert!(message(&error).contains(root.to_str().unwrap()));
}

// spec: session/S89
#[test]
fn a_relative_root_is_taken_from_the_folder_that_the_process_is_in_when_it_opens() {
    let here = std::env::current_dir().unwrap();
    for (root, expected) in [("", here.clone()), ("rel/x", here.join("rel/x")), ("/abs", "/abs".into())] {
        let path = expected.join("_no-cwd/t/session.jsonl.zstd");
        let store = JsonlStorage::open(Config::new(root)).unwrap();
        assert_eq!(store.locate(&header()), Some(dsh_session::Location::Jsonl { path }));
    }
}
