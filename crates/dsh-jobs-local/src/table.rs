//! The jobs of the service, and whose they are.
//!
//! **Invariants**
//! 1. A number of a kind is given to one job, and never again.
//! 2. A place is taken from the moment when a start is allowed, and is free once the job's end is recorded or its start has
//!    failed. It is given back once, whoever says so.
//! 3. A job is live from then on until everybody was told of its end; so who waits for live jobs to end is not overtaken by
//!    what is told of them.
//! 4. An agent is held by its live jobs and by nothing else of it.
//! 5. What is taken out is given to the caller, who drops it outside of the lock: the last clone of an agent closes its scope.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cordis::Effect;
use dsh_agent::{Agent, AgentId, WeakAgent};
use dsh_jobs::{JobError, JobId, JobSnapshot};

use crate::job::Job;
use crate::record::Record;

/// How many jobs of one owner are kept that have ended; jobs of nobody count together.
const KEPT_ENDED: usize = 64;

#[derive(Default)]
pub(crate) struct Table {
    /// The service is ending.
    pub(crate) closed: bool,
    records: BTreeMap<u64, Record>,
    ids: HashMap<JobId, u64>,
    /// The last number of each kind.
    numbers: HashMap<String, u64>,
    /// How many jobs have begun.
    begun: u64,
    live: BTreeMap<u64, Live>,
    owners: HashMap<Option<WeakAgent>, Bucket>,
    /// The records that a caller of a session sees besides those of nobody.
    sessions: HashMap<Option<AgentId>, BTreeSet<u64>>,
    /// The live jobs of each plugin, by its number.
    producers: HashMap<u64, BTreeSet<u64>>,
}

/// The jobs of one owner, or of nobody.
#[derive(Default)]
pub(crate) struct Bucket {
    /// The places that are taken.
    active: usize,
    live: BTreeSet<u64>,
    records: BTreeSet<u64>,
    /// What ends the jobs with their owner, in the owner's own context.
    cleanup: Option<Effect>,
    /// The owner is ending.
    closed: bool,
}

/// A job that is live.
pub(crate) struct Live {
    job: Arc<Job>,
    /// Its owner, which does not end for want of others who hold it.
    _owner: Option<Agent>,
    has_place: bool,
}

impl Table {
    fn bucket(&mut self, owner: Option<WeakAgent>) -> &mut Bucket {
        self.owners.entry(owner).or_default()
    }

    /// Whether there is something that ends the owner's jobs with it.
    pub(crate) fn is_known(&self, owner: &WeakAgent) -> bool {
        self.owners.contains_key(&Some(owner.clone()))
    }

    pub(crate) fn add_owner(&mut self, owner: WeakAgent, cleanup: Effect) {
        self.bucket(Some(owner)).cleanup = Some(cleanup);
    }

    /// Whether the owner was told to end.
    pub(crate) fn is_closed(&self, owner: &WeakAgent) -> bool {
        self.owners.get(&Some(owner.clone())).is_some_and(|bucket| bucket.closed)
    }

    /// No job of the owner is started any more.
    pub(crate) fn close(&mut self, owner: &WeakAgent) {
        if let Some(bucket) = self.owners.get_mut(&Some(owner.clone())) {
            bucket.closed = true;
        }
    }

    /// Gives a job of an owner a place, unless it has none left.
    pub(crate) fn take_place(&mut self, job: &Arc<Job>, owner: Option<&Agent>, limit: usize) -> bool {
        let bucket = self.bucket(job.agent().cloned());
        if bucket.active >= limit {
            return false;
        }
        bucket.active += 1;
        bucket.live.insert(job.number);
        self.producers.entry(job.producer.uid()).or_default().insert(job.number);
        let live = Live { job: Arc::clone(job), _owner: owner.cloned(), has_place: true };
        self.live.insert(job.number, live);
        true
    }

    /// Gives the place of a job back, if it has it still.
    pub(crate) fn free_place(&mut self, number: u64) {
        let Some(live) = self.live.get_mut(&number) else { return };
        if std::mem::take(&mut live.has_place)
            && let Some(bucket) = self.owners.get_mut(&live.job.agent().cloned())
        {
            bucket.active = bucket.active.saturating_sub(1);
        }
    }

    /// The id of the next job of a kind, which is used up by it.
    pub(crate) fn next_id(&mut self, kind: &str) -> JobId {
        let number = match self.numbers.get_mut(kind) {
            Some(number) => number,
            None => self.numbers.entry(kind.to_owned()).or_default(),
        };
        *number += 1;
        JobId::new(kind, *number)
    }

    /// Registers a job, and gives what is forgotten for it.
    pub(crate) fn insert(&mut self, mut record: Record) -> Vec<Record> {
        let (number, owner) = (record.job.number, record.job.agent().cloned());
        self.begun += 1;
        record.place = self.begun;
        self.ids.insert(record.snapshot.id.clone(), number);
        self.sessions.entry(record.snapshot.owner_session.clone()).or_default().insert(number);
        self.bucket(owner.clone()).records.insert(number);
        self.records.insert(number, record);
        self.forget_ended(&owner)
    }

