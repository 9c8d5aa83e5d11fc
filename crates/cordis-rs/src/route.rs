//! Which buckets a dispatch visits, and the merged order of their listeners.

use crate::{
    Event, ScopeKey,
    bucket::{Kept, Snapshot},
    register::{BucketOf, bucket_of},
    shared::Shared,
    sync::{Arc, SwapGuard},
};
use smallvec::SmallVec;

/// As many buckets as a dispatch merges without allocating, besides the first: the unscoped one and three levels in all.
const LEVELS: usize = 3;

type Pinned<K> = SwapGuard<Snapshot<K>>;
pub(crate) type Pins<K> = SmallVec<[Pinned<K>; LEVELS]>;

/// The unscoped bucket of an event; one of that name with another mode or other types is reported. Scopes need no report
/// of their own: the unscoped bucket fixes what a name means.
#[inline]
pub(crate) fn unscoped<E: Event>(shared: &Arc<Shared>, key: E) -> Option<&BucketOf<E>> {
    let slot = shared.events.get(key.key().0)?;
    let bucket = bucket_of::<E>(slot);
    if bucket.is_none() {
        shared.report_conflict(key);
    }
    bucket
}

#[inline]
fn scoped<E: Event>(scope: &ScopeKey, key: E) -> Option<&BucketOf<E>> {
    bucket_of::<E>(scope.events().get(key.key().0)?)
}

/// Pins the non-empty buckets of a synchronous dispatch: the unscoped one, then the scope's and its ancestors'.
#[inline]
pub(crate) fn pin<E: Event>(
    shared: &Arc<Shared>,
    scope: Option<&ScopeKey>,
    key: E,
) -> (Option<Pinned<E::Kept>>, Pins<E::Kept>) {
    // One bucket is the common case and needs no list.
    let (mut first, mut more) = (None, Pins::new());
    let mut see = |bucket: Option<&BucketOf<E>>| {
        if let Some(bucket) = bucket.filter(|bucket| bucket.len() > 0) {
            match first {
                None => first = Some(bucket.pin()),
                Some(_) => more.push(bucket.pin()),
            }
        }
    };
    see(unscoped(shared, key));
    if let Some(scope) = scope {
        scope.visit(|scope| see(scoped(scope, key)));
    }
    (first, more)
}

/// How many listeners a dispatch would find.
pub(crate) fn count<E: Event>(shared: &Arc<Shared>, scope: Option<&ScopeKey>, key: E) -> usize {
    let mut count = unscoped(shared, key).map_or(0, |bucket| bucket.len());
    if let Some(scope) = scope {
        scope.visit(|scope| count += scoped(scope, key).map_or(0, |bucket| bucket.len()));
    }
    count
}

/// The listeners of an asynchronous dispatch, in order. Holds no listener: see the bucket's invariant 4.
pub(crate) struct Route<K> {
    first: Option<Arc<Snapshot<K>>>,
    /// Present when several buckets take part.
    merged: Option<Box<Merged<K>>>,
}

struct Merged<K> {
    more: Vec<Arc<Snapshot<K>>>,
    /// (bucket, index) in the order of registration; bucket 0 is `first`.
    order: Vec<(u32, u32)>,
}

impl<K> Route<K> {
    #[inline]
    pub(crate) fn new<E: Event<Kept = K>>(shared: &Arc<Shared>, scope: Option<&ScopeKey>, key: E) -> Self
    where
        K: Kept<E::Entry>,
    {
        let first = unscoped(shared, key).and_then(|bucket| bucket.share());
        match scope {
            None => Route { first, merged: None },
            Some(scope) => Self::merging(first, scope, key),
        }
    }

    fn merging<E: Event<Kept = K>>(first: Option<Arc<Snapshot<K>>>, scope: &ScopeKey, key: E) -> Self
    where
        K: Kept<E::Entry>,
    {
        let mut found: SmallVec<[Arc<Snapshot<K>>; LEVELS]> = first.into_iter().collect();
        scope.visit(|scope| found.extend(scoped(scope, key).and_then(|bucket| bucket.share())));
        if found.len() < 2 {
            return Route { first: found.pop(), merged: None };
        }
        let mut order: Vec<(i64, u32, u32)> = found
            .iter()
            .enumerate()
            .flat_map(|(k, snapshot)| {
                snapshot.orders.iter().enumerate().map(move |(i, order)| (*order, k as u32, i as u32))
            })
            .collect();
        order.sort_unstable();
        let mut found = found.into_iter();
        let first = found.next();
        let order = order.into_iter().map(|(_, k, i)| (k, i)).collect();
        Route { first, merged: Some(Box::new(Merged { more: found.collect(), order })) }
    }

    /// The listener at place `at`, and the snapshot that it comes from.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<(&Snapshot<K>, &K)> {
        let first = self.first.as_deref()?;
        let Some(merged) = &self.merged else { return Some((first, first.items.get(at)?)) };
        let (bucket, index) = *merged.order.get(at)?;
        let snapshot = if bucket == 0 { first } else { &*merged.more[bucket as usize - 1] };
        Some((snapshot, &snapshot.items[index as usize]))
    }
}
