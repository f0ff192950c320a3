// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbers that every run of stores reports.

use crate::report::Point;
use crate::rig::Stored;
use saker_link::Rule;

/// Bytes of one doorbell write.
const DOORBELL_BYTES: f64 = 4.0;

/// Adds commands, link bytes by each rule, amplification, doorbell bytes, times and rates to a point. What compares with the
/// values written is left out if none was, and the time of a write unless every operation is one.
pub fn add_metrics(point: &mut Point, run: &Stored) {
    let (result, traffic) = (&run.result, &run.result.traffic);
    let operations = result.operations.max(1) as f64;
    let mut per_operation = |name: &str, n: f64| point.add(name, n / operations);
    per_operation("commands_per_operation", result.commands as f64);
    for rule in Rule::all(run.build.tlp_shape()) {
        let name = match rule {
            Rule::Protocol => "link_bytes_per_operation".to_owned(),
            other => format!("link_bytes_per_operation_{}", other.name().replace('-', "_")),
        };
        per_operation(&name, traffic.bytes(&rule).total() as f64);
    }
    per_operation("sq_doorbell_bytes_per_operation", traffic.sq_doorbells as f64 * DOORBELL_BYTES);
    per_operation("cq_doorbell_bytes_per_operation", traffic.cq_doorbells as f64 * DOORBELL_BYTES);
    per_operation("mmio_value_bytes_per_operation", traffic.mmio_bytes as f64);
    per_operation("host_cpu_us_per_operation", result.host_busy.as_nanos() as f64 / 1e3);
    if run.value_bytes() > 0 {
        point.add("taf", traffic.bytes(&Rule::Protocol).total() as f64 / run.value_bytes() as f64);
    }
    if run.only_writes() {
        add_write_times(point, run);
    }
    point.add("operations_per_s", result.rate());
    add_copies(point, run);
    if run.build.nand {
        add_layers(point, run);
    }
}

/// How long a write takes: until it is answered, or until its value is there.
fn add_write_times(point: &mut Point, run: &Stored) {
    let time = if run.build.nand { "write_us" } else { "transfer_us" };
    point.add(&format!("{time}_mean"), run.result.latency.mean() / 1e3);
    point.add(&format!("{time}_p99"), run.result.latency.value_at_quantile(0.99) as f64 / 1e3);
}

/// What the device's cores copied, and how long it took at the profile's price.
fn add_copies(point: &mut Point, run: &Stored) {
    let operations = run.result.operations.max(1) as f64;
    let copied = run.result.copied_bytes as f64 / operations;
    point.add("memcpy_bytes_per_operation", copied);
    point.add(
        "memcpy_us_per_operation",
        copied * run.build.profile.firmware.cpu.copy_byte_ps.get() as f64 / 1e6,
    );
}

/// Write amplification over value bytes, as a whole and by layer.
fn add_layers(point: &mut Point, run: &Stored) {
    let (result, values) = (&run.result, run.value_bytes() as f64);
    point.add("nand_pages_per_operation", result.nand_pages as f64 / result.operations.max(1) as f64);
    if run.value_bytes() == 0 {
        return;
    }
    point.add("waf", result.nand_bytes as f64 / values);
    point.add("waf_records", result.layers.records as f64 / values);
    point.add("waf_collection", result.layers.collected as f64 / values);
    point.add("waf_checkpoints", result.layers.checkpoints as f64 / values);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Cell, stores};
    use saker_host::Method;
    use saker_profile::Profile;
    use saker_workload::Suite;

    fn point(cell: &Cell) -> Point {
        let profile = Profile::builtin("cosmos-plus").unwrap();
        let mut point = Point::default();
        add_metrics(&mut point, &stores(&profile, 1, 300, cell).unwrap());
        point
    }

    #[test]
    fn cores_copy_what_no_engine_moves() {
        let copied = |method| point(&Cell::transfer(method, 1000)).get("memcpy_bytes_per_operation").unwrap();
        let (pages, commands) = (copied(Method::Prp), copied(Method::Piggyback));
        assert!(commands >= 1000.0 && commands - pages >= 1000.0, "{pages} {commands}");
    }

    #[test]
    fn more_commands_take_more_of_the_host() {
        let host =
            |size| point(&Cell::transfer(Method::Piggyback, size)).get("host_cpu_us_per_operation").unwrap();
        assert!(host(92) > 2.5 * host(35), "three commands against one");
    }

    #[test]
    fn reads_have_no_times_of_writes_and_no_amplification() {
        let of = |suite| point(&Cell { suite, nand: true, ..Cell::transfer(Method::Prp, 100) });
        let (reads, both) = (of(Suite::ReadRandom), of(Suite::ReadWrite));
        for point in [&reads, &both] {
            let other =
                point.values.keys().filter(|name| name.contains("write_us") || name.contains("transfer_us"));
            assert_eq!(other.count(), 0, "{point:?}");
        }
        let compared =
            |point: &Point| point.values.keys().filter(|n| *n == "taf" || n.starts_with("waf")).count();
        assert_eq!((compared(&reads), compared(&both)), (0, 5), "{reads:?}");
        assert!(both.get("taf").is_some_and(|taf| taf > 1.0 && taf < 200.0), "{both:?}");
        let empty = point(&Cell { nand: true, ..Cell::transfer(Method::Prp, 0) });
        assert_eq!(compared(&empty), 0, "values of no bytes are no traffic to compare with: {empty:?}");
        assert!(empty.get("write_us_mean").is_some());
    }

    #[test]
    fn layers_explain_the_programmed_bytes() {
        let point = point(&Cell { nand: true, ..Cell::transfer(Method::Prp, 4000) });
        let get = |name: &str| point.get(name).unwrap();
        assert!(get("waf_records") > 1.0 && get("waf_collection") == 0.0);
        assert!(get("waf") > 0.9 * (get("waf_records") + get("waf_checkpoints")), "but for the open page");
        assert!(point.get("transfer_us_mean").is_none() && get("write_us_mean") > 0.0);
    }
}