    /// Takes out what is too much of an owner's jobs that have ended: first those whose end is known, the oldest first.
    fn forget_ended(&mut self, owner: &Option<WeakAgent>) -> Vec<Record> {
        let Some(bucket) = self.owners.get_mut(owner) else { return Vec::new() };
        let ended = bucket.records.difference(&bucket.live);
        let mut ended: Vec<_> = ended
            .filter_map(|number| Some((!self.records.get(number)?.snapshot.reported, *number)))
            .collect();
        let surplus = ended.len().saturating_sub(KEPT_ENDED);
        if surplus == 0 {
            return Vec::new();
        }
        ended.sort_unstable();
        ended.truncate(surplus);
        bucket.records.retain(|number| !ended.iter().any(|(_, it)| it == number));
        ended.into_iter().filter_map(|(_, number)| self.remove(number)).collect()
    }

    fn remove(&mut self, number: u64) -> Option<Record> {
        let record = self.records.remove(&number)?;
        self.ids.remove(&record.snapshot.id);
        if let Some(seen) = self.sessions.get_mut(&record.snapshot.owner_session) {
            seen.remove(&number);
            if seen.is_empty() {
                self.sessions.remove(&record.snapshot.owner_session);
            }
        }
        Some(record)
    }

    pub(crate) fn record(&mut self, number: u64) -> Option<&mut Record> {
        self.records.get_mut(&number)
    }

    /// The record of an id, if the caller may see it.
    pub(crate) fn find(&mut self, id: &str, caller: Option<&Agent>) -> Result<&mut Record, JobError> {
        let unknown = || JobError::Unknown { id: id.to_owned() };
        let number = self.ids.get(id).ok_or_else(unknown)?;
        let record = self.records.get_mut(number).ok_or_else(unknown)?;
        match &record.snapshot.owner_session {
            Some(session) if caller.map(Agent::id) != Some(session) => {
                Err(JobError::Foreign { id: id.to_owned() })
            }
            _ => Ok(record),
        }
    }

    /// What a caller sees, in the order in which the jobs began.
    pub(crate) fn list(&self, caller: Option<&Agent>) -> Vec<JobSnapshot> {
        let own = caller.and_then(|caller| self.sessions.get(&Some(caller.id().clone())));
        let numbers = own.into_iter().chain(self.sessions.get(&None)).flatten();
        let mut records: Vec<_> = numbers.filter_map(|number| self.records.get(number)).collect();
        records.sort_unstable_by_key(|record| record.place);
        records.into_iter().map(|record| record.snapshot.clone()).collect()
    }

    pub(crate) fn is_live(&self, job: &Job) -> bool {
        self.live.contains_key(&job.number)
    }

    pub(crate) fn live_job(&self, number: u64) -> Option<Arc<Job>> {
        self.live.get(&number).map(|live| Arc::clone(&live.job))
    }

    pub(crate) fn live(&self) -> Vec<Arc<Job>> {
        self.live.values().map(|live| Arc::clone(&live.job)).collect()
    }

    pub(crate) fn live_of_owner(&self, owner: &WeakAgent) -> Vec<Arc<Job>> {
        let bucket = self.owners.get(&Some(owner.clone()));
        self.jobs(bucket.map(|bucket| &bucket.live))
    }

    pub(crate) fn live_of_producer(&self, uid: u64) -> Vec<Arc<Job>> {
        self.jobs(self.producers.get(&uid))
    }

    fn jobs(&self, numbers: Option<&BTreeSet<u64>>) -> Vec<Arc<Job>> {
        numbers.into_iter().flatten().filter_map(|number| self.live_job(*number)).collect()
    }

    /// Everybody was told of the end of a job, or there was none.
    pub(crate) fn let_go(&mut self, number: u64) -> Option<Live> {
        self.free_place(number);
        let live = self.live.remove(&number)?;
        if let Some(bucket) = self.owners.get_mut(&live.job.agent().cloned()) {
            bucket.live.remove(&number);
        }
        let producer = live.job.producer.uid();
        if let Some(jobs) = self.producers.get_mut(&producer) {
            jobs.remove(&number);
            if jobs.is_empty() {
                self.producers.remove(&producer);
            }
        }
        Some(live)
    }

    /// Marks all jobs of an owner as reported.
    pub(crate) fn report_owner(&mut self, owner: &WeakAgent) {
        let Some(bucket) = self.owners.get(&Some(owner.clone())) else { return };
        for number in &bucket.records {
            if let Some(record) = self.records.get_mut(number) {
                record.snapshot.reported = true;
            }
        }
    }

    /// Marks all jobs as reported.
    pub(crate) fn report_all(&mut self) {
        self.records.values_mut().for_each(|record| record.snapshot.reported = true);
    }

    /// Takes an owner out with all its jobs.
    pub(crate) fn remove_owner(&mut self, owner: &WeakAgent) -> Option<(Bucket, Vec<Record>)> {
        let bucket = self.owners.remove(&Some(owner.clone()))?;
        let removed = bucket.records.iter().filter_map(|number| self.remove(*number)).collect();
        Some((bucket, removed))
    }

    /// The end of jobs with their owner, for each owner that has had one.
    pub(crate) fn cleanups(&self) -> Vec<Effect> {
        self.owners.values().filter_map(|bucket| bucket.cleanup.clone()).collect()
    }
}
