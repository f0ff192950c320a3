// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A comparison on one screen: rates by size of value, the ratio that matters, what it comes from, and what to try next.

use super::tables;
use crate::output::{VERSION, table};
use crate::report::{Comparison, System, TimedRun};

/// Columns of the longest bar.
const BAR_COLUMNS: f64 = 24.0;
/// A system whose operations in flight are more than one part of so many of all tells of its first and last moments.
const ROUNDS_MIN: u64 = 10;

/// The whole text.
pub fn text(report: &Comparison) -> String {
    let Comparison { seed, profile, workload, runs, .. } = report;
    let mut text = format!("saker {VERSION}  seed {seed}  profile {profile}\n{workload}\n");
    for section in sections(runs) {
        text += &format!("\n{}\n", title(section[0], report));
        text += &rates(&section, "put");
        text += &rates(&section, "get");
        section.iter().for_each(|run| text += &tables::lag(run));
        text += &finding(&section);
    }
    text + "\n" + &failures(report) + &few(report) + &next(report)
}

/// Runs that differ in nothing but their values.
fn sections(runs: &[TimedRun]) -> Vec<Vec<&TimedRun>> {
    let place = |run: &TimedRun| (run.timing.clone(), run.store.clone(), run.threads, run.qd);
    let mut all: Vec<Vec<&TimedRun>> = Vec::new();
    for run in runs {
        match all.iter_mut().find(|section| place(section[0]) == place(run)) {
            Some(section) => section.push(run),
            None => all.push(vec![run]),
        }
    }
    all
}

fn title(run: &TimedRun, report: &Comparison) -> String {
    let clock = match run.timing.as_str() {
        "virtual" => "virtual time (the profile's; equal on every machine)",
        "real" => "the profile's time by this machine's clock",
        _ => "no emulated time: as fast as this machine goes",
    };
    let grid = format!(", {} threads, {} in flight each", run.threads, run.qd);
    format!("{}, {clock}{}", run.store, if report.is_grid() { &grid } else { "" })
}

/// One phase: a row for each size of value, a column for each system, and a bar for the last one.
fn rates(section: &[&TimedRun], phase: &str) -> String {
    let names = section[0].systems.iter().map(|system| short(&system.name));
    let ratio_of = section[0].systems.last().map_or(String::new(), |s| short(&s.name));
    let mut rows = vec![
        [format!("{phase}s/s")]
            .into_iter()
            .chain(names)
            .chain([format!("{ratio_of} : HostKV")])
            .collect::<Vec<_>>(),
    ];
    let best = section.iter().filter_map(|run| ratio(run, phase)).fold(0.0, f64::max);
    for run in section {
        let note = if run.invalid.is_some() { " INVALID" } else { "" };
        let rates = run.systems.iter().map(|s| rate(s, phase).map_or_else(|| "-".to_owned(), short_number));
        let last = ratio(run, phase).map_or_else(String::new, |ratio| bar(ratio, best));
        rows.push([format!("  {}{note}", run.values)].into_iter().chain(rates).chain([last]).collect());
    }
    table(&rows)
}

/// `DiskKV+SAKER x64` as `SAKER x64`, `DiskKV group x64` as `group x64`.
fn short(name: &str) -> String {
    let rest = name.strip_prefix("DiskKV").map(|rest| rest.trim_start_matches([' ', '+']));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned()
}

fn metric(system: &System, name: &str) -> Option<f64> {
    system.metrics.iter().find(|m| m.name == name).map(|m| m.value)
}

fn rate(system: &System, phase: &str) -> Option<f64> {
    metric(system, &format!("{phase}_operations_per_s"))
}

/// The last system's rate over the first one's: SAKER's host layer over the same engine at the host.
fn ratio(run: &TimedRun, phase: &str) -> Option<f64> {
    let (first, last) = (rate(run.systems.first()?, phase)?, rate(run.systems.last()?, phase)?);
    (first > 0.0).then_some(last / first)
}

fn bar(ratio: f64, best: f64) -> String {
    let columns = (ratio / best.max(f64::MIN_POSITIVE) * BAR_COLUMNS).round() as usize;
    format!("{ratio:5.2} {}", "#".repeat(columns))
}

/// Three digits and a unit: `5.57 M`.
fn short_number(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 999.5e6 => (v / 1e9, " G"),
        v if v >= 999.5e3 => (v / 1e6, " M"),
        v if v >= 999.5 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = match scaled {
        v if v >= 99.95 || unit.is_empty() => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$}{unit}")
}

/// What the smallest values show, from the numbers of their run.
fn finding(section: &[&TimedRun]) -> String {
    let run = section[0];
    let [host, .., saker] = run.systems.as_slice() else { return String::new() };
    // Hybrids stand between both.
    let Some(disk) = run.systems.iter().find(|system| system.name == "DiskKV") else { return String::new() };
    let (Some(host_rate), Some(disk_rate), Some(saker_rate)) =
        (rate(host, "put"), rate(disk, "put"), rate(saker, "put"))
    else {
        return String::new();
    };
    format!(
        "Puts of {}: with a command each, the device has {:.2} of the host's rate; {} has {:.2}.\n",
        run.values,
        disk_rate / host_rate,
        short(&saker.name),
        saker_rate / host_rate,
    )
}

