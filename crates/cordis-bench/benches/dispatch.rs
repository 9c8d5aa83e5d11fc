//! What a dispatch costs, in each mode and at a scope.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark; criterion's macros document nothing")]

use std::hint::black_box;
use std::sync::Arc;

use cordis::{Emit, Parallel, Scope, Serial, Waterfall};
use cordis_bench::floors::{Chain, Innermost, Observers, Responders, ask_in_turn, tell_all};
use cordis_bench::host::{app_on, current_thread, touch};
use cordis_bench::measure::{now, pair, repeat, settings};
use criterion::{Criterion, criterion_group, criterion_main};

const EMIT: Emit<u64> = Emit::new("emit");
const WRAP: Waterfall<u64, u64> = Waterfall::new("wrap");
const ASK: Serial<u64, u64> = Serial::new("ask");
const TELL: Parallel<u64> = Parallel::new("tell");

fn emit(c: &mut Criterion) {
    let runtime = current_thread();
    for listeners in [1, 10, 100, 1_000] {
        let app = app_on(&runtime);
        let mut floor: Observers = Vec::new();
        for _ in 0..listeners {
            app.on(EMIT).run(touch).unwrap();
            floor.push(Arc::new(touch));
        }
        let floor = black_box(floor);
        pair(
            c,
            &format!("emit/{listeners}"),
            50_000 / listeners,
            repeat(|| app.emit(EMIT, black_box(&1))),
            repeat(|| floor.iter().for_each(|listener| listener(black_box(&1)))),
        );
    }
}

fn waterfall(c: &mut Criterion) {
    let runtime = current_thread();
    for listeners in [1, 10, 100] {
        let app = app_on(&runtime);
        for _ in 0..listeners {
            let wrap = async |args: &mut u64, next: cordis::Next<'_, u64, u64>| {
                *args += 1;
                next.run(args).await
            };
            app.on(WRAP).run(wrap).unwrap();
        }
        let floor = black_box(Chain::of(listeners));
        let (mut ours_args, mut floor_args) = (0, 0);
        pair(
            c,
            &format!("waterfall/{listeners}"),
            20_000 / listeners as u64,
            repeat(|| {
                let dispatch = app.waterfall(WRAP, black_box(&mut ours_args), &Innermost, Innermost::step);
                black_box(now(dispatch)).unwrap();
            }),
            repeat(|| {
                black_box(now(floor.run(&Innermost, black_box(&mut floor_args))));
            }),
        );
    }
}

fn serial_and_parallel(c: &mut Criterion) {
    let runtime = current_thread();
    let app = app_on(&runtime);
    let mut floor: Responders = Vec::new();
    for _ in 0..10 {
        app.on(ASK).with(0).run(async |state: &u64, payload| Ok((payload < state).then_some(1))).unwrap();
        let tell = async |state: &u64, payload: &u64| {
            black_box(payload < state);
            Ok(())
        };
        app.on(TELL).with(0).run(tell).unwrap();
        let state = black_box(0);
        floor.push(Arc::new(move |payload| Box::pin(async move { (*payload < state).then_some(1) })));
    }
    let floor = black_box(floor);
    pair(
        c,
        "serial/10",
        5_000,
        repeat(|| assert_eq!(now(app.serial(ASK, black_box(&3))).unwrap(), None)),
        repeat(|| assert_eq!(now(ask_in_turn(&floor, black_box(&3))), None)),
    );
    pair(
        c,
        "parallel/10",
        5_000,
        repeat(|| now(app.parallel(TELL, black_box(&3))).unwrap()),
        repeat(|| now(tell_all(&floor, black_box(&3)))),
    );
}

/// The floor is an emit to one listener of an app without scopes.
fn scopes(c: &mut Criterion) {
    let runtime = current_thread();
    let plain = app_on(&runtime);
    plain.on(EMIT).run(touch).unwrap();
    for buckets in [1, 2, 3] {
        let app = app_on(&runtime);
        let scopes: Vec<Scope> = (0..1_000).map(|_| app.scope().unwrap()).collect();
        let child = app.scope_under(&scopes[500]).unwrap();
        for scope in scopes.iter().chain([&child]) {
            scope.context().on(EMIT).run(touch).unwrap();
        }
        if buckets > 1 {
            app.on(EMIT).run(touch).unwrap();
        }
        let (work, at) = match buckets {
            1 => ("scope-1000", scopes[499].key()),
            2 => ("scope-1000/2-buckets", scopes[499].key()),
            _ => ("scope-1000/3-buckets", child.key()),
        };
        pair(
            c,
            work,
            20_000,
            repeat(|| app.at(black_box(at)).emit(EMIT, black_box(&1))),
            repeat(|| plain.emit(EMIT, black_box(&1))),
        );
    }
}

criterion_group! { name = dispatch; config = settings(); targets = emit, waterfall, serial_and_parallel, scopes }
criterion_main!(dispatch);
