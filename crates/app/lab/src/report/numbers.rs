// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers and periods as JSON has them.

use saker_engine::write_gate::Stalls;
use saker_sim::{Duration, Instant};
use serde_json::{Value, json};

/// A number for JSON: six significant digits behind the point at most, whole numbers without a point.
pub fn number(value: f64) -> Value {
    let rounded = (value * 1e6).round() / 1e6;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        return Value::from(rounded as i64);
    }
    serde_json::Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

/// When an engine stopped or delayed writes: sums by what was done and why, and the last periods, in seconds. `None`: it never did.
pub fn stalls(stalls: &Stalls) -> Option<Value> {
    if stalls.is_empty() {
        return None;
    }
    let seconds = |length: Duration| number(length.as_secs_f64());
    let mut told = json!({});
    for (hold, cause, held) in stalls.sums() {
        told[hold.name()][cause.name()] =
            json!({ "periods": held.periods, "s": seconds(held.time), "writes": held.writes });
    }
    let periods = stalls.recent.iter().map(|period| {
        json!({
            "hold": period.hold.name(), "cause": period.cause.name(), "writes": period.writes,
            "begin_s": seconds(period.begin.since(Instant::ZERO)), "length_s": seconds(period.length),
        })
    });
    told["periods"] = periods.collect();
    told["earlier_periods"] = stalls.gone().into();
    Some(told)
}