/// Says which operations failed: the numbers beside them are not what they say.
fn failures(report: &Comparison) -> String {
    let systems = report.runs.iter().flat_map(|run| run.systems.iter().map(move |system| (run, system)));
    let line = |(run, system): (&TimedRun, &System)| {
        let count = |phase| metric(system, &format!("{phase}_errors")).unwrap_or(0.0);
        let all = count("put") + count("get");
        let place = format!("{}, {} of {}", run.store, short(&system.name), run.values);
        (all > 0.0).then(|| format!("{all} operations failed: {place}. Rates beside them do not count.\n"))
    };
    systems.filter_map(line).collect()
}

/// Says where there are too few operations for a rate.
fn few(report: &Comparison) -> String {
    let in_flight =
        |run: &TimedRun, system: &System| u64::from(run.threads * run.qd) * together(&system.name);
    let systems = report.runs.iter().flat_map(|run| run.systems.iter().map(move |system| (run, system)));
    let worst = systems.map(|(run, system)| (in_flight(run, system), short(&system.name))).max();
    match worst {
        Some((most, name)) if report.operations < ROUNDS_MIN * most => format!(
            "Too few: {} operations, and {name} keeps {most} in flight; use --operations {} or more.\n",
            report.operations,
            ROUNDS_MIN * most,
        ),
        _ => String::new(),
    }
}

/// Operations that one command of a system carries at most: `x64` at the end of its name.
fn together(name: &str) -> u64 {
    name.rsplit_once(" x").and_then(|(_, count)| count.parse().ok()).unwrap_or(1)
}

fn next(report: &Comparison) -> String {
    let all = "--verbose  latencies, commands, bytes, NAND pages";
    let tries = [
        (!report.is_grid(), "--threads 1,4,16 --qd 1,32 --sizes 16B  where batching pays"),
        (report.stores().len() == 1, "--store hash_store,tree,lsm  other engines"),
        (report.runs.iter().all(|run| run.timing == "virtual"), "--timing off  this machine's own speed"),
    ];
    let tries = tries.iter().filter(|(fits, _)| *fits).map(|(_, text)| *text);
    let lines = std::iter::once(all).chain(tries).map(|line| {
        let (option, what) = line.split_once("  ").unwrap_or((line, ""));
        format!("  saker compare {option:40} {what}\n")
    });
    lines.fold("Try next:\n".to_owned(), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Metric;

    fn system(name: &str, put: f64, get: f64, commands: f64) -> System {
        let metrics = [
            ("put_operations_per_s", put),
            ("get_operations_per_s", get),
            ("put_commands_per_operation", commands),
        ];
        let metrics = metrics.map(|(name, value)| Metric { name: name.into(), value }).into();
        System {
            name: name.into(),
            store: "hash_store".into(),
            group: None,
            metrics,
            cpu: None,
            stalls: None,
        }
    }

    fn run(values: &str) -> TimedRun {
        TimedRun {
            timing: "virtual".into(),
            store: "hash_store".into(),
            values: values.into(),
            threads: 1,
            qd: 32,
            events: None,
            late_events: None,
            invalid: None,
            systems: vec![
                system("HostKV", 5_574_895.0, 340_726.0, 0.003),
                system("DiskKV", 1_886_102.0, 358_222.0, 1.0),
                system("DiskKV group x64", 15_970_719.0, 8_797_350.0, 0.016),
                system("DiskKV+SAKER x64", 8_493_887.0, 373_367.0, 0.016),
            ],
        }
    }

    fn report(operations: u64) -> Comparison {
        let (profile, workload) = ("default".to_owned(), "some pairs".to_owned());
        Comparison { seed: 1, profile, workload, operations, runs: vec![run("16 B"), run("64 B")] }
    }

    #[test]
    fn it_fits_a_screen_and_has_every_size_and_system() {
        let text = text(&report(100_000));
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for part in [
            "16 B",
            "64 B",
            "5.57 M",
            "1.89 M",
            "16.0 M",
            "8.49 M",
            "341 k",
            "SAKER x64 : HostKV",
            " 1.52 ####",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(text.contains("the device has 0.34 of the host's rate; SAKER x64 has 1.52."), "{text}");
        assert!(text.contains("--verbose") && !text.contains("Too few"), "{text}");
    }

    #[test]
    fn the_devices_rate_is_that_of_its_own_column_beside_hybrids() {
        let mut report = report(100_000);
        for run in &mut report.runs {
            run.systems.insert(1, system("Hybrid eager", 90_000_000.0, 1.0, 0.003));
        }
        let text = text(&report);
        assert!(text.contains("the device has 0.34 of the host's rate; SAKER x64 has 1.52."), "{text}");
    }

    #[test]
    fn too_few_operations_are_said() {
        let text = text(&report(20_479));
        assert!(
            text.contains("Too few: 20479 operations") && text.contains("--operations 20480 or more"),
            "{text}"
        );
        assert!(!super::text(&report(20_480)).contains("Too few"));
    }

    #[test]
    fn failures_are_said() {
        let mut report = report(100_000);
        assert!(!text(&report).contains("failed"));
        report.runs[1].systems[0].metrics.push(Metric { name: "get_errors".into(), value: 3.0 });
        let told = text(&report);
        assert!(told.contains("3 operations failed: hash_store, HostKV of 64 B."), "{told}");
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 12.0, 999.4, 999.6, 5_574.0, 55_740.0, 557_400.0, 999_600.0, 1e9].map(short_number);
        assert_eq!(shown, ["0", "12", "999", "1.00 k", "5.57 k", "55.7 k", "557 k", "1.00 M", "1.00 G"]);
    }
}
