//! Where a run begins: a session, new or stored, and the folder that it works in.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow, ensure};
use dsh_session::{Listed, Location, Origin, RequestContext, Storage};
use dsh_session_jsonl::Compression;

use crate::exit::Failure;
use crate::session::meant::completed;
use crate::session::place::Place;
use crate::session::trouble::told;
use crate::tools::call::workspace;
use crate::visible::visible;

/// What `--resume` calls the session of a folder that was written to last.
const LAST: &str = "last";

/// A session and its folder.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// The session's id.
    pub(crate) id: String,
    /// Whether it is stored.
    pub(crate) is_stored: bool,
    /// How many events are stored of it.
    pub(crate) stored_events: usize,
    /// Where it works, a real path.
    pub(crate) workspace: PathBuf,
    /// The folder as the session knows it.
    pub(crate) cwd: String,
    /// Where sessions are kept.
    pub(crate) root: PathBuf,
    /// How they are written there.
    pub(crate) compression: Compression,
    /// The provider and the model that it asked last.
    pub(crate) model: Option<(String, String)>,
    /// What the user has to know of it.
    pub(crate) note: Option<String>,
}

impl Beginning {
    /// The session that is asked for, or a new one. Nothing is made yet.
    pub(crate) fn of(root: &Path, resume: Option<&str>, folder: Option<&Path>) -> Result<Self, Failure> {
        let root = std::path::absolute(root).context("cannot find the folder of sessions")?;
        check_writable(&root).map_err(Failure::bad_input)?;
        match resume {
            Some(given) => Self::stored(root, given, folder),
            None => Self::fresh(root, folder),
        }
    }

    fn fresh(root: PathBuf, folder: Option<&Path>) -> Result<Self, Failure> {
        let workspace = workspace(folder).map_err(Failure::bad_input)?;
        Ok(Self {
            id: format!("session-{}", uuid::Uuid::new_v4()),
            is_stored: false,
            stored_events: 0,
            cwd: text(&workspace)?,
            workspace,
            compression: Place::encoding_of_first(&root),
            root,
            model: None,
            note: None,
        })
    }

    fn stored(root: PathBuf, given: &str, folder: Option<&Path>) -> Result<Self, Failure> {
        let place = Place::named(None)?;
        let storage = place.open()?;
        let id = match given {
            "" => return Err(Failure::bad_input(anyhow!("--resume: give the id of a session, or `{LAST}`"))),
            LAST => last(&*storage, &place, &workspace(folder).map_err(Failure::bad_input)?)?,
            given => completed(&*storage, given, &place)?,
        };
        let stored = storage.read(&id).map_err(|error| told(error, &place))?;
        let stored = stored.ok_or_else(|| anyhow!("the session `{}` went away", visible(&id)))?;
        let asked = stored.events.iter().rev().find_map(|event| event.payload::<RequestContext>().ok()?);
        let (workspace, cwd, note) = match stored.header.cwd {
            Some(cwd) => {
                let shown = visible(&cwd);
                let own = workspace(Some(Path::new(&cwd)))
                    .with_context(|| format!("the session `{}` works in {shown}", visible(&id)))
                    .map_err(Failure::bad_input)?;
                let given = folder.map(|folder| workspace(Some(folder))).transpose();
                let given = given.map_err(Failure::bad_input)?;
                let differs = given.is_some_and(|given| given != own);
                let note = format!("the session works in {shown}, not in the folder of --workspace");
                (own, cwd, differs.then_some(note))
            }
            None => {
                let own = workspace(folder).map_err(Failure::bad_input)?;
                let cwd = text(&own)?;
                (own, cwd, None)
            }
        };
        let model = asked.map(|asked| (asked.provider, asked.model));
        let stored_events = stored.events.len();
        let compression = Place::encoding_of_first(&root);
        Ok(Self { id, is_stored: true, stored_events, workspace, cwd, root, compression, model, note })
    }
}

/// The session of a folder that was written to last. Agents that worked for others do not count.
fn last(storage: &dyn Storage, place: &Place, folder: &Path) -> Result<String, Failure> {
    let listed = storage.list().map_err(|error| told(error, place))?;
    let is_here = |listed: &Listed| {
        let cwd = listed.header.cwd.as_deref().map(Path::new);
        listed.header.origin != Some(Origin::Subagent)
            && cwd.is_some_and(|cwd| cwd == folder || cwd.canonicalize().is_ok_and(|cwd| cwd == folder))
    };
    let written = |listed: &Listed| -> Option<SystemTime> {
        let Location::Jsonl { path } = storage.locate(&listed.header)? else { return None };
        fs::metadata(path).ok()?.modified().ok()
    };
    let here = listed.iter().filter(|listed| is_here(listed));
    let last = here.max_by_key(|listed| (written(listed), listed.header.created_at_ms));
    last.map(|last| last.header.id.clone()).ok_or_else(|| {
        let folder = visible(&folder.display().to_string());
        Failure::bad_input(anyhow!(
            "there is no session of {folder} in {place}; `dsh session ls` names those of other folders"
        ))
    })
}

/// A session's folder is in its log.
fn text(folder: &Path) -> Result<String, Failure> {
    let text = folder.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        let shown = visible(&folder.display().to_string());
        Failure::bad_input(anyhow!("cannot work in {shown}: its name is no text"))
    })
}

/// Whether sessions can be kept below a folder, which need not be there yet.
pub(crate) fn check_writable(root: &Path) -> anyhow::Result<()> {
    let shown = visible(&root.display().to_string());
    let mend = "set DSH_HOME to a folder that can be written";
    let nearest = root.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap_or(root);
    ensure!(
        nearest.is_dir(),
        "cannot keep sessions in {shown}: {} is no folder; {mend}",
        visible(&nearest.display().to_string())
    );
    tempfile::tempfile_in(nearest).with_context(|| format!("cannot keep sessions in {shown}: {mend}"))?;
    Ok(())
}
