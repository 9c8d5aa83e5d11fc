//! How a job is started, from top to bottom.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cordis::{Context, Effect, Inactive, Lent, Refused};
use dsh_agent::{AGENTS, Agent, WeakAgent};
use dsh_jobs::{JobRequest, JobSnapshot, JobStart, JobStatus, StartError};
use tokio::sync::oneshot;

use crate::code::JobCode;
use crate::end::{Begun, drive};
use crate::job::Job;
use crate::record::{Output, Record, now};
use crate::service::Service;
use crate::teardown::Ender;

/// The greatest whole number that every reader of JSON keeps exact.
const SAFE: u64 = (1 << 53) - 1;

/// What is told of a job before it has an id.
struct Wanted {
    kind: String,
    label: String,
    output_limit_bytes: Option<u64>,
}

impl Service {
    pub(crate) fn start(
        self: &Arc<Self>,
        ctx: &Context,
        request: JobRequest,
    ) -> Result<JobSnapshot, StartError> {
        let JobRequest { kind, label, output_limit_bytes, owner, run } = request;
        let wanted = Wanted { kind, label, output_limit_bytes };
        self.check(&wanted, owner.as_ref())?;
        let place = self.take_place(ctx, &wanted, owner)?;
        let begun = self.wait_for_end_of(&place.job)?;
        let streams = begin(&place.job, run)?;
        self.register(place, wanted, streams, begun)
    }

    /// What is refused before anything is touched.
    fn check(&self, wanted: &Wanted, owner: Option<&Agent>) -> Result<(), StartError> {
        if !self.controllers.serve(owner) {
            return Err(StartError::NoController);
        }
        if wanted.kind.is_empty() {
            return Err(StartError::Kind);
        }
        if wanted.label.is_empty() {
            return Err(StartError::Label);
        }
        if let Some(given) = wanted.output_limit_bytes.filter(|limit| !(1..=SAFE).contains(limit)) {
            return Err(StartError::OutputLimit { given });
        }
        let Some(owner) = owner else { return Ok(()) };
        let agents = self.ctx.get(AGENTS).ok_or(StartError::NoAgents)?;
        let agents = agents.get().map_err(|_| StartError::NoAgents)?;
        if agents.get(owner.id()).as_ref() == Some(owner) {
            Ok(())
        } else {
            Err(StartError::NotLive { agent: owner.id().clone() })
        }
    }

