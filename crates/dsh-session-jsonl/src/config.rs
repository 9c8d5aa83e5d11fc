//! What a store of files is told by its user.

use std::path::PathBuf;

use dsh_session::WriteOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where sessions are kept, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// The folder that holds all sessions. Made when the first one is stored; a relative path is taken from the folder that
    /// the process is in when the store is opened.
    pub root: PathBuf,
    /// Whether runs of streamed pieces are written as one line each. Both ways are read, whatever this says.
    #[serde(default = "yes")]
    pub pack_chunks: bool,
    /// How logs are written. A root holds logs of one kind only.
    #[serde(default)]
    pub compression: Compression,
    /// When what was written is forced onto the disk.
    #[serde(default)]
    pub fsync: Fsync,
    /// The most bytes of text that one log may hold, unpacked; a longer one is not read. 4 GiB unless it is said.
    #[serde(default = "four_gib")]
    pub max_log_bytes: u64,
    /// How long an event of a live session may wait for others before it is written, in milliseconds, 1 to 2147483647; 200
    /// unless it is said.
    #[serde(default = "delay_ms")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub write_batch_max_delay_ms: u32,
    /// How many sessions that were read are kept in memory, to be looked at again; at least 1, 5 unless it is said.
    #[serde(default = "cache_size")]
    #[schemars(range(min = 1))]
    pub prepared_session_cache_size: usize,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Compression {
    /// `session.jsonl.zstd`: one frame for the header, then one for each batch, each with a checksum.
    #[default]
    Zstd,
    /// `session.jsonl`: lines.
    None,
}

/// When what was written is forced onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fsync {
    /// Before a write is acknowledged: file data at each batch, folders as well when a log is made or replaced. What was
    /// acknowledged survives a power failure.
    #[default]
    Always,
    /// Never. What was acknowledged survives the end of the process, however that comes, but not that of the machine.
    Never,
}

impl Config {
    /// A store below `root` with everything else as it is by default.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            pack_chunks: yes(),
            compression: Compression::default(),
            fsync: Fsync::default(),
            max_log_bytes: four_gib(),
            write_batch_max_delay_ms: delay_ms(),
            prepared_session_cache_size: cache_size(),
        }
    }

    /// How live sessions are written to it.
    #[must_use]
    pub fn write_options(&self) -> WriteOptions {
        WriteOptions::new(self.write_batch_max_delay_ms, self.prepared_session_cache_size)
    }
}

impl Compression {
    /// The name of a log's file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Zstd => "session.jsonl.zstd",
            Self::None => "session.jsonl",
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Zstd => Self::None,
            Self::None => Self::Zstd,
        }
    }

    /// The name as it is in a configuration.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::None => "none",
        }
    }
}

fn yes() -> bool {
    true
}

fn four_gib() -> u64 {
    4 << 30
}

fn delay_ms() -> u32 {
    WriteOptions::default().write_batch_max_delay_ms
}

fn cache_size() -> usize {
    WriteOptions::default().prepared_session_cache_size
}
