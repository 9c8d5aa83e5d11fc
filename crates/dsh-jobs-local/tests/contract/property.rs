//! Random programs of what can be done with jobs, against a plain list of what there should be.

use std::time::Duration;

use dsh_agent::Agent;
use dsh_jobs::{JobId, JobSnapshot, JobStatus, KillOutcome, StartError, TerminalStatus, WaitError};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Work, obedient_work, outcome, request, work};

const LIMIT: usize = 2;
const SESSIONS: [&str; 2] = ["s-0", "s-1"];

/// Jobs and sessions by number, modulo how many there are.
#[derive(Clone, Debug)]
enum Act {
    Start {
        owner: Option<usize>,
        obedient: bool,
    },
    StartBroken {
        owner: Option<usize>,
    },
    Say(usize),
    Read(usize),
    Kill(usize),
    Settle(usize, TerminalStatus),
    Wait(usize),
    /// The oldest wait that goes on.
    AbortWait,
    AbortWaitAndSettle(usize),
    /// The agent of a session ends, and another one takes its place.
    Replace(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let owner = || prop::option::of(0..SESSIONS.len());
    let status = prop_oneof![
        Just(TerminalStatus::Completed),
        Just(TerminalStatus::Killed),
        Just(TerminalStatus::Failed)
    ];
    prop_oneof![
        6 => (owner(), any::<bool>()).prop_map(|(owner, obedient)| Act::Start { owner, obedient }),
        1 => owner().prop_map(|owner| Act::StartBroken { owner }),
        4 => (0..16usize).prop_map(Act::Say),
        4 => (0..16usize).prop_map(Act::Read),
        3 => (0..16usize).prop_map(Act::Kill),
        4 => (0..16usize, status).prop_map(|(job, status)| Act::Settle(job, status)),
        4 => (0..16usize).prop_map(Act::Wait),
        1 => Just(Act::AbortWait),
        2 => (0..16usize).prop_map(Act::AbortWaitAndSettle),
        1 => (0..SESSIONS.len()).prop_map(Act::Replace),
    ]
}

/// What should be known of a job.
struct Expected {
    id: JobId,
    owner: Option<usize>,
    status: JobStatus,
    reported: bool,
    unread: String,
    obedient: bool,
    /// Its owner is gone, and it with it.
    removed: bool,
    work: Work,
}

struct Waiting {
    job: usize,
    token: CancellationToken,
    task: JoinHandle<Result<JobSnapshot, WaitError>>,
}

struct World {
    fixture: Fixture,
    agents: Vec<Agent>,
    jobs: Vec<Expected>,
    waiting: Vec<Waiting>,
    /// The ends that should have been told: the job, and whether it was reported.
    told: Vec<(JobId, bool)>,
}

/// Gives every task its turns. One thread, so this many are enough.
async fn settle_down() {
    for _ in 0..48 {
        tokio::task::yield_now().await;
    }
}

impl World {
    async fn new() -> Self {
        let fixture = Fixture::with_limit(LIMIT).await;
        let agents = SESSIONS.iter().map(|id| fixture.agent(id)).collect();
        Self { fixture, agents, jobs: Vec::new(), waiting: Vec::new(), told: Vec::new() }
    }

    fn owner(&self, owner: Option<usize>) -> Option<Agent> {
        owner.map(|owner| self.agents[owner].clone())
    }

    /// The number of a job that is there.
    fn pick(&self, job: usize) -> Option<usize> {
        let there: Vec<_> = (0..self.jobs.len()).filter(|job| !self.jobs[*job].removed).collect();
        (!there.is_empty()).then(|| there[job % there.len()])
    }

