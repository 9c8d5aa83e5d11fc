//! What is measured, and within which reach of its floor each work is to stay.

/// What a figure is a figure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds of one operation.
    Ns,
    /// A throughput over another.
    Ratio,
    /// Bytes.
    Bytes,
}

/// The bound of a work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reach {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// At most the floor times a factor, and so much more.
    Floor {
        /// What the floor is multiplied with.
        factor: f64,
        /// What is added to it.
        plus: f64,
    },
    /// At most this, and at most the floor times a factor, where there is one: the floor is a smaller size of the same work.
    Both {
        /// The bound for all sizes.
        most: f64,
        /// What the floor is multiplied with.
        factor: f64,
    },
}

/// One work.
#[derive(Debug)]
pub struct Work {
    /// Its name here and among the peers.
    pub name: &'static str,
    /// What its figures count.
    pub unit: Unit,
    /// Its bound.
    pub reach: Reach,
}

const fn ns(name: &'static str, reach: Reach) -> Work {
    Work { name, unit: Unit::Ns, reach }
}

/// A slice of `Arc<dyn Fn>` 1.05 times over, 20 ns, and 0.2 ns for each listener.
const fn emit(listeners: f64) -> Reach {
    Reach::Floor { factor: 1.05, plus: 20.0 + 0.2 * listeners }
}

/// 10 MB at 150 MB/s.
const DECODE: f64 = 10.0 / 150.0 * 1e9;

/// A hand-written chain of boxed futures twice over, and 30 ns.
const WATERFALL: Reach = Reach::Floor { factor: 2.0, plus: 30.0 };

/// An emit to one listener without scopes, 20 ns, and 30 ns for each further bucket.
const fn scoped(buckets: f64) -> Reach {
    Reach::Floor { factor: 1.0, plus: 20.0 + 30.0 * (buckets - 1.0) }
}

const US: f64 = 1e3;
const MS: f64 = 1e6;

/// 8 µs; beside more than one plugin also flat within 20 %.
const LOAD: Reach = Reach::Both { most: 8.0 * US, factor: 1.2 };
/// The same where another thread does the loading; flat within 50 %.
const LOAD_BLOCK_ON: Reach = Reach::Both { most: 8.0 * US, factor: 1.5 };
/// 1 µs for each dependant, however many there are.
const SWAP: Reach = Reach::Both { most: US, factor: 1.5 };
/// 30 ms, and linear.
const CHAIN: Reach = Reach::Both { most: 30.0 * MS, factor: 1.5 };

/// A quarter of what the reference needs for the same log on the machine of `docs/performance.md`.
const fn open_ms(reference: f64) -> Reach {
    Reach::AtMost(reference * MS / 4.0)
}

/// A command that is started by hand, and 15 % more.
const SPAWN: Reach = Reach::Floor { factor: 1.15, plus: 0.0 };
/// Half the speed of a pipe into `cat`.
const STREAM: Reach = Reach::Floor { factor: 2.0, plus: 0.0 };

/// What three listeners of a station, three guards or a policy may add to the bare call.
const fn adds(ns: f64) -> Reach {
    Reach::Floor { factor: 1.0, plus: ns }
}

