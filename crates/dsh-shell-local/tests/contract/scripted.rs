//! The shell on processes that do what a test says.

use std::sync::Arc;

use cordis::Handle;
use cordis::testing::TestApp;
use dsh_shell::{SHELL, Shell};
use dsh_shell_local::Config;
use dsh_subprocess::testing::{Ended, ScriptedSubprocess};
use dsh_subprocess::{Exit, SUBPROCESS};
use parking_lot::Mutex;

pub(crate) struct Scripted {
    _app: TestApp,
    pub(crate) shell: Handle<dyn Shell>,
    processes: ScriptedSubprocess,
}

pub(crate) const FINE: Exit = Exit { code: Some(0), signal: None };

impl Scripted {
    /// With processes that say this when they are told to end: whether they were told before they had ended.
    pub(crate) async fn new(told: impl FnMut() -> bool + Send + 'static) -> Self {
        let (app, processes, told) = (TestApp::new(), ScriptedSubprocess::default(), Mutex::new(told));
        processes.when_told(move || (told.lock())());
        app.provide(SUBPROCESS, Arc::new(processes.clone())).unwrap();
        app.plugin(dsh_shell_local::plugin(), Config::default()).unwrap().ready().await.unwrap();
        let shell = app.get(SHELL).unwrap();
        Self { _app: app, shell, processes }
    }

    pub(crate) fn end(&self, ended: Ended) {
        self.processes.end(ended);
    }

    /// The command lines of bash that were started.
    pub(crate) fn started(&self) -> Vec<String> {
        self.processes.started().iter().map(|argv| argv[2].to_string_lossy().into_owned()).collect()
    }
}
