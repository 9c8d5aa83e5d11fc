//! What it costs to find a service and to use one.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark; criterion's macros document nothing")]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, RwLock};

use cordis::{Context, Key};
use cordis_bench::host::{app_on, current_thread};
use cordis_bench::measure::{pair, repeat, settings};
use criterion::{Criterion, criterion_group, criterion_main};

const SERVICE: Key<u64> = Key::new("service");

fn services(c: &mut Criterion) {
    let runtime = current_thread();
    let app = app_on(&runtime);
    app.provide(SERVICE, Arc::new(7)).unwrap();
    let mut ctx: Context = (*app).clone();
    let mut scopes = Vec::new();
    for _ in 0..5 {
        let scope = ctx.scope().unwrap();
        ctx = scope.context().clone();
        scopes.push(scope);
    }

    let table = RwLock::new(HashMap::from([("service", Arc::new(7))]));
    pair(
        c,
        "get",
        50_000,
        repeat(|| {
            black_box(black_box(&ctx).get(black_box(SERVICE))).unwrap();
        }),
        repeat(|| {
            black_box(table.read().unwrap().get(black_box("service")).map(Arc::downgrade)).unwrap();
        }),
    );

    let handle = ctx.get(SERVICE).unwrap();
    let value = Arc::new(7);
    let weak = Arc::downgrade(&value);
    pair(
        c,
        "handle-get",
        50_000,
        repeat(|| {
            black_box(*black_box(&handle).get().unwrap());
        }),
        repeat(|| {
            black_box(*black_box(&weak).upgrade().unwrap());
        }),
    );
}

criterion_group! { name = all; config = settings(); targets = services }
criterion_main!(all);
