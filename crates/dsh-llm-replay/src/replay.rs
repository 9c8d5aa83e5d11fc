//! Who is given which answers.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use dsh_llm::{LlmError, ModelRequest, Purpose, code};
use parking_lot::Mutex;

use crate::config::Config;
use crate::entry::Entry;
use crate::error::LoadError;
use crate::file::read;
use crate::overrides;
use crate::placeholder::filled;
use crate::recording::{self, Recording};
use crate::steps::{self, EMBEDDED, Step, saying};

/// What is being played; provided as [`REPLAY`](crate::REPLAY).
pub struct Replay {
    source: Source,
    state: Mutex<State>,
}

enum Source {
    /// Steps for every session.
    Script(Vec<Step>),
    /// The recorded sessions, in the order in which they are given out.
    Recordings(Vec<Recording>),
}

#[derive(Default)]
struct State {
    /// Which script each live session is given; one without an id is one session.
    bound: HashMap<Option<String>, usize>,
    /// Which answer of each script, or of each session's script, is next.
    cursors: HashMap<usize, usize>,
}

/// A recorded session that was not played to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The session's id in its recording.
    pub session: String,
    /// How many of its answers were asked for; none if no session was given it.
    pub played: Option<usize>,
    /// How many there are.
    pub recorded: usize,
}

impl Replay {
    /// Reads what the configuration names.
    pub(crate) fn load(config: &Config) -> Result<Self, LoadError> {
        let source = match &config.file {
            Some(path) => Self::read_source(path, config)?,
            None if config.overrides.is_some()
                || config.child_files.as_ref().is_some_and(|files| !files.is_empty()) =>
            {
                return Err(LoadError::NoRecording);
            }
            None => Source::Script(steps::parse(EMBEDDED, Path::new("(embedded)"))?),
        };
        Ok(Self { source, state: Mutex::default() })
    }

    fn read_source(path: &Path, config: &Config) -> Result<Source, LoadError> {
        let text = read(path)?;
        let children = config.child_files.as_deref().unwrap_or_default();
        if steps::is_script(&text) {
            if config.overrides.is_some() || !children.is_empty() {
                return Err(LoadError::NotARecording { path: path.to_owned() });
            }
            return Ok(Source::Script(steps::parse(&text, path)?));
        }
        let mut primary = match &config.overrides {
            None => recording::parse(&text, path, false)?,
            Some(overriding) => {
                let changes = read(overriding)?;
                let mut primary = match overrides::replaces_all(&changes) {
                    true => Recording::default(),
                    false => recording::parse(&text, path, false)?,
                };
                primary.entries = overrides::apply(&changes, primary.entries, overriding)?;
                primary
            }
        };
        if primary.id.is_empty() {
            primary.id = path.to_string_lossy().into_owned();
        }
        let mut recordings = Vec::new();
        for child in children {
            recordings.push(recording::parse(&read(child)?, child, true)?);
        }
        recordings.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        recordings.insert(0, primary);
        Ok(Source::Recordings(recordings))
    }

    /// The answer to a request: the next one of its session.
    pub(crate) fn next(&self, request: &ModelRequest) -> Result<Entry, LlmError> {
        match &self.source {
            Source::Script(steps) => self.next_step(steps, request),
            Source::Recordings(recordings) => self.next_recorded(recordings, request)?.filled(request),
        }
    }

    fn next_step(&self, steps: &[Step], request: &ModelRequest) -> Result<Entry, LlmError> {
        if request.purpose == Some(Purpose::SessionTitle) {
            return Ok(saying("A scripted session"));
        }
        let mut state = self.state.lock();
        let known = state.bound.len();
        let session = *state.bound.entry(request.session_id.clone()).or_insert(known);
        let cursor = state.cursors.entry(session).or_default();
        let number = *cursor;
        *cursor += 1;
        drop(state);
        let step = steps[number.min(steps.len() - 1)].clone();
        // Before the texts are cut into pieces, which would cut placeholders too.
        Ok(filled(step, request)?.entry(number))
    }

    fn next_recorded(&self, recordings: &[Recording], request: &ModelRequest) -> Result<Entry, LlmError> {
        let mut state = self.state.lock();
        let known = state.bound.len();
        let place = *state.bound.entry(request.session_id.clone()).or_insert(known);
        let Some(recording) = recordings.get(place) else {
            let message = format!(
                "more sessions ask a model than were recorded, which are {}: {}",
                recordings.len(),
                request.session_id.as_deref().unwrap_or("one without an id"),
            );
            return Err(LlmError::new(code::UNKNOWN, message));
        };
        let cursor = state.cursors.entry(place).or_default();
        let entry = recording.entries.get(*cursor).cloned();
        *cursor += 1;
        entry.ok_or_else(|| {
            let message = format!(
                "the recorded session {:?} has {} answers, and one more is asked for",
                recording.id,
                recording.entries.len(),
            );
            LlmError::new(code::UNKNOWN, message)
        })
    }

    /// The recorded sessions that were not played to their end; nothing for a script, which has none.
    #[must_use]
    pub fn leftovers(&self) -> Vec<Leftover> {
        let Source::Recordings(recordings) = &self.source else { return Vec::new() };
        let state = self.state.lock();
        let mut leftovers = Vec::new();
        for (place, recording) in recordings.iter().enumerate() {
            let played = state.cursors.get(&place).copied();
            if played.unwrap_or(0) < recording.entries.len() || played.is_none() {
                let (session, recorded) = (recording.id.clone(), recording.entries.len());
                leftovers.push(Leftover { session, played, recorded });
            }
        }
        leftovers
    }

    /// Fails a test that has not asked for every recorded answer.
    ///
    /// # Panics
    /// Something is left over.
    #[track_caller]
    pub fn assert_consumed(&self) {
        let leftovers = self.leftovers();
        assert!(leftovers.is_empty(), "recorded answers were not asked for: {leftovers:?}");
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, count) = match &self.source {
            Source::Script(steps) => ("script", steps.len()),
            Source::Recordings(recordings) => ("recordings", recordings.len()),
        };
        f.debug_struct("Replay").field(kind, &count).finish_non_exhaustive()
    }
}