/// All of them, in the order of the report.
pub const WORKS: &[Work] = &[
    ns("emit/1", emit(1.0)),
    ns("emit/10", emit(10.0)),
    ns("emit/100", emit(100.0)),
    ns("emit/1000", emit(1_000.0)),
    Work { name: "emit-two-threads", unit: Unit::Ratio, reach: Reach::AtLeast(1.4) },
    ns("waterfall/1", WATERFALL),
    ns("waterfall/10", WATERFALL),
    ns("waterfall/100", WATERFALL),
    ns("serial/10", Reach::AtMost(350.0)),
    ns("parallel/10", Reach::AtMost(350.0)),
    ns("get", Reach::AtMost(30.0)),
    ns("handle-get", Reach::AtMost(18.0)),
    ns("scope-1000", scoped(1.0)),
    ns("scope-1000/2-buckets", scoped(2.0)),
    ns("scope-1000/3-buckets", scoped(3.0)),
    ns("load/1", LOAD),
    ns("load/100", LOAD),
    ns("load/1000", LOAD),
    ns("load/10000", LOAD),
    ns("load-worker/1", LOAD),
    ns("load-worker/100", LOAD),
    ns("load-worker/1000", LOAD),
    ns("load-worker/10000", LOAD),
    ns("load-block-on/1", LOAD_BLOCK_ON),
    ns("load-block-on/100", LOAD_BLOCK_ON),
    ns("load-block-on/1000", LOAD_BLOCK_ON),
    ns("load-block-on/10000", LOAD_BLOCK_ON),
    ns("swap/250", SWAP),
    ns("swap/1000", SWAP),
    ns("swap/4000", SWAP),
    ns("chain/10000/up", CHAIN),
    ns("chain/10000/down", CHAIN),
    ns("chain/10000/back", CHAIN),
    ns("churn/1000", Reach::AtMost(40.0 * US)),
    Work { name: "memory", unit: Unit::Bytes, reach: Reach::AtMost(500.0) },
    Work { name: "leak", unit: Unit::Bytes, reach: Reach::AtMost(0.0) },
    ns("session-append", Reach::AtMost(1.5 * US)),
    ns("session-derive/10000", Reach::AtMost(3.0 * US)),
    ns("session-open/plain", open_ms(463.0)),
    ns("session-open/packed", open_ms(301.0)),
    ns("session-open/zstd", open_ms(382.0)),
    Work { name: "session-memory/plain", unit: Unit::Ratio, reach: Reach::AtMost(3.0) },
    Work { name: "session-memory/packed", unit: Unit::Ratio, reach: Reach::AtMost(3.0) },
    ns("session-durable-append", Reach::Floor { factor: 1.3, plus: 0.0 }),
    ns("tool-call/bare", Reach::AtMost(3.0 * US)),
    ns("tool-call/typed", Reach::AtMost(3.0 * US)),
    ns("tool-call/policies", Reach::AtMost(6.0 * US)),
    ns("tool-call/agents/1000", Reach::Floor { factor: 1.1, plus: 0.0 }),
    ns("tool-call/arguments/parsed", Reach::Floor { factor: 1.0, plus: 6.0 * US }),
    ns("tool-call/arguments/text", Reach::AtMost(60.0 * US)),
    ns("tool-call-station/pre-execute", adds(300.0)),
    ns("tool-call-station/guards", adds(400.0)),
    ns("tool-call-station/execute", adds(300.0)),
    ns("tool-call-station/post-execute", adds(300.0)),
    ns("tool-call-station/result", adds(100.0)),
    ns("tool-call-station/timeout-policy", adds(600.0)),
    ns("tool-call-worker/bare", Reach::AtMost(3.0 * US)),
    ns("tool-call-worker/policies", Reach::AtMost(6.0 * US)),
    ns("spawn/true", SPAWN),
    ns("spawn/bash-tool", SPAWN),
    ns("spawn/true/large-host", SPAWN),
    ns("stream/100MB", STREAM),
    ns("stream/100MB/bash-tool", STREAM),
    ns("model/decode-10MB", Reach::AtMost(DECODE)),
    ns("model/first-delta", Reach::AtMost(200.0 * US)),
    ns("model/piece", Reach::AtMost(1.0 * US)),
    ns("model/piece/3-listeners", Reach::AtMost(3.0 * US)),
    ns("agent/step/0-messages", Reach::AtMost(MS)),
    ns("agent/step/1000-messages", Reach::AtMost(MS)),
    ns("run/version", Reach::AtMost(5.0 * MS)),
    ns("run/three-bash", Reach::AtMost(60.0 * MS)),
    Work { name: "run/three-bash/memory", unit: Unit::Bytes, reach: Reach::AtMost(25.0 * 1024.0 * 1024.0) },
];
