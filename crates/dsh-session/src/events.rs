//! The events of a log, in order.

use std::fmt;
use std::sync::Arc;

use crate::event::Event;
use crate::list::List;
use crate::run::Run;

/// The events of a log, or of a part of it: numbers without a gap. A clone is a snapshot that costs next to nothing; later
/// events do not show in it.
///
/// Runs of streamed pieces that were read from a file stay packed in memory; their events are made when they are asked for.
#[derive(Clone, Default)]
pub struct Events {
    segments: List<Segment>,
    /// The number of the first event, once there is one.
    base: u64,
    len: usize,
}

/// What a part of a log is kept as.
#[derive(Clone)]
pub(crate) enum Segment {
    One(Arc<Event>),
    Run(Arc<Run>),
}

impl Segment {
    fn first_seq(&self) -> u64 {
        match self {
            Self::One(event) => event.seq(),
            Self::Run(run) => run.first_seq(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Run(run) => run.len(),
        }
    }

    fn get(&self, seq: u64) -> Option<Arc<Event>> {
        match self {
            Self::One(event) => (event.seq() == seq).then(|| event.clone()),
            Self::Run(run) => run.get(usize::try_from(seq.checked_sub(run.first_seq())?).ok()?),
        }
    }
}

impl Events {
    /// Adds the next event.
    pub(crate) fn push(&mut self, event: Arc<Event>) {
        self.add(Segment::One(event));
    }

    /// Adds the next events.
    pub(crate) fn push_run(&mut self, run: Run) {
        self.add(Segment::Run(Arc::new(run)));
    }

    /// As `push_run`, of a run that another list has as well.
    pub(crate) fn push_shared(&mut self, run: Arc<Run>) {
        self.add(Segment::Run(run));
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter()
    }

    fn add(&mut self, segment: Segment) {
        if self.len == 0 {
            self.base = segment.first_seq();
        }
        debug_assert_eq!(segment.first_seq(), self.base + self.len as u64, "numbers have no gap");
        self.len += segment.len();
        self.segments.push(segment);
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The event at a place, counted from 0; in a whole log that is its number.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Arc<Event>> {
        if index >= self.len {
            return None;
        }
        let seq = self.base + index as u64;
        self.segments.get(self.segment_of(seq))?.get(seq)
    }

    /// The first event.
    #[must_use]
    pub fn first(&self) -> Option<Arc<Event>> {
        self.get(0)
    }

    /// The last event.
    #[must_use]
    pub fn last(&self) -> Option<Arc<Event>> {
        self.get(self.len.checked_sub(1)?)
    }

    /// The events in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        self.from(0)
    }

    /// The events from a place on.
    #[must_use]
    pub fn from(&self, index: usize) -> Iter<'_> {
        let front = index.min(self.len);
        let at = |index: usize| self.segment_of(self.base + index as u64);
        Iter { events: self, front, back: self.len, front_segment: at(front), back_segment: at(self.len) }
    }

    /// All of them in a list of their own.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Arc<Event>> {
        self.iter().collect()
    }

    /// The first `count` events, as cheap as a clone where that is all of them.
    #[must_use]
    pub fn first_n(&self, count: usize) -> Self {
        if count >= self.len {
            return self.clone();
        }
        let mut first = Self::default();
        for segment in self.segments.iter() {
            match segment {
                _ if first.len == count => break,
                Segment::Run(run) if first.len + run.len() <= count => first.push_shared(run.clone()),
                Segment::Run(run) => {
                    (0..count - first.len).filter_map(|at| run.get(at)).for_each(|event| first.push(event))
                }
                Segment::One(event) => first.push(event.clone()),
            }
        }
        first
    }

    /// The segment that holds a number, or would.
    fn segment_of(&self, seq: u64) -> usize {
        let (mut low, mut high) = (0, self.segments.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.segments.get(middle) {
                Some(segment) if segment.first_seq() <= seq => low = middle + 1,
                _ => high = middle,
            }
        }
        low.saturating_sub(1)
    }
}

/// The events of a log, in order or from its end.
#[derive(Clone)]
pub struct Iter<'e> {
    events: &'e Events,
    front: usize,
    back: usize,
    front_segment: usize,
    back_segment: usize,
}

impl Iterator for Iter<'_> {
    type Item = Arc<Event>;

    fn next(&mut self) -> Option<Arc<Event>> {
        if self.front == self.back {
            return None;
        }
        let seq = self.events.base + self.front as u64;
        let mut segment = self.events.segments.get(self.front_segment)?;
        if segment.first_seq() + segment.len() as u64 <= seq {
            self.front_segment += 1;
            segment = self.events.segments.get(self.front_segment)?;
        }
        self.front += 1;
        segment.get(seq)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.back - self.front, Some(self.back - self.front))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Arc<Event>> {
        if self.front == self.back {
            return None;
        }
        self.back -= 1;
        let seq = self.events.base + self.back as u64;
        let mut segment = self.events.segments.get(self.back_segment)?;
        if segment.first_seq() > seq {
            self.back_segment -= 1;
            segment = self.events.segments.get(self.back_segment)?;
        }
        segment.get(seq)
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'e> IntoIterator for &'e Events {
    type Item = Arc<Event>;
    type IntoIter = Iter<'e>;

    fn into_iter(self) -> Iter<'e> {
        self.iter()
    }
}

impl FromIterator<Arc<Event>> for Events {
    /// The numbers must be without a gap.
    fn from_iter<I: IntoIterator<Item = Arc<Event>>>(events: I) -> Self {
        let mut list = Self::default();
        for event in events {
            list.push(event);
        }
        list
    }
}

impl PartialEq for Events {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl PartialEq<Vec<Arc<Event>>> for Events {
    fn eq(&self, other: &Vec<Arc<Event>>) -> bool {
        self.len == other.len() && self.iter().eq(other.iter().cloned())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