    fn active(&self, owner: Option<usize>) -> usize {
        let active = |job: &&Expected| job.owner == owner && !job.removed && !job.status.is_terminal();
        self.jobs.iter().filter(active).count()
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Start { owner, obedient } => self.start(owner, obedient),
            Act::StartBroken { owner } => {
                let agent = self.owner(owner);
                let run = Box::new(|| Err("broken".into()));
                let error = self.fixture.try_start(request(agent.as_ref(), run)).unwrap_err();
                let full = self.active(owner) >= LIMIT;
                assert_eq!(matches!(error, StartError::Full { .. }), full, "{error:?}");
            }
            Act::Say(job) => {
                let Some(job) = self.pick(job) else { return };
                let job = &mut self.jobs[job];
                if !job.status.is_terminal() {
                    job.work.say("x");
                    job.unread.push('x');
                }
            }
            Act::Read(job) => {
                let Some(number) = self.pick(job) else { return };
                let caller = self.owner(self.jobs[number].owner);
                let job = &mut self.jobs[number];
                let read = self.fixture.jobs.get().unwrap().read(job.id.as_str(), caller.as_ref()).unwrap();
                assert_eq!(read.text, std::mem::take(&mut job.unread));
                job.reported |= job.status.is_terminal();
                assert_eq!((read.job.status, read.job.reported), (job.status, job.reported));
            }
            Act::Kill(job) => self.kill(job),
            Act::Settle(job, status) => self.settle(job, status),
            Act::Wait(job) => {
                let Some(job) = self.pick(job) else { return };
                let (token, jobs) = (CancellationToken::new(), self.fixture.jobs.clone());
                let (caller, id) = (self.owner(self.jobs[job].owner), self.jobs[job].id.clone());
                let cancellation = token.clone();
                let task = tokio::spawn(async move {
                    let jobs = jobs.get().unwrap();
                    jobs.wait(id.as_str(), Duration::MAX, caller.as_ref(), &cancellation).await
                });
                if self.jobs[job].status.is_terminal() {
                    assert!(task.await.unwrap().unwrap().reported);
                    self.jobs[job].reported = true;
                } else {
                    self.waiting.push(Waiting { job, token, task });
                }
            }
            Act::AbortWait => self.abort_wait().await,
            Act::AbortWaitAndSettle(job) => {
                // In one turn: neither the wait nor the end is looked at in between.
                let aborted = (!self.waiting.is_empty()).then(|| self.waiting.remove(0));
                if let Some(aborted) = &aborted {
                    aborted.token.cancel();
                }
                let job = aborted.as_ref().map_or(job, |aborted| self.index_of(aborted.job));
                self.settle(job, TerminalStatus::Completed);
                if let Some(aborted) = aborted {
                    assert_eq!(aborted.task.await.unwrap(), Err(WaitError::Aborted));
                }
            }
            Act::Replace(session) => self.replace(session).await,
        }
        settle_down().await;
        self.check().await;
    }

    /// What [`pick`](Self::pick) takes for this very job.
    fn index_of(&self, job: usize) -> usize {
        (0..job).filter(|job| !self.jobs[*job].removed).count()
    }

    fn start(&mut self, owner: Option<usize>, obedient: bool) {
        let agent = self.owner(owner);
        let (run, work) = if obedient { obedient_work() } else { work() };
        let started = self.fixture.try_start(request(agent.as_ref(), run));
        if self.active(owner) >= LIMIT {
            assert!(matches!(started, Err(StartError::Full { .. })), "{started:?}");
            assert!(work.is_dropped());
            return;
        }
        let id = started.unwrap().id;
        assert_eq!(id, JobId::new("work", self.jobs.len() as u64 + 1));
        let (status, unread) = (JobStatus::Running, String::new());
        self.jobs.push(Expected {
            id,
            owner,
            status,
            reported: false,
            unread,
            obedient,
            removed: false,
            work,
        });
    }

    fn kill(&mut self, job: usize) {
        let Some(number) = self.pick(job) else { return };
        let caller = self.owner(self.jobs[number].owner);
        let job = &mut self.jobs[number];
        let snapshot = self.fixture.get(&known(job), caller.as_ref());
        let killed = self.fixture.kill(&snapshot, caller.as_ref(), None);
        assert_eq!(matches!(killed, KillOutcome::AlreadyFinished(_)), job.status.is_terminal());
        job.reported = true;
        if job.status.is_terminal() {
            return;
        }
        job.status = JobStatus::Stopping;
        if job.obedient {
            self.ended(number, JobStatus::Killed);
        }
    }

    fn settle(&mut self, job: usize, status: TerminalStatus) {
        let Some(number) = self.pick(job) else { return };
        if !self.jobs[number].status.is_terminal() {
            self.jobs[number].work.end(outcome(status));
            self.ended(number, status.into());
        }
    }

