// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker compare --html`: the same numbers as a page.

use std::path::Path;

use saker_lab::page::{self, About, Panel};
use saker_lab::report::Point;
use serde_json::json;

use super::target::Target;
use crate::error::CliError;
use crate::output::VERSION;
use crate::report::{Comparison, System, TimedRun};

/// Writes the page.
///
/// # Errors
/// As [`Target::write`].
pub fn write(path: &Path, report: &Comparison) -> Result<(), CliError> {
    Target::write(path, render(report).as_bytes())
}

/// The page.
pub fn render(report: &Comparison) -> String {
    let Comparison { seed, profile, workload, runs, .. } = report;
    let facts = [("seed", seed.to_string()), ("profile", profile.clone()), ("workload", workload.clone())];
    let mut timings: Vec<&str> = Vec::new();
    for run in runs {
        if !timings.contains(&run.timing.as_str()) {
            timings.push(&run.timing);
        }
    }
    let places =
        timings.iter().flat_map(|timing| report.stores().into_iter().map(move |store| (*timing, store)));
    let panels: Vec<Panel> = places.map(|place| panel(place, report)).collect();
    page::compare(&About { version: VERSION.to_owned(), ..About::default() }, &facts, &panels)
}

fn panel((timing, store): (&str, &str), report: &Comparison) -> Panel {
    let mine = || report.runs.iter().filter(|run| run.timing == timing && run.store == store);
    let why = |run: &TimedRun| run.invalid.as_ref().map(|why| format!("{}: {why}", report.label(run)));
    let points = |run: &TimedRun| {
        let values = report.label(run);
        run.systems.iter().map(move |system| point(&values, system)).collect::<Vec<_>>()
    };
    Panel {
        timing: timing.to_owned(),
        store: store.to_owned(),
        invalid: mine().filter_map(why).collect(),
        series: mine().flat_map(points).collect(),
    }
}

fn point(values: &str, system: &System) -> Point {
    let place = [("values", json!(values)), ("store", json!(system.store)), ("system", json!(system.name))];
    let mut point = Point::at(place);
    system.metrics.iter().for_each(|metric| point.add(&metric.name, metric.value));
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Metric;

    #[test]
    fn a_page_has_every_number_and_no_markup_of_others() {
        let metric = |name: &str, value| Metric { name: name.to_owned(), value };
        let system = |name: &str, rate| System {
            name: name.to_owned(),
            store: "tree".to_owned(),
            group: None,
            metrics: vec![metric("put_operations_per_s", rate), metric("put_latency_ns_p99", 1500.0)],
            cpu: None,
            stalls: None,
        };
        let run = |timing: &str, store: &str, invalid: Option<&str>| TimedRun {
            timing: timing.to_owned(),
            store: store.to_owned(),
            values: "64 B".to_owned(),
            threads: 1,
            qd: 32,
            invalid: invalid.map(str::to_owned),
            events: None,
            late_events: None,
            systems: vec![system("HostKV", 1_000_000.0), system("DiskKV", 2_000_000.0)],
        };
        let report = Comparison {
            seed: 7,
            profile: "tiny".to_owned(),
            workload: "<b>12</b> records".to_owned(),
            operations: 12,
            runs: vec![
                run("virtual", "hash_store", None),
                run("virtual", "tree", None),
                run("real", "tree", Some("late")),
            ],
        };
        let page = render(&report);
        for part in ["HostKV", "DiskKV", "2,000,000", "64 B: late", "&lt;b&gt;12"] {
            assert!(page.contains(part), "{part}");
        }
        for head in
            ["Timing virtual, store hash_store", "Timing virtual, store tree", "Timing real, store tree"]
        {
            assert_eq!(page.matches(head).count(), 1, "{head}");
        }
        assert!(!page.contains("<b>") && !page.contains("src=") && page.matches("<svg").count() == 6);
    }
}
