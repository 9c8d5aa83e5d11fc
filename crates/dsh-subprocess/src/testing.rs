//! Processes that do what a test says, for the tests of plugin authors (feature `testing`).

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io::Cursor;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::error::{ResolveError, SpawnError, WaitError};
use crate::output::{Cut, Delta, OutputBuffer};
use crate::process::{Collected, Control, Exit, Process, Reader, Spill, Stream, Subprocess, Writer};
use crate::spawn::{Output, SpawnSpec, Stdin};

/// A process that is told to end (SIGTERM) and does.
const TERMINATED: Exit = Exit { code: None, signal: Some(15) };
/// A process that is killed (SIGKILL).
const KILLED: Exit = Exit { code: None, signal: Some(9) };

/// Starts no program. Each process prints what the test says, and ends when and as the test says, or when it is told to.
///
/// All processes end as one: a test that needs two has two of these.
///
/// # Examples
/// ```
/// use dsh_subprocess::testing::ScriptedSubprocess;
/// use dsh_subprocess::{Collect, Exit, Output, SpawnSpec, Stream, Subprocess};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let scripted = ScriptedSubprocess::default(); // a test provides it as `SUBPROCESS`
/// scripted.print(Stream::Stdout, "hello\n");
/// let spec = SpawnSpec { stdout: Output::Collected(Collect::both_ends(64)), ..SpawnSpec::new(["greet"]) };
/// let process = scripted.spawn(spec)?;
/// assert!(process.try_exited().is_none());
/// scripted.end(Ok(Exit { code: Some(0), signal: None }));
/// assert_eq!(process.collected().await?.code, Some(0));
/// assert_eq!(process.output(Stream::Stdout).map(|it| it.text().head), Some("hello\n".to_owned()));
/// assert_eq!(scripted.started(), [["greet"]]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ScriptedSubprocess(Arc<Script>);

/// How a process ended.
pub type Ended = Result<Exit, WaitError>;

#[derive(Default)]
struct Script {
    started: Mutex<Vec<Vec<OsString>>>,
    stdout: Mutex<Vec<u8>>,
    stderr: Mutex<Vec<u8>>,
    ended: watch::Sender<Option<Ended>>,
    told: Mutex<Option<Arc<dyn Fn() -> bool + Send + Sync>>>,
}

struct Scripted {
    script: Arc<Script>,
    stdout: Option<Arc<dyn Collected>>,
    stderr: Option<Arc<dyn Collected>>,
}

struct Printed(OutputBuffer);

impl ScriptedSubprocess {
    /// The command lines that were started, in order.
    #[must_use]
    pub fn started(&self) -> Vec<Vec<OsString>> {
        self.0.started.lock().clone()
    }

    /// What the processes that are started from now on print, after what was said before.
    pub fn print(&self, stream: Stream, text: &str) {
        self.0.stream(stream).lock().extend(text.as_bytes());
    }

    /// What a process does instead of ending by SIGTERM when it is told to end, and whether it had not ended; see
    /// [`Control::terminate`].
    pub fn when_told(&self, told: impl Fn() -> bool + Send + Sync + 'static) {
        *self.0.told.lock() = Some(Arc::new(told));
    }

    /// Ends every process, those that are still to be started too.
    pub fn end(&self, ended: Ended) {
        self.0.ended.send_replace(Some(ended));
    }
}

impl Script {
    fn stream(&self, stream: Stream) -> &Mutex<Vec<u8>> {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    /// Whether it had not ended.
    fn end_by(&self, exit: Exit) -> bool {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert(Ok(exit));
            is_first
        })
    }

    fn wait(&self) -> Pin<Box<dyn Future<Output = Ended> + Send>> {
        let mut ended = self.ended.subscribe();
        Box::pin(async move {
            let ended = ended.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
            match ended {
                Some(ended) => ended,
                // Nobody is left who could end it.
                None => std::future::pending().await,
            }
        })
    }
}

impl Subprocess for ScriptedSubprocess {
    fn resolve_executable(&self, program: &OsStr) -> Result<PathBuf, ResolveError> {
        Ok(PathBuf::from(program))
    }

    fn spawn(&self, spec: SpawnSpec) -> Result<Process, SpawnError> {
        let script = &self.0;
        script.started.lock().push(spec.argv);
        let stdin: Option<Writer> = match spec.stdin {
            Stdin::Closed | Stdin::Bytes(_) => None,
            Stdin::Piped => Some(Box::pin(tokio::io::sink())),
        };
        let (stdout, read_stdout) = printed(spec.stdout, script.stdout.lock().clone());
        let (stderr, read_stderr) = printed(spec.stderr, script.stderr.lock().clone());
        let control = Scripted { script: Arc::clone(script), stdout, stderr };
        Ok(Process::new(Arc::new(control), stdin, read_stdout, read_stderr))
    }
}

/// What a process prints, as its starter asked for it.
fn printed(output: Output, bytes: Vec<u8>) -> (Option<Arc<dyn Collected>>, Option<Reader>) {
    match output {
        Output::Discarded | Output::Inherited => (None, None),
        Output::Piped => (None, Some(Box::pin(Cursor::new(bytes)))),
        Output::Collected(mut collect) => {
            let mut buffer = OutputBuffer::new(collect.head_bytes, collect.tail_bytes);
            buffer.push(&bytes);
            if let Some(watch) = collect.watch.as_mut().filter(|_| !bytes.is_empty()) {
                watch(&bytes);
            }
            (Some(Arc::new(Printed(buffer))), None)
        }
    }
}

impl Control for Scripted {
    fn id(&self) -> u32 {
        7
    }

    fn terminate(&self) -> bool {
        let told = self.script.told.lock().clone();
        told.map_or_else(|| self.script.end_by(TERMINATED), |told| told())
    }

    fn kill(&self) {
        self.script.end_by(KILLED);
    }

    fn exited(&self) -> Pin<Box<dyn Future<Output = Ended> + Send>> {
        self.script.wait()
    }

    fn collected(&self) -> Pin<Box<dyn Future<Output = Ended> + Send>> {
        self.script.wait()
    }

    fn try_exited(&self) -> Option<Ended> {
        self.script.ended.borrow().clone()
    }

    fn try_collected(&self) -> Option<Ended> {
        self.try_exited()
    }

    fn output(&self, stream: Stream) -> Option<Arc<dyn Collected>> {
        match stream {
            Stream::Stdout => self.stdout.clone(),
            Stream::Stderr => self.stderr.clone(),
        }
    }

    fn let_go(&self) {
        self.kill();
    }
}

impl Collected for Printed {
    fn text(&self) -> Cut {
        self.0.text()
    }

    fn read(&self, offset: u64) -> Delta {
        self.0.read(offset)
    }

    fn spill(&self) -> Spill {
        Spill::None
    }
}