    fn ended(&mut self, number: usize, status: JobStatus) {
        let waited = self.waiting.iter().any(|waiting| waiting.job == number);
        let job = &mut self.jobs[number];
        job.status = status;
        job.reported |= waited;
        self.told.push((job.id.clone(), job.reported));
    }

    async fn abort_wait(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let aborted = self.waiting.remove(0);
        settle_down().await;
        aborted.token.cancel();
        assert_eq!(aborted.task.await.unwrap(), Err(WaitError::Aborted));
    }

    async fn replace(&mut self, session: usize) {
        let old = self.agents[session].clone();
        old.context().fiber().dispose().await;
        settle_down().await;
        self.agents[session] = self.fixture.agent(SESSIONS[session]);
        // Those that stop when they are told to end first.
        for obedient in [true, false] {
            for number in 0..self.jobs.len() {
                let job = &mut self.jobs[number];
                if job.owner != Some(session) || job.removed || job.obedient != obedient {
                    continue;
                }
                job.reported = true;
                if !job.status.is_terminal() {
                    self.ended(number, if obedient { JobStatus::Killed } else { JobStatus::Failed });
                }
            }
        }
        for job in &mut self.jobs {
            job.removed |= job.owner == Some(session);
        }
    }

    async fn check(&mut self) {
        let done = self.fixture.done.take().into_iter().map(|done| (done.job.id, done.job.reported));
        assert_eq!(done.collect::<Vec<_>>(), std::mem::take(&mut self.told));
        for owner in [None, Some(0), Some(1)] {
            let caller = self.owner(owner);
            let seen = self.fixture.jobs.get().unwrap().list(caller.as_ref());
            let seen = seen.iter().map(|job| (job.id.clone(), job.status, job.reported));
            let expected = self.jobs.iter().filter(|job| !job.removed);
            let expected = expected.filter(|job| job.owner.is_none() || job.owner == owner);
            let expected = expected.map(|job| (job.id.clone(), job.status, job.reported));
            assert_eq!(seen.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
        for number in (0..self.waiting.len()).rev() {
            let status = self.jobs[self.waiting[number].job].status;
            assert_eq!(self.waiting[number].task.is_finished(), status.is_terminal());
            if status.is_terminal() {
                let ended = self.waiting.remove(number).task.await.unwrap().unwrap();
                assert_eq!((ended.status, ended.reported), (status, true));
            }
        }
        for job in self.jobs.iter().filter(|job| job.status.is_terminal()) {
            // One that was given up is still waited for, in case it ends.
            assert!(job.work.is_dropped() || job.removed && !job.obedient, "{:?}", job.id);
        }
    }

    async fn end(mut self) {
        self.fixture.service.dispose().await;
        for waiting in self.waiting.drain(..) {
            assert!(waiting.task.await.unwrap().unwrap().status.is_terminal());
        }
        assert!(self.fixture.done.take().is_empty());
        assert!(self.jobs.iter().all(|job| job.work.is_dropped()));
        let errors = self.fixture.app.take_errors();
        let given_up = |step: &str| step == "end of all jobs" || step == "end of background jobs";
        assert!(errors.iter().all(|error| given_up(&error.step)), "{errors:#?}");
    }
}

/// As much of a job as it takes to find it.
fn known(job: &Expected) -> JobSnapshot {
    JobSnapshot {
        id: job.id.clone(),
        kind: "work".into(),
        label: "some work".into(),
        status: job.status,
        started_at: 0,
        reported: false,
        output_limit_bytes: None,
        owner_session: None,
        detail: None,
        finished_at: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: timeout-jobs-hooks/J24, timeout-jobs-hooks/J25, timeout-jobs-hooks/J27, timeout-jobs-hooks/J28, timeout-jobs-hooks/J29, timeout-jobs-hooks/J30, timeout-jobs-hooks/J31, timeout-jobs-hooks/J34
    #[test]
    fn whatever_is_done_the_jobs_are_what_they_should_be(acts in prop::collection::vec(act(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for act in acts {
                world.act(act).await;
            }
            world.end().await;
        });
    }
}
