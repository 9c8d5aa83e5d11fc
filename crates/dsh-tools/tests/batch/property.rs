//! Whatever runs beside what and whenever it is cancelled: nothing overlaps that must not, and each call has its pair.

use std::num::NonZeroUsize;

use dsh_tools::{Batch, CallRequest, Config, ModelCall};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::World;

/// Whether a call is parallel, and how long it takes.
type Plan = (bool, u64);

fn plans() -> impl Strategy<Value = (Vec<Plan>, usize, u64)> {
    (prop::collection::vec((any::<bool>(), 1..50_u64), 0..8), 1..4_usize, 1..250_u64)
}

fn tool_of(plan: &Plan) -> &'static str {
    if plan.0 { "beside" } else { "alone" }
}

fn arguments_of(plan: &Plan) -> Value {
    json!({ "ms": plan.1 })
}

/// Fails if more bodies ran at once than may, or one that runs alone was not alone; gives which bodies ran, in order.
fn check_overlaps(
    told: &[String],
    most: usize,
    alone: impl Fn(&str) -> bool,
) -> Result<Vec<String>, TestCaseError> {
    let (mut running, mut entered) = (Vec::new(), Vec::new());
    for what in told {
        match what.rsplit_once(' ') {
            Some((id, "enter")) => {
                running.push(id.to_owned());
                entered.push(id.to_owned());
            }
            Some((id, "leave")) => running.retain(|it| it != id),
            _ => {}
        }
        prop_assert!(running.len() <= most, "{:?}", told);
        prop_assert!(running.len() <= 1 || !running.iter().any(|id| alone(id)), "{:?}", told);
    }
    Ok(entered)
}

async fn world(most: usize) -> World {
    let world = World::with(Config { max_parallel_sub_calls: most, ..Config::default() }).await;
    world.timed("beside", true);
    world.timed("alone", false);
    world
}

fn run<F: Future<Output = Result<(), TestCaseError>>>(test: F) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: tools/T88, tools/T92
    #[test]
    fn a_batch_keeps_its_order_and_answers_each_call_once((plans, most, cancelled_after) in plans()) {
        run(async {
            let world = world(most).await;
            let call = |(n, plan): (usize, &Plan)| {
                ModelCall::new(format!("c{n}"), tool_of(plan), arguments_of(plan).to_string())
            };
            let calls: Vec<ModelCall> = plans.iter().enumerate().map(call).collect();
            let max_parallel = NonZeroUsize::new(most).unwrap();
            world.cancel_after(cancelled_after);
            let batch = Batch { calls, max_parallel, ..world.batch(&[]) };
            let outcomes = world.run(batch).await.unwrap();

            prop_assert_eq!(outcomes.len(), plans.len());
            let alone = |id: &str| !plans[id[1..].parse::<usize>().unwrap()].0;
            let entered = check_overlaps(&world.told.all(), most, alone)?;
            let order: Vec<String> = (0..entered.len()).map(|n| format!("c{n}")).collect();
            prop_assert_eq!(entered, order, "bodies start in the order of the model, without a gap");
            let log = world.log();
            let of = |kind: &str| -> Vec<String> {
                let ids = log.iter().filter_map(|it| it.strip_prefix(kind));
                ids.map(|it| it.split(':').next().unwrap().to_owned()).collect()
            };
            let all: Vec<String> = (0..plans.len()).map(|n| format!("c{n}")).collect();
            prop_assert_eq!((of("call "), of("result ")), (all.clone(), all));
            Ok(())
        })?;
    }

    // spec: code-mode/C22, code-mode/C23, code-mode/C27, code-mode/C33
    #[test]
    fn a_lane_keeps_its_order_and_ends_what_it_started((plans, most, ends_after) in plans()) {
        run(async {
            let world = world(most).await;
            let given = plans.clone();
            world.program("run", move |lane, _| {
                let left: Vec<_> = given.iter().map(|plan| lane.call(tool_of(plan), arguments_of(plan))).collect();
                async move {
                    tokio::time::sleep(std::time::Duration::from_millis(ends_after)).await;
                    drop(left);
                    Ok(Value::Null)
                }
            });
            let outcome = world.execute(CallRequest::new("c1", "run", "{}").agent(&world.agent)).await;
            prop_assert!(!outcome.is_error());

            let number = |id: &str| id.rsplit(':').next().unwrap().parse::<usize>().unwrap();
            let entered = check_overlaps(&world.told.all(), most, |id| !plans[number(id) - 1].0)?;
            let order: Vec<String> = (1..=entered.len()).map(|n| format!("c1:code:{n}")).collect();
            prop_assert_eq!(&entered, &order);
            let log = world.log();
            let mut ends: Vec<&str> = log.iter().filter_map(|it| it.strip_prefix("end ")).map(|it| it.rsplit_once(": ").unwrap().0).collect();
            ends.iter_mut().for_each(|it| *it = it.split(": ").next().unwrap());
            ends.sort_by_key(|id| number(id));
            let starts: Vec<&str> = log.iter().filter_map(|it| it.strip_prefix("start ")).collect();
            prop_assert_eq!(&starts, &ends);
            prop_assert!(starts.len() >= entered.len());
            Ok(())
        })?;
    }
}
