//! Where something happens: in which session, and in which folder.

use cordis::Context;
use dsh_session::{Location, PERSISTENCE, SessionHeader};

/// Where something happens: in which session, and in which folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The session's id; none without an agent.
    pub session_id: Option<String>,
    /// The file that the session is written to, if it is.
    pub transcript_path: Option<String>,
    /// The session's folder, in which hooks run.
    pub session_cwd: Option<String>,
    /// The same, or the folder of this process.
    pub cwd: String,
}

impl Place {
    pub(crate) fn of(ctx: &Context, session: Option<&SessionHeader>, process_cwd: &str) -> Self {
        let Some(header) = session else { return Self { cwd: process_cwd.to_owned(), ..Self::default() } };
        let persistence = ctx.get(PERSISTENCE);
        let location = persistence.and_then(|it| it.get().ok()?.locate(header));
        Self {
            session_id: Some(header.id.clone()),
            transcript_path: location.and_then(file),
            session_cwd: header.cwd.clone(),
            cwd: header.cwd.clone().unwrap_or_else(|| process_cwd.to_owned()),
        }
    }
}

fn file(location: Location) -> Option<String> {
    match location {
        Location::Jsonl { path } => Some(path.to_string_lossy().into_owned()),
        // It is nowhere that a hook could read.
        _ => None,
    }
}
