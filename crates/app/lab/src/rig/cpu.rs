// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What modelled cores were busy with: for reports, and rates per percent of CPU.

use crate::report::{Point, number};
use saker_sim::{Activity, Busy, CoreBusy};
use saker_world::RunResult;
use serde_json::{Map, Value, json};

/// Adds what the cores of both sides were busy with, if any are modelled.
pub fn add_cpu(point: &mut Point, result: &RunResult) {
    point.values.extend(cpu(result).map(|told| ("cpu".to_owned(), told)));
}

/// By side: percent of its cores' time, with and without polling, megabytes (10^6 bytes) written per second and percent, and
/// microseconds by core and activity. The host's cores are those of the threads, then those for background jobs alone; the device's
/// are the dispatcher, those for commands, and those for background work alone. `None`: no core is modelled.
pub fn cpu(result: &RunResult) -> Option<Value> {
    let sides = [("host", &result.busy), ("device", &result.device_busy)];
    let told = sides.into_iter().filter(|(_, busy)| !busy.cores().is_empty());
    let told: Map<_, _> = told.map(|(side, busy)| (side.to_owned(), of_side(result, busy))).collect();
    (!told.is_empty()).then_some(Value::Object(told))
}

fn of_side(result: &RunResult, busy: &Busy) -> Value {
    let cores = busy.cores().len();
    let percent = busy.percent(cores, result.elapsed);
    let mut told = json!({
        "percent": number(percent),
        "percent_without_polling": number(busy.percent_without_polling(cores, result.elapsed)),
        "cores": busy.cores().iter().map(of_core).collect::<Vec<_>>(),
    });
    if result.user_bytes > 0 && percent > 0.0 {
        told["write_megabytes_per_s_per_percent"] = number(result.write_megabytes_per_s() / percent);
    }
    told
}

/// Activities that it was busy with, in microseconds.
fn of_core(core: &CoreBusy) -> Value {
    let spent = Activity::ALL.into_iter().map(|activity| (activity, core[activity as usize].as_nanos()));
    let told = spent.filter(|(_, ns)| *ns > 0);
    told.map(|(activity, ns)| (format!("{}_us", activity.name()), number(ns as f64 / 1e3))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Duration;

    #[test]
    fn sides_tell_percents_rates_and_cores() {
        let us = |n: u64| Duration::from_nanos(n * 1000);
        let mut result = RunResult { elapsed: us(1000), user_bytes: 2_000_000, ..RunResult::new() };
        assert_eq!(cpu(&result), None, "against the clock no core is modelled");
        result.busy.add(0, Activity::Foreground, us(300));
        result.busy.add(1, Activity::Compaction, us(100));
        result.busy.add(0, Activity::Polling, us(400));
        let told = cpu(&result).expect("the host's");
        let cores = json!([{ "foreground_us": 300, "polling_us": 400 }, { "compaction_us": 100 }]);
        assert_eq!(told["host"]["cores"], cores);
        assert_eq!(
            (&told["host"]["percent"], &told["host"]["percent_without_polling"]),
            (&json!(40), &json!(20))
        );
        // 2 MB in a millisecond are 2000 MB/s.
        assert_eq!(told["host"]["write_megabytes_per_s_per_percent"], json!(50));
        assert!((result.write_megabytes_per_s_per_cpu_percent() - 50.0).abs() < 1e-9);
        assert!(told.get("device").is_none());
    }
}
