//! Which station each execution has come to, and where it may come next.
//!
//! **Invariants**
//! 1. Memory is bounded: the oldest executions are forgotten, and one that was forgotten is not judged any more.
//! 2. One dispatch that two watches see counts once.

use std::collections::BTreeMap;

use crate::rule::Rule;

/// How many executions are remembered, ended ones included.
const REMEMBERED: usize = 4_096;

/// A station of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Station {
    PreExecute,
    Execute,
    PostExecute,
    Result,
}

impl Station {
    pub(crate) const ALL: [Self; 4] = [Self::PreExecute, Self::Execute, Self::PostExecute, Self::Result];
}

/// The listener that saw a dispatch; see [`Watch`](crate::watch::Watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchId(pub(crate) u64);

/// The last station of each execution. `K` grows from one execution to the next.
#[derive(Debug)]
pub(crate) struct Stations<K> {
    at: BTreeMap<K, (Station, WatchId)>,
    /// The newest that was forgotten.
    forgotten: Option<K>,
}

impl<K> Default for Stations<K> {
    fn default() -> Self {
        Self { at: BTreeMap::new(), forgotten: None }
    }
}

impl<K: Copy + Ord> Stations<K> {
    /// An execution comes to a station. Where it may not, it stays where it was.
    pub(crate) fn come(&mut self, execution: K, station: Station, seen_by: WatchId) -> Result<(), Rule> {
        let at = self.at.get(&execution).copied();
        if at.is_none() && self.forgotten >= Some(execution) {
            return Ok(());
        }
        if at.is_some_and(|(at, by)| at == station && by != seen_by) {
            return Ok(());
        }
        may_come(at.map(|(at, _)| at), station)?;
        self.at.insert(execution, (station, seen_by));
        if self.at.len() > REMEMBERED {
            self.forgotten = self.at.pop_first().map(|(execution, _)| execution).max(self.forgotten);
        }
        Ok(())
    }
}

/// The rules themselves. A result ends any execution, one that came to no station included.
fn may_come(at: Option<Station>, next: Station) -> Result<(), Rule> {
    match (next, at) {
        (Station::PreExecute, None)
        | (Station::Execute, Some(Station::PreExecute))
        | (Station::PostExecute, Some(Station::PreExecute | Station::Execute))
        | (Station::Result, None | Some(Station::PreExecute | Station::Execute | Station::PostExecute)) => {
            Ok(())
        }
        (Station::PreExecute, Some(_)) => Err(Rule::PreExecuteRepeated),
        (Station::Execute, _) => Err(Rule::ExecuteOutOfPlace),
        (Station::PostExecute, _) => Err(Rule::PostExecuteOutOfPlace),
        (Station::Result, Some(Station::Result)) => Err(Rule::ResultRepeated),
    }
}

#[cfg(test)]
mod tests {
    use super::Station::{Execute, PostExecute, PreExecute, Result as Told};
    use super::*;

    const WATCH: WatchId = WatchId(1);

    /// What the last of these stations breaks; the ones before must be fine.
    fn last(stations: &[Station]) -> Result<(), Rule> {
        let mut of = Stations::default();
        let (last, before) = stations.split_last().unwrap();
        for station in before {
            assert_eq!(of.come(1, *station, WATCH), Ok(()), "{stations:?}");
        }
        of.come(1, *last, WATCH)
    }

    // spec: tools/T103
    #[test]
    fn every_way_that_a_call_can_go_is_allowed() {
        for way in [
            &[PreExecute, Execute, PostExecute, Told][..],
            &[PreExecute, PostExecute, Told],
            &[PreExecute, Execute, Told],
            &[PreExecute, Told],
            &[Told],
        ] {
            assert_eq!(last(way), Ok(()), "{way:?}");
        }
    }

    // spec: tools/T103
    #[test]
    fn every_other_step_breaks_the_rule_of_its_station() {
        let ways: [&[Station]; 5] = [
            &[],
            &[PreExecute],
            &[PreExecute, Execute],
            &[PreExecute, Execute, PostExecute],
            &[PreExecute, Execute, PostExecute, Told],
        ];
        let broken = |station| ways.map(|way| last(&[way, &[station]].concat()).err());
        let (pre, execute) = (Some(Rule::PreExecuteRepeated), Some(Rule::ExecuteOutOfPlace));
        let (post, told) = (Some(Rule::PostExecuteOutOfPlace), Some(Rule::ResultRepeated));
        assert_eq!(broken(PreExecute), [None, pre.clone(), pre.clone(), pre.clone(), pre]);
        assert_eq!(broken(Execute), [execute.clone(), None, execute.clone(), execute.clone(), execute]);
        assert_eq!(broken(PostExecute), [post.clone(), None, None, post.clone(), post]);
        assert_eq!(broken(Told), [None, None, None, None, told]);
    }

    #[test]
    fn a_dispatch_that_two_watches_see_counts_once_and_a_second_one_is_told() {
        let mut of = Stations::default();
        assert_eq!(of.come(1, PreExecute, WatchId(2)), Ok(()));
        assert_eq!(of.come(1, PreExecute, WatchId(1)), Ok(()));
        assert_eq!(of.come(1, PreExecute, WatchId(2)), Err(Rule::PreExecuteRepeated));
    }

    #[test]
    fn an_execution_that_broke_a_rule_stays_where_it_was() {
        let mut of = Stations::default();
        of.come(1, PreExecute, WATCH).unwrap();
        of.come(1, PreExecute, WATCH).unwrap_err();
        assert_eq!(of.come(1, Execute, WATCH), Ok(()));
    }

    #[test]
    fn the_oldest_are_forgotten_and_not_judged_any_more() {
        let mut of = Stations::default();
        for execution in 0..=REMEMBERED {
            of.come(execution, PreExecute, WATCH).unwrap();
        }
        assert_eq!(of.at.len(), REMEMBERED);
        assert_eq!(of.come(0, PreExecute, WATCH), Ok(()));
        assert_eq!(of.come(1, PreExecute, WATCH), Err(Rule::PreExecuteRepeated));
        assert_eq!(of.come(REMEMBERED + 1, Execute, WATCH), Err(Rule::ExecuteOutOfPlace));
    }
}
