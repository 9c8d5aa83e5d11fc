//! A tracing layer that keeps the most recent records, each with the name of the plugin it came from (feature `log`).
//!
//! The host enters a span of target `cordis::plugin` around each poll of a plugin's code; the layer reads the name there.
//!
//! ```
//! use cordis::log::Recent;
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let recent = Recent::new(1000);
//! let subscriber = tracing_subscriber::registry().with(recent.layer());
//! tracing::subscriber::with_default(subscriber, || tracing::info!("ready"));
//! assert_eq!(recent.records()[0].message, "ready");
//! ```

use crate::{
    Key,
    sync::{Arc, Mutex},
};
use serde::Serialize;
use std::{
    collections::VecDeque,
    fmt::{self, Write},
    time::{SystemTime, UNIX_EPOCH},
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

/// The recent records, for plugins that show them: provide a [`Recent`] under this key.
pub const RECENT: Key<Recent> = Key::new("logger");

/// How many records are kept unless said otherwise. Source: the reference's buffer exporter.
pub const DEFAULT_CAPACITY: usize = 1000;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogRecord {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it was made, in milliseconds since the epoch.
    pub time_ms: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: &'static str,
    /// The module or target that made it.
    pub target: String,
    /// The plugin whose code made it, as `name#uid`.
    pub plugin: Option<String>,
    /// Its message.
    pub message: String,
    /// Its other fields, in order.
    pub fields: Vec<(&'static str, String)>,
}

/// A bounded buffer of the most recent records; cheap to clone.
#[derive(Clone)]
pub struct Recent {
    buffer: Arc<Mutex<Buffer>>,
}

struct Buffer {
    records: VecDeque<LogRecord>,
    capacity: usize,
    number: u64,
}

impl Recent {
    /// Keeps up to `capacity` records.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Recent { buffer: Arc::new(Mutex::new(Buffer { records: VecDeque::new(), capacity, number: 0 })) }
    }

    /// The layer that fills it.
    #[must_use]
    pub fn layer(&self) -> RecentLayer {
        RecentLayer { recent: self.clone() }
    }

    /// The records, oldest first.
    #[must_use]
    pub fn records(&self) -> Vec<LogRecord> {
        self.buffer.lock().records.iter().cloned().collect()
    }
}

impl Default for Recent {
    fn default() -> Self {
        Recent::new(DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, capacity) = {
            let buffer = self.buffer.lock();
            (buffer.records.len(), buffer.capacity)
        };
        f.debug_struct("Recent").field("kept", &kept).field("capacity", &capacity).finish_non_exhaustive()
    }
}

/// See [`Recent::layer`].
#[derive(Debug)]
pub struct RecentLayer {
    recent: Recent,
}

/// The plugin's name, kept with its span.
struct PluginName(String);

impl<S> Layer<S> for RecentLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if attributes.metadata().target() != "cordis::plugin" {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let name = fields.others.into_iter().find(|(name, _)| *name == "name");
        if let (Some(span), Some((_, name))) = (ctx.span(id), name) {
            span.extensions_mut().insert(PluginName(name));
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let named = fields.others.iter().find(|(name, _)| *name == "plugin").map(|(_, name)| name.clone());
        let plugin = named.or_else(|| {
            let scope = ctx.event_scope(event)?;
            scope
                .into_iter()
                .find_map(|span| span.extensions().get::<PluginName>().map(|name| name.0.clone()))
        });
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut buffer = self.recent.buffer.lock();
        buffer.number += 1;
        let record = LogRecord {
            number: buffer.number,
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            level: level(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            plugin,
            message: fields.message,
            fields: fields.others,
        };
        if buffer.records.len() >= buffer.capacity {
            buffer.records.pop_front();
        }
        if buffer.capacity > 0 {
            buffer.records.push_back(record);
        }
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.others.push((field.name(), value.to_owned()));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            self.others.push((field.name(), format!("{value:?}")));
        }
    }
}
