//! What a caller asks for when it starts a program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long a process may take to end when it is told to, unless the caller says.
const GRACE: Duration = Duration::from_secs(3);

/// The longest grace time, almost 25 days.
///
/// Source: what timers of the reference take.
pub const MAX_GRACE: Duration = Duration::from_millis(2_147_483_647);

/// A program to start: what, where, with what, and what becomes of its streams.
#[derive(Debug)]
pub struct SpawnSpec {
    /// The program and its arguments. A program that is no absolute path is looked for; see
    /// [`Subprocess::resolve_executable`](crate::Subprocess::resolve_executable).
    pub argv: Vec<OsString>,
    /// The folder to run in; the host's if absent.
    pub cwd: Option<PathBuf>,
    /// Its environment.
    pub env: Environment,
    /// What it reads.
    pub stdin: Stdin,
    /// What becomes of its output.
    pub stdout: Output,
    /// What becomes of its errors.
    pub stderr: Output,
    /// How long it may take to end once it was told to; then its group is killed. At most [`MAX_GRACE`].
    pub grace: Duration,
    /// Cancelled to tell it to end, as by [`Control::terminate`](crate::Control::terminate).
    pub cancellation: CancellationToken,
}

/// The environment of a child: the host's without what may be a secret and without what is meant for the host, then what the
/// caller sets or removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    changes: BTreeMap<OsString, Option<OsString>>,
}

/// What a child reads.
#[derive(Debug, Default)]
pub enum Stdin {
    /// Nothing: it is at its end at once.
    #[default]
    Closed,
    /// These bytes, then the end. A child that does not read them loses nothing.
    Bytes(Vec<u8>),
    /// What the caller writes; see [`Process::take_stdin`](crate::Process::take_stdin).
    Piped,
}

/// What becomes of a stream that a child writes.
#[derive(Debug, Default)]
pub enum Output {
    /// It is thrown away.
    #[default]
    Discarded,
    /// It goes where the host's own goes.
    Inherited,
    /// The caller reads it; see [`Process::take_stdout`](crate::Process::take_stdout).
    Piped,
    /// It is read at once, and what the caller asked for is kept.
    Collected(Collect),
}

/// What is kept of a stream.
#[derive(Default)]
pub struct Collect {
    /// How much of its beginning, in bytes.
    pub head_bytes: usize,
    /// How much of its end, in bytes.
    pub tail_bytes: usize,
    /// Keep all of it in a file as well, up to so many bytes; a longer stream has no file.
    pub spill_max_bytes: Option<u64>,
    /// Told of every piece as it is read.
    pub watch: Option<Watch>,
}

/// Told of every piece of a stream, in order, on the task that reads it: it must return soon.
pub type Watch = Box<dyn FnMut(&[u8]) + Send>;

impl SpawnSpec {
    /// A program that reads nothing, whose streams are thrown away, in the host's folder.
    #[must_use]
    pub fn new<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Environment::default(),
            stdin: Stdin::Closed,
            stdout: Output::Discarded,
            stderr: Output::Discarded,
            grace: GRACE,
            cancellation: CancellationToken::new(),
        }
    }
}

impl Environment {
    /// Sets a variable, whatever its name is.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.changes.insert(name.into(), Some(value.into()));
    }

    /// Has the child not get a variable.
    pub fn remove(&mut self, name: impl Into<OsString>) {
        self.changes.insert(name.into(), None);
    }

    /// The name of a variable to set that no system takes: an empty one, one with `=` or a NUL, or one with a value with a NUL.
    #[must_use]
    pub fn unfit(&self) -> Option<&OsStr> {
        let has = |text: &OsStr, byte| text.as_encoded_bytes().contains(&byte);
        let set = self.changes.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let mut unfit =
            set.filter(|(name, value)| name.is_empty() || has(name, b'=') || has(name, 0) || has(value, 0));
        unfit.next().map(|(name, _)| name.as_os_str())
    }

    /// The whole environment of a child of a host that has `inherited`.
    pub fn resolve(
        &self,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let mut env: BTreeMap<OsString, OsString> =
            inherited.into_iter().filter(|(name, _)| is_passed_on(name)).collect();
        for (name, value) in &self.changes {
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
        env
    }
}

impl<K: Into<OsString>, V: Into<OsString>> Extend<(K, V)> for Environment {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, variables: T) {
        for (name, value) in variables {
            self.set(name, value);
        }
    }
}

/// Whether a child gets a variable of the host: one that does not look like a secret and is not meant for the host.
fn is_passed_on(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    !name.starts_with("DSH_")
        && !["KEY", "PASSWORD", "SECRET", "TOKEN"].iter().any(|secret| name.contains(secret))
}

impl Collect {
    /// Keeps `bytes` at most: one half of the beginning, the other of the end.
    #[must_use]
    pub fn both_ends(bytes: usize) -> Self {
        Self { head_bytes: bytes / 2, tail_bytes: bytes - bytes / 2, ..Self::default() }
    }
}

impl fmt::Debug for Collect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collect")
            .field("head_bytes", &self.head_bytes)
            .field("tail_bytes", &self.tail_bytes)
            .field("spill_max_bytes", &self.spill_max_bytes)
            .field("watch", &self.watch.is_some())
            .finish()
    }
}
