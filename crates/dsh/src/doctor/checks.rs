//! What can be looked at without asking anybody.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Check;
use crate::app::runtime;
use crate::cli::DoctorArgs;
use crate::exit::Failure;
use crate::home::home;
use crate::run::beginning::check_writable;
use crate::run::hooks::Hooks;
use crate::run::model::{DEEPSEEK, KEY, Model};
use crate::session::place::Place;
use crate::tools::call::workspace;
use crate::tools::host::offered;

const BASE_URL: &str = "DEEPSEEK_BASE_URL";
const DEEPSEEKS_OWN: &str = "https://api.deepseek.com";

/// Everything, in the order in which a run needs it.
pub(super) fn all(args: &DoctorArgs) -> Vec<Check> {
    let mut checks = vec![program(), folder()];
    checks.extend(sessions());
    checks.extend([key(), base_url(), model(), shell(), terminal()]);
    checks.extend(args.hooks.as_deref().map(hooks));
    checks
}

fn program() -> Check {
    let version = env!("CARGO_PKG_VERSION");
    let path = env::current_exe().map_or_else(|_| String::new(), |path| format!(" ({})", path.display()));
    Check::ok("dsh", format!("{version}{path}"))
}

fn folder() -> Check {
    match workspace(None) {
        Ok(folder) => Check::ok("folder", format!("{}, where tasks work", folder.display())),
        Err(error) => Check::fail("folder", format!("{error:#}"), "go to a folder that is there"),
    }
}

fn sessions() -> Vec<Check> {
    let mend = "set DSH_HOME to a folder that can be written";
    let home = match home().and_then(|home| Ok(std::path::absolute(home)?)) {
        Ok(home) => home,
        Err(failure) => return vec![Check::fail("home", text(&failure), mend)],
    };
    let named = env::var_os("DSH_HOME").is_some_and(|home| !home.to_string_lossy().trim().is_empty());
    let by = if named { "DSH_HOME" } else { "DSH_HOME is not set" };
    let of_home = Check::ok("home", format!("{} ({by})", home.display()));
    let root = home.join("sessions");
    let of_sessions = match (check_writable(&root), stored(&root)) {
        (Err(error), _) => Check::fail("sessions", format!("{error:#}"), mend),
        (Ok(()), Err(failure)) => Check::fail("sessions", text(&failure), "`dsh session check` says more"),
        (Ok(()), Ok(0)) => Check::ok("sessions", "none yet; they can be written"),
        (Ok(()), Ok(count)) => Check::ok("sessions", format!("{count} stored; they can be written")),
    };
    vec![of_home, of_sessions]
}

/// How many sessions there are.
fn stored(root: &Path) -> Result<usize, Failure> {
    if !root.exists() {
        return Ok(0);
    }
    let listed = Place::named(Some(root))?.open()?.list();
    listed.map(|listed| listed.len()).map_err(Failure::from)
}

fn key() -> Check {
    let mend =
        format!("to ask a model: export {KEY}=…, the key alone (a server that needs none takes any word)");
    let Some(key) = env::var_os(KEY).filter(|key| !key.is_empty()) else {
        return Check::missing("key", format!("{KEY} is not set: tasks are answered from a script"), mend);
    };
    let is_key = key
        .to_str()
        .map(str::trim)
        .is_some_and(|key| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()));
    if is_key {
        Check::ok("key", format!("{KEY} is set (not shown)"))
    } else {
        Check::fail("key", format!("{KEY} holds blanks, or what no key has in it"), mend)
    }
}

fn base_url() -> Check {
    let Some(given) = env::var_os(BASE_URL).filter(|url| !url.to_string_lossy().trim().is_empty()) else {
        return Check::ok("server", format!("{DEEPSEEKS_OWN} ({BASE_URL} is not set)"));
    };
    let mend = format!("write it as {BASE_URL}={DEEPSEEKS_OWN} or http://localhost:8080/v1");
    let Some(url) = given.to_str().map(str::trim) else {
        return Check::fail("server", format!("{BASE_URL} is no text"), mend);
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => {
            let mend = "take the user name and the password out: the key comes from its own variable";
            Check::fail("server", format!("{BASE_URL} has a user name in it (not shown)"), mend)
        }
        Some(host) if !host.is_empty() => {
            // A query may hold a secret.
            let shown = url.split('?').next().unwrap_or_default();
            Check::ok("server", format!("{shown} ({BASE_URL})"))
        }
        _ => Check::fail("server", format!("{BASE_URL} is no URL of a server"), mend),
    }
}

fn model() -> Check {
    match Model::chosen(None, None) {
        Ok(model) if model.provider == DEEPSEEK => {
            Check::ok("model", format!("{} of {}; --model names another one", model.name, model.provider))
        }
        Ok(_) => Check::ok("model", "the script, until there is a key"),
        Err(failure) => Check::fail("model", text(&failure), "name one with --model"),
    }
}

fn shell() -> Check {
    let asked = Command::new("bash").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    match asked {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout);
            Check::ok("shell", said.lines().next().unwrap_or("bash").to_owned())
        }
        Ok(output) => {
            Check::fail("shell", format!("bash ended with {}", output.status), "mend or reinstall bash")
        }
        Err(error) => {
            Check::fail("shell", format!("bash cannot be run: {error}"), "install bash, or put it on PATH")
        }
    }
}

/// Whether somebody can be asked, and sees what goes on.
fn terminal() -> Check {
    let can_ask = OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok();
    match (can_ask, io::stderr().is_terminal()) {
        (true, true) => Check::ok("terminal", "there is one: progress is shown, and you can be asked"),
        (true, false) => {
            Check::ok("terminal", "you can be asked; progress is not shown, standard error goes elsewhere")
        }
        (false, _) => Check::missing(
            "terminal",
            "there is none: a call that needs approval is refused",
            "run dsh in a terminal if you want to be asked",
        ),
    }
}

fn hooks(file: &Path) -> Check {
    match Hooks::read(file) {
        Ok(hooks) => {
            let found = format!("{} of {} in {}", hooks.count(), hooks.dialect(), hooks.file.display());
            let tools = runtime().and_then(|runtime| runtime.block_on(offered()));
            match tools.map(|tools| hooks.for_nothing(&tools)).unwrap_or_default().split_first() {
                None => Check::ok("hooks", found),
                Some((first, _)) => Check::missing(
                    "hooks",
                    format!("{found}; {first}"),
                    format!("`dsh hooks check {}` says which run for which tool", file.display()),
                ),
            }
        }
        Err(failure) => {
            Check::fail("hooks", text(&failure), format!("`dsh hooks check {}` says more", file.display()))
        }
    }
}

fn text(failure: &Failure) -> String {
    format!("{:#}", failure.error())
}