    /// A place for the job among those of its owner, and one for its code among the registrations of its plugin.
    fn take_place(
        self: &Arc<Self>,
        ctx: &Context,
        wanted: &Wanted,
        owner: Option<Agent>,
    ) -> Result<Place, StartError> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let its_end = || ending(format!("`{}`", ctx.fiber().label()));
        let (lending, code) = self.lend(ctx, &wanted.kind, number).map_err(|_| its_end())?;
        let code = code.ok_or_else(its_end)?;
        let job = Arc::new(Job::new(number, owner.as_ref(), ctx.fiber(), (lending, code)));
        // From here on the registration is undone if the start fails.
        let mut place = Place { service: Arc::clone(self), job, taken: false, begun: false };
        let (job, mut table) = (&place.job, self.table.lock());
        if table.closed {
            return Err(ending("the jobs service"));
        }
        if let Some(owner) = &owner {
            let (its_end, weak) = (|| ending(format!("agent `{}`", owner.id())), owner.downgrade());
            if owner.scope().is_closed() || table.is_closed(&weak) {
                return Err(its_end());
            }
            if !table.is_known(&weak) {
                let cleanup = self.end_with_owner(owner, weak.clone()).map_err(|_| its_end())?;
                table.add_owner(weak, cleanup);
            }
        }
        if !table.take_place(job, owner.as_ref(), self.limit) {
            return Err(StartError::Full { limit: self.limit });
        }
        drop(table);
        place.taken = true;
        Ok(place)
    }

    /// Lends the code of a job, which is still to come. What ends the job is undone before the code is taken back.
    fn lend(
        self: &Arc<Self>,
        ctx: &Context,
        kind: &str,
        number: u64,
    ) -> Result<(Effect, Option<Lent<JobCode>>), Inactive> {
        let mut lent = None;
        let lending = ctx.effects(format!("jobs.start({kind:?})"), |inside| {
            lent = Some(inside.lend("code", JobCode::default())?.1);
            let service = Arc::downgrade(self);
            inside.effect("end of the job", async move || {
                if let Some(service) = service.upgrade() {
                    service.end_with_producer(number).await;
                }
            })?;
            Ok::<_, Inactive>(())
        })?;
        Ok((lending, lent))
    }

    /// What ends the jobs of an owner with it.
    fn end_with_owner(self: &Arc<Self>, owner: &Agent, weak: WeakAgent) -> Result<Effect, Inactive> {
        let service = Arc::downgrade(self);
        owner.context().effect("end of background jobs", async move || {
            if let Some(service) = service.upgrade() {
                service.end_owner(&weak).await;
            }
        })
    }

    /// The task that waits for the end of the work, once that has begun. There is one before the work begins, since none can
    /// be had any more when the service ends.
    fn wait_for_end_of(self: &Arc<Self>, job: &Arc<Job>) -> Result<oneshot::Sender<Begun>, StartError> {
        let (tell, told) = oneshot::channel();
        let driver = drive(Arc::clone(self), Arc::clone(job), told);
        match self.tasks.spawn("job", driver) {
            Ok(_) => Ok(tell),
            Err(_) => Err(ending("the jobs service")),
        }
    }

    fn register(
        &self,
        mut place: Place,
        wanted: Wanted,
        streams: bool,
        begun: oneshot::Sender<Begun>,
    ) -> Result<JobSnapshot, StartError> {
        let job = Arc::clone(&place.job);
        let Wanted { kind, label, output_limit_bytes } = wanted;
        let registered = {
            let mut table = self.table.lock();
            table.is_live(&job).then(|| {
                let snapshot = JobSnapshot {
                    id: table.next_id(&kind),
                    kind,
                    label,
                    status: JobStatus::Running,
                    started_at: now(),
                    reported: false,
                    output_limit_bytes,
                    owner_session: job.owner.as_ref().map(|owner| owner.id.clone()),
                    detail: None,
                    finished_at: None,
                };
                let output = if streams {
                    Output::Stream { unread: String::new(), error: None }
                } else {
                    Output::Final(String::new())
                };
                let (job, waiters) = (Arc::clone(&job), BTreeMap::new());
                let record = Record { job, place: 0, snapshot: snapshot.clone(), output, waiters };
                (snapshot, table.insert(record))
            })
        };
        let Some((snapshot, forgotten)) = registered else {
            // Who ends it did not wait any longer for the work to begin.
            let _ = JobCode::cancel(&job.code, Some("it began too late"));
            return Err(ending(match (self.ender(&job), &job.owner) {
                (Ender::Service, _) => "the jobs service".to_owned(),
                (Ender::Owner, Some(owner)) => format!("agent `{}`", owner.id),
                (Ender::Owner, None) | (Ender::Plugin, _) => format!("`{}`", job.producer.label()),
            }));
        };
        drop(forgotten);
        place.begun = true;
        self.tell_change(job.agent());
        // The task is gone if the service is: then the job has ended as well.
        let _ = begun.send(JobCode::done(&job.code));
        job.begun.cancel();
        Ok(snapshot)
    }
}

/// Begins the work, as code of its plugin.
fn begin(job: &Job, run: JobStart) -> Result<bool, StartError> {
    match JobCode::begin(&job.code, run) {
        Ok(begun) => begun.map_err(StartError::Run),
        Err(Refused::Gone { plugin }) => Err(ending(format!("`{plugin}`"))),
        Err(refused) => Err(StartError::Run(refused.into())),
    }
}

fn ending(what: impl Into<String>) -> StartError {
    StartError::Ending { what: what.into() }
}

/// A job that has not begun. Dropped then, it leaves nothing behind.
struct Place {
    service: Arc<Service>,
    job: Arc<Job>,
    taken: bool,
    begun: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.begun {
            return;
        }
        if self.taken {
            self.service.forget(&self.job);
        }
        self.job.begun.cancel();
        self.job.lending.cancel();
    }
}
